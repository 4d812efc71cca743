//! [`Slots`]: where the members of a large sorted set live, each once, under a small stable number.
//!
//! The order and the index both refer to an element by its slot. Slots are kept in chunks, so that
//! growing never copies what is there. A removed element leaves a vacant slot, which the next new
//! element takes; whoever owns the slots moves elements from the end into vacant ones when too
//! many are vacant. Elements only ever move downwards: that is what makes [`Slots::scan`], which
//! walks downwards too, return every element that stays.
//!
//! Invariants: a vacant slot has the score NaN, which no element has; the last slot is not vacant;
//! every vacant slot is in `free`, which may also hold stale numbers, told apart when taken.

use crate::bytes::Bytes;

const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;

#[derive(Clone)]
struct Slot {
    member: Bytes,
    score: f64,
}

impl Slot {
    const VACANT: Self = Self { member: Bytes::EMPTY, score: f64::NAN };

    fn is_vacant(&self) -> bool {
        self.score.is_nan()
    }
}

#[derive(Clone, Default)]
pub(super) struct Slots {
    chunks: Vec<Vec<Slot>>,
    free: Vec<u32>,
    live: usize,
}

impl Slots {
    /// Number of elements.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Number of slots, vacant ones included.
    pub(super) fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        full + self.chunks.last().map_or(0, Vec::len)
    }

    #[inline]
    fn get(&self, slot: u32) -> &Slot {
        &self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize % CHUNK]
    }

    #[inline]
    fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize % CHUNK]
    }

    #[inline]
    pub(super) fn member(&self, slot: u32) -> &[u8] {
        &self.get(slot).member
    }

    #[inline]
    pub(super) fn score(&self, slot: u32) -> f64 {
        self.get(slot).score
    }

    pub(super) fn set_score(&mut self, slot: u32, score: f64) {
        self.get_mut(slot).score = score;
    }

    /// Stores a new element.
    pub(super) fn add(&mut self, member: &[u8], score: f64) -> u32 {
        self.live += 1;
        let filled = Slot { member: Bytes::copy_from(member), score };
        if let Some(slot) = self.take_vacant() {
            *self.get_mut(slot) = filled;
            return slot;
        }
        let slot = self.len() as u32;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(filled),
            _ => self.chunks.push(vec![filled]),
        }
        slot
    }

    fn take_vacant(&mut self) -> Option<u32> {
        while let Some(slot) = self.free.pop() {
            if (slot as usize) < self.len() && self.get(slot).is_vacant() {
                return Some(slot);
            }
        }
        None
    }

    /// Forgets an element; its member is returned.
    pub(super) fn remove(&mut self, slot: u32) -> Bytes {
        let old = std::mem::replace(self.get_mut(slot), Slot::VACANT);
        self.live -= 1;
        if slot as usize + 1 < self.len() {
            self.free.push(slot);
        }
        self.trim();
        old.member
    }

    /// Drops vacant slots from the end.
    fn trim(&mut self) {
        while let Some(chunk) = self.chunks.last_mut() {
            match chunk.last() {
                Some(slot) if slot.is_vacant() => drop(chunk.pop()),
                Some(_) => break,
                None => drop(self.chunks.pop()),
            }
        }
        if self.live == self.len() && !self.free.is_empty() {
            self.free = Vec::new();
        }
    }

    /// An element at the end and a vacant slot before it: the next move that makes the slots
    /// denser. The vacant slot is taken; [`Self::relocate`] must follow.
    pub(super) fn next_move(&mut self) -> Option<(u32, u32)> {
        let to = self.take_vacant()?;
        Some((self.len() as u32 - 1, to))
    }

    /// Moves the last element into a vacant slot.
    pub(super) fn relocate(&mut self, last: u32, to: u32) {
        let slot = std::mem::replace(self.get_mut(last), Slot::VACANT);
        *self.get_mut(to) = slot;
        self.trim();
    }

    /// Moves elements from the end into the lowest vacant slots until none is vacant, and returns
    /// the new slot of each old one.
    pub(super) fn compact(&mut self) -> Vec<u32> {
        let mut moved: Vec<u32> = (0..self.len() as u32).collect();
        let mut to = 0;
        while self.live < self.len() {
            let last = self.len() as u32 - 1;
            while !self.get(to).is_vacant() {
                to += 1;
            }
            moved[last as usize] = to;
            self.relocate(last, to);
        }
        moved
    }

    /// Visits the slots below `cursor` downwards (0: all), as many as elements are wanted and at
    /// most a few times more when many are vacant, and returns where to go on (0: done).
    pub(super) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8], f64)) -> u64 {
        let len = self.len() as u64;
        let mut at = if cursor == 0 { len } else { cursor.min(len) };
        let mut wanted = count.max(1);
        let mut visits = wanted.saturating_mul(4);
        while at > 0 && wanted > 0 && visits > 0 {
            at -= 1;
            visits -= 1;
            let slot = self.get(at as u32);
            if !slot.is_vacant() {
                wanted -= 1;
                f(&slot.member, slot.score);
            }
        }
        at
    }

    /// Bytes on the heap, those of the members included.
    pub(super) fn heap_size(&self) -> usize {
        let slots = self.chunks.iter().map(|c| c.capacity() * size_of::<Slot>()).sum::<usize>();
        let members = self.chunks.iter().flatten().map(|s| s.member.heap_size()).sum::<usize>();
        let table = self.chunks.capacity() * size_of::<Vec<Slot>>();
        slots + members + table + self.free.capacity() * size_of::<u32>()
    }

    pub(super) fn check_invariants(&self) {
        let all = || self.chunks.iter().flatten();
        assert_eq!(all().filter(|s| !s.is_vacant()).count(), self.live, "live slots are counted");
        assert!(all().next_back().is_none_or(|s| !s.is_vacant()), "the last slot is not vacant");
        for (slot, _) in all().enumerate().filter(|(_, s)| s.is_vacant()) {
            assert!(self.free.contains(&(slot as u32)), "vacant slot {slot} is lost");
        }
        for chunk in self.chunks.iter().rev().skip(1) {
            assert_eq!(chunk.len(), CHUNK, "only the last chunk may be short");
        }
    }
}
