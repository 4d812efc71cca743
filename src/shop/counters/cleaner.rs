//! [`CounterCleaner`]: removes slices that are too old, and counters that have none left.
//!
//! A pass walks `known:` in the order of its bytes, in pages that start after the last member seen,
//! so every counter that is there throughout is seen, whatever vanishes or appears meanwhile. What
//! it decides from a look at a counter is harmless whatever happens after the look: old slices stay
//! old, and the removal from the index is guarded by a WATCH.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Counters, Key, SAMPLES, split};
use crate::backend::{Backend, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};
use crate::shop::backoff::{after_a_part, unwritten};
use crate::shop::daemon::{Chore, Progress};
use crate::types::number::parse_i64;

/// How many counters a step looks at.
const PAGE: usize = 100;

/// How many slices are read in one round trip, unless a single counter has more.
const SLICES: u64 = 20_000;

/// How often a counter is visited at most.
const VISIT_EVERY: Duration = Duration::from_secs(60);

/// Keeps the newest 120 slices of each counter, and drops counters of which nothing is left.
///
/// A counter is visited once a minute, or once its precision if that is longer, by the backend's
/// clock. As a [`Chore`] a step is a page of up to 100 counters: short, and there is a rest between
/// passes only. [`pass`](Self::pass) is the one-step form: all counters that are due, which for a
/// new cleaner is all.
///
/// A page costs three round trips, more only when its counters hold more than 20,000 slices
/// together: ZRANGE BYLEX of the members, HLEN of each counter, HKEYS of each; one more, HDEL of
/// each, if there is anything old; and for every counter with nothing but old slices two more,
/// WATCH and HKEYS, then a transaction of HDEL and ZREM. O(slices).
///
/// Any number of cleaners may run side by side, and one may die or be dropped anywhere: the next
/// one finishes. After an error the next step looks at the same page again; what was removed before
/// it stays removed, and the error is [`Partly`](crate::ErrorKind::Partly) then.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Counters, Keys};
/// use stockroom::{Env, Timestamp};
///
/// let env = Env::manual(Timestamp::from_secs(1_000), 0);
/// let counters = Counters::new(Memory::with_env(env.clone()), Keys::new());
/// counters.increment(b"hits", 1).wait()?;
/// env.advance(Duration::from_secs(300));
/// let cleaned = counters.cleaner().pass().wait()?;
/// assert_eq!(cleaned.visited, 7);
/// // The slice of one second is too old, and was all there was of its counter.
/// assert_eq!((cleaned.slices, cleaned.counters), (1, 1));
/// assert_eq!(counters.known().wait()?.len(), 6);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Debug)]
pub struct CounterCleaner<B> {
    counters: Counters<B>,
    /// When the counters of a precision were last visited.
    visited: BTreeMap<u32, Timestamp>,
    pass: Option<Pass>,
}

/// A pass under way.
#[derive(Debug)]
struct Pass {
    began: Timestamp,
    /// The last member seen, after a `(`; or `-`, from the start.
    after: Vec<u8>,
    /// The precisions that were due and seen.
    visited: BTreeSet<u32>,
}

/// What the cleaner did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanedCounters {
    /// Counters looked at.
    pub visited: u64,
    /// Slices removed.
    pub slices: u64,
    /// Counters of which nothing was left, dropped from the index.
    pub counters: u64,
    /// Counters that somebody counted into just when they were to be dropped; left for next time.
    pub conflicts: u64,
    /// Members of the index, and keys of another type, that are not of our making; left alone.
    pub foreign: u64,
}

/// A counter that is due.
struct Visit {
    member: Bytes,
    key: Key,
    /// Slices that started here or earlier are too old.
    cutoff: i64,
}

impl<B: Backend> CounterCleaner<B> {
    pub(super) fn new(counters: Counters<B>) -> Self {
        Self { counters, visited: BTreeMap::new(), pass: None }
    }

    /// Visits all counters that are due.
    pub async fn pass(&mut self) -> Result<CleanedCounters> {
        let mut sum = self.page().await?;
        while self.pass.is_some() {
            let page = self.page().await;
            sum.add(page.map_err(|error| sum.blame(error))?);
        }
        Ok(sum)
    }

    /// How long from now until the next pass has something to visit.
    pub fn rest(&self) -> Duration {
        if self.pass.is_some() {
            return Duration::ZERO;
        }
        let now = self.counters.backend.now();
        let until = |(precision, at): (&u32, &Timestamp)| (*at + every(*precision)).since(now);
        let next = self.visited.iter().map(until).min().unwrap_or(VISIT_EVERY);
        // A counter of a precision not seen so far may come at any time.
        next.min(VISIT_EVERY)
    }

    /// When the next pass will have something to visit, unless there are new counters by then;
    /// `None` when the last one has left none.
    pub fn next_visit(&self) -> Option<Timestamp> {
        self.visited.iter().map(|(precision, at)| *at + every(*precision)).min()
    }

    /// Looks at the next page, of the pass under way or of a new one.
    async fn page(&mut self) -> Result<CleanedCounters> {
        let now = self.counters.backend.now();
        let (began, from) = match &self.pass {
            Some(pass) => (pass.began, pass.after.as_slice()),
            None => (now, &b"-"[..]),
        };
        let range = cmd::zrange_bylex(&self.counters.known, from, "+", PAGE as i64);
        let members: Vec<Bytes> = self.counters.backend.run(range).await?;
        let mut cleaned = CleanedCounters::default();
        let (mut visits, mut precisions) = (Vec::new(), BTreeSet::new());
        for member in &members {
            let Some((precision, name)) = split(member) else {
                cleaned.foreign += 1;
                continue;
            };
            let last = self.visited.get(&precision);
            if last.is_none_or(|last| is_due(precision, *last, began)) {
                precisions.insert(precision);
                visits.push(Visit {
                    member: member.clone(),
                    key: self.counters.keys.count(precision, name),
                    cutoff: now.as_secs() - i64::from(SAMPLES) * i64::from(precision),
                });
            }
        }
        let result = self.counters.clean(&visits, &mut cleaned).await;
        result.map_err(|error| cleaned.blame(error))?;
        self.turn_page(began, &members, precisions);
        Ok(cleaned)
    }

    /// Notes that a page is done; after the last, what to visit when.
    ///
    /// A precision that was due and not seen is forgotten, and due again when it is seen.
    fn turn_page(&mut self, began: Timestamp, members: &[Bytes], precisions: BTreeSet<u32>) {
        let mut visited = self.pass.take().map(|pass| pass.visited).unwrap_or_default();
        visited.extend(precisions);
        if let Some(last) = members.last().filter(|_| members.len() == PAGE) {
            let after = [b"(", &**last].concat();
            self.pass = Some(Pass { began, after, visited });
        } else {
            self.visited.retain(|precision, at| !is_due(*precision, *at, began));
            self.visited.extend(visited.into_iter().map(|precision| (precision, began)));
        }
    }
}

/// How often counters of a precision are visited.
fn every(precision: u32) -> Duration {
    VISIT_EVERY.max(Duration::from_secs(u64::from(precision)))
}

/// Whether counters of a precision, visited at `last`, are due in the pass that began then. They
/// always are when the clock has stepped back behind their last visit.
fn is_due(precision: u32, last: Timestamp, began: Timestamp) -> bool {
    began < last || began.since(last) >= every(precision)
}

impl<B: Backend> Chore for CounterCleaner<B> {
    async fn step(&mut self) -> Result<Progress> {
        let cleaned = self.page().await?;
        Ok(Progress::rest(cleaned.slices + cleaned.counters, self.rest()))
    }
}

impl<B: Backend> Counters<B> {
    /// Removes what is old of the counters that are due, and adds it to `cleaned` at once.
    async fn clean(&self, visits: &[Visit], cleaned: &mut CleanedCounters) -> Result<()> {
        let sizes: Vec<_> =
            visits.iter().map(|visit| cmd::hlen(&visit.key).reply_as::<Result<u64>>()).collect();
        let sizes = self.backend.pipeline(sizes).await?;
        let mut rest = visits.iter().zip(sizes).peekable();
        while rest.peek().is_some() {
            let (mut group, mut slices) = (Vec::new(), 0_u64);
            while let Some((visit, size)) = rest.next_if(|(_, size)| {
                group.is_empty() || slices.saturating_add(size.as_ref().map_or(0, |n| *n)) <= SLICES
            }) {
                match size {
                    Ok(size) => {
                        slices = slices.saturating_add(size);
                        group.push(visit);
                    }
                    Err(error) if error.code() == Some("WRONGTYPE") => cleaned.foreign += 1,
                    Err(error) => return Err(error),
                }
            }
            self.clean_group(&group, cleaned).await?;
        }
        Ok(())
    }

    /// Removes what is old of some counters.
    async fn clean_group(&self, visits: &[&Visit], cleaned: &mut CleanedCounters) -> Result<()> {
        let looks: Vec<_> = visits.iter().map(|visit| cmd::hkeys::<Bytes>(&visit.key)).collect();
        let found = self.backend.pipeline(looks).await?;
        cleaned.visited += visits.len() as u64;
        let (mut trims, mut hollow) = (Vec::new(), Vec::new());
        for (visit, slices) in visits.iter().zip(&found) {
            let old = old_slices(slices, visit.cutoff);
            if old.len() == slices.len() {
                hollow.push(visit);
            } else if !old.is_empty() {
                trims.push(cmd::hdel(&visit.key, old));
            }
        }
        // Others of these hashes' slices are still there: none of them vanishes with its last one.
        cleaned.slices += self.backend.pipeline(trims).await?.iter().sum::<u64>();
        if !hollow.is_empty() {
            let mut session = self.backend.session().await.map_err(unwritten)?;
            for visit in hollow {
                cleaned.add(self.drop_counter(&mut session, visit).await?);
            }
        }
        Ok(())
    }

    /// Removes what is old of a counter, and the counter if that is all of it.
    async fn drop_counter(
        &self,
        session: &mut B::Session,
        visit: &Visit,
    ) -> Result<CleanedCounters> {
        let look = cmd::hkeys::<Bytes>(&visit.key);
        let slices = session.watch_and(&[&visit.key], look).await.map_err(unwritten)?;
        let old = old_slices(&slices, visit.cutoff);
        let nothing_left = old.len() == slices.len();
        let batch = (
            (!old.is_empty()).then(|| cmd::hdel(&visit.key, old)),
            nothing_left.then(|| cmd::zrem(&self.known, [&visit.member])),
        );
        let mut cleaned = CleanedCounters::default();
        match session.commit(batch).await? {
            Some((slices, counter)) => {
                cleaned.slices = slices.unwrap_or(0);
                cleaned.counters = counter.unwrap_or(0);
            }
            None => cleaned.conflicts = 1,
        }
        Ok(cleaned)
    }
}

/// The slices that started at `cutoff` or earlier, and fields that are no slices at all.
fn old_slices(fields: &[Bytes], cutoff: i64) -> Vec<&[u8]> {
    let is_old = |field: &&Bytes| parse_i64(field).is_none_or(|start| start <= cutoff);
    fields.iter().filter(is_old).map(|field| &**field).collect()
}

impl CleanedCounters {
    /// The error of a step after this was done.
    fn blame(&self, error: Error) -> Error {
        if self.slices + self.counters > 0 { after_a_part(error) } else { error }
    }

    fn add(&mut self, more: Self) {
        self.visited += more.visited;
        self.slices += more.slices;
        self.counters += more.counters;
        self.conflicts += more.conflicts;
        self.foreign += more.foreign;
    }
}
