//! The keys that sessions WATCH, per shard.
//!
//! A watcher is a flag that the session owns; whoever changes a watched key raises it. Watches
//! belong to the number of a database, not to its content, so SWAPDB leaves them where they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bytes::Bytes;

/// Raised when a watched key changes.
#[derive(Clone, Debug, Default)]
pub struct WatchFlag(Arc<AtomicBool>);

impl WatchFlag {
    /// Whether a watched key has changed.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Marks a change.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The watched keys of one shard. An ordered map: few keys are watched at a time, and walking it
/// must not depend on a hash.
#[derive(Debug, Default)]
pub(super) struct Watchers(BTreeMap<(usize, Bytes), Vec<WatchFlag>>);

impl Watchers {
    /// Whether it did not watch the key already.
    pub(super) fn add(&mut self, db: usize, key: &[u8], flag: &WatchFlag) -> bool {
        let flags = self.0.entry((db, Bytes::copy_from(key))).or_default();
        let new = !flags.iter().any(|f| f.is(flag));
        if new {
            flags.push(flag.clone());
        }
        new
    }

    pub(super) fn remove(&mut self, db: usize, key: &[u8], flag: &WatchFlag) {
        let at = (db, Bytes::copy_from(key));
        if let Some(flags) = self.0.get_mut(&at) {
            flags.retain(|f| !f.is(flag));
            if flags.is_empty() {
                self.0.remove(&at);
            }
        }
    }

    /// Raises the flags of all who watch `key`.
    #[inline]
    pub(super) fn touch(&self, db: usize, key: &[u8]) {
        if !self.0.is_empty() {
            self.raise(db, key);
        }
    }

    #[cold]
    fn raise(&self, db: usize, key: &[u8]) {
        if let Some(flags) = self.0.get(&(db, Bytes::copy_from(key))) {
            flags.iter().for_each(WatchFlag::raise);
        }
    }

    /// Raises the flags of those watched keys of `db` for which `changed` holds.
    pub(super) fn touch_where(&self, db: usize, changed: impl Fn(&[u8]) -> bool) {
        for ((_, key), flags) in self.0.range((db, Bytes::EMPTY)..(db + 1, Bytes::EMPTY)) {
            if changed(key) {
                flags.iter().for_each(WatchFlag::raise);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
