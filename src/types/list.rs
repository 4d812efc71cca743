//! [`List`]: the value of a list key, a deque of packed chunks.
//!
//! As Redis's quicklist: neighbouring elements share a buffer of up to 8 KiB, so that an element
//! costs two bytes beyond its own and a push or pop at an end touches one buffer. A list that fits
//! one chunk is that buffer and nothing else: a shop has millions of lists of a few elements. In a
//! longer one the chunks stand in a ring buffer, each with its number of elements, so that a
//! position is found by adding up numbers from the nearer end.
//!
//! Invariants: 16 bytes in size; no chunk is empty; a chunk holds up to 8 KiB or one
//! element; neighbours too small to stand alone are merged when elements leave the middle.

mod chunk;
mod iter;
mod large;
#[cfg(test)]
mod tests;

use std::fmt;
use std::mem;
use std::ops::Range;

use self::chunk::{Chunk, packed};
pub use self::iter::Iter;
use self::large::Large;
use crate::bytes::Bytes;

/// A list of binary-safe strings.
///
/// ```
/// use stockroom::types::List;
/// let mut list = List::default();
/// list.push_back(b"b");
/// list.push_front(b"a");
/// assert!(list.iter().eq([b"a", b"b"]));
/// assert_eq!(list.pop_back().as_deref(), Some(&b"b"[..]));
/// ```
#[derive(Clone)]
pub struct List(Repr);

#[derive(Clone)]
enum Repr {
    Small(Box<[u8]>),
    Large(Box<Large>),
}

const _: () = assert!(size_of::<List>() == 16);

impl List {
    /// Number of elements. O(1).
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Small(buf) => packed(buf).1,
            Repr::Large(list) => list.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an element in front of the first. O(1), amortised.
    pub fn push_front(&mut self, element: &[u8]) {
        self.push(element, Chunk::push_front, Large::push_front);
    }

    /// Adds an element behind the last. O(1), amortised.
    pub fn push_back(&mut self, element: &[u8]) {
        self.push(element, Chunk::push_back, Large::push_back);
    }

    fn push(&mut self, element: &[u8], small: fn(&mut Chunk, &[u8]), large: fn(&mut Large, &[u8])) {
        if let Some(mut chunk) = self.take_chunk() {
            if chunk.fits(element.len()) {
                small(&mut chunk, element);
                return self.put_chunk(chunk);
            }
            self.0 = Repr::Large(Box::new(Large::from(chunk)));
        }
        if let Repr::Large(list) = &mut self.0 {
            large(list, element);
        }
    }

    /// Removes the first element. O(1).
    pub fn pop_front(&mut self) -> Option<Bytes> {
        self.pop(Chunk::pop_front, Large::pop_front)
    }

    /// Removes the last element. O(1).
    pub fn pop_back(&mut self) -> Option<Bytes> {
        self.pop(Chunk::pop_back, Large::pop_back)
    }

    fn pop(
        &mut self,
        small: fn(&mut Chunk) -> Option<Bytes>,
        large: fn(&mut Large) -> Option<Bytes>,
    ) -> Option<Bytes> {
        if let Some(mut chunk) = self.take_chunk() {
            let element = small(&mut chunk);
            chunk.shrink();
            self.put_chunk(chunk);
            return element;
        }
        let Repr::Large(list) = &mut self.0 else { return None };
        let element = large(list);
        self.settle();
        element
    }

    /// The element at a position. O(chunks) at worst; O(1) near the ends.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter_from(index).next()
    }

    /// Replaces the element at a position; says whether there is one.
    pub fn set(&mut self, index: usize, element: &[u8]) -> bool {
        if index >= self.len() {
            return false;
        }
        if let Some(mut chunk) = self.take_chunk() {
            if chunk.fits_at(index, element.len()) {
                chunk.replace(index, element);
                self.put_chunk(chunk);
                return true;
            }
            self.0 = Repr::Large(Box::new(Large::from(chunk)));
        }
        if let Repr::Large(list) = &mut self.0 {
            list.set(index, element);
        }
        true
    }

    /// Puts an element in front of the one at `index`; at the end for the length or more.
    pub fn insert(&mut self, index: usize, element: &[u8]) {
        let index = index.min(self.len());
        if let Some(mut chunk) = self.take_chunk() {
            if chunk.fits(element.len()) {
                chunk.insert(index, element);
                return self.put_chunk(chunk);
            }
            self.0 = Repr::Large(Box::new(Large::from(chunk)));
        }
        if let Repr::Large(list) = &mut self.0 {
            list.insert(index, element);
        }
    }

    /// Removes the elements in a range of positions, as far as there are any; answers how many.
    /// O(chunks), and what lies in whole chunks is not looked at.
    pub fn remove_range(&mut self, positions: Range<usize>) -> usize {
        let end = positions.end.min(self.len());
        let positions = positions.start.min(end)..end;
        if positions.is_empty() {
            return 0;
        }
        if let Some(mut chunk) = self.take_chunk() {
            chunk.remove(positions.clone());
            self.put_chunk(chunk);
        } else if let Repr::Large(list) = &mut self.0 {
            list.remove(positions.clone());
            self.settle();
        }
        positions.len()
    }

    /// Removes the first `most` elements equal to `element`, or the last with `from_tail`; answers
    /// how many it removed. O(n).
    pub fn remove_equal(&mut self, element: &[u8], most: usize, from_tail: bool) -> usize {
        if let Some(mut chunk) = self.take_chunk() {
            let removed = chunk.remove_equal(element, most, from_tail);
            self.put_chunk(chunk);
            return removed;
        }
        let Repr::Large(list) = &mut self.0 else { return 0 };
        let removed = list.remove_equal(element, most, from_tail);
        self.settle();
        removed
    }

    /// The elements from the first to the last. Each step O(1), from either end.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_range(0..usize::MAX)
    }

    /// The elements from the last to the first.
    pub fn iter_rev(&self) -> std::iter::Rev<Iter<'_>> {
        self.iter().rev()
    }

    /// The elements from a position on.
    pub fn iter_from(&self, index: usize) -> Iter<'_> {
        self.iter_range(index..usize::MAX)
    }

    /// The elements in a range of positions, as far as there are any.
    pub fn iter_range(&self, positions: Range<usize>) -> Iter<'_> {
        let end = positions.end.min(self.len());
        let start = positions.start.min(end);
        match &self.0 {
            Repr::Small(buf) => Iter::of_chunk(packed(buf), start..end),
            Repr::Large(list) => list.iter(start..end),
        }
    }

    /// The name of the encoding, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        "quicklist"
    }

    /// Bytes on the heap.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Small(buf) => buf.len(),
            Repr::Large(list) => size_of::<Large>() + list.heap_size(),
        }
    }

    /// The only chunk of a small list, to change it and put it back.
    #[inline]
    fn take_chunk(&mut self) -> Option<Chunk> {
        match &mut self.0 {
            Repr::Small(buf) => Some(Chunk::unpack(mem::take(buf))),
            Repr::Large(_) => None,
        }
    }

    #[inline]
    fn put_chunk(&mut self, chunk: Chunk) {
        self.0 = match chunk.pack() {
            Ok(buf) => Repr::Small(buf),
            Err(chunk) => Repr::Large(Box::new(Large::from(chunk))),
        };
    }

    /// Makes a large list small when what is left is half a chunk.
    fn settle(&mut self) {
        if let Repr::Large(list) = &mut self.0
            && let Some(chunk) = list.take_if_small()
        {
            self.put_chunk(chunk);
        }
    }

    /// Panics when an invariant does not hold.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        match &self.0 {
            Repr::Small(buf) if buf.is_empty() => {}
            Repr::Small(buf) => {
                let chunk = Chunk::unpack(buf.clone());
                chunk.check_invariants();
                assert!(chunk.count() > 0, "an empty list with a buffer");
            }
            Repr::Large(list) => list.check_invariants(),
        }
    }
}

impl Default for List {
    fn default() -> Self {
        Self(Repr::Small(Box::default()))
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a [u8];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(<[u8]>::escape_ascii)).finish()
    }
}
