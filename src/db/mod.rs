//! The keyspace, and the only code that changes it.
//!
//! Keys are spread over shards by their hash; each shard is one struct (the tables of the 16
//! databases, the watchers, who waits) behind one lock. Dispatch reads from a command's row which
//! keys it touches and how, [`Keyspace::lock_unless`] takes the locks of their shards in ascending
//! order, and the handler works on the [`Db`] it gets until that is dropped. So every command and
//! every transaction is atomic, commands on different shards run in parallel, and nothing
//! deadlocks.
//!
//! Here and nowhere else: lazy and active expiry, the type check, WATCH, removal of emptied
//! collections, the queues of blocked clients.
//!
//! Invariants: a key's shard depends on the key alone, never on the database; no key holds an
//! empty collection; a key whose deadline has passed is never shown; whatever changes a key raises
//! the flags of its watchers.

mod listening;
mod locks;
mod object;
mod scan;
mod shard;
mod table;
mod thresholds;
mod view;
mod waiting;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

pub(crate) use listening::{Listener, Topic};
pub(crate) use locks::Scope;
pub(crate) use object::{Kind, Object};
pub(crate) use view::{Db, Expire};
pub(crate) use waiting::{Awaited, Waiter, Wakers, Want};
pub(crate) use watch::WatchFlag;

use crate::types::Limits;
use crate::types::dense::hash_key;
use listening::Listening;
use locks::{Guard, Locks};
use shard::Shard;
use table::Table;
use thresholds::Thresholds;
use waiting::Blocked;

/// How many databases SELECT can choose from, as a Redis server by default.
pub(crate) const DATABASES: usize = 16;

/// How many shards a keyspace has: enough that the threads of a large machine seldom meet.
const SHARDS: usize = 32;

/// All keys of one engine.
#[derive(Debug)]
pub(crate) struct Keyspace {
    shards: Box<[RwLock<Shard>]>,
    thresholds: Thresholds,
    blocked: Blocked,
    listening: Listening,
    /// Keys that have been removed because their deadline had passed.
    expired: AtomicU64,
}

/// A key's shard and its hash. The shard comes from bits that the tables use least.
#[inline]
fn locate(key: &[u8]) -> (u32, u64) {
    let hash = hash_key(key);
    ((hash >> 52) as u32 % SHARDS as u32, hash)
}

/// What a command may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Reads only: the lock is shared.
    Read,
    /// Changes: the lock is exclusive.
    Write,
}

/// How long one waits for a lock before asking again whether to go on waiting.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Tries again and again, unless `give_up` says not to.
#[cold]
fn patiently<G>(attempt: impl Fn() -> Option<G>, give_up: &impl Fn() -> bool) -> Option<G> {
    loop {
        if give_up() {
            return None;
        }
        if let Some(guard) = attempt() {
            return Some(guard);
        }
    }
}

impl Default for Keyspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Keyspace {
    /// An empty keyspace.
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            thresholds: Thresholds::new(Limits::default()),
            blocked: Blocked::default(),
            listening: Listening::default(),
            expired: AtomicU64::new(0),
        }
    }

    /// The thresholds between packed and large collections.
    #[inline]
    pub(crate) fn limits(&self) -> Limits {
        self.thresholds.get()
    }

    /// Changes the thresholds; existing collections keep their form, as in Redis.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.thresholds.set(limits);
    }

    /// Locks what `scope` names and gives a view of database `index` at time `now_ms`. `None` when
    /// it has to wait for a lock and `give_up` says to wait no longer; it is asked now and then.
    ///
    /// Locks all shards exclusively when one of those to be written holds a client that, once
    /// served, would push to another.
    pub(crate) fn lock_unless(
        &self,
        scope: Scope,
        index: usize,
        now_ms: i64,
        give_up: impl Fn() -> bool,
    ) -> Option<Db<'_>> {
        let mut locks = Locks::default();
        for (shard, access) in scope.shards() {
            locks.push(shard, self.guard(shard, access, &give_up)?);
        }
        if locks.have_movers() && scope != Scope::all(Access::Write) {
            drop(locks);
            return self.lock_unless(Scope::all(Access::Write), index, now_ms, give_up);
        }
        Some(Db::new(self, locks, index, now_ms))
    }

    #[inline]
    fn guard(&self, shard: u32, access: Access, give_up: &impl Fn() -> bool) -> Option<Guard<'_>> {
        let lock = &self.shards[shard as usize];
        match access {
            Access::Read => lock
                .try_read()
                .or_else(|| patiently(|| lock.try_read_for(ASK_EVERY), give_up))
                .map(Guard::Read),
            Access::Write => lock
                .try_write()
                .or_else(|| patiently(|| lock.try_write_for(ASK_EVERY), give_up))
                .map(Guard::Write),
        }
    }

    /// Removes up to `most` keys whose deadline has passed, of all databases; says how many. Leaves
    /// alone what is locked just now.
    pub(crate) fn expire(&self, now_ms: i64, most: usize) -> usize {
        let mut removed = 0;
        let is_due = |shard: &RwLock<Shard>| {
            let shard = shard.try_read();
            shard.is_some_and(|shard| shard.dbs.iter().any(|table| table.due(now_ms).is_some()))
        };
        for shard in &self.shards {
            if removed >= most {
                break;
            }
            if !is_due(shard) {
                continue;
            }
            let Some(mut shard) = shard.try_write() else { continue };
            for db in 0..DATABASES {
                removed += shard.expire_due(db, now_ms, most.saturating_sub(removed));
            }
        }
        self.expired.fetch_add(removed as u64, Ordering::Relaxed);
        removed
    }

    /// The earliest deadline of any key, in milliseconds since the epoch.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        let earliest =
            |shard: &RwLock<Shard>| shard.read().dbs.iter().filter_map(Table::next_deadline).min();
        self.shards.iter().filter_map(earliest).min()
    }

    /// Keys under WATCH at present.
    #[cfg(test)]
    pub(crate) fn watched_keys(&self) -> usize {
        self.shards.iter().map(|s| s.read().watchers.len()).sum()
    }

    /// How many keys have been removed because their deadline had passed.
    pub(crate) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Makes [`expired`](Self::expired) count from zero again.
    pub(crate) fn reset_stats(&self) {
        self.expired.store(0, Ordering::Relaxed);
    }

    #[doc(hidden)]
    pub(crate) fn check_invariants(&self) {
        for shard in &self.shards {
            shard.read().dbs.iter().for_each(Table::check_invariants);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::types::Str;

    impl Keyspace {
        pub(in crate::db) fn lock(&self, scope: Scope, index: usize, now_ms: i64) -> Db<'_> {
            self.lock_unless(scope, index, now_ms, || false).expect("nobody gives up")
        }
    }

    /// A key that lies in this shard.
    fn key_of(shard: usize) -> Vec<u8> {
        let mut names = (0_u32..).map(|n| n.to_string().into_bytes());
        names.find(|name| locate(name).0 as usize == shard).unwrap()
    }

    fn write(keyspace: &Keyspace, key: &[u8]) {
        let mut db = keyspace.lock(Scope::of([(key, Access::Write)]), 0, 0);
        db.set(key, Object::Str(Str::new(b"x")), Expire::At(1));
    }

    #[test]
    fn expiry_waits_for_no_shard_once_it_has_removed_enough() {
        let keyspace = Keyspace::new();
        let (first, last) = (key_of(0), key_of(SHARDS - 1));
        write(&keyspace, &first);
        write(&keyspace, &last);
        std::thread::scope(|scope| {
            let held = keyspace.lock(Scope::of([(&*last, Access::Write)]), 0, 0);
            let (done, waited) = channel();
            let keyspace = &keyspace;
            scope.spawn(move || done.send(keyspace.expire(2, 1)));
            let removed = waited.recv_timeout(Duration::from_secs(10));
            drop(held);
            assert_eq!(removed, Ok(1));
        });
        assert_eq!(keyspace.expire(2, 9), 1);
    }
}
