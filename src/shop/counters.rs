//! Counters: how often something happened, in slices of several lengths.
//!
//! | key | type | content |
//! |---|---|---|
//! | `known:` | sorted set | `PRECISION:NAME` → 0, so in the order of their bytes |
//! | `count:PRECISION:NAME` | hash | start of the slice, in seconds → count |
//! | `added:NAME:ID` | string | that the event with this id has been counted; has a time to live |
//!
//! A member of `known:` holds the name as it is: the precision ends at its first `:`, so a name may
//! hold any bytes.
//!
//! # Invariants
//!
//! - An increment enters the slices of all precisions and the index in one transaction: whoever
//!   crashes when, no hash is without its member of `known:`.
//! - The [cleaner] removes only slices that are too old, and a member of `known:` only together
//!   with the last slice of its hash; so no increment of a kept slice is lost. A slice is too old
//!   once [`SAMPLES`] newer ones fit between it and now: what a very slow clock still counts into
//!   it goes with it.
//! - An event with an id is counted once in each counter, for as long as ids are remembered.
//! - A member of `known:` without a hash, which nothing here leaves behind, is gone after the
//!   cleaner's next visit.
//!
//! In a Redis Cluster all keys must be in one slot: see [`Keys::clustered`].
//!
//! Source: the counters of the published articles. Their cleaner walks `known:` by position, and so
//! skips a counter whenever one before it vanishes; and it never again looks at a counter that a
//! crash has left empty.
//!
//! [cleaner]: CounterCleaner

mod cleaner;

use std::time::Duration;

use smallvec::SmallVec;

pub use self::cleaner::{CleanedCounters, CounterCleaner};
use super::backoff::unwritten;
use super::check::id;
use super::keys::{Key, Keys};
use super::once::{self, IdsKept};
use crate::backend::{Arg, Backend, Batch, Session, cmd};
use crate::bytes::{Buffer, Bytes};
use crate::env::Timestamp;
use crate::error::{Error, Result};
use crate::types::number::parse_i64;

/// The published lengths of slices, in seconds: from a second to a day.
pub const PRECISIONS: [u32; 7] = [1, 5, 60, 300, 3_600, 18_000, 86_400];

/// How many slices of each precision the cleaner keeps.
pub const SAMPLES: u32 = 120;

/// How many precisions there may be.
const MOST_PRECISIONS: usize = 32;

/// The longest slice, in seconds: a leap year.
const LONGEST: u32 = 366 * 86_400;

/// The largest step of a counter, either way, 10¹²: 64 bits hold more than nine million of them.
pub const LARGEST_STEP: u64 = 1_000_000_000_000;

type Precisions = SmallVec<[u32; 8]>;

/// Counters of what happens, in slices of several lengths.
///
/// Names are ids of any bytes. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Counters, Keys};
/// use stockroom::{Env, Timestamp};
///
/// let env = Env::manual(Timestamp::from_secs(1_000), 0);
/// let counters = Counters::new(Memory::with_env(env.clone()), Keys::new());
/// counters.increment(b"hits", 2).wait()?;
/// env.set(Timestamp::from_secs(1_012));
/// counters.increment(b"hits", 1).wait()?;
/// let series = counters.series(b"hits", 5).wait()?;
/// assert_eq!(series, [(Timestamp::from_secs(1_000), 2), (Timestamp::from_secs(1_010), 1)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counters<B> {
    backend: B,
    keys: Keys,
    known: Key,
    precisions: Precisions,
    /// For each precision, how the names of its counters begin.
    beginnings: Vec<Beginning>,
    ids_kept: IdsKept,
}

/// How the names of all counters of a precision begin.
#[derive(Clone, Debug)]
struct Beginning {
    precision: u32,
    member: Member,
    key: Key,
}

/// A member of `known:`.
type Member = Buffer<38>;

impl Beginning {
    fn all(keys: &Keys, precisions: &[u32]) -> Vec<Self> {
        let each = |&precision: &u32| {
            let mut member = Member::new();
            member.extend(&Arg::from(u64::from(precision)));
            member.push(b':');
            Self { precision, member, key: keys.counts(precision) }
        };
        precisions.iter().map(each).collect()
    }
}

impl<B: Backend> Counters<B> {
    /// Counters under `keys`, with the published precisions.
    pub fn new(backend: B, keys: Keys) -> Self {
        let (known, beginnings) = (keys.known(), Beginning::all(&keys, &PRECISIONS));
        let precisions = Precisions::from_slice(&PRECISIONS);
        Self { backend, keys, known, precisions, beginnings, ids_kept: IdsKept::default() }
    }

    /// Sets the lengths of slices, in seconds: 1 to 32 different ones, each of a second to a year.
    ///
    /// What was counted with others stays until the cleaner finds it too old.
    ///
    /// ```
    /// use stockroom::backend::Memory;
    /// use stockroom::shop::{Counters, Keys};
    ///
    /// let counters = Counters::new(Memory::new(), Keys::new());
    /// assert!(counters.clone().with_precisions(&[10, 600]).is_ok());
    /// let twice = counters.with_precisions(&[10, 10]).unwrap_err();
    /// assert!(twice.to_string().starts_with("invalid precisions [10, 10]"));
    /// ```
    pub fn with_precisions(mut self, precisions: &[u32]) -> Result<Self> {
        const EXPECTED: &str = "1 to 32 different ones of 1 second to 366 days";
        if precisions.is_empty() || precisions.len() > MOST_PRECISIONS {
            return Err(Error::invalid("number of precisions", precisions.len(), EXPECTED));
        }
        let mut sorted = Precisions::from_slice(precisions);
        sorted.sort_unstable();
        sorted.dedup();
        let all_fit = sorted.iter().all(|p| (1..=LONGEST).contains(p));
        if sorted.len() < precisions.len() || !all_fit {
            return Err(Error::invalid("precisions", format!("{precisions:?}"), EXPECTED));
        }
        self.beginnings = Beginning::all(&self.keys, &sorted);
        self.precisions = sorted;
        Ok(self)
    }

    /// The lengths of slices, in seconds, ascending.
    pub fn precisions(&self) -> &[u32] {
        &self.precisions
    }

    /// Adds `by`, which may be negative, to the current slice of every precision.
    ///
    /// One transaction in one round trip: ZADD of all members, and HINCRBY for each precision.
    /// O(precisions · log counters). A step of more than 10¹² either way is refused before
    /// anything is sent; a slice whose sum leaves 64 bits is refused by the server, and the other
    /// slices stand: the error is [`Partly`](crate::ErrorKind::Partly). When the reply is lost the
    /// outcome is unknown, and doing it again may count twice.
    pub async fn increment(&self, name: &[u8], by: i64) -> Result<()> {
        self.increment_all(&[(name, by)]).await
    }

    /// Adds to several counters, all in one transaction and one round trip; see
    /// [`increment`](Self::increment). Nothing to add sends nothing.
    pub async fn increment_all(&self, steps: &[(&[u8], i64)]) -> Result<()> {
        for (name, by) in steps {
            checked(name, *by)?;
        }
        if steps.is_empty() {
            return Ok(());
        }
        self.backend.atomic(add(&self.known, &self.slices(steps))).await.map(drop)
    }

    /// Adds `by` like [`increment`](Self::increment), unless the event with this id has been added
    /// to this counter already; says whether it was added now. An id is remembered for two hours,
    /// or as [`with_ids_kept`](Self::with_ids_kept) says, from when it was counted on: a repetition
    /// up to that very millisecond is recognised, one that comes later counts again, and none
    /// prolongs it. So after a lost reply, or when a queue delivers the event once more, call it
    /// again with the same id; `false` then says that it was counted before.
    ///
    /// One script, one round trip. O(precisions · log counters). The counters remember one small
    /// key for each event of the last two hours. A slice that the server refuses is
    /// [`Partly`](crate::ErrorKind::Partly), and the id is remembered then: the other slices stand.
    ///
    /// Where there are no scripts (see [`Backend::has_scripts`]) it is two round trips: WATCH of
    /// the id's key and EXISTS, then a transaction. Only who counts the same id at the same time is
    /// in the way, and then it has been counted.
    ///
    /// ```
    /// use stockroom::backend::{Memory, Wait};
    /// use stockroom::shop::{Counters, Keys};
    ///
    /// let counters = Counters::new(Memory::new(), Keys::new());
    /// assert!(counters.increment_once(b"sales", 3, b"order 17").wait()?);
    /// // The queue delivers it again.
    /// assert!(!counters.increment_once(b"sales", 3, b"order 17").wait()?);
    /// assert_eq!(counters.series(b"sales", 86_400).wait()?[0].1, 3);
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    pub async fn increment_once(&self, name: &[u8], by: i64, event: &[u8]) -> Result<bool> {
        checked(name, by)?;
        id("event id", event)?;
        let added = self.keys.added(name, event);
        let slices = self.slices(&[(name, by)]);
        if self.backend.has_scripts() {
            let mut keys: Vec<&[u8]> = vec![&added, &self.known];
            keys.extend(slices.iter().map(|slice| &*slice.key));
            let mut args: Vec<Arg<'_>> = vec![self.ids_kept.into(), by.into()];
            for slice in &slices {
                args.extend([Arg::from(&*slice.member), slice.start.into()]);
            }
            return self.backend.script(&once::INCREMENT, &keys, &args).await;
        }
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let known = session.watch_and(&[&added], cmd::exists(&added)).await;
        if known.map_err(unwritten)? {
            return Ok(false);
        }
        let note = cmd::set_for(&added, "", self.ids_kept.0);
        Ok(session.commit((note, add(&self.known, &slices))).await?.is_some())
    }

    /// Sets how long the ids of [`increment_once`](Self::increment_once) are remembered, by the
    /// server's clock: a second to 366 days.
    pub fn with_ids_kept(mut self, kept: Duration) -> Result<Self> {
        self.ids_kept = IdsKept::of(kept)?;
        Ok(self)
    }

    /// What the steps add to, now.
    fn slices(&self, steps: &[(&[u8], i64)]) -> Vec<Slice> {
        let now = self.backend.now().as_secs();
        let mut slices = Vec::with_capacity(steps.len() * self.beginnings.len());
        for (name, by) in steps {
            slices.extend(self.beginnings.iter().map(|begin| Slice::new(begin, name, *by, now)));
        }
        slices
    }

    /// The slices of a counter with their counts, in the order of time. Slices in which nothing was
    /// counted are missing.
    ///
    /// HGETALL, one round trip. O(s log s) for s slices: 120, and those that the cleaner has not
    /// come to yet. The precision must be one of [`precisions`](Self::precisions).
    pub async fn series(&self, name: &[u8], precision: u32) -> Result<Vec<(Timestamp, i64)>> {
        id("name", name)?;
        if !self.precisions.contains(&precision) {
            let expected = format!("one of {:?}", self.precisions);
            return Err(Error::invalid("precision", precision, &expected));
        }
        let key = self.keys.count(precision, name);
        let all = cmd::hgetall::<i64>(&key).reply_as::<Vec<(i64, i64)>>();
        let mut series = self.backend.run(all).await?;
        series.sort_unstable();
        Ok(series.into_iter().map(|(start, count)| (Timestamp::from_secs(start), count)).collect())
    }

    /// The counters that exist, by precision and name.
    ///
    /// ZRANGE, one round trip. O(counters): for reports and tests.
    pub async fn known(&self) -> Result<Vec<(u32, Bytes)>> {
        let members: Vec<Bytes> = self.backend.run(cmd::zrange(&self.known, 0, -1)).await?;
        let split = |m: &Bytes| split(m).map(|(precision, name)| (precision, name.into()));
        let mut known: Vec<(u32, Bytes)> = members.iter().filter_map(split).collect();
        known.sort_unstable();
        Ok(known)
    }

    /// What keeps the counters from growing for ever; see [`CounterCleaner`].
    pub fn cleaner(&self) -> CounterCleaner<B> {
        CounterCleaner::new(self.clone())
    }
}

fn checked(name: &[u8], by: i64) -> Result<()> {
    id("name", name)?;
    if by.unsigned_abs() > LARGEST_STEP {
        return Err(Error::invalid("step", by, "at most 10^12 either way"));
    }
    Ok(())
}

/// What adds the steps to their slices.
fn add<'a>(known: &'a [u8], slices: &'a [Slice]) -> impl Batch + use<'a> {
    let members = cmd::zadd_all(known, slices.iter().map(|slice| (0, &*slice.member)));
    let count = |slice: &'a Slice| cmd::hincrby(&slice.key, slice.start, slice.by);
    (members, slices.iter().map(count).collect::<Vec<_>>())
}

/// A step in one slice.
struct Slice {
    /// In `known:`.
    member: Member,
    key: Key,
    start: i64,
    by: i64,
}

impl Slice {
    fn new(begin: &Beginning, name: &[u8], by: i64, now: i64) -> Self {
        let mut member = begin.member.clone();
        member.extend(name);
        let length = i64::from(begin.precision);
        // Saturates where a clock shows the first years that 64 bits can.
        let start = now.div_euclid(length).saturating_mul(length);
        Self { member, key: begin.key.clone().of(name), start, by }
    }
}

/// The precision and the name that a member of `known:` stands for.
fn split(member: &[u8]) -> Option<(u32, &[u8])> {
    let colon = member.iter().position(|&b| b == b':')?;
    let precision = u32::try_from(parse_i64(member.get(..colon)?)?).ok()?;
    let name = member.get(colon + 1..)?;
    ((1..=LONGEST).contains(&precision) && !name.is_empty()).then_some((precision, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_for_one_counter_each() {
        for (precision, name) in [(1, &b"a"[..]), (300, b"a:b"), (60, b":"), (5, b"5:x\xff\0")] {
            let begin = &Beginning::all(&Keys::new(), &[precision])[0];
            let slice = Slice::new(begin, name, 1, 1_000);
            assert_eq!(split(&slice.member), Some((precision, name)));
            assert_eq!(slice.key, Keys::new().count(precision, name));
        }
        for member in ["", "60", "60:", "0:a", "060:a", "+60:a", "a:60", "4294967296:a"] {
            assert_eq!(split(member.as_bytes()), None, "{member}");
        }
    }

    #[test]
    fn slices_start_at_multiples_of_their_length_on_both_sides_of_1970() {
        let begin = |precision| Beginning::all(&Keys::new(), &[precision]).remove(0);
        let start = |precision, now| Slice::new(&begin(precision), b"a", 1, now).start;
        assert_eq!(start(60, 119), 60);
        assert_eq!(start(60, 120), 120);
        assert_eq!(start(60, -1), -60);
        assert_eq!(start(LONGEST, i64::MIN / 1_000_000) % i64::from(LONGEST), 0);
    }
}
