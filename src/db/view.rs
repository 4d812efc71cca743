//! [`Db`]: the keyspace as one command sees it: the shards it has locked, one database, one time.
//!
//! Reads never show a key whose deadline has passed; writes remove it first. Changes go through
//! closures that say whether they changed anything, so that WATCH and the removal of emptied
//! collections cannot be forgotten.

use std::sync::atomic::Ordering;

use super::locks::Locks;
use super::object::{Kind, Object};
use super::shard::Shard;
use super::table::{Entry, Table};
use super::waiting::Serving;
use super::watch::WatchFlag;
use super::{Keyspace, locate};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::types::Limits;

/// What becomes of a key's deadline when its value is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expire {
    /// It stays.
    Keep,
    /// It goes.
    Clear,
    /// It becomes this, in milliseconds since the epoch.
    At(i64),
}

/// A view of one database through the locks that a command holds.
#[derive(Debug)]
pub struct Db<'k> {
    pub(super) keyspace: &'k Keyspace,
    pub(super) locks: Locks<'k>,
    index: usize,
    now_ms: i64,
    /// Behind the locks, because who is woken when it is dropped may want them.
    pub(super) serving: Option<Box<Serving>>,
}

impl<'k> Db<'k> {
    pub(super) fn new(keyspace: &'k Keyspace, locks: Locks<'k>, index: usize, now_ms: i64) -> Self {
        Self { keyspace, locks, index, now_ms, serving: None }
    }

    /// The number of the selected database.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Selects another database, below [`super::DATABASES`].
    pub fn select(&mut self, index: usize) {
        debug_assert!(index < super::DATABASES);
        self.index = index;
    }

    /// The command's time in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Sets the command's time, once its locks are held.
    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// Redis's thresholds as they are set.
    pub fn limits(&self) -> Limits {
        self.keyspace.limits()
    }

    /// The locked shards.
    pub(super) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.locks.iter()
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.shards().filter_map(|shard| shard.table(self.index))
    }

    #[inline]
    pub(super) fn shard(&self, shard: u32) -> Option<&Shard> {
        self.locks.get(shard)
    }

    /// The shard for a change. That a key was locked for what its command does with it follows
    /// from the command's row; a row that says less than its handler does is a bug in the table,
    /// and going on would break atomicity.
    #[inline]
    pub(super) fn shard_mut(&mut self, shard: u32) -> &mut Shard {
        let Some(shard) = self.locks.get_mut(shard) else {
            unreachable!("a handler changed a key that its row does not lock for writing")
        };
        shard
    }

    #[inline]
    fn find(&self, key: &[u8]) -> Option<(&Table, usize)> {
        let (shard, hash) = locate(key);
        debug_assert!(self.locks.holds(shard), "a handler read a key its row does not name");
        let table = self.shard(shard)?.table(self.index)?;
        let at = table.find(hash, key)?;
        (!table.is_expired(at, self.now_ms)).then_some((table, at))
    }

    fn live(&self, key: &[u8]) -> Option<&Entry> {
        self.find(key).map(|(table, at)| table.entry(at))
    }

    /// The value under `key`, whatever its type. Counts as an access.
    pub fn get(&self, key: &[u8]) -> Option<&Object> {
        let entry = self.live(key)?;
        entry.touch(self.now_ms);
        Some(&entry.object)
    }

    /// The value under `key` without counting as an access, as `TYPE` and `OBJECT` look.
    pub fn peek(&self, key: &[u8]) -> Option<&Object> {
        self.live(key).map(|entry| &entry.object)
    }

    /// The value under `key` as a `T`. Fails with `WRONGTYPE` when it is another type.
    #[inline]
    pub fn read<T: Kind>(&self, key: &[u8]) -> Result<Option<&T>, WireError> {
        match self.get(key) {
            None => Ok(None),
            Some(object) => T::of(object).map(Some).ok_or(WireError::WRONGTYPE),
        }
    }

    /// Whether the key exists.
    pub fn exists(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// The key's deadline in milliseconds since the epoch. `None`: no such key; `Some(None)`: no
    /// deadline.
    #[expect(clippy::option_option, reason = "no key, a key without a deadline, a deadline")]
    pub fn deadline(&self, key: &[u8]) -> Option<Option<i64>> {
        self.find(key).map(|(table, at)| table.deadline(at))
    }

    /// Seconds since the key was last used.
    pub fn idle_secs(&self, key: &[u8]) -> Option<u32> {
        self.live(key).map(|entry| entry.idle_secs(self.now_ms))
    }

    /// Finds a key to change it: its shard, and where it stands if it is there. What has expired is
    /// removed first, and a few due keys with it.
    #[inline]
    fn find_mut(&mut self, key: &[u8]) -> (&mut Shard, Option<usize>) {
        let (number, hash) = locate(key);
        let (keyspace, index, now_ms) = (self.keyspace, self.index, self.now_ms);
        let shard = self.shard_mut(number);
        let found = shard.find_mut(index, key, hash, now_ms);
        if found.expired > 0 {
            keyspace.expired.fetch_add(found.expired as u64, Ordering::Relaxed);
        }
        (shard, found.at)
    }

    /// Changes the value under an existing key. `change` answers its result and whether it changed
    /// anything. An emptied collection is removed. `None`: no such key.
    pub fn update<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<Option<R>, WireError> {
        let (limits, index) = (self.limits(), self.index);
        let (shard, at) = self.find_mut(key);
        at.map(|at| shard.change(index, (at, key), &limits, change)).transpose()
    }

    /// Changes the value under a key, which is created empty when missing. `change` answers its
    /// result and whether it changed anything. A collection left empty is removed again.
    pub fn upsert<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<R, WireError> {
        let (limits, index, now_ms) = (self.limits(), self.index, self.now_ms);
        let (shard, at) = self.find_mut(key);
        if let Some(at) = at {
            return shard.change(index, (at, key), &limits, change);
        }
        let mut fresh = T::default();
        let (result, changed) = change(&mut fresh, &limits);
        if changed && !fresh.is_hollow() {
            shard.table_mut(index).insert(Bytes::copy_from(key), fresh.wrap(), now_ms);
            shard.watchers.touch(index, key);
            if !shard.waiting.is_empty() {
                self.signal(key);
            }
        }
        Ok(result)
    }

    /// Puts a value under a key, whatever was there. Who waits for the key is served only if there
    /// was nothing, as in Redis: a command that removes a key and adds it anew must say so by
    /// [`delete`](Self::delete).
    pub fn set(&mut self, key: &[u8], object: Object, expire: Expire) {
        let (index, now_ms) = (self.index, self.now_ms);
        let (shard, at) = self.find_mut(key);
        let table = shard.table_mut(index);
        let is_new = at.is_none();
        let at = if let Some(at) = at {
            *table.object_mut(at) = object;
            at
        } else {
            table.insert(Bytes::copy_from(key), object, now_ms)
        };
        match expire {
            Expire::Keep => {}
            Expire::Clear => table.set_deadline(at, None),
            Expire::At(ms) => table.set_deadline(at, Some(ms)),
        }
        shard.watchers.touch(index, key);
        if is_new && !shard.waiting.is_empty() {
            self.signal(key);
        }
    }

    /// Sets or clears the deadline of an existing key; says whether the key exists. Watchers are
    /// told.
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: Option<i64>) -> bool {
        let index = self.index;
        let (shard, at) = self.find_mut(key);
        let Some(at) = at else { return false };
        shard.table_mut(index).set_deadline(at, deadline_ms);
        shard.watchers.touch(index, key);
        true
    }

    /// Removes a key; says whether it was there.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.take(key).is_some()
    }

    /// Removes a key and answers its value and deadline.
    pub fn take(&mut self, key: &[u8]) -> Option<(Object, Option<i64>)> {
        let index = self.index;
        let (shard, at) = self.find_mut(key);
        at.and_then(|at| shard.remove(index, at))
    }

    /// Tells watchers that a key changed, where a command counts as a change though the value is
    /// the same.
    pub fn touch_watchers(&mut self, key: &[u8]) {
        let (shard, _) = locate(key);
        let index = self.index;
        self.shard_mut(shard).watchers.touch(index, key);
    }

    /// Watches a key of the selected database; says whether it was not watched already. One that
    /// has already expired counts as missing, so that its removal later is no change.
    pub fn watch(&mut self, key: &[u8], flag: &WatchFlag) -> bool {
        let index = self.index;
        self.find_mut(key).0.watchers.add(index, key, flag)
    }

    /// Stops watching a key of the selected database.
    pub fn unwatch(&mut self, key: &[u8], flag: &WatchFlag) {
        let (shard, _) = locate(key);
        let index = self.index;
        self.shard_mut(shard).watchers.remove(index, key, flag);
    }

    /// Whether a key is still stored though its deadline has passed.
    pub fn is_expired(&self, key: &[u8]) -> bool {
        let (shard, hash) = locate(key);
        let table = self.shard(shard).and_then(|s| s.table(self.index));
        table.is_some_and(|t| t.find(hash, key).is_some_and(|at| t.is_expired(at, self.now_ms)))
    }
}
