//! [`Thresholds`]: [`Limits`] that can be set while others read them.
//!
//! Every write reads them, so they stand behind no lock: a version that is odd while they are being
//! set tells readers to look again.
//!
//! Invariant: a reader sees what was set together either all or not at all.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::types::Limits;

const ACQUIRE: Ordering = Ordering::Acquire;
const RELEASE: Ordering = Ordering::Release;

#[derive(Debug)]
pub(super) struct Thresholds {
    version: AtomicU64,
    setting: Mutex<()>,
    hash_entries: AtomicUsize,
    hash_value: AtomicUsize,
    zset_entries: AtomicUsize,
    zset_value: AtomicUsize,
    set_entries: AtomicUsize,
    list_size: AtomicI64,
}

impl Thresholds {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            version: AtomicU64::new(0),
            setting: Mutex::new(()),
            hash_entries: limits.hash_listpack_entries.into(),
            hash_value: limits.hash_listpack_value.into(),
            zset_entries: limits.zset_listpack_entries.into(),
            zset_value: limits.zset_listpack_value.into(),
            set_entries: limits.set_intset_entries.into(),
            list_size: limits.list_listpack_size.into(),
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Limits {
        loop {
            let version = self.version.load(ACQUIRE);
            let limits = Limits {
                hash_listpack_entries: self.hash_entries.load(ACQUIRE),
                hash_listpack_value: self.hash_value.load(ACQUIRE),
                zset_listpack_entries: self.zset_entries.load(ACQUIRE),
                zset_listpack_value: self.zset_value.load(ACQUIRE),
                set_intset_entries: self.set_entries.load(ACQUIRE),
                list_listpack_size: self.list_size.load(ACQUIRE),
            };
            if version.is_multiple_of(2) && self.version.load(ACQUIRE) == version {
                return limits;
            }
            std::hint::spin_loop();
        }
    }

    pub(super) fn set(&self, limits: Limits) {
        let _alone = self.setting.lock();
        self.version.fetch_add(1, Ordering::AcqRel);
        self.hash_entries.store(limits.hash_listpack_entries, RELEASE);
        self.hash_value.store(limits.hash_listpack_value, RELEASE);
        self.zset_entries.store(limits.zset_listpack_entries, RELEASE);
        self.zset_value.store(limits.zset_listpack_value, RELEASE);
        self.set_entries.store(limits.set_intset_entries, RELEASE);
        self.list_size.store(limits.list_listpack_size, RELEASE);
        self.version.fetch_add(1, RELEASE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(n: usize) -> Limits {
        Limits {
            hash_listpack_entries: n,
            hash_listpack_value: n,
            zset_listpack_entries: n,
            zset_listpack_value: n,
            set_intset_entries: n,
            list_listpack_size: n as i64,
        }
    }

    #[test]
    fn what_is_set_together_is_seen_together() {
        let thresholds = Thresholds::new(all(0));
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=20_000).for_each(|n| thresholds.set(all(n))));
            let mut last = 0;
            while last < 20_000 {
                let seen = thresholds.get();
                assert_eq!(seen, all(seen.hash_listpack_entries));
                assert!(seen.hash_listpack_entries >= last);
                last = seen.hash_listpack_entries;
            }
        });
    }
}
