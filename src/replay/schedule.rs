//! When a daemon of the shop would have run, had it lived in the trace's time.
//!
//! A daemon with a period runs first when the trace begins, then each period later. Between two
//! events nothing changes but by the daemons themselves, so of the many runs that fall into a long
//! gap, those that would find nothing to do need not be made: [`Due`] says which came due, and
//! each daemon's own rule (see `upkeep`) which of them matter.

use std::time::Duration;

use crate::Timestamp;

/// The runs of one daemon.
#[derive(Debug)]
pub(super) struct Schedule {
    period_us: i64,
    /// The time of run 0.
    start: Timestamp,
    /// The number of the next run.
    next: u64,
}

/// Runs that have come due: numbers `first..=last`, a period apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Schedule {
    /// A daemon that runs at `start` and every `period` after it; a period is at least 1 µs.
    pub(super) fn new(start: Timestamp, period: Duration) -> Self {
        let period_us = i64::try_from(period.as_micros()).unwrap_or(i64::MAX).max(1);
        Self { period_us, start, next: 0 }
    }

    /// The runs up to and including `now` that were not yet returned.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<Due> {
        let past = now.as_micros().checked_sub(self.start.as_micros())?;
        let last = u64::try_from(past.div_euclid(self.period_us)).ok()?;
        let first = self.next;
        (last >= first).then(|| {
            self.next = last + 1;
            Due { first, last }
        })
    }

    /// The number of the first run at `time` or later.
    pub(super) fn first_at(&self, time: Timestamp) -> u64 {
        let past = time.as_micros().saturating_sub(self.start.as_micros()).max(0) as u64;
        past.div_ceil(self.period_us as u64)
    }

    /// When run `n` is.
    pub(super) fn time_of(&self, n: u64) -> Timestamp {
        let past = self.period_us.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        Timestamp::from_micros(self.start.as_micros().saturating_add(past))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_secs(s)
    }

    #[test]
    fn runs_come_due_once_and_in_order() {
        let mut minutes = Schedule::new(at(100), Duration::from_secs(60));
        assert_eq!(minutes.due(at(99)), None);
        assert_eq!(minutes.due(at(100)), Some(Due { first: 0, last: 0 }));
        assert_eq!(minutes.due(at(159)), None);
        assert_eq!(minutes.due(at(160)), Some(Due { first: 1, last: 1 }));
        assert_eq!(minutes.due(at(160)), None);
        assert_eq!(minutes.due(at(400)), Some(Due { first: 2, last: 5 }));
        assert_eq!(minutes.time_of(5), at(400));
        assert_eq!(minutes.due(at(0)), None);
    }

    #[test]
    fn the_first_run_at_a_time_is_not_before_it() {
        let minutes = Schedule::new(at(100), Duration::from_secs(60));
        let firsts = [0, 100, 101, 160, 161].map(|s| minutes.first_at(at(s)));
        assert_eq!(firsts, [0, 0, 1, 1, 2]);
    }

    #[test]
    fn the_longest_gap_is_one_answer() {
        let mut seconds = Schedule::new(Timestamp::EPOCH, Duration::from_secs(1));
        let due = seconds.due(at(253_402_300_799)).unwrap();
        assert_eq!(due, Due { first: 0, last: 253_402_300_799 });
        assert_eq!(seconds.time_of(u64::MAX), Timestamp::from_micros(i64::MAX));
    }
}
