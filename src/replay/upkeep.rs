//! The shop's daemons in the trace's time: the session cleaner each second, popularity's rescale
//! every five minutes, the counter cleaner each minute. The row daemon is among the `extras`.
//!
//! All begin with the trace. Before each event those of their runs that have come due are made,
//! with the result that they would have had at their own times. After a long gap that does not
//! take each of them, because most would find nothing to do:
//!
//! * the session cleaner removes what is over the limit, and between two events nothing is added:
//!   one run is as good as all;
//! * popularity is halved as often as runs came due, many halvings at once where that gives the
//!   same numbers to the last bit (see [`Popularity::rescale`]);
//! * the counter cleaner tells when it will visit a counter next; the minutes between are skipped.

use std::time::Duration;

use super::features::Features;
use super::report::Upkeep;
use super::schedule::{Due, Schedule};
use crate::backend::Backend;
use crate::shop::{CounterCleaner, Popularity, RESCALE_EVERY, Sessions};
use crate::{Env, Result, Timestamp};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The daemons and when they are due.
pub(super) struct Daemons<B> {
    sessions: Sessions<B>,
    sessions_limit: u64,
    sessions_due: Schedule,
    popularity: Popularity<B>,
    popularity_due: Schedule,
    counters: CounterCleaner<B>,
    counters_due: Schedule,
    done: Upkeep,
}

impl<B: Backend> Daemons<B> {
    /// The daemons of a shop, beginning at `start`.
    pub(super) fn new(shop: &Features<B>, sessions_limit: u64, start: Timestamp) -> Self {
        Self {
            sessions: shop.sessions.clone(),
            sessions_limit,
            sessions_due: Schedule::new(start, SECOND),
            popularity: shop.popularity.clone(),
            popularity_due: Schedule::new(start, RESCALE_EVERY),
            counters: shop.counters.cleaner(),
            counters_due: Schedule::new(start, MINUTE),
            done: Upkeep::default(),
        }
    }

    /// What was done so far.
    pub(super) fn done(&self) -> Upkeep {
        self.done
    }

    /// Makes all runs that are due at `now`. Moves the clock, but not beyond `now`.
    pub(super) async fn until(&mut self, now: Timestamp, env: &Env) -> Result<()> {
        if let Some(due) = self.counters_due.due(now) {
            self.clean_counters(due, env).await?;
        }
        if let Some(due) = self.popularity_due.due(now) {
            self.rescale(due).await?;
        }
        if self.sessions_due.due(now).is_some() {
            self.clean_sessions().await?;
        }
        Ok(())
    }

    async fn clean_sessions(&mut self) -> Result<()> {
        if self.sessions.count().await? <= self.sessions_limit {
            return Ok(());
        }
        loop {
            let step = self.sessions.clean_step().await?;
            self.done.sessions_dropped += step.removed;
            if !step.more {
                return Ok(());
            }
        }
    }

    async fn rescale(&mut self, due: Due) -> Result<()> {
        // Run 0 is at the very beginning, when there is nothing to halve.
        let times = (due.last + 1).saturating_sub(due.first.max(1));
        self.done.rescales += times;
        if times > 0 {
            self.popularity.rescale(times).await?;
        }
        Ok(())
    }

    async fn clean_counters(&mut self, due: Due, env: &Env) -> Result<()> {
        let (schedule, cleaner) = (&self.counters_due, &mut self.counters);
        let mut run = due.first;
        while run <= due.last {
            env.set(schedule.time_of(run));
            let cleaned = cleaner.pass().await?;
            self.done.counter_passes += 1;
            self.done.samples_dropped += cleaned.slices;
            let Some(next) = cleaner.next_visit() else { break };
            run = schedule.first_at(next).max(run + 1);
        }
        Ok(())
    }
}
