//! What scripts find around them, and what they cannot change.

use super::same;
use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn globals_and_libraries_have_the_names_of_a_real_server() {
    side_by_side(|c| {
        let names = "local t = {} for k, v in pairs(%) do t[#t+1] = k .. ' ' .. type(v) end \
                     table.sort(t) return t";
        let tables =
            ["_G", "redis", "string", "math", "table", "coroutine", "getmetatable('')", "KEYS"];
        for table in tables {
            c.same(argv!["EVAL", &names.replace('%', table), 0]);
        }
        let constants = "local t = {} for k, v in pairs(redis) do if type(v) ~= 'function' then \
                         t[#t+1] = k .. ' ' .. v end end table.sort(t) return t";
        c.same(argv!["EVAL", constants, 0]);
        same(c, &["return _VERSION", "return {math.pi * 1e9, tostring(math.huge)}"]);
    });
}

#[test]
fn what_redis_does_not_give_is_missing() {
    side_by_side(|c| {
        for name in [
            "dofile", "loadfile", "print", "newproxy", "setfenv", "getfenv", "module", "require",
            "package", "debug", "io", "os",
        ] {
            c.same(argv!["EVAL", &format!("return {name}"), 0]);
            c.same(argv!["EVAL", &format!("return pcall(function() return {name} end)"), 0]);
            c.same(argv!["EVAL", &format!("return tostring(rawget(_G, '{name}'))"), 0]);
        }
    });
}

#[test]
fn protected_tables_cannot_be_changed() {
    side_by_side(|c| {
        same(
            c,
            &[
                "x = 1",
                "return x",
                "return _G.x",
                "return _G[1]",
                "return _G[true]",
                "_G.x = 1",
                "_G._G = 1",
                "KEYS = {}",
                "KEYS[1] = 'mine' ARGV.x = 1 return KEYS[1]",
                "redis = nil",
                "redis.call = nil",
                "redis.x = 1",
                "string.format = 1",
                "math.random = nil",
                "table.x = 1",
                "coroutine.x = 1",
                "getmetatable('').__index = nil",
                "getmetatable('').x = 1",
                "getmetatable(_G).__index = nil",
                "getmetatable('').__index.format = 1",
                "rawset(_G, 'x', 1)",
                "rawset(redis, 'x', 1)",
                "rawset(getmetatable(_G), 'x', 1)",
                "setmetatable(_G, {})",
                "setmetatable(redis, {})",
                "setmetatable(getmetatable(''), {})",
                "return {pcall(setmetatable, _G, {})}",
                "return {pcall(rawset, _G, 'x', 1)}",
                "function f() end",
                "local function f() y = 1 end f()",
                "for k in pairs(_G) do _G[k] = nil end",
                "return type(rawget(_G, 'redis'))",
                "return type(rawget(redis, 'call'))",
                "return tostring(rawget(_G, 'nope'))",
                "return tostring(getmetatable(redis))",
                "return tostring(getmetatable(string))",
                "return type(getmetatable(_G))",
                "return type(getmetatable(_G).__index)",
                "return type(getmetatable(''))",
                "return tostring(getmetatable('').__index == string)",
                "return tostring(_G == _G._G)",
                "return tostring(next({}))",
                "return type(next(_G))",
                "return type(next(redis, 'call'))",
                "return tostring(rawequal(_G, _G))",
                "local t = {} rawset(t, 'a', 1) return rawget(t, 'a')",
                "return #redis + #_G",
                "return redis.nope",
                "return tostring(redis.nope)",
                "return tostring(string.nope)",
            ],
        );
    });
}

#[test]
fn a_metatable_of_ones_own_works() {
    side_by_side(|c| {
        same(
            c,
            &[
                "local t = setmetatable({}, {__index=function(_, k) return k .. '!' end}) return \
                 t.a",
                "local t = setmetatable({}, {__newindex=function(t, k, v) rawset(t, k, v * 2) \
                 end}) \
                 t.a = 2 return t.a",
                "local t = setmetatable({}, {__call=function(_, a) return a end}) return t(5)",
                "local t = setmetatable({}, {__metatable='locked'}) return getmetatable(t)",
                "local t = setmetatable({}, {__metatable='locked'}) setmetatable(t, {})",
                "local a = setmetatable({}, {__eq=function() return true end}) return \
                 tostring(a)==1",
                "local a = setmetatable({n=1}, {__add=function(a, b) return a.n + b end}) return \
                 a+4",
                "local a = setmetatable({}, {__concat=function() return 'cat' end}) return a .. \
                 'x'",
                "local a = setmetatable({}, {__tostring=function() return 'str' end}) return \
                 tostring(a)",
                "return ('abc'):upper()",
                "return ('x'):rep(3)",
                "return (5):x()",
                "local m = {} return tostring(getmetatable(setmetatable({}, m)) == m)",
            ],
        );
    });
}

#[test]
fn code_made_at_run_time_has_the_same_globals() {
    side_by_side(|c| {
        same(
            c,
            &[
                "return loadstring('return 5')()",
                "return loadstring('return KEYS')() == KEYS and 1 or 0",
                "return loadstring('return redis.call(\"PING\")')()",
                "loadstring('x = 1')()",
                "loadstring('return y')()",
                "loadstring('return y', '@mychunk')()",
                "loadstring('error(\"z\")', '=mychunk')()",
                "return {loadstring('return y(')}",
                "return {loadstring('return y(', 'name')}",
                "return {loadstring(5)}",
                "loadstring({})",
                "loadstring()",
                "return tostring(loadstring(string.dump(function() return 1 end)))",
                "return {loadstring('\\27Lua')}",
                "return load(function() return nil end)",
                "local done = false return load(function() if done then return nil end done = true \
                 return 'return 7' end)()",
                "local parts, i = {'return ', '4', '2'}, 0 return load(function() i = i + 1 return \
                 parts[i] end)()",
                "return {load(function() return {} end)}",
                "return {load(function() error('r') end)}",
                "load('return 1')",
                "load()",
                "return loadstring('return ...')(1, 2)",
            ],
        );
    });
}

#[test]
fn nothing_is_left_for_the_next_script() {
    in_both_protocols(|c| {
        c.same(argv!["EVAL", "KEYS.x = 1 ARGV.y = 2 redis.setresp(3) math.random() return 1", 0]);
        same(
            c,
            &[
                "return {tostring(KEYS.x), tostring(ARGV.y)}",
                "return true",
                "collectgarbage('stop') return 1",
                "return type(collectgarbage('count'))",
                "return collectgarbage('collect')",
                "return collectgarbage()",
                "return type(gcinfo())",
            ],
        );
        c.run(argv!["EVAL", "table.insert(redis, 'x') table.insert(_G, 'y')", 0]);
        c.same(argv!["EVAL", "return {tostring(redis[1]), tostring(rawget(_G, 1)), #redis}", 0]);
    });
}

#[test]
fn random_numbers_are_those_of_a_real_server() {
    side_by_side(|c| {
        same(
            c,
            &[
                "math.randomseed(0) local t = {} for i = 1, 50 do t[i] = tostring(math.random()) \
                 end return t",
                "local t = {} for i = 1, 50 do t[i] = math.random(1000000) end return t",
                "local t = {} for i = 1, 50 do t[i] = math.random(-5, 5) end return t",
                "math.randomseed(42) return {math.random(1000), math.random(1000)}",
                "math.randomseed(-1) return {math.random(1000), math.random(1000)}",
                "math.randomseed(1e10) return {math.random(1000), math.random(1000)}",
                "math.randomseed(1.9) return {math.random(1000), math.random(1000)}",
                "math.randomseed('7') return {math.random(1000), math.random(1000)}",
                "math.randomseed(9) return {math.random(1), math.random(3, 3), math.random('5'), \
                 math.random(2.9)}",
                "return math.random(0)",
                "return math.random(-1)",
                "return math.random(5, 1)",
                "return math.random(1, 2, 3)",
                "return math.random({})",
                "return math.random(nil)",
                "return math.random('x')",
                "return math.random(1, 'x')",
                "local x = math.randomseed()",
                "local x = math.randomseed('x')",
                "return math.randomseed(5)",
            ],
        );
    });
}

#[test]
fn bounds_of_the_interpreter() {
    side_by_side(|c| {
        same(
            c,
            &[
                "local t = {} for i = 1, 7000 do t[i] = i end return #{unpack(t)}",
                "local t = {} for i = 1, 8001 do t[i] = i end return #{unpack(t)}",
                "return {unpack({1, 2, 3}, 2)}",
                "return {unpack({1, 2, 3}, 2, 5)}",
                "return {unpack({1, 2, 3}, -1, 1)}",
                "return {unpack({}, 1, 3)}",
                "return select('#', unpack({}, 1, 5))",
                "return {unpack({1, 2}, '1', '2')}",
                "return select('#', unpack({1,2,3}, 3, 1))",
                "return #redis.call('MGET', unpack((function() local t = {} for i = 1, 7000 do \
                 t[i] \
                 = 'k' .. i end return t end)()))",
                "local n = 0 local function f() n = n + 1 f() end pcall(f) return n > 1000 and 1",
                "local function f(n) if n == 0 then return 0 end return f(n - 1) end return \
                 f(50000)",
                "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return \
                 f(10000)",
                "return #string.rep('x', 1000000)",
                "local s = string.rep('x', 100) return #(s:rep(10000))",
                "return {string.byte('abc', 1, -1)}",
            ],
        );
    });
}
