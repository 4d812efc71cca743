//! Ranges by rank, by score and by member.

use super::{all, both_forms, each};
use crate::support::{Pair, argv, in_both_protocols, side_by_side};

/// The same for sets whose scores are all 0.
fn both_lex_forms(c: &Pair) -> [&'static str; 2] {
    for (key, count) in [("small", 20), ("large", 300)] {
        let mut line = argv!["ZADD", key];
        for n in 0..count {
            line.extend(argv![0, format!("m{n:03}")]);
        }
        line.extend(argv![0, "", 0, b"\xff\0", 0, "m01", 0, "M"]);
        c.same(&line);
    }
    ["small", "large"]
}

#[test]
fn ranges_by_rank_clamp_and_count_from_the_end() {
    in_both_protocols(|c| {
        let keys = both_forms(c);
        for key in keys {
            for (start, stop) in [
                (0, -1),
                (0, 0),
                (-1, -1),
                (5, 8),
                (-8, -5),
                (8, 5),
                (0, 1000),
                (-1000, 2),
                (1000, 2000),
                (-2000, -1000),
                (0, -1000),
                (62, 67),
            ] {
                c.same(format!("ZRANGE {key} {start} {stop}"));
                c.same(format!("ZRANGE {key} {start} {stop} WITHSCORES"));
                c.same(format!("ZREVRANGE {key} {start} {stop}"));
                c.same(format!("ZREVRANGE {key} {start} {stop} WITHSCORES"));
                c.same(format!("ZRANGE {key} {start} {stop} REV WITHSCORES"));
            }
        }
        each(
            c,
            &keys,
            "ZRANGE @ -9223372036854775808 9223372036854775807
            ZRANGE @ 9223372036854775807 -9223372036854775808
            ZRANGE @ -9223372036854775809 0
            ZRANGE @ 0 0 LIMIT 0 -1
            ZRANGE @ 0 0 LIMIT 5 -1",
        );
    });
}

#[test]
fn ranges_by_score_take_open_ends_and_limits() {
    in_both_protocols(|c| {
        let keys = both_forms(c);
        for (min, max) in [
            ("-inf", "+inf"),
            ("-4", "4"),
            ("(-4.5", "(4"),
            ("(-4", "(-4"),
            ("4", "-4"),
            ("\"\"", "1"),
            ("\" 1\"", "0x2"),
            ("(", "inf"),
            ("-1e999", "1e999"),
            ("(-inf", "(inf"),
            ("-1e-999", "1"),
        ] {
            for options in
                ["", "WITHSCORES", "LIMIT 1 3", "LIMIT 0 0", "LIMIT 2 -7 WITHSCORES", "LIMIT 9 9"]
            {
                for key in keys {
                    c.same(format!("ZRANGEBYSCORE {key} {min} {max} {options}"));
                    c.same(format!("ZREVRANGEBYSCORE {key} {max} {min} {options}"));
                    c.same(format!("ZRANGE {key} {min} {max} BYSCORE {options}"));
                    c.same(format!("ZRANGE {key} {max} {min} {options} BYSCORE REV"));
                }
            }
        }
        each(
            c,
            &keys,
            "ZRANGEBYSCORE @ -inf inf LIMIT -1 5
            ZREVRANGEBYSCORE @ inf -inf LIMIT -1 5
            ZRANGEBYSCORE @ -inf inf LIMIT 1000 5
            ZRANGEBYSCORE @ -inf inf LIMIT 9223372036854775807 9223372036854775807
            ZRANGEBYSCORE @ -inf inf LIMIT 0 1 LIMIT 2 2
            ZRANGEBYSCORE @ -inf inf WITHSCORES WITHSCORES LIMIT 0 1",
        );
    });
}

#[test]
fn ranges_by_member_take_open_ends_and_limits() {
    side_by_side(|c| {
        let keys = both_lex_forms(c);
        for (min, max) in [
            ("-", "+"),
            ("+", "-"),
            ("-", "-"),
            ("+", "+"),
            ("[m003", "[m010"),
            ("(m003", "(m010"),
            ("(m003", "[m003"),
            ("[m003", "[m003"),
            ("[m010", "[m003"),
            ("[m0", "(m01"),
            ("[", "("),
            ("(", "+"),
            ("-", "[zzz"),
            ("\"[\\xff\"", "+"),
            ("\"-\\x00\"", "\"+\\x00x\""),
        ] {
            for key in keys {
                c.same(format!("ZLEXCOUNT {key} {min} {max}"));
                for options in ["", "LIMIT 1 3", "LIMIT 0 0", "LIMIT 2 -1", "LIMIT -1 2"] {
                    c.same(format!("ZRANGEBYLEX {key} {min} {max} {options}"));
                    c.same(format!("ZREVRANGEBYLEX {key} {max} {min} {options}"));
                    c.same(format!("ZRANGE {key} {min} {max} BYLEX {options}"));
                    c.same(format!("ZRANGE {key} {max} {min} BYLEX REV {options}"));
                }
            }
        }
        all(
            c,
            "ZREMRANGEBYLEX small (m003 [m010
            ZREMRANGEBYLEX large (m003 [m010
            ZREMRANGEBYLEX small + -
            ZRANGE small 0 -1
            ZRANGE large 0 9
            ZREMRANGEBYLEX small - +
            EXISTS small",
        );
    });
}

#[test]
fn ranges_by_member_of_a_listpack_with_different_scores_walk_as_redis_walks() {
    side_by_side(|c| {
        c.run("ZADD z 1 a 2 z 3 b 4 m 5 c 6 k");
        let bounds = ["-", "+", "[a", "(a", "[b", "(b", "[c", "[k", "(k", "[m", "(m", "[y", "[z"];
        for min in bounds {
            for max in bounds {
                c.same(format!("ZRANGEBYLEX z {min} {max}"));
                c.same(format!("ZREVRANGEBYLEX z {max} {min}"));
                c.same(format!("ZLEXCOUNT z {min} {max}"));
                c.same(format!("ZRANGESTORE d z {max} {min} BYLEX REV"));
                c.run("COPY z y REPLACE");
                c.same(format!("ZREMRANGEBYLEX y {min} {max}"));
            }
        }
    });
}

#[test]
fn ranges_say_what_is_wrong_in_the_order_of_redis() {
    in_both_protocols(|c| {
        c.run("SET s v");
        c.run("ZADD z 0 a 0 b 0 c");
        for key in ["s", "z", "none"] {
            for tail in [
                "0",
                "0 1 x",
                "x 1",
                "0 x",
                "x 1 BYSCORE",
                "0 x BYSCORE",
                "x [b BYLEX",
                "[a b BYLEX",
                "0 1 LIMIT",
                "0 1 LIMIT 0",
                "0 1 LIMIT 0 1",
                "0 1 LIMIT 0 x",
                "0 1 LIMIT x 0",
                "x 1 LIMIT 0 x BYSCORE",
                "0 1 LIMIT 0 x y",
                "0 1 LIMIT 0 1 WITHSCORES BYLEX",
                "- + BYLEX WITHSCORES",
                "- + WITHSCORES BYLEX LIMIT 0 x",
                "0 1 BYSCORE BYLEX",
                "0 1 BYSCORE BYSCORE",
                "0 1 REV REV",
                "0 1 REV BYSCORE",
                "1 0 rev byscore withscores limit 0 1",
                "x 1 WITHSCORES REV LIMIT 0 -1",
                "0 1 \"rev\\x00x\"",
            ] {
                for name in [
                    "ZRANGE",
                    "ZREVRANGE",
                    "ZRANGEBYSCORE",
                    "ZREVRANGEBYSCORE",
                    "ZRANGEBYLEX",
                    "ZREVRANGEBYLEX",
                    "ZRANGESTORE d",
                ] {
                    c.same(format!("{name} {key} {tail}"));
                }
            }
            each(
                c,
                &[key],
                "ZREMRANGEBYRANK @ x 1
                ZREMRANGEBYRANK @ 0 x
                ZREMRANGEBYRANK @ 7 9
                ZREMRANGEBYSCORE @ x 1
                ZREMRANGEBYSCORE @ 7 9
                ZREMRANGEBYLEX @ x -
                ZREMRANGEBYLEX @ [x [y
                ZREM @ x",
            );
        }
    });
}

#[test]
fn zrangestore_replaces_what_is_there() {
    in_both_protocols(|c| {
        each(
            c,
            &both_forms(c),
            "SETEX d 100 v
            ZRANGESTORE d @ 2 5
            TTL d
            ZRANGE d 0 -1 WITHSCORES
            ZRANGESTORE d @ 2 5 REV
            ZRANGE d 0 -1 WITHSCORES
            ZRANGESTORE d @ (0 inf BYSCORE LIMIT 1 2
            ZRANGE d 0 -1 WITHSCORES
            ZRANGESTORE d @ [m003 [m005 BYLEX
            ZRANGESTORE d @ 7 3
            EXISTS d
            SET d v
            ZRANGESTORE d none 0 -1
            EXISTS d
            ZRANGESTORE d none 0 -1
            ZRANGESTORE @ @ 0 2
            ZRANGE @ 0 -1",
        );
    });
}
