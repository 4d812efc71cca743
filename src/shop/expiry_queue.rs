//! Expiry queue: keys that are deleted at a time, by workers rather than by the server's own TTLs,
//! so that the deletions can be seen, counted, taken back and paced.
//!
//! A [`DelayedQueue`] of the name `expire_queue`, whose ids are the keys; see there for its keys
//! and promises. A key is deleted in the same step in which the claim on it ends, so a worker that
//! dies loses nothing, and one that is late deletes nothing. A key that is added again is deleted
//! at the later time only.
//!
//! On a Redis Cluster the keys must be in the queue's slot: with [`Keys::clustered`] those with the
//! hash tag `{expire_queue}` are.
//!
//! Source: the published expiry queue takes a range by time and removes it by rank, so that two
//! workers at once delete what both have seen and remove what neither has.

use std::io;
use std::time::Duration;

use super::daemon::{Chore, Daemon, Progress, Report, Running};
use super::delayed_queue::{Counts, DelayedQueue, script};
use super::keys::Keys;
use crate::backend::{Arg, Backend};
use crate::error::{Error, Result};

/// How many workers a pool has unless told otherwise.
pub const WORKERS: usize = 10;

/// How many keys a worker takes at a time unless told otherwise.
pub const BATCH: usize = 100;

/// How long a worker rests when nothing is due, unless told otherwise.
pub const EVERY: Duration = Duration::from_secs(1);

/// Keys to delete later; see the module's documentation. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Backend, Memory, Wait, cmd};
/// use stockroom::shop::{ExpiryQueue, Keys};
/// use stockroom::{Env, Timestamp};
///
/// # #[cfg(feature = "lua")] {
/// let env = Env::manual(Timestamp::from_secs(1_000), 1);
/// let memory = Memory::with_env(env.clone());
/// let queue = ExpiryQueue::new(memory.clone(), &Keys::new())?;
/// memory.run(cmd::set(b"report", b"12 pages")).wait()?;
/// queue.add(b"report", Duration::from_secs(60)).wait()?;
/// assert_eq!(queue.step(100).wait()?.deleted, 0);
/// env.advance(Duration::from_secs(60));
/// assert_eq!(queue.step(100).wait()?.deleted, 1);
/// assert!(!memory.run(cmd::exists(b"report")).wait()?);
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExpiryQueue<B> {
    queue: DelayedQueue<B>,
}

/// What a step of a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Keys whose time had come.
    pub ended: u64,
    /// Those of them that were there to delete.
    pub deleted: u64,
    /// Whether there may be more that are due.
    pub more: bool,
}

impl<B: Backend> ExpiryQueue<B> {
    /// The queue under `keys`.
    pub fn new(backend: B, keys: &Keys) -> Result<Self> {
        Ok(Self { queue: DelayedQueue::new(backend, keys, b"expire_queue")? })
    }

    /// The queue that this is, for its settings, dead letters and counts.
    pub fn queue(&self) -> &DelayedQueue<B> {
        &self.queue
    }

    /// The same with another queue's settings.
    #[must_use]
    pub fn on(queue: DelayedQueue<B>) -> Self {
        Self { queue }
    }

    /// Has `key` deleted after `ttl`, at most 366 days; says whether it was not in the queue
    /// before. Added again it is deleted after the new time only. One script, O(log keys).
    pub async fn add(&self, key: &[u8], ttl: Duration) -> Result<bool> {
        self.queue.add(key, None, ttl).await
    }

    /// [`add`](Self::add) for up to 1,000 keys; says how many are new.
    pub async fn add_all(&self, keys: &[&[u8]], ttl: Duration) -> Result<u64> {
        self.queue.add_all(keys, None, ttl).await
    }

    /// Lets `key` stay; says whether it was in the queue. One script, O(log keys).
    pub async fn remove(&self, key: &[u8]) -> Result<bool> {
        self.queue.remove(key).await
    }

    /// What is in the queue.
    pub async fn counts(&self) -> Result<Counts> {
        self.queue.counts().await
    }

    /// Claims up to `most` keys that are due, 1,000 at most, and deletes them: two scripts, two
    /// round trips; O(most · log keys). Whatever fails in between, the keys that are not deleted
    /// are claimed again when the claim is overdue.
    pub async fn step(&self, most: usize) -> Result<Expired> {
        let claim = self.queue.claim(most).await?;
        let more = claim.tasks.len() == most;
        let ids: Vec<&[u8]> = claim.tasks.iter().map(|task| &*task.id).collect();
        let (ended, deleted) = self.delete(&claim.token, &ids).await?;
        Ok(Expired { ended, deleted, more })
    }

    /// Deletes keys that are claimed with this token, and ends the claim on them; how many were
    /// claimed, and how many of these were there.
    pub async fn delete(&self, token: &[u8], keys: &[&[u8]]) -> Result<(u64, u64)> {
        if keys.is_empty() {
            return Ok((0, 0));
        }
        let own = self.queue.claim_key(token);
        let mut names = self.queue.with_claim(&own);
        names.extend(keys);
        let mut args: Vec<Arg<'_>> = vec![token.into()];
        args.extend(keys.iter().map(|key| Arg::from(*key)));
        self.queue.backend.script(&script::DELETE, &names, &args).await
    }

    /// A worker as a chore: takes `batch` keys at a time, without rest while there are more that
    /// are due, else once every `every`.
    pub fn worker(&self, batch: usize, every: Duration) -> Worker<B> {
        Worker { queue: self.clone(), batch, every }
    }

    /// A pool of 10 workers on threads of their own, each of which takes up to 100 keys every
    /// second. Fails if the machine has no threads to give.
    pub fn start(&self) -> Result<WorkerPool> {
        self.start_with(WORKERS, BATCH, EVERY)
    }

    /// A pool of other numbers: 1 to 1,000 workers, batches of 1 to 1,000 keys.
    pub fn start_with(&self, workers: usize, batch: usize, every: Duration) -> Result<WorkerPool> {
        if workers == 0 || workers > 1_000 {
            return Err(Error::invalid("number of workers", workers, "1 to 1000"));
        }
        if batch == 0 || batch > super::delayed_queue::MAX_BATCH {
            return Err(Error::invalid("batch", batch, "1 to 1000 keys"));
        }
        let start = |n: usize| {
            let worker = self.worker(batch, every);
            Daemon::new(format!("expiry-{n}"), self.queue.backend.clone(), worker).start()
        };
        // Those that have started are stopped when one cannot.
        let running: io::Result<Vec<Running>> = (0..workers).map(start).collect();
        let running = running.map_err(|error| {
            let text = format!("no thread for a worker: {error}");
            Error::new(crate::ErrorKind::NotSent, text)
        })?;
        Ok(WorkerPool { running })
    }
}

/// One worker; see [`ExpiryQueue::worker`].
#[derive(Clone, Debug)]
pub struct Worker<B> {
    queue: ExpiryQueue<B>,
    batch: usize,
    every: Duration,
}

impl<B: Backend> Chore for Worker<B> {
    async fn step(&mut self) -> Result<Progress> {
        let expired = self.queue.step(self.batch).await?;
        let rest = if expired.more { Duration::ZERO } else { self.every };
        Ok(Progress::rest(expired.deleted, rest))
    }
}

/// Workers on threads. Dropping it tells them to stop, but does not wait for them.
#[derive(Debug)]
pub struct WorkerPool {
    running: Vec<Running>,
}

impl WorkerPool {
    /// What each worker has done so far.
    pub fn reports(&self) -> Vec<Report> {
        self.running.iter().map(|worker| worker.control().report()).collect()
    }

    /// Stops all, waits for the end of the steps they are in, and says what each did.
    pub fn stop(self) -> Vec<Report> {
        self.running.iter().for_each(|worker| worker.control().stop());
        self.running.into_iter().map(Running::join).collect()
    }
}
