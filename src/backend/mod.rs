//! The backend: typed commands to the engine in this process, or to a real Redis.
//!
//! [`Backend`] is what the shop is written over: [`Memory`] runs it on an
//! [`Engine`](crate::Engine), `Redis` (feature `redis`) on a server. Asynchronous at its root;
//! [`wait`] and [`Wait`] are the blocking façade, which on the memory backend waits only for what
//! is itself a wait: for a key (`BLPOP`), a message, a time.
//!
//! What would be unsafe on a connection that others share exists only on a [`Session`] of one's
//! own: a watch taken on a shared connection would be given up by whoever runs a transaction
//! next. So this does not compile:
//!
//! ```compile_fail,E0599
//! use stockroom::backend::{Backend, Memory};
//! let _ = Memory::new().watch(&[b"stock"]);
//! ```
//!
//! while this does:
//!
//! ```
//! use stockroom::backend::{Backend, Memory, Session, Wait, cmd};
//!
//! let memory = Memory::new();
//! let mut session = memory.session().wait()?;
//! session.watch(&[b"stock"]).wait()?;
//! memory.run(cmd::set(b"stock", b"9")).wait()?;
//! // The stock has changed under our feet: nothing is written.
//! assert_eq!(session.commit(cmd::set(b"stock", b"10")).wait()?, None);
//! # Ok::<(), stockroom::Error>(())
//! ```
//!
//! # Outcomes
//!
//! Every call answers done, or an [`Error`] that tells apart: certainly not done
//! ([`NotSent`](crate::ErrorKind::NotSent), [`Refused`](crate::ErrorKind::Refused),
//! [`Invalid`](crate::ErrorKind::Invalid)); done but for what the server refused of a batch
//! ([`Partly`](crate::ErrorKind::Partly)); and unknown
//! ([`Unknown`](crate::ErrorKind::Unknown)): sent, and the reply lost.
//!
//! # Cancellation
//!
//! Nothing happens before a future is first polled. One dropped later leaves its command sent or
//! not sent, never half sent; a session whose call was dropped half-way is of no further use, and
//! says so.

mod arg;
mod batch;
mod bell;
pub mod cmd;
mod from_value;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod script;
mod stats;
mod subscription;

use std::future::Future;
use std::time::Duration;

pub use arg::{Arg, Score};
pub use batch::{Batch, Pending};
pub use bell::Bell;
pub(crate) use bell::rung_within;
pub use cmd::Cmd;
pub use from_value::FromValue;
pub use memory::{Memory, MemoryBell, MemorySession, MemorySubscription};
#[cfg(feature = "redis")]
pub use redis::{Redis, RedisBell, RedisConfig, RedisSession, RedisSubscription};
pub use script::Script;
pub use stats::Stats;
pub use subscription::{Message, Subscription, Topic};

pub use crate::env::{Wait, wait};

use crate::commands::{Flags, Run, SessionOp, Spec};
use crate::env::Timestamp;
use crate::error::{Error, Result};

/// Where typed commands go. Clones share everything.
///
/// Every call that sends something can fail as the [module](self) says: `NotSent` and `Unknown`
/// come from a lost connection and only from a real server. What a method adds to that is said
/// there. In memory a call costs what its commands cost; on a server a round trip more.
pub trait Backend: Clone + Send + Sync + 'static {
    /// What [`session`](Self::session) gives.
    type Session: Session;
    /// What [`subscribe`](Self::subscribe) gives.
    type Subscription: Subscription;
    /// What [`bell`](Self::bell) gives.
    type Bell: Bell;

    /// Runs one command, in one round trip. [`Invalid`](crate::ErrorKind::Invalid), and not sent,
    /// if it would change a connection that others share, or block it.
    fn run<T: FromValue>(&self, cmd: Cmd<'_, T>) -> impl Future<Output = Result<T>> + Send;

    /// Sends commands in one round trip, or nothing if there are none. Others' commands may run
    /// between them. When the server refuses one of several the error is
    /// [`Partly`](crate::ErrorKind::Partly). If one may not be sent, none is.
    fn pipeline<B: Batch>(&self, batch: B) -> impl Future<Output = Result<B::Output>> + Send;

    /// Runs commands as one transaction (`MULTI`, `EXEC`) in one round trip: nobody sees a part of
    /// it. A command that fails at run time leaves the others standing, as in Redis: the error is
    /// [`Partly`](crate::ErrorKind::Partly). One of the wrong length refuses all. In memory it
    /// locks the shards of all its keys at once.
    fn atomic<B: Batch>(&self, batch: B) -> impl Future<Output = Result<B::Output>> + Send;

    /// Runs a script as one step: by its hash, and in full if the server does not know it, which
    /// is then a second round trip. On the engine scripts need the feature `lua`. A script that
    /// fails leaves standing what it did before: [`Partly`](crate::ErrorKind::Partly).
    fn script<T: FromValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[Arg<'_>],
    ) -> impl Future<Output = Result<T>> + Send {
        async move {
            let reply = self.run(script.by_hash(keys, args)).await?;
            match script::read_if_known(reply) {
                Some(output) => output,
                None => self.run(script.in_full(keys, args)).await,
            }
        }
    }

    /// Whether [`script`](Self::script) can work: not on the engine without the feature `lua`.
    fn has_scripts(&self) -> bool {
        true
    }

    /// A session of one's own, for what needs one. On a server a connection from a pool: an idle
    /// one, or a new one, which costs a round trip or more. Never more than
    /// [`NotSent`](crate::ErrorKind::NotSent) can go wrong, also when all are busy.
    fn session(&self) -> impl Future<Output = Result<Self::Session>> + Send;

    /// Listens to topics, on a connection of its own: what is published from when this is done on
    /// is heard. On a server connecting and one round trip.
    fn subscribe(
        &self,
        to: &[Topic<'_>],
    ) -> impl Future<Output = Result<Self::Subscription>> + Send;

    /// Hangs up a bell: it rings when an empty message, or one that says `id`, is published to
    /// `channel`. On a server all bells share one connection, and of those that an empty message
    /// is for it rings one; a round trip for the first bell of a channel, and one after the last.
    ///
    /// ```
    /// use stockroom::backend::{Backend, Bell, Memory, Wait, cmd};
    ///
    /// let memory = Memory::new();
    /// let mut bell = memory.bell(b"door", b"ada").wait()?;
    /// memory.run(cmd::publish(b"door", b"bob")).wait()?;
    /// memory.run(cmd::publish(b"door", b"ada")).wait()?;
    /// bell.rung().wait();
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    fn bell(&self, channel: &[u8], id: &[u8]) -> impl Future<Output = Result<Self::Bell>> + Send;

    /// The time: the only one that the shop knows.
    fn now(&self) -> Timestamp;

    /// The time since some fixed point, by a clock that never goes back: for leases and deadlines
    /// of the caller's own.
    fn monotonic(&self) -> Duration;

    /// Waits on the same clock as [`now`](Self::now). With a manual clock that is until somebody
    /// moves it.
    fn sleep(&self, d: Duration) -> impl Future<Output = ()> + Send;

    /// Random bytes, for ids and jitter.
    fn random(&self, bytes: &mut [u8]);

    /// What has been sent so far.
    fn stats(&self) -> Stats;
}

/// A connection of one's own.
///
/// It never reconnects: once lost, every call fails as
/// [`NotSent`](crate::ErrorKind::NotSent), so a transaction cannot run without the watches that
/// guard it. Otherwise calls fail and cost as those of [`Backend`].
///
/// ```
/// use stockroom::backend::{Backend, Memory, Session, Wait, cmd};
///
/// let memory = Memory::new();
/// memory.run(cmd::set(b"stock", 1)).wait()?;
/// let mut session = memory.session().wait()?;
/// // Look, decide, and do it unless somebody was faster.
/// let stock = session.watch_and(&[b"stock"], cmd::get::<i64>(b"stock")).wait()?;
/// if stock > Some(0) {
///     let sale = (cmd::incrby(b"stock", -1), cmd::rpush(b"orders", ["ada"]));
///     assert_eq!(session.commit(sale).wait()?, Some((0, 1)));
/// }
/// # Ok::<(), stockroom::Error>(())
/// ```
pub trait Session: Send + 'static {
    /// Runs one command, in one round trip. One that waits for a key (`BLPOP` and its kin) may
    /// take as long as it says. Dropped meanwhile, it loses nothing in memory; on a server what it
    /// was being sent just then is lost with the connection.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stockroom::backend::{Backend, Memory, Session, Wait, cmd};
    ///
    /// let memory = Memory::new();
    /// let mut session = memory.session().wait()?;
    /// let (key, patience) = (&b"jobs"[..], Some(Duration::from_millis(5)));
    /// let job = session.run(cmd::blpop::<String>([key], patience)).wait()?;
    /// assert_eq!(job, None);
    /// memory.run(cmd::rpush(key, ["mail"])).wait()?;
    /// let job = session.run(cmd::blpop::<String>([key], None)).wait()?;
    /// assert_eq!(job, Some((key.into(), "mail".to_string())));
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    fn run<T: FromValue>(&mut self, cmd: Cmd<'_, T>) -> impl Future<Output = Result<T>> + Send;

    /// Runs a script as one step; see [`Backend::script`].
    fn script<T: FromValue>(
        &mut self,
        script: &Script,
        keys: &[&[u8]],
        args: &[Arg<'_>],
    ) -> impl Future<Output = Result<T>> + Send {
        async move {
            let reply = self.run(script.by_hash(keys, args)).await?;
            match script::read_if_known(reply) {
                Some(output) => output,
                None => self.run(script.in_full(keys, args)).await,
            }
        }
    }

    /// Watches keys, in one round trip: the next [`commit`](Self::commit) does nothing if one of
    /// them has changed by then. Adds to those watched already. O(keys); as long as they are
    /// watched each change of one costs its writer O(watchers of that key).
    fn watch(&mut self, keys: &[&[u8]]) -> impl Future<Output = Result<()>> + Send {
        self.watch_and(keys, ())
    }

    /// Watches keys and then runs `reads`, all in one round trip. After an error the keys may be
    /// watched or not.
    fn watch_and<B: Batch>(
        &mut self,
        keys: &[&[u8]],
        reads: B,
    ) -> impl Future<Output = Result<B::Output>> + Send;

    /// Runs commands as one transaction in one round trip, also if there are none. `None`: a
    /// watched key has changed and nothing was run. Errors are those of [`Backend::atomic`]. Ends
    /// all watches, whatever the outcome.
    fn commit<B: Batch>(
        &mut self,
        batch: B,
    ) -> impl Future<Output = Result<Option<B::Output>>> + Send;
}

/// Refuses what may not go out on a connection that others share, or what a session does by its
/// own methods.
#[inline]
fn allowed(spec: &Spec) -> Result<()> {
    if spec.is(Flags::BLOCKING) {
        const EXPECTED: &str = "one that does not wait; for those that do there is `Session::run`";
        return Err(Error::invalid("command", spec.name, EXPECTED));
    }
    allowed_alone(spec)
}

/// As [`allowed`] for a session's only command: it may wait, because nobody else does meanwhile.
#[inline]
fn allowed_alone(spec: &Spec) -> Result<()> {
    match spec.run {
        Run::Session(op) if changes_connection(op) => {
            const EXPECTED: &str = "a command that leaves the connection as it is";
            Err(Error::invalid("command", spec.name, EXPECTED))
        }
        _ => Ok(()),
    }
}

fn changes_connection(op: SessionOp) -> bool {
    use SessionOp::{
        Auth, ClientCaching, ClientReply, ClientTracking, Discard, Exec, Hello, Multi, Psubscribe,
        Punsubscribe, Quit, Reset, Select, Ssubscribe, Subscribe, Sunsubscribe, Unsubscribe,
        Unwatch, Watch,
    };
    matches!(
        op,
        Auth | ClientCaching
            | ClientReply
            | ClientTracking
            | Discard
            | Exec
            | Hello
            | Multi
            | Psubscribe
            | Punsubscribe
            | Quit
            | Reset
            | Select
            | Ssubscribe
            | Subscribe
            | Sunsubscribe
            | Unsubscribe
            | Unwatch
            | Watch
    )
}
