//! Tests of the comparison, between two engines: what counts as equal and how differences read.

use super::*;
use crate::backend::{Memory, Wait};

/// An engine after some command lines, words separated by spaces.
fn store(lines: &[&str]) -> Memory {
    let memory = Memory::new();
    let mut session = memory.engine().session();
    for line in lines {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let reply = session.call(&words);
        assert!(!matches!(reply, crate::resp::Value::Error(_)), "{line}: {reply:?}");
    }
    memory
}

fn differences(m: &[&str], r: &[&str]) -> Vec<String> {
    let found = compare(&store(m), &store(r)).wait().unwrap();
    assert_eq!(found.differences, found.first.len() as u64);
    found.first.iter().map(ToString::to_string).collect()
}

#[test]
fn equal_stores_have_no_difference_whatever_the_order_of_writing() {
    let mut lines =
        vec!["SET s x", "RPUSH l a b", "HSET h a 1 b 2", "SADD t a b", "ZADD z 1 a -0 b"];
    let m = store(&lines);
    lines.reverse();
    lines[1] = "SADD t b a";
    lines[2] = "HSET h b 2 a 1";
    let found = compare(&m, &store(&lines)).wait().unwrap();
    assert_eq!(found, Comparison { keys: 5, ..Comparison::default() });
    assert_eq!(found.to_string(), "no difference in 5 keys\n");
    let one = Comparison { keys: 1, differences: 1, ..Comparison::default() };
    assert!(one.to_string().starts_with("1 of 1 key differs\n"));
}

#[test]
fn every_kind_of_difference_is_told() {
    assert_eq!(differences(&["SET k a"], &[]), ["k: string in memory, missing on Redis"]);
    assert_eq!(differences(&[], &["SET k a"]), ["k: string on Redis, missing in memory"]);
    assert_eq!(differences(&["SET k a"], &["SADD k a"]), ["k: string in memory, set on Redis"]);
    assert_eq!(differences(&["SET k a"], &["SET k b"]), ["k: a in memory, b on Redis"]);
    for (m, r, what) in [
        ("RPUSH k a b", "RPUSH k a c", "element 1: b in memory, c on Redis"),
        ("RPUSH k a", "RPUSH k a c", "1 element in memory, 2 on Redis"),
        ("HSET k f 1", "HSET k f 2", "field f: 1 in memory, 2 on Redis"),
        ("HSET k f 1", "HSET k g 1", "field f: 1 in memory, missing on Redis"),
        ("HSET k f 1", "HSET k f 1 g 2", "1 element in memory, 2 on Redis"),
        ("SADD k a", "SADD k b", "member a in memory, missing on Redis"),
        ("SADD k a", "SADD k a b", "1 element in memory, 2 on Redis"),
        ("ZADD k 1 a", "ZADD k 1.5 a", "rank 0: a 1.0 in memory, a 1.5 on Redis"),
        ("ZADD k 1 a", "ZADD k 1 b", "rank 0: a 1.0 in memory, b 1.0 on Redis"),
        ("ZADD k 1 a", "ZADD k 1 a 2 b", "1 element in memory, 2 on Redis"),
    ] {
        assert_eq!(differences(&[m], &[r]), [format!("k: {what}")]);
    }
}

#[test]
fn large_collections_are_compared_to_their_end() {
    let members = |last: &str| {
        let all: Vec<String> = (0..2_500).map(|i| format!("{i} m{i:05}")).collect();
        format!("ZADD z {} {last}", all.join(" "))
    };
    let elements = |last: &str| format!("RPUSH l {}{last}", "x ".repeat(2_500));
    let fields = |last: &str| {
        let all: Vec<String> = (0..2_500).map(|i| format!("f{i} {i}")).collect();
        format!("HSET h {} {last}", all.join(" "))
    };
    let set = |last: &str| {
        let all: Vec<String> = (0..2_500).map(|i| format!("m{i}")).collect();
        format!("SADD t {} {last}", all.join(" "))
    };
    let of = |a: &str, b: &str, c: &str, d: &str| [members(a), elements(b), fields(c), set(d)];
    let (one, two) = (of("9999 y", "y", "y 1", "y"), of("9999 z", "z", "y 2", "z"));
    let lines = |of: &[String; 4]| store(&of.each_ref().map(String::as_str));
    assert_eq!(compare(&lines(&one), &lines(&one)).wait().unwrap().differences, 0);
    let found = compare(&lines(&one), &lines(&two)).wait().unwrap();
    assert_eq!((found.keys, found.differences), (4, 4));
}

#[test]
fn many_keys_are_counted_and_few_shown() {
    let sets: Vec<String> = (0..1_200).map(|i| format!("SET k{i} x")).collect();
    let lines: Vec<&str> = sets.iter().map(String::as_str).collect();
    let found = compare(&store(&lines), &store(&[])).wait().unwrap();
    assert_eq!((found.keys, found.differences), (1_200, 1_200));
    assert_eq!(found.first.len(), DIFFERENCES_KEPT);
    assert!(found.to_string().contains("and 1,180 more"));
}

#[test]
fn keys_with_a_time_to_live_are_apart() {
    let m = ["SET same x EX 100", "SET other x EX 100", "SET m x EX 100", "SET half x EX 100"];
    let r = ["SET same x EX 100", "SET other y EX 100", "SET r x EX 100", "SET half x"];
    let found = compare(&store(&m), &store(&r)).wait().unwrap();
    let timed = Timed { equal: 1, different: 2, memory_only: 1, redis_only: 1 };
    assert_eq!(found, Comparison { timed, ..Comparison::default() });
    let text = found.to_string();
    for line in [
        "1 timed key is left on Redis only: its TTL runs by the server's clock, not the trace's",
        "1 timed key is left in memory only: its TTL runs by the server's clock, not the trace's",
        "3 timed keys on both sides, 2 different",
    ] {
        assert!(text.lines().any(|l| l.starts_with(line)), "{line:?} is missing in\n{text}");
    }
    let timed = Timed { redis_only: 143, ..Timed::default() };
    let text = "143 timed keys are left on Redis only: \
                their TTL runs by the server's clock, not the trace's\n";
    assert_eq!(timed.to_string(), text);
}
