//! EVAL, EVALSHA, their read-only forms, and SCRIPT.

use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn values_are_converted_as_redis_converts_them() {
    in_both_protocols(|c| {
        for script in [
            "return 3.99",
            "return -3.7",
            "return 1e20",
            "return 0/0",
            "return true",
            "return false",
            "return nil",
            "return 'text'",
            "return '\\0a\\255'",
            "return {1,2,nil,4}",
            "return {1,{2,{3,'x'}}}",
            "return {[1]=1,[3]=3}",
            "return {ok='fine'}",
            "return {err='My Err'}",
            "return {err='a b\\r\\nc'}",
            "return {err=1}",
            "return {ok=1}",
            "return {double=1.5}",
            "return {map={a=1}}",
            "return {set={a=true}}",
            "return function() end",
            "return redis.error_reply('My err')",
            "return redis.error_reply('-My err')",
            "return redis.error_reply(1)",
            "return redis.status_reply('a')",
            "return redis.sha1hex('')",
            "return _G",
            "return KEYS[1]",
            "return redis.call('ping')",
            "return redis.call('SET', 1.5, 2.7)",
            "return redis.call('GET', '1.5')",
            "redis.call('SELECT', '3') return redis.call('SET', 'x', 1)",
            "return redis.call('GET', 'x')",
            "redis.call('HSET', 'h', 'f', 'v') return redis.call('HGETALL', 'h')",
            "redis.setresp(3) return redis.call('HGETALL', 'h')",
            "redis.call('ZADD', 'z', 1.5, 'm') return redis.call('ZSCORE', 'z', 'm')",
            "redis.setresp(3) return redis.call('ZSCORE', 'z', 'm')",
            "redis.setresp(3) return redis.call('GET', 'nokey') == nil",
            "return redis.call('GET', 'nokey') == false",
        ] {
            c.run(argv!["EVAL", script, 0]);
        }
    });
}

#[test]
fn errors_have_the_texts_of_redis() {
    side_by_side(|c| {
        for script in [
            "return redis.call('GET')",
            "return redis.call('NOPE')",
            "return redis.call('SUBSCRIBE', 'a')",
            "return redis.call()",
            "return redis.pcall()",
            "return redis.call({})",
            "return redis.pcall('GET')",
            "return redis.call('SET', 1.5, true)",
            "return redis.call('get', 'a', nil)",
            "redis.call('SET', 'a', 'b') return redis.call('LPUSH', 'a', 'b')",
            "return redis.call('eval', 'return 1', 0)",
            "\n\nreturn redis.call('GET')",
            "error('boom')",
            "error('boom', 0)",
            "error({err='boom'})",
            "error(5)",
            "error(nil)",
            "error()",
            "x=1",
            "return x",
            "_G.x=1",
            "string.format=1",
            "return rawset(_G, 'a', 1)",
            "setmetatable(_G, {})",
            "redis.foo()",
            "local a={} a.b.c=1",
            "string.rep()",
            "syntax err",
            "return loadstring('return 5')()",
            "return redis.setresp(4)",
            "return redis.sha1hex()",
            "local ok, e = pcall(redis.call, 'get') return {type(e), e}",
            "local ok, e = pcall(error, 'x') return {type(e), e}",
            "local ok, e = pcall(error, {err='x'}) return {type(e), e}",
        ] {
            c.run(argv!["EVAL", script, 0]);
        }
        c.same("EVAL 1");
        c.run(argv!["EVAL", "return 1", "x"]);
        c.run(argv!["EVAL", "return 1", -1]);
        c.run(argv!["EVAL", "return 1", 3, "a"]);
        c.same("EVALSHA aaa 0");
        c.same("EVALSHA aaa x");
        c.run(argv!["EVAL_RO", "return redis.call('SET', 'a', 'b')", 0]);
    });
}

#[test]
fn scripts_are_kept_by_hash() {
    side_by_side(|c| {
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        c.run(argv!["EVALSHA", sha, 0]);
        c.run(argv!["SCRIPT", "LOAD", "return 1"]);
        c.run(argv!["SCRIPT", "EXISTS", sha, "x", sha.to_uppercase()]);
        c.run(argv!["EVALSHA", sha, 0]);
        c.run(argv!["EVALSHA", sha.to_uppercase(), 0]);
        c.run(argv!["EVALSHA_RO", sha, 0]);
        c.same("SCRIPT FLUSH");
        c.run(argv!["EVALSHA", sha, 0]);
        c.same("SCRIPT FLUSH foo");
        c.same("SCRIPT KILL");
        c.same("SCRIPT foo");
        c.same("SCRIPT HELP");
        c.run(argv!["SCRIPT", "LOAD", "x x"]);
    });
}
