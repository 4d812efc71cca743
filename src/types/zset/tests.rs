//! Sorted sets of every form against a plain model, and what is promised of each form.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Scores in an order of their own, as the model's key.
#[derive(Clone, Copy, PartialEq)]
struct Score(f64);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.partial_cmp(&other.0).expect("no NaN in the model")
    }
}

#[derive(Default)]
struct Model {
    by_member: BTreeMap<Vec<u8>, f64>,
    order: BTreeSet<(Score, Vec<u8>)>,
}

impl Model {
    fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        let old = self.by_member.get(member).copied();
        if old != Some(score) {
            self.remove(member);
            self.by_member.insert(member.to_vec(), score);
            self.order.insert((Score(score), member.to_vec()));
        }
        old
    }

    fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let old = self.by_member.remove(member)?;
        self.order.remove(&(Score(old), member.to_vec()));
        Some(old)
    }

    fn nth(&self, rank: usize) -> Option<(Vec<u8>, f64)> {
        self.order.iter().nth(rank).map(|(s, m)| (m.clone(), s.0))
    }

    fn remove_range(&mut self, range: Range<usize>) -> usize {
        let gone: Vec<_> = self.order.iter().skip(range.start).take(range.len()).cloned().collect();
        for (_, member) in &gone {
            self.remove(member);
        }
        gone.len()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u16, f64),
    Remove(u16),
    Pop(bool),
    RemoveRange(usize, usize),
    /// Inserts this many members from here on, scores ascending or descending.
    Run(u16, u16, bool),
    Look(u16, f64),
}

/// Members of many lengths, with shared prefixes.
fn member(n: u16) -> Vec<u8> {
    let mut member = n.to_string().into_bytes();
    match n % 7 {
        0 => member.extend_from_slice(&[b'x'; 40]),
        1 => member.insert(0, 0xff),
        2 if n.is_multiple_of(5) => member.clear(),
        _ => {}
    }
    member
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3_i8..3).prop_map(f64::from),
        any::<i32>().prop_map(|n| f64::from(n) / 8.0),
        prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(0.0)],
    ]
}

fn op(members: u16) -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..members, score()).prop_map(|(n, s)| Op::Insert(n, s)),
        3 => (0..members).prop_map(Op::Remove),
        1 => any::<bool>().prop_map(Op::Pop),
        1 => (0_usize..400, 0_usize..300).prop_map(|(a, n)| Op::RemoveRange(a, n)),
        1 => (0..members, 0_u16..400, any::<bool>()).prop_map(|(n, k, up)| Op::Run(n, k, up)),
        3 => (0..members, score()).prop_map(|(n, s)| Op::Look(n, s)),
    ]
}

fn apply(zset: &mut Zset, model: &mut Model, op: &Op, limits: &Limits) {
    match *op {
        Op::Insert(n, s) => {
            assert_eq!(zset.insert(&member(n), s, limits), model.insert(&member(n), s));
        }
        Op::Remove(n) => assert_eq!(zset.remove(&member(n)), model.remove(&member(n))),
        Op::Pop(last) => {
            let rank = if last { model.order.len().saturating_sub(1) } else { 0 };
            let want = model.nth(rank);
            model.remove_range(rank..rank + 1);
            let got = if last { zset.pop_last() } else { zset.pop_first() };
            assert_eq!(got.map(|(m, s)| (m.into_vec(), s)), want);
        }
        Op::RemoveRange(start, count) => {
            let range = start..start + count;
            assert_eq!(zset.remove_range(range.clone()), model.remove_range(range));
        }
        Op::Run(n, count, up) => {
            for i in 0..count {
                let s = f64::from(if up { i } else { count - i });
                zset.insert(&member(n.wrapping_add(i)), s, limits);
                model.insert(&member(n.wrapping_add(i)), s);
            }
        }
        Op::Look(n, s) => look(zset, model, &member(n), s),
    }
}

fn look(zset: &Zset, model: &Model, member: &[u8], score: f64) {
    let old = model.by_member.get(member).copied();
    assert_eq!(zset.score(member), old);
    let rank = old.map(|s| model.order.range(..(Score(s), member.to_vec())).count());
    assert_eq!(zset.rank(member), rank);
    let below = model.order.iter().filter(|(s, _)| s.0 < score).count();
    let up_to = model.order.iter().filter(|(s, _)| s.0 <= score).count();
    assert_eq!(zset.rank_of_score(ScoreBound::Before(score)), below);
    assert_eq!(zset.rank_of_score(ScoreBound::After(score)), up_to);
    assert_eq!(zset.nth(below).map(|(m, s)| (m.to_vec(), s)), model.nth(below));

    let range = below / 2..up_to + 1;
    let want: Vec<_> = model.order.iter().skip(range.start).take(range.len()).collect();
    let got: Vec<_> = zset.iter_range(range.clone()).collect();
    assert_eq!(got.len(), want.len());
    for (&(m, s), (want_s, want_m)) in got.iter().zip(want) {
        assert_eq!((m, s.to_bits()), (&want_m[..], want_s.0.to_bits()));
    }
    let mut back: Vec<_> = zset.iter_range(range).rev().collect();
    back.reverse();
    assert_eq!(got, back);
}

fn agree(zset: &Zset, model: &Model) {
    zset.check_invariants();
    assert_eq!(zset.len(), model.order.len());
    assert!(zset.iter().eq(model.order.iter().map(|(s, m)| (m.as_slice(), s.0))));
}

fn packed_only() -> Limits {
    Limits {
        zset_listpack_entries: usize::MAX,
        zset_listpack_value: usize::MAX,
        ..Limits::default()
    }
}

fn tree_only() -> Limits {
    Limits { zset_listpack_entries: 0, ..Limits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_form_agrees_with_a_plain_model(
        ops in vec(op(900), 1..200),
        limits in prop_oneof![Just(Limits::default()), Just(tree_only()), Just(packed_only())],
    ) {
        let (mut zset, mut model) = (Zset::new(), Model::default());
        for op in &ops {
            apply(&mut zset, &mut model, op, &limits);
        }
        agree(&zset, &model);
    }

    #[test]
    fn invariants_hold_after_every_step(ops in vec(op(300), 1..40)) {
        for limits in [Limits::default(), tree_only()] {
            let (mut zset, mut model) = (Zset::new(), Model::default());
            for op in &ops {
                apply(&mut zset, &mut model, op, &limits);
                agree(&zset, &model);
            }
        }
    }

    #[test]
    fn scan_returns_what_stays_whatever_else_happens(
        stay in 1_u16..600,
        pages in vec((1_usize..50, vec(op(2000), 0..6)), 1..80),
    ) {
        let (mut zset, limits) = (Zset::new(), tree_only());
        let stays = |n: u16| format!("stays {n}").into_bytes();
        for n in 0..2000 {
            zset.insert(&member(n), 1.0, &limits);
            if n < stay {
                // Infinite: beyond what the operations reach by rank.
                zset.insert(&stays(n), f64::INFINITY, &limits);
            }
        }
        let seen = RefCell::new(BTreeSet::new());
        let page = |zset: &Zset, cursor, count| {
            zset.scan(cursor, count, &mut |m, _| {
 seen.borrow_mut().insert(m.to_vec());
 })
        };
        let mut cursor = 0;
        for (count, ops) in &pages {
            cursor = page(&zset, cursor, *count);
            if cursor == 0 {
                break;
            }
            for op in ops {
                match *op {
                    Op::RemoveRange(start, count) => {
                        let end = (start + count).min(zset.len() - usize::from(stay));
                        zset.remove_range(start.min(end)..end);
                    }
                    Op::Insert(n, s) if s < f64::INFINITY => {
                        zset.insert(&member(n), s, &limits);
                    }
                    Op::Remove(n) => {
                        zset.remove(&member(n));
                    }
                    _ => {}
                }
            }
        }
        while cursor != 0 {
            cursor = page(&zset, cursor, 10);
        }
        zset.check_invariants();
        prop_assert!((0..stay).all(|n| seen.borrow().contains(&stays(n))));
    }
}

#[test]
fn form_changes_on_one_member_too_many_or_too_long_and_never_back() {
    let limits = Limits::default();
    let mut zset = Zset::new();
    for n in 0..128 {
        zset.insert(format!("m{n}").as_bytes(), 1.0, &limits);
    }
    zset.insert(b"m5", 9.0, &limits);
    assert_eq!(zset.encoding(), "listpack");
    zset.insert(b"one more", 1.0, &limits);
    assert_eq!(zset.encoding(), "skiplist");
    zset.remove_range(1..129);
    assert_eq!((zset.len(), zset.encoding()), (1, "skiplist"));

    let mut zset = Zset::new();
    zset.insert(&[b'a'; 64], 1.0, &limits);
    assert_eq!(zset.encoding(), "listpack");
    zset.insert(&[b'b'; 65], 1.0, &limits);
    assert_eq!(zset.encoding(), "skiplist");
    zset.check_invariants();
}

#[test]
fn only_the_large_form_knows_a_negative_zero() {
    let sign = |zset: &Zset, m: &[u8]| zset.score(m).map(f64::is_sign_negative);
    for (limits, kept) in [(Limits::default(), false), (tree_only(), true)] {
        let mut zset = Zset::new();
        zset.insert(b"a", -0.0, &limits);
        assert_eq!(zset.insert(b"a", 0.0, &limits), Some(-0.0));
        zset.insert(b"0", 0.0, &limits);
        assert_eq!(sign(&zset, b"a"), Some(kept));
        assert_eq!(zset.rank(b"a"), Some(1), "equal scores are ordered by member");
        zset.insert(b"a", 1.0, &limits);
        zset.insert(b"a", -0.0, &limits);
        assert_eq!(sign(&zset, b"a"), Some(kept));
    }
}

#[test]
fn sorted_elements_become_the_form_that_fits() {
    let limits = Limits::default();
    for (count, length, form) in
        [(0, 0, "listpack"), (128, 64, "listpack"), (129, 9, "skiplist"), (1, 65, "skiplist")]
    {
        let elements: Vec<_> =
            (0..count).map(|n| (format!("{n:0length$}"), f64::from(n / 2) - 5.0)).collect();
        let zset = Zset::from_sorted(&elements, &limits);
        zset.check_invariants();
        assert_eq!(zset.encoding(), form);
        assert!(zset.iter().eq(elements.iter().map(|(m, s)| (m.as_bytes(), *s))));
    }
    let wide = Zset::from_sorted(&[("x".repeat(300), -0.0)], &packed_only());
    wide.check_invariants();
    assert_eq!(wide.nth(0).map(|(m, s)| (m.len(), s)), Some((300, 0.0)));
}

#[test]
fn lex_bounds_cut_between_members() {
    for limits in [Limits::default(), tree_only()] {
        let mut zset = Zset::new();
        for m in ["a", "b", "bb", "c"] {
            zset.insert(m.as_bytes(), 0.0, &limits);
        }
        let range = |min, max| zset.lex_range(min, max, false);
        assert_eq!(range(LexBound::First, LexBound::Last), 0..4);
        assert_eq!(range(LexBound::Before(b"b"), LexBound::After(b"bb")), 1..3);
        assert_eq!(range(LexBound::After(b"b"), LexBound::Before(b"c")), 2..3);
        assert!(range(LexBound::Last, LexBound::First).is_empty());
        assert!(range(LexBound::Before(b"c"), LexBound::After(b"a")).is_empty());
        assert_eq!(zset.rank_of_lex(LexBound::After(b"bb")), 3);
        assert_eq!(zset.lex_range(LexBound::First, LexBound::Before(b"b"), true), 0..1);
    }
}

#[test]
fn two_hundred_thousand_members_stay_correct_and_compact() {
    const N: u64 = 200_000;
    let limits = Limits::default();
    let mut zset = Zset::new();
    let key = |n: u64| format!("user:{n}").into_bytes();
    let score = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64;
    for n in 0..N {
        zset.insert(&key(n), score(n), &limits);
    }
    zset.check_invariants();
    let per_member = zset.heap_size() as f64 / N as f64;
    assert!(per_member <= 60.0, "{per_member} bytes per member");

    assert!(zset.iter().rev().map(|(_, s)| s).is_sorted_by(|a, b| a >= b));
    for rank in (0..N as usize).step_by(997) {
        let (m, s) = zset.nth(rank).expect("a rank below the length");
        assert_eq!(zset.rank(m), Some(rank));
        assert!(zset.rank_of_score(ScoreBound::Before(s)) <= rank);
    }
    for n in (0..N).step_by(3) {
        assert_eq!(zset.remove(&key(n)), Some(score(n)));
    }
    assert_eq!(zset.remove_range(1_000..100_000), 99_000);
    zset.check_invariants();
    let left = zset.len();
    assert_eq!(left, N as usize - (N as usize).div_ceil(3) - 99_000);
    assert!(zset.heap_size() < 120 * left, "memory comes back: {}", zset.heap_size() / left);
    while zset.pop_first().is_some() && zset.pop_last().is_some() {}
    zset.check_invariants();
    assert!(zset.is_empty());
}

#[test]
fn members_in_order_fill_their_nodes() {
    let limits = tree_only();
    for up in [true, false] {
        let mut zset = Zset::new();
        for n in 0..20_000 {
            let score = f64::from(if up { n } else { -n });
            zset.insert(n.to_string().as_bytes(), score, &limits);
        }
        zset.check_invariants();
        let per_member = zset.heap_size() / zset.len();
        assert!(per_member <= 56, "{per_member} bytes per member");
    }
}
