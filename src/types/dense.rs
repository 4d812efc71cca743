//! [`Dense`]: a hash table whose entries lie side by side, numbered from 0.
//!
//! Why not a map: `SCAN` must return what stays throughout at O(count) a page, and random picks
//! must be fair and O(1). Entries therefore lie in a dense vector beside an index of positions. A
//! removal moves the last entry into the hole. A scan walks the positions downwards: an entry only
//! ever moves to a lower position, so one not yet seen is still ahead, and one that was seen may
//! at worst be seen again. Nothing depends on hash values but speed: the order of iteration
//! follows from the history of insertions and removals alone.
//!
//! Why chunks: a vector of millions would be copied whole when it grows, and half of it be empty
//! afterwards. The first chunk grows by doubling; after it full chunks are added. The index
//! likewise grows by a small segment at a time (see [`Index`]), so that no single insertion or
//! removal costs more than some microseconds, at any size. Up to eight entries there is no index.
//!
//! Invariants: all chunks but the last are full and none is empty; keys are distinct; the index,
//! if there is one, holds each position exactly once, under the hash of its key. At most 2^32
//! entries.

mod index;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher};
use std::mem;

use foldhash::quality::FixedState;

use self::index::Index;
use crate::bytes::{Bytes, same};

const CHUNK_BITS: usize = 9;
/// Entries in a full chunk.
const CHUNK: usize = 1 << CHUNK_BITS;
/// Up to this many entries are searched one by one.
const LINEAR: usize = 8;

/// An entry of a [`Dense`] table: whatever it holds, it has a key.
pub(crate) trait Keyed {
    /// The key, which must not change while the entry is in a table.
    fn key(&self) -> &[u8];
}

impl Keyed for Bytes {
    fn key(&self) -> &[u8] {
        self
    }
}

/// The hash that tables index by: the same in every run and on every machine of one word size.
/// The one place to change for a seed per engine.
#[inline]
pub(crate) fn hash_key(key: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(0x5703_c200).build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// A hash table of entries numbered from 0 without gaps.
#[derive(Clone, Debug)]
pub(crate) struct Dense<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
    index: Index,
}

impl<T> Default for Dense<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0, index: Index::default() }
    }
}

impl<T: Keyed> Dense<T> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The position of `key`.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        if self.index.is_empty() {
            return self.chunks.first()?.iter().position(|entry| same(entry.key(), key));
        }
        self.find_hashed(hash_key(key), key)
    }

    /// The position of `key`, whose [`hash_key`] the caller knows already.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<usize> {
        if self.index.is_empty() {
            return self.chunks.first()?.iter().position(|entry| same(entry.key(), key));
        }
        let found = self.index.find(hash, |pos| same(at(&self.chunks, pos).key(), key));
        found.map(|pos| pos as usize)
    }

    /// The entry at a position.
    pub(crate) fn get(&self, pos: usize) -> Option<&T> {
        self.chunks.get(pos >> CHUNK_BITS)?.get(pos & (CHUNK - 1))
    }

    /// The entry at a position; its key must stay as it is.
    pub(crate) fn get_mut(&mut self, pos: usize) -> Option<&mut T> {
        self.chunks.get_mut(pos >> CHUNK_BITS)?.get_mut(pos & (CHUNK - 1))
    }

    /// Adds an entry whose key is not in the table, at position `len`.
    pub(crate) fn push(&mut self, entry: T) {
        debug_assert!(self.find(entry.key()).is_none(), "key is already in the table");
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.reserve_exact(usize::from(self.chunks.is_empty()));
            self.chunks.push(Vec::with_capacity(if self.len == 0 { 1 } else { CHUNK }));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            if chunk.len() == chunk.capacity() {
                chunk.reserve_exact(chunk.len().min(CHUNK - chunk.len()));
            }
            chunk.push(entry);
        }
        self.len += 1;
        let chunks = &self.chunks;
        let hash_of = |pos| hash_key(at(chunks, pos).key());
        if !self.index.is_empty() {
            let pos = self.len as u32 - 1;
            self.index.insert(hash_of(pos), pos, hash_of);
        } else if self.len > LINEAR {
            for pos in 0..self.len as u32 {
                self.index.insert(hash_of(pos), pos, hash_of);
            }
        }
    }

    /// Removes the entry at a position; the last entry moves into its place.
    pub(crate) fn swap_remove(&mut self, pos: usize) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let leaving = hash_key(self.get(pos)?.key());
        if !self.index.is_empty() {
            self.index.remove(leaving, pos as u32);
            if pos != last {
                let moving = hash_key(at(&self.chunks, last as u32).key());
                self.index.relocate(moving, last as u32, pos as u32);
            }
        }
        let mut entry = self.pop()?;
        if pos != last {
            mem::swap(self.get_mut(pos)?, &mut entry);
        }
        let chunks = &self.chunks;
        self.index.shrink(leaving, |pos| hash_key(at(chunks, pos).key()));
        Some(entry)
    }

    /// Removes the entry with this key.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<T> {
        self.swap_remove(self.find(key)?)
    }

    /// The entries by position.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        self.chunks.iter().flatten()
    }

    /// Calls `f` for up to `count` entries (at least one) and returns the cursor of the next page;
    /// 0 starts and ends. An entry that is there from the first page to the last is met at least
    /// once, whatever else is added or removed between the pages. O(count).
    pub(crate) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&T)) -> u64 {
        let page = scan_page(cursor, count, self.len);
        for pos in page.clone().rev() {
            if let Some(entry) = self.get(pos) {
                f(entry);
            }
        }
        page.start as u64
    }

    /// Bytes on the heap, with `of_entry` for what each entry owns there. O(n).
    pub(crate) fn heap_size(&self, of_entry: impl Fn(&T) -> usize) -> usize {
        let slots: usize = self.chunks.iter().map(Vec::capacity).sum();
        let entries: usize = self.iter().map(of_entry).sum();
        let spine = self.chunks.capacity() * size_of::<Vec<T>>();
        slots * size_of::<T>() + entries + spine + self.index.heap_size()
    }

    /// Takes the last entry and the room it no longer needs. The index is left as it is.
    fn pop(&mut self) -> Option<T> {
        let entry = self.chunks.last_mut()?.pop()?;
        self.len -= 1;
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.pop();
        }
        if let [only] = &mut self.chunks[..]
            && only.len() <= only.capacity() / 4
        {
            only.shrink_to(only.len() * 2);
        }
        if self.chunks.len() < self.chunks.capacity() / 4 {
            self.chunks.shrink_to(self.chunks.len() * 2);
        }
        Some(entry)
    }

    /// Panics with the reason if an invariant does not hold.
    pub(crate) fn check_invariants(&self) {
        let total: usize = self.chunks.iter().map(Vec::len).sum();
        assert_eq!(self.len, total, "length and entries differ");
        for (i, chunk) in self.chunks.iter().enumerate() {
            let last = i + 1 == self.chunks.len();
            assert!(!chunk.is_empty(), "chunk {i} is empty");
            assert!(last || chunk.len() == CHUNK, "chunk {i} is not full");
            assert!(chunk.capacity() <= CHUNK, "chunk {i} is too large");
        }
        for (pos, entry) in self.iter().enumerate() {
            assert_eq!(self.find(entry.key()), Some(pos), "entry {pos} is found elsewhere");
        }
        let indexed = if self.index.is_empty() { 0 } else { self.len };
        assert!(indexed > 0 || self.len <= LINEAR, "{} entries without an index", self.len);
        self.index.check_invariants(indexed);
    }
}

/// The entry at a position below the length.
impl<T> std::ops::Index<usize> for Dense<T> {
    type Output = T;
    #[inline]
    fn index(&self, pos: usize) -> &T {
        at(&self.chunks, pos as u32)
    }
}

/// The entry at a position below the length; its key must stay as it is.
impl<T> std::ops::IndexMut<usize> for Dense<T> {
    #[inline]
    fn index_mut(&mut self, pos: usize) -> &mut T {
        &mut self.chunks[pos >> CHUNK_BITS][pos & (CHUNK - 1)]
    }
}

/// Iterates over the entries by position.
pub(crate) type Iter<'a, T> = std::iter::Flatten<std::slice::Iter<'a, Vec<T>>>;

/// The positions of the page at `cursor`, to be visited downwards. Its start is the next cursor.
pub(crate) fn scan_page(cursor: u64, count: usize, len: usize) -> std::ops::Range<usize> {
    let end = if cursor == 0 { len } else { usize::try_from(cursor).map_or(len, |c| c.min(len)) };
    end.saturating_sub(count.max(1))..end
}

/// The entry at a position known to exist.
#[inline]
fn at<T>(chunks: &[Vec<T>], pos: u32) -> &T {
    let pos = pos as usize;
    &chunks[pos >> CHUNK_BITS][pos & (CHUNK - 1)]
}
