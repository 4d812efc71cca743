//! Lua values as replies, and replies as Lua values, in both protocols of both sides.

use super::same;
use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn values_become_replies() {
    in_both_protocols(|c| {
        same(
            c,
            &[
                "return 3",
                "return 3.99",
                "return -3.99",
                "return 1e15",
                "return 1e18",
                "return 1e20",
                "return -1e300",
                "return 0/0",
                "return 1/0",
                "return -0",
                "return true",
                "return false",
                "return nil",
                "return",
                "return 1, 2",
                "return ''",
                "return 'text'",
                "return '\\0a\\255\\r\\n'",
                "return function() end",
                "return redis.call",
                "return coroutine.create(function() end)",
            ],
        );
    });
}

#[test]
fn tables_become_arrays_up_to_the_first_gap() {
    in_both_protocols(|c| {
        same(
            c,
            &[
                "return {}",
                "return {1,2,3}",
                "return {1,2,nil,4}",
                "return {nil,2}",
                "return {[1]=1,[3]=3}",
                "return {a=1}",
                "return {1,a=2,3}",
                "return {1,{2,{3,'x'}},{}}",
                "return {true,false,nil}",
                "return {false,true}",
                "return {1.5,-1.5,'1.5'}",
                "return {{err='a b'},{ok='c'},{err='d'}}",
                "return {function() end,1}",
                "return setmetatable({1,2},{__index=function() return 7 end})",
                "return setmetatable({},{__index={1,2,3}})",
                "return setmetatable({},{__index={err='x'}})",
                "return setmetatable({}, {__tostring=function() return 'x' end})",
                "local t={} for i=1,1000 do t[i]=i end return t",
                "local t={1} for i=1,120 do t={t} end return t",
            ],
        );
    });
}

#[test]
fn tables_with_one_of_these_fields_become_other_replies() {
    in_both_protocols(|c| {
        same(
            c,
            &[
                "return {ok='fine'}",
                "return {ok=''}",
                "return {ok=1}",
                "return {ok='a\\r\\nb\\nc'}",
                "return {ok='fine',1,2}",
                "return {err='My Err'}",
                "return {err='-My Err'}",
                "return {err='My'}",
                "return {err=''}",
                "return {err='a b\\r\\nc'}",
                "return {err=1}",
                "return {err=true,1}",
                "return {ok='a',err='b'}",
                "return {double=1.5}",
                "return {double=3}",
                "return {double=1e100}",
                "return {double=0.1}",
                "return {double=1/0}",
                "return {double=-1/0}",
                "return {double='1'}",
                "return {map={a=1}}",
                "return {map={}}",
                "return {map={[1]=2}}",
                "return {map={a={map={b={1,2}}}}}",
                "return {map=1,5}",
                "return {set={a=1}}",
                "return {set={}}",
                "return {set={[3]=false}}",
                "return {set='x',6}",
                "return {big_number='123'}",
                "return {big_number=123}",
                "return {verbatim_string={format='txt',string='x'}}",
                "return {verbatim_string={format='markdown',string='x\\r\\ny'}}",
                "return {verbatim_string={format='txt'}}",
                "return {verbatim_string={string='x'},1}",
                "return {verbatim_string='x',1}",
                "return {double=1,map={a=1}}",
                "return {map={a=1},set={b=1}}",
                "return {big_number='1',set={b=1}}",
                "return {big_number='1',verbatim_string={format='txt',string='x'}}",
                "return {double=1,big_number='1'}",
                "return {verbatim_string={format='txt',string='x'},map={a=1}}",
                "return {double=1,ok='x'}",
                "return {map={a={err='x y'}}}",
            ],
        );
    });
}

#[test]
fn a_big_number_need_not_be_one() {
    side_by_side(|c| same(c, &["return {big_number='12\\r\\n3'}", "return {big_number='xyz'}"]));
}

#[test]
fn setresp_decides_how_truth_values_are_returned() {
    in_both_protocols(|c| {
        same(
            c,
            &[
                "redis.setresp(3) return true",
                "redis.setresp(3) return false",
                "redis.setresp(3) return {true,false,nil}",
                "redis.setresp(3) return nil",
                "redis.setresp(3) return {map={a=true}}",
                "redis.setresp(3) redis.setresp(2) return true",
                "return true",
                "return redis.setresp(3)",
                "return redis.setresp('3')",
                "redis.setresp('3') return true",
            ],
        );
    });
}

/// Shows a Lua value as text, so that both sides can be compared on what the script sees.
const SHOW: &str = "local function show(v) if type(v) ~= 'table' then return type(v) .. ' ' .. \
                    tostring(v) end local keys = {} for k in pairs(v) do keys[#keys+1] = k end \
                    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end) local \
                    parts = {} for _, k in ipairs(keys) do parts[#parts+1] = show(k) .. '=' .. \
                    show(v[k]) end return '{' .. table.concat(parts, ', ') .. '}' end ";

#[test]
fn replies_become_values() {
    in_both_protocols(|c| {
        for line in [
            "SET s text",
            "SET bin \"\\xff\\x00\"",
            "SET n 10",
            "RPUSH l a b",
            "HSET h f v g w",
            "SADD set a",
            "ZADD z 1.5 m 0.1 k",
        ] {
            c.same(line);
        }
        for protocol in [2, 3] {
            for call in [
                "'GET','s'",
                "'GET','bin'",
                "'GET','none'",
                "'SET','x','y'",
                "'SET','x','y','NX'",
                "'INCR','n'",
                "'LRANGE','l',0,-1",
                "'LRANGE','none',0,-1",
                "'MGET','s','none'",
                "'HGETALL','h'",
                "'HGETALL','none'",
                "'SMEMBERS','set'",
                "'ZSCORE','z','m'",
                "'ZSCORE','z','k'",
                "'ZSCORE','z','none'",
                "'ZRANGE','z',0,-1,'WITHSCORES'",
                "'ZINCRBY','z',0.1,'m'",
                "'LPOP','none',2",
                "'LPOS','l','none'",
                "'TYPE','s'",
                "'PING'",
                "'ECHO','x'",
                "'EXISTS','s'",
                "'SMISMEMBER','set','a','b'",
                "'HRANDFIELD','h',0,'WITHVALUES'",
                "'DEBUG','PROTOCOL','double'",
                "'SCAN',0,'MATCH','l'",
                "'ZRANDMEMBER','z',0,'WITHSCORES'",
                "'ZMSCORE','z','m','none'",
                "'COMMAND','GETKEYS','GET','a'",
                "'OBJECT','ENCODING','s'",
                "'HELLO'",
                "'GEOPOS','none','a'",
            ] {
                for how in ["call", "pcall"] {
                    let script =
                        format!("{SHOW}redis.setresp({protocol}) return show(redis.{how}({call}))");
                    if call.contains("DEBUG") || call.contains("GEOPOS") {
                        continue;
                    }
                    c.same(argv!["EVAL", &script, 0]);
                }
                let script = format!("redis.setresp({protocol}) return redis.call({call})");
                if !call.contains("DEBUG") && !call.contains("GEOPOS") {
                    c.same(argv!["EVAL", &script, 0]);
                }
            }
        }
    });
}

#[test]
fn maps_and_sets_are_in_the_order_of_the_interpreter() {
    in_both_protocols(|c| {
        let fields: String = (0..40).map(|n| format!(" field:{n} {n}")).collect();
        c.same(format!("HSET h{fields}"));
        let members: String = (0..40).map(|n| format!(" member:{n}")).collect();
        c.same(format!("SADD s 1 2 3 {members}"));
        let ints: String = (0..200).map(|n| format!(" {}", n * 7919 % 100_003)).collect();
        c.same(format!("SADD ints{ints}"));
        same(
            c,
            &[
                "redis.setresp(3) return redis.call('HGETALL', 'h')",
                "redis.setresp(3) return redis.call('SMEMBERS', 'ints')",
                "redis.setresp(3) local t = {} for k in pairs(redis.call('HGETALL', 'h').map) do \
                 t[#t + 1] = k end return t",
                "return {map = {a = 1, b = 2, c = 3, d = 4, e = 5, f = 6}}",
                "return {set = {a = 1, b = 2, c = 3, d = 4, e = 5, f = 6}}",
                "local t = {} for k, v in pairs({x = 1, y = 2, 10, 20, 30, z = 3, [2.5] = 4}) do \
                 t[#t + 1] = tostring(k) .. tostring(v) end return t",
            ],
        );
    });
}

#[test]
fn arguments_become_words() {
    side_by_side(|c| {
        same(
            c,
            &[
                "return redis.call('ECHO', 1)",
                "return redis.call('ECHO', 1.5)",
                "return redis.call('ECHO', 0.1)",
                "return redis.call('ECHO', -7)",
                "return redis.call('ECHO', -0)",
                "return redis.call('ECHO', 1e15)",
                "return redis.call('ECHO', 123456789012345678)",
                "return redis.call('ECHO', 1e17)",
                "return redis.call('ECHO', 1e20)",
                "return redis.call('ECHO', 1e-7)",
                "return redis.call('ECHO', 1/0)",
                "return redis.call('ECHO', -1/0)",
                "return redis.call('ECHO', 9007199254740993)",
                "return redis.call('ECHO', '\\0\\255')",
                "return redis.call('ECHO', '')",
                "return redis.call('ECHO', true)",
                "return redis.call('ECHO', nil)",
                "return redis.call('ECHO', {})",
                "return redis.call('ECHO', {'a'})",
                "return redis.call('ECHO', function() end)",
                "return redis.call(1)",
                "return redis.call({'ECHO', 'x'})",
                "return redis.call('eChO', 'x')",
                "return redis.call('ECHO\\0', 'x')",
            ],
        );
        c.same(argv!["EVAL", "return {KEYS, ARGV, #KEYS, #ARGV}", 2, "a", b"\xff\x00", "c", ""]);
        c.same(argv!["EVAL", "return {KEYS[1], KEYS[2], ARGV[1]}", 1, "a", "b"]);
        c.same(argv!["EVAL", "return #KEYS + #ARGV", 0]);
    });
}
