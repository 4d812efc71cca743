//! [`Stats`]: how many commands and round trips a backend has made.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a backend has sent since it was made, by all its clones and sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Commands, `WATCH` included; the frame of a transaction (`MULTI`, `EXEC`) is not counted.
    pub commands: u64,
    /// Times that a caller waited for the server, or would have: a pipeline or a transaction is
    /// one.
    pub round_trips: u64,
}

/// Enough that threads seldom share one.
const STRIPES: usize = 16;

/// Counts for many threads at once: each adds to a cache line of its own.
#[derive(Debug, Default)]
pub(super) struct Counters([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(64))]
struct Stripe {
    commands: AtomicU64,
    round_trips: AtomicU64,
}

impl Counters {
    /// Counts one round trip with `commands` commands; without any there is none.
    #[inline]
    pub(super) fn trip(&self, commands: usize) {
        if commands > 0 {
            self.transaction(commands);
        }
    }

    /// Counts one round trip with a transaction of `commands` commands; `EXEC` is sent without any,
    /// too.
    #[inline]
    pub(super) fn transaction(&self, commands: usize) {
        let stripe = &self.0[own_stripe()];
        stripe.commands.fetch_add(commands as u64, Ordering::Relaxed);
        stripe.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn sum(&self) -> Stats {
        let add = |sum: Stats, stripe: &Stripe| Stats {
            commands: sum.commands + stripe.commands.load(Ordering::Relaxed),
            round_trips: sum.round_trips + stripe.round_trips.load(Ordering::Relaxed),
        };
        self.0.iter().fold(Stats::default(), add)
    }
}

#[inline]
fn own_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    }
    OWN.with(|own| *own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| counters.trip(3)));
            }
        });
        assert_eq!(counters.sum(), Stats { commands: 1_200, round_trips: 400 });
    }
}
