//! [`Scope`]: which shards a command is to lock; [`Locks`]: those that it has locked.
//!
//! Both are sets of bits, one a shard, so that neither order nor duplicates of keys cost anything:
//! walking the bits upwards is the order in which locks are taken.
//!
//! Invariant: the guards stand in the order of their shards, one for each bit.

use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use super::shard::Shard;
use super::{Access, SHARDS, locate};

const _: () = assert!(SHARDS == u32::BITS as usize, "a bit for each shard");

#[derive(Debug)]
pub(super) enum Guard<'k> {
    Read(RwLockReadGuard<'k, Shard>),
    Write(RwLockWriteGuard<'k, Shard>),
}

/// The shards that are locked.
#[derive(Debug, Default)]
pub(super) struct Locks<'k> {
    shards: u32,
    guards: SmallVec<[Guard<'k>; 8]>,
}

impl<'k> Locks<'k> {
    /// Adds a shard, which must be above those that are locked already.
    #[inline]
    pub(super) fn push(&mut self, shard: u32, guard: Guard<'k>) {
        debug_assert!(self.shards < 1 << shard, "locks are taken in ascending order");
        self.shards |= 1 << shard;
        self.guards.push(guard);
    }

    /// How many shards are locked.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.guards.len()
    }

    /// Whether a shard is locked.
    #[inline]
    pub(super) fn holds(&self, shard: u32) -> bool {
        self.shards & 1 << shard != 0
    }

    #[inline]
    fn position(&self, shard: u32) -> Option<usize> {
        let below = (1 << shard) - 1;
        self.holds(shard).then_some((self.shards & below).count_ones() as usize)
    }

    /// A shard, if it is locked.
    #[inline]
    pub(super) fn get(&self, shard: u32) -> Option<&Shard> {
        match self.guards.get(self.position(shard)?)? {
            Guard::Read(shard) => Some(shard),
            Guard::Write(shard) => Some(shard),
        }
    }

    /// A shard, if it is locked exclusively.
    #[inline]
    pub(super) fn get_mut(&mut self, shard: u32) -> Option<&mut Shard> {
        let position = self.position(shard)?;
        match self.guards.get_mut(position)? {
            Guard::Read(_) => None,
            Guard::Write(shard) => Some(shard),
        }
    }

    /// The locked shards, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Shard> {
        self.guards.iter().map(|guard| match guard {
            Guard::Read(shard) => &**shard,
            Guard::Write(shard) => &**shard,
        })
    }

    /// Whether a shard that may be written holds a client that, once served, would push to another.
    #[inline]
    pub(super) fn have_movers(&self) -> bool {
        let moves = |guard: &Guard<'_>| matches!(guard, Guard::Write(s) if s.waiting.has_movers());
        self.guards.iter().any(moves)
    }
}

/// Which shards to lock, and which of them exclusively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    shards: u32,
    exclusive: u32,
}

impl Scope {
    /// None: for what touches no key.
    pub(crate) const NOTHING: Self = Self { shards: 0, exclusive: 0 };

    /// All: for what does not say beforehand which keys it touches.
    pub(crate) const fn all(access: Access) -> Self {
        Self {
            shards: u32::MAX,
            exclusive: match access {
                Access::Read => 0,
                Access::Write => u32::MAX,
            },
        }
    }

    /// Those of these keys.
    pub(crate) fn of<'a>(keys: impl IntoIterator<Item = (&'a [u8], Access)>) -> Self {
        let key = |(key, access)| Self::of_key(key, access);
        keys.into_iter().map(key).fold(Self::NOTHING, Self::or)
    }

    /// That of a key.
    #[inline]
    pub(crate) fn of_key(key: &[u8], access: Access) -> Self {
        let shards = 1 << locate(key).0;
        Self { shards, exclusive: if access == Access::Write { shards } else { 0 } }
    }

    /// Both together. A shard of both is locked exclusively if it is in one of them.
    #[inline]
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self { shards: self.shards | other.shards, exclusive: self.exclusive | other.exclusive }
    }

    /// The shards in the order in which they are to be locked.
    #[inline]
    pub(super) fn shards(self) -> impl Iterator<Item = (u32, Access)> {
        let mut left = self.shards;
        std::iter::from_fn(move || {
            let shard = left.trailing_zeros();
            let bit = 1_u32.checked_shl(shard)?;
            left ^= bit;
            Some((shard, if self.exclusive & bit == 0 { Access::Read } else { Access::Write }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_wanted_once_and_in_ascending_order() {
        let names: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n]).collect();
        let read = names.iter().map(|name| (&**name, Access::Read));
        let written = names.iter().step_by(7).map(|name| (&**name, Access::Write));
        let wanted: Vec<_> = Scope::of(read.chain(written.clone())).shards().collect();
        assert!(wanted.is_sorted_by(|a, b| a.0 < b.0));
        for (shard, access) in wanted {
            assert!(names.iter().any(|name| locate(name).0 == shard));
            let is_written = written.clone().any(|(name, _)| locate(name).0 == shard);
            assert_eq!(access == Access::Write, is_written);
        }
        assert_eq!(Scope::NOTHING.shards().count(), 0);
        let all = Scope::all(Access::Write).shards();
        assert!(all.eq((0..SHARDS as u32).map(|shard| (shard, Access::Write))));
    }
}
