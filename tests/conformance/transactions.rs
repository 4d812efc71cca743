//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! Connection 0 is the one with the transaction, connection 1 the one that gets in its way.

use stockroom::Engine;
use stockroom::resp::Value;

use crate::support::{Pair, in_both_protocols, side_by_side};

/// EXEC refused because of a watched key.
const ABORTED: &[u8] = b"*-1\r\n";
/// EXEC of an empty queue.
const EMPTY: &[u8] = b"*0\r\n";

#[test]
fn commands_are_queued_and_run_in_order() {
    in_both_protocols(|c| {
        c.same("MULTI");
        c.same("SET a 1");
        c.same("GET a");
        c.same("RENAME a b");
        c.same("EXISTS a b");
        c.on(1).check("EXISTS a b", b":0\r\n");
        c.same("EXEC");
        c.on(1).check("EXISTS a b", b":1\r\n");
        c.same("EXEC");
        c.same("MULTI");
        c.same("EXEC");
    });
}

#[test]
fn errors_while_queueing_abort_and_errors_while_running_do_not() {
    side_by_side(|c| {
        for wrong in [
            "NOSUCH a b",
            "GET",
            "GET a b",
            "CLIENT foo",
            "CONFIG",
            "CONFIG GET",
            "OBJECT foo x",
            "WATCH",
            "MULTI x",
            "DISCARD x",
        ] {
            c.same("MULTI");
            c.same("SET b 1");
            c.same(wrong);
            c.same("SET b 2");
            c.same("GET");
            c.same("EXEC");
            c.check("EXISTS b", b":0\r\n");
        }
        c.same("MULTI");
        c.same("SET a text");
        c.same("EXPIRE a x");
        c.same("RENAME nokey b");
        c.same("SELECT 99");
        c.same("COPY a a");
        c.same("GET a");
        c.same("EXEC");
        c.same("GET a");
    });
}

#[test]
fn an_exec_with_arguments_ends_the_transaction() {
    side_by_side(|c| {
        c.same("EXEC x");
        c.same("MULTI");
        c.same("SET a 1");
        c.same("EXEC x");
        c.same("EXEC");
        c.same("GET a");
        c.same("WATCH a");
        c.same("EXEC x y");
        c.on(1).same("SET a 2");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
    });
}

#[test]
fn what_cannot_stand_inside_does_not_end_it() {
    side_by_side(|c| {
        c.same("MULTI");
        c.same("MULTI");
        c.same("WATCH a");
        c.same("SET a 1");
        c.same("EXEC");
        c.same("EXEC");
        c.same("DISCARD");
        c.same("MULTI");
        c.same("SET a 2");
        c.same("DISCARD");
        c.same("DISCARD");
        c.check("GET a", b"$1\r\n1\r\n");
        c.same("UNWATCH x");
    });
}

#[test]
fn a_watched_key_that_changes_aborts() {
    side_by_side(|c| {
        // What is done to `a`, which holds 1 and has a TTL, by another client.
        for change in [
            "SET a 2",
            "SET a 1",
            "EXPIRE a 500",
            "PERSIST a",
            "DEL a",
            "UNLINK a",
            "RENAME a b",
            "RENAME x a",
            "MOVE a 2",
            "COPY x a REPLACE",
            "FLUSHDB",
            "FLUSHALL",
            "SWAPDB 0 1",
            "SWAPDB 1 0",
            "PEXPIREAT a 1",
        ] {
            prepare(c);
            c.same("WATCH a");
            c.on(1).same(change);
            c.same("MULTI");
            c.same("SET mine 1");
            c.check("EXEC", ABORTED);
            c.check("EXISTS mine", b":0\r\n");
            // The watch is gone with it.
            c.same("MULTI");
            c.check("EXEC", EMPTY);
        }
    });
}

#[test]
fn what_does_not_change_a_watched_key_does_not_abort() {
    side_by_side(|c| {
        for harmless in [
            "GET a",
            "EXPIRE a 500 NX",
            "EXPIRE a 5 GT",
            "TOUCH a",
            "RENAMENX x a",
            "COPY x a",
            "COPY a b",
            "RENAME a a",
            "MOVE a 0",
            "SET b 1",
            "SWAPDB 1 2",
            "TYPE a",
            "OBJECT IDLETIME a",
            "PERSIST x",
        ] {
            prepare(c);
            c.same("WATCH a");
            c.on(1).same(harmless);
            c.same("MULTI");
            c.same("SET mine 1");
            c.same("EXEC");
            c.check("EXISTS mine", b":1\r\n");
        }
    });
}

/// `a` is 1 and lives for 100 s, `x` is there, all else is gone.
fn prepare(c: &Pair) {
    c.run("FLUSHALL");
    c.run("SET a 1");
    c.run("EXPIRE a 100");
    c.run("SET x 1");
}

#[test]
fn a_watched_key_that_is_not_there_can_come_and_go() {
    side_by_side(|c| {
        c.same("WATCH a");
        c.on(1).same("FLUSHALL");
        c.on(1).same("DEL a");
        c.on(1).same("SWAPDB 0 1");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
        c.same("WATCH a");
        c.on(1).same("SET a 1");
        c.on(1).same("DEL a");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
        // A key that comes with a database that is exchanged has changed as well.
        c.run("FLUSHALL");
        c.on(1).run("SELECT 1");
        c.on(1).run("SET a 1");
        c.same("WATCH a");
        c.on(1).same("SWAPDB 0 1");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
    });
}

#[test]
fn expiry_of_a_watched_key_aborts_unless_it_was_over_before() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 100");
        c.same("WATCH a");
        c.advance(100);
        c.same("MULTI");
        c.check("EXEC", EMPTY);
        c.same("WATCH a");
        c.advance(1);
        c.same("MULTI");
        c.check("EXEC", ABORTED);
        // Removed by another's read, which is a change too.
        c.run("SET a 1");
        c.run("PEXPIRE a 100");
        c.same("WATCH a");
        c.advance(101);
        c.on(1).same("GET a");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
        // Already over when it was watched.
        c.run("SET a 1");
        c.run("PEXPIRE a 100");
        c.advance(101);
        c.same("WATCH a");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
    });
}

#[test]
fn a_deadline_that_comes_while_the_queue_is_built_aborts() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 100");
        c.same("WATCH a");
        c.same("MULTI");
        c.same("SET mine 1");
        c.advance(200);
        c.check("EXEC", ABORTED);
    });
}

#[test]
fn own_changes_count_before_multi_and_not_in_it() {
    side_by_side(|c| {
        c.same("WATCH a");
        c.same("SET a 1");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
        c.same("WATCH a");
        c.same("MULTI");
        c.same("SET a 2");
        c.same("GET a");
        c.same("EXEC");
    });
}

#[test]
fn watches_belong_to_the_database_that_was_selected() {
    side_by_side(|c| {
        let other = c.on(1);
        c.same("WATCH a");
        c.same("SELECT 1");
        other.same("SELECT 1");
        other.same("SET a 1");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
        c.same("WATCH a");
        c.same("SELECT 0");
        other.same("SET a 2");
        c.same("MULTI");
        c.same("SELECT 1");
        c.check("EXEC", ABORTED);
        // Both at once: either change aborts.
        c.same("WATCH a");
        c.same("SELECT 1");
        c.same("WATCH a");
        other.same("SELECT 0");
        other.same("SET a 3");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
        // A database that is exchanged with another changes there.
        c.same("WATCH a");
        other.same("SWAPDB 1 5");
        c.same("MULTI");
        c.check("EXEC", ABORTED);
    });
}

#[test]
fn unwatch_discard_reset_and_exec_give_up_all_watches() {
    side_by_side(|c| {
        for (before, after) in [
            ("UNWATCH", None),
            ("MULTI", Some("DISCARD")),
            ("MULTI", Some("EXEC")),
            ("RESET", None),
        ] {
            c.same("WATCH a b");
            c.same(before);
            if let Some(after) = after {
                c.same(after);
            }
            c.on(1).same("SET a 1");
            c.same("MULTI");
            c.check("EXEC", EMPTY);
        }
        c.same("WATCH a");
        c.same("MULTI");
        c.same("NOSUCH");
        c.same("EXEC");
        c.on(1).same("SET a 1");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
    });
}

#[test]
fn an_unwatch_in_the_queue_comes_too_late() {
    side_by_side(|c| {
        c.same("WATCH a");
        c.same("MULTI");
        c.same("UNWATCH");
        c.same("GET a");
        c.on(1).same("SET a 1");
        c.check("EXEC", ABORTED);
        c.same("WATCH a");
        c.same("MULTI");
        c.same("UNWATCH");
        c.same("EXEC");
    });
}

#[test]
fn both_kinds_of_abort_at_once_report_the_error() {
    side_by_side(|c| {
        c.same("WATCH a");
        c.on(1).same("SET a 1");
        c.same("MULTI");
        c.same("NOSUCH");
        c.same("EXEC");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
    });
}

#[test]
fn a_watch_is_for_one_client_and_for_many_keys() {
    side_by_side(|c| {
        c.same("WATCH a a b");
        c.on(2).same("WATCH b");
        c.on(1).same("SET b 1");
        c.same("MULTI");
        c.on(2).same("MULTI");
        c.check("EXEC", ABORTED);
        c.on(2).check("EXEC", ABORTED);
        c.same("WATCH a");
        c.on(2).same("WATCH a");
        c.same("UNWATCH");
        c.on(1).same("SET a 1");
        c.same("MULTI");
        c.check("EXEC", EMPTY);
        c.on(2).same("MULTI");
        c.on(2).check("EXEC", ABORTED);
        // A connection that closes takes its watches along.
        c.on(2).same("WATCH a");
        c.on(2).disconnect();
        c.on(1).same("SET a 1");
        c.on(2).same("MULTI");
        c.on(2).check("EXEC", EMPTY);
    });
}

#[test]
fn a_transaction_can_change_database_and_protocol() {
    side_by_side(|c| {
        c.same("MULTI");
        c.same("SELECT 1");
        c.same("SET x 1");
        c.same("SELECT 99");
        c.same("GET x");
        c.same("SWAPDB 1 2");
        c.same("GET x");
        c.same("EXEC");
        c.same("GET x");
        c.same("SELECT 2");
        c.same("GET x");
        c.same("MULTI");
        c.same("CONFIG GET maxmemory");
        c.same("HELLO 3 SETNAME me");
        c.same("CONFIG GET maxmemory");
        c.same("GET nokey");
        c.same_after("EXEC", without_ids);
        c.same("CONFIG GET maxmemory");
        c.same("CLIENT GETNAME");
    });
}

#[test]
fn commands_about_the_server_run_inside() {
    side_by_side(|c| {
        c.same("WATCH a");
        c.same("MULTI");
        for line in [
            "PING",
            "ECHO x",
            "DBSIZE",
            "TIME",
            "CONFIG GET maxmemory",
            "CONFIG SET timeout 0",
            "CONFIG RESETSTAT",
            "INFO server",
            "COMMAND COUNT",
            "CLIENT ID",
            "CLIENT GETNAME",
            "CLIENT SETNAME x",
            "CLIENT INFO",
            "CLIENT LIST",
            "CLIENT KILL ID 99999",
            "OBJECT HELP",
            "KEYS *",
            "SCAN 0",
            "RANDOMKEY",
            "FLUSHALL",
            "FLUSHDB",
            "AUTH x",
            "SWAPDB 0 0",
        ] {
            c.same(line);
        }
        c.same_after("EXEC", kinds);
    });
}

#[test]
fn quit_and_reset_end_a_transaction() {
    side_by_side(|c| {
        c.same("MULTI");
        c.same("SET a 1");
        c.same("RESET");
        c.same("EXEC");
        c.same("MULTI");
        c.same("SET a 1");
        c.same("QUIT");
        c.closes();
        c.same("GET a");
    });
}

#[test]
fn time_stands_still_in_a_transaction() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 100");
        c.same("MULTI");
        c.same("TIME");
        c.same("PTTL a");
        c.same("PEXPIRE a 0");
        c.same("EXISTS a");
        c.same("TIME");
        c.advance(100);
        c.same("EXEC");
    });
}

#[test]
fn transactions_of_several_sessions_are_atomic_and_do_not_block_each_other() {
    // Each of four threads exchanges two keys within a transaction; nobody may see a mixture.
    let engine = Engine::new();
    let rounds = 300;
    let work = |number: usize| {
        let mut session = engine.session();
        for round in 0..rounds {
            let value = format!("{number}:{round}");
            for line in [
                vec!["MULTI"],
                vec!["SET", "left", &value],
                vec!["DBSIZE"],
                vec!["INFO"],
                vec!["CLIENT", "LIST"],
                vec!["CONFIG", "SET", "hz", "10"],
                vec!["SWAPDB", "3", "4"],
                vec!["SET", "right", &value],
                vec!["EXEC"],
                vec!["MULTI"],
                vec!["GET", "right"],
                vec!["GET", "left"],
            ] {
                let argv: Vec<&[u8]> = line.iter().map(|word| word.as_bytes()).collect();
                session.call(&argv);
            }
            let Value::Array(seen) = session.call(&[b"EXEC"]) else { panic!("EXEC failed") };
            assert_eq!(seen[0], seen[1]);
        }
    };
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || work(number));
        }
    });
    engine.check_invariants();
}

/// A reply with each session's number set to nothing.
fn without_ids(value: Value) -> Value {
    match value {
        Value::Map(pairs) => {
            let clean = |(key, value): (Value, Value)| match key {
                key if key == Value::bulk("id") => (key, Value::Nil),
                key => (key, without_ids(value)),
            };
            Value::Map(pairs.into_iter().map(clean).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_ids).collect()),
        other => other,
    }
}

/// The kind of each reply; errors and statuses as they are.
fn kinds(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(kind).collect()),
        other => other,
    }
}

fn kind(value: Value) -> Value {
    match value {
        Value::Int(_) => Value::Int(0),
        Value::Bulk(_) => Value::bulk(""),
        Value::Array(_) => Value::Array(Vec::new()),
        other => other,
    }
}
