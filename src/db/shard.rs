//! [`Shard`]: what one lock protects.
//!
//! Everything that happens to a key happens here, on the shard that its command has locked, with
//! the number of the database and the time as the command has them. Whatever changes a key raises
//! the flags of its watchers; what has expired is removed as if it had been deleted then.

use super::object::{Kind, Object};
use super::table::Table;
use super::waiting::Waiting;
use super::watch::Watchers;
use crate::error::WireError;
use crate::types::Limits;

/// How many due keys a write removes on its way, so that dead keys go even when nobody asks for
/// them, at a bounded cost per write.
const DUE_PER_WRITE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Shard {
    /// As many as have been used so far.
    pub(super) dbs: Vec<Table>,
    pub(super) watchers: Watchers,
    pub(super) waiting: Waiting,
}

/// A key that is to be changed.
pub(super) struct Found {
    /// Where it stands, if it is there.
    pub(super) at: Option<usize>,
    /// How many keys have been removed because their deadline had passed.
    pub(super) expired: usize,
}

impl Shard {
    #[inline]
    pub(super) fn table(&self, db: usize) -> Option<&Table> {
        self.dbs.get(db)
    }

    #[inline]
    pub(super) fn table_mut(&mut self, db: usize) -> &mut Table {
        if self.dbs.len() <= db {
            self.grow(db);
        }
        &mut self.dbs[db]
    }

    #[cold]
    fn grow(&mut self, db: usize) {
        self.dbs.resize_with(db + 1, Table::default);
    }

    /// Finds a key to change it: what has expired is removed first, and a few due keys with it.
    #[inline]
    pub(super) fn find_mut(&mut self, db: usize, key: &[u8], hash: u64, now_ms: i64) -> Found {
        let expired = self.expire_due(db, now_ms, DUE_PER_WRITE);
        let table = self.table_mut(db);
        let at = table.find(hash, key);
        if let Some(at) = at {
            if table.is_expired(at, now_ms) {
                self.remove(db, at);
                return Found { at: None, expired: expired + 1 };
            }
            table.entry(at).touch(now_ms);
        }
        Found { at, expired }
    }

    /// Removes up to `most` keys of a database whose deadline has passed; says how many.
    #[inline]
    pub(super) fn expire_due(&mut self, db: usize, now_ms: i64, most: usize) -> usize {
        let mut done = 0;
        while done < most
            && let Some(at) = self.table(db).and_then(|table| table.due(now_ms))
        {
            self.remove(db, at);
            done += 1;
        }
        done
    }

    /// Removes what stands at `at`, and answers its value and deadline.
    pub(super) fn remove(&mut self, db: usize, at: usize) -> Option<(Object, Option<i64>)> {
        let (entry, deadline) = self.table_mut(db).remove(at)?;
        self.watchers.touch(db, &entry.key);
        Some((entry.object, deadline))
    }

    /// Changes the value of `key`, which stands at `at`. `change` answers its result and whether
    /// it changed anything. An emptied collection is removed.
    #[inline]
    pub(super) fn change<T: Kind, R>(
        &mut self,
        db: usize,
        (at, key): (usize, &[u8]),
        limits: &Limits,
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<R, WireError> {
        let value = T::of_mut(self.table_mut(db).object_mut(at)).ok_or(WireError::WRONGTYPE)?;
        let (result, changed) = change(value, limits);
        if value.is_hollow() {
            self.remove(db, at);
        } else if changed {
            self.watchers.touch(db, key);
        }
        Ok(result)
    }
}
