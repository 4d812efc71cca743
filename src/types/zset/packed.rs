//! [`Packed`]: a small sorted set in one allocation.
//!
//! ```text
//! narrow: count u8  | lengths u8 × n  | scores f64 × n | members, one after the other
//! wide:   255, u32  | lengths u32 × n | scores f64 × n | members, one after the other
//! ```
//!
//! Lengths and scores stand in columns of their own, so that a search by score is a binary search
//! that never touches a member, a search by member compares only members of the right length, and
//! the set can be walked from both ends without a second length per element. Ten million sets of a
//! few members each are the reason for all this: 9 bytes per member above its own, 1 per set.
//!
//! Invariants: ordered by score, then by member; members are distinct; narrow whenever count and
//! lengths allowed it when the set last grew; the empty set holds no allocation; no score is -0,
//! which becomes 0 as in Redis's listpack. Every operation is
//! O(n), in practice a short copy. Not for large sets: [`Tree`](super::tree::Tree) takes over.

use std::ops::Range;

use crate::bytes::same;

const WIDE: u8 = u8::MAX;
const SCORE: usize = size_of::<f64>();

#[derive(Clone, Default)]
pub(super) struct Packed(Box<[u8]>);

/// The columns of a packed set.
#[derive(Clone, Copy)]
struct View<'a> {
    wide: bool,
    count: usize,
    lengths: &'a [u8],
    scores: &'a [u8],
    members: &'a [u8],
}

impl<'a> View<'a> {
    fn length(&self, i: usize) -> usize {
        if self.wide {
            usize::try_from(u32::from_le_bytes(chunk(self.lengths, i))).unwrap_or(usize::MAX)
        } else {
            usize::from(self.lengths[i])
        }
    }

    fn score(&self, i: usize) -> f64 {
        f64::from_le_bytes(chunk(self.scores, i))
    }

    /// Where the bytes of member `i` start in the column of members.
    fn offset(&self, i: usize) -> usize {
        if self.wide {
            (0..i).map(|i| self.length(i)).sum()
        } else {
            self.lengths[..i].iter().map(|&n| usize::from(n)).sum()
        }
    }

    fn member(&self, i: usize) -> &'a [u8] {
        &self.members[self.offset(i)..][..self.length(i)]
    }

    /// Number of leading elements for which `below` holds.
    fn partition(&self, below: impl Fn(f64) -> bool) -> usize {
        let (mut lo, mut hi) = (0, self.count);
        while lo < hi {
            let mid = lo.midpoint(hi);
            if below(self.score(mid)) { lo = mid + 1 } else { hi = mid }
        }
        lo
    }

    /// Number of elements before (`score`, `member`).
    fn lower_bound(&self, score: f64, member: &[u8]) -> usize {
        let mut at = self.partition(|s| s < score);
        let mut offset = self.offset(at);
        while at < self.count && self.score(at) == score {
            let len = self.length(at);
            if &self.members[offset..offset + len] >= member {
                break;
            }
            offset += len;
            at += 1;
        }
        at
    }

    fn find(&self, member: &[u8]) -> Option<usize> {
        let mut members = self.members;
        let mut is_next = |len: usize| {
            let (next, rest) = members.split_at_checked(len).unwrap_or_default();
            members = rest;
            same(next, member)
        };
        if self.wide {
            return (0..self.count).find(|&i| is_next(self.length(i)));
        }
        self.lengths.iter().position(|&len| is_next(usize::from(len)))
    }
}

fn chunk<const N: usize>(column: &[u8], i: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&column[i * N..][..N]);
    out
}

/// The score as a listpack keeps it.
fn unsigned_zero(score: f64) -> f64 {
    score + 0.0
}

/// Bytes of the header and of one length.
const fn widths(wide: bool) -> (usize, usize) {
    if wide { (5, 4) } else { (1, 1) }
}

/// Writes header and lengths, with room for the `rest` of the columns.
fn start(wide: bool, count: usize, length: impl Fn(usize) -> usize, rest: usize) -> Vec<u8> {
    let (header, width) = widths(wide);
    let lengths = (0..count).map(length);
    let mut out = Vec::with_capacity(header + count * width + rest);
    if wide {
        out.push(WIDE);
        out.extend_from_slice(&(count as u32).to_le_bytes());
        lengths.for_each(|n| out.extend_from_slice(&(n as u32).to_le_bytes()));
    } else {
        out.push(count as u8);
        out.extend(lengths.map(|n| n as u8));
    }
    out
}

impl Packed {
    fn view(&self) -> View<'_> {
        let (wide, count) = match *self.0 {
            [] => (false, 0),
            [WIDE, a, b, c, d, ..] => (true, u32::from_le_bytes([a, b, c, d]) as usize),
            [n, ..] => (false, usize::from(n)),
        };
        let (header, width) = widths(wide);
        let columns = self.0.get(header..).unwrap_or_default();
        let (lengths, columns) = columns.split_at(count * width);
        let (scores, members) = columns.split_at(count * SCORE);
        View { wide, count, lengths, scores, members }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match *self.0 {
            [] => 0,
            [WIDE, ..] => self.view().count,
            [n, ..] => usize::from(n),
        }
    }

    /// Bytes in use.
    pub(super) fn heap_size(&self) -> usize {
        self.0.len()
    }

    /// Position and score of a member.
    pub(super) fn find(&self, member: &[u8]) -> Option<(usize, f64)> {
        let view = self.view();
        view.find(member).map(|i| (i, view.score(i)))
    }

    pub(super) fn nth(&self, i: usize) -> Option<(&[u8], f64)> {
        let view = self.view();
        (i < view.count).then(|| (view.member(i), view.score(i)))
    }

    pub(super) fn rank_of_score(&self, below: impl Fn(f64) -> bool) -> usize {
        self.view().partition(below)
    }

    /// A set of elements that are in order and distinct.
    pub(super) fn from_sorted<M: AsRef<[u8]>>(elements: &[(M, f64)]) -> Self {
        if elements.is_empty() {
            return Self::default();
        }
        let length = |i: usize| elements[i].0.as_ref().len();
        let wide = elements.len() >= usize::from(WIDE)
            || (0..elements.len()).any(|i| length(i) > usize::from(u8::MAX));
        let rest = (0..elements.len()).map(|i| SCORE + length(i)).sum();
        let mut out = start(wide, elements.len(), length, rest);
        elements.iter().for_each(|(_, s)| out.extend_from_slice(&unsigned_zero(*s).to_le_bytes()));
        elements.iter().for_each(|(m, _)| out.extend_from_slice(m.as_ref()));
        Self(out.into_boxed_slice())
    }

    /// Adds a member that is not there yet.
    pub(super) fn add(&mut self, member: &[u8], score: f64) {
        let score = unsigned_zero(score);
        let view = self.view();
        let at = view.lower_bound(score, member);
        let wide =
            view.wide || view.count + 1 >= usize::from(WIDE) || member.len() > usize::from(u8::MAX);
        let length = |i: usize| match i {
            _ if i < at => view.length(i),
            _ if i == at => member.len(),
            _ => view.length(i - 1),
        };
        let rest = view.scores.len() + SCORE + view.members.len() + member.len();
        let mut out = start(wide, view.count + 1, length, rest);
        let (before, after) = view.scores.split_at(at * SCORE);
        out.extend_from_slice(before);
        out.extend_from_slice(&score.to_le_bytes());
        out.extend_from_slice(after);
        let (before, after) = view.members.split_at(view.offset(at));
        out.extend_from_slice(before);
        out.extend_from_slice(member);
        out.extend_from_slice(after);
        self.0 = out.into_boxed_slice();
    }

    /// Gives the element at `from` another score and its place, without an allocation.
    pub(super) fn rescore(&mut self, from: usize, score: f64) {
        let score = unsigned_zero(score);
        let view = self.view();
        let member = view.member(from);
        let target = view.lower_bound(score, member);
        // `target` counts the element itself when its old place is before the new one.
        let to = if target > from { target - 1 } else { target };
        let (lo, hi) = (from.min(to), from.max(to) + 1);
        let bytes = view.offset(lo)..view.offset(hi);
        let len = member.len();
        let (header, width) = widths(view.wide);
        let scores = header + view.count * width;
        let members = scores + view.count * SCORE;

        let turn = |column: &mut [u8], by: usize| {
            if to > from { column.rotate_left(by) } else { column.rotate_right(by) }
        };
        turn(&mut self.0[header + lo * width..header + hi * width], width);
        turn(&mut self.0[scores + lo * SCORE..scores + hi * SCORE], SCORE);
        turn(&mut self.0[members + bytes.start..members + bytes.end], len);
        self.0[scores + to * SCORE..][..SCORE].copy_from_slice(&score.to_le_bytes());
    }

    /// Removes the elements at these positions, all of which exist.
    pub(super) fn remove_range(&mut self, range: Range<usize>) {
        let view = self.view();
        let left = view.count - range.len();
        if left == 0 {
            self.0 = Box::default();
            return;
        }
        let length = |i: usize| view.length(if i < range.start { i } else { i + range.len() });
        let (cut, resume) = (view.offset(range.start), view.offset(range.end));
        let rest = left * SCORE + view.members.len() - (resume - cut);
        let mut out = start(view.wide, left, length, rest);
        out.extend_from_slice(&view.scores[..range.start * SCORE]);
        out.extend_from_slice(&view.scores[range.end * SCORE..]);
        out.extend_from_slice(&view.members[..cut]);
        out.extend_from_slice(&view.members[resume..]);
        self.0 = out.into_boxed_slice();
    }

    /// Walks the elements at these positions, all of which exist.
    pub(super) fn iter_range(&self, range: Range<usize>) -> Iter<'_> {
        let view = self.view();
        let (start, end) = (view.offset(range.start), view.offset(range.end));
        Iter { view, range, start, end }
    }

    pub(super) fn check_invariants(&self) {
        let view = self.view();
        assert_eq!(self.0.is_empty(), view.count == 0, "only the empty set is without header");
        assert_eq!(view.offset(view.count), view.members.len(), "lengths add up");
        for i in 1..view.count {
            let (a, b) = ((view.score(i - 1), view.member(i - 1)), (view.score(i), view.member(i)));
            assert!(a < b, "elements {} and {i} are out of order", i - 1);
        }
        for i in 0..view.count {
            assert!(!view.score(i).is_nan(), "score {i} is not a number");
            assert!(view.score(i).to_bits() != (-0.0_f64).to_bits(), "score {i} is -0");
            assert_eq!(view.find(view.member(i)), Some(i), "member {i} is there twice");
        }
    }
}

/// Elements of a packed set, from both ends.
#[derive(Clone)]
pub(super) struct Iter<'a> {
    view: View<'a>,
    /// Positions left.
    range: Range<usize>,
    /// Where their members start and end.
    start: usize,
    end: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        let i = self.range.next()?;
        let from = self.start;
        self.start += self.view.length(i);
        Some((&self.view.members[from..self.start], self.view.score(i)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let i = self.range.next_back()?;
        let to = self.end;
        self.end -= self.view.length(i);
        Some((&self.view.members[self.end..to], self.view.score(i)))
    }
}

impl ExactSizeIterator for Iter<'_> {}
