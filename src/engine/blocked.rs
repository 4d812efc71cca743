//! A session that waits: `BLPOP` and its kin.
//!
//! The command registers a waiter while it holds its locks, and the session then waits for that
//! waiter's reply or its deadline, by a waker: no thread and no task runs meanwhile. Whoever pushes
//! takes the element out of the list for the waiter, as Redis does, so there is a moment at which
//! an element belongs to a wait that has not seen it yet.
//!
//! Invariant: a wait that is given up leaves no waiter behind and loses no element. What it had
//! been given without seeing it goes back to where it was, and to the next who waits for it.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::client::Client;
use super::{Session, Shared, dispatch};
use crate::commands::{Run, Spec, Waits, blocking};
use crate::db::{Access, Scope, Waiter, Wakers};
use crate::env::{Sleep, Timestamp, wait};
use crate::resp::{Protocol, Value};

/// How a command line has begun.
#[derive(Debug)]
pub enum Started<'s> {
    /// It is done, and this is its reply.
    Ready(Value),
    /// It waits.
    Blocked(Blocked<'s>),
}

/// A command that waits for a key: a future of its reply.
///
/// It needs no async runtime. Its deadline is on the engine's clock: with a manual one it passes
/// when somebody moves the clock beyond it. Dropped, it is as if the command had timed out: the
/// client waits no longer, and an element that it had been given and has not seen goes back to the
/// end of the list from which it was popped, and there to the next who waits. What `BLMOVE` has
/// moved stays moved.
#[derive(Debug)]
#[must_use = "dropping it gives up the wait"]
pub struct Blocked<'s> {
    wait: Wait,
    /// A client that is blocked sends nothing else.
    session: PhantomData<&'s mut Session>,
}

impl Future for Blocked<'_> {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Value> {
        Pin::new(&mut self.wait).poll(cx)
    }
}

/// How a command line has begun, without the tie to its session.
#[derive(Debug)]
pub(crate) enum Begun {
    Ready(Value),
    Blocked(Box<Wait>),
}

/// What [`Blocked`] does.
#[derive(Debug)]
pub(crate) struct Wait {
    shared: Arc<Shared>,
    client: Arc<Client>,
    waiter: Arc<Waiter>,
    sleep: Option<Sleep>,
    over: bool,
}

impl Wait {
    pub(super) fn new(shared: &Arc<Shared>, client: &Arc<Client>, waiter: Arc<Waiter>) -> Self {
        let (shared, client) = (Arc::clone(shared), Arc::clone(client));
        Self { shared, client, waiter, sleep: None, over: false }
    }

    /// Whether it is neither served nor over.
    #[cfg(feature = "server")]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiter.is_waiting()
    }

    /// Ends with a reply that has been read.
    fn read(&mut self, reply: Value) -> Value {
        if self.waiter.is_registered() {
            self.end();
        }
        self.sleep = None;
        self.over = true;
        self.client.waits_no_longer();
        self.client.set_before_reply(self.waiter.last_message());
        reply
    }

    fn end(&mut self) {
        self.over = true;
        self.client.waits_no_longer();
        self.shared.withdraw(&self.waiter);
    }
}

impl Shared {
    /// Removes a waiter, and takes back what it was given and nobody has read. While a script that
    /// has been running too long holds a lock, the waiter is put aside for the next who runs a
    /// script.
    pub(super) fn withdraw(&self, waiter: &Arc<Waiter>) {
        self.keyspace.end_wait(waiter, Value::NilArray, &mut Wakers::default());
        let scope = Scope::of(waiter.keys().iter().map(|key| (&**key, Access::Write)));
        let Ok(mut cx) = dispatch::context(self, scope, waiter.db(), Protocol::Resp2) else {
            self.orphans.lock().waiters.push(Arc::clone(waiter));
            return;
        };
        if let Some(reply) = cx.db.withdraw(waiter) {
            blocking::give_back(&mut cx, waiter, reply);
        }
    }
}

impl Future for Wait {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Value> {
        let this = &mut *self;
        loop {
            if let Some(reply) = this.waiter.poll(cx.waker()) {
                return Poll::Ready(this.read(reply));
            }
            let Some(deadline_ms) = this.waiter.deadline_ms() else { return Poll::Pending };
            let Some(sleep) = &mut this.sleep else {
                let now_ms = this.shared.env.now().as_millis();
                this.shared.keyspace.time_out(now_ms, &mut Wakers::default());
                if now_ms > deadline_ms {
                    // Over by now, unless it is being served at this very moment.
                    let reply = this.waiter.poll(cx.waker());
                    return reply.map_or(Poll::Pending, |reply| Poll::Ready(this.read(reply)));
                }
                let until = Timestamp::from_millis(deadline_ms.saturating_add(1));
                this.sleep = Some(this.shared.env.sleep_until(until));
                continue;
            };
            ready!(Pin::new(sleep).poll(cx));
            this.sleep = None;
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.over {
            self.end();
        }
    }
}

impl Session {
    /// Runs a command that may wait, its row known, its length checked.
    pub(super) fn run_blocking(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Begun {
        let Run::Data(handler) = spec.run else {
            return Begun::Ready(Value::Error(spec.arity_error()));
        };
        let scope = dispatch::scope(spec, argv);
        let mut cx = match dispatch::context(&self.shared, scope, self.db, self.protocol) {
            Ok(cx) => cx,
            Err(busy) => return Begun::Ready(Value::Error(busy)),
        };
        self.client.is_active(cx.now);
        cx.waits = Waits::Maybe;
        let reply = handler(&mut cx, argv);
        self.client.has_run();
        match std::mem::replace(&mut cx.waits, Waits::Never) {
            Waits::Yes(waiter) => {
                // Known before the locks are given up: whoever then wants it unblocked finds it.
                self.client.waits(&waiter, &mut cx.db);
                Begun::Blocked(Box::new(Wait::new(&self.shared, &self.client, waiter)))
            }
            Waits::Maybe | Waits::Never => Begun::Ready(reply.into()),
        }
    }

    /// Runs a command line as [`call`](Self::call) does, without waiting: a command that has to
    /// wait for a key is answered by a future.
    ///
    /// ```
    /// use stockroom::backend::wait;
    /// use stockroom::engine::Started;
    /// use stockroom::{Engine, resp::Value};
    ///
    /// let engine = Engine::new();
    /// let (mut worker, mut producer) = (engine.session(), engine.session());
    /// let Started::Blocked(job) = worker.start(&[b"BLPOP", b"jobs", b"0"]) else { panic!() };
    /// producer.call(&[b"RPUSH", b"jobs", b"mail"]);
    /// assert_eq!(wait(job), Value::bulks(["jobs", "mail"]));
    /// ```
    pub fn start(&mut self, argv: &[&[u8]]) -> Started<'_> {
        match self.begin(argv) {
            Begun::Ready(reply) => Started::Ready(reply),
            Begun::Blocked(wait) => Started::Blocked(Blocked { wait: *wait, session: PhantomData }),
        }
    }

    /// Runs a command line as [`call`](Self::call) does, and waits for its reply without holding
    /// up a thread. Dropping the future gives up the wait; see [`Blocked`].
    pub async fn call_async(&mut self, argv: &[&[u8]]) -> Value {
        match self.start(argv) {
            Started::Ready(reply) => reply,
            Started::Blocked(blocked) => blocked.await,
        }
    }

    /// As [`call_async`](Self::call_async) for a command whose row is known.
    pub async fn run_async(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Value {
        match self.begin_spec(spec, argv) {
            Begun::Ready(reply) => reply,
            Begun::Blocked(wait) => wait.await,
        }
    }
}

impl Begun {
    /// The reply, for which the thread waits if it must.
    #[inline]
    pub(super) fn finish(self) -> Value {
        match self {
            Self::Ready(reply) => reply,
            Self::Blocked(blocked) => wait(blocked),
        }
    }
}

#[cfg(test)]
mod tests;
