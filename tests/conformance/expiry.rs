//! Times to live: EXPIRE and its like, PERSIST, TTL and its like.

use crate::support::{argv, side_by_side};

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "100",
    "x",
    "1.5",
    "''",
    "' 1'",
    "01",
    "9223372036854775807",
    "9223372036854775",
    "9223372036854776",
    "-9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775",
    "-9223372036854776",
    "99999999999999999999",
];

#[test]
fn numbers_are_checked_before_the_key() {
    side_by_side(|c| {
        for command in ["EXPIRE", "EXPIREAT", "PEXPIRE", "PEXPIREAT", "expire", "pExpireAt"] {
            for number in NUMBERS {
                c.same(format!("{command} nokey {number}"));
                c.run("SET a 1");
                c.same(format!("{command} a {number}"));
                c.same("PTTL a");
                c.same("TTL a");
                c.same("PEXPIRETIME a");
                c.same("EXPIRETIME a");
            }
        }
    });
}

#[test]
fn options_are_checked_before_the_number_and_the_key() {
    side_by_side(|c| {
        for options in [
            "foo",
            "NX XX",
            "GT LT",
            "NX GT",
            "nx lt",
            "XX GT",
            "XX LT",
            "NX NX",
            "XX GT LT",
            "NX XX GT",
            "foo NX XX",
            "NX XX foo",
            "GT GT",
            "'n\\x00x'",
            "\"nx\\x00\"",
        ] {
            c.same(format!("EXPIRE nokey 10 {options}"));
            c.same(format!("EXPIRE nokey x {options}"));
            c.same(format!("PEXPIREAT nokey 99999999999999999999 {options}"));
        }
    });
}

#[test]
fn conditions_look_at_the_deadline_there_is() {
    side_by_side(|c| {
        for options in ["", "NX", "XX", "GT", "LT", "XX GT", "XX LT"] {
            for old in [None, Some(100), Some(200), Some(300)] {
                for new in [200, -1, 0] {
                    c.run("SET a 1");
                    if let Some(old) = old {
                        c.run(argv!["EXPIRE", "a", old]);
                    }
                    c.same(format!("EXPIRE a {new} {options}"));
                    c.same("PTTL a");
                    c.same("EXISTS a");
                }
            }
        }
    });
}

#[test]
fn a_deadline_in_the_past_removes_the_key() {
    side_by_side(|c| {
        for command in
            ["EXPIRE a 0", "PEXPIRE a -5", "EXPIREAT a 1", "PEXPIREAT a 1", "EXPIREAT a 0"]
        {
            c.run("SET a 1");
            c.check(command, b":1\r\n");
            c.check("EXISTS a", b":0\r\n");
        }
        // A deadline at this very moment is past as well.
        c.run("SET a 1");
        c.same("PEXPIREAT a 1700000000123");
        c.same("EXISTS a");
        c.run("SET a 1");
        c.same("PEXPIREAT a 1700000000124");
        c.same("EXISTS a");
    });
}

#[test]
fn a_key_lives_through_the_millisecond_of_its_deadline() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.check("PEXPIRE a 1500", b":1\r\n");
        c.same("TTL a");
        c.same("EXPIRETIME a");
        c.same("PEXPIRETIME a");
        c.advance(1);
        c.same("TTL a");
        c.advance(999);
        c.same("TTL a");
        c.advance(1);
        c.same("TTL a");
        c.advance(499);
        c.check("PTTL a", b":0\r\n");
        c.same("TTL a");
        c.same("GET a");
        c.advance(1);
        c.check("PTTL a", b":-2\r\n");
        c.same("GET a");
        c.same("TTL a");
        c.same("EXPIRETIME a");
        c.same("PEXPIRETIME a");
    });
}

#[test]
fn seconds_are_rounded_to_the_nearest() {
    side_by_side(|c| {
        c.run("SET a 1");
        for deadline in [1_999_999_999_499_i64, 1_999_999_999_500, 1_999_999_999_501] {
            c.run(argv!["PEXPIREAT", "a", deadline]);
            c.same("EXPIRETIME a");
            c.same("TTL a");
        }
        for deadline in ["9223372036854775807", "9223372036854775000", "9223372036854774499"] {
            c.same(argv!["PEXPIREAT", "a", deadline]);
            c.same("EXPIRETIME a");
            c.same("PEXPIRETIME a");
            c.same("TTL a");
            c.same("PTTL a");
        }
    });
}

#[test]
fn persist_takes_the_deadline_away() {
    side_by_side(|c| {
        c.same("PERSIST nokey");
        c.run("SET a 1");
        c.check("PERSIST a", b":0\r\n");
        c.run("EXPIRE a 10");
        c.check("PERSIST a", b":1\r\n");
        c.same("TTL a");
        c.advance(20_000);
        c.same("GET a");
        for command in ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST"] {
            c.same(format!("{command} a"));
            c.same(format!("{command} nokey"));
            c.same(command);
            c.same(format!("{command} a b"));
        }
    });
}

#[test]
fn a_new_value_has_no_deadline_and_a_key_made_anew_has_none_either() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("EXPIRE a 10");
        c.run("SET a 2");
        c.check("TTL a", b":-1\r\n");
        c.run("EXPIRE a 10");
        c.advance(10_001);
        c.run("SET a 3");
        c.check("TTL a", b":-1\r\n");
        c.run("EXPIRE a 10");
        c.run("DEL a");
        c.run("SET a 4");
        c.check("TTL a", b":-1\r\n");
    });
}
