//! Sets: of integers, and of anything.

use stockroom::resp::Value;
use stockroom::{Engine, Env, Timestamp};

use crate::support::{Pair, compare, in_both_protocols, side_by_side};

/// Sets of the three forms that this engine has: integers, a few strings, many strings.
fn fill(c: &Pair) {
    c.same("SADD ints 3 1 2 -5");
    c.same("SADD few a b 3 1");
    for n in 0..40 {
        c.run(format!("SADD many m{n} {n}"));
    }
}

const FORMS: [&str; 3] = ["ints", "few", "many"];

const ALL: [&str; 17] = [
    "SADD {} a",
    "SCARD {}",
    "SDIFF {}",
    "SDIFFSTORE dst {}",
    "SINTER {}",
    "SINTERCARD 1 {}",
    "SINTERSTORE dst {}",
    "SISMEMBER {} a",
    "SMEMBERS {}",
    "SMISMEMBER {} a b",
    "SMOVE {} dst a",
    "SPOP {}",
    "SRANDMEMBER {}",
    "SREM {} a",
    "SSCAN {} 0",
    "SUNION {}",
    "SUNIONSTORE dst {}",
];

fn text(value: &Value) -> Vec<String> {
    let items = compare::items(value).unwrap_or_else(|| panic!("no list: {value:?}"));
    let mut items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    items.sort();
    items
}

#[test]
fn every_command_refuses_another_type_and_leaves_it_alone() {
    in_both_protocols(|c| {
        c.same("SET s text");
        c.same("SADD dst x");
        for command in ALL {
            c.same(command.replace("{}", "s"));
        }
        for command in ["SPOP s 2", "SRANDMEMBER s 2", "SMOVE dst s x", "SMOVE dst s none"] {
            c.same(command);
        }
        c.check("GET s", b"$4\r\ntext\r\n");
        c.same("SMEMBERS dst");
    });
}

#[test]
fn every_command_answers_for_a_missing_key() {
    for command in ALL {
        in_both_protocols(|c| {
            c.same(command.replace("{}", "none"));
            c.same("EXISTS none dst");
        });
    }
    in_both_protocols(|c| {
        for command in ["SPOP none 0", "SPOP none 3", "SRANDMEMBER none 3", "SSCAN none 0 BAD"] {
            c.same(command);
        }
        c.same("SET s text");
        c.same("SMOVE none s a");
    });
}

#[test]
fn every_command_checks_the_number_of_its_arguments() {
    side_by_side(|c| {
        for command in ALL {
            let words: Vec<&str> = command.split(' ').collect();
            (1..words.len()).for_each(|n| drop(c.same(&words[..n])));
        }
        for command in [
            "SCARD k k",
            "SISMEMBER k a b",
            "SMEMBERS k k",
            "SMOVE k d a b",
            "SPOP k 1 2",
            "SRANDMEMBER k 1 2",
            "SINTERCARD 1",
        ] {
            c.same(command);
        }
    });
}

#[test]
fn members_are_added_counted_tested_and_removed() {
    in_both_protocols(|c| {
        fill(c);
        for key in FORMS {
            c.same(format!("SADD {key} 1 1 new 99 new"));
            c.same(format!("SCARD {key}"));
            c.same(format!("SISMEMBER {key} new"));
            c.same(format!("SISMEMBER {key} 01"));
            c.same(format!("SMISMEMBER {key} 1 none 99 1"));
            c.same_set(format!("SMEMBERS {key}"));
            c.same(format!("SREM {key} 1 1 none 99"));
            c.same(format!("SREM {key} none"));
            c.same_set(format!("SMEMBERS {key}"));
        }
        c.same("SREM few a b 3 new");
        c.check("EXISTS few", b":0\r\n");
    });
}

#[test]
fn integers_are_answered_in_ascending_order() {
    in_both_protocols(|c| {
        let (max, min) = (i64::MAX, i64::MIN);
        for members in ["3 -1 0 2", "40000 -40000", "3000000000 -3000000000"] {
            c.same(format!("SADD i {members}"));
            c.same("SMEMBERS i");
        }
        c.same(format!("SADD i {max} {min}"));
        c.same("SMEMBERS i");
        c.same("SSCAN i 0");
        c.same("SSCAN i 3 COUNT 1");
        c.same("SRANDMEMBER i 100");
        c.same("SADD j 5 2 3");
        for command in ["SUNION i j", "SINTER j i", "SDIFF i j", "SDIFF i none", "SINTER i i"] {
            c.same(command);
        }
        c.same("SPOP j 10");
        c.same("SMEMBERS j");
    });
}

#[test]
fn a_set_changes_its_form_when_redis_does_and_never_back() {
    side_by_side(|c| {
        for member in
            ["1", "-1", "01", "+1", " 1", "", "1.0", "9223372036854775807", "9223372036854775808"]
        {
            c.same("DEL s");
            c.same(["SADD", "s", "7", member]);
            c.same("OBJECT ENCODING s");
            c.same("SREM s 7");
            c.same("OBJECT ENCODING s");
        }
        for n in 0..512 {
            c.run(format!("SADD many {n}"));
        }
        c.check("OBJECT ENCODING many", b"$6\r\nintset\r\n");
        c.same("SADD many 511");
        c.same("OBJECT ENCODING many");
        c.same("SADD many 512");
        c.check("OBJECT ENCODING many", b"$9\r\nhashtable\r\n");
        c.same("SREM many 512");
        c.same("OBJECT ENCODING many");
        c.same_set("SMEMBERS many");
        c.same("SADD mixed 1 2 x");
        c.same("SREM mixed x");
        c.same("OBJECT ENCODING mixed");
    });
}

#[test]
fn members_may_hold_any_bytes() {
    in_both_protocols(|c| {
        let (all, long) = ((0..=255).collect::<Vec<u8>>(), vec![b'x'; 3000]);
        for member in [&b""[..], b"\0", b"\r\n", b"\xff\xfe", &all, &long] {
            c.same([b"SADD", &b"s"[..], member]);
            c.same([b"SISMEMBER", &b"s"[..], member]);
        }
        c.same_set("SMEMBERS s");
        c.same([b"SREM", &b"s"[..], &long]);
        c.same_set("SMEMBERS s");
    });
}

/// Sets whose combinations have something to find: of integers, of strings, mixed, large.
fn fill_for_algebra(c: &Pair) {
    c.same("SADD i1 1 2 3 4 5");
    c.same("SADD i2 4 5 6");
    c.same("SADD s1 a b c 1 2 3");
    c.same("SADD s2 b c d 3 4");
    for n in 0..600 {
        c.run(format!("SADD big {n}"));
        c.run(format!("SADD odd {}", 2 * n + 1));
    }
}

#[test]
fn unions_intersections_and_differences_agree() {
    in_both_protocols(|c| {
        fill_for_algebra(c);
        let keys = ["i1", "i2", "s1", "s2", "big", "odd", "none"];
        for a in keys {
            for b in keys {
                for operation in ["SUNION", "SINTER", "SDIFF"] {
                    c.same_set(format!("{operation} {a} {b}"));
                    c.same_set(format!("{operation} {a} {b} s1 {a}"));
                }
                c.same(format!("SINTERCARD 2 {a} {b}"));
                c.same(format!("SINTERCARD 3 {a} {b} {a} LIMIT 2"));
            }
        }
    });
}

#[test]
fn stored_results_have_the_content_and_the_form_of_redis() {
    side_by_side(|c| {
        fill_for_algebra(c);
        let keys = ["i1", "i2", "s1", "s2", "big", "odd", "none"];
        for a in keys {
            for b in keys {
                for operation in ["SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"] {
                    for more in ["", " i2", " big i2 i1 s2"] {
                        c.same(format!("{operation} dst {a} {b}{more}"));
                        c.same_set("SMEMBERS dst");
                        c.same("OBJECT ENCODING dst");
                    }
                }
            }
        }
    });
}

#[test]
fn a_destination_is_overwritten_or_removed_with_its_time_to_live() {
    for operation in ["SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"] {
        side_by_side(|c| {
            c.same("SADD a 1 2 x");
            c.same("SADD b 2 3");
            c.same("SET d text");
            c.same("EXPIRE d 100");
            c.same(format!("{operation} d a b"));
            c.same_set("SMEMBERS d");
            c.same("TTL d");
            c.same("EXPIRE d 100");
            c.same(format!("{operation} d none"));
            c.same("EXISTS d");
            c.same("SET d text");
            c.same(format!("{operation} d none a"));
            c.same("TYPE d");
            // A source of another type is found before anything is touched.
            c.same("SET s text");
            c.same("SADD d keep");
            c.same(format!("{operation} d none s"));
            c.same(format!("{operation} d s a"));
            c.same(format!("{operation} s s a"));
            c.same_set("SMEMBERS d");
            // The destination as a source.
            c.same(format!("{operation} a a b"));
            c.same_set("SMEMBERS a");
            c.same(format!("{operation} b b b"));
            c.same_set("SMEMBERS b");
        });
    }
}

#[test]
fn cardinality_checks_keys_then_limit_then_types() {
    in_both_protocols(|c| {
        c.same("SET s text");
        c.same("SADD a 1 2 3 4");
        c.same("SADD b 2 3 4 5");
        for numkeys in ["0", "-1", "x", "", "3", "2", "9223372036854775807", "9223372036854775808"]
        {
            c.same(["SINTERCARD", numkeys, "a", "b"]);
            c.same(["SINTERCARD", numkeys, "s", "BAD"]);
        }
        for limit in
            ["0", "1", "2", "3", "4", "9223372036854775807", "9223372036854775808", "-1", "x", ""]
        {
            c.same(["SINTERCARD", "2", "a", "b", "LIMIT", limit]);
            c.same(["SINTERCARD", "1", "s", "limit", limit]);
            c.same(["SINTERCARD", "2", "a", "b", "LIMIT", limit, "LIMIT", "2"]);
            c.same(["SINTERCARD", "2", "a", "b", "LIMIT", "2", "LIMIT", limit]);
            c.same(["SINTERCARD", "2", "a", "b", limit]);
        }
        c.same("SINTERCARD 1 a LIMIT");
        c.same("SINTERCARD 1 s LIMIT");
        c.same("SINTERCARD 1 a BAD 1");
        c.same("SINTERCARD 2 none s");
        c.same("SINTERCARD 2 s none");
        c.same("SINTERCARD 2 a a");
    });
}

#[test]
fn a_move_checks_the_source_then_both_types_then_the_member() {
    in_both_protocols(|c| {
        c.same("SET s text");
        for command in [
            "SADD a 1 2 x",
            "SADD b 2",
            "SMOVE a b 1",
            "SMOVE a b 2",
            "SMOVE a b none",
            "SMOVE a a x",
            "SMOVE a a none",
            "SMOVE a none none",
            "SMOVE none s x",
            "SMOVE none none x",
            "SMOVE s a x",
            "SMOVE s s x",
            "SMOVE a s x",
            "SMOVE a s none",
            "SMOVE a new x",
            "EXISTS a b new none",
            "OBJECT ENCODING b",
            "SMOVE new b x",
            "OBJECT ENCODING b",
            "EXISTS new",
        ] {
            c.same(command);
        }
        c.same_set("SMEMBERS b");
    });
}

#[test]
fn pops_take_distinct_members_away_until_the_set_is_gone() {
    in_both_protocols(|c| {
        fill(c);
        for key in FORMS {
            let all = text(&c.run(format!("SMEMBERS {key}")));
            c.same(format!("SPOP {key} 0"));
            let one = c.same_shape(format!("SPOP {key}"));
            let mut popped = text(&c.same_shape(format!("SPOP {key} 2")));
            popped.push(format!("{one:?}"));
            c.same(format!("SCARD {key}"));
            popped.extend(text(&c.same_shape(format!("SPOP {key} 1000"))));
            popped.sort();
            assert_eq!(popped, all, "{key}");
            c.check(format!("EXISTS {key}"), b":0\r\n");
        }
    });
}

#[test]
fn pops_check_count_then_number_of_arguments_then_type() {
    in_both_protocols(|c| {
        c.same("SET s text");
        for key in ["s", "none"] {
            for count in ["0", "-1", "x", "", "1.0", "9223372036854775807", "9223372036854775808"] {
                c.same(["SPOP", key, count]);
                c.same(["SPOP", key, count, "1"]);
            }
        }
    });
}

#[test]
fn random_members_have_the_shape_that_was_asked_for_and_stay() {
    in_both_protocols(|c| {
        fill(c);
        for key in FORMS {
            let all = text(&c.run(format!("SMEMBERS {key}")));
            c.same_shape(format!("SRANDMEMBER {key}"));
            for count in ["0", "1", "2", "3", "-1", "-2", "-100"] {
                let some = text(&c.same_shape(format!("SRANDMEMBER {key} {count}")));
                assert!(some.iter().all(|member| all.contains(member)), "{some:?} of {key}");
                let distinct = some.windows(2).all(|two| two[0] != two[1]);
                assert!(distinct || count.starts_with('-'), "{some:?} of {key}");
            }
            for count in ["80", "81", "9223372036854775807"] {
                c.same_set(format!("SRANDMEMBER {key} {count}"));
            }
            c.same(format!("SCARD {key}"));
        }
        c.same("SET s text");
        for key in ["s", "none", "ints"] {
            for count in ["x", "", "1.0", "9223372036854775808", "-9223372036854775808"] {
                c.same(["SRANDMEMBER", key, count]);
                c.same(["SRANDMEMBER", key, count, "1"]);
            }
        }
        c.same("SRANDMEMBER none -9223372036854775807");
    });
}

#[test]
fn every_member_is_equally_likely_to_be_picked_or_popped() {
    let engine = Engine::with_env(Env::manual(Timestamp::EPOCH, 3));
    let mut session = engine.session();
    for members in [["1", "2", "3", "4"], ["a", "b", "c", "d"]] {
        for command in ["SRANDMEMBER", "SPOP"] {
            let mut seen = std::collections::BTreeMap::<String, u32>::new();
            for _ in 0..4000 {
                for member in members {
                    session.call(&[b"SADD", b"s", member.as_bytes()]);
                }
                let picked = session.call(&[command.as_bytes(), b"s"]);
                *seen.entry(format!("{picked:?}")).or_default() += 1;
            }
            assert!(seen.len() == 4 && seen.values().all(|n| (880..1120).contains(n)), "{seen:?}");
            session.call(&[b"DEL", b"s"]);
        }
    }
}

#[test]
fn an_absurd_number_of_repetitions_is_refused_not_attempted() {
    // Real Redis would start to write a reply of that length.
    let engine = Engine::new();
    let mut session = engine.session();
    session.call(&[b"SADD", b"s", b"m"]);
    for count in [&b"-9223372036854775807"[..], b"-99999999999"] {
        assert!(session.call(&[b"SRANDMEMBER", b"s", count]).is_error());
    }
}

#[test]
fn a_scan_visits_every_member_once_while_nothing_changes() {
    in_both_protocols(|c| {
        fill(c);
        for key in FORMS {
            for options in ["", "COUNT 1", "COUNT 1000", "MATCH m* COUNT 7", "MATCH [0-2]"] {
                let (mut cursor, mut met) = (String::from("0"), Vec::new());
                loop {
                    let line = format!("SSCAN {key} {cursor} {options}");
                    let page = compare::items(&c.run(line.trim_end())).expect("a page");
                    met.extend(text(&page[1]));
                    let Value::Bulk(next) = &page[0] else { panic!("{page:?}") };
                    cursor = next.to_text();
                    if cursor == "0" {
                        break;
                    }
                }
                let whole = c.same_after(&*format!("SSCAN {key} 0 {options} COUNT 9999"), |page| {
                    let page = compare::items(&page).expect("a page");
                    Value::bulks(text(&page[1]))
                });
                met.sort();
                assert_eq!(met, text(&compare::items(&whole).expect("a page")[1]), "{key}");
            }
        }
    });
}

#[test]
fn a_scan_checks_cursor_then_type_then_options() {
    in_both_protocols(|c| {
        c.same("SET s text");
        c.same("SADD ints 1 2 12");
        for key in ["ints", "s", "none"] {
            for cursor in ["0", "7", "x", "-1", "", "1x", "18446744073709551616"] {
                c.same(["SSCAN", key, cursor]);
                c.same(["SSCAN", key, cursor, "BAD"]);
            }
            for options in [
                "COUNT",
                "COUNT 0",
                "COUNT -1",
                "COUNT x",
                "COUNT 9223372036854775807",
                "MATCH",
                "MATCH 1*",
                "match [2]",
                "COUNT 1 MATCH 1",
                "TYPE set",
                "MATCH 1 COUNT",
            ] {
                c.same(format!("SSCAN {key} 0 {options}"));
            }
        }
    });
}

#[test]
fn watchers_see_exactly_the_changes() {
    for (command, changes) in [
        ("SADD s a", false),
        ("SADD s new", true),
        ("SREM s none", false),
        ("SREM s a", true),
        ("SREM s a b", true),
        ("SPOP s 0", false),
        ("SPOP s", true),
        ("SPOP s 99", true),
        ("SMOVE s s a", false),
        ("SMOVE s other a", true),
        ("SMOVE s other none", false),
        ("SMOVE t s t", true),
        ("SMOVE t s a", true),
        ("SUNIONSTORE s t", true),
        ("SINTERSTORE s none", true),
        ("SDIFFSTORE none2 s s", false),
        ("SRANDMEMBER s 5", false),
        ("SINTERCARD 1 s", false),
    ] {
        side_by_side(|c| {
            c.same("SADD s a b");
            c.same("SADD t a t");
            c.same("WATCH s none2");
            c.on(1).same_shape(command);
            c.same("MULTI");
            c.same("PING");
            if command == "SMOVE t s a" {
                // Already there: Redis takes it from the source and does not touch the target.
                c.same("EXEC");
            } else {
                let aborted: &[u8] = if changes { b"*-1\r\n" } else { b"*1\r\n+PONG\r\n" };
                c.check("EXEC", aborted);
            }
        });
    }
}

#[test]
fn a_change_keeps_the_time_to_live_and_the_last_removal_ends_it() {
    side_by_side(|c| {
        c.same("SADD s a b");
        c.same("SADD t a c");
        c.same("PEXPIRE s 1000");
        c.advance(400);
        c.same("SADD s 1");
        c.same("SREM s 1");
        c.same("SMOVE t s c");
        c.same("PTTL s");
        c.same("SMOVE s u c");
        c.same("PTTL u");
        c.same("SREM s a b");
        c.same("SADD s a");
        c.same("PTTL s");
        c.same("PEXPIRE s 10");
        c.advance(11);
        c.same("SMEMBERS s");
        c.same("SUNION s t");
        c.same("SADD s z");
        c.same("PTTL s");
    });
}
