//! Elements added, removed and popped; and the form and the scores that come of it.

use super::{both_forms, each};
use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn zadd_options_decide_who_is_added_and_updated() {
    in_both_protocols(|c| {
        each(
            c,
            &both_forms(c),
            "ZADD @ 1 new
            ZADD @ 1 new 2 m003 3 m004
            ZADD @ CH 1 new 9 m003 8 newer
            ZADD @ NX 7 new 7 newest
            ZADD @ XX 7 new 7 nobody
            ZADD @ XX CH 8 new 8 nobody
            ZADD @ GT 7 new 9 m003 100 greater
            ZADD @ GT CH 9 new 9 m003
            ZADD @ LT CH 9 new 3 m003 -100 less
            ZADD @ LT XX CH 2 m003 1 nobody
            ZADD @ INCR 2 m003
            ZADD @ NX INCR 2 m003
            ZADD @ NX INCR 2 m003b
            ZADD @ XX INCR 2 nobody
            ZADD @ GT INCR -1 m003
            ZADD @ LT INCR -1 m003
            ZADD @ GT INCR 0 m003
            ZADD @ LT INCR 0 m003
            ZADD @ CH INCR 1.5 m003
            ZADD @ gt xx ch incr 1.5 m003
            ZADD @ 1 twice 2 twice
            ZADD @ CH 1 twice 2 twice
            ZADD @ inf up -inf down +Infinity far 0x10 hex 1e3 exp
            ZADD @ INCR -inf up
            ZADD @ XX INCR inf down
            ZADD @ NX INCR -inf up
            ZINCRBY @ -inf up
            ZRANGE @ 0 -1 WITHSCORES",
        );
    });
}

#[test]
fn zadd_says_what_is_wrong_in_the_order_of_redis() {
    side_by_side(|c| {
        c.run("SET s v");
        each(
            c,
            &["z", "s"],
            "ZADD
            ZADD @ 1
            ZADD @ 1 a 2
            ZADD @ NX
            ZADD @ NX 1
            ZADD @ NX XX
            ZADD @ NX XX 1 a
            ZADD @ XX NX GT 1 a 2
            ZADD @ NX GT 1 a
            ZADD @ LT NX 1 a
            ZADD @ GT LT INCR 1 a 2 b
            ZADD @ INCR 1 a 2 b
            ZADD @ INCR x a 2 b
            ZADD @ NX XX x a
            ZADD @ x a
            ZADD @ nan a
            ZADD @ 1 a x b
            ZADD @ \"\" a
            ZADD @ \" 1\" a
            ZADD @ 1e400 a
            ZADD @ NX NX CH CH 1 a
            ZADD @ XX INCR 1 b
            ZADD @ \"nx\\x00y\" 5 a
            ZINCRBY @ x a
            ZINCRBY @ nan a
            ZINCRBY @ NX a
            ZINCRBY @ NX XX
            ZINCRBY @ 1
            ZINCRBY @ 1 a",
        );
        c.same("EXISTS z");
        c.same("ZADD none XX 1 a");
        c.same("ZADD none XX CH 1 a");
        c.same("ZADD none XX INCR 1 a");
        c.same("EXISTS none");
    });
}

#[test]
fn scores_are_spelled_as_by_redis() {
    in_both_protocols(|c| {
        let forms = both_forms(c);
        for key in forms {
            for score in [
                "0",
                "-0",
                "3",
                "-2.5",
                "0.1",
                "1e15",
                "1e16",
                "1e17",
                "-1e17",
                "1e-5",
                "1e300",
                "5e-324",
                "123456789012345678",
                "9007199254740993",
                "inf",
                "-inf",
                "1.0",
                "1e0",
                "4503599627370496",
                "9223372036854775807",
                "18446744073709551616",
                "3.14159",
            ] {
                c.same(argv!["ZADD", key, score, "m"]);
                c.same(argv!["ZSCORE", key, "m"]);
                c.same(argv!["ZADD", key, "INCR", "-0", "m"]);
                c.same(argv!["ZINCRBY", key, "0.1", "m"]);
                c.same(argv!["ZADD", key, "INCR", score, format!("new {score}")]);
                c.same(argv!["ZSCORE", key, format!("new {score}")]);
            }
            c.same(argv!["ZRANGE", key, "0", "-1", "WITHSCORES"]);
        }
    });
}

#[test]
fn only_skiplists_know_a_negative_zero() {
    side_by_side(|c| {
        for key in both_forms(c) {
            c.same(argv!["ZADD", key, "-0", "z", "0", "y"]);
            c.same(argv!["ZSCORE", key, "z"]);
            c.same(argv!["ZADD", key, "CH", "0", "z", "-0", "y"]);
            c.same(argv!["ZMSCORE", key, "z", "y"]);
            c.same(argv!["ZUNIONSTORE", "d", "1", key]);
            c.same("ZMSCORE d z y");
            c.same(argv!["ZRANGESTORE", "d", key, "0", "-1"]);
            c.same("ZMSCORE d z y");
            c.same(argv!["ZRANGESTORE", "d", key, "-inf", "+inf", "BYSCORE"]);
            c.same("ZMSCORE d z y");
        }
        let mut line = argv!["ZADD", "zeros"];
        for n in 0..200 {
            line.extend(argv!["-0", n]);
        }
        c.same(&line);
        c.same("ZRANGE zeros 0 -1 WITHSCORES");
        for options in ["0 -1", "0 -1 REV", "-inf +inf BYSCORE", "+inf -inf BYSCORE REV"] {
            c.same(format!("ZRANGESTORE d zeros {options}"));
            c.same("ZRANGE d 0 -1 WITHSCORES");
        }
        c.same("ZUNIONSTORE d 1 zeros");
        c.same("ZRANGE d 0 -1 WITHSCORES");
    });
}

#[test]
fn form_follows_size_and_length() {
    side_by_side(|c| {
        for n in 0..130 {
            c.same(argv!["ZADD", "z", n, format!("m{n}")]);
            c.same("OBJECT ENCODING z");
        }
        c.same("ZREMRANGEBYRANK z 1 -1");
        c.same("OBJECT ENCODING z");
        c.same("ZUNIONSTORE d 1 z");
        c.same("OBJECT ENCODING d");
        c.same("ZRANGESTORE d z 0 -1");
        c.same("OBJECT ENCODING d");
        for length in [64, 65] {
            let long = "x".repeat(length);
            c.same(argv!["ZADD", "first", "XX", 1, &long]);
            c.same(argv!["ZADD", format!("first{length}"), 1, &long]);
            c.same(format!("OBJECT ENCODING first{length}"));
            c.same(argv!["ZADD", "later", 1, "short", 2, &long]);
            c.same("OBJECT ENCODING later");
            c.same(argv!["ZINTERSTORE", "d", 1, "later"]);
            c.same("OBJECT ENCODING d");
            c.same(argv!["ZRANGESTORE", "d", "later", 0, 0]);
            c.same("OBJECT ENCODING d");
        }
        both_forms(c);
        for count in [127, 128, 129] {
            c.same(format!("ZRANGESTORE d large 0 {}", count - 1));
            c.same("OBJECT ENCODING d");
            c.same(format!("ZRANGESTORE d large -inf +inf BYSCORE LIMIT 3 {count}"));
            c.same("OBJECT ENCODING d");
            c.same("ZDIFFSTORE d2 2 large d");
            c.same("OBJECT ENCODING d2");
        }
    });
}

#[test]
fn removals_count_and_take_the_key_with_the_last() {
    side_by_side(|c| {
        each(
            c,
            &both_forms(c),
            "ZREM @ m003 nobody m003 m004
            ZREM @ nobody
            ZREMRANGEBYRANK @ 0 1
            ZREMRANGEBYRANK @ -2 -1
            ZREMRANGEBYRANK @ 5 3
            ZREMRANGEBYRANK @ 5000 9000
            ZREMRANGEBYSCORE @ (-3 0
            ZREMRANGEBYSCORE @ 0 (-3
            ZRANGE @ 0 -1 WITHSCORES
            OBJECT ENCODING @
            ZREMRANGEBYRANK @ 0 -1
            EXISTS @
            ZADD @ 1 a 2 b
            ZREM @ a b c
            EXISTS @
            ZADD @ 1 a
            ZREMRANGEBYSCORE @ -inf +inf
            EXISTS @",
        );
    });
}

#[test]
fn pops_take_the_outermost() {
    in_both_protocols(|c| {
        c.run("SET s v");
        let [small, large] = both_forms(c);
        each(
            c,
            &[small, large, "none"],
            "ZPOPMIN @
            ZPOPMAX @
            ZPOPMIN @ 1
            ZPOPMIN @ 3
            ZPOPMAX @ 3
            ZPOPMIN @ 0
            ZPOPMAX @ 0
            ZMPOP 1 @ MIN
            ZMPOP 2 none @ MAX
            ZMPOP 2 @ s MIN COUNT 3
            ZMPOP 1 @ max count 2
            ZCARD @
            OBJECT ENCODING @
            ZPOPMAX @ 1000
            EXISTS @
            ZADD @ 1 a
            ZPOPMIN @
            EXISTS @
            ZADD @ 1 a 2 b
            ZMPOP 1 @ MAX COUNT 9223372036854775807
            EXISTS @",
        );
    });
}

#[test]
fn pops_say_what_is_wrong_in_the_order_of_redis() {
    in_both_protocols(|c| {
        c.run("SET s v");
        each(
            c,
            &["s", "none"],
            "ZPOPMIN
            ZPOPMIN @
            ZPOPMIN @ 0
            ZPOPMIN @ x
            ZPOPMAX @ -1
            ZPOPMAX @ 1 2
            ZPOPMAX @ x 2
            ZPOPMAX @ 99999999999999999999
            ZMPOP 1 @
            ZMPOP 1 @ MIN
            ZMPOP 2 none @ MAX
            ZMPOP 0 @ MIN
            ZMPOP -1 @ MIN
            ZMPOP x @ MIN
            ZMPOP 2 @ MIN
            ZMPOP 3 @ MIN
            ZMPOP 9223372036854775806 @ MIN
            ZMPOP 1 @ MID
            ZMPOP 1 @ MIN COUNT
            ZMPOP 1 @ MIN COUNT 0
            ZMPOP 1 @ MIN COUNT x
            ZMPOP 1 @ MIN COUNT -1
            ZMPOP 1 @ MIN COUNT 1 COUNT 1
            ZMPOP 1 @ MIN COUNT 1 x
            ZMPOP 1 @ MIN COUNT x x
            ZMPOP 1 @ MIN x 1",
        );
    });
}

#[test]
fn only_changes_abort_a_watch() {
    side_by_side(|c| {
        let abort = |line: &str| {
            c.run("DEL z d");
            c.run("ZADD z 1 a 2 b");
            c.same("WATCH z d");
            c.on(1).same(line);
            c.same("MULTI");
            c.same("PING");
            c.same("EXEC");
        };
        for line in [
            "ZADD z 1 a",
            "ZADD z CH 1 a",
            "ZADD z 2 a",
            "ZADD z NX 2 a",
            "ZADD z GT 0 a",
            "ZADD z INCR 0 a",
            "ZINCRBY z 0 a",
            "ZINCRBY z 1 a",
            "ZADD z XX 1 c",
            "ZADD d XX 1 c",
            "ZREM z nobody",
            "ZREM z a",
            "ZREMRANGEBYSCORE z 5 6",
            "ZREMRANGEBYSCORE z 2 6",
            "ZPOPMIN z 0",
            "ZPOPMIN z",
            "ZPOPMIN d",
            "ZMPOP 2 d z MAX",
            "ZRANGESTORE d z 5 6",
            "ZRANGESTORE d z 0 1",
            "ZRANGESTORE z z 0 -1",
            "ZUNIONSTORE d 1 none",
            "ZUNIONSTORE d 1 z",
            "ZINTERSTORE z 1 none",
            "ZRANGE z 0 -1",
        ] {
            abort(line);
        }
    });
}
