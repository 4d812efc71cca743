//! Sessions: who is logged in, when they were last seen, and what they looked at.
//!
//! | key | type | content |
//! |---|---|---|
//! | `login:` | hash | token → user |
//! | `recent:` | sorted set | token → last seen, in seconds |
//! | `viewed:TOKEN` | sorted set | item → time of the view, the newest 25 |
//! | `viewed:` | sorted set | item → number of views, negative: the most viewed has rank 0 |
//!
//! Every change is one transaction, the cleaner's too, so a token is in `login:` exactly when it
//! is in `recent:`, and no session is torn, whoever crashes when.
//!
//! Source: the login and cookie caching of the published articles. Theirs sends the commands of an
//! update one by one and cleans with three deletes apart, so that a session used in between is
//! half deleted.

use std::time::Duration;

use super::backoff::unwritten;
use super::check::id;
use super::daemon::{Chore, Progress};
use super::keys::{Key, Keys};
use crate::backend::{Backend, Score, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::Result;

/// How many sessions are kept unless told otherwise.
pub const DEFAULT_LIMIT: u64 = 10_000_000;

/// How many items a session remembers.
const VIEWED_KEPT: i64 = 25;

/// How many sessions the cleaner removes in a step.
const STEP: u64 = 100;

/// How often a step tries again when sessions change under its feet.
const ATTEMPTS: u32 = 16;

/// Sessions; see the module's documentation for keys and promises.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, Sessions};
///
/// let sessions = Sessions::new(Memory::new(), Keys::new());
/// sessions.touch(b"token", b"ada", Some(b"teapot")).wait()?;
/// assert_eq!(sessions.check(b"token").wait()?.as_deref(), Some(&b"ada"[..]));
/// assert_eq!(sessions.recently_viewed(b"token").wait()?, ["teapot"]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sessions<B> {
    backend: B,
    keys: Keys,
    login: Key,
    recent: Key,
    viewed: Key,
    limit: u64,
    max_age: Option<Duration>,
}

/// What a step of the cleaner did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Sessions removed.
    pub removed: u64,
    /// Sessions left.
    pub left: u64,
    /// Whether there is more to remove.
    pub more: bool,
    /// How often sessions were used between the look and the removal, so that nothing was removed.
    pub conflicts: u32,
}

impl<B: Backend> Sessions<B> {
    /// Sessions under `keys`, 10 million at most, of any age.
    pub fn new(backend: B, keys: Keys) -> Self {
        let (login, recent, viewed) = (keys.login(), keys.recent(), keys.viewed());
        Self { backend, keys, login, recent, viewed, limit: DEFAULT_LIMIT, max_age: None }
    }

    /// Sets how many sessions the cleaner leaves.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Sets how long after its last use a session ends. [`check`](Self::check) keeps to it
    /// exactly, by the backend's clock; the cleaner removes what has ended.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }

    /// The user who is logged in with `token`.
    ///
    /// HGET, and with an age limit ZSCORE in the same round trip. O(1).
    pub async fn check(&self, token: &[u8]) -> Result<Option<Bytes>> {
        id("token", token)?;
        let user = cmd::hget(&self.login, token);
        let Some(end) = self.end_of_age() else { return self.backend.run(user).await };
        let seen = cmd::zscore(&self.recent, token);
        let (user, seen) = self.backend.pipeline((user, seen)).await?;
        Ok(user.filter(|_| seen.is_some_and(|seen| seen >= end)))
    }

    /// Notes that `user` was here with `token`, and perhaps looked at `item`.
    ///
    /// One transaction in one round trip: HSET, ZADD, and for an item ZADD, ZREMRANGEBYRANK 0 -26
    /// and ZINCRBY -1. O(log sessions + log items). Repeated after a lost reply it counts the view
    /// twice, and is harmless otherwise.
    pub async fn touch(&self, token: &[u8], user: &[u8], item: Option<&[u8]>) -> Result<()> {
        id("token", token)?;
        id("user", user)?;
        item.map(|item| id("item", item)).transpose()?;
        let now = Score::from(self.backend.now());
        let own = item.map(|_| self.keys.viewed_by(token));
        let view = item.zip(own.as_deref()).map(|(item, own)| {
            (
                cmd::zadd(own, now.clone(), item),
                cmd::zremrangebyrank(own, 0, -VIEWED_KEPT - 1),
                cmd::zincrby(&self.viewed, -1, item),
            )
        });
        let login = cmd::hset(&self.login, token, user);
        let recent = cmd::zadd(&self.recent, now, token);
        self.backend.atomic((login, recent, view)).await?;
        Ok(())
    }

    /// Ends a session, its views and its cart; says whether there was one.
    ///
    /// One transaction in one round trip: HDEL, ZREM, DEL. O(log sessions + items of the cart).
    /// Repeated after a lost reply it is harmless, and may say that there was none.
    pub async fn logout(&self, token: &[u8]) -> Result<bool> {
        id("token", token)?;
        let keys = [self.keys.viewed_by(token), self.keys.cart(token)];
        let batch =
            (cmd::hdel(&self.login, [token]), cmd::zrem(&self.recent, [token]), cmd::del(&keys));
        Ok(self.backend.atomic(batch).await?.0 > 0)
    }

    /// What the session looked at, the newest first; at most 25 items. ZRANGE … REV.
    pub async fn recently_viewed(&self, token: &[u8]) -> Result<Vec<Bytes>> {
        id("token", token)?;
        let own = self.keys.viewed_by(token);
        self.backend.run(cmd::zrange_rev(&own, 0, -1)).await
    }

    /// How many sessions there are. ZCARD.
    pub async fn count(&self) -> Result<u64> {
        self.backend.run(cmd::zcard(&self.recent)).await
    }

    /// One step of the cleaner: removes up to 100 of the oldest sessions, if there are more than
    /// the limit or some are beyond the age, with their views and carts.
    ///
    /// Two round trips: WATCH, ZCARD and ZRANGE; then one transaction of ZREMRANGEBYRANK, HDEL and
    /// DEL. A session that is used in between is safe: the transaction does nothing and the step
    /// looks again, up to 16 times; after that it says so and leaves the rest to the next step. A
    /// crash at any point leaves every session whole. Can be repeated after a lost reply.
    pub async fn clean_step(&self) -> Result<Cleaned> {
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let mut cleaned = Cleaned::default();
        while cleaned.conflicts < ATTEMPTS {
            let reads = (
                cmd::zcard(&self.recent),
                cmd::zrange_withscores::<Bytes>(&self.recent, 0, STEP as i64 - 1),
            );
            let look = session.watch_and(&[&self.recent], reads).await;
            let (count, oldest) = look.map_err(unwritten)?;
            let over = count.saturating_sub(self.limit).min(STEP) as usize;
            let aged = self
                .end_of_age()
                .map_or(0, |end| oldest.iter().take_while(|(_, seen)| *seen < end).count());
            let victims = oldest.get(..over.max(aged)).unwrap_or(&oldest);
            cleaned.left = count;
            if victims.is_empty() {
                return Ok(cleaned);
            }
            let removed = victims.len() as u64;
            let tokens = || victims.iter().map(|(token, _)| &**token);
            let keys: Vec<Key> =
                tokens().flat_map(|t| [self.keys.viewed_by(t), self.keys.cart(t)]).collect();
            let batch = (
                // The watch holds them at the ranks where they were seen.
                cmd::zremrangebyrank(&self.recent, 0, removed as i64 - 1),
                cmd::hdel(&self.login, tokens()),
                cmd::del(&keys),
            );
            if session.commit(batch).await?.is_some() {
                cleaned.removed = removed;
                cleaned.left = count.saturating_sub(removed);
                cleaned.more = over as u64 == STEP || aged as u64 == STEP;
                return Ok(cleaned);
            }
            cleaned.conflicts += 1;
        }
        cleaned.more = true;
        Ok(cleaned)
    }

    /// The cleaner as a loop: steps without rest while there is more to remove, else one a second.
    pub fn cleaner(&self) -> SessionCleaner<B> {
        SessionCleaner { sessions: self.clone() }
    }

    /// The score below which sessions have ended.
    fn end_of_age(&self) -> Option<f64> {
        let end: Timestamp = self.backend.now() - self.max_age?;
        Some(end.as_secs_f64())
    }
}

/// Keeps the number and the age of sessions within their limits; see [`Sessions::clean_step`].
#[derive(Debug)]
pub struct SessionCleaner<B> {
    sessions: Sessions<B>,
}

impl<B: Backend> Chore for SessionCleaner<B> {
    async fn step(&mut self) -> Result<Progress> {
        let cleaned = self.sessions.clean_step().await?;
        let rest = match cleaned {
            Cleaned { more: true, removed: 0, .. } => Duration::from_millis(5),
            Cleaned { more: true, .. } => Duration::ZERO,
            _ => Duration::from_secs(1),
        };
        Ok(Progress { done: cleaned.removed, rest })
    }
}
