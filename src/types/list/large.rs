//! [`Large`]: a list of more than one chunk.

use std::collections::VecDeque;
use std::ops::Range;

use super::chunk::{Chunk, LIMIT};
use super::iter::Iter;
use crate::bytes::Bytes;

#[derive(Clone)]
pub(super) struct Large {
    chunks: VecDeque<Chunk>,
    len: usize,
}

impl From<Chunk> for Large {
    fn from(chunk: Chunk) -> Self {
        Self { len: chunk.count(), chunks: VecDeque::from([chunk]) }
    }
}

impl Large {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn heap_size(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(Chunk::capacity).sum();
        self.chunks.capacity() * size_of::<Chunk>() + chunks
    }

    pub(super) fn iter(&self, positions: Range<usize>) -> Iter<'_> {
        let (start, end) = (self.locate(positions.start), self.locate(positions.end));
        Iter::of_chunks(&self.chunks, start, end, positions.len())
    }

    /// The chunk of a position and the position in it. For the length: behind the last chunk.
    fn locate(&self, index: usize) -> (usize, usize) {
        if index >= self.len {
            return (self.chunks.len(), 0);
        }
        let counts = self.chunks.iter().map(Chunk::count).enumerate();
        if index <= self.len / 2 {
            let mut before = 0;
            for (at, count) in counts {
                if index < before + count {
                    return (at, index - before);
                }
                before += count;
            }
        } else {
            let mut before = self.len;
            for (at, count) in counts.rev() {
                before -= count;
                if index >= before {
                    return (at, index - before);
                }
            }
        }
        (self.chunks.len(), 0)
    }

    pub(super) fn push_front(&mut self, element: &[u8]) {
        if let Some(chunk) = self.chunks.front_mut().filter(|c| c.fits(element.len())) {
            chunk.push_front(element);
        } else {
            let mut chunk = Chunk::beside(element);
            chunk.push_front(element);
            self.chunks.push_front(chunk);
        }
        self.len += 1;
    }

    pub(super) fn push_back(&mut self, element: &[u8]) {
        if let Some(chunk) = self.chunks.back_mut().filter(|c| c.fits(element.len())) {
            chunk.push_back(element);
        } else {
            let mut chunk = Chunk::beside(element);
            chunk.push_back(element);
            self.chunks.push_back(chunk);
        }
        self.len += 1;
    }

    pub(super) fn pop_front(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.front_mut()?;
        let element = chunk.pop_front()?;
        if chunk.count() == 0 {
            self.chunks.pop_front();
        }
        self.len -= 1;
        Some(element)
    }

    pub(super) fn pop_back(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.back_mut()?;
        let element = chunk.pop_back()?;
        if chunk.count() == 0 {
            self.chunks.pop_back();
        }
        self.len -= 1;
        Some(element)
    }

    /// Replaces the element at a position that exists.
    pub(super) fn set(&mut self, index: usize, element: &[u8]) {
        let (at, place) = self.locate(index);
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        if chunk.fits_at(place, element.len()) {
            chunk.replace(place, element);
        } else {
            chunk.remove(place..place + 1);
            self.len -= 1;
            self.insert(index, element);
        }
    }

    /// Puts an element in front of the one at `index`, or at the end for the length.
    pub(super) fn insert(&mut self, index: usize, element: &[u8]) {
        if index == 0 {
            return self.push_front(element);
        }
        let (at, place) = self.locate(index);
        let Some(chunk) = self.chunks.get_mut(at) else { return self.push_back(element) };
        self.len += 1;
        if chunk.fits(element.len()) {
            return chunk.insert(place, element);
        }
        // The element goes between two chunks: those there are, or the halves of this one.
        let behind = if place == 0 {
            at
        } else {
            let half = chunk.split_off(place);
            self.chunks.insert(at + 1, half);
            at + 1
        };
        let fits = |chunk: &&mut Chunk| chunk.fits(element.len());
        if let Some(before) = self.chunks.get_mut(behind - 1).filter(fits) {
            before.push_back(element);
        } else if let Some(after) = self.chunks.get_mut(behind).filter(fits) {
            after.push_front(element);
        } else {
            let mut chunk = Chunk::new();
            chunk.push_back(element);
            self.chunks.insert(behind, chunk);
        }
    }

    /// Removes the elements in a range of positions that exist.
    pub(super) fn remove(&mut self, positions: Range<usize>) {
        let (first, place) = self.locate(positions.start);
        let (mut at, mut place, mut left) = (first, place, positions.len());
        let mut whole = 0..0;
        while left > 0 {
            let Some(chunk) = self.chunks.get_mut(at) else { break };
            let taken = left.min(chunk.count() - place);
            if taken == chunk.count() {
                whole = if whole.is_empty() { at..at + 1 } else { whole.start..at + 1 };
            } else {
                chunk.remove(place..place + taken);
            }
            (at, place, left) = (at + 1, 0, left - taken);
        }
        self.len -= positions.len();
        self.chunks.drain(whole);
        self.merge(first.saturating_sub(1)..(first + 2).min(self.chunks.len()));
    }

    /// Removes the first `most` elements equal to `element`, or the last with `from_tail`.
    pub(super) fn remove_equal(&mut self, element: &[u8], most: usize, from_tail: bool) -> usize {
        let mut removed = 0;
        let mut touched: Option<Range<usize>> = None;
        for step in 0..self.chunks.len() {
            if removed == most {
                break;
            }
            let at = if from_tail { self.chunks.len() - 1 - step } else { step };
            let here = self.chunks[at].remove_equal(element, most - removed, from_tail);
            if here > 0 {
                let old = touched.unwrap_or(at..at + 1);
                touched = Some(old.start.min(at)..old.end.max(at + 1));
                removed += here;
            }
        }
        self.len -= removed;
        if let Some(touched) = touched {
            self.merge(touched.start.saturating_sub(1)..(touched.end + 1).min(self.chunks.len()));
        }
        removed
    }

    /// Merges neighbours among some chunks, where both together fill at most half of one, and
    /// drops those that are empty.
    fn merge(&mut self, range: Range<usize>) {
        let (mut kept, mut hollow) = (range.start, false);
        for at in range.start + 1..range.end {
            let pair = self.chunks[kept].used() + self.chunks[at].used();
            if pair <= LIMIT / 2 {
                let mut merged = std::mem::replace(&mut self.chunks[at], Chunk::new());
                self.chunks[kept].append(&mut merged);
            } else {
                kept = at;
            }
        }
        for at in range.clone() {
            hollow |= self.chunks[at].count() == 0;
        }
        if hollow && range.len() <= 3 {
            for at in range.rev() {
                if self.chunks[at].count() == 0 {
                    self.chunks.remove(at);
                }
            }
        } else if hollow {
            self.chunks.retain(|chunk| chunk.count() > 0);
        }
    }

    /// The only chunk that is left, when it fills no more than half.
    pub(super) fn take_if_small(&mut self) -> Option<Chunk> {
        let small = match self.chunks.len() {
            0 => true,
            1 => self.chunks.front().is_some_and(|chunk| chunk.used() <= LIMIT / 2),
            _ => false,
        };
        if !small {
            return None;
        }
        let mut chunk = self.chunks.pop_front().unwrap_or_else(Chunk::new);
        chunk.shrink();
        Some(chunk)
    }

    /// Panics when an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        let counted: usize = self.chunks.iter().map(Chunk::count).sum();
        assert_eq!(counted, self.len, "the length");
        for chunk in &self.chunks {
            chunk.check_invariants();
            assert!(chunk.count() > 0, "an empty chunk");
        }
    }
}
