//! [`Pauses`]: how long visitors wait between two events.
//!
//! Only pauses of up to half an hour count: after a longer one a visitor has come anew. So no
//! visitor need be remembered for longer, and memory is bounded by those of an hour: two
//! generations of them, of which the older is dropped every half hour.

use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::tally::fingerprint;
use crate::Timestamp;

/// The longest pause within a visit.
const LONGEST: Duration = Duration::from_secs(1_800);

/// The most visitors of half an hour that are remembered.
const MOST: usize = 1 << 21;

type Seen = HashMap<u64, Timestamp, FixedState>;

/// When visitors were last seen, by a fingerprint of their id.
#[derive(Default)]
pub(super) struct Pauses {
    young: Seen,
    old: Seen,
    since: Timestamp,
}

impl Pauses {
    /// Notes an event of a visitor; how long after the one before, if that was in the same visit.
    pub(super) fn note(&mut self, visitor: &[u8], now: Timestamp) -> Option<Duration> {
        if now.since(self.since) > LONGEST {
            self.old = std::mem::take(&mut self.young);
            self.since = now;
        }
        let visitor = fingerprint(visitor);
        let known = self.young.contains_key(&visitor);
        let last = if known || self.young.len() < MOST {
            self.young.insert(visitor, now).or_else(|| self.old.remove(&visitor))
        } else {
            None
        };
        last.map(|last| now.since(last)).filter(|pause| *pause <= LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_those_within_a_visit() {
        let mut pauses = Pauses::default();
        let mut note = |visitor: &[u8], at: i64| {
            pauses.note(visitor, Timestamp::from_secs(at)).map(|pause| pause.as_secs())
        };
        assert_eq!(note(b"a", 1_000_000), None);
        assert_eq!(note(b"b", 1_000_001), None);
        assert_eq!(note(b"a", 1_000_007), Some(7));
        assert_eq!(note(b"a", 1_000_007), Some(0));
        // Over the change of a generation, to the second.
        assert_eq!(note(b"a", 1_001_807), Some(1_800));
        assert_eq!(note(b"b", 1_001_802), None);
        assert_eq!(note(b"a", 1_003_608), None);
        assert_eq!(note(b"c", 1_010_000), None);
        assert_eq!(note(b"a", 1_020_000), None);
    }

    #[test]
    fn a_long_trace_leaves_few_visitors_behind() {
        let mut pauses = Pauses::default();
        for n in 0..100_000_i64 {
            pauses.note(&n.to_be_bytes(), Timestamp::from_secs(n));
        }
        assert!(pauses.young.len() + pauses.old.len() <= 3_700);
    }
}
