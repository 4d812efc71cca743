//! [`Tree`]: a large sorted set.
//!
//! Three parts that refer to an element by its slot: [`Slots`] hold each member once with its
//! score, [`Order`] sorts them, [`Index`] finds them by member. About 60 bytes per element above
//! the members that do not fit their slot.
//!
//! Invariants: the three parts hold the same slots; order is by score, then by member; -0 and 0
//! are the same score to the order. After a removal at most as many slots are vacant as are live,
//! plus a few: single removals pay for it by moving an element or two, bulk removals by moving all
//! at once.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::quality::FixedState;

use super::index::Index;
use super::order::{Keys, Order, Place, count_scores};
use super::slots::Slots;
use crate::bytes::{Bytes, prefix, same};

/// Fixed, so that nothing depends on entropy.
const HASHER: FixedState = FixedState::with_seed(0x5106_2006);
/// Vacant slots that are never worth a move.
const SPARE: usize = 64;

#[derive(Clone)]
pub(super) struct Tree {
    slots: Slots,
    order: Order,
    index: Index,
}

fn hash(member: &[u8]) -> u64 {
    HASHER.hash_one(member)
}

/// Where an element with this score and member is or belongs.
struct ElementPlace<'a> {
    slots: &'a Slots,
    score: f64,
    member: &'a [u8],
    /// Of the member: tells most ties apart without a call.
    prefix: u64,
}

impl<'a> ElementPlace<'a> {
    fn new(slots: &'a Slots, score: f64, member: &'a [u8]) -> Self {
        Self { slots, score, member, prefix: prefix(member) }
    }

    /// Whether the member in this slot comes before.
    #[inline]
    fn follows(&self, slot: u32) -> bool {
        let other = self.slots.member(slot);
        let start = prefix(other);
        start < self.prefix || start == self.prefix && other < self.member
    }
}

impl Place for ElementPlace<'_> {
    #[inline]
    fn count_below(&self, scores: &[f64], slots: &[u32]) -> usize {
        let start = count_scores(scores, |s| s < self.score);
        let ties = &scores[start..];
        if ties.first() != Some(&self.score) {
            return start;
        }
        let end = start + count_scores(ties, |s| s == self.score);
        start + slots[start..end].partition_point(|&s| self.follows(s))
    }
}

/// A cut by score.
struct ScorePlace<F>(F);

impl<F: Fn(f64) -> bool> Place for ScorePlace<F> {
    #[inline]
    fn count_below(&self, scores: &[f64], _: &[u32]) -> usize {
        count_scores(scores, &self.0)
    }
}

/// A cut by slot.
struct SlotPlace<F>(F);

impl<F: Fn(u32) -> bool> Place for SlotPlace<F> {
    fn count_below(&self, _: &[f64], slots: &[u32]) -> usize {
        slots.partition_point(|&slot| self.0(slot))
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { slots: Slots::default(), order: Order::new(), index: Index::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    fn find(&self, hash: u64, member: &[u8]) -> Option<u32> {
        self.index.find(hash, |slot| same(self.slots.member(slot), member))
    }

    fn rank_of(&self, slot: u32) -> usize {
        let (score, member) = (self.slots.score(slot), self.slots.member(slot));
        self.order.rank(&ElementPlace::new(&self.slots, score, member))
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        self.find(hash(member), member).map(|slot| self.slots.score(slot))
    }

    pub(super) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.find(hash(member), member).map(|slot| self.rank_of(slot))
    }

    pub(super) fn nth(&self, rank: usize) -> Option<(&[u8], f64)> {
        if rank >= self.len() {
            return None;
        }
        let (leaf, i) = self.order.leaf_at(rank);
        Some((self.slots.member(leaf.slots()[i]), leaf.scores()[i]))
    }

    pub(super) fn rank_of_score(&self, below: impl Fn(f64) -> bool) -> usize {
        self.order.rank(&ScorePlace(below))
    }

    pub(super) fn rank_of_member(&self, below: impl Fn(&[u8]) -> bool) -> usize {
        self.order.rank(&SlotPlace(|slot| below(self.slots.member(slot))))
    }

    /// See [`Zset::insert_with`](super::Zset::insert_with).
    pub(super) fn insert_with(
        &mut self,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> Option<f64> {
        let hash = hash(member);
        if let Some(slot) = self.find(hash, member) {
            let old = self.slots.score(slot);
            if let Some(new) = decide(Some(old)).filter(|&new| new != old) {
                self.rescore(slot, new);
            }
            return Some(old);
        }
        if let Some(score) = decide(None) {
            let slot = self.slots.add(member, score);
            self.index.insert(hash, slot, |s| self::hash(self.slots.member(s)));
            let place = ElementPlace::new(&self.slots, score, member);
            self.order.insert((score, slot), &place);
        }
        None
    }

    fn rescore(&mut self, slot: u32, score: f64) {
        let rank = self.rank_of(slot);
        let place = ElementPlace::new(&self.slots, score, self.slots.member(slot));
        if !self.order.rescore(rank, score, &place) {
            self.order.remove_range(rank..rank + 1, &mut |_| {});
            self.order.insert((score, slot), &place);
        }
        self.slots.set_score(slot, score);
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let slot = self.find(hash(member), member)?;
        let (rank, score) = (self.rank_of(slot), self.slots.score(slot));
        self.take(rank, slot);
        Some(score)
    }

    /// Removes an element whose rank and slot are known.
    fn take(&mut self, rank: usize, slot: u32) -> Bytes {
        self.order.remove_range(rank..rank + 1, &mut |_| {});
        let member = self.forget(slot);
        self.tighten();
        member
    }

    /// Removes and returns the element at a rank that exists.
    pub(super) fn remove_nth(&mut self, rank: usize) -> Option<(Bytes, f64)> {
        if rank >= self.len() {
            return None;
        }
        let (leaf, i) = self.order.leaf_at(rank);
        let (score, slot) = (leaf.scores()[i], leaf.slots()[i]);
        Some((self.take(rank, slot), score))
    }

    /// Removes the elements at these ranks, all of which exist. O(log n + k), amortised.
    pub(super) fn remove_range(&mut self, range: Range<usize>) {
        let mut gone = Vec::with_capacity(range.len());
        self.order.remove_range(range, &mut |slot| gone.push(slot));
        for slot in gone {
            self.forget(slot);
        }
        if self.is_sparse() {
            self.compact();
        }
    }

    /// Takes an element that is no longer in the order out of the index and the slots.
    fn forget(&mut self, slot: u32) -> Bytes {
        let hash_of = |slot| hash(self.slots.member(slot));
        self.index.remove(hash_of(slot), slot, hash_of);
        self.slots.remove(slot)
    }

    /// Whether more slots are vacant than live.
    fn is_sparse(&self) -> bool {
        self.slots.len() > 2 * self.len() + SPARE
    }

    /// Moves elements into vacant slots after a removal, if more are vacant than live. Two suffice
    /// to keep up.
    fn tighten(&mut self) {
        for _ in 0..2 {
            if !self.is_sparse() {
                return;
            }
            let Some((last, to)) = self.slots.next_move() else { return };
            let rank = self.rank_of(last);
            self.order.replace_slot(rank, to);
            self.index.replace(hash(self.slots.member(last)), last, to);
            self.slots.relocate(last, to);
        }
    }

    /// Moves all elements into the lowest slots. O(slots).
    fn compact(&mut self) {
        let moved = self.slots.compact();
        self.order.renumber(|slot| moved[slot as usize]);
        self.index.renumber(|slot| moved[slot as usize]);
    }

    pub(super) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8], f64)) -> u64 {
        self.slots.scan(cursor, count, f)
    }

    /// Walks the elements at these ranks, all of which exist.
    pub(super) fn iter_range(&self, range: Range<usize>) -> Iter<'_> {
        Iter { tree: self, range, front: Part::default(), back: Part::default() }
    }

    pub(super) fn heap_size(&self) -> usize {
        size_of::<Self>() + self.slots.heap_size() + self.order.heap_size() + self.index.heap_size()
    }

    pub(super) fn check_invariants(&self) {
        self.slots.check_invariants();
        self.order.check_invariants();
        self.index.check_invariants(|slot| hash(self.slots.member(slot)));
        assert_eq!(self.slots.live(), self.len(), "slots and order agree");
        assert!(!self.is_sparse(), "too many vacant slots");
        let mut last: Option<(f64, &[u8])> = None;
        for rank in 0..self.len() {
            let (leaf, i) = self.order.leaf_at(rank);
            let (score, slot) = (leaf.scores()[i], leaf.slots()[i]);
            let member = self.slots.member(slot);
            assert_eq!(score.to_bits(), self.slots.score(slot).to_bits(), "scores at {rank}");
            assert!(last.is_none_or(|last| last < (score, member)), "out of order at {rank}");
            assert_eq!(self.find(hash(member), member), Some(slot), "index at {rank}");
            last = Some((score, member));
        }
    }
}

/// What is left of the leaf that an iterator is in.
#[derive(Clone, Copy, Default)]
struct Part<'a> {
    scores: &'a [f64],
    slots: &'a [u32],
}

impl<'a> Part<'a> {
    fn of(leaf: &'a Keys, range: Range<usize>) -> Self {
        Self { scores: &leaf.scores()[range.clone()], slots: &leaf.slots()[range] }
    }

    fn pop_first(&mut self) -> Option<(f64, u32)> {
        let ((&score, scores), (&slot, slots)) =
            (self.scores.split_first()?, self.slots.split_first()?);
        *self = Self { scores, slots };
        Some((score, slot))
    }

    fn pop_last(&mut self) -> Option<(f64, u32)> {
        let ((&score, scores), (&slot, slots)) =
            (self.scores.split_last()?, self.slots.split_last()?);
        *self = Self { scores, slots };
        Some((score, slot))
    }
}

/// Elements of a tree, from both ends. Each leaf is found by a descent of its own.
#[derive(Clone)]
pub(super) struct Iter<'a> {
    tree: &'a Tree,
    /// Ranks left; the parts may reach beyond.
    range: Range<usize>,
    front: Part<'a>,
    back: Part<'a>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        let rank = self.range.next()?;
        if self.front.slots.is_empty() {
            let (leaf, i) = self.tree.order.leaf_at(rank);
            self.front = Part::of(leaf, i..leaf.slots().len());
        }
        let (score, slot) = self.front.pop_first()?;
        Some((self.tree.slots.member(slot), score))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let rank = self.range.next_back()?;
        if self.back.slots.is_empty() {
            let (leaf, i) = self.tree.order.leaf_at(rank);
            self.back = Part::of(leaf, 0..i + 1);
        }
        let (score, slot) = self.back.pop_last()?;
        Some((self.tree.slots.member(slot), score))
    }
}
