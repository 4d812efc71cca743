//! Popularity: what is viewed most, with new items getting their chance.
//!
//! `viewed:` is a sorted set item → number of views, negative, so that the most viewed item has
//! rank 0; [`Sessions::touch`](super::Sessions::touch) counts into it. Every 5 minutes all but the
//! best 20,000 are dropped and every number is halved, so that an item that rises today can pass
//! one that was popular last year.
//!
//! Source: the rescaling of the published articles, whose trimming and halving are two steps that
//! others can see in between.

mod halving;

use std::time::Duration;

use self::halving::{exact_step, weight};
use super::backoff::{after_a_part, unwritten};
use super::check::id;
use super::daemon::{Chore, Progress};
use super::keys::{Key, Keys};
use crate::backend::{Backend, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, Result};

/// How many items are kept unless told otherwise.
const KEPT: u64 = 20_000;

/// How often the numbers are halved.
pub const RESCALE_EVERY: Duration = Duration::from_secs(300);

/// What is viewed most; see the module's documentation.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, Popularity, Sessions};
///
/// let memory = Memory::new();
/// let sessions = Sessions::new(memory.clone(), Keys::new());
/// for item in [&b"teapot"[..], b"cup", b"teapot"] {
///     sessions.touch(b"t", b"ada", Some(item)).wait()?;
/// }
/// let popularity = Popularity::new(memory, Keys::new());
/// assert_eq!(popularity.top(1).wait()?, [("teapot".into(), 2.0)]);
/// assert_eq!(popularity.rank(b"cup").wait()?, Some(1));
/// popularity.rescale(1).wait()?;
/// assert_eq!(popularity.top(2).wait()?, [("teapot".into(), 1.0), ("cup".into(), 0.5)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Popularity<B> {
    backend: B,
    viewed: Key,
    kept: u64,
}

impl<B: Backend> Popularity<B> {
    /// The popularity counted under `keys`.
    #[allow(clippy::needless_pass_by_value, reason = "as every feature is made")]
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, viewed: keys.viewed(), kept: KEPT }
    }

    /// Sets how many items a rescale keeps.
    #[must_use]
    pub fn with_kept(mut self, kept: u64) -> Self {
        self.kept = kept.min(i64::MAX as u64);
        self
    }

    /// How many items are viewed more than this one; `None` if it is not known. ZRANK.
    /// O(log items).
    pub async fn rank(&self, item: &[u8]) -> Result<Option<u64>> {
        id("item", item)?;
        self.backend.run(cmd::zrank(&self.viewed, item)).await
    }

    /// The `n` most viewed items with their views, the most viewed first, those with equal views
    /// in the order of their bytes. ZRANGE. O(log items + n).
    pub async fn top(&self, n: u64) -> Result<Vec<(Bytes, f64)>> {
        let Some(last) = i64::try_from(n).unwrap_or(i64::MAX).checked_sub(1).filter(|l| *l >= 0)
        else {
            return Ok(Vec::new());
        };
        let top = self.backend.run(cmd::zrange_withscores(&self.viewed, 0, last)).await?;
        Ok(top.into_iter().map(|(item, score): (Bytes, f64)| (item, -score)).collect())
    }

    /// Keeps the best items and halves every number of views, `times` times over; answers how many
    /// items are left.
    ///
    /// The numbers are, to the last bit, those that `times` calls with 1 give, unless somebody else
    /// halves them meanwhile. A single halving is one transaction: ZREMRANGEBYRANK and ZINTERSTORE
    /// with a weight. Several are one, too, after a look that they lose nothing together (two
    /// ZCOUNT); they are more, each after a look, beyond 900 at once, or when a number of views
    /// comes near the smallest that can be written, 2⁻¹⁰⁷⁴. O(items log items) a transaction, of
    /// which there are about 1,100 at most, for any number of times.
    ///
    /// Repeated after a lost reply it halves again. When a later one of several transactions fails
    /// the error is [`Partly`](crate::ErrorKind::Partly), or
    /// [`Unknown`](crate::ErrorKind::Unknown).
    pub async fn rescale(&self, times: u64) -> Result<u64> {
        if times == 0 {
            return Err(Error::invalid("number of halvings", times, "at least 1"));
        }
        let (mut done, mut items) = self.rescale_some(times).await?;
        while done < times {
            let (more, left) = self.rescale_some(times - done).await.map_err(after_a_part)?;
            done += more;
            items = left;
        }
        Ok(items)
    }

    /// Halves as often as can be done in one transaction, up to `times`; answers how often, and
    /// how many items are left.
    async fn rescale_some(&self, times: u64) -> Result<(u64, u64)> {
        let step = match times {
            1 => 1,
            _ => exact_step(&self.backend, &self.viewed, times).await.map_err(unwritten)?,
        };
        let batch = (
            cmd::zremrangebyrank(&self.viewed, self.kept as i64, -1),
            cmd::zscale(&self.viewed, &self.viewed, weight(step)),
        );
        Ok((step, self.backend.atomic(batch).await?.1))
    }

    /// The rescaling as a loop: one every 5 minutes, counted from the first step, which only notes
    /// the time. Periods that were missed are made up for.
    pub fn rescaler(&self) -> Rescaler<B> {
        Rescaler { popularity: self.clone(), last: None }
    }
}

/// Halves the numbers of views as time goes by; see [`Popularity::rescaler`].
#[derive(Debug)]
pub struct Rescaler<B> {
    popularity: Popularity<B>,
    last: Option<Timestamp>,
}

impl<B: Backend> Chore for Rescaler<B> {
    async fn step(&mut self) -> Result<Progress> {
        let now = self.popularity.backend.now();
        let last = *self.last.get_or_insert(now);
        let periods = now.since(last).as_secs() / RESCALE_EVERY.as_secs();
        if periods == 0 {
            // A clock that was put back starts a new period.
            self.last = Some(last.min(now));
            return Ok(Progress { done: 0, rest: RESCALE_EVERY.saturating_sub(now.since(last)) });
        }
        let (done, _) = self.popularity.rescale_some(periods).await?;
        // What is left over is made up for in the next steps, which follow at once.
        let last = last + RESCALE_EVERY.saturating_mul(u32::try_from(done).unwrap_or(u32::MAX));
        self.last = Some(last);
        Ok(Progress { done, rest: RESCALE_EVERY.saturating_sub(now.since(last)) })
    }
}
