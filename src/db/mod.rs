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
mod object;
mod scan;
mod table;
mod view;
mod waiting;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

pub(crate) use listening::{Listener, Topic};
pub(crate) use object::{Kind, Object};
pub(crate) use view::{Db, Expire};
pub(crate) use waiting::{Awaited, Waiter, Wakers, Want};
pub(crate) use watch::WatchFlag;

use crate::types::Limits;
use crate::types::dense::hash_key;
use listening::Listening;
use table::Table;
use waiting::{Blocked, Waiting};
use watch::Watchers;

/// How many databases SELECT can choose from, as a Redis server by default.
pub(crate) const DATABASES: usize = 16;

/// How many shards a keyspace has: enough that the threads of a large machine seldom meet.
const SHARDS: usize = 32;

/// All keys of one engine.
#[derive(Debug)]
pub(crate) struct Keyspace {
    shards: Box<[RwLock<Shard>]>,
    limits: RwLock<Limits>,
    blocked: Blocked,
    listening: Listening,
    /// Keys that have been removed because their deadline had passed.
    expired: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    /// As many as have been used so far.
    dbs: Vec<Table>,
    watchers: Watchers,
    waiting: Waiting,
}

impl Shard {
    #[inline]
    fn table(&self, db: usize) -> Option<&Table> {
        self.dbs.get(db)
    }

    #[inline]
    fn table_mut(&mut self, db: usize) -> &mut Table {
        if self.dbs.len() <= db {
            self.dbs.resize_with(db + 1, Table::default);
        }
        &mut self.dbs[db]
    }
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

/// Which shards to lock.
#[derive(Debug)]
pub(crate) enum Scope<'a> {
    /// None: the command touches no key.
    Nothing,
    /// Those of these keys.
    Keys(&'a [(&'a [u8], Access)]),
    /// All: the command's keys cannot be told beforehand.
    All(Access),
}

#[derive(Debug)]
enum Guard<'k> {
    Read(RwLockReadGuard<'k, Shard>),
    Write(RwLockWriteGuard<'k, Shard>),
}

impl Guard<'_> {
    #[inline]
    fn has_movers(&self) -> bool {
        matches!(self, Self::Write(shard) if shard.waiting.has_movers())
    }
}

/// Locked shards, ascending.
type Guards<'k> = SmallVec<[(u32, Guard<'k>); 4]>;

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
            limits: RwLock::new(Limits::default()),
            blocked: Blocked::default(),
            listening: Listening::default(),
            expired: AtomicU64::new(0),
        }
    }

    /// The thresholds between packed and large collections.
    pub(crate) fn limits(&self) -> Limits {
        *self.limits.read()
    }

    /// Changes the thresholds; existing collections keep their form, as in Redis.
    pub(crate) fn set_limits(&self, limits: Limits) {
        *self.limits.write() = limits;
    }

    /// Locks what `scope` names and gives a view of database `index` at time `now_ms`. `None` when
    /// it has to wait for a lock and `give_up` says to wait no longer; it is asked now and then.
    ///
    /// Locks all shards exclusively when one of those to be written holds a client that, once
    /// served, would push to another.
    pub(crate) fn lock_unless(
        &self,
        scope: &Scope<'_>,
        index: usize,
        now_ms: i64,
        give_up: impl Fn() -> bool,
    ) -> Option<Db<'_>> {
        let mut guards = Guards::new();
        match scope {
            Scope::Nothing => {}
            Scope::Keys([(key, access)]) => {
                let shard = locate(key).0;
                guards.push((shard, self.guard(shard, *access, &give_up)?));
            }
            Scope::Keys(keys) => {
                let mut wanted: SmallVec<[(u32, Access); 8]> =
                    keys.iter().map(|(key, access)| (locate(key).0, *access)).collect();
                // A shard wanted both ways is locked exclusively: Write sorts first.
                wanted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                wanted.dedup_by_key(|w| w.0);
                for (shard, access) in wanted {
                    guards.push((shard, self.guard(shard, access, &give_up)?));
                }
            }
            Scope::All(access) => {
                guards.reserve_exact(SHARDS);
                for shard in 0..SHARDS as u32 {
                    guards.push((shard, self.guard(shard, *access, &give_up)?));
                }
            }
        }
        if guards.len() < SHARDS && guards.iter().any(|(_, guard)| guard.has_movers()) {
            drop(guards);
            return self.lock_unless(&Scope::All(Access::Write), index, now_ms, give_up);
        }
        Some(Db::new(self, guards, index, now_ms))
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
        let is_due = |shard: u32| {
            let shard = self.shards[shard as usize].try_read();
            shard.is_some_and(|shard| shard.dbs.iter().any(|table| table.due(now_ms).is_some()))
        };
        for shard in 0..SHARDS as u32 {
            if removed >= most {
                break;
            }
            if !is_due(shard) {
                continue;
            }
            let Some(guard) = self.shards[shard as usize].try_write() else { continue };
            let mut guards = Guards::new();
            guards.push((shard, Guard::Write(guard)));
            let mut db = Db::new(self, guards, 0, now_ms);
            for index in 0..DATABASES {
                db.select(index);
                removed += db.expire_due(shard, most.saturating_sub(removed));
            }
        }
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
        pub(in crate::db) fn lock(&self, scope: &Scope<'_>, index: usize, now_ms: i64) -> Db<'_> {
            self.lock_unless(scope, index, now_ms, || false).expect("nobody gives up")
        }
    }

    /// A key that lies in this shard.
    fn key_of(shard: usize) -> Vec<u8> {
        let mut names = (0_u32..).map(|n| n.to_string().into_bytes());
        names.find(|name| locate(name).0 as usize == shard).unwrap()
    }

    fn write(keyspace: &Keyspace, key: &[u8]) {
        let scope = [(key, Access::Write)];
        let mut db = keyspace.lock(&Scope::Keys(&scope), 0, 0);
        db.set(key, Object::Str(Str::new(b"x")), Expire::At(1));
    }

    #[test]
    fn expiry_waits_for_no_shard_once_it_has_removed_enough() {
        let keyspace = Keyspace::new();
        let (first, last) = (key_of(0), key_of(SHARDS - 1));
        write(&keyspace, &first);
        write(&keyspace, &last);
        std::thread::scope(|scope| {
            let locked = [(&*last, Access::Write)];
            let held = keyspace.lock(&Scope::Keys(&locked), 0, 0);
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
