//! [`Table`]: the keys of one database in one shard.
//!
//! Entries stand in a [`Dense`] table, which makes a random key O(1) and lets SCAN walk positions
//! downwards.
//!
//! Deadlines stand in a 4-ary heap that knows its entries and is known by them, so that setting
//! and clearing one is O(log n) and the next due key is always at the top: expiry is exact, not
//! sampled.
//!
//! Invariants: `entry.slot` and `heap[slot].entry` point at each other; no parent in the heap is
//! later than its child. Not here: what "expired" means to a client, WATCH, locks; see
//! [`super::Db`].

use std::sync::atomic::{AtomicU32, Ordering};

use super::object::Object;
use crate::bytes::Bytes;
use crate::types::dense::{Dense, Keyed};

const NO_SLOT: u32 = u32::MAX;
const ARITY: usize = 4;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Bytes,
    pub(super) object: Object,
    slot: u32,
    /// Second of the last access, wrapping.
    accessed: AtomicU32,
}

impl Keyed for Entry {
    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Entry {
    /// Notes an access. The store is skipped when nothing changes, so that readers on several
    /// cores do not fight over the cache line.
    #[inline]
    pub(super) fn touch(&self, now_ms: i64) {
        let second = now_ms.div_euclid(1000) as u32;
        if self.accessed.load(Ordering::Relaxed) != second {
            self.accessed.store(second, Ordering::Relaxed);
        }
    }

    /// Seconds since the last access.
    pub(super) fn idle_secs(&self, now_ms: i64) -> u32 {
        let second = now_ms.div_euclid(1000) as u32;
        let idle = second.wrapping_sub(self.accessed.load(Ordering::Relaxed));
        // A clock that was set back has not made the key older.
        if idle > u32::MAX / 2 { 0 } else { idle }
    }
}

#[derive(Clone, Copy, Debug)]
struct Due {
    deadline_ms: i64,
    entry: u32,
}

/// The keys of one database in one shard.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Dense<Entry>,
    heap: Vec<Due>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        self.entries.find_hashed(hash, key)
    }

    /// The entry at a position below [`len`](Self::len).
    #[inline]
    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    #[inline]
    pub(super) fn object_mut(&mut self, at: usize) -> &mut Object {
        &mut self.entries[at].object
    }

    /// Adds a key that is not there, and says where it stands.
    pub(super) fn insert(&mut self, key: Bytes, object: Object, now_ms: i64) -> usize {
        let accessed = AtomicU32::new(now_ms.div_euclid(1000) as u32);
        self.entries.push(Entry { key, object, slot: NO_SLOT, accessed });
        self.entries.len() - 1
    }

    /// Takes out the entry at `at`; the last entry moves into its place.
    pub(super) fn remove(&mut self, at: usize) -> Option<(Entry, Option<i64>)> {
        let deadline = self.deadline(at);
        self.set_deadline(at, None);
        let entry = self.entries.swap_remove(at)?;
        if let Some(moved) = self.entries.get(at)
            && moved.slot != NO_SLOT
        {
            self.heap[moved.slot as usize].entry = at as u32;
        }
        if self.heap.len() < self.heap.capacity() / 4 {
            self.heap.shrink_to(self.heap.len() * 2);
        }
        Some((entry, deadline))
    }

    #[inline]
    pub(super) fn deadline(&self, at: usize) -> Option<i64> {
        let slot = self.entries[at].slot;
        if slot == NO_SLOT { None } else { Some(self.heap[slot as usize].deadline_ms) }
    }

    /// Whether the entry's deadline has passed. At the deadline itself the key still lives.
    #[inline]
    pub(super) fn is_expired(&self, at: usize, now_ms: i64) -> bool {
        self.deadline(at).is_some_and(|d| d < now_ms)
    }

    pub(super) fn set_deadline(&mut self, at: usize, deadline: Option<i64>) {
        let slot = self.entries[at].slot;
        match (slot == NO_SLOT, deadline) {
            (true, None) => {}
            (true, Some(deadline_ms)) => {
                self.heap.push(Due { deadline_ms, entry: at as u32 });
                let slot = self.heap.len() - 1;
                self.entries[at].slot = slot as u32;
                self.sift_up(slot);
            }
            (false, Some(deadline_ms)) => {
                self.heap[slot as usize].deadline_ms = deadline_ms;
                self.sift(slot as usize);
            }
            (false, None) => {
                self.entries[at].slot = NO_SLOT;
                let slot = slot as usize;
                self.heap.swap_remove(slot);
                if let Some(moved) = self.heap.get(slot) {
                    self.entries[moved.entry as usize].slot = slot as u32;
                    self.sift(slot);
                }
            }
        }
    }

    /// The position of a key whose deadline has passed, the earliest first.
    #[inline]
    pub(super) fn due(&self, now_ms: i64) -> Option<usize> {
        self.heap.first().filter(|d| d.deadline_ms < now_ms).map(|d| d.entry as usize)
    }

    /// How many deadlines have passed, in time proportional to their number.
    pub(super) fn count_due(&self, now_ms: i64) -> usize {
        let mut count = 0;
        let mut open = vec![0];
        while let Some(slot) = open.pop() {
            if self.heap.get(slot).is_some_and(|d| d.deadline_ms < now_ms) {
                count += 1;
                open.extend(slot * ARITY + 1..=slot * ARITY + ARITY);
            }
        }
        count
    }

    /// How many keys have a deadline.
    pub(super) fn deadlines(&self) -> usize {
        self.heap.len()
    }

    /// The sum of the times that the keys with a deadline ahead have left, in milliseconds.
    pub(super) fn sum_of_ttls(&self, now_ms: i64) -> i128 {
        self.heap
            .iter()
            .map(|d| i128::from(d.deadline_ms) - i128::from(now_ms))
            .filter(|t| *t >= 0)
            .sum()
    }

    /// Bytes, estimated: what a few entries own on the heap is taken as the mean of all.
    pub(super) fn memory(&self) -> usize {
        const SAMPLES: usize = 16;
        // A key costs its entry, a little room to grow, and its place in the index.
        const EACH: usize = size_of::<Entry>() * 9 / 8 + 8;
        let step = self.len().div_ceil(SAMPLES).max(1);
        let owned = |entry: &Entry| entry.key.heap_size() + entry.object.heap_size();
        let (mut seen, mut bytes) = (0, 0);
        for at in (0..self.len()).step_by(step) {
            seen += 1;
            bytes += owned(self.entry(at));
        }
        let heap = self.heap.capacity() * size_of::<Due>();
        self.len() * EACH + bytes * self.len() / seen.max(1) + heap
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.heap.first().map(|d| d.deadline_ms)
    }

    fn sift(&mut self, slot: usize) {
        let slot = self.sift_up(slot);
        self.sift_down(slot);
    }

    fn sift_up(&mut self, mut slot: usize) -> usize {
        while slot > 0 {
            let parent = (slot - 1) / ARITY;
            if self.heap[parent].deadline_ms <= self.heap[slot].deadline_ms {
                break;
            }
            self.swap_slots(parent, slot);
            slot = parent;
        }
        slot
    }

    fn sift_down(&mut self, mut slot: usize) {
        loop {
            let first = slot * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|&c| self.heap[c].deadline_ms) else { return };
            if self.heap[slot].deadline_ms <= self.heap[least].deadline_ms {
                return;
            }
            self.swap_slots(slot, least);
            slot = least;
        }
    }

    fn swap_slots(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.entries[self.heap[a].entry as usize].slot = a as u32;
        self.entries[self.heap[b].entry as usize].slot = b as u32;
    }

    pub(super) fn check_invariants(&self) {
        self.entries.check_invariants();
        for (at, e) in self.entries.iter().enumerate() {
            if e.slot != NO_SLOT {
                assert_eq!(self.heap[e.slot as usize].entry as usize, at, "slot of {at} is off");
            }
        }
        for slot in 0..self.heap.len() {
            let due = self.heap[slot];
            assert_eq!(self.entries[due.entry as usize].slot as usize, slot, "heap at {slot}");
            let parent = slot.saturating_sub(1) / ARITY;
            assert!(self.heap[parent].deadline_ms <= due.deadline_ms, "order at {slot}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Str;
    use crate::types::dense::hash_key;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn hash(key: u8) -> u64 {
        hash_key(&[key])
    }

    proptest! {
        #[test]
        fn agrees_with_a_map_and_keeps_its_invariants(
            ops in prop::collection::vec((0_u8..4, 0_u8..40, prop::option::of(0_i64..50)), 0..300)
        ) {
            let mut table = Table::default();
            let mut model: BTreeMap<u8, Option<i64>> = BTreeMap::new();
            for (op, key, deadline) in ops {
                let at = table.find(hash(key), &[key]);
                prop_assert_eq!(at.is_some(), model.contains_key(&key));
                match (op, at) {
                    (0 | 1, None) => {
                        let object = Object::Str(Str::default());
                        let at = table.insert(Bytes::from(&[key]), object, 0);
                        table.set_deadline(at, deadline);
                        model.insert(key, deadline);
                    }
                    (0 | 1, Some(at)) => {
                        table.set_deadline(at, deadline);
                        model.insert(key, deadline);
                    }
                    (2, Some(at)) => {
                        let (entry, old) = table.remove(at).unwrap();
                        prop_assert_eq!(&*entry.key, &[key][..]);
                        prop_assert_eq!(old, model.remove(&key).flatten());
                    }
                    _ => {
                        let due = model.values().filter(|d| d.is_some_and(|d| d < 25)).count();
                        prop_assert_eq!(table.count_due(25), due);
                        prop_assert_eq!(table.due(25).is_some(), due > 0);
                        prop_assert_eq!(
                            table.next_deadline(), model.values().flatten().min().copied());
                    }
                }
                table.check_invariants();
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.deadlines(), model.values().flatten().count());
            }
        }
    }

    #[test]
    fn an_entry_fits_a_cache_line() {
        assert!(size_of::<Entry>() <= 64, "{}", size_of::<Entry>());
    }
}
