//! Statistics: count, sum, sum of squares, least and greatest of values, by context, kind and hour.
//!
//! | key | type | content |
//! |---|---|---|
//! | `stats:CONTEXT:KIND:HOUR` | sorted set | `count`, `sum`, `sumsq`, `min`, `max` → number |
//! | `slowest:AccessTime:HOUR` | sorted set | context → its mean access time in seconds, 100 kept |
//! | `counted:CONTEXT:KIND:ID` | string | that the value with this id has been counted |
//!
//! HOUR is its start in seconds since 1970. All of them have a time to live.
//!
//! # Invariants
//!
//! - A value enters all five numbers of an hour in one transaction, or none: they always speak of
//!   the same values.
//! - A value counts for the hour that the clock of its writer shows. Nothing is moved at the turn
//!   of the hour, so nothing can be lost or counted for another hour there, whoever is late; a
//!   clock that is wrong by an hour counts for that hour. Past hours end by their time to live.
//! - The variance is never negative, and zero when all values are equal.
//!
//! The standard deviation comes from sums in 64-bit floating point: where values differ by little
//! compared with their size, it loses digits. Of a million values around a million that differ by
//! about 1, one or two digits hold; subtract a constant first where that is not enough.
//!
//! Source: the statistics and the access times of the published articles. Theirs move the numbers
//! of an hour to another key when somebody notices that it is over, and find the least and the
//! greatest value by way of keys of their own, which a crash leaves behind; ours name the hour in
//! the key, and lower or raise a score (ZADD LT, GT: Redis 6.2).

use std::future::Future;
use std::time::Duration;

use super::backoff::unwritten;
use super::calendar::hour_of;
use super::check::id;
use super::keys::{Key, Keys};
use crate::backend::{Backend, Batch, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};

/// The kind of values under which access times are counted.
pub const ACCESS_TIME: &[u8] = b"AccessTime";

/// How many of the slowest contexts are kept.
pub const SLOWEST_KEPT: usize = 100;

/// How long an hour is kept after its last value unless told otherwise, and an id.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

const HOUR: Duration = Duration::from_secs(3_600);

const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// The largest value either way: the squares of any number of them have a finite sum.
const LARGEST: f64 = 1e100;

/// Statistics of values; see the module's documentation. Contexts, kinds and ids may hold any
/// bytes. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, Statistics};
///
/// let statistics = Statistics::new(Memory::new(), Keys::new());
/// for bytes in [200.0, 400.0, 600.0] {
///     statistics.record(b"/cart", b"bytes", bytes).wait()?;
/// }
/// let hour = statistics.summary(b"/cart", b"bytes").wait()?.unwrap();
/// assert_eq!((hour.count, hour.mean()), (3, 400.0));
/// assert_eq!(hour.standard_deviation(), Some(200.0));
/// assert_eq!((hour.min, hour.max), (200.0, 600.0));
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Statistics<B> {
    backend: B,
    keys: Keys,
    kept: Duration,
    ids_kept: Duration,
}

/// The values of an hour, summed up. There is at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// When the hour began.
    pub hour: Timestamp,
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub sum_of_squares: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// An hour as it stands after a value was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// How many values there are.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
}

/// What a timed block gave, and how long it took.
#[derive(Clone, Debug)]
pub struct Timed<T> {
    /// What it gave.
    pub output: T,
    /// How long it took, by the backend's clock.
    pub took: Duration,
    /// Whether that could be recorded. The block is done in any case.
    pub recorded: Result<()>,
}

impl Summary {
    /// The mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The variance of the values as a sample; `None` of a single one. Never negative.
    pub fn variance(&self) -> Option<f64> {
        let n = self.count as f64;
        if self.count < 2 {
            return None;
        }
        // No values between these two vary more than half of them at either end.
        let most = (self.max - self.min) / 2.0;
        let most = most * most * (n / (n - 1.0));
        let variance = (self.sum_of_squares - self.sum * (self.sum / n)) / (n - 1.0);
        Some(variance.clamp(0.0, most.max(0.0)))
    }

    /// The standard deviation of the values as a sample; `None` of a single one.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// From what a sorted set holds; `None` if it holds nothing.
    fn read(hour: Timestamp, numbers: &[(Bytes, f64)]) -> Result<Option<Self>> {
        if numbers.is_empty() {
            return Ok(None);
        }
        let number = |name: &str| {
            let found = numbers.iter().find(|(member, _)| *member == name);
            let missing = || Error::unexpected("the numbers of an hour", &numbers);
            found.map(|(_, number)| *number).ok_or_else(missing)
        };
        Ok(Some(Self {
            hour,
            count: number("count")? as u64,
            sum: number("sum")?,
            sum_of_squares: number("sumsq")?,
            min: number("min")?,
            max: number("max")?,
        }))
    }
}

impl<B: Backend> Statistics<B> {
    /// Statistics under `keys`. Hours and ids are kept for a day.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys, kept: KEPT, ids_kept: KEPT }
    }

    /// Sets how long an hour is kept after its last value, by the server's clock: two hours to a
    /// year.
    pub fn with_kept(mut self, kept: Duration) -> Result<Self> {
        if kept < 2 * HOUR || kept > LONGEST {
            let got = format!("of {kept:?}");
            return Err(Error::invalid("time to keep hours", got, "two hours to a year"));
        }
        self.kept = kept;
        Ok(self)
    }

    /// Sets how long the ids of [`record_once`](Self::record_once) are kept, by the server's clock:
    /// a second to a year. A repeat that comes later counts again.
    pub fn with_ids_kept(mut self, kept: Duration) -> Result<Self> {
        if kept < Duration::from_secs(1) || kept > LONGEST {
            let got = format!("of {kept:?}");
            return Err(Error::invalid("time to keep ids", got, "a second to a year"));
        }
        self.ids_kept = kept;
        Ok(self)
    }

    /// Counts a value in the current hour: a finite number of at most 10^100 either way.
    ///
    /// One transaction in one round trip: ZINCRBY three times, ZADD LT, ZADD GT and PEXPIRE. O(1).
    /// When the reply is lost the outcome is unknown, and doing it again may count twice: see
    /// [`record_once`](Self::record_once).
    pub async fn record(&self, context: &[u8], kind: &[u8], value: f64) -> Result<Recorded> {
        checked(context, kind, value)?;
        let key = self.keys.stats(context, kind, self.hour());
        self.backend.atomic(add(&key, value, self.kept)).await.map(recorded)
    }

    /// Counts several values, each with its context and kind, all in one transaction and one round
    /// trip; see [`record`](Self::record). Nothing to count sends nothing.
    pub async fn record_all(&self, values: &[(&[u8], &[u8], f64)]) -> Result<()> {
        values.iter().try_for_each(|(context, kind, value)| checked(context, kind, *value))?;
        if values.is_empty() {
            return Ok(());
        }
        let hour = self.hour();
        let key = |(context, kind, _): &(&[u8], &[u8], f64)| self.keys.stats(context, kind, hour);
        let keys: Vec<Key> = values.iter().map(key).collect();
        let each = keys.iter().zip(values).map(|(key, (.., value))| add(key, *value, self.kept));
        self.backend.atomic(each.collect::<Vec<_>>()).await.map(drop)
    }

    /// Counts a value unless one with this id has been counted for this context and kind, in
    /// whatever hour; says whether it was counted now.
    ///
    /// Two round trips: WATCH of the id's key and EXISTS; then, if it is new, the transaction of
    /// SET with a time to live and what [`record`](Self::record) does. O(1). Nobody else is in the
    /// way but who counts the same id at the same time. Can be repeated after a lost reply: a
    /// `false` then says that the first try did count.
    pub async fn record_once(
        &self,
        context: &[u8],
        kind: &[u8],
        value: f64,
        message: &[u8],
    ) -> Result<bool> {
        checked(context, kind, value)?;
        id("message id", message)?;
        let counted = self.keys.counted(context, kind, message);
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let known = session.watch_and(&[&counted], cmd::exists(&counted)).await;
        if known.map_err(unwritten)? {
            return Ok(false);
        }
        let key = self.keys.stats(context, kind, self.hour());
        let note = cmd::set_for(&counted, "", self.ids_kept);
        // Not done: somebody else has just counted it.
        Ok(session.commit((note, add(&key, value, self.kept))).await?.is_some())
    }

    /// The values of the current hour; `None` when there are none so far. ZRANGE. O(1).
    pub async fn summary(&self, context: &[u8], kind: &[u8]) -> Result<Option<Summary>> {
        self.summary_at(context, kind, self.backend.now()).await
    }

    /// The values of the hour before the current one; `None` when there were none. ZRANGE. O(1).
    pub async fn previous(&self, context: &[u8], kind: &[u8]) -> Result<Option<Summary>> {
        self.summary_at(context, kind, self.backend.now() - HOUR).await
    }

    /// The values of the hour of `at`; `None` when there were none, or they are no longer kept.
    /// ZRANGE. O(1).
    pub async fn summary_at(
        &self,
        context: &[u8],
        kind: &[u8],
        at: Timestamp,
    ) -> Result<Option<Summary>> {
        id("context", context)?;
        id("kind", kind)?;
        let hour = hour_of(at);
        let key = self.keys.stats(context, kind, hour.as_secs());
        let numbers = self.backend.run(cmd::zrange_withscores::<Bytes>(&key, 0, -1)).await?;
        Summary::read(hour, &numbers)
    }

    /// Runs `block` and records how long it took; see [`record_access`](Self::record_access).
    ///
    /// A context that is invalid is an error before the block is run. After that the block's output
    /// is never lost: whether its time could be recorded is told beside it. When the future is
    /// dropped before the block is done, nothing is recorded.
    ///
    /// ```
    /// use stockroom::backend::{Memory, Wait};
    /// use stockroom::shop::{Keys, Statistics};
    ///
    /// let statistics = Statistics::new(Memory::new(), Keys::new());
    /// let page = statistics.time(b"/cart", async { "<h1>Cart</h1>" }).wait()?;
    /// assert_eq!(page.output, "<h1>Cart</h1>");
    /// assert_eq!(statistics.slowest(10).wait()?[0].0, "/cart");
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    pub async fn time<T: Send>(
        &self,
        context: &[u8],
        block: impl Future<Output = T> + Send,
    ) -> Result<Timed<T>> {
        id("context", context)?;
        let began = self.backend.now();
        let output = block.await;
        let took = self.backend.now().since(began);
        let recorded = self.record_access(context, took).await;
        Ok(Timed { output, took, recorded })
    }

    /// Counts an access of a context, of the kind `AccessTime` in seconds, and keeps its mean among
    /// the 100 slowest of the hour.
    ///
    /// Two round trips: what [`record`](Self::record) does; then the transaction of ZADD,
    /// ZREMRANGEBYRANK 0 -101 and PEXPIRE. O(1). Of two accesses of one context at the same time
    /// the mean before the second may be kept, until the next one. When the second trip fails the
    /// access is counted all the same.
    pub async fn record_access(&self, context: &[u8], took: Duration) -> Result<()> {
        id("context", context)?;
        let hour = self.hour();
        let key = self.keys.stats(context, ACCESS_TIME, hour);
        let added = self.backend.atomic(add(&key, took.as_secs_f64(), self.kept)).await?;
        let slowest = self.keys.slowest(hour);
        let batch = (
            cmd::zadd(&slowest, recorded(added).mean, context),
            cmd::zremrangebyrank(&slowest, 0, -(SLOWEST_KEPT as i64) - 1),
            cmd::expire(&slowest, self.kept),
        );
        self.backend.atomic(batch).await.map(drop)
    }

    /// The `n` slowest contexts of the current hour with their mean access times, the slowest
    /// first; at most 100. ZRANGE … REV. O(n).
    pub async fn slowest(&self, n: usize) -> Result<Vec<(Bytes, Duration)>> {
        self.slowest_at(n, self.backend.now()).await
    }

    /// [`slowest`](Self::slowest) of the hour of `at`.
    pub async fn slowest_at(&self, n: usize, at: Timestamp) -> Result<Vec<(Bytes, Duration)>> {
        if n == 0 {
            return Ok(Vec::new());
        }
        let key = self.keys.slowest(hour_of(at).as_secs());
        let last = n.min(SLOWEST_KEPT) as i64 - 1;
        let slowest = self.backend.run(cmd::zrange_rev_withscores(&key, 0, last)).await?;
        let mean = |secs| Duration::try_from_secs_f64(secs).unwrap_or_default();
        Ok(slowest.into_iter().map(|(context, secs)| (context, mean(secs))).collect())
    }

    /// The current hour, as keys name it.
    fn hour(&self) -> i64 {
        hour_of(self.backend.now()).as_secs()
    }
}

fn checked(context: &[u8], kind: &[u8], value: f64) -> Result<()> {
    id("context", context)?;
    id("kind", kind)?;
    if value.is_nan() || value.abs() > LARGEST {
        return Err(Error::invalid("value", value, "a number of at most 10^100 either way"));
    }
    Ok(())
}

/// What a value adds to the hour at `key`: count and sum after it come first.
fn add(
    key: &Key,
    value: f64,
    kept: Duration,
) -> impl Batch<Output = (f64, f64, f64, (), (), bool)> + use<'_> {
    (
        cmd::zincrby(key, 1, b"count"),
        cmd::zincrby(key, value, b"sum"),
        cmd::zincrby(key, value * value, b"sumsq"),
        cmd::zadd_least(key, value, "min"),
        cmd::zadd_greatest(key, value, "max"),
        cmd::expire(key, kept),
    )
}

fn recorded<T>((count, sum, ..): (f64, f64, f64, (), (), T)) -> Recorded {
    Recorded { count: count as u64, mean: sum / count }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn summary(values: &[f64]) -> Summary {
        Summary {
            hour: Timestamp::EPOCH,
            count: values.len() as u64,
            sum: values.iter().sum(),
            sum_of_squares: values.iter().map(|v| v * v).sum(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    #[test]
    fn rounding_makes_no_variance_of_equal_values() {
        // By the formula alone these have a variance below zero, and one above it.
        for value in [0.1, 1e9 + 0.3, 1e15 + 0.1, -1e99 / 3.0] {
            for n in [2, 3, 10, 1_000] {
                assert_eq!(summary(&vec![value; n]).variance(), Some(0.0), "{n} of {value}");
            }
        }
        assert_eq!(summary(&[5.0]).standard_deviation(), None);
    }

    #[test]
    fn a_small_spread_of_a_million_large_values_is_found_to_a_tenth() {
        // From 0 to 1 in even steps, in an order that mixes them.
        let step = |n: u64| (n * 618_033 % 1_000_000) as f64 / 1e6;
        let values: Vec<f64> = (0..1_000_000).map(|n| 1e6 + 3.46 * step(n)).collect();
        let found = summary(&values).standard_deviation().unwrap();
        assert!((0.9..1.1).contains(&found), "{found}");
    }

    proptest! {
        #[test]
        fn variance_is_that_of_the_definition(values in vec(-1e6_f64..1e6, 2..50)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let exact = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
            let found = summary(&values).variance().unwrap();
            prop_assert!((found - exact).abs() <= exact * 1e-9 + 0.02, "{found} {exact}");
        }

        #[test]
        fn variance_is_never_negative_nor_more_than_the_extremes_allow(
            at in -1e12_f64..1e12,
            steps in vec(-1.0_f64..1.0, 2..20),
        ) {
            let values: Vec<f64> = steps.iter().map(|step| at + step).collect();
            let s = summary(&values);
            let n = s.count as f64;
            let most = (s.max - s.min) * (s.max - s.min) / 4.0 * n / (n - 1.0);
            let found = s.variance().unwrap();
            prop_assert!(found >= 0.0 && found <= most * (1.0 + 1e-12), "{found}");
        }
    }
}
