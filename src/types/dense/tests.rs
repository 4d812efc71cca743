//! Against a plain set, with scans in between, and what the table promises about memory.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn key(n: u32) -> Bytes {
    Bytes::from(format!("key:{n}"))
}

fn keys(table: &Dense<Bytes>) -> BTreeSet<Bytes> {
    table.iter().cloned().collect()
}

#[test]
fn positions_have_no_gaps_and_the_last_entry_fills_the_hole() {
    let mut table = Dense::default();
    (0..2000).for_each(|n| table.push(key(n)));
    assert_eq!(table.swap_remove(3), Some(key(3)));
    assert_eq!(table.get(3), Some(&key(1999)));
    assert_eq!(table.find(&key(1999)), Some(3));
    assert_eq!(table.find(&key(3)), None);
    assert_eq!(table.swap_remove(1998), Some(key(1998)));
    assert_eq!(table.swap_remove(1998), None);
    assert_eq!(table.len(), 1998);
    table.check_invariants();
}

#[test]
fn segments_grow_and_go_away_again_with_their_memory() {
    let mut table = Dense::default();
    for round in 0..2 {
        for n in 0..20_000 {
            table.push(key(n));
            if n % 1777 == 0 {
                table.check_invariants();
            }
        }
        let full = table.heap_size(|_| 0);
        assert!(full < 20_000 * (24 + 12), "{full} bytes in round {round}");
        for n in 0..20_000 {
            assert_eq!(table.remove(&key(n)), Some(key(n)));
            if n % 1777 == 0 {
                table.check_invariants();
            }
        }
        let empty = table.heap_size(|_| 0);
        assert!(empty < 500, "{empty} bytes when empty in round {round}");
    }
}

#[test]
fn a_table_of_a_few_entries_has_no_index() {
    let mut table = Dense::default();
    (0..LINEAR as u32).for_each(|n| table.push(key(n)));
    assert!(table.index.is_empty());
    table.push(key(LINEAR as u32));
    assert!(!table.index.is_empty());
    table.check_invariants();
}

#[test]
fn a_scan_alone_meets_everything_once() {
    let mut table = Dense::default();
    (0..1000).for_each(|n| table.push(key(n)));
    for count in [0, 1, 7, 999, 1000, usize::MAX] {
        let (mut met, mut cursor, mut pages) = (Vec::new(), 0, 0_usize);
        loop {
            cursor = table.scan(cursor, count, &mut |k: &Bytes| met.push(k.clone()));
            pages += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(pages, 1000_usize.div_ceil(count.max(1)));
        assert_eq!(met.len(), 1000);
        assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), keys(&table));
    }
}

#[test]
fn a_cursor_from_nowhere_is_harmless() {
    let mut table = Dense::default();
    assert_eq!(table.scan(u64::MAX, 10, &mut |_: &Bytes| ()), 0);
    table.push(key(1));
    let mut met = 0;
    assert_eq!(table.scan(u64::MAX, 10, &mut |_| met += 1), 0);
    assert_eq!(met, 1);
}

#[test]
fn hash_bits_that_choose_the_segment_are_spread() {
    let mut spread = BTreeSet::new();
    for n in 0..2000 {
        spread.insert(hash_key(&key(n)) >> 32 & 0xff);
    }
    assert!(spread.len() > 240, "{} of 256 segments", spread.len());
}

#[derive(Clone, Debug)]
enum Op {
    Add(u32),
    Remove(u32),
    RemoveAt(usize),
    Scan(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0_u32..1500).prop_map(Op::Add),
        2 => (0_u32..1500).prop_map(Op::Remove),
        1 => (0_usize..1500).prop_map(Op::RemoveAt),
        2 => (0_usize..40).prop_map(Op::Scan),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn behaves_as_a_set_and_scans_keep_their_promise(
        start in 0_u32..1200,
        ops in prop::collection::vec(op(), 1..400),
    ) {
        let mut table = Dense::default();
        (0..start).for_each(|n| table.push(key(n)));
        let mut model: BTreeSet<Bytes> = (0..start).map(key).collect();
        let mut scan = (0, model.clone(), BTreeSet::new());
        for op in ops {
            match op {
                Op::Add(n) => {
                    if model.insert(key(n)) {
                        prop_assert_eq!(table.find(&key(n)), None);
                        table.push(key(n));
                    }
                }
                Op::Remove(n) => {
                    let there = model.remove(&key(n)).then(|| key(n));
                    prop_assert_eq!(table.remove(&key(n)), there);
                    scan.1.remove(&key(n));
                }
                Op::RemoveAt(pos) => {
                    if let Some(gone) = table.swap_remove(pos) {
                        prop_assert!(model.remove(&gone));
                        scan.1.remove(&gone);
                    }
                }
                Op::Scan(count) => {
                    let (cursor, stayed, met) = &mut scan;
                    *cursor = table.scan(*cursor, count, &mut |k: &Bytes| {
                        met.insert(k.clone());
                    });
                    if *cursor == 0 {
                        prop_assert!(stayed.is_subset(met));
                        scan = (0, model.clone(), BTreeSet::new());
                    }
                }
            }
        }
        table.check_invariants();
        prop_assert_eq!(table.len(), model.len());
        prop_assert!(keys(&table).iter().eq(&model));
    }
}
