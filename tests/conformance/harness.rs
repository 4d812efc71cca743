//! The harness itself: that it notices what it is there to notice, and leaves nothing behind.

use std::net::TcpStream;
use std::panic::{UnwindSafe, catch_unwind};
use std::time::Duration;

use stockroom::resp::Value;
use stockroom::{Stopwatch, Timestamp, WireError};

use crate::support::{
    Argv, Pair, RealRedis, argv, compare, nothing_may_be_skipped, real_redis, side_by_side, skip,
    started_redis,
};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn ints(numbers: &[i64]) -> Value {
    Value::Array(numbers.iter().copied().map(Value::Int).collect())
}

#[test]
fn comparators_tell_what_differs() {
    assert!(compare::same_set(&ints(&[1, 2, 2]), &ints(&[2, 1, 2])));
    assert!(!compare::same_set(&ints(&[1, 2, 2]), &ints(&[2, 1, 1])));
    assert!(!compare::same_set(&Value::Set(vec![]), &ints(&[])));
    assert!(compare::same_pairs(&ints(&[1, 2, 3, 4]), &ints(&[3, 4, 1, 2])));
    assert!(!compare::same_pairs(&ints(&[1, 2, 3, 4]), &ints(&[4, 3, 1, 2])));
    assert!(compare::same_shape(&ints(&[1, 2]), &ints(&[3, 4])));
    assert!(!compare::same_shape(&ints(&[1, 2]), &ints(&[3])));
    assert!(!compare::same_shape(&ints(&[1]), &Value::bulks(["1"])));
    assert!(compare::near(&ints(&[10, 20]), &ints(&[11, 19]), 1.0));
    assert!(!compare::near(&ints(&[10, 20]), &ints(&[11, 22]), 1.0));
    assert!(compare::near(&Value::bulk("1.5"), &Value::bulk("1.6"), 0.2));
    assert!(!compare::near(&Value::bulk("a"), &Value::bulk("b"), 9.0));
    let error = |text: &'static str| Value::Error(WireError::fixed(text));
    assert!(compare::same_error_class(&error("ERR a"), &error("ERR b")));
    assert!(!compare::same_error_class(&error("ERR a"), &error("WRONGTYPE a")));
    assert!(!compare::same_error_class(&Value::OK, &Value::OK));
}

#[test]
fn commands_are_words_or_arguments() {
    assert_eq!("SET k \"a\\xff b\"".argv(), [&b"SET"[..], b"k", b"a\xff b"]);
    assert_eq!(["GET", "k"].argv(), "GET k".argv());
    assert_eq!(argv!["ZADD", "k", 1.5, b"m", 7].argv(), "ZADD k 1.5 m 7".argv());
}

/// What a body that fails says.
fn failure(body: impl Fn(&Pair) + UnwindSafe) -> String {
    let panic = catch_unwind(|| side_by_side(body)).expect_err("it must fail");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn an_unexpected_reply_is_reported_with_all_commands() {
    let report = failure(|c| {
        c.run("SET k \"\\xff\"");
        c.on(2).check("GET k", b"$1\r\nx\r\n");
    });
    for part in ["0> SET k \"\\xff\"", "2> GET k", "expected: $1\\r\\nx", "got: $1\\r\\n\\xff"] {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
}

#[test]
fn a_difference_is_reported_with_both_replies() {
    if real_redis(START).is_none() {
        return;
    }
    let report = failure(|c| {
        c.run("SET k ours");
        c.run_real("SET k real");
        c.same("GET k");
    });
    for part in ["not the same bytes", "engine: $4\\r\\nours", "real: $4\\r\\nreal", "0> GET k"] {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
}

#[test]
fn the_clock_of_real_redis_stands_until_it_is_moved() {
    side_by_side(|c| {
        let Some(set) = c.run_real("SET k v PX 1500") else { return };
        assert_eq!(set, Value::OK);
        if !c.is_frozen() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
        c.advance(500);
        assert_eq!(c.run_real("PTTL k"), Some(Value::Int(1000)));
        c.advance(1_000);
        assert_eq!(c.run_real("GET k"), Some(Value::bulk("v")));
        c.advance(1);
        assert_eq!(c.run_real("GET k"), Some(Value::Nil));
        let now = c.engine().env().now();
        let time =
            Value::bulks([now.as_secs().to_string(), (now.as_micros() % 1_000_000).to_string()]);
        assert_eq!(c.run_real("TIME"), Some(time));
    });
}

#[test]
fn a_lent_server_is_empty_and_its_own() {
    let Some(lent) = real_redis(START) else { return };
    lent.connect().call(&["SET", "k", "v"]);
    let other = RealRedis::take(START).expect("a second server");
    assert_ne!(other.addr(), lent.addr());
    drop((lent, other));
    for _ in 0..2 {
        let again = RealRedis::take(START).expect("a server");
        assert_eq!(again.connect().call(&["DBSIZE"]).value, Value::Int(0));
    }
}

#[test]
fn what_is_skipped_is_said_once_or_fails() {
    let skipped = || catch_unwind(|| skip("nothing: this is a test of the harness")).ok();
    let expected = if nothing_may_be_skipped() { [None, None] } else { [Some(true), Some(false)] };
    assert_eq!([skipped(), skipped()], expected);
}

#[test]
fn a_server_dies_with_its_test() {
    let Some(own) = started_redis(&["--maxmemory", "100mb"]) else { return };
    let addr = own.addr();
    assert_eq!(own.connect().call(&["PING"]).value, Value::simple("PONG"));
    drop(own);
    let waited = Stopwatch::start();
    while TcpStream::connect(addr).is_ok() {
        assert!(waited.elapsed() < Duration::from_secs(5), "the server outlived its test");
    }
}
