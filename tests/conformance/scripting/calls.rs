//! `redis.call` from inside: databases, time, the session's commands.

use super::same;
use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn a_database_selected_in_a_script_is_left_with_it() {
    side_by_side(|c| {
        c.same("SELECT 2");
        same(
            c,
            &[
                "redis.call('SET', 'where', 'two')",
                "redis.call('SELECT', 5) redis.call('SET', 'where', 'five') return \
                 redis.call('GET', 'where')",
                "return redis.call('GET', 'where')",
                "return redis.call('SELECT', 16)",
                "return redis.call('SELECT', 'x')",
                "return {redis.call('MOVE', 'where', 7), redis.call('EXISTS', 'where')}",
                "return redis.call('SWAPDB', 2, 7)",
                "return redis.call('GET', 'where')",
            ],
        );
        c.same("GET where");
        c.same("SELECT 5");
        c.same("GET where");
    });
}

#[test]
fn time_stands_still_in_a_script() {
    side_by_side(|c| {
        same(
            c,
            &[
                "return redis.call('TIME')",
                "redis.call('SET', 'a', 1, 'PX', 100) return redis.call('PTTL', 'a')",
                "redis.call('PEXPIRE', 'a', 5) return {redis.call('PTTL', 'a'), redis.call('GET', \
                 'a')}",
            ],
        );
        c.advance(5);
        same(c, &["return redis.call('GET', 'a')"]);
        c.advance(1);
        same(c, &["return redis.call('GET', 'a')", "return redis.call('EXPIRE', 'a', -1)"]);
    });
}

#[test]
fn commands_of_the_connection_and_the_server() {
    in_both_protocols(|c| {
        same(
            c,
            &[
                "return redis.call('PING')",
                "return redis.call('PING', 'x')",
                "return redis.call('ECHO', 'x')",
                "return redis.call('DBSIZE')",
                "return redis.call('FLUSHDB')",
                "return redis.call('FLUSHALL')",
                "return redis.call('HELLO', 3)",
                "return redis.call('RESET')",
                "return redis.call('QUIT')",
                "return redis.call('AUTH', 'x')",
                "return redis.call('CONFIG', 'GET', 'hz')",
                "return redis.call('CONFIG', 'SET', 'hz', 11)",
                "return redis.call('CLIENT', 'GETNAME')",
                "return redis.call('CLIENT', 'HELP')",
                "return redis.call('COMMAND', 'GETKEYS', 'GET', 'x')",
                "return redis.call('WATCH', 'x')",
                "return redis.call('UNWATCH')",
                "return redis.call('DISCARD')",
                "return redis.call('EXEC')",
                "return redis.call('SCRIPT', 'HELP')[2]",
                "return type(redis.call('INFO'))",
                "return redis.call('INFO', 'cluster')",
                "redis.setresp(3) return redis.call('INFO', 'cluster')",
                "return redis.call('KEYS', '*')",
                "return redis.call('RANDOMKEY')",
                "return redis.call('SCAN', 0)",
            ],
        );
    });
}

#[test]
fn keys_need_not_be_declared() {
    side_by_side(|c| {
        c.same(argv!["EVAL", "return redis.call('MSET', 'a', 1, 'b', 2, 'c', 3)", 0]);
        c.same(argv!["EVAL", "return redis.call('MGET', KEYS[1], 'b', ARGV[1])", 1, "a", "c"]);
        c.same(argv!["EVAL_RO", "return redis.call('MGET', KEYS[1], 'b', ARGV[1])", 1, "a", "c"]);
    });
}

#[test]
fn functions_of_redis_that_do_nothing_here_answer_as_there() {
    side_by_side(|c| {
        same(
            c,
            &[
                "return redis.replicate_commands()",
                "return redis.breakpoint()",
                "return redis.debug('x')",
                "return select('#', redis.debug('x', 1, {}))",
                "return select('#', redis.log(1, 'x'))",
                "return select('#', redis.set_repl(1))",
                "return select('#', redis.setresp(2))",
                "return select('#', redis.call('PING'))",
                "return redis.sha1hex('')",
                "return redis.sha1hex('abc')",
                "return redis.sha1hex('\\0\\255')",
                "return redis.sha1hex(1)",
                "return redis.sha1hex(1.5)",
                "return redis.sha1hex({})",
                "return redis.sha1hex(nil)",
                "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}",
                "return type(__redis__err__handler)",
                "return __redis__err__handler('x').err",
            ],
        );
    });
}
