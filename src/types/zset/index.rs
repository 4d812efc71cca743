//! [`Index`]: from a member's hash to its slot, growing without a pause.
//!
//! One hash table of ten million members would stop everything for a second when it doubles. So
//! this is linear hashing (Litwin, 1980) over small tables: each time the average grows past a
//! limit, one table, the next in turn, is split in two; when it shrinks, the last is merged back.
//!
//! It holds slots only, 4 bytes and a tag byte each; the caller compares members and hashes again.
//!
//! Invariants: table `t` holds the slots whose hash maps to `t` by [`Index::table_of`]; tables
//! split in ascending order, so `tables.len()` alone tells which are split.

use hashbrown::HashTable;

/// Average number of slots per table at which one is split. A table not split yet holds up to
/// twice as many, which just fits hashbrown's 4096 buckets at a load of 7/8.
const SPLIT_AT: usize = 1700;
/// Average at which the last table is merged back.
const MERGE_AT: usize = 600;

#[derive(Clone)]
pub(super) struct Index {
    tables: Vec<HashTable<u32>>,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { tables: vec![HashTable::new()], len: 0 }
    }
}

impl Index {
    /// The table for a hash. hashbrown takes its buckets from the low bits and its tags from the
    /// highest; this takes bits between.
    #[inline]
    fn table_of(&self, hash: u64) -> usize {
        let n = self.tables.len();
        let mask = n.next_power_of_two() - 1;
        let wide = (hash >> 16) as usize & mask;
        if wide < n { wide } else { wide & (mask >> 1) }
    }

    /// The slot with this hash for which `is_it` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.tables[self.table_of(hash)].find(hash, |&slot| is_it(slot)).copied()
    }

    /// Adds a slot that is not there yet.
    pub(super) fn insert(&mut self, hash: u64, slot: u32, hash_of: impl Fn(u32) -> u64) {
        let table = self.table_of(hash);
        self.tables[table].insert_unique(hash, slot, |&slot| hash_of(slot));
        self.len += 1;
        if self.len > SPLIT_AT * self.tables.len() {
            self.split(hash_of);
        }
    }

    /// Removes a slot, if it is there.
    pub(super) fn remove(&mut self, hash: u64, slot: u32, hash_of: impl Fn(u32) -> u64) {
        let table = self.table_of(hash);
        if let Ok(found) = self.tables[table].find_entry(hash, |&s| s == slot) {
            found.remove();
            self.len -= 1;
        }
        if self.tables.len() > 1 && self.len < MERGE_AT * self.tables.len() {
            self.merge(hash_of);
        }
    }

    /// Puts slot `to` in the place of slot `from`, whose element has this hash.
    pub(super) fn replace(&mut self, hash: u64, from: u32, to: u32) {
        let table = self.table_of(hash);
        if let Some(slot) = self.tables[table].find_mut(hash, |&s| s == from) {
            *slot = to;
        }
    }

    /// Renumbers all slots.
    pub(super) fn renumber(&mut self, f: impl Fn(u32) -> u32) {
        for table in &mut self.tables {
            table.iter_mut().for_each(|slot| *slot = f(*slot));
        }
    }

    fn split(&mut self, hash_of: impl Fn(u32) -> u64) {
        let next = self.tables.len();
        let source = next - (next + 1).next_power_of_two() / 2;
        self.tables.push(HashTable::new());
        let old = std::mem::take(&mut self.tables[source]);
        self.tables[source].reserve(old.len() / 2, |&slot| hash_of(slot));
        self.tables[next].reserve(old.len() / 2, |&slot| hash_of(slot));
        for slot in old {
            let hash = hash_of(slot);
            let table = self.table_of(hash);
            self.tables[table].insert_unique(hash, slot, |&slot| hash_of(slot));
        }
    }

    fn merge(&mut self, hash_of: impl Fn(u32) -> u64) {
        let Some(last) = self.tables.pop() else { return };
        for slot in last {
            let hash = hash_of(slot);
            let table = self.table_of(hash);
            self.tables[table].insert_unique(hash, slot, |&slot| hash_of(slot));
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_size(&self) -> usize {
        // hashbrown: a slot and a control byte per bucket.
        let bucket = size_of::<u32>() + 1;
        let tables = self.tables.iter().map(|t| t.num_buckets() * bucket).sum::<usize>();
        tables + self.tables.capacity() * size_of::<HashTable<u32>>()
    }

    pub(super) fn check_invariants(&self, hash_of: impl Fn(u32) -> u64) {
        let mut len = 0;
        for (t, table) in self.tables.iter().enumerate() {
            for &slot in table {
                assert_eq!(self.table_of(hash_of(slot)), t, "slot {slot} is in the wrong table");
                len += 1;
            }
        }
        assert_eq!(len, self.len, "indexed slots are counted");
    }
}
