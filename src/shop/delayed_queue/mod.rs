//! Delayed queue: work to be done at a time, by any of many workers.
//!
//! | key | type | content |
//! |---|---|---|
//! | `delayed:NAME:due` | sorted set | sequence and id → when it is due |
//! | `delayed:NAME:queued` | hash | id → its sequence |
//! | `delayed:NAME:flight` | sorted set | id → until when it is claimed |
//! | `delayed:NAME:claims` | hash | id → token of the claim |
//! | `delayed:NAME:tries` | hash | id → how often it was claimed |
//! | `delayed:NAME:payloads` | hash | id → payload |
//! | `delayed:NAME:again` | hash | id → what was added while it was claimed |
//! | `delayed:NAME:dead` | sorted set | id → since when it is a dead letter |
//! | `delayed:NAME:meta` | hash | `seq`: the last sequence number |
//! | `delayed:NAME:claim:TOKEN` | hash | id → what became of it; gone an hour after the claim |
//!
//! # What it promises
//!
//! Every operation is one script and goes by the server's clock alone. Nothing that was added is
//! lost: a task is due, claimed, a dead letter, or done. **It is delivered at least once**: a
//! worker that dies, or takes longer than its claim lasts, has its tasks claimed by another, so the
//! work must stand being done twice, and gets the task's id to tell. A claim is acknowledged once
//! at most: [`ack`](DelayedQueue::ack) says `false` to one who comes too late. Nothing is delivered
//! before it is due, also when it is added again with a later time, or while it is claimed.
//! Tasks come in the order in which they are due, and of those due at the same millisecond in the
//! order in which they were added. What has been claimed too often becomes a dead letter.
//!
//! After a lost reply every call can be made again: a claim under the same token gives the same
//! tasks, an acknowledgement the same answer, for an hour after the claim.
//!
//! # What it does not
//!
//! It is as safe as the server's memory. At most 100 overdue claims are given back by one claim.
//! Of the dead letters the latest 10,000 are kept (see
//! [`with_dead_letters`](DelayedQueue::with_dead_letters)).
//!
//! Source: the published delayed tasks take an item by removing it, and lose it when the worker
//! dies; the expiry queue takes a range and removes by rank, and loses what another worker has
//! moved up.

pub(super) mod script;

use std::sync::Arc;
use std::time::Duration;

use super::check::{id as check_id, kept, message};
use super::held::fresh_id;
use super::keys::{Key, Keys};
use crate::backend::{Arg, Backend, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};
use crate::resp::Value;

/// How long a claim lasts unless told otherwise.
pub const VISIBILITY: Duration = Duration::from_secs(30);

/// How often a task is claimed before it becomes a dead letter, unless told otherwise.
pub const MOST_TRIES: u32 = 16;

/// How many dead letters are kept unless told otherwise.
pub const DEAD_LETTERS: u32 = 10_000;

/// The most ids of one call.
pub const MAX_BATCH: usize = 1_000;

/// The longest delay: a year and a day.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// A delayed queue; see the module's documentation for keys and promises. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{DelayedQueue, Keys};
/// use stockroom::{Env, Timestamp};
///
/// # #[cfg(feature = "lua")] {
/// let env = Env::manual(Timestamp::from_secs(1_000), 1);
/// let mails = DelayedQueue::new(Memory::with_env(env.clone()), &Keys::new(), b"mails")?;
/// mails.add(b"welcome ada", Some(b"Hello"), Duration::from_secs(60)).wait()?;
/// assert!(mails.claim(10).wait()?.tasks.is_empty());
/// env.advance(Duration::from_secs(60));
/// let claim = mails.claim(10).wait()?;
/// assert_eq!(claim.tasks[0].payload.as_deref(), Some(&b"Hello"[..]));
/// assert!(mails.ack(&claim.token, &claim.tasks[0].id).wait()?);
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DelayedQueue<B> {
    pub(super) backend: B,
    namespace: Keys,
    name: Bytes,
    keys: Arc<[Key; 9]>,
    visibility: Duration,
    most_tries: u32,
    dead_letters: u32,
}

/// Tasks that are one worker's for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What names the claim: whoever ends it shows this.
    pub token: Bytes,
    /// The tasks, the earliest due first.
    pub tasks: Vec<Task>,
}

/// A task of a [`Claim`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: Bytes,
    /// How often it was claimed, this time included.
    pub tries: u32,
    /// What was added with it.
    pub payload: Option<Bytes>,
}

/// What is in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks that are due.
    pub due: u64,
    /// Tasks that are due later.
    pub later: u64,
    /// Tasks that are claimed.
    pub claimed: u64,
    /// Dead letters.
    pub dead: u64,
    /// The time until the next task is due or a claim overdue; `None` if there is neither.
    pub next: Option<Duration>,
}

impl<B: Backend> DelayedQueue<B> {
    /// The queue of that name.
    pub fn new(backend: B, keys: &Keys, name: &[u8]) -> Result<Self> {
        check_id("name", name)?;
        Ok(Self {
            backend,
            namespace: keys.clone(),
            name: Bytes::copy_from(name),
            keys: Arc::new(keys.delayed(name)),
            visibility: VISIBILITY,
            most_tries: MOST_TRIES,
            dead_letters: DEAD_LETTERS,
        })
    }

    /// Sets how long a claim lasts: 10 ms to 366 days.
    pub fn with_visibility(mut self, visibility: Duration) -> Result<Self> {
        self.visibility = kept("visibility", visibility, Duration::from_millis(10))?;
        Ok(self)
    }

    /// Sets how often a task is claimed before it becomes a dead letter: once at least.
    pub fn with_most_tries(mut self, tries: u32) -> Result<Self> {
        if tries == 0 {
            return Err(Error::invalid("number of tries", tries, "at least 1"));
        }
        self.most_tries = tries;
        Ok(self)
    }

    /// Sets how many dead letters are kept, the latest: 1 to a million.
    pub fn with_dead_letters(mut self, kept: u32) -> Result<Self> {
        if !(1..=1_000_000).contains(&kept) {
            return Err(Error::invalid("number of dead letters", kept, "1 to 1000000"));
        }
        self.dead_letters = kept;
        Ok(self)
    }

    /// Adds a task that is due after `delay`, at most 366 days; says whether it is new. One that is
    /// there already gets this time and payload instead, a dead letter too; one that is claimed
    /// comes again, at the earliest at this time, once its claim has ended.
    ///
    /// One script, one round trip; O(log tasks). A payload may have 65,536 bytes. Repeated after a
    /// lost reply it may say "not new", and the delay begins again.
    pub async fn add(&self, id: &[u8], payload: Option<&[u8]>, delay: Duration) -> Result<bool> {
        Ok(self.add_all(&[id], payload, delay).await? > 0)
    }

    /// Adds up to 1,000 tasks with the same payload and delay; says how many are new.
    pub async fn add_all(
        &self,
        ids: &[&[u8]],
        payload: Option<&[u8]>,
        delay: Duration,
    ) -> Result<u64> {
        check_ids(ids)?;
        payload.map(message).transpose()?;
        if ids.is_empty() {
            return Ok(0);
        }
        let mut args: Vec<Arg<'_>> = vec![
            millis("delay", delay)?,
            u64::from(payload.is_some()).into(),
            payload.unwrap_or_default().into(),
        ];
        args.extend(ids.iter().map(|id| Arg::from(*id)));
        self.backend.script(&script::ADD, &self.key_names(), &args).await
    }

    /// Removes a task wherever it is; says whether it was there. A worker that has claimed it
    /// learns so from [`ack`](Self::ack). One script; O(log tasks).
    pub async fn remove(&self, id: &[u8]) -> Result<bool> {
        Ok(self.remove_all(&[id]).await? > 0)
    }

    /// Removes up to 1,000 tasks; says how many were there.
    pub async fn remove_all(&self, ids: &[&[u8]]) -> Result<u64> {
        check_ids(ids)?;
        if ids.is_empty() {
            return Ok(0);
        }
        let args: Vec<Arg<'_>> = ids.iter().map(|id| Arg::from(*id)).collect();
        self.backend.script(&script::REMOVE, &self.key_names(), &args).await
    }

    /// Claims up to `most` tasks that are due, 1,000 at most; they are this worker's until the
    /// claim ends. One script, one round trip; O((most + overdue) · log tasks).
    pub async fn claim(&self, most: usize) -> Result<Claim> {
        self.claim_as(&fresh_id(&self.backend), most).await
    }

    /// [`claim`](Self::claim) under a token of the caller's, which must be that of no other claim:
    /// repeated after an unknown outcome it gives the same tasks.
    pub async fn claim_as(&self, token: &[u8], most: usize) -> Result<Claim> {
        check_id("token", token)?;
        if most == 0 || most > MAX_BATCH {
            return Err(Error::invalid("number of tasks", most, "1 to 1000"));
        }
        let args: [Arg<'_>; 5] = [
            token.into(),
            most.into(),
            millis("visibility", self.visibility)?,
            u64::from(self.most_tries).into(),
            u64::from(self.dead_letters).into(),
        ];
        let own = self.claim_key(token);
        let flat: Vec<Value> =
            self.backend.script(&script::CLAIM, &self.with_claim(&own), &args).await?;
        Ok(Claim { token: Bytes::copy_from(token), tasks: tasks_of(&flat)? })
    }

    /// Ends the claim on a task: its work is done. `false`: the claim had ended before, and the
    /// task is another's, or removed. One script; O(log tasks).
    pub async fn ack(&self, token: &[u8], id: &[u8]) -> Result<bool> {
        Ok(self.ack_all(token, &[id]).await? == [true])
    }

    /// Ends the claims on up to 1,000 tasks; says of each whether it was still claimed.
    pub async fn ack_all(&self, token: &[u8], ids: &[&[u8]]) -> Result<Vec<bool>> {
        check_id("token", token)?;
        check_ids(ids)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.claim_key(token);
        let mut args: Vec<Arg<'_>> = vec![token.into()];
        args.extend(ids.iter().map(|id| Arg::from(*id)));
        self.backend.script(&script::ACK, &self.with_claim(&own), &args).await
    }

    /// Gives a claimed task back, to be due after `delay`; or to the dead letters if it was tried
    /// often enough. `false`: the claim had ended before. One script; O(log tasks).
    pub async fn give_back(&self, token: &[u8], id: &[u8], delay: Duration) -> Result<bool> {
        check_id("token", token)?;
        let own = self.claim_key(token);
        let args: [Arg<'_>; 5] = [
            token.into(),
            millis("delay", delay)?,
            u64::from(self.most_tries).into(),
            u64::from(self.dead_letters).into(),
            check_id("id", id)?.into(),
        ];
        self.backend.script(&script::GIVE_BACK, &self.with_claim(&own), &args).await
    }

    /// Lets the claim on a task last as long again, from now. `false`: it has ended. One script.
    pub async fn extend(&self, token: &[u8], id: &[u8]) -> Result<bool> {
        check_id("token", token)?;
        let own = self.claim_key(token);
        let visibility = millis("visibility", self.visibility)?;
        let args: [Arg<'_>; 3] = [token.into(), visibility, check_id("id", id)?.into()];
        self.backend.script(&script::EXTEND, &self.with_claim(&own), &args).await
    }

    /// The latest dead letters, up to `most`, with the time since when they are. ZRANGE REV.
    pub async fn dead_letters(&self, most: usize) -> Result<Vec<(Bytes, Timestamp)>> {
        let last = i64::try_from(most.min(MAX_BATCH)).unwrap_or(0) - 1;
        if last < 0 {
            return Ok(Vec::new());
        }
        let [.., dead, _] = &*self.keys;
        let all = cmd::zrange_rev_withscores::<Bytes>(dead, 0, last);
        let since = |(id, ms): (Bytes, f64)| (id, Timestamp::from_millis(ms as i64));
        Ok(self.backend.run(all).await?.into_iter().map(since).collect())
    }

    /// Queues a dead letter again, as if never tried; `false` if there is none of that id.
    pub async fn revive(&self, id: &[u8], delay: Duration) -> Result<bool> {
        let args: [Arg<'_>; 2] = [millis("delay", delay)?, check_id("id", id)?.into()];
        self.backend.script(&script::REVIVE, &self.key_names(), &args).await
    }

    /// What is in the queue. One script, O(log tasks).
    pub async fn counts(&self) -> Result<Counts> {
        let counts: Vec<i64> = self.backend.script(&script::COUNT, &self.key_names(), &[]).await?;
        let [due, later, claimed, dead, wait] = counts[..] else {
            return Err(Error::unexpected("five numbers", &counts));
        };
        let count = |n: i64| n.max(0) as u64;
        Ok(Counts {
            due: count(due),
            later: count(later),
            claimed: count(claimed),
            dead: count(dead),
            next: u64::try_from(wait).ok().map(Duration::from_millis),
        })
    }

    /// When a task is due, for those that nobody has claimed.
    pub async fn due_at(&self, id: &[u8]) -> Result<Option<Timestamp>> {
        check_id("id", id)?;
        let [due, queued, ..] = &*self.keys;
        let Some(seq) = self.backend.run(cmd::hget::<Bytes>(queued, id)).await? else {
            return Ok(None);
        };
        let member = [&*seq, id].concat();
        let ms = self.backend.run(cmd::zscore(due, &member)).await?;
        Ok(ms.map(|ms| Timestamp::from_millis(ms as i64)))
    }

    pub(super) fn claim_key(&self, token: &[u8]) -> Key {
        self.namespace.delayed_claim(&self.name, token)
    }

    fn key_names(&self) -> Vec<&[u8]> {
        self.keys.iter().map(|key| &**key).collect()
    }

    pub(super) fn with_claim<'a>(&'a self, own: &'a Key) -> Vec<&'a [u8]> {
        let mut names = self.key_names();
        names.push(own);
        names
    }
}

fn check_ids(ids: &[&[u8]]) -> Result<()> {
    if ids.len() > MAX_BATCH {
        return Err(Error::invalid("number of ids", ids.len(), "at most 1000"));
    }
    ids.iter().try_for_each(|id| check_id("id", id).map(drop))
}

/// A time in whole milliseconds; what is less than one counts as one, so that nothing is early.
fn millis<'a>(what: &str, time: Duration) -> Result<Arg<'a>> {
    if time > LONGEST {
        return Err(Error::invalid(what, format!("of {time:?}"), "at most 366 days"));
    }
    Ok((time.as_nanos().div_ceil(1_000_000) as u64).into())
}

fn tasks_of(flat: &[Value]) -> Result<Vec<Task>> {
    flat.chunks(3)
        .map(|task| match task {
            [Value::Bulk(id), Value::Int(tries), payload] => Ok(Task {
                id: id.clone(),
                tries: u32::try_from(*tries).unwrap_or(u32::MAX),
                payload: match payload {
                    Value::Bulk(payload) => Some(payload.clone()),
                    _ => None,
                },
            }),
            other => Err(Error::unexpected("an id, a number and a payload", &other)),
        })
        .collect()
}
