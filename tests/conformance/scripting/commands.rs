//! EVAL's own arguments, EVALSHA, the _RO forms, the first line of a script, and SCRIPT.

use super::same;
use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn arguments_of_eval_are_checked() {
    side_by_side(|c| {
        c.same("EVAL");
        c.same("EVAL x");
        for keys in ["x", "-1", "3", "1.5", "", "9223372036854775808", "2", "01"] {
            c.same(argv!["EVAL", "return #KEYS", keys, "a", "b"]);
            c.same(argv!["EVAL", "return (", keys, "a", "b"]);
            c.same(argv!["EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", keys, "a", "b"]);
            c.same(argv!["EVALSHA", "x", keys, "a", "b"]);
        }
        c.same("EVALSHA aaa 0");
        c.same("EVALSHA \"\" 0");
        c.same("COMMAND GETKEYS EVAL \"return 1\" 2 a b c");
        c.same("COMMAND GETKEYS EVAL \"return 1\" 0");
        c.same("COMMAND GETKEYSANDFLAGS EVALSHA_RO x 1 a");
    });
}

#[test]
fn scripts_are_kept_by_hash() {
    side_by_side(|c| {
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        c.same(argv!["EVALSHA", sha, 0]);
        c.same(argv!["SCRIPT", "LOAD", "return 1"]);
        c.same(argv!["SCRIPT", "LOAD", "return 1"]);
        c.same(argv!["SCRIPT", "EXISTS", sha, "x", sha.to_uppercase(), ""]);
        c.same(argv!["EVALSHA", sha, 0]);
        c.same(argv!["EVALSHA", sha.to_uppercase(), 0]);
        c.same(argv!["EVALSHA_RO", sha, 0]);
        for mode in ["", " SYNC", " async"] {
            c.same(format!("SCRIPT FLUSH{mode}"));
            c.same(argv!["EVALSHA", sha, 0]);
            c.same(argv!["EVAL", "return 1", 0]);
            c.same(argv!["EVALSHA", sha, 0]);
        }
        c.same("SCRIPT FLUSH foo");
        c.same("SCRIPT FLUSH sync async");
        c.same("SCRIPT EXISTS");
        c.same("SCRIPT KILL");
        c.same("SCRIPT");
        c.same("SCRIPT foo");
        c.same("SCRIPT HELP");
        c.same("SCRIPT LOAD");
        c.same(argv!["SCRIPT", "LOAD", "x x"]);
        c.same("SCRIPT DEBUG no");
        c.same("SCRIPT DEBUG foo");
        // A script that failed while it ran is known; one that did not compile is not.
        c.same(argv!["EVAL", "error('x')", 0]);
        c.same("SCRIPT EXISTS 2cbaf8d42dd9ea1ae5e4ba4c5e4e0ad5b3aee9dd");
        c.same("SCRIPT EXISTS 3bd4d1a4dd8bdcdc5e3f7a5b8f9f5a2f6c1e3d0f");
    });
}

#[test]
fn read_only_forms_refuse_writes() {
    in_both_protocols(|c| {
        c.same("SET a 1");
        for script in [
            "return redis.call('GET', 'a')",
            "return redis.call('SET', 'a', 2)",
            "return redis.pcall('SET', 'a', 2)",
            "return {pcall(redis.call, 'DEL', 'a')}",
            "return redis.call('FLUSHALL')",
            "return redis.call('PING')",
            "return redis.call('EXISTS', 'a')",
            "return redis.call('EXPIRE', 'a', 0)",
            "#!lua\nreturn 1",
            "#!lua flags=no-writes\nreturn redis.call('GET', 'a')",
            "#!lua flags=no-writes\nreturn redis.call('SET', 'a', 2)",
        ] {
            c.same(argv!["EVAL_RO", script, 1, "a"]);
            c.same(argv!["EVAL", script, 1, "a"]);
            c.same("SET a 1");
        }
    });
}

#[test]
fn the_first_line_can_say_what_a_script_is() {
    side_by_side(|c| {
        let scripts = [
            "#!lua\nreturn 1",
            "#!lua",
            "#!",
            "#!\n",
            "#!lua \nreturn 2",
            "#! lua\nreturn 2",
            "#!lua2\nreturn 2",
            "#!LUA\nreturn 2",
            "#!python\nreturn 2",
            "#!lua flags=\nreturn 3",
            "#!lua flags\nreturn 3",
            "#!lua flags=no-writes\nreturn 3",
            "#!lua flags=no-writes,allow-stale,allow-oom,no-cluster,allow-cross-slot-keys\nreturn \
             3",
            "#!lua flags=NO-WRITES\nreturn 3",
            "#!lua flags=nope\nreturn 3",
            "#!lua flags=no-writes,nope\nreturn 3",
            "#!lua flags=no-writes,,allow-oom\nreturn 3",
            "#!lua flags=,\nreturn 3",
            "#!lua flags=no-writes flags=allow-oom\nreturn 3",
            "#!lua flags=allow-oom flags=no-writes\nreturn redis.call('SET', 'a', 1)",
            "#!lua flags=no-writes flags=allow-oom\nreturn redis.call('SET', 'a', 1)",
            "#!lua flags=allow-oom  flags=allow-stale\nreturn 3",
            "#!lua name=x\nreturn 3",
            "#!lua x y\nreturn 3",
            "#!lua\tflags=no-writes\nreturn 3",
            "#!lua \"flags=no-writes\"\nreturn 3",
            "#!lua flags=\"no-writes\"\nreturn 3",
            "#!lua 'flags=no-writes\nreturn 3",
            "#!lua\n\nerror('on line 3')",
            "#!lua flags=no-writes\nredis.call('GET')",
            "#!lua\nreturn (",
            "#!lua\r\nreturn 3",
        ];
        same(c, &scripts);
        for script in scripts {
            c.same(argv!["SCRIPT", "LOAD", script]);
        }
    });
}

#[test]
fn scripts_run_inside_a_transaction() {
    in_both_protocols(|c| {
        c.same("MULTI");
        c.same("SET a 5");
        c.same(argv!["EVAL", "return redis.call('INCR', KEYS[1])", 1, "a"]);
        c.same(argv!["EVAL", "redis.call('INCR', KEYS[1]) error('x')", 1, "a"]);
        c.same(argv!["EVAL", "redis.call('SELECT', 3) return redis.call('SET', 'b', 1)", 0]);
        c.same("EVALSHA 0000000000000000000000000000000000000000 0");
        c.same("SCRIPT LOAD \"return 3\"");
        c.same("SCRIPT EXISTS 0000000000000000000000000000000000000000");
        c.same("GET a");
        c.same("EVAL");
        c.same("EXEC");
        c.same("MULTI");
        c.same("SET a 5");
        c.same(argv!["EVAL", "return redis.call('INCR', KEYS[1])", 1, "a"]);
        c.same(argv!["EVAL", "redis.call('INCR', KEYS[1]) error('x')", 1, "a"]);
        c.same(argv!["EVAL", "redis.call('SELECT', 3) return redis.call('SET', 'b', 1)", 0]);
        c.same("EVALSHA 0000000000000000000000000000000000000000 0");
        c.same("SCRIPT LOAD \"return 3\"");
        c.same("SCRIPT FLUSH");
        c.same("GET a");
        c.same("EXEC");
        c.same("GET b");
        c.same("SELECT 3");
        c.same("GET b");
    });
}

#[test]
fn a_script_breaks_the_watches_of_what_it_writes() {
    side_by_side(|c| {
        c.same("SET a 1");
        for (script, at) in [("return redis.call('GET', 'a')", 0), ("redis.call('SET', 'a', 1)", 1)]
        {
            c.on(1).same("WATCH a");
            c.same(argv!["EVAL", script, 0]);
            c.on(1).same("MULTI");
            c.on(1).same("PING");
            let reply = c.on(1).same("EXEC");
            assert_eq!(reply == stockroom::resp::Value::NilArray, at == 1);
        }
    });
}
