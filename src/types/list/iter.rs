//! [`Iter`]: the elements of a list, from both ends.

use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::ops::Range;

use super::chunk::{Chunk, Entries};

/// An iterator over elements of a [`List`](super::List).
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    /// What is left of the chunk in front of `next`.
    front: Entries<'a>,
    /// What is left of the chunk `last`, which is none behind the last chunk.
    back: Entries<'a>,
    next: usize,
    last: usize,
    chunks: Option<&'a VecDeque<Chunk>>,
    /// Elements until the two ends meet. They may be in one chunk, so nothing else tells.
    left: usize,
}

impl<'a> Iter<'a> {
    /// The elements at a range of positions of a chunk alone.
    pub(super) fn of_chunk((entries, count): (Entries<'a>, usize), at: Range<usize>) -> Self {
        let front = entries.split(at.start, count).1;
        let back = entries.split(at.end, count).0;
        Self { front, back, next: 0, last: 0, chunks: None, left: at.len() }
    }

    /// The elements between two places, each a chunk and a position in it.
    pub(super) fn of_chunks(
        chunks: &'a VecDeque<Chunk>,
        start: (usize, usize),
        end: (usize, usize),
        len: usize,
    ) -> Self {
        let split = |(chunk, index)| {
            let chunk: &Chunk = chunks.get(chunk)?;
            Some(chunk.entries().split(index, chunk.count()))
        };
        let front = split(start).map(|(_, from)| from).unwrap_or_default();
        let back = split(end).map(|(before, _)| before).unwrap_or_default();
        Self { front, back, next: start.0 + 1, last: end.0, chunks: Some(chunks), left: len }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        if let Some(element) = self.front.next() {
            return Some(element);
        }
        self.front = self.chunks?.get(self.next)?.entries();
        self.next += 1;
        self.front.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if let Some(element) = self.back.next_back() {
            return Some(element);
        }
        self.last = self.last.checked_sub(1)?;
        self.back = self.chunks?.get(self.last)?.entries();
        self.back.next_back()
    }
}

impl ExactSizeIterator for Iter<'_> {}
impl FusedIterator for Iter<'_> {}
