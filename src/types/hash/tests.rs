//! Against a plain map, with scans in between, and the rules of the two forms.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SMALL: Limits = Limits {
    hash_listpack_entries: 4,
    hash_listpack_value: 8,
    zset_listpack_entries: 0,
    zset_listpack_value: 0,
    set_intset_entries: 0,
    list_listpack_size: 0,
};

fn filled(n: usize) -> Hash {
    let mut hash = Hash::default();
    for i in 0..n {
        assert!(hash.insert(format!("f{i}").as_bytes(), b"v", &Limits::default()));
    }
    hash
}

#[test]
fn becomes_a_table_at_513_fields_and_stays_one() {
    let mut hash = filled(512);
    assert_eq!(hash.encoding(), "listpack");
    assert!(!hash.insert(b"f5", b"other", &Limits::default()));
    assert_eq!(hash.encoding(), "listpack");
    assert!(hash.insert(b"f512", b"v", &Limits::default()));
    assert_eq!(hash.encoding(), "hashtable");
    assert_eq!(hash.get(b"f5"), Some(&b"other"[..]));
    for i in 0..513 {
        assert!(hash.remove(format!("f{i}").as_bytes()));
    }
    assert!(hash.is_empty());
    hash.insert(b"f", b"v", &Limits::default());
    assert_eq!(hash.encoding(), "hashtable");
}

#[test]
fn becomes_a_table_at_65_bytes_of_field_or_value() {
    for (field, value, expected) in
        [(64, 64, "listpack"), (65, 1, "hashtable"), (1, 65, "hashtable"), (0, 0, "listpack")]
    {
        let mut hash = Hash::default();
        assert!(hash.insert(&vec![b'f'; field], &vec![b'v'; value], &Limits::default()));
        assert_eq!(hash.encoding(), expected, "{field} and {value} bytes");
        assert_eq!(hash.get(&vec![b'f'; field]), Some(&vec![b'v'; value][..]));
    }
}

#[test]
fn update_is_a_look_up_and_an_insertion() {
    let put = |value: &'static [u8]| move |_: Option<&[u8]>| Ok::<_, ()>(value);
    for n in [3, 600] {
        let (mut updated, mut inserted) = (filled(n), filled(n));
        let fields = [&b"f1"[..], b"new", b"f2", b"f600"];
        let values = [&b"w"[..], b"", b"a longer value", &[b'x'; 65]];
        for (field, value) in fields.into_iter().zip(values) {
            let old = inserted.get(field).map(<[u8]>::to_vec);
            updated
                .update(field, &Limits::default(), |seen| {
                    assert_eq!(seen, old.as_deref());
                    Ok::<_, ()>(value)
                })
                .unwrap();
            inserted.insert(field, value, &Limits::default());
            updated.check_invariants();
            assert_eq!(updated.encoding(), inserted.encoding());
            assert!(updated.iter().eq(inserted.iter()));
        }
        assert_eq!(updated.update(b"f1", &SMALL, |_| Err::<&[u8], _>("no")), Err("no"));
        assert!(updated.iter().eq(inserted.iter()));
    }
    let mut hash = filled(5);
    hash.update(b"f1", &SMALL, put(b"x")).unwrap();
    assert_eq!(hash.encoding(), "hashtable", "a limit lowered meanwhile counts");
}

#[test]
fn fields_that_begin_or_end_alike_are_told_apart() {
    let mut hash = Hash::default();
    let fields = ["1234567890", "0234567890", "1234567891", "234567890", "67890", "0", ""];
    for (i, field) in fields.iter().enumerate() {
        assert!(hash.insert(field.as_bytes(), i.to_string().as_bytes(), &Limits::default()));
    }
    for (i, field) in fields.iter().enumerate() {
        assert_eq!(hash.get(field.as_bytes()), Some(i.to_string().as_bytes()));
    }
    assert_eq!(hash.get(b"9234567890"), None);
}

#[test]
fn a_limit_lowered_later_counts_at_the_next_insertion() {
    let mut hash = filled(5);
    assert!(!hash.insert(b"f1", b"x", &SMALL));
    assert_eq!(hash.encoding(), "hashtable");
}

#[test]
fn packed_fields_keep_the_order_of_insertion() {
    let mut hash = filled(4);
    hash.insert(b"f1", b"a longer value", &Limits::default());
    hash.remove(b"f2");
    hash.insert(b"f2", b"", &Limits::default());
    let pairs: Vec<_> = hash.iter().collect();
    let expected: [(&[u8], &[u8]); 4] =
        [(b"f0", b"v"), (b"f1", b"a longer value"), (b"f3", b"v"), (b"f2", b"")];
    assert_eq!(pairs, expected);
    assert_eq!(hash.nth(1), Some(expected[1]));
    assert_eq!(hash.nth(4), None);
}

#[test]
fn a_value_is_not_mistaken_for_a_field() {
    let mut hash = Hash::default();
    hash.insert(b"a", b"b", &Limits::default());
    assert!(!hash.contains(b"b"));
    assert!(!hash.remove(b"b"));
    assert!(hash.insert(b"b", b"a", &Limits::default()));
    assert_eq!(hash.len(), 2);
}

#[test]
fn a_packed_hash_is_one_page_whatever_the_cursor() {
    let hash = filled(100);
    for cursor in [0, 5, u64::MAX] {
        let mut met = 0;
        assert_eq!(hash.scan(cursor, 3, &mut |_, _| met += 1), 0);
        assert_eq!(met, 100);
    }
}

#[test]
fn a_large_value_is_shared_not_copied() {
    let mut hash = Hash::default();
    hash.insert(b"page", &[7; 4096], &Limits::default());
    let page = hash.get_bytes(b"page").unwrap();
    assert!(std::ptr::eq(hash.get(b"page").unwrap(), page.as_slice()));
    assert_eq!(hash.get_bytes(b"none"), None);
}

#[test]
fn a_hundred_thousand_sessions_take_60_bytes_each() {
    let mut hash = Hash::default();
    for user in 0..100_000 {
        let token = format!("{user:022}");
        hash.insert(token.as_bytes(), user.to_string().as_bytes(), &Limits::default());
    }
    let each = hash.heap_size() / hash.len();
    assert!(each <= 60, "{each} bytes");
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Scan(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let field = || prop::collection::vec(0_u8..4, 0..4);
    prop_oneof![
        4 => (field(), prop::collection::vec(any::<u8>(), 0..10))
            .prop_map(|(f, v)| Op::Insert(f, v)),
        2 => field().prop_map(Op::Remove),
        2 => (0_usize..10).prop_map(Op::Scan),
    ]
}

proptest! {
    #[test]
    fn behaves_as_a_map_and_scans_keep_their_promise(
        limits in prop_oneof![Just(SMALL), Just(Limits::default())],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        let mut hash = Hash::default();
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut scan = (0, BTreeSet::new(), BTreeSet::new());
        let mut was_table = false;
        for op in ops {
            match op {
                Op::Insert(f, v) => {
                    let new = hash.insert(&f, &v, &limits);
                    prop_assert_eq!(new, model.insert(f, v).is_none());
                }
                Op::Remove(f) => {
                    prop_assert_eq!(hash.remove(&f), model.remove(&f).is_some());
                    scan.1.remove(&f);
                }
                Op::Scan(count) => {
                    let (cursor, stayed, met) = &mut scan;
                    if *cursor == 0 {
                        (*stayed, *met) = (model.keys().cloned().collect(), BTreeSet::new());
                    }
                    *cursor = hash.scan(*cursor, count, &mut |f, v| {
                        assert_eq!(model.get(f).map(Vec::as_slice), Some(v));
                        met.insert(f.to_vec());
                    });
                    prop_assert!(*cursor != 0 || stayed.is_subset(met));
                }
            }
            hash.check_invariants();
            prop_assert!(!was_table || hash.encoding() == "hashtable");
            was_table = hash.encoding() == "hashtable";
        }
        prop_assert_eq!(hash.len(), model.len());
        let pairs: BTreeMap<_, _> = hash.iter().map(|(f, v)| (f.to_vec(), v.to_vec())).collect();
        prop_assert!((0..hash.len()).all(|n| hash.nth(n) == hash.iter().nth(n)));
        prop_assert_eq!(pairs, model);
    }
}

#[test]
fn becomes_a_table_at_65535_fields_whatever_the_limit() {
    let mut buf = vec![0; HEADER];
    for n in 0..65_534_u32 {
        let [_, a, b, c] = n.to_be_bytes();
        buf.extend([3, a, b, c, 0]);
    }
    let mut buf = buf.into_boxed_slice();
    set_packed_len(&mut buf, 65_534);
    let mut hash = Hash(Repr::Packed(buf));
    let limits = Limits { hash_listpack_entries: 100_000, ..Limits::default() };
    assert!(!hash.insert(b"\0\0\0", b"v", &limits));
    assert_eq!(hash.encoding(), "listpack");
    assert!(hash.insert(b"new", b"v", &limits));
    assert_eq!((hash.encoding(), hash.len()), ("hashtable", 65_535));
    assert_eq!(hash.get(b"\0\0\0"), Some(&b"v"[..]));
}
