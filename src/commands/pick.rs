//! Random picks for `HRANDFIELD`, `SRANDMEMBER`, `ZRANDMEMBER`: which positions of a collection to
//! answer.
//!
//! Every subset (or sequence, with repetition) is equally likely, and so is every order. Costs
//! follow the number of picks, not the size of the collection. Randomness comes from the
//! environment, so a seed repeats the picks.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::env::Env;
use crate::error::WireError;

/// The most picks with repetition. Redis streams any number until memory ends or somebody stops
/// it; a reply is built whole here, so that an absurd count must be refused.
const MOST: usize = 1 << 24;

/// The most bytes of members picked with repetition: as many as one string may have.
const MOST_BYTES: usize = 512 << 20;

/// `count` positions below `len`, each drawn anew. None at all when `len` is 0. O(count).
pub(crate) fn repeated(env: &Env, count: u64, len: usize) -> Result<Vec<usize>, WireError> {
    match usize::try_from(count) {
        _ if len == 0 => Ok(Vec::new()),
        Ok(count) if count <= MOST => Ok((0..count).map(|_| one(env, len)).collect()),
        _ => Err(WireError::OUT_OF_RANGE),
    }
}

/// Refuses members picked with repetition, by their lengths, that are too much for one reply.
pub(crate) fn fit(lengths: impl IntoIterator<Item = usize>) -> Result<(), WireError> {
    let take = |left: usize, len| left.checked_sub(len);
    let left = lengths.into_iter().try_fold(MOST_BYTES, take);
    left.map(drop).ok_or(WireError::OUT_OF_RANGE)
}

/// `count` distinct positions below `len`, in random order; all of them when `count` is larger.
/// O(count).
pub(crate) fn distinct(env: &Env, count: usize, len: usize) -> Vec<usize> {
    let count = count.min(len);
    // A shuffle of all positions, stopped after `count`. Only what it moved is written down: at
    // position `i` stands `moved[i]`, or `i` itself.
    let mut moved: HashMap<usize, usize, FixedState> = HashMap::default();
    let mut picks = Vec::with_capacity(count);
    for i in 0..count {
        let chosen = i + one(env, len - i);
        let displaced = moved.get(&i).copied().unwrap_or(i);
        picks.push(moved.insert(chosen, displaced).unwrap_or(chosen));
    }
    picks
}

/// A position below `len`, each equally likely.
pub(crate) fn one(env: &Env, len: usize) -> usize {
    env.below(len as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::env::Timestamp;

    fn env() -> Env {
        Env::manual(Timestamp::EPOCH, 7)
    }

    #[test]
    fn distinct_picks_are_distinct_and_complete() {
        for (count, len) in [(0, 5), (1, 1), (3, 10), (10, 10), (99, 10), (5, 0), (7, 1_000_000)] {
            let picks = distinct(&env(), count, len);
            assert_eq!(picks.len(), count.min(len));
            assert!(picks.iter().all(|&pick| pick < len));
            assert_eq!(picks.iter().collect::<BTreeSet<_>>().len(), picks.len());
        }
    }

    #[test]
    fn every_ordered_pair_is_equally_likely() {
        let env = env();
        let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for _ in 0..20_000 {
            *seen.entry(distinct(&env, 2, 5)).or_default() += 1;
        }
        assert_eq!(seen.len(), 20);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }

    #[test]
    fn an_absurd_count_is_refused_and_an_empty_collection_gives_nothing() {
        assert!(repeated(&env(), u64::MAX, 3).is_err());
        assert_eq!(repeated(&env(), u64::MAX, 0), Ok(vec![]));
        assert_eq!(repeated(&env(), 4, 1), Ok(vec![0; 4]));
        assert_eq!(fit([1 << 28, 1 << 28]), Ok(()));
        assert!(fit([1 << 28, 1 << 28, 1]).is_err());
        assert!(fit([usize::MAX, usize::MAX]).is_err());
    }
}
