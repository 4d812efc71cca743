//! The commands that wait: who is served, in which order, with what, and when they give up.

use std::time::Duration;

use stockroom::resp::Value;

use crate::support::{Pair, argv, in_both_protocols, side_by_side};

const NIL_ARRAY: &[u8] = b"*-1\r\n";

/// The id of a connection, which differs between the sides.
fn ids(c: &Pair) -> (String, Option<String>) {
    let (ours, real) = c.both("CLIENT ID");
    let id = |value: &Value| if let Value::Int(id) = value { id.to_string() } else { panic!() };
    (id(&ours.value), real.map(|real| id(&real.value)))
}

/// Sends `CLIENT <command> <id> <rest>` with each side's own id and compares the replies.
#[track_caller]
fn about(c: &Pair, ids: &(String, Option<String>), command: &str, rest: &[&str]) -> Value {
    let line = |id: &str| {
        let words = command.split(' ').chain([id]).chain(rest.iter().copied());
        words.map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>()
    };
    let ours = c.run_ours(line(&ids.0));
    if let Some(id) = &ids.1 {
        assert_eq!(Some(&ours), c.run_real(line(id)).as_ref(), "{command}");
    }
    ours
}

/// A field of a line or of INFO.
fn field(text: &Value, name: &str) -> String {
    let text = match text {
        Value::Bulk(text) | Value::Verbatim(_, text) => text.to_text(),
        other => panic!("{other:?} is no text"),
    };
    let fields = text.split([' ', '\r', '\n']);
    let mut found = fields.filter_map(|f| f.strip_prefix(name)?.strip_prefix(['=', ':']));
    found.next().unwrap_or_else(|| panic!("no {name} in {text}")).to_string()
}

fn blocked_clients(c: &Pair) -> Value {
    let fields = ["blocked_clients", "clients_in_timeout_table"];
    c.same_after("INFO clients", move |info| Value::bulks(fields.map(|name| field(&info, name))))
}

#[test]
fn what_is_there_is_answered_at_once() {
    in_both_protocols(|c| {
        c.run("RPUSH l a b c d e f g");
        c.run("ZADD z 1 a 2.5 b 3 c inf d 4 e");
        c.same("BLPOP none l 0");
        c.same("BRPOP none l 0.5");
        c.same("BLMOVE l other LEFT RIGHT 0");
        c.same("BRPOPLPUSH l other 1");
        c.same("BLMPOP 0 2 none l LEFT COUNT 2");
        c.same("BLMPOP 0 1 l RIGHT");
        c.same("BZPOPMIN none z 0");
        c.same("BZPOPMAX z 0");
        c.same("BZMPOP 0 2 none z MIN");
        c.same("BZMPOP 0 1 z MAX COUNT 10");
        c.same("LRANGE other 0 -1");
        c.same("EXISTS l z");
    });
}

#[test]
fn one_who_waits_gets_what_comes() {
    for protocol in [2, 3] {
        side_by_side(|c| one_waits(c, protocol));
    }
}

fn one_waits(c: &Pair, protocol: u32) {
    let waiter = c.on(1);
    if protocol == 3 {
        waiter.hello3();
    }
    for (wait, push) in [
        ("BLPOP a b 0", "RPUSH b 1 2"),
        ("BRPOP c x c 0", "RPUSH c 1 2"),
        ("BLMOVE d e RIGHT LEFT 0", "RPUSH d 1 2"),
        ("BRPOPLPUSH f e 0", "LPUSH f 1 2"),
        ("BLMPOP 0 2 g h LEFT", "RPUSH h 1 2"),
        ("BLMPOP 0 2 h2 i RIGHT COUNT 5", "RPUSH i 1 2 3"),
        ("BZPOPMIN j k 0", "ZADD k 1.5 m 2 n"),
        ("BZPOPMAX j l 0", "ZADD l 1.5 m inf n"),
        ("BZMPOP 0 1 m MIN", "ZADD m 0.1 m 2 n"),
        ("BZMPOP 0 2 j n MAX COUNT 3", "ZADD n 1.5 m 2 n"),
    ] {
        waiter.blocks(wait);
        c.same(push);
        waiter.wakes();
    }
    for key in ["b", "c", "d", "e", "f", "h", "i"] {
        c.same(argv!["LRANGE", key, 0, -1]);
    }
    for key in ["k", "l", "m", "n"] {
        c.same(argv!["ZRANGE", key, 0, -1, "WITHSCORES"]);
    }
    blocked_clients(c);
}

/// Timeouts, most of them bad.
const TIMEOUTS: &[&str] = &[
    "-1",
    "x",
    "",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e30",
    "9223372036854775807",
    "-0.0011",
    " 1",
    "1 ",
    "1\0x",
    "infinity",
    "1e5000",
    "0x",
    "1e-5000",
];

/// Lines that are refused, for the first of several reasons.
const REFUSED: &[&str] = &[
    "BLPOP k",
    "BLPOP",
    "BLMOVE k d LEFT LEFT",
    "BLMOVE k d LEFT UP x",
    "BLMOVE k d UP LEFT 0",
    "BLMOVE s d LEFT UP 0",
    "BLMPOP 0 0 k LEFT",
    "BLMPOP 0 2 k LEFT",
    "BLMPOP x 0 k LEFT",
    "BLMPOP 0 1 k UP",
    "BLMPOP 0 1 k LEFT COUNT 0",
    "BLMPOP 0 1 k LEFT COUNT x",
    "BLMPOP x 1 k LEFT COUNT x",
    "BLMPOP 0 1 k LEFT COUNT 1 COUNT 2",
    "BLMPOP 0 x k LEFT",
    "BLMPOP 0 1 k LEFT COUNT",
    "BLMPOP -1 0 k UP",
    "BZMPOP 0 1 k LEFT",
    "BZMPOP x 0 k MIN",
    "BZMPOP 0 1 k MIN COUNT -1",
    "BZMPOP 0 9 k MIN",
    "BRPOPLPUSH k d",
    "BLPOP s x",
    "BLPOP s 0",
    "BLPOP k s 0",
    "BLPOP l s 0",
    "BZPOPMIN l 0",
    "BZMPOP 0 2 k s MIN",
    "BLMPOP 0 2 k s LEFT",
    "BLMOVE s d LEFT LEFT 0",
    "BRPOPLPUSH s d 0",
    "BRPOPLPUSH s d x",
];

#[test]
fn arguments_are_refused_as_by_redis() {
    side_by_side(|c| {
        c.run("SET s 1");
        c.run("RPUSH l a b");
        for &timeout in TIMEOUTS {
            for line in [
                argv!["BLPOP", "k", timeout],
                argv!["BRPOP", "k", "k", timeout],
                argv!["BLMOVE", "k", "d", "LEFT", "LEFT", timeout],
                argv!["BRPOPLPUSH", "k", "d", timeout],
                argv!["BLMPOP", timeout, "1", "k", "LEFT"],
                argv!["BZPOPMIN", "k", timeout],
                argv!["BZPOPMAX", "k", timeout],
                argv!["BZMPOP", timeout, "1", "k", "MIN"],
            ] {
                c.same(line);
            }
        }
        for &line in REFUSED {
            c.same(line);
        }
        // The destination is looked at only once there is something to move.
        c.run("RPUSH l b");
        c.same("BLMOVE l s LEFT LEFT 0");
        c.on(1).blocks("BLMOVE k s LEFT LEFT 0");
        c.same("LRANGE l 0 -1");
    });
}

#[test]
fn clients_of_a_key_are_served_in_order_of_arrival() {
    side_by_side(|c| {
        for n in 1..=4 {
            c.on(n).blocks("BLPOP q 0");
        }
        c.same("RPUSH q a");
        c.on(1).wakes();
        c.on(2).still_blocked();
        c.same("RPUSH q b c");
        c.on(2).wakes();
        c.on(3).wakes();
        c.on(4).still_blocked();
        // Who waits again stands behind.
        c.on(1).blocks("BRPOP q 0");
        c.same("LPUSH q d e f");
        c.on(4).wakes();
        c.on(1).wakes();
        c.same("LRANGE q 0 -1");
    });
}

#[test]
fn a_transaction_serves_after_its_end_keys_in_the_order_of_their_birth() {
    side_by_side(|c| {
        c.on(1).blocks("BLPOP a b 0");
        c.on(2).blocks("BLPOP b a 0");
        c.on(3).blocks("BLPOP a 0");
        for line in ["MULTI", "RPUSH b 1", "RPUSH a 2 3", "LLEN a", "RPUSH b 4"] {
            c.same(line);
        }
        (1..=3).for_each(|n| c.on(n).still_blocked());
        c.same("EXEC");
        (1..=3).for_each(|n| drop(c.on(n).wakes()));
        c.same("LRANGE b 0 -1");
        c.same("EXISTS a");
    });
}

#[test]
fn a_script_serves_after_its_end() {
    if !cfg!(feature = "lua") {
        return;
    }
    side_by_side(|c| {
        c.on(1).blocks("BLPOP q 0");
        c.on(2).blocks("BLPOP q 0");
        c.on(3).blocks("BLMOVE q r LEFT LEFT 0");
        let script = "redis.call('RPUSH', 'q', 'a') \
            redis.call('RPUSH', 'q', 'b', 'c', 'd') return redis.call('LLEN', 'q')";
        c.check(argv!["EVAL", script, 0], b":4\r\n");
        (1..=3).for_each(|n| drop(c.on(n).wakes()));
        c.same("LRANGE q 0 -1");
        c.same("LRANGE r 0 -1");
    });
}

#[test]
fn commands_in_scripts_and_transactions_do_not_wait() {
    in_both_protocols(|c| {
        c.same("MULTI");
        for line in [
            "BLPOP k 0",
            "BRPOP k 1",
            "BLMOVE k d LEFT LEFT 0",
            "BRPOPLPUSH k d 0",
            "BLMPOP 0 1 k LEFT",
            "BZPOPMIN k 0",
            "BZPOPMAX k 0",
            "BZMPOP 0 1 k MIN",
            "BLPOP k -1",
            "RPUSH k a",
            "BLPOP k 0",
        ] {
            c.same(line);
        }
        c.same("EXEC");
        if cfg!(feature = "lua") {
            for call in [
                "'BLMPOP', 0, 1, 'k', 'LEFT'",
                "'BZMPOP', 0, 1, 'k', 'MIN'",
                "'BLPOP', 'k', 0",
                "'BLMOVE', 'k', 'd', 'LEFT', 'LEFT', 0",
            ] {
                c.same_after(argv!["EVAL", format!("return redis.pcall({call})"), 0], |reply| {
                    match reply {
                        Value::Error(error) => Value::bulk(error.code()),
                        reply => reply,
                    }
                });
            }
        }
    });
}

#[test]
fn what_is_moved_makes_its_destination_ready() {
    side_by_side(|c| {
        c.on(1).blocks("BLMOVE a b LEFT LEFT 0");
        c.on(2).blocks("BLMOVE b c LEFT LEFT 0");
        c.on(3).blocks("BLPOP c 0");
        c.same("RPUSH a x");
        (1..=3).for_each(|n| drop(c.on(n).wakes()));
        c.same("EXISTS a b c");
        // Behind what is ready already: d, e, then f, though born before e is served.
        c.on(1).blocks("BLMOVE d f LEFT LEFT 0");
        c.on(2).blocks("BLPOP f e 0");
        for line in ["MULTI", "RPUSH d 1", "RPUSH e 2", "EXEC"] {
            c.same(line);
        }
        c.on(1).wakes();
        c.on(2).wakes();
        c.same("LRANGE f 0 -1");
    });
}

#[test]
fn an_element_can_be_passed_round_in_one_list() {
    side_by_side(|c| {
        c.on(1).blocks("BLMOVE k k LEFT RIGHT 0");
        c.on(2).blocks("BLMOVE k k LEFT RIGHT 0");
        c.on(3).blocks("BRPOPLPUSH k k 0");
        c.on(4).blocks("BLPOP k 0");
        c.same("RPUSH k a b");
        (1..=4).for_each(|n| drop(c.on(n).wakes()));
        c.same("LRANGE k 0 -1");
    });
}

#[test]
fn a_destination_of_the_wrong_type_costs_its_client_the_wait_and_nobody_the_element() {
    side_by_side(|c| {
        c.on(1).blocks("BLMOVE k d LEFT LEFT 0");
        c.on(2).blocks("BLPOP k 0");
        c.run("SET d x");
        c.same("RPUSH k a");
        c.on(1).wakes();
        c.on(2).wakes();
        c.same("EXISTS k");
    });
}

#[test]
fn a_value_of_another_type_leaves_its_clients_waiting() {
    side_by_side(|c| {
        c.on(1).blocks("BLPOP k 0");
        c.on(2).blocks("BZPOPMIN k 0");
        c.same("SET k x");
        c.same("DEL k");
        c.same("SADD k x");
        c.on(1).still_blocked();
        c.on(2).still_blocked();
        c.same("DEL k");
        c.same("ZADD k 1 m 2 n");
        c.on(1).still_blocked();
        c.on(2).wakes();
        // What replaces a value is not noticed, as in Redis 7.0: the list stands and its client
        // waits, until the key is born anew.
        c.same("ZUNIONSTORE k 1 k");
        c.on(3).blocks("BZPOPMIN other 0");
        c.same("RPUSH l a");
        c.same("RENAME l k");
        c.on(1).wakes();
    });
}

#[test]
fn a_value_that_replaces_another_is_not_noticed() {
    side_by_side(|c| {
        c.on(1).blocks("BZPOPMIN k 0");
        c.run("ZADD z 1 m");
        c.same("SET k x");
        c.same("ZUNIONSTORE k 1 z");
        c.same("TYPE k");
        c.same("ZADD k 2 n");
        c.on(1).still_blocked();
        c.same("COPY z k REPLACE");
        c.on(1).wakes();
        // A key is noticed only if somebody waits for a value of its type, be it under another key:
        // so it depends on connection 2 whether connection 1 is served.
        for waits in [false, true] {
            c.run("DEL k");
            c.on(1).blocks("BZPOPMIN k 0");
            if waits {
                c.on(2).blocks("BLPOP elsewhere 0");
            }
            for line in ["MULTI", "RPUSH k a", "ZUNIONSTORE k 1 z", "EXEC"] {
                c.same(line);
            }
            if waits {
                c.on(1).wakes();
            } else {
                c.on(1).still_blocked();
                c.on(1).disconnect();
            }
        }
    });
}

#[test]
fn every_way_for_a_key_to_be_born_wakes() {
    side_by_side(|c| {
        let waiter = c.on(1);
        for (before, birth) in [
            ("RPUSH s a", "RENAME s k"),
            ("RPUSH s a", "RENAMENX s k"),
            ("RPUSH s a", "COPY s k"),
            ("RPUSH s a", "LMOVE s k LEFT LEFT"),
            ("RPUSH s a", "RPOPLPUSH s k"),
            ("RPUSH s a", "BLMOVE s k LEFT LEFT 0"),
            ("PING", "LPUSH k a"),
            ("PING", "RPUSH k a"),
        ] {
            c.run("FLUSHALL");
            c.run(before);
            waiter.blocks("BLPOP k 0");
            c.same(birth);
            waiter.wakes_with(b"*2\r\n$1\r\nk\r\n$1\r\na\r\n");
        }
        for birth in [
            "ZADD k 1 a",
            "ZADD k INCR 1 a",
            "ZADD k GT 1 a",
            "ZINCRBY k 1 a",
            "ZUNIONSTORE k 1 s",
            "ZINTERSTORE k 2 s s AGGREGATE MIN",
            "ZDIFFSTORE k 2 s none",
            "ZRANGESTORE k s 0 -1",
            "RENAME s k",
            "COPY s k",
        ] {
            c.run("FLUSHALL");
            c.run("ZADD s 1 a");
            waiter.blocks("BZPOPMAX k 0");
            c.same(birth);
            waiter.wakes_with(b"*3\r\n$1\r\nk\r\n$1\r\na\r\n$1\r\n1\r\n");
        }
        // Nothing is born of these.
        waiter.blocks("BLPOP k 0");
        for line in
            ["LPUSHX k a", "RPUSHX k a", "ZADD k XX 1 a", "LINSERT k BEFORE a b", "EXISTS k"]
        {
            c.same(line);
        }
        waiter.still_blocked();
    });
}

#[test]
fn keys_come_from_other_databases_too() {
    side_by_side(|c| {
        let far = c.on(2);
        far.run("SELECT 1");
        c.on(1).blocks("BLPOP k 0");
        far.same("RPUSH k a b");
        c.on(1).still_blocked();
        far.same("MOVE k 0");
        c.on(1).wakes();
        c.run("DEL k");
        c.on(1).blocks("BLPOP k 0");
        far.same("RPUSH k c");
        far.same("COPY k k DB 0");
        c.on(1).wakes();
        c.on(1).blocks("BLPOP k 0");
        c.same("SWAPDB 0 1");
        c.on(1).wakes();
        // Who waits stays with the number of the database.
        c.on(1).blocks("BLPOP k 0");
        c.same("SWAPDB 0 1");
        far.same("RPUSH k d");
        c.on(1).still_blocked();
        c.same("SWAPDB 1 0");
        c.on(1).wakes();
    });
}

#[test]
fn what_is_gone_again_at_the_end_wakes_nobody() {
    side_by_side(|c| {
        c.on(1).blocks("BLPOP k 0");
        for line in ["MULTI", "RPUSH k a", "DEL k", "EXEC"] {
            c.same(line);
        }
        c.on(1).still_blocked();
        for line in ["MULTI", "RPUSH k a", "PEXPIRE k -1", "EXEC"] {
            c.same(line);
        }
        c.on(1).still_blocked();
        c.on(2).blocks("BZPOPMIN k 0");
        for line in ["MULTI", "RPUSH k a", "DEL k", "ZADD k 1 m", "EXEC"] {
            c.same(line);
        }
        c.on(1).still_blocked();
        c.on(2).wakes();
    });
}

#[test]
fn a_key_named_twice_serves_once() {
    side_by_side(|c| {
        c.on(1).blocks("BLPOP k k j k 0");
        c.same("RPUSH k a b c");
        c.on(1).wakes();
        c.same("LRANGE k 0 -1");
    });
}

#[test]
fn time_outs_follow_the_clock_to_the_millisecond() {
    side_by_side(|c| {
        if !c.is_frozen() {
            return;
        }
        c.on(1).blocks("BLPOP k 1");
        c.on(2).blocks("BLMOVE k d LEFT LEFT 0.9995");
        c.on(3).blocks("BZMPOP 0x1p0 1 k MIN");
        c.on(4).blocks("BRPOPLPUSH k d 1e-400");
        c.on(5).blocks("BLPOP k -0.0001");
        c.on(6).blocks("BLPOP k 9223372036854775.807");
        blocked_clients(c);
        c.advance(1);
        c.on(4).still_blocked();
        c.advance(1);
        c.on(4).wakes_with(NIL_ARRAY);
        c.advance(998);
        (1..=3).for_each(|n| c.on(n).still_blocked());
        blocked_clients(c);
        c.advance(1);
        (1..=3).for_each(|n| c.on(n).wakes_with(NIL_ARRAY));
        blocked_clients(c);
        c.advance(1_000_000_000_000);
        c.on(5).still_blocked();
        c.on(6).still_blocked();
        c.same("RPUSH k a b");
        c.on(5).wakes();
        c.on(6).wakes();
    });
}

#[test]
fn who_has_given_up_gets_nothing() {
    side_by_side(|c| {
        if !c.is_frozen() {
            return;
        }
        c.on(1).blocks("BLPOP k 1");
        c.on(2).blocks("BLPOP k 2");
        c.advance(1_001);
        c.same("RPUSH k a");
        c.on(1).wakes_with(NIL_ARRAY);
        c.on(2).wakes();
        c.same("EXISTS k");
    });
}

#[test]
fn a_time_out_is_nil_in_resp3() {
    side_by_side(|c| {
        for (n, line) in ["BLPOP k 1", "BLMOVE k d LEFT LEFT 1", "BZPOPMIN k 1", "BZMPOP 1 1 k MIN"]
            .iter()
            .enumerate()
        {
            c.on(n + 1).hello3();
            c.on(n + 1).blocks(*line);
        }
        c.advance(1_001);
        (1..=4).for_each(|n| c.on(n).wakes_with(b"_\r\n"));
    });
}

#[test]
fn a_client_is_unblocked_by_another() {
    in_both_protocols(|c| {
        let id = ids(&c.on(1));
        for line in ["BLPOP k 0", "BLMOVE k d LEFT LEFT 0", "BZPOPMIN k 7"] {
            for reason in [&[][..], &["TIMEOUT"], &["error"]] {
                c.on(1).blocks(line);
                assert_eq!(about(c, &id, "CLIENT UNBLOCK", reason), Value::Int(1));
                c.on(1).wakes();
                assert_eq!(about(c, &id, "CLIENT UNBLOCK", reason), Value::Int(0));
            }
        }
        for line in
            ["CLIENT UNBLOCK 999999", "CLIENT UNBLOCK -1", "CLIENT UNBLOCK x", "CLIENT UNBLOCK"]
        {
            c.same(line);
        }
        assert!(about(c, &id, "CLIENT UNBLOCK", &["LATER"]).is_error());
        c.on(1).same("RPUSH k a");
        c.on(1).same("LRANGE k 0 -1");
    });
}

#[test]
fn in_a_transaction_a_client_is_unblocked_at_once() {
    side_by_side(|c| {
        let id = ids(&c.on(1));
        c.on(1).blocks("BLPOP k 0");
        c.on(2).blocks("BLPOP k 0");
        c.same("MULTI");
        c.same("RPUSH k a b");
        about(c, &id, "CLIENT UNBLOCK", &[]);
        c.same("EXEC");
        c.on(1).wakes_with(NIL_ARRAY);
        c.on(2).wakes();
        c.same("LRANGE k 0 -1");
    });
}

#[test]
fn who_is_gone_gets_nothing() {
    side_by_side(|c| {
        let id = ids(&c.on(1));
        c.on(1).blocks("BLPOP k 0");
        c.on(2).blocks("BLPOP j k 0");
        c.on(3).blocks("BLPOP k 0");
        assert_eq!(about(c, &id, "CLIENT KILL ID", &[]), Value::Int(1));
        c.on(2).disconnect();
        blocked_clients(c);
        c.same("RPUSH k a b");
        c.on(3).wakes();
        c.same("LRANGE k 0 -1");
        c.on(1).closes();
        assert_eq!(c.engine().waiting_entries(), 0);
    });
}

#[test]
fn blocked_clients_are_shown() {
    side_by_side(|c| {
        let id = ids(&c.on(1));
        c.on(1).blocks("BLPOP k 5");
        c.on(2).blocks("BZPOPMIN k 0");
        blocked_clients(c);
        let shown = |line: &Value| ["flags", "cmd", "db", "multi"].map(|name| field(line, name));
        let ours = shown(&c.run_ours(argv!["CLIENT", "LIST", "ID", &id.0]));
        assert_eq!(ours, ["b", "blpop", "0", "-1"]);
        if let Some(id) = &id.1 {
            let real = c.run_real(argv!["CLIENT", "LIST", "ID", id]).expect("a server");
            assert_eq!(ours, shown(&real));
        }
        c.run("RPUSH k a");
        c.on(1).wakes();
        blocked_clients(c);
        let ours = shown(&c.run_ours(argv!["CLIENT", "LIST", "ID", &id.0]));
        assert_eq!(ours[0], "N");
    });
}

#[test]
fn serving_breaks_the_watches_of_what_it_changes() {
    side_by_side(|c| {
        c.on(1).blocks("BLMOVE a b LEFT LEFT 0");
        c.on(2).same("WATCH a");
        c.on(3).same("WATCH b");
        c.on(4).same("WATCH c");
        c.same("RPUSH a x");
        c.on(1).wakes();
        for n in 2..=4 {
            for line in ["MULTI", "PING", "EXEC"] {
                c.on(n).same(line);
            }
        }
    });
}

#[test]
fn nobody_is_left_behind_by_a_wait_that_ends() {
    side_by_side(|c| {
        for (n, line) in
            ["BLPOP a b c 0", "BLMOVE a b LEFT LEFT 0", "BZPOPMIN a z 0"].iter().enumerate()
        {
            c.on(n + 1).blocks(*line);
        }
        assert_eq!(c.engine().waiting_entries(), 6);
        c.same("RPUSH c x");
        c.on(1).wakes();
        assert_eq!(c.engine().waiting_entries(), 3);
        c.same("RPUSH a x");
        c.on(2).wakes();
        c.same("ZADD z 1 x");
        c.on(3).wakes();
        assert_eq!(c.engine().waiting_entries(), 0);
        c.engine().check_invariants();
    });
}

#[test]
fn threads_wait_by_themselves() {
    let engine = stockroom::Engine::new();
    let (mut worker, mut boss) = (engine.session(), engine.session());
    assert_eq!(worker.call(&[b"BLPOP", b"q", b"0.01"]), Value::NilArray);
    assert_eq!(engine.waiting_entries(), 0);
    let waits = std::thread::spawn(move || worker.call(&[b"BLPOP", b"q", b"60"]));
    while engine.waiting_entries() == 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
    boss.call(&[b"RPUSH", b"q", b"job"]);
    assert_eq!(waits.join().expect("no panic"), Value::bulks(["q", "job"]));
}
