//! [`Db`]: the keyspace as one command sees it: the shards it has locked, one database, one time.
//!
//! Reads never show a key whose deadline has passed; writes remove it first. Changes go through
//! closures that say whether they changed anything, so that WATCH and the removal of emptied
//! collections cannot be forgotten.

use std::sync::atomic::Ordering;

use super::object::{Kind, Object};
use super::table::{Entry, Table};
use super::waiting::Serving;
use super::watch::WatchFlag;
use super::{Guard, Guards, Keyspace, SHARDS, Shard, locate};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::types::Limits;

/// How many due keys a write removes on its way, so that dead keys go even when nobody asks for
/// them, at a bounded cost per write.
const DUE_PER_WRITE: usize = 4;

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
    pub(super) guards: Guards<'k>,
    index: usize,
    now_ms: i64,
    /// Behind the locks, because who is woken when it is dropped may want them.
    pub(super) serving: Option<Box<Serving>>,
}

impl<'k> Db<'k> {
    pub(super) fn new(
        keyspace: &'k Keyspace,
        guards: Guards<'k>,
        index: usize,
        now_ms: i64,
    ) -> Self {
        Self { keyspace, guards, index, now_ms, serving: None }
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

    pub(super) fn shards(&self) -> impl Iterator<Item = (u32, &Shard)> {
        self.guards.iter().map(|(n, guard)| match guard {
            Guard::Read(shard) => (*n, &**shard),
            Guard::Write(shard) => (*n, &**shard),
        })
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.shards().filter_map(|(_, shard)| shard.table(self.index))
    }

    fn position(&self, shard: u32) -> Option<usize> {
        if self.guards.len() == SHARDS {
            return Some(shard as usize);
        }
        self.guards.iter().position(|(n, _)| *n == shard)
    }

    pub(super) fn shard(&self, shard: u32) -> Option<&Shard> {
        match &self.guards[self.position(shard)?].1 {
            Guard::Read(shard) => Some(shard),
            Guard::Write(shard) => Some(shard),
        }
    }

    /// The shard for a change. That a key was locked for what its command does with it follows
    /// from the command's row; a row that says less than its handler does is a bug in the table,
    /// and going on would break atomicity.
    pub(super) fn shard_mut(&mut self, shard: u32) -> &mut Shard {
        let position = self.position(shard);
        match position.map(|at| &mut self.guards[at].1) {
            Some(Guard::Write(shard)) => shard,
            _ => unreachable!("a handler changed a key that its row does not lock for writing"),
        }
    }

    #[inline]
    fn find(&self, key: &[u8]) -> Option<(&Table, usize)> {
        let (shard, hash) = locate(key);
        debug_assert!(self.position(shard).is_some(), "a handler read a key its row does not name");
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

    /// Finds a key to change it: what has expired is removed first, and a few due keys with it.
    fn find_mut(&mut self, key: &[u8]) -> (u32, Option<usize>) {
        let (shard, hash) = locate(key);
        self.expire_due(shard, DUE_PER_WRITE);
        let (index, now_ms) = (self.index, self.now_ms);
        let table = self.shard_mut(shard).table_mut(index);
        let at = table.find(hash, key);
        match at {
            Some(at) if table.is_expired(at, now_ms) => {
                self.expire_at(shard, at);
                (shard, None)
            }
            Some(at) => {
                table.entry(at).touch(now_ms);
                (shard, Some(at))
            }
            None => (shard, None),
        }
    }

    fn remove_at(&mut self, shard: u32, at: usize) -> Option<(Object, Option<i64>)> {
        let index = self.index;
        let shard = self.shard_mut(shard);
        let (entry, deadline) = shard.table_mut(index).remove(at)?;
        shard.watchers.touch(index, &entry.key);
        Some((entry.object, deadline))
    }

    /// Removes up to `most` due keys of the selected database in a shard locked for writing.
    #[inline]
    pub(super) fn expire_due(&mut self, shard: u32, most: usize) -> usize {
        let (index, now_ms) = (self.index, self.now_ms);
        for done in 0..most {
            let table = self.shard_mut(shard).table(index);
            let Some(at) = table.and_then(|t| t.due(now_ms)) else { return done };
            self.expire_at(shard, at);
        }
        most
    }

    fn expire_at(&mut self, shard: u32, at: usize) {
        self.remove_at(shard, at);
        self.keyspace.expired.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes the value under an existing key. `change` answers its result and whether it changed
    /// anything. An emptied collection is removed. `None`: no such key.
    pub fn update<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<Option<R>, WireError> {
        let (shard, at) = self.find_mut(key);
        let Some(at) = at else { return Ok(None) };
        self.change_at(shard, at, key, change).map(Some)
    }

    /// Changes the value under a key, which is created empty when missing. `change` answers its
    /// result and whether it changed anything. A collection left empty is removed again.
    pub fn upsert<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<R, WireError> {
        let (shard, at) = self.find_mut(key);
        if let Some(at) = at {
            return self.change_at(shard, at, key, change);
        }
        let mut fresh = T::default();
        let (result, changed) = change(&mut fresh, &self.limits());
        if changed && !fresh.is_hollow() {
            let (index, now_ms) = (self.index, self.now_ms);
            let shard = self.shard_mut(shard);
            shard.table_mut(index).insert(Bytes::copy_from(key), fresh.wrap(), now_ms);
            shard.watchers.touch(index, key);
            if !shard.waiting.is_empty() {
                self.signal(key);
            }
        }
        Ok(result)
    }

    #[inline]
    fn change_at<T: Kind, R>(
        &mut self,
        shard: u32,
        at: usize,
        key: &[u8],
        change: impl FnOnce(&mut T, &Limits) -> (R, bool),
    ) -> Result<R, WireError> {
        let limits = self.limits();
        let index = self.index;
        let locked = self.shard_mut(shard);
        let object = locked.table_mut(index).object_mut(at);
        let value = T::of_mut(object).ok_or(WireError::WRONGTYPE)?;
        let (result, changed) = change(value, &limits);
        if value.is_hollow() {
            self.remove_at(shard, at);
        } else if changed {
            locked.watchers.touch(index, key);
        }
        Ok(result)
    }

    /// Puts a value under a key, whatever was there. Who waits for the key is served only if there
    /// was nothing, as in Redis: a command that removes a key and adds it anew must say so by
    /// [`delete`](Self::delete).
    pub fn set(&mut self, key: &[u8], object: Object, expire: Expire) {
        let (shard, at) = self.find_mut(key);
        let (index, now_ms) = (self.index, self.now_ms);
        let locked = self.shard_mut(shard);
        let table = locked.table_mut(index);
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
        locked.watchers.touch(index, key);
        if is_new && !locked.waiting.is_empty() {
            self.signal(key);
        }
    }

    /// Sets or clears the deadline of an existing key; says whether the key exists. Watchers are
    /// told.
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: Option<i64>) -> bool {
        let (shard, at) = self.find_mut(key);
        let Some(at) = at else { return false };
        let index = self.index;
        let locked = self.shard_mut(shard);
        locked.table_mut(index).set_deadline(at, deadline_ms);
        locked.watchers.touch(index, key);
        true
    }

    /// Removes a key; says whether it was there.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.take(key).is_some()
    }

    /// Removes a key and answers its value and deadline.
    pub fn take(&mut self, key: &[u8]) -> Option<(Object, Option<i64>)> {
        let (shard, at) = self.find_mut(key);
        at.and_then(|at| self.remove_at(shard, at))
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
        let (shard, _) = self.find_mut(key);
        let index = self.index;
        self.shard_mut(shard).watchers.add(index, key, flag)
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
