//! Unions, intersections and differences.

use super::{all, both_forms};
use crate::support::{Pair, in_both_protocols, side_by_side};

/// Sorted sets and sets to combine: overlapping, of both forms, and of both kinds.
fn ingredients(c: &Pair) {
    both_forms(c);
    all(
        c,
        "ZADD a 1 x 2 y 3 z 0.1 m003 0.3 m004
        ZADD b 10 y 20 z 30 w 0.2 m003 1e17 m004
        ZADD inf inf x -inf y 0 z
        ZADD ninf -inf x inf y 0 z
        SADD set x y m003 other
        SADD ints 1 2 3
        ZADD numbers 1.5 1 2.5 2 7 9
        SET s v",
    );
}

#[test]
fn sets_and_sorted_sets_are_combined() {
    in_both_protocols(|c| {
        ingredients(c);
        for name in ["ZUNION", "ZINTER", "ZDIFF"] {
            for keys in [
                "1 a",
                "1 set",
                "1 none",
                "2 a b",
                "2 b a",
                "2 a a",
                "2 a none",
                "2 none a",
                "2 a set",
                "2 set a",
                "2 set set",
                "3 a b set",
                "2 small large",
                "2 large small",
                "4 large a set b",
                "3 large none small",
                "2 ints numbers",
                "2 numbers ints",
                "2 inf ninf",
                "3 a b inf",
            ] {
                c.same(format!("{name} {keys}"));
                c.same(format!("{name} {keys} WITHSCORES"));
                c.same(format!("{name}STORE d {keys}"));
                c.same("ZRANGE d 0 -1 WITHSCORES");
                c.same("OBJECT ENCODING d");
            }
        }
        for keys in ["1 a", "2 a b", "2 a none", "2 set a", "2 large small", "1 set", "2 ints ints"]
        {
            c.same(format!("ZINTERCARD {keys}"));
            for limit in [0, 1, 2, 100] {
                c.same(format!("ZINTERCARD {keys} LIMIT {limit}"));
            }
        }
    });
}

#[test]
fn weights_and_aggregates_shape_the_scores() {
    in_both_protocols(|c| {
        ingredients(c);
        for name in ["ZUNION", "ZINTER"] {
            for aggregate in ["", "AGGREGATE SUM", "aggregate min", "AGGREGATE MAX"] {
                for tail in [
                    "2 a b WEIGHTS 2 0.5",
                    "2 a b WEIGHTS -1 1e300",
                    "2 inf ninf WEIGHTS 1 1",
                    "2 inf ninf WEIGHTS 0 1",
                    "2 inf ninf WEIGHTS 1 0",
                    "2 inf a WEIGHTS inf -inf",
                    "2 inf inf WEIGHTS 0 0",
                    "2 a set WEIGHTS 1 inf",
                    "2 set set WEIGHTS -0 0",
                    "3 a b set WEIGHTS 0.1 0.2 0.3",
                    "3 set b a WEIGHTS 0.1 0.2 0.3",
                    "2 small large WEIGHTS 3 -1",
                    "1 large WEIGHTS 0",
                    "1 inf WEIGHTS nan",
                ] {
                    c.same(format!("{name} {tail} {aggregate} WITHSCORES"));
                    c.same(format!("{name}STORE d {aggregate} {tail}"));
                    c.same(format!("{name}STORE d {tail} {aggregate}"));
                    c.same("ZRANGE d 0 -1 WITHSCORES");
                }
            }
        }
    });
}

#[test]
fn a_destination_is_replaced_and_may_be_a_source() {
    side_by_side(|c| {
        ingredients(c);
        for name in ["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"] {
            c.run("SETEX d 100 v");
            c.same(format!("{name} d 1 a"));
            c.same("TTL d");
            c.same("TYPE d");
            c.same(format!("{name} d 2 d b"));
            c.same("ZRANGE d 0 -1 WITHSCORES");
            c.run("SET d v");
            c.same(format!("{name} d 1 none"));
            c.same("EXISTS d");
            c.same(format!("{name} d 1 none"));
            c.same(format!("{name} d 1 s"));
            c.same(format!("{name} s 1 a"));
            c.run("SET s v");
        }
    });
}

#[test]
fn combinations_say_what_is_wrong_in_the_order_of_redis() {
    side_by_side(|c| {
        ingredients(c);
        for name in [
            "ZUNION",
            "ZINTER",
            "ZDIFF",
            "ZINTERCARD",
            "ZUNIONSTORE d",
            "ZINTERSTORE d",
            "ZDIFFSTORE d",
        ] {
            for tail in [
                "",
                "1",
                "0 a",
                "-1 a",
                "x a",
                "1.5 a",
                "2 a",
                "9223372036854775807 a",
                "1 s",
                "1 s x",
                "2 none s WEIGHTS x y",
                "1 a x",
                "1 a WEIGHTS",
                "1 a WEIGHTS x",
                "1 a WEIGHTS 1 2",
                "2 a b WEIGHTS 1",
                "2 a b WEIGHTS 1 x",
                "1 a WEIGHTS 1 WEIGHTS 2",
                "1 a AGGREGATE",
                "1 a AGGREGATE x",
                "1 a AGGREGATE SUM AGGREGATE MAX",
                "1 a WITHSCORES",
                "1 a WITHSCORES WITHSCORES",
                "1 a WITHSCORES x",
                "1 a LIMIT",
                "1 a LIMIT 1",
                "1 a LIMIT -1",
                "1 a LIMIT x",
                "1 a LIMIT 1 LIMIT 2",
                "1 a LIMIT 1 x",
                "1 weights WEIGHTS 3",
            ] {
                c.same(format!("{name} {tail}"));
            }
        }
    });
}
