//! Lists, without the commands that wait.

use stockroom::resp::Value;

use crate::support::{Pair, argv, in_both_protocols, side_by_side};

/// A list of seven, a key of another type, and no key `none`.
fn prepare(c: &Pair) {
    c.run("LTRIM l 1 0");
    c.run("RPUSH l a b c a b c a");
    c.run("SET s x");
}

const INTS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "-3",
    "6",
    "7",
    "-7",
    "-8",
    "100",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "x",
];

#[test]
fn elements_are_pushed_at_either_end() {
    side_by_side(|c| {
        prepare(c);
        for name in ["LPUSH", "RPUSH", "LPUSHX", "RPUSHX"] {
            c.same(format!("{name} s a"));
            c.same(format!("{name} l \"\" \"\\x00\\xff\" 12"));
            c.same(format!("{name} {name} x y z"));
            c.same(format!("LRANGE {name} 0 -1"));
            c.same("LRANGE l 0 -1");
            c.same("LLEN l");
        }
        for command in ["LLEN s", "LLEN none", "GET l"] {
            c.same(command);
        }
    });
}

#[test]
fn pops_tell_apart_no_key_and_no_element() {
    in_both_protocols(|c| {
        for name in ["LPOP", "RPOP"] {
            for key in ["l", "s", "none"] {
                prepare(c);
                c.same(format!("{name} {key}"));
                for count in INTS {
                    prepare(c);
                    c.same(format!("{name} {key} {count}"));
                    c.same("LRANGE l 0 -1");
                }
                c.same(format!("{name} {key} 1 2"));
                c.same(format!("{name} {key} x 2"));
            }
            c.same(format!("{name} l 100"));
            c.same(format!("{name} l"));
            c.same(format!("{name} l 0"));
        }
    });
}

#[test]
fn elements_are_read_and_set_by_index() {
    in_both_protocols(|c| {
        for key in ["l", "s", "none"] {
            for index in INTS {
                prepare(c);
                c.same(format!("LINDEX {key} {index}"));
                c.same(format!("LSET {key} {index} new"));
                c.same("LRANGE l 0 -1");
            }
        }
    });
}

#[test]
fn ranges_are_read_and_trimmed() {
    side_by_side(|c| {
        for start in INTS {
            for stop in INTS {
                prepare(c);
                for key in ["none", "s", "l"] {
                    c.same(format!("LRANGE {key} {start} {stop}"));
                    c.same(format!("LTRIM {key} {start} {stop}"));
                }
                c.same("LRANGE l 0 -1");
                c.same("LLEN l");
            }
        }
    });
}

#[test]
fn elements_are_inserted_beside_a_pivot() {
    side_by_side(|c| {
        prepare(c);
        for key in ["none", "s", "l"] {
            for side in ["BEFORE", "after", "beside", "\"before\\x00\""] {
                for pivot in ["a", "b", "z", ""] {
                    c.same(argv!["LINSERT", key, side.trim_matches('"'), pivot, "new"]);
                    c.same(format!("LINSERT {key} {side} \"{pivot}\" \"\""));
                    c.same("LRANGE l 0 -1");
                }
            }
        }
    });
}

#[test]
fn equal_elements_are_removed_from_either_end() {
    side_by_side(|c| {
        for key in ["none", "s", "l"] {
            for count in INTS {
                for element in ["a", "c", "z", ""] {
                    prepare(c);
                    c.same(argv!["LREM", key, count, element]);
                    c.same("LRANGE l 0 -1");
                }
            }
        }
        prepare(c);
        for element in ["a", "b", "c"] {
            c.same(format!("LREM l 0 {element}"));
        }
        c.same("LLEN l");
        c.same("LPUSHX l a");
    });
}

#[test]
fn lpos_finds_what_the_server_finds() {
    in_both_protocols(|c| {
        prepare(c);
        for key in ["l", "none", "s"] {
            for element in ["a", "z"] {
                c.same(format!("LPOS {key} {element}"));
                for number in INTS {
                    for option in ["RANK", "COUNT", "MAXLEN"] {
                        c.same(format!("LPOS {key} {element} {option} {number}"));
                        c.same(format!("LPOS {key} {element} COUNT 2 {option} {number}"));
                        c.same(format!("LPOS {key} {element} {option} {number} RANK -2"));
                    }
                    c.same(format!("LPOS {key} {element} COUNT 0 RANK {number} MAXLEN 5"));
                    c.same(format!("LPOS {key} {element} COUNT 0 RANK -1 MAXLEN {number}"));
                }
            }
        }
        for options in
            ["RANK", "COUNT", "foo", "foo 1", "RANK 0 foo", "COUNT 1 COUNT 0", "RANK 2 RANK 1"]
        {
            c.same(format!("LPOS l a {options}"));
        }
    });
}

#[test]
fn elements_move_between_lists_and_within_one() {
    in_both_protocols(|c| {
        for from in ["LEFT", "right", "up"] {
            for to in ["left", "RIGHT", "down"] {
                for source in ["l", "s", "none"] {
                    for target in ["l", "s", "none", "other"] {
                        prepare(c);
                        c.same(format!("LMOVE {source} {target} {from} {to}"));
                        c.same("LRANGE l 0 -1");
                        c.same("LRANGE other 0 -1");
                    }
                }
            }
        }
        for source in ["l", "s", "none", "one"] {
            for target in ["l", "s", "none", "other", "one"] {
                prepare(c);
                c.run("LTRIM one 1 0");
                c.run("RPUSH one x");
                c.same(format!("RPOPLPUSH {source} {target}"));
                c.same("LRANGE one 0 -1");
                c.same("LRANGE l 0 -1");
            }
        }
    });
}

#[test]
fn lmpop_pops_from_the_first_list_there_is() {
    in_both_protocols(|c| {
        for call in [
            "1 l LEFT",
            "1 l right",
            "1 none LEFT",
            "2 none l LEFT COUNT 2",
            "2 l none RIGHT COUNT 9",
            "2 s l LEFT",
            "2 l s LEFT",
            "2 none s LEFT",
            "1 l up",
            "1 l",
            "2 l LEFT",
            "0 l LEFT",
            "-1 l LEFT",
            "x l LEFT",
            "1.5 l LEFT",
            "9223372036854775807 l LEFT",
            "9223372036854775808 l LEFT",
            "1 l LEFT COUNT",
            "1 l LEFT COUNT 0",
            "1 l LEFT COUNT -1",
            "1 l LEFT COUNT x",
            "1 l LEFT COUNT x foo",
            "1 l LEFT COUNT 1 COUNT 2",
            "1 l LEFT COUNT 1 foo",
            "1 l LEFT foo 1",
            "1 l LEFT count 9223372036854775807",
            "3 none none l RIGHT COUNT 3",
            "1 l LEFT LEFT",
            "3 l l l LEFT COUNT 2",
        ] {
            prepare(c);
            c.same(format!("LMPOP {call}"));
            c.same("LRANGE l 0 -1");
        }
    });
}

#[test]
fn an_emptied_list_is_gone() {
    side_by_side(|c| {
        for command in [
            "LPOP l",
            "RPOP l 5",
            "LREM l 0 x",
            "LTRIM l 1 0",
            "LMOVE l m LEFT LEFT",
            "RPOPLPUSH l m",
            "LMPOP 1 l LEFT",
        ] {
            c.run("RPUSH l x");
            c.same(command);
            c.same("SETNX l free");
            let gone = c.same("GETDEL l");
            assert_eq!(gone, Value::bulk("free"), "{command}");
        }
    });
}

#[test]
fn long_lists_of_long_elements_stay_in_order() {
    side_by_side(|c| {
        let long = |i: usize| "x".repeat(i * 37 % 3000);
        for i in 0..120 {
            c.same(argv![if i % 3 == 0 { "LPUSH" } else { "RPUSH" }, "l", long(i), i]);
        }
        c.same(argv!["RPUSH", "l", "y".repeat(20_000), "z".repeat(9_000)]);
        for i in [0, 3, 50, 119, 120, 200, 239, 241, -1, -2, -120] {
            c.same(format!("LINDEX l {i}"));
            c.same(argv!["LSET", "l", i, "w".repeat((i + 300) as usize * 20)]);
            c.same(argv!["LINSERT", "l", "BEFORE", i, format!("before {i}")]);
            c.same(format!("LRANGE l {i} -1"));
        }
        c.same("LREM l -3 x");
        c.same("LPOS l 117 RANK -1");
        c.same("LTRIM l 20 -20");
        c.same("LRANGE l 0 -1");
        c.same("LLEN l");
    });
}

#[test]
fn every_command_refuses_the_wrong_number_of_words() {
    side_by_side(|c| {
        for name in [
            "LINDEX",
            "LINSERT",
            "LLEN",
            "LMOVE",
            "LMPOP",
            "LPOP",
            "LPOS",
            "LPUSH",
            "LPUSHX",
            "LRANGE",
            "LREM",
            "LSET",
            "LTRIM",
            "RPOP",
            "RPOPLPUSH",
            "RPUSH",
            "RPUSHX",
        ] {
            c.same(name);
            c.same(format!("{name} a"));
            c.same(format!("{name} a b c d e f g h"));
        }
    });
}

#[test]
fn watchers_see_the_changes_that_the_server_sees() {
    side_by_side(|c| {
        for command in [
            "LINSERT l BEFORE z x",
            "LINSERT l BEFORE a x",
            "LMOVE l l LEFT LEFT",
            "LMOVE none l LEFT LEFT",
            "LMOVE l s LEFT LEFT",
            "LMOVE l none LEFT LEFT",
            "LMPOP 2 none l LEFT COUNT 9",
            "LMPOP 1 none LEFT",
            "LPOP l",
            "LPOP l 0",
            "LPOP none",
            "LPUSH l x",
            "LPUSH s x",
            "LPUSHX none x",
            "LREM l 0 z",
            "LREM l 0 a",
            "LSET l 0 a",
            "LSET l 9 a",
            "LTRIM l 0 -1",
            "LTRIM l 1 0",
            "LTRIM none 0 -1",
            "RPOPLPUSH l l",
        ] {
            c.run("FLUSHALL");
            prepare(c);
            c.run("WATCH l s none");
            c.on(1).same(command);
            c.run("MULTI");
            c.run("PING");
            c.same("EXEC");
        }
    });
}

#[test]
fn lists_keep_their_encoding_and_their_time_to_live() {
    side_by_side(|c| {
        prepare(c);
        c.same("EXPIRE l 100");
        for command in [
            "RPUSH l x",
            "LPOP l",
            "LSET l 0 y",
            "LINSERT l AFTER y z",
            "LREM l 1 y",
            "LTRIM l 1 -1",
            "LMOVE l l LEFT RIGHT",
            "LMOVE l m LEFT RIGHT",
            "LPOP l 100",
            "RPUSH l x",
        ] {
            c.same(command);
            for key in ["l", "m"] {
                c.same(format!("OBJECT ENCODING {key}"));
                c.same(format!("TYPE {key}"));
                c.same(format!("PTTL {key}"));
            }
        }
    });
}
