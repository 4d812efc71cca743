//! Errors of scripts: their texts, where they happened, and how a script catches them.

use super::same;
use crate::support::{argv, in_both_protocols, side_by_side};

/// Commands that fail.
const OF_CALLS: &[&str] = &[
    "return redis.call('GET')",
    "return redis.call('NOPE')",
    "return redis.call('')",
    "return redis.call('CLIENT')",
    "return redis.call('CLIENT', 'NOPE')",
    "return redis.call('CLIENT', 'ID')",
    "return redis.call('OBJECT', 'NOPE')",
    "return redis.call('OBJECT', 'HELP', 'x')",
    "return redis.call('MULTI')",
    "return redis.call('WATCH', 'a')",
    "return redis.call('EVAL', 'return 1', 0)",
    "return redis.call('SCRIPT', 'LOAD', 'return 1')",
    "return redis.call('SCRIPT')",
    "return redis.call()",
    "return redis.call({})",
    "return redis.call('GET', nil)",
    "return redis.call('GET', true)",
    "return redis.call('INCR', 's')",
    "redis.call('LPUSH', 's', 'x')",
    "redis.call('INCRBY', 's', 'x')",
    "\n\nreturn redis.call('GET')",
    "local x = 1\nlocal function f()\n redis.call('GET')\nend\nf()",
    "local call = redis.call\ncall('GET')",
];

/// Errors of the script's own making.
const RAISED: &[&str] = &[
    "error('boom')",
    "error('boom', 0)",
    "error('boom', 1)",
    "error('boom', 2)",
    "local function f() error('boom', 2) end\nf()",
    "local function f() error('boom') end\n\nf()",
    "local function f() error('boom') end\n\nreturn f()",
    "error({err='boom'})",
    "error({err='MY boom'})",
    "error({err='boom', source='@x', line=9})",
    "error({err=5})",
    "error({err=0.1})",
    "error(setmetatable({}, {__index={err='x y'}}))",
    "error(redis.error_reply('MY boom'))",
    "error(redis.pcall('GET'))",
    "error(5)",
    "error(nil)",
    "error()",
    "error(true)",
    "error(setmetatable({err='x'}, {__tostring=function() return 'y' end}))",
];

/// Errors of Lua and its libraries.
const OF_LUA: &[&str] = &[
    "local a = {} a.b.c = 1",
    "local a return a.b",
    "local a = 'x' + 1",
    "local a = {} + 1",
    "return 'a' .. {}",
    "return #nil",
    "return 1 < 'x'",
    "return {} < {}",
    "nofunction()",
    "string.nofunction()",
    "redis.nofunction()",
    "local a = {} a.x()",
    "local a = {} a:x()",
    "string.rep()",
    "return ('x'):rep({})",
    "string.format('%d', 'x')",
    "return tonumber()",
    "return tonumber('z', 99)",
    "local x = pairs()",
    "return ipairs()",
    "local x = pairs(nil)",
    "for k in pairs(nil) do end",
    "for k in ipairs(nil) do end",
    "local x = unpack(nil)",
    "local x = setmetatable(1, {})",
    "local x = setmetatable({}, 1)",
    "local x = getmetatable()",
    "local x = table.concat({{}})",
    "local x = table.concat({1,nil,3}, 1)",
    "table.insert(nil, 1)",
    "table.insert({}, 1, 2, 3)",
    "table.sort({1,'x'})",
    "table.sort({3,2,1}, function(a, b) error('in sort') end)",
    "string.gsub('abc', '%w', function() error('in gsub') end)",
    "string.gsub('abc', '%w', function() redis.call('GET') end)",
    "local t = setmetatable({}, {__index=function() error('in index') end})\nreturn t.x",
    "local t = setmetatable({}, {__index=function() return redis.call('GET') end}) \
    return t.x",
    "assert(false)",
    "assert(nil, 'my message')",
    "assert(false, {err='MY table'})",
    "assert()",
    "return assert(1, 2)",
    "local function f() return f() + 1 end f()",
    "coroutine.wrap(function() error('in coroutine') end)()",
    "coroutine.wrap(function() redis.call('GET') end)()",
    "local f = coroutine.wrap(function() end) f() f()",
    "coroutine.yield(1)",
    "return string.rep('x', -1)",
    "goto x",
];

/// Errors of the functions of `redis`.
const OF_REDIS: &[&str] = &[
    "return redis.sha1hex()",
    "return redis.sha1hex('a', 'b')",
    "return redis.log(1)",
    "return redis.log('x', 'y')",
    "return redis.log(4, 'y')",
    "return redis.log(-1, 'y')",
    "return redis.log(redis.LOG_DEBUG, 'y', 'z')",
    "return redis.setresp()",
    "return redis.setresp(4)",
    "return redis.setresp(2, 3)",
    "return redis.set_repl()",
    "return redis.set_repl(4)",
    "return redis.set_repl(-1)",
    "return redis.set_repl('x')",
    "return redis.set_repl(redis.REPL_ALL)",
    "return redis.acl_check_cmd()",
    "return redis.acl_check_cmd('NOPE')",
    "return redis.acl_check_cmd({})",
    "return redis.acl_check_cmd('GET', 'x')",
    "return redis.acl_check_cmd('GET')",
    "return redis.acl_check_cmd('CLIENT', 'NOPE')",
    "return redis.acl_check_cmd('CLIENT', 'ID')",
];

#[test]
fn uncaught_errors_say_what_and_where() {
    side_by_side(|c| {
        c.same("SET s text");
        for scripts in [OF_CALLS, RAISED, OF_LUA, OF_REDIS] {
            same(c, scripts);
        }
    });
}

#[test]
fn scripts_that_do_not_compile_are_refused() {
    side_by_side(|c| {
        let scripts = [
            "syntax err",
            "return foo(",
            "return",
            "\n\nif x then",
            "for",
            "return 'abc",
            "x = = 1",
            "local function f( end",
            "break",
            "return 1 return 2",
            "return 0x",
            "return ...",
            "'\\xzz'",
            "[[",
            "--[[",
            "a.b:c = 1",
            "\u{1b}Lua",
            "x\0y",
        ];
        same(c, &scripts);
        for script in scripts {
            c.same(argv!["SCRIPT", "LOAD", script]);
        }
        let long = format!("return {}", "a.".repeat(200));
        c.same(argv!["EVAL", &long, 0]);
        let locals = "local a ".repeat(201);
        c.same(argv!["EVAL", &locals, 0]);
        let deep = format!("return {}1{}", "(".repeat(201), ")".repeat(201));
        c.same(argv!["EVAL", &deep, 0]);
    });
}

/// Errors that `pcall` and `xpcall` catch.
const CAUGHT: &[&str] = &[
    "return {pcall(redis.call, 'GET')}",
    "return {pcall(redis.call, 'INCR', 's')}",
    "return {pcall(redis.call, 'GET', 's')}",
    "return {pcall(redis.pcall, 'GET')}",
    "return {pcall(function() return redis.call('GET') end)}",
    "return {pcall(error, 'x')}",
    "return {pcall(error, {err='x'})}",
    "return {pcall(error, {err=5})}",
    "return {pcall(error, {1,2})}",
    "return {pcall(error)}",
    "return {pcall(error, nil)}",
    "return {pcall(function() error('x') end)}",
    "return {pcall(function() error('x', 2) end)}",
    "return {pcall(function() local a = nil; return a.b end)}",
    "return {pcall(function() return nope end)}",
    "return {pcall(function() nope = 1 end)}",
    "return {pcall(nil)}",
    "return {pcall({})}",
    "return {pcall(function() return 1, 2, 3 end)}",
    "return {pcall(function(...) return ... end, 1, nil, 3)}",
    "return {pcall(string.rep)}",
    "return {pcall(string.rep, 'x', {})}",
    "return {pcall(unpack, nil)}",
    "return {pcall(pcall)}",
    "return {pcall(setmetatable, 1, 2)}",
    "return {pcall(redis.sha1hex)}",
    "return {pcall(redis.setresp, 9)}",
    "return {pcall(redis.log)}",
    "return {xpcall(function() error('x') end, function(e) return 'h: ' .. e end)}",
    "return {xpcall(function() redis.call('GET') end, function(e) return e.err end)}",
    "return {xpcall(function() redis.call('GET') end, function(e) return type(e) end)}",
    "return {xpcall(function() return 1, 2 end, function(e) return e end)}",
    "return {xpcall(function() error({1,2}) end, function(e) return e end)}",
    "return {xpcall(function() error('x') end, function(e) error('y') end)}",
    "return {xpcall(nil, function(e) return e end)}",
];

/// Errors as values, and coroutines.
const RETURNED: &[&str] = &[
    "return redis.pcall('GET')",
    "return redis.pcall('INCR', 's')",
    "return redis.pcall('NOPE').err",
    "return redis.pcall('INCR', 's').err",
    "return redis.pcall()",
    "return redis.pcall({})",
    "local e = redis.pcall('GET') return {e.err, tostring(e.ok), tostring(e.line)}",
    "return tostring(redis.pcall('GET').ignore_error_stats_update)",
    "return tostring(redis.pcall('INCR', 's').ignore_error_stats_update)",
    "return tostring(redis.error_reply('x').ignore_error_stats_update)",
    "local t = {} for k in pairs(redis.error_reply('x')) do t[#t+1] = k end return t",
    "local t = {} for k in pairs(redis.error_reply(1)) do t[#t+1] = k end return t",
    "return redis.error_reply('My Err')",
    "return redis.error_reply('-My Err')",
    "return redis.error_reply('Err')",
    "return redis.error_reply('-Err')",
    "return redis.error_reply('')",
    "return redis.error_reply('-')",
    "return redis.error_reply(' x')",
    "return redis.error_reply('a b\\r\\n')",
    "return redis.error_reply('a\\r\\n b c')",
    "return redis.error_reply(1)",
    "return redis.error_reply()",
    "return redis.error_reply('a', 'b')",
    "return redis.error_reply({})",
    "return redis.status_reply('fine')",
    "return redis.status_reply('')",
    "return redis.status_reply(1)",
    "return redis.status_reply()",
    "return redis.status_reply('a', 'b')",
    "return {coroutine.resume(coroutine.create(function() error('x') end))}",
    "local ok, e = coroutine.resume(coroutine.create(function() redis.call('GET') end)) \
    return {tostring(ok), type(e), e.err}",
    "return {coroutine.resume(coroutine.create(function() return 1, 2 end))}",
    "local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b \
    end) return {select(2, coroutine.resume(co, 1)), select(2, coroutine.resume(co, \
    7)), coroutine.status(co)}",
    "local co = coroutine.wrap(function() return redis.call('GET', 's') end) return co()",
    "return {pcall(function() return pcall(error, 'x') end)}",
    "for i = 1, 300 do pcall(redis.call, 'GET') end return redis.call('GET', 's')",
    "local ok, e = pcall(redis.call, 'GET') return redis.call('GET', 's')",
];

#[test]
fn errors_are_caught() {
    in_both_protocols(|c| {
        c.same("SET s text");
        same(c, CAUGHT);
        same(c, RETURNED);
    });
}

#[test]
fn an_error_keeps_what_was_written_before_it() {
    side_by_side(|c| {
        same(c, &["redis.call('SET', 'a', 1) redis.call('GET')"]);
        c.check("GET a", b"$1\r\n1\r\n");
    });
}
