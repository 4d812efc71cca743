//! Row cache: rows of a database as JSON, loaded again and again, each at its own pace.
//!
//! | key | type | content |
//! |---|---|---|
//! | `delay:` | sorted set | row → how often it is loaded, in seconds |
//! | `schedule:` | sorted set | row → when it is loaded next, in seconds since 1970 |
//! | `inv:ROW` | string | the row as a JSON object column → value |
//! | `loading:ROW` | string | a random token of who loads the row at the moment |
//! | `failing:` | sorted set | row → how many loads in a row have failed |
//!
//! Who needs a row [schedules](RowCache::schedule) it; [daemons](RowCache::refresher), one or many,
//! load each row that is due from a [`RowSource`] and write the copy; readers
//! [get](RowCache::get) it in one round trip, whatever the database is busy with. What changes in
//! the database shows after the row's delay at the latest.
//!
//! # Invariants
//!
//! - Of many daemons one loads a row that is due. It claims the row first: in one transaction it
//!   leaves its token in `loading:ROW` and moves the row's time ahead by a lease. If it dies, the
//!   row is due again when the lease is over; until then the last copy stays.
//! - Everything that changes what is planned for a row writes to `loading:ROW`, also where nothing
//!   is left there in the end. So a WATCH on that key covers the row, and no other row: daemons
//!   that work on different rows never meet.
//! - What was loaded is written only if the row is still claimed by its loader. A row that was
//!   scheduled anew, unscheduled, or claimed by the next daemon because the lease was over, is left
//!   as it is: nothing is resurrected, and no older copy follows a newer one.
//! - A row has a copy only while it is scheduled: both go in one transaction.
//!
//! A lease must be longer than the longest load, or daemons overtake each other for ever. Times are
//! those of the backend's clock where the command comes from; a daemon whose clock is slow loads
//! late by as much.
//!
//! In a Redis Cluster all keys must be in one slot: see [`Keys::clustered`].
//!
//! Source: the caching of database rows of the published articles. Theirs has one daemon: two of
//! them load every row twice; a row that is unscheduled while it is loaded comes back for good, and
//! a load that fails ends the daemon.

mod refresher;

use std::future::Future;
use std::time::Duration;

use serde_json::{Map, Value};

pub use self::refresher::{RowOutcome, RowRefresher, RowStep};
use super::backoff::unwritten;
use super::check::id;
use super::keys::{Key, Keys};
use crate::backend::{Backend, Batch, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};

/// The longest delay: a leap year.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// The shortest delay.
const SHORTEST: Duration = Duration::from_millis(1);

/// How long a claim holds unless told otherwise.
const LEASE: Duration = Duration::from_secs(30);

/// The columns of a row with their values, in their order.
pub type Columns = Map<String, Value>;

/// Where rows come from: a database.
///
/// Implemented by every function from a row's id to a future of its columns.
pub trait RowSource: Send + Sync + 'static {
    /// Loads a row; `None` when there is no such row, or no longer.
    fn load(&self, row: &[u8]) -> impl Future<Output = Result<Option<Columns>>> + Send;
}

impl<F, R> RowSource for F
where
    F: Fn(Bytes) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Columns>>> + Send,
{
    fn load(&self, row: &[u8]) -> impl Future<Output = Result<Option<Columns>>> + Send {
        self(row.into())
    }
}

/// Rows as JSON, kept fresh; see the module's documentation for keys and promises. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Columns, Keys, RowCache};
/// use stockroom::{Bytes, Result};
///
/// let rows = RowCache::new(Memory::new(), Keys::new());
/// let database = |_row: Bytes| async {
///     let columns: Columns = [("stock".to_owned(), 7.into())].into_iter().collect();
///     Ok(Some(columns))
/// };
/// rows.schedule(b"teapot", Duration::from_secs(5)).wait()?;
/// rows.refresh_step(&database).wait()?;
/// assert_eq!(rows.get(b"teapot").wait()?.unwrap(), r#"{"stock":7}"#);
/// rows.unschedule(b"teapot").wait()?;
/// assert_eq!(rows.get(b"teapot").wait()?, None);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowCache<B> {
    backend: B,
    keys: Keys,
    delays: Key,
    schedule: Key,
    failing: Key,
    lease: Duration,
}

/// A row, read through the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedRow {
    /// The row as JSON.
    pub json: Bytes,
    /// Whether it came from the cache.
    pub hit: bool,
}

/// What is planned for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlan {
    /// How often it is loaded.
    pub delay: Duration,
    /// When it is loaded next; while it is being loaded, the end of the lease.
    pub next: Timestamp,
}

impl<B: Backend> RowCache<B> {
    /// Rows under `keys`, with leases of 30 seconds.
    pub fn new(backend: B, keys: Keys) -> Self {
        let (delays, schedule, failing) = (keys.delays(), keys.schedule(), keys.failing());
        Self { backend, keys, delays, schedule, failing, lease: LEASE }
    }

    /// Sets how long a daemon has to load a row before others may think it dead: a millisecond to
    /// an hour, and more than the longest load takes.
    pub fn with_lease(mut self, lease: Duration) -> Result<Self> {
        if lease < SHORTEST || lease > Duration::from_secs(3_600) {
            return Err(Error::invalid("lease", format!("of {lease:?}"), "1 ms to an hour"));
        }
        self.lease = lease;
        Ok(self)
    }

    /// Has a row loaded now and then every `delay`, a millisecond to a year; with zero it is
    /// [unscheduled](Self::unschedule).
    ///
    /// One transaction in one round trip: ZADD twice, and SET, DEL and ZREM of what earlier loads
    /// left. O(log rows). A load under way is not written. Can be repeated after a lost reply.
    pub async fn schedule(&self, row: &[u8], delay: Duration) -> Result<()> {
        id("row", row)?;
        if delay.is_zero() {
            return self.unschedule(row).await.map(drop);
        }
        let delay = checked(delay)?;
        let loading = self.keys.loading(row);
        let batch = (self.plan(row, delay, self.backend.now()), touch(&loading));
        self.backend.atomic((batch, cmd::zrem(&self.failing, [row]))).await.map(drop)
    }

    /// [`schedule`](Self::schedule) in the published form, with a delay in seconds: zero and less
    /// unschedule the row. A delay that is no number, infinite, or beyond a year is invalid.
    pub async fn schedule_secs(&self, row: &[u8], delay_s: f64) -> Result<()> {
        id("row", row)?;
        if delay_s <= 0.0 {
            return self.unschedule(row).await.map(drop);
        }
        let delay = Duration::try_from_secs_f64(delay_s);
        let delay = delay.map_err(|_| invalid_delay(format!("of {delay_s} seconds")))?;
        self.schedule(row, checked(delay)?).await
    }

    /// Drops a row, its schedule and its copy; says whether it was scheduled.
    ///
    /// One transaction in one round trip: ZREM three times, SET and DEL. O(log rows). A load under
    /// way is not written. Can be repeated after a lost reply, and may say then that the row was
    /// not there.
    pub async fn unschedule(&self, row: &[u8]) -> Result<bool> {
        id("row", row)?;
        let (copy, loading) = (self.keys.row(row), self.keys.loading(row));
        let batch = (cmd::set(&loading, ""), self.forget(row, &copy, &loading));
        let ((), (delays, ..)) = self.backend.atomic(batch).await?;
        Ok(delays > 0)
    }

    /// The copy of a row as JSON, if there is one. GET. O(length).
    pub async fn get(&self, row: &[u8]) -> Result<Option<Bytes>> {
        id("row", row)?;
        self.backend.run(cmd::get(&self.keys.row(row))).await
    }

    /// The copy of a row, taken apart. GET. O(length). What is not a JSON object is an unexpected
    /// reply.
    pub async fn columns(&self, row: &[u8]) -> Result<Option<Columns>> {
        let Some(json) = self.get(row).await? else { return Ok(None) };
        let columns = serde_json::from_slice(&json);
        columns.map(Some).map_err(|_| Error::unexpected("a JSON object", &json))
    }

    /// The row, from the cache, or else from `source`, and then in the cache too; `None` when the
    /// source has no such row. A row that was not scheduled is, every `delay` from now on.
    ///
    /// A hit is one round trip, GET. A miss takes two more, WATCH with GET and ZSCORE, and the
    /// transaction that stores what was loaded, which does nothing when the row was scheduled,
    /// unscheduled or claimed meanwhile: the caller gets the row, and the cache is left alone. An
    /// error of the source is the caller's. Many that miss together load many times; the pages that
    /// need the rows are better cached by a [`PageCache`](super::PageCache). Can be repeated.
    pub async fn fetch<S: RowSource>(
        &self,
        row: &[u8],
        delay: Duration,
        source: &S,
    ) -> Result<Option<FetchedRow>> {
        let delay = checked(delay)?;
        if let Some(json) = self.get(row).await? {
            return Ok(Some(FetchedRow { json, hit: true }));
        }
        let (copy, loading) = (self.keys.row(row), self.keys.loading(row));
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let reads =
            (cmd::get::<Bytes>(&copy), cmd::zscore(&self.delays, row), cmd::get::<Bytes>(&loading));
        let (cached, planned, loader) =
            session.watch_and(&[&loading], reads).await.map_err(unwritten)?;
        if let Some(json) = cached {
            return Ok(Some(FetchedRow { json, hit: true }));
        }
        let loaded = source.load(row).await?;
        let Some(json) = loaded.as_ref().map(to_json).transpose()? else { return Ok(None) };
        if loader.is_none() {
            let next = self.backend.now() + delay;
            let plan = planned.is_none().then(|| (self.plan(row, delay, next), touch(&loading)));
            session.commit((cmd::set(&copy, &json), plan)).await?;
        }
        Ok(Some(FetchedRow { json, hit: false }))
    }

    /// What is planned for a row; `None` when it is not scheduled. ZSCORE twice, one transaction.
    pub async fn planned(&self, row: &[u8]) -> Result<Option<RowPlan>> {
        id("row", row)?;
        let batch = (cmd::zscore(&self.delays, row), cmd::zscore(&self.schedule, row));
        let (delay, next) = self.backend.atomic(batch).await?;
        let delay = delay.and_then(kept_delay);
        Ok(delay.zip(next).map(|(delay, next)| RowPlan { delay, next: instant(next) }))
    }

    /// How many rows are scheduled. ZCARD.
    pub async fn scheduled(&self) -> Result<u64> {
        self.backend.run(cmd::zcard(&self.schedule)).await
    }

    /// The `n` rows whose loads have failed most often in a row, with how often. ZRANGE … REV.
    pub async fn failing(&self, n: u64) -> Result<Vec<(Bytes, u64)>> {
        let Some(last) = n.checked_sub(1) else { return Ok(Vec::new()) };
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let worst = cmd::zrange_rev_withscores::<Bytes>(&self.failing, 0, last);
        let worst = self.backend.run(worst).await?;
        Ok(worst.into_iter().map(|(row, failures)| (row, failures as u64)).collect())
    }

    /// What plans a row.
    fn plan<'a>(
        &'a self,
        row: &'a [u8],
        delay: Duration,
        next: Timestamp,
    ) -> impl Batch + use<'a, B> {
        (cmd::zadd(&self.delays, delay.as_secs_f64(), row), cmd::zadd(&self.schedule, next, row))
    }

    /// What leaves nothing of a row. The claim goes too.
    fn forget<'a>(
        &'a self,
        row: &'a [u8],
        copy: &'a Key,
        loading: &'a Key,
    ) -> impl Batch<Output = (u64, u64, u64, u64)> + use<'a, B> {
        (
            cmd::zrem(&self.delays, [row]),
            cmd::zrem(&self.schedule, [row]),
            cmd::zrem(&self.failing, [row]),
            cmd::del([copy, loading]),
        )
    }
}

/// What whoever watches the key notices, also if there was nothing there. Ends a claim.
fn touch(loading: &Key) -> impl Batch + use<'_> {
    (cmd::set(loading, ""), cmd::del([loading]))
}

/// A row as it is cached.
fn to_json(columns: &Columns) -> Result<Bytes> {
    let json = serde_json::to_vec(columns);
    json.map(Bytes::from).map_err(|e| Error::invalid("row", e, "what can be written as JSON"))
}

fn checked(delay: Duration) -> Result<Duration> {
    if delay < SHORTEST || delay > LONGEST {
        return Err(invalid_delay(format!("of {delay:?}")));
    }
    Ok(delay)
}

fn invalid_delay(got: String) -> Error {
    Error::invalid("delay", got, "a millisecond to a year")
}

/// A delay as it stands in `delay:`, where others may have written it; `None`: drop the row.
fn kept_delay(secs: f64) -> Option<Duration> {
    let delay = Duration::try_from_secs_f64(secs).unwrap_or(LONGEST);
    (secs > 0.0).then(|| delay.clamp(SHORTEST, LONGEST))
}

/// The first instant at which what is due at `secs` is due.
fn instant(secs: f64) -> Timestamp {
    let at = Timestamp::from_micros((secs * 1e6).round() as i64);
    if at.as_secs_f64() < secs { at + Duration::from_micros(1) } else { at }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn delays_that_others_wrote_are_brought_within_bounds() {
        for secs in [0.0, -0.0, -1.0, f64::NEG_INFINITY] {
            assert_eq!(kept_delay(secs), None);
        }
        assert_eq!(kept_delay(1e-300), Some(SHORTEST));
        assert_eq!(kept_delay(0.25), Some(Duration::from_millis(250)));
        assert_eq!([1e9, 1e300, f64::INFINITY].map(kept_delay), [Some(LONGEST); 3]);
    }

    proptest! {
        #[test]
        fn what_is_due_is_due_at_its_instant_and_not_a_microsecond_before(
            secs in -1e9_f64..8e9,
        ) {
            let at = instant(secs);
            prop_assert!(at.as_secs_f64() >= secs);
            let before = at - Duration::from_micros(2);
            prop_assert!(before.as_secs_f64() < secs);
        }

        #[test]
        fn an_instant_reads_back(us in 0_i64..4_000_000_000_000_000) {
            let at = Timestamp::from_micros(us);
            prop_assert_eq!(instant(at.as_secs_f64()), at);
        }
    }
}
