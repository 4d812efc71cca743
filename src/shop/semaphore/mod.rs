//! Semaphore: never more than a number of holders at a time, served in order of arrival.
//!
//! | key | type | content |
//! |---|---|---|
//! | `semaphore:NAME:holders` | sorted set | id → end of its lease |
//! | `semaphore:NAME:queue` | sorted set | id → ticket |
//! | `semaphore:NAME:waits` | sorted set | id → until when its place is kept |
//! | `semaphore:NAME:grants` | hash | id → fencing number |
//! | `semaphore:NAME:meta` | hash | `ticket`, `fence`: the last numbers given |
//!
//! # What it promises
//!
//! Every operation is one script and goes by the server's clock alone, so clients' clocks do not
//! matter. Never are there more holders than the limit, as long as a holder keeps to
//! [`Held::is_held`]. Those who wait are served in the order in which the server first heard of
//! them; a waiter that has not asked again for the patience of the queue
//! ([`with_keep`](Semaphore::with_keep)) counts as dead and loses its place, and all dead ones do
//! so at the same time, so that they delay the living no longer than one does. The permit of a
//! holder that died is free when its lease ends. Every grant has a greater number than all before.
//!
//! The same request made again, because its reply was lost, gives the same answer: operations are
//! known by the holder's id.
//!
//! # What it does not
//!
//! It is as safe as the server: when that loses its memory, or fails over to a replica that has
//! not heard the last grants, two may hold the same permit, also with the same number. A jump of
//! the server's clock ends leases early. A head of the queue that has stopped asking wastes a
//! permit until its place is lost: the price of the order.
//!
//! Source: the fair semaphore of the published articles lets several in when the steps of two
//! clients cross; see [`published`] for that and others to compare.

pub mod published;
pub(super) mod script;

use std::sync::Arc;
use std::time::Duration;

use super::backoff::Backoff;
use super::check::{id as check_id, kept};
use super::held::{Grant, Held, Scripts, fresh_id};
use super::keys::{Key, Keys};
use super::lease::{Lease, Patience};
use crate::backend::{Arg, Backend, rung_within};
use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// How long a waiter's place is kept when it does not ask again, unless told otherwise.
pub const KEEP: Duration = Duration::from_secs(3);

/// The most permits of a semaphore.
pub const MAX_PERMITS: u32 = 1_000_000;

static SCRIPTS: Scripts =
    Scripts { release: &script::RELEASE, refresh: &script::REFRESH, guarded: &script::GUARDED };

/// Waits after a try whose outcome is unknown.
const RETRY: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(200));

/// A semaphore; see the module's documentation for keys and promises. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, Lease, Patience, Semaphore};
///
/// # #[cfg(feature = "lua")] {
/// let exports = Semaphore::new(Memory::new(), &Keys::new(), b"exports", 2)?;
/// let lease = Lease::of(Duration::from_secs(10))?;
/// let mut first = exports.acquire(lease, Patience::NONE).wait()?;
/// let second = exports.acquire(lease, Patience::NONE).wait()?;
/// assert!(exports.try_acquire(lease).wait()?.is_none());
/// assert!(second.fence() > first.fence());
/// assert!(first.release().wait()?);
/// assert!(exports.try_acquire(lease).wait()?.is_some());
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore<B> {
    backend: B,
    keys: Arc<[Key]>,
    limit: u32,
    keep: Duration,
    poll: Duration,
}

/// The answer to one request for a permit.
#[derive(Debug)]
pub enum Asked<B> {
    /// It is held.
    Granted(Held<B>),
    /// It is waited for.
    Waiting(Place),
}

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// How many are before it.
    pub ahead: u64,
    /// When it makes sense to ask again, at the latest: sooner nothing changes unless somebody
    /// gives up a permit.
    pub hint: Duration,
}

impl<B: Backend> Semaphore<B> {
    /// A semaphore of that name with `limit` permits, 1 to a million. All who use it must name the
    /// same limit.
    pub fn new(backend: B, keys: &Keys, name: &[u8], limit: u32) -> Result<Self> {
        check_id("name", name)?;
        if limit == 0 || limit > MAX_PERMITS {
            return Err(Error::invalid("limit", limit, "1 to 1000000 permits"));
        }
        Ok(Self::of(backend, keys.semaphore(name), limit))
    }

    pub(super) fn of(backend: B, keys: [Key; 5], limit: u32) -> Self {
        let poll = Duration::from_millis(100);
        Self { backend, keys: Arc::new(keys), limit, keep: KEEP, poll }
    }

    /// Sets for how long a waiter that has stopped asking keeps its place: 30 ms to an hour, and 3
    /// seconds unless told otherwise. Waiters ask again at least three times as often.
    pub fn with_keep(mut self, keep: Duration) -> Result<Self> {
        const EXPECTED: &str = "30ms to 1 hour";
        if keep < Duration::from_millis(30) || keep > Duration::from_secs(3_600) {
            return Err(Error::invalid("keep", format!("of {keep:?}"), EXPECTED));
        }
        self.keep = kept("keep", keep, Duration::from_millis(30))?;
        Ok(self)
    }

    /// Sets how often waiters ask again, at least, while nothing tells them to: 1 ms to a minute,
    /// and 100 ms unless told otherwise. Never less often than three times in
    /// [`with_keep`](Self::with_keep).
    pub fn with_poll(mut self, poll: Duration) -> Result<Self> {
        const EXPECTED: &str = "1ms to 1 minute";
        if poll < Duration::from_millis(1) || poll > Duration::from_secs(60) {
            return Err(Error::invalid("poll", format!("of {poll:?}"), EXPECTED));
        }
        self.poll = poll;
        Ok(self)
    }

    /// Waits for a permit, in the order of arrival, for as long as `patience` lasts; then the error
    /// is [`GaveUp`](ErrorKind::GaveUp) and the place in the queue is given up.
    ///
    /// One round trip when a permit is free; while it waits, one when whoever gives up a permit has
    /// woken it (see [`Backend::bell`]), and else one every hint, at most every 100 ms (see
    /// [`with_poll`](Self::with_poll)), with jitter. A lost reply is asked for again. When
    /// this future is dropped, the place in the queue, or a permit granted that moment, is lost
    /// with the time that it is kept, or with its lease.
    pub async fn acquire(&self, lease: Lease, patience: Patience) -> Result<Held<B>> {
        self.acquire_as(&fresh_id(&self.backend), lease, patience).await
    }

    /// [`acquire`](Self::acquire) under an id of the caller's, which must be that of no other
    /// holding: repeated after an unknown outcome it gives the same permit.
    pub async fn acquire_as(&self, id: &[u8], lease: Lease, patience: Patience) -> Result<Held<B>> {
        let began = self.backend.monotonic();
        let mut retry = RETRY;
        let (mut waited, mut bell) = (Duration::ZERO, None);
        loop {
            let wait = match self.ask(id, lease).await {
                Ok(Asked::Granted(held)) => return Ok(held),
                Ok(Asked::Waiting(place)) => {
                    retry.reset();
                    self.nap(place)
                }
                Err(error) if error.is_unknown() => retry.next(&self.backend),
                Err(error) => return Err(error),
            };
            // By the waits alone too: the clock may stand.
            let spent = self.backend.monotonic().saturating_sub(began).max(waited);
            let Some(left) = patience.length().checked_sub(spent).filter(|d| !d.is_zero()) else {
                return Err(self.give_up(id, spent).await);
            };
            let wait = wait.min(left);
            let [channel, ..] = self.key_names();
            let hang = self.backend.bell(channel, id);
            if !rung_within(&self.backend, &mut bell, hang, wait).await {
                waited += wait;
            }
        }
    }

    /// How long to wait before asking again: until the hint or the next poll, and a little less
    /// than that, each waiter otherwise.
    fn nap(&self, place: Place) -> Duration {
        let most = place.hint.min(self.poll).min(self.keep / 3).max(Duration::from_millis(1));
        Backoff::new(most, most).next(&self.backend)
    }

    async fn give_up(&self, id: &[u8], spent: Duration) -> Error {
        match self.cancel(id).await {
            Err(error) if error.is_unknown() => error,
            _ => Error::new(ErrorKind::GaveUp, format!("no permit in {spent:?}")),
        }
    }

    /// Takes a permit if one is free and nobody waits for it. `None`: there is none, and nothing
    /// is left behind. One script, one round trip; O(log holders + log waiters).
    pub async fn try_acquire(&self, lease: Lease) -> Result<Option<Held<B>>> {
        self.try_acquire_as(&fresh_id(&self.backend), lease).await
    }

    /// [`try_acquire`](Self::try_acquire) under an id of the caller's.
    pub async fn try_acquire_as(&self, id: &[u8], lease: Lease) -> Result<Option<Held<B>>> {
        match self.request(id, lease, true).await? {
            Asked::Granted(held) => Ok(Some(held)),
            Asked::Waiting(_) => Ok(None),
        }
    }

    /// Asks once, taking a place in the queue if there is no permit: what
    /// [`acquire`](Self::acquire) repeats. Whoever asks under the same id again before its place
    /// is lost keeps it. O(log holders + log waiters), and O(log) for each dead one, once.
    pub async fn ask(&self, id: &[u8], lease: Lease) -> Result<Asked<B>> {
        self.request(id, lease, false).await
    }

    async fn request(&self, id: &[u8], lease: Lease, only_try: bool) -> Result<Asked<B>> {
        check_id("id", id)?;
        let args: [Arg<'_>; 5] = [
            id.into(),
            u64::from(self.limit).into(),
            lease.as_millis().into(),
            (self.keep.as_millis() as u64).into(),
            u64::from(only_try).into(),
        ];
        let sent = self.backend.monotonic();
        let (granted, number, ms): (bool, u64, i64) =
            self.backend.script(&script::ACQUIRE, &self.key_names(), &args).await?;
        let ms = Duration::from_millis(ms.max(0) as u64);
        if !granted {
            return Ok(Asked::Waiting(Place { ahead: number, hint: ms }));
        }
        let grant = Grant { fence: number, sent, left: ms };
        let (backend, keys) = (self.backend.clone(), Arc::clone(&self.keys));
        let id = Bytes::copy_from(id);
        Ok(Asked::Granted(Held::new(backend, keys, &SCRIPTS, id, lease, grant)))
    }

    /// Leaves the queue, and gives up what `id` holds; says whether there was either. Repeated
    /// after a lost reply it may say no, and has the same effect.
    pub async fn cancel(&self, id: &[u8]) -> Result<bool> {
        check_id("id", id)?;
        self.backend.script(&script::CANCEL, &self.key_names(), &[id.into()]).await
    }

    /// How many permits are held, and how many wait.
    pub async fn count(&self) -> Result<(u64, u64)> {
        self.backend.script(&script::COUNT, &self.key_names(), &[]).await
    }

    fn key_names(&self) -> [&[u8]; 5] {
        std::array::from_fn(|at| self.keys.get(at).map_or(&b""[..], |key| &**key))
    }
}
