//! Against a plain set, with scans in between, and the rules of the forms.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn limits() -> Limits {
    Limits::default()
}

fn set_of(members: &[&str]) -> Set {
    let mut set = Set::default();
    for member in members {
        set.insert(member.as_bytes(), &limits());
    }
    set.check_invariants();
    set
}

fn texts(set: &Set) -> Vec<String> {
    set.iter().map(|m| String::from_utf8_lossy(&m).into_owned()).collect()
}

#[test]
fn integers_come_in_ascending_order_in_every_width() {
    let mut set = set_of(&["3", "-1", "0"]);
    assert_eq!((texts(&set).join(" "), set.heap_size()), ("-1 0 3".into(), 7));
    set.insert(b"-32769", &limits());
    assert_eq!((texts(&set).join(" "), set.heap_size()), ("-32769 -1 0 3".into(), 17));
    set.insert(b"9223372036854775807", &limits());
    set.insert(b"-9223372036854775808", &limits());
    let all = "-9223372036854775808 -32769 -1 0 3 9223372036854775807";
    assert_eq!((texts(&set).join(" "), set.heap_size()), (all.into(), 49));
    assert!(set.remove(b"-1") && !set.remove(b"-1"));
    assert!(set.contains(b"-32769") && !set.contains(b"-1"));
    set.check_invariants();
}

#[test]
fn becomes_a_hashtable_at_513_integers_and_stays_one() {
    let mut set = Set::default();
    for n in 0..512 {
        assert!(set.insert(n.to_string().as_bytes(), &limits()));
    }
    assert_eq!(set.encoding(), "intset");
    assert!(!set.insert(b"511", &limits()));
    assert_eq!(set.encoding(), "intset");
    assert!(set.insert(b"512", &limits()));
    assert_eq!(set.encoding(), "hashtable");
    assert!(set.remove(b"512"));
    assert_eq!((set.encoding(), set.len()), ("hashtable", 512));
}

#[test]
fn what_is_not_a_canonical_integer_is_a_string() {
    for text in ["a", "", "01", "+1", "-0", " 1", "9223372036854775808", "1.0"] {
        let set = set_of(&["1", text]);
        assert_eq!(set.encoding(), "hashtable", "{text:?}");
        assert!(set.contains(b"1") && set.contains(text.as_bytes()));
        assert_eq!(set.len(), 2);
    }
}

#[test]
fn an_integer_that_was_there_stays_when_a_string_comes() {
    let mut set = set_of(&["1", "2", "x"]);
    assert!(!set.insert(b"2", &limits()));
    assert!(set.insert(b"3", &limits()));
    assert_eq!((set.len(), set.encoding()), (4, "hashtable"));
}

#[test]
fn a_long_string_and_many_strings_both_find_room() {
    let mut set = set_of(&["a", "b"]);
    let long = vec![b'x'; 70_000];
    assert!(set.insert(&long, &limits()));
    assert!(set.contains(&long) && set.contains(b"a"));
    set.check_invariants();
    let mut set = Set::default();
    for n in 0..=MAX_PACKED {
        assert!(set.insert(format!("m{n}").as_bytes(), &limits()));
        set.check_invariants();
    }
    assert!((0..=MAX_PACKED).all(|n| set.contains(format!("m{n}").as_bytes())));
}

#[test]
fn members_are_removed_by_position_until_none_is_left() {
    for n in [3, MAX_PACKED, 200] {
        for prefix in ["", "m"] {
            let members: Vec<String> = (0..n).map(|i| format!("{prefix}{i}")).collect();
            let mut set = set_of(&members.iter().map(String::as_str).collect::<Vec<_>>());
            let mut gone = BTreeSet::new();
            while let Some(member) = set.remove_nth(set.len() / 2) {
                gone.insert(member.to_text());
                set.check_invariants();
            }
            assert!(set.is_empty());
            assert_eq!(gone, members.into_iter().collect());
        }
    }
}

#[test]
fn strings_are_scanned_in_pages_and_integers_at_once() {
    let set = set_of(&["a", "b", "c", "d", "e"]);
    let mut met = Vec::new();
    let cursor = set.scan(0, 2, &mut |m| met.push(m.to_vec()));
    assert_eq!((cursor, met.len()), (3, 2));
    let ints = set_of(&["1", "2", "3"]);
    let mut met = 0;
    assert_eq!(ints.scan(7, 1, &mut |_| met += 1), 0);
    assert_eq!(met, 3);
}

#[derive(Clone, Debug)]
enum Op {
    Insert(String),
    Remove(String),
    RemoveNth(usize),
    Scan(usize),
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (-9_i32..40).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => "[a-e]{0,3}",
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => member().prop_map(Op::Insert),
        2 => member().prop_map(Op::Remove),
        1 => (0_usize..50).prop_map(Op::RemoveNth),
        2 => (0_usize..8).prop_map(Op::Scan),
    ]
}

proptest! {
    #[test]
    fn behaves_as_a_set_and_scans_keep_their_promise(
        entries in prop_oneof![Just(0_usize), Just(8), Just(512)],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        let limits = Limits { set_intset_entries: entries, ..Limits::default() };
        let (mut set, mut model) = (Set::default(), BTreeSet::new());
        let mut scan = (0, BTreeSet::new(), BTreeSet::new());
        for op in ops {
            match op {
                Op::Insert(m) => {
                    prop_assert_eq!(set.insert(m.as_bytes(), &limits), model.insert(m));
                }
                Op::Remove(m) => {
                    prop_assert_eq!(set.remove(m.as_bytes()), model.remove(&m));
                    scan.1.remove(&m);
                }
                Op::RemoveNth(n) => {
                    let nth = set.nth(n).map(Member::into_bytes);
                    let gone = set.remove_nth(n);
                    prop_assert_eq!(&gone, &nth);
                    if let Some(gone) = gone {
                        prop_assert!(model.remove(&gone.to_text()));
                        scan.1.remove(&gone.to_text());
                    }
                }
                Op::Scan(count) => {
                    let (cursor, stayed, met) = &mut scan;
                    if *cursor == 0 {
                        (*stayed, *met) = (model.clone(), BTreeSet::new());
                    }
                    *cursor = set.scan(*cursor, count, &mut |m| {
                        met.insert(String::from_utf8_lossy(m).into_owned());
                    });
                    prop_assert!(*cursor != 0 || stayed.is_subset(met));
                }
            }
            set.check_invariants();
        }
        prop_assert_eq!(set.len(), model.len());
        prop_assert!(model.iter().all(|m| set.contains(m.as_bytes())));
        prop_assert_eq!(texts(&set).into_iter().collect::<BTreeSet<_>>(), model);
    }
}
