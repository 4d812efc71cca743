//! The table of commands: every row equal to what a real server says in COMMAND INFO and, for what
//! we do not word ourselves, in COMMAND DOCS.

use std::collections::BTreeSet;

use stockroom::commands::sample::sample;
use stockroom::commands::{Arg, Spec, all};
use stockroom::resp::Value;
use stockroom::{Env, Timestamp};

use crate::support::{argv, side_by_side};

fn with_subcommands() -> impl Iterator<Item = &'static Spec> {
    all().flat_map(|spec| std::iter::once(spec).chain(spec.subs.iter().copied()))
}

#[test]
fn rows_are_those_of_a_real_server() {
    side_by_side(|c| {
        // In RESP3, where sets are told from arrays.
        c.hello3();
        for spec in all() {
            c.same_after(argv!["COMMAND", "INFO", spec.name], in_order);
        }
    });
}

#[test]
fn documentation_is_that_of_a_real_server_but_for_arguments() {
    side_by_side(|c| {
        c.hello3();
        for spec in all() {
            c.same_after(argv!["COMMAND", "DOCS", spec.name], |reply| in_order(documented(reply)));
        }
    });
}

#[test]
fn keys_of_random_lines_are_where_a_real_server_finds_them() {
    side_by_side(|c| {
        let env = Env::manual(Timestamp::EPOCH, 7);
        let mut choose = |bound: usize| env.below(bound as u64) as usize;
        for spec in with_subcommands() {
            for _ in 0..if spec.keys.is_empty() { 1 } else { 15 } {
                let line = sample(spec, &mut choose);
                let ask = |command: &str| [vec!["COMMAND".into(), command.into()], line.clone()];
                c.same(ask("GETKEYS").concat());
                c.same(ask("GETKEYSANDFLAGS").concat());
            }
        }
    });
}

#[test]
fn names_and_their_numbers_are_unique() {
    let names: BTreeSet<&str> = with_subcommands().map(|spec| spec.name).collect();
    let ids: BTreeSet<u32> = with_subcommands().map(Spec::id).collect();
    assert_eq!(names.len(), with_subcommands().count());
    assert_eq!(ids.len(), names.len());
    for spec in with_subcommands() {
        assert_eq!(spec.name, spec.name.to_ascii_uppercase(), "{}", spec.name);
        assert!(!spec.summary.is_empty(), "{} has no summary", spec.name);
    }
}

#[test]
fn subcommands_are_named_after_their_container_and_stand_in_order() {
    for spec in all() {
        for sub in spec.subs {
            assert!(sub.name.starts_with(&format!("{}|", spec.name)), "{}", sub.name);
            assert!(sub.subs.is_empty(), "{}", sub.name);
        }
        assert!(spec.subs.is_sorted_by_key(|sub| sub.name), "{}", spec.name);
    }
}

#[test]
fn every_line_of_the_least_length_has_its_keys() {
    for spec in with_subcommands().filter(|spec| !spec.keys.is_empty()) {
        let words = spec.arity().unsigned_abs() as usize;
        let line: Vec<&[u8]> = vec![b"1"; words];
        let keys = spec.key_positions(&line);
        let counts = |arg: &Arg| matches!(arg, Arg::NumKeys);
        assert!(keys.is_some() || spec.args.iter().any(counts), "{}", spec.name);
        assert!(keys.iter().flatten().all(|(at, _)| *at < words), "{}", spec.name);
    }
}

/// A reply with its sets and maps in order, and its arrays of arrays: the subcommands.
fn in_order(value: Value) -> Value {
    match value {
        Value::Array(items) if items.iter().all(|item| matches!(item, Value::Array(_))) => {
            Value::Array(sorted(items.into_iter().map(in_order).collect()))
        }
        Value::Set(items) => Value::Set(sorted(items.into_iter().map(in_order).collect())),
        Value::Array(items) => Value::Array(items.into_iter().map(in_order).collect()),
        Value::Map(pairs) => Value::Map(sorted(
            pairs.into_iter().map(|(key, value)| (in_order(key), in_order(value))).collect(),
        )),
        other => other,
    }
}

fn sorted<T: std::fmt::Debug>(mut items: Vec<T>) -> Vec<T> {
    items.sort_by_cached_key(|item| format!("{item:?}"));
    items
}

/// The part of a COMMAND DOCS reply that must agree.
fn documented(value: Value) -> Value {
    const FIELDS: [&str; 5] = ["summary", "since", "group", "complexity", "subcommands"];
    let Value::Map(commands) = value else { panic!("{value:?} is no map") };
    let fields = |value: Value| {
        let Value::Map(pairs) = value else { panic!("{value:?} is no map") };
        let wanted = |(key, _): &(Value, Value)| FIELDS.map(Value::bulk).contains(key);
        let pairs = pairs.into_iter().filter(wanted).map(|(key, value)| match key {
            key if key == Value::bulk("subcommands") => (key, documented(value)),
            key => (key, value),
        });
        Value::Map(pairs.collect())
    };
    Value::Map(commands.into_iter().map(|(name, value)| (name, fields(value))).collect())
}
