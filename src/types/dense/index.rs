//! [`Index`]: from hash to position, growing by a small piece at a time.
//!
//! One large table would stop everything while it doubles: at ten million entries for a second.
//! So the index is cut into segments, each a small table, and grows by linear hashing (Litwin,
//! 1980): when the segments are full on average, one is added, and the one segment that has to
//! share with it is split. Segments are split in order, so that their number alone tells where a
//! hash belongs.
//!
//! Invariants: a position lies in the segment that its hash and the number of segments name; the
//! segments together hold `len` positions. The index does not see keys: it is told hashes, and
//! asks for them by position where it has to move something.

use std::mem;

use hashbrown::HashTable;

/// Average of positions in a segment at which another segment is added. A little under what a
/// table of 512 slots holds, so that few segments take a larger one.
const FULL: usize = 400;
/// Average below which a segment is taken away.
const SPARSE: usize = 100;

/// The index of a dense table.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    segments: Vec<HashTable<u32>>,
    len: usize,
}

impl Index {
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The position under `hash` that `eq` recognises.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut eq: impl FnMut(u32) -> bool) -> Option<u32> {
        let segment = self.segments.get(segment_of(hash, self.segments.len()))?;
        segment.find(hash, |&pos| eq(pos)).copied()
    }

    /// Adds a position that is not in the index.
    pub(super) fn insert(&mut self, hash: u64, pos: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len >= self.segments.len() * FULL {
            self.split(&hash_of);
        }
        let number = segment_of(hash, self.segments.len());
        self.segments[number].insert_unique(hash, pos, |&pos| hash_of(pos));
        self.len += 1;
    }

    /// Takes a position out; to be followed by [`shrink`](Self::shrink).
    pub(super) fn remove(&mut self, hash: u64, pos: u32) {
        let number = segment_of(hash, self.segments.len());
        if let Ok(found) = self.segments[number].find_entry(hash, |&p| p == pos) {
            found.remove();
            self.len -= 1;
        }
    }

    /// Changes a position from `from` to `to`.
    pub(super) fn relocate(&mut self, hash: u64, from: u32, to: u32) {
        let number = segment_of(hash, self.segments.len());
        if let Some(pos) = self.segments[number].find_mut(hash, |&p| p == from) {
            *pos = to;
        }
    }

    /// Gives back room after a removal under `hash`: that of its segment, and a whole segment
    /// where there are too many.
    pub(super) fn shrink(&mut self, hash: u64, hash_of: impl Fn(u32) -> u64) {
        if self.len == 0 {
            self.segments = Vec::new();
            return;
        }
        let number = segment_of(hash, self.segments.len());
        if let Some(segment) = self.segments.get_mut(number)
            && segment.len() < segment.capacity() / 8
        {
            segment.shrink_to(segment.len() * 2, |&pos| hash_of(pos));
        }
        if self.segments.len() > 1 && self.len < self.segments.len() * SPARSE {
            self.merge(&hash_of);
        }
    }

    /// Adds a segment and moves to it what now belongs there, all from one other segment.
    fn split(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let added = self.segments.len();
        self.segments.push(HashTable::new());
        let Some(shared) = parent_of(added) else { return };
        let old = mem::take(&mut self.segments[shared]);
        self.segments[shared] = HashTable::with_capacity(old.len() / 2);
        self.segments[added] = HashTable::with_capacity(old.len() / 2);
        for pos in old {
            let hash = hash_of(pos);
            let number = segment_of(hash, added + 1);
            self.segments[number].insert_unique(hash, pos, |&pos| hash_of(pos));
        }
    }

    /// Takes the last segment away and moves what it holds to the one it was split from.
    fn merge(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let Some(last) = self.segments.pop() else { return };
        let Some(parent) = parent_of(self.segments.len()) else { return };
        for pos in last {
            self.segments[parent].insert_unique(hash_of(pos), pos, |&pos| hash_of(pos));
        }
        if self.segments.len() < self.segments.capacity() / 4 {
            self.segments.shrink_to(self.segments.len() * 2);
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_size(&self) -> usize {
        let tables: usize = self.segments.iter().map(HashTable::allocation_size).sum();
        self.segments.capacity() * size_of::<HashTable<u32>>() + tables
    }

    /// Panics if the index does not hold `expected` positions.
    pub(super) fn check_invariants(&self, expected: usize) {
        let total: usize = self.segments.iter().map(HashTable::len).sum();
        assert_eq!((self.len, total), (expected, expected), "positions in the index");
    }
}

/// The segment of a hash, by bits that the tables themselves use little.
#[inline]
fn segment_of(hash: u64, segments: usize) -> usize {
    let mask = segments.next_power_of_two() - 1;
    let number = (hash >> 32) as usize & mask;
    if number < segments { number } else { number & (mask >> 1) }
}

/// The segment that shares its hashes with segment `number` once that is added.
fn parent_of(number: usize) -> Option<usize> {
    Some(number & !(1 << number.checked_ilog2()?))
}
