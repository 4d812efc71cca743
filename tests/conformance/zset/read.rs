//! Elements counted, looked up, picked at random and scanned.

use std::collections::BTreeSet;

use stockroom::resp::Value;

use super::{both_forms, each};
use crate::support::{Pair, argv, in_both_protocols};

#[test]
fn members_are_binary_safe() {
    in_both_protocols(|c| {
        for key in both_forms(c) {
            c.same(argv![
                "ZADD",
                key,
                0,
                b"\0",
                0,
                b"\xff\xfe",
                0,
                "",
                0,
                b"a\r\nb",
                0,
                "12",
                0,
                "-7"
            ]);
            c.same(argv!["ZRANGE", key, 0, -1]);
            c.same(argv!["ZSCORE", key, b"\0"]);
            c.same(argv!["ZRANK", key, ""]);
            c.same(argv!["ZSCORE", key, "012"]);
            c.same(argv!["ZREM", key, b"a\r\nb", b"\0\0"]);
            c.same(argv!["ZRANGEBYSCORE", key, 0, 0]);
        }
    });
}

#[test]
fn elements_are_counted_and_looked_up() {
    in_both_protocols(|c| {
        c.run("SET s v");
        let [small, large] = both_forms(c);
        each(
            c,
            &[small, large, "none", "s"],
            "ZCARD @
            ZCARD @ x
            ZSCORE @ m003
            ZSCORE @ nobody
            ZMSCORE @ m003 nobody m004 m003
            ZMSCORE @
            ZRANK @ m000
            ZRANK @ m019
            ZRANK @ nobody
            ZRANK @ m000 WITHSCORE
            ZREVRANK @ m000
            ZREVRANK @ m019
            ZREVRANK @ nobody
            ZCOUNT @ -inf +inf
            ZCOUNT @ -4 4
            ZCOUNT @ (-4.5 (4
            ZCOUNT @ 4 -4
            ZCOUNT @ 1000 2000
            ZCOUNT @ x 1
            ZCOUNT @ 1 (
            ZCOUNT @ \"\" \"\"
            ZCOUNT @ nan 1
            ZLEXCOUNT @ - +
            ZLEXCOUNT @ [m003 +
            ZLEXCOUNT @ a +",
        );
    });
}

/// The members, or members and scores, of a reply: nested or flat.
fn flat(value: Value) -> Vec<Value> {
    let Value::Array(items) = value else { panic!("{value:?} is no array") };
    let inner = |item| match item {
        Value::Array(pair) => pair,
        other => vec![other],
    };
    items.into_iter().flat_map(inner).collect()
}

#[test]
fn random_members_are_members() {
    in_both_protocols(|c| {
        c.run("SET s v");
        let forms = both_forms(c);
        for key in forms {
            let all: BTreeSet<String> = flat(c.same(format!("ZRANGE {key} 0 -1")))
                .iter()
                .map(|member| format!("{member:?}"))
                .collect();
            for count in ["", "1", "5", "19", "-1", "-5", "-400"] {
                for scores in ["", "WITHSCORES"] {
                    let options = if count.is_empty() { "" } else { scores };
                    let line = format!("ZRANDMEMBER {key} {count} {options}");
                    let reply = c.same_shape(line);
                    let picked = if count.is_empty() { vec![reply] } else { flat(reply) };
                    let step = if options.is_empty() { 1 } else { 2 };
                    let names: Vec<_> =
                        picked.iter().step_by(step).map(|member| format!("{member:?}")).collect();
                    assert!(names.iter().all(|name| all.contains(name)), "{names:?}");
                    if !count.starts_with('-') {
                        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
                    }
                }
            }
            // All of it has an order.
            c.same(format!("ZRANDMEMBER {key} 1000"));
            c.same(format!("ZRANDMEMBER {key} 1000 WITHSCORES"));
        }
        each(
            c,
            &[forms[0], "none", "s"],
            "ZRANDMEMBER @ 0
            ZRANDMEMBER @ 0 WITHSCORES
            ZRANDMEMBER @ x
            ZRANDMEMBER @ 1 x
            ZRANDMEMBER @ x x
            ZRANDMEMBER @ 1 WITHSCORES x
            ZRANDMEMBER @ -9223372036854775808
            ZRANDMEMBER @ 9223372036854775807
            ZRANDMEMBER @ 9223372036854775807 WITHSCORES
            ZRANDMEMBER @ -9223372036854775807 WITHSCORES
            ZRANDMEMBER @ 4611686018427387904 WITHSCORES
            ZRANDMEMBER @ 4611686018427387903 WITHSCORES",
        );
        c.same("ZRANDMEMBER none");
        c.same("ZRANDMEMBER none -5");
        c.same("ZRANDMEMBER s");
    });
}

/// All pages of a scan: members and scores.
fn scanned(c: &Pair, key: &str, options: &str) -> Vec<Value> {
    let (mut cursor, mut found) = ("0".to_string(), Vec::new());
    loop {
        let Value::Array(reply) = c.run(format!("ZSCAN {key} {cursor} {options}")) else {
            panic!("no page")
        };
        let [Value::Bulk(next), Value::Array(page)] = &reply[..] else { panic!("{reply:?}") };
        cursor = next.to_text();
        found.extend(page.iter().cloned());
        if cursor == "0" {
            return found;
        }
    }
}

#[test]
fn scans_spell_whole_scores_of_a_listpack_with_all_digits() {
    in_both_protocols(|c| {
        for key in both_forms(c) {
            // Each keeps its form.
            c.same(format!("ZREMRANGEBYRANK {key} 1 -1"));
            for score in [
                "0",
                "-0",
                "1.5",
                "1e15",
                "1e17",
                "-1e17",
                "123456789012345678",
                "1e-5",
                "inf",
                "-inf",
                "4611686018427387903",
                "4611686018427388928",
                "-4611686018427387904",
                "-4611686018427388928",
                "5e18",
                "1e300",
            ] {
                c.same(format!("ZADD {key} {score} m000"));
                c.same(format!("ZSCAN {key} 0"));
            }
        }
    });
}

#[test]
fn scans_return_every_element() {
    in_both_protocols(|c| {
        c.run("SET s v");
        let [small, large] = both_forms(c);
        each(
            c,
            &[small, "none", "s"],
            "ZSCAN @ 0
            ZSCAN @ 7
            ZSCAN @ 0 COUNT 3
            ZSCAN @ 0 MATCH m00* COUNT 3
            ZSCAN @ 0 MATCH nobody
            ZSCAN @ x
            ZSCAN @ -1
            ZSCAN @ 0 COUNT
            ZSCAN @ 0 COUNT 0
            ZSCAN @ 0 COUNT x
            ZSCAN @ 0 MATCH
            ZSCAN @ 0 TYPE zset
            ZSCAN @ x x
            ZSCAN @",
        );
        c.same_after(argv!["ZSCAN", large, 0, "COUNT", 1000], |reply| {
            let Value::Array(mut reply) = reply else { panic!("{reply:?}") };
            let Some(Value::Array(page)) = reply.pop() else { panic!("{reply:?}") };
            let mut pairs: Vec<_> = page.chunks(2).map(|pair| format!("{pair:?}")).collect();
            pairs.sort();
            Value::bulks(pairs)
        });
        for options in ["", "COUNT 1", "COUNT 100", "MATCH *"] {
            let found: BTreeSet<_> =
                scanned(c, large, options).chunks(2).map(|pair| format!("{pair:?}")).collect();
            assert_eq!(found.len(), 300);
        }
        assert_eq!(scanned(c, large, "MATCH m00? COUNT 7").len(), 20);
    });
}
