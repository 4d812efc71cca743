//! Keys whatever their type: COPY, DEL, EXISTS, KEYS, MOVE, OBJECT, RANDOMKEY, RENAME, SCAN, TOUCH,
//! TYPE, UNLINK.

use std::collections::BTreeSet;
use std::time::Duration;

use stockroom::resp::Value;
use stockroom::{Engine, Env, Timestamp};

use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn deleted_keys_are_counted_once_and_existing_ones_as_often_as_named() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("SET b 2");
        c.check("EXISTS a a nokey b", b":3\r\n");
        c.same("TOUCH a b nokey");
        c.same("DEL a nokey a");
        c.same("UNLINK b b");
        c.same("EXISTS a b");
        c.same("DEL");
        c.same("EXISTS");
        c.same("UNLINK");
        c.same("TOUCH");
    });
}

#[test]
fn rename_takes_value_and_deadline_along() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 5000");
        c.run("SET b other");
        c.run("PEXPIRE b 9000");
        c.same("RENAME a b");
        c.same("GET b");
        c.check("PTTL b", b":5000\r\n");
        c.same("EXISTS a");
        c.same("RENAME a b");
        c.same("RENAME b b");
        c.same("PTTL b");
        c.same("RENAME nokey nokey");
        c.run("SET c 1");
        c.run("PEXPIRE c 100");
        c.run("SET d 1");
        c.same("RENAME d c");
        c.check("PTTL c", b":-1\r\n");
    });
}

#[test]
fn renamenx_leaves_what_is_there() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("SET b 2");
        c.same("RENAMENX a b");
        c.same("GET a");
        c.same("RENAMENX a a");
        c.same("RENAMENX nokey b");
        c.same("RENAMENX nokey nokey");
        c.same("RENAMENX a c");
        c.same("GET c");
        c.run("PEXPIRE b 10");
        c.advance(11);
        c.check("RENAMENX c b", b":1\r\n");
        c.same("PTTL b");
    });
}

#[test]
fn copy_duplicates_value_and_deadline() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 5000");
        c.check("COPY a b", b":1\r\n");
        c.same("PTTL b");
        c.same("GET b");
        c.same("COPY a b");
        c.run("SET a 2");
        c.same("COPY a b REPLACE");
        c.same("PTTL b");
        c.same("COPY a a DB 3");
        c.same("COPY nokey b REPLACE");
        c.same("GET b");
        c.same("SELECT 3");
        c.same("GET a");
        c.same("COPY a a DB 0 REPLACE");
    });
}

#[test]
fn copy_checks_options_from_left_to_right() {
    side_by_side(|c| {
        c.run("SET a 1");
        for options in [
            "db 99",
            "DB -1",
            "DB x",
            "DB",
            "foo",
            "DB 99999999999",
            "REPLACE DB 1 DB 2",
            "REPLACE foo",
            "DB 1 DB",
            "DB 99 foo",
            "foo DB 99",
            "DB 0",
        ] {
            c.same(format!("COPY a b {options}"));
        }
        c.same("COPY a a");
        c.same("COPY a a DB 0");
        c.same("COPY nokey nokey");
        c.same("COPY a");
    });
}

#[test]
fn move_takes_a_key_to_another_database_unless_it_is_taken_there() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("PEXPIRE a 5000");
        c.same("MOVE a 0");
        c.same("MOVE a 99");
        c.same("MOVE a x");
        c.same("MOVE a -1");
        c.same("MOVE a 99999999999");
        c.same("MOVE nokey 0");
        c.same("MOVE nokey 1");
        c.check("MOVE a 1", b":1\r\n");
        c.same("EXISTS a");
        c.run("SET a 2");
        c.same("MOVE a 1");
        c.same("GET a");
        c.same("SELECT 1");
        c.same("PTTL a");
        c.same("GET a");
        c.advance(5001);
        c.same("SELECT 0");
        c.check("MOVE a 1", b":1\r\n");
    });
}

#[test]
fn object_answers_for_keys_and_for_none() {
    in_both_protocols(|c| {
        c.settle_lru_clock();
        c.run("SET n 9999");
        c.run("SET big 10000");
        c.run("SET text hello");
        c.run("SET neg -1");
        for key in ["n", "big", "text", "neg", "nokey"] {
            c.same(format!("OBJECT REFCOUNT {key}"));
            c.same(format!("OBJECT ENCODING {key}"));
            c.same(format!("OBJECT FREQ {key}"));
            c.same(format!("OBJECT IDLETIME {key}"));
        }
        c.same("OBJECT HELP");
        c.same("OBJECT");
        c.same("OBJECT foo a");
        c.same("OBJECT ENCODING");
        c.same("OBJECT FREQ a b");
        c.same("OBJECT HELP x");
        c.same(argv!["OBJECT", "x".repeat(200)]);
        c.same(argv!["OBJECT", b"a\0b"]);
    });
}

#[test]
fn idle_time_follows_the_clock_and_ends_with_an_access() {
    // On the engine alone: a real server notes the time of accesses only ten times a second.
    let env = Env::manual(Timestamp::from_millis(1_000_500), 1);
    let mut session = Engine::with_env(env.clone()).session();
    let mut call = |line: &str| {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        session.call(&argv)
    };
    call("SET a 1");
    env.advance(Duration::from_millis(7_499));
    assert_eq!(call("OBJECT IDLETIME a"), Value::Int(7));
    env.advance(Duration::from_millis(1));
    for looking in ["OBJECT IDLETIME a", "OBJECT ENCODING a", "TYPE a", "TTL a", "EXISTS a"] {
        call(looking);
    }
    assert_eq!(call("OBJECT IDLETIME a"), Value::Int(8));
    call("TOUCH a");
    assert_eq!(call("OBJECT IDLETIME a"), Value::Int(0));
    env.advance(Duration::from_secs(3));
    call("GET a");
    assert_eq!(call("OBJECT IDLETIME a"), Value::Int(0));
}

#[test]
fn scan_has_the_options_and_errors_of_redis() {
    side_by_side(|c| {
        for key in ["a", "b", "ab", "key:1"] {
            c.run(argv!["SET", key, "1"]);
        }
        for cursor in ["x", "1x", "' 1'", "1.5", "+", "-", "18446744073709551616"] {
            c.same(format!("SCAN {cursor}"));
        }
        for cursor in ["0", "+0", "''", "00", "-0"] {
            c.same_after(format!("SCAN {cursor} COUNT 100"), |reply| sorted_page(&reply));
        }
        for options in [
            "COUNT 0",
            "COUNT -1",
            "COUNT x",
            "COUNT",
            "foo",
            "MATCH",
            "TYPE",
            "COUNT 0 foo",
            "TYPE string COUNT x",
            "COUNT 99999999999999999999",
            "foo bar",
            "TYPE string foo",
        ] {
            c.same(format!("SCAN 0 {options}"));
        }
        c.same("SCAN x COUNT x");
        c.same("SCAN");
        for options in [
            "MATCH a*",
            "MATCH *",
            "MATCH a* MATCH b*",
            "TYPE string",
            "TYPE STRING",
            "TYPE list",
            "TYPE foo",
            "MATCH key:? TYPE string",
            "MATCH ''",
            "type string match b",
        ] {
            c.same_after(format!("SCAN 0 COUNT 100 {options}"), |reply| sorted_page(&reply));
        }
    });
}

#[test]
fn scan_finds_every_key_that_stays_whatever_comes_and_goes() {
    side_by_side(|c| {
        for n in 0..500 {
            c.run(argv!["SET", format!("stays:{n}"), "1"]);
            c.run(argv!["SET", format!("goes:{n}"), "1"]);
        }
        let mut seen = BTreeSet::new();
        let (mut cursor, mut pages) = ("0".to_string(), 0);
        loop {
            let page = c.run(argv!["SCAN", &cursor, "COUNT", 7]);
            let (next, keys) = page_of(&page);
            seen.extend(keys.into_iter().filter(|key| key.starts_with("stays")));
            if next == "0" {
                break;
            }
            cursor = next;
            c.run(argv!["DEL", format!("goes:{}", pages * 3 % 500)]);
            c.run(argv!["SET", format!("comes:{pages}"), "1"]);
            pages += 1;
        }
        assert_eq!(seen.len(), 500);
        assert!(pages > 50, "{pages} pages");
    });
}

#[test]
fn keys_lists_what_matches() {
    side_by_side(|c| {
        for key in ["", "a", "ab", "b", "[", "]", "^", "-", "\\", "A"] {
            c.run(argv!["SET", key, "1"]);
        }
        for pattern in [
            "*", "**", "", "?", "a*", "*b", "[ab]", "[^ab]", "[a-", "[a-]", "[]", "[^]", "[^", "[",
            "\\", "\\a", "[\\]]", "[b-a]", "??", "a\\b", "[A]",
        ] {
            c.same_set(argv!["KEYS", pattern]);
        }
        c.same("KEYS");
        c.same("KEYS a b");
    });
}

#[test]
fn randomkey_names_a_key_that_lives() {
    side_by_side(|c| {
        c.check("RANDOMKEY", b"$-1\r\n");
        c.run("SET a 1");
        c.check("RANDOMKEY", b"$1\r\na\r\n");
        c.run("SET b 1");
        c.run("PEXPIRE b 10");
        c.advance(11);
        for _ in 0..20 {
            c.check("RANDOMKEY", b"$1\r\na\r\n");
        }
        c.same("RANDOMKEY x");
    });
}

#[test]
fn expired_keys_are_gone_for_every_command() {
    side_by_side(|c| {
        for key in ["a", "b", "c", "d", "e", "f"] {
            c.run(argv!["SET", key, "1"]);
            c.run(argv!["PEXPIRE", key, 100]);
        }
        c.advance(100);
        c.same("EXISTS a");
        c.advance(1);
        c.same("EXISTS a");
        c.same("TYPE a");
        c.same("DEL b");
        c.same("RENAME c x");
        c.same("COPY d x");
        c.same("MOVE e 1");
        c.same("TOUCH f");
        c.same("OBJECT ENCODING f");
        c.same("KEYS *");
        c.same_after("SCAN 0 COUNT 100", |reply| sorted_page(&reply));
        c.same("DBSIZE");
    });
}

/// The next cursor and the keys of a page of SCAN.
fn page_of(reply: &Value) -> (String, Vec<String>) {
    let text = |value: &Value| match value {
        Value::Bulk(bytes) => bytes.to_text(),
        other => panic!("{other:?} is no string"),
    };
    match reply {
        Value::Array(parts) => match &parts[..] {
            [cursor, Value::Array(keys)] => (text(cursor), keys.iter().map(text).collect()),
            _ => panic!("{reply:?} is no page"),
        },
        _ => panic!("{reply:?} is no page"),
    }
}

/// A page of SCAN with its keys in order.
fn sorted_page(reply: &Value) -> Value {
    let (cursor, mut keys) = page_of(reply);
    keys.sort();
    Value::bulks([vec![cursor], keys].concat())
}
