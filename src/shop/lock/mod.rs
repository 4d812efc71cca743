//! Locks: one at a time.
//!
//! | key | type | content |
//! |---|---|---|
//! | `lock:NAME` | string | id of the holder, with the lease as its time to live |
//! | `lock:NAME:fence` | string | number of the last grant |
//!
//! [`Lock`] is plain: whoever asks at the right moment gets it. [`FairLock`] serves in the order
//! of arrival; it is a [`Semaphore`] with one permit, under `fairlock:NAME`.
//!
//! # What they promise
//!
//! No two hold it at a time, as long as a holder keeps to [`Held::is_held`]: its lease is counted
//! from before the request was sent. Value and lease are set in one step, so no crash leaves a
//! lock without an end. Only its holder gives it up or renews it. Every grant has a greater
//! fencing number. The same request made again after a lost reply gives the same answer.
//!
//! # What they do not
//!
//! A holder that is paused beyond its lease does not know: write with [`Held::guarded`] where the
//! resource is in the same Redis, or hand [`Held::fence`] to a store that compares. As for
//! [`Semaphore`], a server that loses its memory or fails over may grant twice.
//!
//! Source: the published lock sets a value and its end in two commands, which a crash in between
//! leaves without an end; asks every millisecond; and takes a lost reply for a failure.

pub(super) mod script;

use std::sync::Arc;
use std::time::Duration;

use super::backoff::Backoff;
use super::check::id as check_id;
use super::held::{Grant, Held, Scripts, fresh_id};
use super::keys::{Key, Keys};
use super::lease::{Lease, Patience};
use super::semaphore::Semaphore;
use crate::backend::{Arg, Backend, rung_within};
use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

static SCRIPTS: Scripts =
    Scripts { release: &script::RELEASE, refresh: &script::REFRESH, guarded: &script::GUARDED };

/// Waits between tries: longer and longer, so that many who wait cost little.
const WAITS: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(100));

/// A plain lock; see the module's documentation for keys and promises. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, Lease, Lock, Patience};
///
/// # #[cfg(feature = "lua")] {
/// let lock = Lock::new(Memory::new(), &Keys::new(), b"market")?;
/// let lease = Lease::of(Duration::from_secs(10))?;
/// let mut held = lock.acquire(lease, Patience::NONE).wait()?;
/// assert!(lock.try_acquire(lease).wait()?.is_none());
/// assert!(held.is_held() && held.release().wait()?);
/// assert!(lock.try_acquire(lease).wait()?.is_some());
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lock<B> {
    backend: B,
    keys: Arc<[Key]>,
    repair: bool,
}

impl<B: Backend> Lock<B> {
    /// The lock of that name.
    pub fn new(backend: B, keys: &Keys, name: &[u8]) -> Result<Self> {
        check_id("name", name)?;
        Ok(Self::of(backend, [keys.lock(name), keys.lock_fence(name)]))
    }

    pub(super) fn of(backend: B, keys: [Key; 2]) -> Self {
        Self { backend, keys: Arc::new(keys), repair: false }
    }

    /// Gives a lock that somebody has left without an end, which this type never does, one after
    /// the lease asked for.
    #[must_use]
    pub fn with_repair(mut self) -> Self {
        self.repair = true;
        self
    }

    /// Waits for the lock for as long as `patience` lasts; then the error is
    /// [`GaveUp`](ErrorKind::GaveUp).
    ///
    /// One round trip when it is free, else one after each wait: until the holder gives it up,
    /// which wakes those who wait (see [`Backend::bell`]), and for 2 ms at most, doubling up to
    /// 100 ms, half of it random, and never beyond the end of the holder's lease. There is no
    /// order among those who wait. A lost reply is asked for again. When this future is dropped, a
    /// grant of that moment ends with its lease.
    pub async fn acquire(&self, lease: Lease, patience: Patience) -> Result<Held<B>> {
        self.acquire_as(&fresh_id(&self.backend), lease, patience).await
    }

    /// [`acquire`](Self::acquire) under an id of the caller's, which must be that of no other
    /// holding: repeated after an unknown outcome it gives the same lock.
    pub async fn acquire_as(&self, id: &[u8], lease: Lease, patience: Patience) -> Result<Held<B>> {
        let began = self.backend.monotonic();
        let (mut waits, mut waited, mut bell) = (WAITS, Duration::ZERO, None);
        loop {
            let wait = waits.next(&self.backend);
            let (wait, unsure) = match self.ask(id, lease).await {
                Ok(Ok(held)) => return Ok(held),
                Ok(Err(left)) => {
                    // A key lives through the millisecond of its deadline.
                    let end = left.map_or(wait, |left| left + Duration::from_millis(1));
                    (wait.min(end), false)
                }
                Err(error) if error.is_unknown() => (wait, true),
                Err(error) => return Err(error),
            };
            let spent = self.backend.monotonic().saturating_sub(began).max(waited);
            let Some(left) = patience.length().checked_sub(spent).filter(|d| !d.is_zero()) else {
                return Err(gave_up(spent, unsure));
            };
            let wait = wait.min(left);
            let channel = self.keys.first().map_or(&b""[..], |key| key);
            let hang = self.backend.bell(channel, id);
            if !rung_within(&self.backend, &mut bell, hang, wait).await {
                waited += wait;
            }
        }
    }

    /// Takes the lock if it is free. One script, one round trip, O(1).
    pub async fn try_acquire(&self, lease: Lease) -> Result<Option<Held<B>>> {
        self.try_acquire_as(&fresh_id(&self.backend), lease).await
    }

    /// [`try_acquire`](Self::try_acquire) under an id of the caller's.
    pub async fn try_acquire_as(&self, id: &[u8], lease: Lease) -> Result<Option<Held<B>>> {
        Ok(self.ask(id, lease).await?.ok())
    }

    /// Asks once. The inner error: somebody else holds it, for so long unless it is renewed.
    async fn ask(&self, id: &[u8], lease: Lease) -> Result<Result<Held<B>, Option<Duration>>> {
        check_id("id", id)?;
        let repair = u64::from(self.repair);
        let args: [Arg<'_>; 3] = [id.into(), lease.as_millis().into(), repair.into()];
        let keys: Vec<&[u8]> = self.keys.iter().map(|key| &**key).collect();
        let sent = self.backend.monotonic();
        let (granted, fence, left): (bool, u64, i64) =
            self.backend.script(&script::ACQUIRE, &keys, &args).await?;
        let left = u64::try_from(left).ok().map(Duration::from_millis);
        if !granted {
            return Ok(Err(left));
        }
        let grant = Grant { fence, sent, left: left.unwrap_or_default() };
        let (backend, keys) = (self.backend.clone(), Arc::clone(&self.keys));
        Ok(Ok(Held::new(backend, keys, &SCRIPTS, Bytes::copy_from(id), lease, grant)))
    }
}

fn gave_up(spent: Duration, unsure: bool) -> Error {
    if unsure {
        let text = format!("no answer about the lock in {spent:?}: it may be held under this id");
        return Error::new(ErrorKind::Unknown, text);
    }
    Error::new(ErrorKind::GaveUp, format!("no lock in {spent:?}"))
}

/// A fair lock: first come, first served; dead waiters are skipped. A [`Semaphore`] with one
/// permit: see there for what it promises. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{FairLock, Keys, Lease, semaphore::Asked};
///
/// # #[cfg(feature = "lua")] {
/// let lock = FairLock::new(Memory::new(), &Keys::new(), b"market")?;
/// let lease = Lease::of(Duration::from_secs(10))?;
/// let mut ann = lock.try_acquire(lease).wait()?.expect("it is free");
/// let Asked::Waiting(place) = lock.ask(b"bob", lease).wait()? else { panic!("ann holds it") };
/// assert_eq!(place.ahead, 0);
/// ann.release().wait()?;
/// // Bob waits for it: nobody passes him.
/// assert!(lock.try_acquire(lease).wait()?.is_none());
/// assert!(matches!(lock.ask(b"bob", lease).wait()?, Asked::Granted(_)));
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FairLock<B>(Semaphore<B>);

impl<B: Backend> FairLock<B> {
    /// The lock of that name.
    pub fn new(backend: B, keys: &Keys, name: &[u8]) -> Result<Self> {
        check_id("name", name)?;
        Ok(Self::of(backend, keys.fair_lock(name)))
    }

    pub(super) fn of(backend: B, keys: [Key; 5]) -> Self {
        Self(Semaphore::of(backend, keys, 1))
    }
}

impl<B> std::ops::Deref for FairLock<B> {
    type Target = Semaphore<B>;

    fn deref(&self) -> &Semaphore<B> {
        &self.0
    }
}
