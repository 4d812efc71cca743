//! Sessions: who is logged in, when they were last seen, and what they looked at.
//!
//! | key | type | content |
//! |---|---|---|
//! | `login:` | hash | token → user |
//! | `recent:` | sorted set | token → last seen, in seconds |
//! | `viewed:TOKEN` | sorted set | item → time of the view, the newest 25 |
//! | `viewed:` | sorted set | item → number of views, negative: the most viewed has rank 0 |
//!
//! Every change is one transaction or one script, the cleaner's too, so a token is in `login:`
//! exactly when it is in `recent:`, and no session is torn, whoever crashes when.
//!
//! Source: the login and cookie caching of the published articles. Theirs sends the commands of an
//! update one by one and cleans with three deletes apart, so that a session used in between is
//! half deleted.

use std::time::Duration;

use super::backoff::unwritten;
use super::check::id;
use super::daemon::{Chore, Progress};
use super::keys::{Key, Keys};
use crate::backend::{Arg, Backend, Cmd, Score, Script, Session, cmd};
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

/// KEYS: `recent:`, `login:`, then the two keys of each session's own. ARGV: the limit, the time
/// before which sessions have ended, then token and time last seen of each, the oldest first.
/// Removes those that were not used since, while there are too many or they have ended. Gives how
/// many were removed and how many are left.
static CLEAN: Script = Script::new(
    "
local count, limit, ended = redis.call('ZCARD', KEYS[1]), tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens, keys = {}, {}
for i = 3, #ARGV, 2 do tokens[#tokens + 1] = ARGV[i] end
local seen = redis.call('ZMSCORE', KEYS[1], unpack(tokens))
local gone = {}
for i, token in ipairs(tokens) do
  local then_seen = tonumber(ARGV[2 + 2 * i])
  if seen[i] and tonumber(seen[i]) == then_seen and (count > limit or then_seen < ended) then
    count = count - 1
    gone[#gone + 1] = token
    keys[#keys + 1] = KEYS[1 + 2 * i]
    keys[#keys + 1] = KEYS[2 + 2 * i]
  end
end
if #gone > 0 then
  redis.call('ZREM', KEYS[1], unpack(gone))
  redis.call('HDEL', KEYS[2], unpack(gone))
  redis.call('DEL', unpack(keys))
end
return {#gone, count}
",
);

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
    /// How many sessions were used between the look and the removal, and so were not removed;
    /// without scripts, how often any was, and so none was removed.
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
    /// Two round trips: ZCARD and ZRANGE; then one script, which removes those that were not used
    /// since, as long as there are too many or they are too old. O(log sessions) for each. A crash
    /// at any point leaves every session whole. Can be repeated after a lost reply.
    ///
    /// Where there are no scripts (see [`Backend::has_scripts`]) it is a transaction under WATCH
    /// instead, that does nothing when any session was used since; the step looks again then, up to
    /// 16 times, and after that leaves the rest to the next step.
    pub async fn clean_step(&self) -> Result<Cleaned> {
        if self.backend.has_scripts() {
            return self.clean_by_script().await;
        }
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let mut cleaned = Cleaned::default();
        while cleaned.conflicts < ATTEMPTS {
            let look = session.watch_and(&[&self.recent], self.look()).await;
            let (count, oldest) = look.map_err(unwritten)?;
            let (victims, more) = self.victims(count, &oldest);
            cleaned.left = count;
            if victims.is_empty() {
                return Ok(cleaned);
            }
            let removed = victims.len() as u64;
            let keys = self.keys_of(victims);
            let batch = (
                // The watch holds them at the ranks where they were seen.
                cmd::zremrangebyrank(&self.recent, 0, removed as i64 - 1),
                cmd::hdel(&self.login, victims.iter().map(|(token, _)| &**token)),
                cmd::del(&keys),
            );
            if session.commit(batch).await?.is_some() {
                cleaned.removed = removed;
                cleaned.left = count.saturating_sub(removed);
                cleaned.more = more;
                return Ok(cleaned);
            }
            cleaned.conflicts += 1;
        }
        cleaned.more = true;
        Ok(cleaned)
    }

    async fn clean_by_script(&self) -> Result<Cleaned> {
        let look = self.backend.pipeline(self.look()).await;
        let (count, oldest) = look.map_err(unwritten)?;
        let (victims, more) = self.victims(count, &oldest);
        if victims.is_empty() {
            return Ok(Cleaned { left: count, ..Cleaned::default() });
        }
        let own = self.keys_of(victims);
        let mut keys: Vec<&[u8]> = vec![&self.recent, &self.login];
        keys.extend(own.iter().map(|key| &**key));
        let end = self.end_of_age().unwrap_or(f64::NEG_INFINITY);
        let mut args: Vec<Arg<'_>> = vec![self.limit.into(), end.into()];
        for (token, seen) in victims {
            args.extend([Arg::from(token), Arg::from(*seen)]);
        }
        let (removed, left): (u64, u64) = self.backend.script(&CLEAN, &keys, &args).await?;
        let conflicts = (victims.len() as u64).saturating_sub(removed) as u32;
        Ok(Cleaned { removed, left, more: more || conflicts > 0, conflicts })
    }

    /// How many sessions there are, and the oldest.
    fn look(&self) -> (Cmd<'_, u64>, Cmd<'_, Vec<(Bytes, f64)>>) {
        let oldest = cmd::zrange_withscores(&self.recent, 0, STEP as i64 - 1);
        (cmd::zcard(&self.recent), oldest)
    }

    /// Which of the oldest are too many or too old, and whether there may be more.
    fn victims<'o>(&self, count: u64, oldest: &'o [(Bytes, f64)]) -> (&'o [(Bytes, f64)], bool) {
        let over = count.saturating_sub(self.limit).min(STEP) as usize;
        let aged = self
            .end_of_age()
            .map_or(0, |end| oldest.iter().take_while(|(_, seen)| *seen < end).count());
        let most = over.max(aged);
        (oldest.get(..most).unwrap_or(oldest), most as u64 == STEP)
    }

    /// The keys of their views and carts.
    fn keys_of(&self, sessions: &[(Bytes, f64)]) -> Vec<Key> {
        let own = |token: &Bytes| [self.keys.viewed_by(token), self.keys.cart(token)];
        sessions.iter().flat_map(|(token, _)| own(token)).collect()
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
