//! The daemon's side of the row cache: claim the first row that is due, load it, write it.

use std::time::Duration;

use super::{Columns, Key, RowCache, RowSource, instant, kept_delay, to_json};
use crate::backend::{Backend, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};
use crate::shop::backoff::{Backoff, unwritten};
use crate::shop::daemon::{Chore, Progress};

/// How many rows a step looks at for one that no other daemon has claimed.
const LOOK: i64 = 16;

/// How long a daemon rests when nothing is due.
const IDLE: Duration = Duration::from_millis(50);

/// The waits after loads that failed, by their number in a row.
const RETRIES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));

/// What a step did.
#[derive(Clone, Debug)]
pub enum RowStep {
    /// Nothing: the first row is due only then; `None` when no row is scheduled.
    Idle(Option<Timestamp>),
    /// Nothing: other daemons were faster at each row that was due.
    Outrun,
    /// It took on a row.
    Row {
        /// The row.
        row: Bytes,
        /// What became of it.
        outcome: RowOutcome,
    },
}

/// What became of a row.
#[derive(Clone, Debug)]
pub enum RowOutcome {
    /// It was loaded and its copy written.
    Cached,
    /// The source has no such row: its copy and its schedule are gone.
    Gone,
    /// It has no delay, or one of zero or less: its copy and its schedule are gone.
    Dropped,
    /// It was scheduled anew, unscheduled, or taken over by another daemon while it was loaded:
    /// nothing was written.
    Superseded,
    /// The source failed: the last copy stays, and the row is loaded again later.
    Failed {
        /// What the source said.
        error: Error,
        /// How many loads in a row have failed, this one too.
        failures: u32,
        /// When it is tried again: after 1 s at most, then 2, 4, … up to 5 minutes, half of it
        /// random.
        retry_in: Duration,
    },
}

/// A row that is ours to load.
struct Claim {
    token: [u8; 16],
    loading: Key,
    at: Timestamp,
}

/// How a try to claim a row ended.
enum Tried {
    Won(Claim),
    Lost,
    Dropped,
}

impl<B: Backend> RowCache<B> {
    /// Takes on the first row that is due and that no other daemon has claimed, if there is one.
    ///
    /// Five round trips for a row that is loaded: ZRANGE of the schedule; WATCH with ZSCORE twice,
    /// and the transaction of SET and ZADD that claims the row; then, when it is loaded, WATCH with
    /// GET and ZSCORE twice, and the transaction of SET, ZADD and DEL that writes the copy and
    /// plans the next load at the time of this step plus the delay. One round trip when nothing is
    /// due. O(log rows + length of the row).
    ///
    /// An error of the source is an [outcome](RowOutcome::Failed) and no error of the step: other
    /// rows do not wait for it. After an error of the step, a lost reply for instance, the row has
    /// been dealt with, or is due again when the claim's lease is over.
    pub async fn refresh_step<S: RowSource>(&self, source: &S) -> Result<RowStep> {
        let now = self.backend.now();
        let first = cmd::zrange_withscores::<Bytes>(&self.schedule, 0, LOOK - 1);
        let first = self.backend.run(first).await.map_err(unwritten)?;
        let is_due = |(_, at): &&(Bytes, f64)| *at <= now.as_secs_f64();
        let mut due: Vec<&Bytes> = first.iter().take_while(is_due).map(|(row, _)| row).collect();
        if due.is_empty() {
            return Ok(RowStep::Idle(first.first().map(|(_, at)| instant(*at))));
        }
        let mut place = 0;
        while !due.is_empty() {
            let row = due.swap_remove(place);
            let outcome = match self.claim(row, now).await? {
                Tried::Won(claim) => {
                    let loaded = source.load(row).await;
                    Some(self.complete(row, &claim, loaded).await?)
                }
                Tried::Dropped => Some(RowOutcome::Dropped),
                Tried::Lost => None,
            };
            if let Some(outcome) = outcome {
                return Ok(RowStep::Row { row: row.clone(), outcome });
            }
            // Whoever was faster goes on to the next one; not all of us do.
            place = self.any_of(due.len());
        }
        Ok(RowStep::Outrun)
    }

    /// The refreshing as a loop: rows that are due one after the other, else 50 ms of rest, or less
    /// if a row is due sooner. Start as many as the source can bear.
    pub fn refresher<S: RowSource>(&self, source: S) -> RowRefresher<B, S> {
        RowRefresher { rows: self.clone(), source, report: Box::new(|_| {}) }
    }

    /// Makes a row ours, if it is still due.
    async fn claim(&self, row: &Bytes, now: Timestamp) -> Result<Tried> {
        let loading = self.keys.loading(row);
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let reads = (cmd::zscore(&self.schedule, row), cmd::zscore(&self.delays, row));
        let (next, delay) = session.watch_and(&[&loading], reads).await.map_err(unwritten)?;
        if next.is_none_or(|next| next > now.as_secs_f64()) {
            return Ok(Tried::Lost);
        }
        if delay.and_then(kept_delay).is_none() {
            let copy = self.keys.row(row);
            let done = session.commit(self.forget(row, &copy, &loading)).await?;
            return Ok(done.map_or(Tried::Lost, |_| Tried::Dropped));
        }
        let mut token = [0; 16];
        self.backend.random(&mut token);
        let batch = (
            cmd::set(&loading, &token),
            // Also if somebody took it off the schedule who knows nothing of `loading:`.
            cmd::zadd_existing(&self.schedule, now + self.lease, row),
        );
        let done = session.commit(batch).await?;
        Ok(done.map_or(Tried::Lost, |_| Tried::Won(Claim { token, loading, at: now })))
    }

    /// Writes what was loaded, if the row is still ours.
    async fn complete(
        &self,
        row: &Bytes,
        claim: &Claim,
        loaded: Result<Option<Columns>>,
    ) -> Result<RowOutcome> {
        let loaded = loaded.and_then(|found| found.as_ref().map(to_json).transpose());
        let (copy, loading) = (self.keys.row(row), &claim.loading);
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let reads = (
            cmd::get::<Bytes>(loading),
            cmd::zscore(&self.delays, row),
            cmd::zscore(&self.failing, row),
        );
        let (token, delay, failures) =
            session.watch_and(&[loading], reads).await.map_err(unwritten)?;
        if token.is_none_or(|token| *token != claim.token) {
            return Ok(RowOutcome::Superseded);
        }
        let release = cmd::del([loading]);
        let at = |next| cmd::zadd_existing(&self.schedule, next, row);
        let Some(delay) = delay.and_then(kept_delay) else {
            // Taken off by somebody who knows nothing of `loading:`. The next step drops it.
            session.commit((at(claim.at), release)).await?;
            return Ok(RowOutcome::Superseded);
        };
        let (done, outcome) = match loaded {
            Ok(Some(json)) => {
                let well = failures.map(|_| cmd::zrem(&self.failing, [row]));
                let write = (cmd::set(&copy, &json), at(claim.at + delay), well, release);
                (session.commit(write).await?.is_some(), RowOutcome::Cached)
            }
            Ok(None) => {
                let forget = self.forget(row, &copy, loading);
                (session.commit(forget).await?.is_some(), RowOutcome::Gone)
            }
            Err(error) => {
                let before = failures.unwrap_or(0.0) as u32;
                let retry_in = RETRIES.after(before).next(&self.backend);
                let failures = before.saturating_add(1);
                let note = cmd::zadd(&self.failing, f64::from(failures), row);
                let later = (at(self.backend.now() + retry_in), note, release);
                let outcome = RowOutcome::Failed { error, failures, retry_in };
                (session.commit(later).await?.is_some(), outcome)
            }
        };
        // Not done: the claim was ended since the look.
        Ok(if done { outcome } else { RowOutcome::Superseded })
    }

    /// A random number below `n`, roughly.
    fn any_of(&self, n: usize) -> usize {
        let mut random = [0; 4];
        self.backend.random(&mut random);
        u32::from_le_bytes(random) as usize % n.max(1)
    }
}

/// Keeps rows fresh; see [`RowCache::refresher`].
///
/// As a [`Chore`] a step is one row, and counts as done when the row was cached or dropped. An
/// error of the source is told to [`reporting`](Self::reporting) and shows in
/// [`RowCache::failing`].
pub struct RowRefresher<B, S> {
    rows: RowCache<B>,
    source: S,
    report: Box<dyn Fn(&RowStep) + Send>,
}

impl<B, S> RowRefresher<B, S> {
    /// Tells `report` what each step did, for logs and alarms.
    #[must_use]
    pub fn reporting(mut self, report: impl Fn(&RowStep) + Send + 'static) -> Self {
        self.report = Box::new(report);
        self
    }
}

impl<B: Backend, S: RowSource> Chore for RowRefresher<B, S> {
    async fn step(&mut self) -> Result<Progress> {
        let step = self.rows.refresh_step(&self.source).await?;
        (self.report)(&step);
        Ok(match step {
            RowStep::Idle(next) => {
                let now = self.rows.backend.now();
                let rest = next.map_or(IDLE, |next| next.since(now).min(IDLE));
                Progress::rest(0, rest)
            }
            RowStep::Outrun => Progress::more(0),
            RowStep::Row { outcome, .. } => Progress::more(match outcome {
                RowOutcome::Cached | RowOutcome::Gone | RowOutcome::Dropped => 1,
                RowOutcome::Superseded | RowOutcome::Failed { .. } => 0,
            }),
        })
    }
}

impl<B, S> std::fmt::Debug for RowRefresher<B, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowRefresher").finish_non_exhaustive()
    }
}
