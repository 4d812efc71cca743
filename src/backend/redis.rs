//! [`Redis`]: the backend on a real server, over TCP or a Unix socket.
//!
//! Commands of all clones share one connection and are answered in order, so many callers at once
//! cost few system calls. A transaction goes out on it as one write, `MULTI` to `EXEC`, between
//! which no other command can slip. Sessions have a connection each, from a pool.
//!
//! # Outcomes
//!
//! | what happened | kind of error |
//! |---|---|
//! | no connection, refused, in time; connection known to be closed; no free session | `NotSent` |
//! | the server refused a command, or a transaction as a whole | `Refused`, with its code |
//! | the server refused one of several commands; the others stand | `Partly`, with its code |
//! | connection lost, or no reply in time, after the command may have been sent | `Unknown` |
//!
//! A lost connection is replaced at the next call; nothing is ever sent a second time by itself.

mod bells;
mod link;
mod pool;
mod reply;
mod session;
mod shown;
mod subscription;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use tokio::runtime::{Handle, Runtime};

pub use bells::RedisBell;
pub use session::RedisSession;
pub use subscription::RedisSubscription;

use self::bells::Bells;
use self::link::{Inside, Link, pack};
use self::pool::Pool;
use super::batch::{self, Batch};
use super::memory::collect;
use super::stats::{Counters, Stats};
use super::{Backend, Cmd, FromValue, Topic};
use crate::engine::{Calls, Replies};
use crate::env::{Env, Timestamp};
use crate::error::{Error, ErrorKind, Result};

/// How a [`Redis`] backend behaves.
///
/// ```no_run
/// use std::time::Duration;
/// use stockroom::backend::{Redis, RedisConfig};
///
/// // A shop that rather fails than waits.
/// let config = RedisConfig {
///     reply_timeout: Duration::from_millis(200),
///     session_wait: Duration::ZERO,
///     ..RedisConfig::default()
/// };
/// let redis = Redis::lazy("redis://127.0.0.1/", config)?;
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedisConfig {
    /// Where the shop's time and randomness come from. The server's own clock, which TTLs follow,
    /// is another.
    pub env: Env,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a reply may take; after that the outcome is unknown.
    pub reply_timeout: Duration,
    /// How many sessions may be open at a time.
    pub sessions: usize,
    /// How long to wait for a session when all are busy.
    pub session_wait: Duration,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            env: Env::system(),
            connect_timeout: Duration::from_secs(2),
            reply_timeout: Duration::from_secs(5),
            sessions: 32,
            session_wait: Duration::from_secs(5),
        }
    }
}

/// The backend on a real Redis. Clones share its connections.
///
/// It works with any async runtime and, through [`wait`](super::wait), with none: its connections
/// are driven by the tokio runtime it was made in, and then live as long as that; or else by a
/// thread of its own.
///
/// ```no_run
/// use stockroom::backend::{Backend, Redis, Wait, cmd};
///
/// let redis = Redis::connect("redis://127.0.0.1/").wait()?;
/// redis.run(cmd::set(b"greeting", b"hello")).wait()?;
/// let greeting = redis.run(cmd::get::<String>(b"greeting")).wait()?;
/// assert_eq!(greeting.as_deref(), Some("hello"));
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Redis {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    info: ConnectionInfo,
    config: RedisConfig,
    runtime: Handle,
    counters: Counters,
    shared: RwLock<Option<Arc<Link>>>,
    /// Held by who makes the shared connection.
    connecting: tokio::sync::Mutex<()>,
    pool: Pool,
    bells: Bells,
}

impl Redis {
    /// A backend for the server at `url`: `redis://host:port/db` or `unix:///path?db=1`. Connects
    /// at once, so that a wrong address is known early.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the URL is none, [`NotSent`](ErrorKind::NotSent) if
    /// nobody answers there in two seconds.
    pub async fn connect(url: &str) -> Result<Self> {
        let backend = Self::lazy(url, RedisConfig::default())?;
        Inside::new(&backend.inner.runtime, backend.inner.link()).await?;
        Ok(backend)
    }

    /// A backend that connects when it is first used.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the URL is none, [`NotSent`](ErrorKind::NotSent) if no
    /// thread can be started outside of a runtime.
    pub fn lazy(url: &str, config: RedisConfig) -> Result<Self> {
        const EXPECTED: &str = "redis://host:port/db or unix:///path";
        const NO_TLS: &str = "redis://host:port/db or unix:///path, as TLS is not supported";
        let tls = url.starts_with("rediss:") || url.starts_with("valkeys:");
        let expected = if tls { NO_TLS } else { EXPECTED };
        let invalid = || Error::invalid("Redis URL", shown::unless_secret(url), expected);
        let info = url.into_connection_info().map_err(|_| invalid())?;
        if !matches!(info.addr(), ConnectionAddr::Tcp(..) | ConnectionAddr::Unix(_)) {
            return Err(invalid());
        }
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        let inner = Inner {
            info: info.set_redis_settings(settings),
            pool: Pool::new(config.sessions),
            config,
            runtime: runtime()?,
            counters: Counters::default(),
            shared: RwLock::default(),
            connecting: tokio::sync::Mutex::default(),
            bells: Bells::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Sends `batch` over the shared connection, between `before` and `after`; the replies to all,
    /// and how many lines the batch has.
    async fn send<B: Batch>(
        &self,
        batch: &B,
        before: &[&str],
        after: &[&str],
    ) -> Result<(Replies, usize)> {
        let (packed, lines) = {
            let mut calls = Calls::default();
            collect(batch, &mut calls)?;
            (pack(&calls, before, after), calls.len())
        };
        let inner = &*self.inner;
        if lines == 0 {
            return Ok((Replies::new(), 0));
        }
        let link = inner.link().await?;
        inner.counters.trip(lines);
        let sent = link.send(&packed, inner.config.reply_timeout).await;
        if sent.as_ref().is_err_and(Error::is_unknown) {
            inner.discard(&link);
        }
        Ok((sent?, lines))
    }
}

impl Inner {
    /// The shared connection; a new one if it is lost.
    async fn link(&self) -> Result<Arc<Link>> {
        if let Some(link) = self.standing() {
            return Ok(link);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(link) = self.standing() {
            return Ok(link);
        }
        let link = Arc::new(Link::connect(&self.info, self.config.connect_timeout).await?);
        *self.shared.write() = Some(Arc::clone(&link));
        Ok(link)
    }

    fn standing(&self) -> Option<Arc<Link>> {
        self.shared.read().as_ref().filter(|link| link.is_open()).cloned()
    }

    /// Lets later calls use another connection; those under way on this one may still end well.
    fn discard(&self, link: &Arc<Link>) {
        let mut shared = self.shared.write();
        if shared.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            *shared = None;
        }
    }
}

/// The runtime of the caller, or one thread of our own.
fn runtime() -> Result<Handle> {
    static OWN: OnceLock<Option<Runtime>> = OnceLock::new();
    if let Ok(handle) = Handle::try_current() {
        return Ok(handle);
    }
    let own = OWN.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("stockroom-redis").enable_all().build().ok()
    });
    let handle = own.as_ref().map(|runtime| runtime.handle().clone());
    handle.ok_or_else(|| Error::new(ErrorKind::NotSent, "cannot start a thread for connections"))
}

impl Backend for Redis {
    type Session = RedisSession;
    type Subscription = RedisSubscription;
    type Bell = RedisBell;

    fn run<T: FromValue>(&self, cmd: Cmd<'_, T>) -> impl Future<Output = Result<T>> + Send {
        self.pipeline(cmd)
    }

    fn pipeline<B: Batch>(&self, batch: B) -> impl Future<Output = Result<B::Output>> + Send {
        Inside::new(&self.inner.runtime, async move {
            let (replies, _) = self.send(&batch, &[], &[]).await?;
            batch::read(&batch, replies)
        })
    }

    fn atomic<B: Batch>(&self, batch: B) -> impl Future<Output = Result<B::Output>> + Send {
        Inside::new(&self.inner.runtime, async move {
            let (replies, lines) = self.send(&batch, &["MULTI"], &["EXEC"]).await?;
            if lines == 0 {
                return batch::read(&batch, replies);
            }
            match reply::of_transaction(replies, lines)? {
                Some(replies) => batch::read(&batch, replies.into()),
                None => Err(Error::unexpected("the replies of a transaction", &"nil")),
            }
        })
    }

    fn session(&self) -> impl Future<Output = Result<RedisSession>> + Send {
        Inside::new(&self.inner.runtime, RedisSession::open(Arc::clone(&self.inner)))
    }

    fn subscribe(
        &self,
        topics: &[Topic<'_>],
    ) -> impl Future<Output = Result<RedisSubscription>> + Send {
        Inside::new(&self.inner.runtime, RedisSubscription::open(Arc::clone(&self.inner), topics))
    }

    fn bell(&self, channel: &[u8], id: &[u8]) -> impl Future<Output = Result<RedisBell>> + Send {
        Inside::new(&self.inner.runtime, RedisBell::hang(Arc::clone(&self.inner), channel, id))
    }

    fn now(&self) -> Timestamp {
        self.inner.config.env.now()
    }

    fn monotonic(&self) -> Duration {
        self.inner.config.env.monotonic()
    }

    fn sleep(&self, d: Duration) -> impl Future<Output = ()> + Send {
        self.inner.config.env.sleep(d)
    }

    fn random(&self, bytes: &mut [u8]) {
        self.inner.config.env.fill(bytes);
    }

    fn stats(&self) -> Stats {
        self.inner.counters.sum()
    }
}
