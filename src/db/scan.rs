//! What concerns a whole database: its size, a random key, SCAN, FLUSHDB, SWAPDB. The command must
//! have locked all shards.

use super::object::Object;
use super::table::Table;
use super::view::Db;
use super::{DATABASES, SHARDS, locate};
use crate::bytes::Bytes;
use crate::env::Env;

/// Numbers of one database for `INFO keyspace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DbStats {
    /// Live keys.
    pub keys: usize,
    /// Keys with a deadline.
    pub expires: usize,
    /// Mean time to live of those, in milliseconds; 0 when there are none.
    pub average_ttl_ms: i64,
}

impl Db<'_> {
    /// How many live keys the selected database holds. Time proportional to the number of shards
    /// and of keys that are due.
    pub fn len(&self) -> usize {
        let now_ms = self.now_ms();
        self.tables().map(|t| t.len() - t.count_due(now_ms)).sum()
    }

    /// Whether the selected database holds no live key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers for `INFO keyspace`.
    pub fn stats(&self) -> DbStats {
        let now_ms = self.now_ms();
        let due: usize = self.tables().map(|t| t.count_due(now_ms)).sum();
        let expires = self.tables().map(Table::deadlines).sum::<usize>() - due;
        let ttl: i128 = self.tables().map(|t| t.sum_of_ttls(now_ms)).sum();
        let average_ttl_ms = if expires == 0 { 0 } else { (ttl / expires as i128) as i64 };
        DbStats { keys: self.len(), expires, average_ttl_ms }
    }

    /// Bytes that the selected database takes, estimated from a few entries of each shard.
    pub fn memory(&self) -> usize {
        self.tables().map(Table::memory).sum()
    }

    /// A random live key, each equally likely. O(shards), unless most keys are due.
    pub fn random_key(&self, env: &Env) -> Option<Bytes> {
        let total: usize = self.tables().map(Table::len).sum();
        let now_ms = self.now_ms();
        let nth = |mut n: usize| {
            for table in self.tables() {
                if n < table.len() {
                    return (!table.is_expired(n, now_ms)).then(|| table.entry(n).key.clone());
                }
                n -= table.len();
            }
            None
        };
        for _ in 0..100 {
            if let Some(key) = nth(env.below(total as u64) as usize) {
                return Some(key);
            }
        }
        let live = self.len();
        let skip = env.below(live as u64) as usize;
        self.iter().nth(skip).map(|(key, _)| key.clone())
    }

    /// All live keys of the selected database with their values, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&Bytes, &Object)> {
        let now_ms = self.now_ms();
        self.tables().flat_map(move |table| {
            (0..table.len()).filter(move |&at| !table.is_expired(at, now_ms)).map(move |at| {
                let entry = table.entry(at);
                (&entry.key, &entry.object)
            })
        })
    }

    /// One page of SCAN: visits about `count` live keys from `cursor` on (0 to start) and answers
    /// the next cursor (0 at the end). A key that is there throughout is visited at least once,
    /// whatever else comes and goes. O(count + shards).
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&Bytes, &Object)) -> u64 {
        // A cursor holds the shard and one more than the next position; positions go down.
        let (mut shard, mut next) = if cursor == 0 {
            (0, usize::MAX)
        } else {
            ((cursor % SHARDS as u64) as u32, (cursor / SHARDS as u64) as usize)
        };
        let mut budget = count.max(1);
        let now_ms = self.now_ms();
        while shard < SHARDS as u32 {
            let table = self.shard(shard).and_then(|s| s.table(self.index()));
            next = next.min(table.map_or(0, Table::len));
            while next > 0 {
                if budget == 0 {
                    return next as u64 * SHARDS as u64 + u64::from(shard);
                }
                next -= 1;
                budget -= 1;
                if let Some(table) = table.filter(|t| !t.is_expired(next, now_ms)) {
                    let entry = table.entry(next);
                    visit(&entry.key, &entry.object);
                }
            }
            shard += 1;
            next = usize::MAX;
        }
        0
    }

    /// Removes all keys of the selected database.
    pub fn flush(&mut self) {
        let index = self.index();
        for number in 0..SHARDS as u32 {
            let shard = self.shard_mut(number);
            let old = std::mem::take(shard.table_mut(index));
            let held = |key: &[u8]| old.find(locate(key).1, key).is_some();
            shard.watchers.touch_where(index, held);
        }
    }

    /// Removes all keys of all databases.
    pub fn flush_all(&mut self) {
        let selected = self.index();
        for index in 0..DATABASES {
            self.select(index);
            self.flush();
        }
        self.select(selected);
    }

    /// Exchanges the keys of two databases. Watches stay with the number, and so does who waits.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        for number in 0..SHARDS as u32 {
            let shard = self.shard_mut(number);
            shard.table_mut(a.max(b));
            shard.dbs.swap(a, b);
            let (ta, tb) = (&shard.dbs[a], &shard.dbs[b]);
            let held = |key: &[u8]| {
                let hash = locate(key).1;
                ta.find(hash, key).is_some() || tb.find(hash, key).is_some()
            };
            shard.watchers.touch_where(a, held);
            shard.watchers.touch_where(b, held);
        }
        self.signal_all(a);
        self.signal_all(b);
    }
}
