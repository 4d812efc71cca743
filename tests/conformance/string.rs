//! Strings: GET, SET and their kin, counting, ranges, LCS.

use stockroom::resp::Value;

use crate::support::{Pair, argv, in_both_protocols, side_by_side};

/// A key of another type, for every command to refuse.
fn with_list(c: &Pair) {
    c.same("RPUSH list a b");
}

#[test]
fn set_takes_its_options_in_any_order_and_number() {
    in_both_protocols(|c| {
        with_list(c);
        for options in [
            "",
            "NX",
            "XX",
            "nx get",
            "XX GET",
            "GET NX",
            "GET",
            "get get",
            "KEEPTTL",
            "NX NX",
            "XX XX",
            "KEEPTTL KEEPTTL",
            "EX 10",
            "PX 10000",
            "EXAT 1700000100",
            "GET EX 10 NX",
            "PXAT 1700000100000",
            "EX 10 EX 20",
            "XX KEEPTTL GET",
            "NX XX",
            "XX NX",
            "EX",
            "PX",
            "EX 10 PX 10",
            "EX 10 EXAT 10",
            "EX 10 KEEPTTL",
            "KEEPTTL EX 10",
            "PERSIST",
            "foo",
            "EX abc",
            "EX abc foo",
            "EX 1.5",
            "EX \"\"",
            "PX 0",
            "EX -1",
            "EXAT 0",
            "PXAT -1",
            "EX 0 GET",
            "EX 9223372036854775807",
            "PX 9223372036854775807",
            "EX 9223372036854775",
            "EX 9223372036854774",
            "EX 9223372036854775808",
            "\"nx\\x00tail\"",
            "EX 100 XX",
        ] {
            for key in ["fresh", "present", "list"] {
                c.run("SET present old");
                c.same(format!("SET {key} value {options}"));
                c.same("MGET fresh present list");
                c.run("GETDEL fresh");
                c.run("SET fresh x PXAT 1");
                if c.run("LLEN list").is_error() {
                    c.run("GETDEL list");
                    with_list(c);
                }
            }
        }
    });
}

#[test]
fn set_keeps_a_time_to_live_only_with_keepttl() {
    side_by_side(|c| {
        c.same("SET k v EX 10");
        c.same("SET k v KEEPTTL");
        c.same("SET other v EX 10");
        c.same("SET other v");
        c.advance(10_000);
        c.same("MGET k other");
        c.advance(1);
        let left = c.same("MGET k other");
        assert_eq!(left, Value::Array(vec![Value::Nil, Value::bulk("v")]));
    });
}

#[test]
fn times_count_to_the_millisecond() {
    side_by_side(|c| {
        c.same("SET a v PX 1");
        c.same("SET b v EX 1");
        c.same("SET c v PXAT 1700000000125");
        c.same("SET d v EXAT 1700000001");
        c.same("SET past v PXAT 1700000000122");
        c.same("SET now v PXAT 1700000000123");
        c.same("PSETEX e 2 v");
        c.same("SETEX f 1 v");
        for step in [0, 1, 1, 1, 874, 1, 122, 1] {
            c.advance(step);
            c.same("MGET a b c d past now e f");
        }
    });
}

#[test]
fn a_far_deadline_is_no_overflow() {
    side_by_side(|c| {
        c.same("SET k v EXAT 9223372036854775");
        c.same("SET l v PXAT 9223372036854775807");
        c.same("SET m v EXAT 9223372036854776");
        c.advance(1_000_000);
        c.same("MGET k l m");
    });
}

#[test]
fn setex_psetex_and_setnx_refuse_in_their_own_names() {
    side_by_side(|c| {
        with_list(c);
        for time in ["0", "-1", "abc", "1.0", "9223372036854775807", "9223372036854775808", "10"] {
            c.same(format!("SETEX k {time} v"));
            c.same(format!("PSETEX k {time} v"));
        }
        c.same("SETNX k w");
        c.same("SETNX list w");
        c.same("SETNX new w");
        c.same("MGET k new");
        c.same("SETEX list 10 w");
        c.same("GET list");
    });
}

#[test]
fn getex_changes_the_time_to_live() {
    in_both_protocols(|c| {
        with_list(c);
        for options in [
            "",
            "EX 10",
            "PX 10",
            "EXAT 1700000010",
            "PXAT 1700000000124",
            "PERSIST",
            "EX 10 EX 20",
            "PERSIST PERSIST",
            "EX 10 PX 10",
            "PERSIST EX 10",
            "EX 10 PERSIST",
            "KEEPTTL",
            "NX",
            "GET",
            "foo",
            "EX",
            "EX abc",
            "EX 0",
            "EX -1",
            "PX 9223372036854775807",
            "EXAT 1",
            "PXAT 1700000000123",
            "EX 9223372036854775807",
        ] {
            for key in ["k", "none", "list"] {
                c.run("SET k v EX 5");
                c.same(format!("GETEX {key} {options}"));
                c.same("GET k");
            }
            c.advance(11);
            c.same("GET k");
            c.advance(5_000);
            c.same("GET k");
        }
    });
}

#[test]
fn getdel_and_getset_answer_the_old_value() {
    in_both_protocols(|c| {
        with_list(c);
        for command in ["GETDEL none", "GETDEL list", "GETSET k a", "GETSET k b", "GETSET list a"] {
            c.same(command);
        }
        c.same("SET k 12 EX 1");
        c.same("GETSET k 13");
        c.advance(2_000);
        c.same("GETDEL k");
        c.same("GET k");
        c.same("GET list");
    });
}

#[test]
fn many_keys_are_read_and_set_at_once() {
    in_both_protocols(|c| {
        with_list(c);
        c.same("MSET a 1 b 2 a 3");
        c.same("MGET a b none list a");
        for command in ["MSET", "MSET a", "MSET a 1 b", "MSETNX a", "MSETNX a 1 b", "MGET"] {
            c.same(command);
        }
        c.same("MSETNX c 1 a 2");
        c.same("MSETNX c 1 list 2");
        c.same("MGET a c");
        c.same("MSETNX c 1 d 2 c 3");
        c.same("MGET c d");
        c.same("SET a v EX 1");
        c.same("MSET a w list x");
        c.advance(1_001);
        c.same("MGET a list");
    });
}

#[test]
fn append_and_strlen_count_bytes() {
    side_by_side(|c| {
        with_list(c);
        c.same("APPEND k \"\"");
        c.same("APPEND k \"\\x00\\xff\"");
        c.same("APPEND n 12");
        c.same("APPEND n 3");
        c.same("INCR n");
        c.same("APPEND list x");
        for key in ["k", "n", "none", "list"] {
            c.same(format!("STRLEN {key}"));
            c.same(format!("GET {key}"));
        }
        c.same("SET k v EX 1");
        c.same("APPEND k w");
        c.advance(1_001);
        c.same("GET k");
    });
}

#[test]
fn ranges_are_read_as_the_server_reads_them() {
    side_by_side(|c| {
        with_list(c);
        c.same("SET text \"hello world\"");
        c.same("SET n 12345");
        c.same("SET empty \"\"");
        let bounds = [
            "0",
            "1",
            "-1",
            "4",
            "-3",
            "10",
            "11",
            "100",
            "-100",
            "5",
            "9223372036854775807",
            "-9223372036854775808",
        ];
        for start in bounds {
            for end in bounds {
                for key in ["text", "n", "empty", "none"] {
                    c.same(format!("GETRANGE {key} {start} {end}"));
                }
                c.same(format!("SUBSTR text {start} {end}"));
            }
        }
        for command in [
            "GETRANGE text a 1",
            "GETRANGE text 1 a",
            "GETRANGE list a 1",
            "GETRANGE list 0 1",
            "GETRANGE none 0 9223372036854775808",
            "SUBSTR text 1",
        ] {
            c.same(command);
        }
    });
}

#[test]
fn setrange_fills_holes_and_knows_its_limit() {
    side_by_side(|c| {
        with_list(c);
        c.same("SET n 12345");
        c.same("SET empty \"\"");
        for offset in [
            "0",
            "2",
            "5",
            "9",
            "-1",
            "a",
            "536870911",
            "536870912",
            "4294967296",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
        ] {
            for key in ["none", "n", "empty", "list"] {
                c.same(format!("SETRANGE {key} {offset} \"\""));
                if offset != "536870911" {
                    c.same(format!("SETRANGE {key} {offset} xy"));
                    c.same(format!("GET {key}"));
                }
            }
        }
        c.same("SETRANGE none 536870911 xy");
        c.same("SETRANGE big 536870911 x");
        c.same("APPEND big x");
        c.same("SETRANGE big 536870912 x");
        c.same("GETRANGE big -2 -1");
        c.same("GETDEL none");
    });
}

#[test]
fn counters_refuse_what_is_no_number() {
    side_by_side(|c| {
        with_list(c);
        let values = [
            "0",
            "-0",
            "01",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "abc",
            "",
            "-1",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
        ];
        for value in values {
            for amount in values {
                c.run(argv!["SET", "k", value]);
                c.same(argv!["INCRBY", "k", amount]);
                c.same(argv!["DECRBY", "k", amount]);
                c.same("GET k");
            }
            c.run(argv!["SET", "k", value]);
            c.same("INCR k");
            c.same("DECR k");
            c.same("DECR k");
            c.same("GET k");
        }
        for command in ["INCR", "DECR"] {
            c.same(format!("{command} list"));
            c.same(format!("{command} {command}"));
            c.same(format!("{command}BY list abc"));
            c.same(format!("{command}BY list 1"));
            c.same(format!("{command}BY by{command} 5"));
            c.same(format!("GET by{command}"));
        }
        c.same("SET k 1 EX 1");
        c.same("INCR k");
        c.advance(1_001);
        c.same("INCR k");
    });
}

#[test]
fn floats_are_added_in_the_servers_precision() {
    side_by_side(|c| {
        with_list(c);
        let values = [
            "0",
            "-0",
            "10.50",
            "0.1",
            "1e17",
            "-1e-18",
            "3.0e3",
            "0x10",
            "0x1p-3",
            "inf",
            "-inf",
            "nan",
            "abc",
            "",
            " 1",
            "1 ",
            "1e4932",
            "-1e4932",
            "1e5000",
            "1e-5000",
            "3.14159265358979323846",
            "123456789012345678901234567890",
            "1e-17",
            "5e-18",
            "-5e-18",
        ];
        for value in values {
            for amount in values {
                c.run(argv!["SET", "k", value]);
                c.same(argv!["INCRBYFLOAT", "k", amount]);
                c.same("GET k");
            }
            c.same(argv!["INCRBYFLOAT", format!("new{value}"), value]);
        }
        c.same("INCRBYFLOAT list 1");
        c.same("INCRBYFLOAT list abc");
        c.same("SET k 1 EX 1");
        c.same("INCRBYFLOAT k 1.5");
        c.advance(1_001);
        c.same("INCRBYFLOAT k 1.5");
    });
}

#[test]
fn lcs_finds_what_the_server_finds() {
    in_both_protocols(|c| {
        with_list(c);
        c.same("MSET a ohmytext b mynewtext n 12345 m 91734 empty \"\"");
        c.same("MSET x \"AGCATAGCATTTGACC\" y \"GACTTAGGCAACTT\" z \"\\xff\\x00\\xffa\"");
        let keys = ["a", "b", "n", "m", "empty", "none", "x", "y", "z", "list"];
        for one in keys {
            for other in keys {
                for options in [
                    "",
                    "LEN",
                    "IDX",
                    "IDX WITHMATCHLEN",
                    "IDX MINMATCHLEN 2",
                    "idx minmatchlen 4 withmatchlen",
                    "WITHMATCHLEN",
                    "MINMATCHLEN 3",
                ] {
                    c.same(format!("LCS {one} {other} {options}"));
                }
            }
        }
        for options in [
            "LEN IDX",
            "MINMATCHLEN",
            "MINMATCHLEN x",
            "IDX MINMATCHLEN -5",
            "foo",
            "LEN MINMATCHLEN 9223372036854775807",
            "IDX MINMATCHLEN 0 MINMATCHLEN 5",
            "LEN LEN",
        ] {
            c.same(format!("LCS a b {options}"));
            c.same(format!("LCS a list {options}"));
        }
        c.same("LCS a");
        c.same("SETRANGE large 20000 x");
        c.same("LCS large large");
        c.same("LCS large large LEN IDX");
    });
}

#[test]
fn every_command_refuses_the_wrong_number_of_words() {
    side_by_side(|c| {
        for name in [
            "APPEND",
            "DECR",
            "DECRBY",
            "GET",
            "GETDEL",
            "GETEX",
            "GETRANGE",
            "GETSET",
            "INCR",
            "INCRBY",
            "INCRBYFLOAT",
            "LCS",
            "MGET",
            "MSET",
            "MSETNX",
            "PSETEX",
            "SET",
            "SETEX",
            "SETNX",
            "SETRANGE",
            "STRLEN",
            "SUBSTR",
        ] {
            c.same(name);
            c.same(format!("{name} a b c d e f g h"));
        }
    });
}

#[test]
fn encodings_and_times_to_live_are_those_of_the_server() {
    side_by_side(|c| {
        let long = "x".repeat(45);
        for value in ["", "12", "012", "1.5", "9223372036854775808", &long[..44], &long] {
            for command in [
                "APPEND k \"\"",
                "APPEND k 3",
                "APPEND new 3",
                "DECR k",
                "GETDEL k",
                "GETEX k",
                "GETEX k PERSIST",
                "GETEX k PX 1",
                "GETRANGE k 0 1",
                "GETSET k 5",
                "GETSET k x",
                "INCR k",
                "INCR new",
                "INCRBYFLOAT k 1",
                "INCRBYFLOAT new 3",
                "MSET k 7 new 007",
                "MSETNX new 7",
                "SET k 7 KEEPTTL",
                "SET k 7 XX",
                "SET k 7 NX",
                "SETRANGE k 0 5",
                "SETRANGE k 0 \"\"",
                "SETRANGE k 50 5",
                "SETRANGE new 0 5",
                "SETRANGE new 1 \"\"",
                "STRLEN k",
            ] {
                c.run("DEL k new");
                c.run(argv!["SET", "k", value, "EX", "100"]);
                c.same(command);
                for key in ["k", "new"] {
                    c.same(format!("OBJECT ENCODING {key}"));
                    c.same(format!("PTTL {key}"));
                }
            }
        }
    });
}

#[test]
fn watchers_see_the_changes_that_the_server_sees() {
    side_by_side(|c| {
        for command in [
            "APPEND k \"\"",
            "APPEND k x",
            "DECRBY k 0",
            "GETDEL k",
            "GETDEL none",
            "GETEX k",
            "GETEX k EX 5",
            "GETEX k EXAT 1",
            "GETEX k PERSIST",
            "GETEX t PERSIST",
            "GETSET k 5",
            "INCR none",
            "INCR list",
            "INCRBY k 0",
            "INCRBYFLOAT k 0",
            "INCRBYFLOAT k x",
            "MSET a 1 k 5",
            "MSETNX a 1 k 5",
            "MSETNX a 1 none 5",
            "SET k 5",
            "SET k 5 NX",
            "SET none 5 XX",
            "SET k 5 PXAT 1",
            "SETNX k 1",
            "SETNX none 1",
            "SETRANGE k 0 \"\"",
            "SETRANGE k 0 5",
            "SETRANGE none 0 \"\"",
        ] {
            c.run("FLUSHALL");
            c.run("MSET k 5 t 5");
            c.run("EXPIRE t 100");
            c.run("RPUSH list a");
            c.run("WATCH k t none list");
            c.on(1).same(command);
            c.run("MULTI");
            c.run("PING");
            c.same("EXEC");
        }
    });
}
