//! Semaphores as they were published, to compare, and for tests that must find something. **None
//! of them keeps to its limit.** Use [`Semaphore`](super::Semaphore).
//!
//! - [`TimestampSemaphore`] orders by clients' clocks and can promise nothing. Two clients that
//!   read their clocks in one order and write in the other both hold: the second in the order of
//!   time pushes the first out. A slow clock does the same, a fast one ends others' leases.
//! - [`CounterSemaphore`] orders by a counter on the server and can promise nothing either. Two
//!   that take their numbers in one order and look at their ranks in the other both see rank 0.
//! - [`GuardedSemaphore`] is that one under a lock. It keeps its limit while no client is paused
//!   between its steps for longer than the lock's lease, and clocks differ by less than the
//!   timeout.
//!
//! A refresh by ZADD says "still held" to one who has lost the permit when an earlier refresh,
//! whose reply was lost, has put it back; a release says yes to both thief and victim; and one who
//! was turned away leaves its entry behind if it dies before it takes it out.
//!
//! Steps are methods of their own where races are between them, so that a test can take them one
//! by one.
//!
//! Source: the published articles on counting semaphores.

use std::time::Duration;

use super::super::check::{id as check_id, kept};
use super::super::held::fresh_id;
use super::super::keys::{Key, Keys};
use super::super::lease::{Lease, Patience};
use super::super::lock::Lock;
use crate::backend::{Backend, Cmd, cmd};
use crate::commands::zset::ZINTERSTORE;
use crate::error::{Error, Result};

/// What the three share: the keys, the limit and the timeout after which a holder counts as dead.
#[derive(Clone, Debug)]
struct Parts<B> {
    backend: B,
    times: Key,
    owners: Key,
    counter: Key,
    limit: u64,
    timeout: Duration,
}

impl<B: Backend> Parts<B> {
    fn new(backend: B, keys: &Keys, name: &[u8], limit: u32, timeout: Duration) -> Result<Self> {
        check_id("name", name)?;
        if limit == 0 {
            return Err(Error::invalid("limit", limit, "at least 1 permit"));
        }
        let timeout = kept("timeout", timeout, Duration::from_millis(1))?;
        let [times, owners, counter] = keys.published_semaphore(name);
        Ok(Self { backend, times, owners, counter, limit: limit.into(), timeout })
    }

    /// The score up to which holders count as dead, by this client's clock.
    fn dead(&self) -> f64 {
        (self.backend.now() - self.timeout).as_secs_f64()
    }
}

/// The basic one: rank by the time that clients say.
#[derive(Clone, Debug)]
pub struct TimestampSemaphore<B>(Parts<B>);

impl<B: Backend> TimestampSemaphore<B> {
    /// A semaphore of that name; holders count as dead after `timeout`.
    pub fn new(
        backend: B,
        keys: &Keys,
        name: &[u8],
        limit: u32,
        timeout: Duration,
    ) -> Result<Self> {
        Parts::new(backend, keys, name, limit, timeout).map(Self)
    }

    /// Drops the dead, enters `id`, and looks whether its rank is below the limit. Two round trips
    /// when it is not, since the entry is taken out again.
    pub async fn acquire(&self, id: &[u8]) -> Result<bool> {
        self.acquire_at(id, self.0.backend.now().as_secs_f64()).await
    }

    /// [`acquire`](Self::acquire) with a time read earlier: what happens when a client reads its
    /// clock and is overtaken on the way.
    pub async fn acquire_at(&self, id: &[u8], now: f64) -> Result<bool> {
        check_id("id", id)?;
        let Parts { backend, times, limit, .. } = &self.0;
        let dead = now - self.0.timeout.as_secs_f64();
        let batch = (
            cmd::zremrangebyscore(times, cmd::Edge::Least, cmd::Edge::At(dead.into())),
            cmd::zadd(times, now, id),
            cmd::zrank(times, id),
        );
        let (_, _, rank) = backend.atomic(batch).await?;
        if rank.is_some_and(|rank| rank < *limit) {
            return Ok(true);
        }
        backend.run(cmd::zrem(times, [id])).await?;
        Ok(false)
    }

    /// Takes `id` out; says whether it was in.
    pub async fn release(&self, id: &[u8]) -> Result<bool> {
        Ok(self.0.backend.run(cmd::zrem(&self.0.times, [id])).await? > 0)
    }
}

/// The "fair" one: rank by a counter on the server.
#[derive(Clone, Debug)]
pub struct CounterSemaphore<B>(Parts<B>);

impl<B: Backend> CounterSemaphore<B> {
    /// A semaphore of that name; holders count as dead after `timeout`.
    pub fn new(
        backend: B,
        keys: &Keys,
        name: &[u8],
        limit: u32,
        timeout: Duration,
    ) -> Result<Self> {
        Parts::new(backend, keys, name, limit, timeout).map(Self)
    }

    /// Both steps.
    pub async fn acquire(&self, id: &[u8]) -> Result<bool> {
        let ticket = self.take_ticket().await?;
        self.enter(id, ticket).await
    }

    /// The first step: drops the dead and takes a number.
    pub async fn take_ticket(&self) -> Result<i64> {
        let Parts { backend, times, owners, counter, .. } = &self.0;
        // Those whose time was dropped lose their number too.
        let known = Cmd::<u64>::new(&ZINTERSTORE)
            .args([&**owners, b"2", owners, times])
            .args(["WEIGHTS", "1", "0"]);
        let batch = (
            cmd::zremrangebyscore(times, cmd::Edge::Least, cmd::Edge::At(self.0.dead().into())),
            known,
            cmd::incrby(counter, 1),
        );
        Ok(backend.atomic(batch).await?.2)
    }

    /// The second step: enters `id` with its number and looks at its rank.
    pub async fn enter(&self, id: &[u8], ticket: i64) -> Result<bool> {
        check_id("id", id)?;
        let Parts { backend, times, owners, limit, .. } = &self.0;
        let now = backend.now().as_secs_f64();
        let batch =
            (cmd::zadd(times, now, id), cmd::zadd(owners, ticket, id), cmd::zrank(owners, id));
        let (_, _, rank) = backend.atomic(batch).await?;
        if rank.is_some_and(|rank| rank < *limit) {
            return Ok(true);
        }
        backend.pipeline((cmd::zrem(times, [id]), cmd::zrem(owners, [id]))).await?;
        Ok(false)
    }

    /// Takes `id` out; says whether it was in, which victims of a theft hear too.
    pub async fn release(&self, id: &[u8]) -> Result<bool> {
        let Parts { backend, times, owners, .. } = &self.0;
        let batch = (cmd::zrem(times, [id]), cmd::zrem(owners, [id]));
        Ok(backend.pipeline(batch).await?.0 > 0)
    }

    /// Enters a new time; `false` if `id` was out. It is in again then, until the next line takes
    /// it out: repeated after a lost reply it says "still held".
    pub async fn refresh(&self, id: &[u8]) -> Result<bool> {
        let Parts { backend, times, .. } = &self.0;
        let now = backend.now().as_secs_f64();
        if backend.run(cmd::zadd(times, now, id)).await? {
            self.release(id).await?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// The one that takes both steps of [`CounterSemaphore`] under a lock.
#[derive(Clone, Debug)]
pub struct GuardedSemaphore<B> {
    inner: CounterSemaphore<B>,
    lock: Lock<B>,
    lease: Lease,
}

impl<B: Backend> GuardedSemaphore<B> {
    /// A semaphore of that name; holders count as dead after `timeout`. The lock is held for
    /// `lease` at most.
    pub fn new(
        backend: B,
        keys: &Keys,
        name: &[u8],
        limit: u32,
        timeout: Duration,
        lease: Lease,
    ) -> Result<Self> {
        let lock = Lock::new(backend.clone(), keys, name)?;
        Ok(Self { inner: CounterSemaphore::new(backend, keys, name, limit, timeout)?, lock, lease })
    }

    /// Both steps, under the lock; also `false` when the lock was not free for 10 ms.
    pub async fn acquire(&self, id: &[u8]) -> Result<bool> {
        let patience = Patience::of(Duration::from_millis(10));
        let own = fresh_id(&self.inner.0.backend);
        let mut held = match self.lock.acquire_as(&own, self.lease, patience).await {
            Ok(held) => held,
            Err(error) if error.kind() == crate::ErrorKind::GaveUp => return Ok(false),
            Err(error) => return Err(error),
        };
        let acquired = self.inner.acquire(id).await;
        held.release().await?;
        acquired
    }

    /// See [`CounterSemaphore::release`].
    pub async fn release(&self, id: &[u8]) -> Result<bool> {
        self.inner.release(id).await
    }

    /// See [`CounterSemaphore::refresh`].
    pub async fn refresh(&self, id: &[u8]) -> Result<bool> {
        self.inner.refresh(id).await
    }
}
