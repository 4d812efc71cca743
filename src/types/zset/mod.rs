//! [`Zset`]: a sorted set, members with scores, ordered by score and then by member.
//!
//! A small one is packed into one allocation (`packed`); a large one is a counted B+tree with a
//! hash index (`tree`), where rank, range by rank and by score, and removal by either are
//! O(log n) also at ten million members. When it changes form is Redis 7.0's rule: on inserting a
//! member too many or too long, and never back.
//!
//! Invariants: members are distinct; no score is NaN, which the caller must not pass in; -0 and 0
//! are equal scores, of which the large form keeps the one that came first and the packed form 0.
//! It may be empty: that an empty set does not exist is the keyspace's business.

mod bound;
mod index;
mod order;
mod packed;
mod slots;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::ops::Range;

pub use bound::{LexBound, ScoreBound};

use self::packed::Packed;
use self::tree::Tree;
use crate::bytes::Bytes;
use crate::types::Limits;

/// A sorted set.
///
/// ```
/// use stockroom::types::{Limits, Zset};
/// use stockroom::types::zset::ScoreBound;
///
/// let limits = Limits::default();
/// let mut board = Zset::new();
/// board.insert(b"ann", 30.0, &limits);
/// board.insert(b"bob", 20.0, &limits);
/// assert_eq!(board.insert(b"bob", 40.0, &limits), Some(20.0));
/// assert_eq!(board.rank(b"bob"), Some(1));
/// assert_eq!(board.rank_of_score(ScoreBound::After(30.0)), 1);
/// ```
#[derive(Clone)]
pub struct Zset(Repr);

#[derive(Clone)]
enum Repr {
    Packed(Packed),
    Tree(Box<Tree>),
}

const _: () = assert!(size_of::<Zset>() == 16);

/// Redis converts a listpack rather than let it grow beyond a gibibyte.
const PACKED_MAX: usize = 1 << 30;

impl Zset {
    /// An empty sorted set, without an allocation.
    pub fn new() -> Self {
        Self(Repr::Packed(Packed::default()))
    }

    /// A sorted set of elements that are in order and distinct, in the form that fits them: as
    /// Redis makes the results of ZUNIONSTORE and its kin. O(n log n).
    pub fn from_sorted<M: AsRef<[u8]>>(elements: &[(M, f64)], limits: &Limits) -> Self {
        let fits = |(member, _): &(M, f64)| member.as_ref().len() <= limits.zset_listpack_value;
        if elements.len() <= limits.zset_listpack_entries && elements.iter().all(fits) {
            return Self(Repr::Packed(Packed::from_sorted(elements)));
        }
        let mut tree = Tree::new();
        for (member, score) in elements {
            tree.insert_with(member.as_ref(), |_| Some(*score));
        }
        Self(Repr::Tree(Box::new(tree)))
    }

    /// Number of members. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Packed(packed) => packed.len(),
            Repr::Tree(tree) => tree.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the form in use, as `OBJECT ENCODING` answers: `listpack` or `skiplist`.
    pub fn encoding(&self) -> &'static str {
        match &self.0 {
            Repr::Packed(_) => "listpack",
            Repr::Tree(_) => "skiplist",
        }
    }

    /// Whether it is in its packed form.
    pub fn is_packed(&self) -> bool {
        matches!(self.0, Repr::Packed(_))
    }

    /// The score of a member. O(1).
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.0 {
            Repr::Packed(packed) => packed.find(member).map(|(_, score)| score),
            Repr::Tree(tree) => tree.score(member),
        }
    }

    /// Sets the score of a member, adding it if new, and returns its old score. O(log n).
    pub fn insert(&mut self, member: &[u8], score: f64, limits: &Limits) -> Option<f64> {
        self.insert_with(member, limits, |_| Some(score))
    }

    /// Lets `decide` choose a member's score from its old one (`None`: leave as it is, or do not
    /// add it), and returns the old one. One search where looking first would take two. O(log n).
    pub fn insert_with(
        &mut self,
        member: &[u8],
        limits: &Limits,
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> Option<f64> {
        let packed = match &mut self.0 {
            Repr::Tree(tree) => return tree.insert_with(member, decide),
            Repr::Packed(packed) => packed,
        };
        if let Some((at, old)) = packed.find(member) {
            if let Some(new) = decide(Some(old)).filter(|&new| new != old) {
                packed.rescore(at, new);
            }
            return Some(old);
        }
        let score = decide(None)?;
        if packed.len() < limits.zset_listpack_entries
            && member.len() <= limits.zset_listpack_value
            && packed.heap_size() + member.len() < PACKED_MAX
        {
            packed.add(member, score);
        } else {
            let mut tree = Tree::new();
            for (member, score) in packed.iter_range(0..packed.len()) {
                tree.insert_with(member, |_| Some(score));
            }
            tree.insert_with(member, |_| Some(score));
            self.0 = Repr::Tree(Box::new(tree));
        }
        None
    }

    /// Removes a member and returns its score. O(log n).
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match &mut self.0 {
            Repr::Packed(packed) => {
                let (at, score) = packed.find(member)?;
                packed.remove_range(at..at + 1);
                Some(score)
            }
            Repr::Tree(tree) => tree.remove(member),
        }
    }

    /// The number of members before this one. O(log n).
    pub fn rank(&self, member: &[u8]) -> Option<usize> {
        match &self.0 {
            Repr::Packed(packed) => packed.find(member).map(|(at, _)| at),
            Repr::Tree(tree) => tree.rank(member),
        }
    }

    /// The element with this rank. O(log n).
    pub fn nth(&self, rank: usize) -> Option<(&[u8], f64)> {
        match &self.0 {
            Repr::Packed(packed) => packed.nth(rank),
            Repr::Tree(tree) => tree.nth(rank),
        }
    }

    /// The number of elements below a bound. O(log n).
    pub fn rank_of_score(&self, bound: ScoreBound) -> usize {
        match &self.0 {
            Repr::Packed(packed) => packed.rank_of_score(|score| bound.is_above(score)),
            Repr::Tree(tree) => tree.rank_of_score(|score| bound.is_above(score)),
        }
    }

    /// The ranks of the elements between two bounds. O(log n).
    pub fn score_range(&self, min: ScoreBound, max: ScoreBound) -> Range<usize> {
        bound::between(self.rank_of_score(min), self.rank_of_score(max))
    }

    /// The number of elements below a bound, if all scores are equal. O(log n).
    pub fn rank_of_lex(&self, bound: LexBound<'_>) -> usize {
        match &self.0 {
            Repr::Packed(packed) => {
                let all = packed.iter_range(0..packed.len());
                all.take_while(|(member, _)| bound.is_above(member)).count()
            }
            Repr::Tree(tree) => tree.rank_of_member(|member| bound.is_above(member)),
        }
    }

    /// The ranks of the elements between two bounds, if all scores are equal. O(log n).
    ///
    /// When scores differ Redis promises nothing, but its packed form still answers the same each
    /// time: it finds the end it starts from by walking (the upper one with `from_end`) and goes
    /// on while elements are in range. So does this one.
    pub fn lex_range(&self, min: LexBound<'_>, max: LexBound<'_>, from_end: bool) -> Range<usize> {
        if min.leaves_nothing_below(max) {
            return 0..0;
        }
        let Repr::Packed(packed) = &self.0 else {
            return bound::between(self.rank_of_lex(min), self.rank_of_lex(max));
        };
        let mut all = packed.iter_range(0..packed.len());
        let (is_low, is_high) = (|m: &[u8]| min.is_above(m), |m: &[u8]| !max.is_above(m));
        if packed.nth(0).is_none_or(|(m, _)| is_high(m))
            || packed.nth(packed.len() - 1).is_none_or(|(m, _)| is_low(m))
        {
            return 0..0;
        }
        if from_end {
            let end = all.rposition(|(m, _)| !is_high(m)).map_or(0, |i| i + 1);
            let within = packed.iter_range(0..end).rev().take_while(|(m, _)| !is_low(m));
            end - within.count()..end
        } else {
            let start = all.position(|(m, _)| !is_low(m)).unwrap_or(packed.len());
            let within = packed.iter_range(start..packed.len()).take_while(|(m, _)| !is_high(m));
            start..start + within.count()
        }
    }

    /// Walks all elements in order.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_range(0..self.len())
    }

    /// Walks the elements whose ranks are in `range`, cut to what exists, from either end.
    /// O(log n + k).
    pub fn iter_range(&self, range: Range<usize>) -> Iter<'_> {
        let range = self.clamp(range);
        match &self.0 {
            Repr::Packed(packed) => Iter(IterRepr::Packed(packed.iter_range(range))),
            Repr::Tree(tree) => Iter(IterRepr::Tree(tree.iter_range(range))),
        }
    }

    /// Removes the elements whose ranks are in `range` and says how many there were.
    /// O(log n + k), amortised.
    pub fn remove_range(&mut self, range: Range<usize>) -> usize {
        let range = self.clamp(range);
        let count = range.len();
        if count > 0 {
            match &mut self.0 {
                Repr::Packed(packed) => packed.remove_range(range),
                Repr::Tree(tree) => tree.remove_range(range),
            }
        }
        count
    }

    fn clamp(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.len());
        range.start.min(end)..end
    }

    /// Removes and returns the first element. O(log n).
    pub fn pop_first(&mut self) -> Option<(Bytes, f64)> {
        self.pop(0)
    }

    /// Removes and returns the last element. O(log n).
    pub fn pop_last(&mut self) -> Option<(Bytes, f64)> {
        self.pop(self.len().checked_sub(1)?)
    }

    fn pop(&mut self, rank: usize) -> Option<(Bytes, f64)> {
        match &mut self.0 {
            Repr::Packed(packed) => {
                let (member, score) = packed.nth(rank)?;
                let member = Bytes::copy_from(member);
                packed.remove_range(rank..rank + 1);
                Some((member, score))
            }
            Repr::Tree(tree) => tree.remove_nth(rank),
        }
    }

    /// Visits a page of elements in no particular order and returns the cursor of the next page;
    /// 0 starts and ends. An element that stays from the first page to the last is visited at
    /// least once, whatever else comes and goes. The packed form is one page; the large one visits
    /// up to `count`, in O(`count`).
    pub fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8], f64)) -> u64 {
        match &self.0 {
            Repr::Packed(_) => {
                self.iter().for_each(|(member, score)| f(member, score));
                0
            }
            Repr::Tree(tree) => tree.scan(cursor, count, f),
        }
    }

    /// Bytes on the heap. O(n).
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Packed(packed) => packed.heap_size(),
            Repr::Tree(tree) => tree.heap_size(),
        }
    }

    /// Panics if an invariant does not hold. For tests. O(n log n).
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        match &self.0 {
            Repr::Packed(packed) => packed.check_invariants(),
            Repr::Tree(tree) => tree.check_invariants(),
        }
    }
}

impl Default for Zset {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Zset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(m, s)| (Bytes::copy_from(m), s))).finish()
    }
}

impl<'a> IntoIterator for &'a Zset {
    type Item = (&'a [u8], f64);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Elements of a sorted set in order, from both ends.
#[derive(Clone)]
pub struct Iter<'a>(IterRepr<'a>);

#[derive(Clone)]
enum IterRepr<'a> {
    Packed(packed::Iter<'a>),
    Tree(tree::Iter<'a>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Packed(iter) => iter.next(),
            IterRepr::Tree(iter) => iter.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IterRepr::Packed(iter) => iter.size_hint(),
            IterRepr::Tree(iter) => iter.size_hint(),
        }
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Packed(iter) => iter.next_back(),
            IterRepr::Tree(iter) => iter.next_back(),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}
