//! [`RedisSession`]: a connection of one's own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Inner;
use super::link::{Inside, Link, not_sent, pack};
use super::pool::Idle;
use super::reply::of_transaction;
use crate::backend::batch::{self, Batch};
use crate::backend::memory::collect;
use crate::backend::{Cmd, FromValue, Session, allowed, allowed_alone};
use crate::commands::Flags;
use crate::commands::transactions::WATCH;
use crate::engine::{Calls, Replies};
use crate::error::{ErrorKind, Result};

/// A session of [`Redis`](super::Redis): a connection from the pool, which never reconnects.
///
/// Once an error or a cancelled call has made its state uncertain, every further call fails as not
/// sent, and the connection is closed instead of going back.
#[derive(Debug)]
pub struct RedisSession {
    inner: Arc<Inner>,
    /// Gone once its state is uncertain; also while a call is under way, so that a cancelled call
    /// leaves none behind.
    link: Option<Link>,
    watching: bool,
    /// Watches that the connection's last session left behind and that are still to be given up.
    stale: bool,
    _permit: OwnedSemaphorePermit,
}

impl RedisSession {
    pub(super) async fn open(inner: Arc<Inner>) -> Result<Self> {
        let permit = inner.pool.permit(inner.config.session_wait).await?;
        let (link, stale) = match inner.pool.take() {
            Some(idle) => (idle.link, idle.watching),
            None => (Link::connect(&inner.info, inner.config.connect_timeout).await?, false),
        };
        Ok(Self { inner, link: Some(link), watching: false, stale, _permit: permit })
    }

    /// Sends lines and answers the last `wanted` replies. The link is out meanwhile.
    async fn send(&mut self, packed: redis::Pipeline, wanted: usize) -> Result<Replies> {
        let limit = self.inner.config.reply_timeout;
        self.send_within(packed, wanted, limit).await
    }

    async fn send_within(
        &mut self,
        packed: redis::Pipeline,
        wanted: usize,
        limit: Duration,
    ) -> Result<Replies> {
        let Some(link) = self.link.take() else {
            return Err(not_sent("the session has lost its connection, and its watches with it"));
        };
        let mut replies = link.send(&packed, limit).await?;
        self.link = Some(link);
        replies.drain(..replies.len().saturating_sub(wanted));
        Ok(replies)
    }

    /// What is to be sent before anything else.
    fn prelude(&mut self) -> &'static [&'static str] {
        if std::mem::take(&mut self.stale) { &["UNWATCH"] } else { &[] }
    }

    async fn plain<B: Batch>(&mut self, keys: &[&[u8]], batch: B) -> Result<B::Output> {
        let watches = usize::from(!keys.is_empty());
        let (packed, lines) = {
            let mut calls = Calls::default();
            if watches > 0 {
                calls.push(&WATCH);
                for key in keys {
                    calls.word(key);
                }
            }
            batch.calls(&mut calls);
            calls.iter().skip(watches).try_for_each(|(spec, _)| allowed(spec))?;
            if calls.is_empty() {
                return batch::read(&batch, Replies::new());
            }
            self.inner.counters.trip(calls.len());
            (pack(&calls, self.prelude(), &[]), calls.len())
        };
        self.watching |= watches > 0;
        let mut replies = self.send(packed, lines).await?;
        if watches > 0 {
            let watched = <()>::from_value(replies.remove(0));
            // What was sent along with WATCH was run all the same.
            let alone = replies.is_empty();
            watched.map_err(|e| if alone { e } else { e.with_kind(ErrorKind::Partly) })?;
        }
        batch::read(&batch, replies)
    }

    /// Runs a command that waits, for as long as it says and a reply may take.
    async fn blocking<T: FromValue>(&mut self, cmd: Cmd<'_, T>) -> Result<T> {
        allowed_alone(cmd.spec())?;
        let (packed, limit) = {
            let mut calls = Calls::default();
            cmd.calls(&mut calls);
            let patience = calls.iter().find_map(|(spec, argv)| spec.timeout(argv));
            let seconds = patience.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            let limit = match seconds.map(Duration::try_from_secs_f64) {
                // For ever.
                Some(Ok(Duration::ZERO)) => Duration::MAX,
                Some(Ok(wait)) => self.inner.config.reply_timeout.saturating_add(wait),
                // The server refuses it.
                _ => self.inner.config.reply_timeout,
            };
            self.inner.counters.trip(1);
            (pack(&calls, self.prelude(), &[]), limit)
        };
        let replies = self.send_within(packed, 1, limit).await?;
        batch::read(&cmd, replies)
    }

    async fn transaction<B: Batch>(&mut self, batch: B) -> Result<Option<B::Output>> {
        // Watches that EXEC does not end are given up before anything else is sent.
        let watching = std::mem::take(&mut self.watching);
        let (packed, lines) = {
            let mut calls = Calls::default();
            collect(&batch, &mut calls).inspect_err(|_| self.stale |= watching)?;
            self.inner.counters.transaction(calls.len());
            let before: &[&str] =
                if self.prelude().is_empty() { &["MULTI"] } else { &["UNWATCH", "MULTI"] };
            (pack(&calls, before, &["EXEC"]), calls.len())
        };
        let replies = self.send(packed, lines + 2).await?;
        let replies = of_transaction(replies, lines).inspect_err(|_| self.stale = true)?;
        replies.map(|replies| batch::read(&batch, replies.into())).transpose()
    }
}

impl Session for RedisSession {
    async fn run<T: FromValue>(&mut self, cmd: Cmd<'_, T>) -> Result<T> {
        if !cmd.spec().is(Flags::BLOCKING) {
            return self.watch_and(&[], cmd).await;
        }
        let inner = Arc::clone(&self.inner);
        Inside::new(&inner.runtime, self.blocking(cmd)).await
    }

    async fn watch_and<B: Batch>(&mut self, keys: &[&[u8]], reads: B) -> Result<B::Output> {
        let inner = Arc::clone(&self.inner);
        Inside::new(&inner.runtime, self.plain(keys, reads)).await
    }

    async fn commit<B: Batch>(&mut self, batch: B) -> Result<Option<B::Output>> {
        let inner = Arc::clone(&self.inner);
        Inside::new(&inner.runtime, self.transaction(batch)).await
    }
}

impl Drop for RedisSession {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            self.inner.pool.give_back(Idle { link, watching: self.watching || self.stale });
        }
    }
}
