//! Hashes, packed and as tables.

use stockroom::resp::Value;

use crate::support::{Pair, compare, in_both_protocols, side_by_side};

/// A packed hash and a table with the same fields, for bodies that hold for both.
const FORMS: [&str; 2] = ["packed", "table"];

/// Fills both forms with `a` = 1, `b` = 2, `c` = three.
fn fill(c: &Pair) {
    for key in FORMS {
        c.same(format!("HSET {key} a 1 b 2 c three"));
    }
    c.same(["HSET", "table", "long", &"x".repeat(65)]);
    c.same("HDEL table long");
    c.same("OBJECT ENCODING packed");
    c.same("OBJECT ENCODING table");
}

/// Runs `body` for each form, in RESP2 and in RESP3.
fn each_form(body: impl Fn(&Pair, &str)) {
    in_both_protocols(|c| {
        fill(c);
        for key in FORMS {
            body(c, key);
        }
    });
}

const ALL: [&str; 16] = [
    "HDEL {} a",
    "HEXISTS {} a",
    "HGET {} a",
    "HGETALL {}",
    "HINCRBY {} a 1",
    "HINCRBYFLOAT {} a 1.5",
    "HKEYS {}",
    "HLEN {}",
    "HMGET {} a b",
    "HMSET {} a 1",
    "HRANDFIELD {}",
    "HSCAN {} 0",
    "HSET {} a 1",
    "HSETNX {} a 1",
    "HSTRLEN {} a",
    "HVALS {}",
];

#[test]
fn every_command_refuses_another_type_and_leaves_it_alone() {
    in_both_protocols(|c| {
        c.same("SET s text");
        for command in ALL {
            c.same(command.replace("{}", "s"));
        }
        c.same("HRANDFIELD s 3");
        c.same("HRANDFIELD s 3 WITHVALUES");
        c.check("GET s", b"$4\r\ntext\r\n");
    });
}

#[test]
fn every_command_answers_for_a_missing_key() {
    for command in ALL {
        in_both_protocols(|c| {
            c.same(command.replace("{}", "none"));
            c.same("EXISTS none");
        });
    }
    in_both_protocols(|c| {
        c.same("HRANDFIELD none 3");
        c.same("HRANDFIELD none -3 WITHVALUES");
        c.same("HSCAN none 5 NO SUCH OPTION");
    });
}

#[test]
fn every_command_checks_the_number_of_its_arguments() {
    side_by_side(|c| {
        for command in ALL {
            let words: Vec<&str> = command.split(' ').collect();
            (1..=words.len() + 1).for_each(|n| {
                let line: Vec<&str> = words.iter().copied().chain(["x"]).take(n).collect();
                if n != words.len() {
                    c.same_shape(&line);
                }
            });
            (1..words.len()).for_each(|n| drop(c.same(&words[..n])));
        }
        c.same("HSET h f");
        c.same("HSET h f v g");
        c.same("HMSET h f v g");
        c.same("HSETNX h f v g");
        c.same("HGETALL h h");
        c.same("EXISTS h");
        // The length is refused before the type.
        c.same("SET s text");
        c.same("HSET s f v g");
        c.same("HMSET s f v g");
    });
}

#[test]
fn fields_are_set_read_and_removed() {
    each_form(|c, h| {
        c.same(format!("HSET {h} a 10 d 4 d 5 e ''"));
        c.same(format!("HMGET {h} a d e none a"));
        c.same(format!("HGET {h} none"));
        c.same(format!("HSTRLEN {h} c"));
        c.same(format!("HSTRLEN {h} e"));
        c.same(format!("HSTRLEN {h} none"));
        c.same(format!("HEXISTS {h} e"));
        c.same(format!("HLEN {h}"));
        c.same(format!("HMSET {h} f 6 a 1"));
        c.same(format!("HSETNX {h} f 7"));
        c.same(format!("HSETNX {h} g 7"));
        c.same(format!("HMGET {h} f g"));
        c.same(format!("HDEL {h} a a none b"));
        c.same(format!("HDEL {h} none"));
        c.same_pairs(format!("HGETALL {h}"));
        c.same_set(format!("HKEYS {h}"));
        c.same_set(format!("HVALS {h}"));
        c.same(format!("HDEL {h} c d e f g"));
        c.check(format!("EXISTS {h}"), b":0\r\n");
        c.same(format!("TYPE {h}"));
    });
}

#[test]
fn a_packed_hash_keeps_the_order_of_insertion() {
    in_both_protocols(|c| {
        c.same("HSET h z 1 a 2 m 3");
        c.same("HSET h a 20 b 4");
        c.same("HDEL h z");
        c.same("HSET h z 'again, and longer'");
        c.same("HGETALL h");
        c.same("HKEYS h");
        c.same("HVALS h");
        c.same("HSCAN h 0");
        c.same("HRANDFIELD h 10 WITHVALUES");
    });
}

#[test]
fn fields_and_values_may_hold_any_bytes() {
    in_both_protocols(|c| {
        let all: Vec<u8> = (0..=255).collect();
        for value in [&b""[..], b"\0", b"\r\n", b"\xff\xfe", &all] {
            c.same([b"HSET", &b"h"[..], value, value]);
            c.same([b"HGET", &b"h"[..], value]);
            c.same([b"HSTRLEN", &b"h"[..], value]);
        }
        c.same_pairs("HGETALL h");
    });
}

#[test]
fn a_hash_changes_its_form_when_redis_does_and_never_back() {
    side_by_side(|c| {
        for (field, value) in [(64, 64), (65, 1), (1, 65), (512, 512)] {
            let (field, value) = ("f".repeat(field), "v".repeat(value));
            c.same(["DEL", "h"]);
            c.same(["HSET", "h", &field, &value]);
            c.same("OBJECT ENCODING h");
        }
        for n in 0..512 {
            c.run(format!("HSET many f{n} {n}"));
        }
        c.check("OBJECT ENCODING many", b"$8\r\nlistpack\r\n");
        c.same("HGETALL many");
        c.same("HSETNX many f0 x");
        c.same("OBJECT ENCODING many");
        c.same("HINCRBY many f512 1");
        c.check("OBJECT ENCODING many", b"$9\r\nhashtable\r\n");
        c.same_pairs("HGETALL many");
        for n in 1..=512 {
            c.run(format!("HDEL many f{n}"));
        }
        c.same("OBJECT ENCODING many");
        c.same("HGETALL many");
    });
}

#[test]
fn a_long_value_changes_the_form_only_if_it_is_stored() {
    side_by_side(|c| {
        let long = "x".repeat(65);
        c.same("HSET h f v");
        c.same(["HSETNX", "h", "f", &long]);
        c.same("OBJECT ENCODING h");
        c.same(["HEXISTS", "h", &long]);
        c.same("OBJECT ENCODING h");
        c.same(["HSETNX", "h", "g", &long]);
        c.same("OBJECT ENCODING h");
        c.same(["HINCRBY", "i", &long, "1"]);
        c.same("OBJECT ENCODING i");
        c.same("HINCRBYFLOAT j f 1e100");
        c.same("OBJECT ENCODING j");
        c.same(["HSET", "k", "f", &long, "f", "short"]);
        c.same("OBJECT ENCODING k");
    });
}

#[test]
fn integers_are_added_within_64_bits() {
    each_form(|c, h| {
        let (max, min) = (i64::MAX, i64::MIN);
        for by in ["1", "-1", "0", "9223372036854775807", "-9223372036854775808"] {
            c.same(format!("HINCRBY {h} n {by}"));
        }
        c.same(format!("HSET {h} max {max} min {min} text x empty '' spaced ' 1' zero 01 plus +1"));
        for field in ["max", "min", "text", "empty", "spaced", "zero", "plus", "new"] {
            for by in ["1", "-1", &max.to_string(), &min.to_string()] {
                c.same(format!("HINCRBY {h} {field} {by}"));
            }
        }
        for by in ["x", "", "1.0", "01", "+1", " 1", "9223372036854775808", "1e3"] {
            c.same(["HINCRBY", h, "n", by]);
            c.same(["HINCRBY", "none", "n", by]);
        }
        c.same_pairs(format!("HGETALL {h}"));
        c.same("EXISTS none");
    });
}

#[test]
fn a_bad_increment_is_refused_before_another_type() {
    side_by_side(|c| {
        c.same("SET s text");
        for by in ["x", "1.5", "nan", "inf", "-inf", ""] {
            c.same(["HINCRBY", "s", "f", by]);
            c.same(["HINCRBYFLOAT", "s", "f", by]);
            c.same(["HINCRBYFLOAT", "none", "f", by]);
        }
        c.same("EXISTS none");
        c.same("HSET h text x");
        c.same("HINCRBY h text y");
        c.same("HINCRBYFLOAT h text y");
    });
}

#[test]
fn floats_are_added_as_long_doubles() {
    each_form(|c, h| {
        for by in ["0.1", "0.2", "-0.3", "1e3", "5.0e-1", "0x10", "1e-17", "1e-18", "-0", "3.0"] {
            c.same(format!("HINCRBYFLOAT {h} sum {by}"));
            c.same(format!("HINCRBYFLOAT {h} sum{by} {by}"));
        }
        c.same(format!("HINCRBYFLOAT {h} a 0.5"));
        c.same(format!("HINCRBYFLOAT {h} b 9223372036854775807"));
        c.same(format!("HINCRBYFLOAT {h} b 0.5"));
        c.same(format!("HINCRBY {h} b 1"));
        c.same(format!("HINCRBYFLOAT {h} big 1e300"));
        c.same_pairs(format!("HGETALL {h}"));
    });
}

#[test]
fn floats_refuse_what_is_no_number_or_not_finite() {
    each_form(|c, h| {
        let set =
            "text x empty '' spaced ' 1' trailing '1 ' plus +1 zero 01 inf inf nan nan hex 0x1p4";
        c.same(format!("HSET {h} {set}"));
        for field in ["text", "empty", "spaced", "trailing", "plus", "zero", "inf", "nan", "hex"] {
            c.same(format!("HINCRBYFLOAT {h} {field} 0.5"));
        }
        for by in
            ["nan", "inf", "-inf", "+inf", "infinity", "x", "", " 1", "1 ", "1e4933", "1e-5000"]
        {
            c.same(["HINCRBYFLOAT", h, "a", by]);
        }
        c.same(format!("HSET {h} huge 1e4932"));
        c.same(format!("HINCRBYFLOAT {h} huge 1e4932"));
        c.same_pairs(format!("HGETALL {h}"));
    });
}

#[test]
fn random_fields_have_the_shape_that_was_asked_for() {
    each_form(|c, h| {
        c.same_shape(format!("HRANDFIELD {h}"));
        for count in ["0", "1", "2", "-1", "-2", "-7"] {
            c.same_shape(format!("HRANDFIELD {h} {count}"));
            c.same_shape(format!("HRANDFIELD {h} {count} withvalues"));
        }
        for count in ["3", "4", "9223372036854775807"] {
            c.same_set(format!("HRANDFIELD {h} {count}"));
        }
        c.same_shape(format!("HRANDFIELD {h} 3 WITHVALUES"));
        c.same_shape(format!("HRANDFIELD {h} 4611686018427387903 WITHVALUES"));
    });
}

#[test]
fn random_fields_are_distinct_with_their_own_values() {
    in_both_protocols(|c| {
        for n in 0..300 {
            c.run(format!("HSET large f{n} v{n}"));
            c.run(format!("HSET small f{} v{}", n % 20, n % 20));
        }
        for (key, count) in [("small", 7), ("small", 19), ("large", 5), ("large", 290)] {
            let reply = c.same_shape(format!("HRANDFIELD {key} {count} WITHVALUES"));
            let text = format!("{reply:?}");
            let mut fields: Vec<&str> =
                text.split('"').filter(|word| word.starts_with('f')).collect();
            let own = |field: &&str| text.contains(&field.replace('f', "v"));
            assert!(fields.iter().all(own), "{text}");
            if key == "small" {
                let number = |field: &&str| field[1..].parse::<u32>().unwrap();
                assert!(fields.is_sorted_by_key(number), "a packed hash answers in its order");
            }
            fields.sort_unstable();
            fields.dedup();
            assert_eq!(fields.len(), count);
        }
    });
}

#[test]
fn random_fields_check_count_then_option_then_range_then_type() {
    in_both_protocols(|c| {
        c.same("SET s text");
        for key in ["s", "none"] {
            for count in ["x", "1.5", "", "9223372036854775808", "-9223372036854775808"] {
                c.same(["HRANDFIELD", key, count]);
                c.same(["HRANDFIELD", key, count, "BAD"]);
                c.same(["HRANDFIELD", key, count, "WITHVALUES"]);
            }
            for count in [
                "1",
                "4611686018427387903",
                "-4611686018427387903",
                "4611686018427387904",
                "-4611686018427387904",
                "-9223372036854775807",
            ] {
                c.same(["HRANDFIELD", key, count]);
                c.same(["HRANDFIELD", key, count, "BAD"]);
                c.same(["HRANDFIELD", key, count, "WithValues"]);
                c.same(["HRANDFIELD", key, count, "WITHVALUES", "WITHVALUES"]);
            }
        }
    });
}

#[test]
fn an_absurd_number_of_repetitions_is_refused_not_attempted() {
    // Real Redis would start to write a reply of that length.
    let engine = stockroom::Engine::new();
    let mut session = engine.session();
    session.call(&[b"HSET", b"h", b"f", b"v"]);
    for count in [&b"-9223372036854775807"[..], b"-99999999999"] {
        assert!(session.call(&[b"HRANDFIELD", b"h", count]).is_error());
    }
}

#[test]
fn a_scan_visits_every_field_and_filters_by_pattern() {
    in_both_protocols(|c| {
        fill(c);
        for n in 0..300 {
            c.run(format!("HSET large f{n} v{n}"));
        }
        for options in ["", "MATCH *", "MATCH f1*", "MATCH [ab]", "COUNT 5", "COUNT 7 MATCH *2*"] {
            for key in ["packed", "table", "large"] {
                let (mut cursor, mut found) = (String::from("0"), Vec::new());
                loop {
                    let line = format!("HSCAN {key} {cursor} {options}");
                    let reply = c.run(line.trim_end());
                    let page = compare::items(&reply).expect("a cursor and a page");
                    found.extend(compare::items(&page[1]).expect("fields and values"));
                    let Value::Bulk(next) = &page[0] else { panic!("{reply:?}") };
                    cursor = next.to_text();
                    if cursor == "0" {
                        break;
                    }
                }
                let whole = format!("HSCAN {key} 0 {options} COUNT 100000");
                let all = c.same_after(&*whole, |page| {
                    let mut page = compare::items(&page).expect("a cursor and a page");
                    let found = compare::items(&page.remove(1)).expect("fields and values");
                    let mut pairs: Vec<_> =
                        found.chunks(2).map(|pair| format!("{pair:?}")).collect();
                    pairs.sort();
                    Value::bulks(pairs)
                });
                let all = compare::items(&compare::items(&all).unwrap()[1]).unwrap();
                assert_eq!(found.len(), all.len(), "{key} {options}");
            }
        }
    });
}

#[test]
fn a_scan_checks_cursor_then_type_then_options() {
    in_both_protocols(|c| {
        c.same("SET s text");
        c.same("HSET h a 1 b 2");
        for key in ["h", "s", "none"] {
            for cursor in ["0", "7", "x", "-1", "", "1x", "18446744073709551616"] {
                c.same(["HSCAN", key, cursor]);
                c.same(["HSCAN", key, cursor, "BAD"]);
            }
            for options in [
                "COUNT",
                "COUNT 0",
                "COUNT -1",
                "COUNT x",
                "COUNT 9223372036854775807",
                "MATCH",
                "MATCH b",
                "match B",
                "COUNT 1 MATCH a",
                "TYPE hash",
                "NOVALUES",
                "MATCH a COUNT",
            ] {
                c.same(format!("HSCAN {key} 0 {options}"));
            }
        }
    });
}

#[test]
fn watchers_see_exactly_the_changes() {
    for (command, changes) in [
        ("HSET h a 1", true),
        ("HSETNX h a 9", false),
        ("HSETNX h new 9", true),
        ("HDEL h none", false),
        ("HDEL h a", true),
        ("HINCRBY h a 0", true),
        ("HINCRBY h text 1", false),
        ("HINCRBYFLOAT h a 0", true),
        ("HMSET h a 1", true),
        ("HGETALL h", false),
        ("HDEL h a text", true),
    ] {
        side_by_side(|c| {
            c.same("HSET h a 1 text x");
            c.same("WATCH h");
            c.on(1).same_shape(command);
            c.same("MULTI");
            c.same("PING");
            let aborted: &[u8] = if changes { b"*-1\r\n" } else { b"*1\r\n+PONG\r\n" };
            c.check("EXEC", aborted);
        });
    }
}

#[test]
fn a_change_keeps_the_time_to_live_and_the_last_removal_ends_it() {
    side_by_side(|c| {
        c.same("HSET h a 1");
        c.same("PEXPIRE h 1000");
        c.advance(400);
        c.same("HSET h b 2");
        c.same("HINCRBY h a 5");
        c.same("HINCRBYFLOAT h a 0.5");
        c.same("PTTL h");
        c.same("HDEL h a b");
        c.same("HSET h a 1");
        c.same("PTTL h");
        c.same("PEXPIRE h 1000");
        c.advance(1001);
        c.same("HGETALL h");
        c.same("HINCRBY h a 1");
        c.same("PTTL h");
    });
}
