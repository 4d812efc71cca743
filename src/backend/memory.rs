//! [`Memory`]: the backend on an engine in this process.
//!
//! A future does its work at its first poll and is ready then, unless it is to wait: for a key, a
//! message or a time. Commands on data go straight to the engine, without a session and without
//! copying a word; a transaction locks the union of its keys as `EXEC` does.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use super::batch::{self, Batch};
use super::bell::{Bell, is_for};
use super::stats::{Counters, Stats};
use super::subscription::{self, Line, Message, Subscription, Topic};
use super::{Backend, Cmd, FromValue, Session, allowed, allowed_alone};
use crate::bytes::Bytes;
use crate::commands::{Flags, Run};
use crate::engine::{self, Calls, Engine, Replies};
use crate::env::{Env, Timestamp};
use crate::error::{Error, ErrorKind, Result};
use crate::resp::Value;

/// The backend on an engine in this process. Clones share the engine.
///
/// ```
/// use stockroom::backend::{Backend, Memory, Wait, cmd};
///
/// let memory = Memory::new();
/// memory.atomic((cmd::set(b"a", 1), cmd::set(b"b", 2))).wait()?;
/// let both = memory.pipeline((cmd::get(b"a"), cmd::get(b"b"))).wait()?;
/// assert_eq!(both, (Some(1_i64), Some(2_i64)));
/// assert_eq!(memory.stats().round_trips, 2);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory {
    engine: Engine,
    counters: Arc<Counters>,
}

impl Memory {
    /// On an engine of its own, on the machine's clock.
    pub fn new() -> Self {
        Self::default()
    }

    /// On an engine of its own that takes time and randomness from `env`.
    pub fn with_env(env: Env) -> Self {
        Self::on(Engine::with_env(env))
    }

    /// On an engine that others may use too.
    pub fn on(engine: Engine) -> Self {
        Self { engine, counters: Arc::default() }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn call<T: FromValue>(&self, cmd: &Cmd<'_, T>) -> Result<T> {
        allowed(cmd.spec())?;
        self.counters.trip(1);
        if !matches!(cmd.spec().run, Run::Data(_) | Run::Plain(_) | Run::Script(_)) {
            return call_on(&mut self.engine.session(), cmd);
        }
        let spec = cmd.spec();
        let mut words: SmallVec<[&[u8]; 8]> = SmallVec::new();
        if spec.is_compound() {
            words.extend(spec.words());
        } else {
            words.push(spec.name.as_bytes());
        }
        for arg in cmd.arguments() {
            words.push(arg);
        }
        cmd.read(self.engine.run(spec, &words))
    }

    fn each<B: Batch>(&self, batch: &B) -> Result<B::Output> {
        let mut calls = Calls::default();
        collect(batch, &mut calls)?;
        self.counters.trip(calls.len());
        let mut session = None;
        let run = |(spec, argv): (&'static crate::commands::Spec, &[&[u8]])| match spec.run {
            Run::Data(_) | Run::Plain(_) | Run::Script(_) => self.engine.run(spec, argv),
            _ => session.get_or_insert_with(|| self.engine.session()).run(spec, argv),
        };
        let replies: Replies = calls.iter().map(run).collect();
        batch::read(batch, replies)
    }

    fn all<B: Batch>(&self, batch: &B) -> Result<B::Output> {
        let mut calls = Calls::default();
        collect(batch, &mut calls)?;
        self.counters.trip(calls.len());
        if calls
            .iter()
            .all(|(spec, _)| matches!(spec.run, Run::Data(_) | Run::Plain(_) | Run::Script(_)))
        {
            return batch::read(batch, self.engine.atomic(&calls)?);
        }
        let replies = self.engine.session().commit(&calls)?.unwrap_or_default();
        batch::read(batch, replies)
    }
}

/// The command lines of `batch`, if a backend may send them.
pub(super) fn collect<'b, B: Batch>(batch: &'b B, calls: &mut Calls<'b>) -> Result<()> {
    batch.calls(calls);
    calls.iter().try_for_each(|(spec, _)| allowed(spec))
}

fn call_on<T: FromValue>(session: &mut engine::Session, cmd: &Cmd<'_, T>) -> Result<T> {
    let mut calls = Calls::default();
    cmd.calls(&mut calls);
    let replies: Replies = calls.iter().map(|(spec, argv)| session.run(spec, argv)).collect();
    batch::read(cmd, replies)
}

impl Backend for Memory {
    type Session = MemorySession;
    type Subscription = MemorySubscription;
    type Bell = MemoryBell;

    #[inline]
    async fn run<T: FromValue>(&self, cmd: Cmd<'_, T>) -> Result<T> {
        self.call(&cmd)
    }

    #[inline]
    async fn pipeline<B: Batch>(&self, batch: B) -> Result<B::Output> {
        self.each(&batch)
    }

    #[inline]
    async fn atomic<B: Batch>(&self, batch: B) -> Result<B::Output> {
        self.all(&batch)
    }

    async fn session(&self) -> Result<MemorySession> {
        let session = self.engine.session();
        Ok(MemorySession { session, counters: Arc::clone(&self.counters) })
    }

    async fn subscribe(&self, topics: &[Topic<'_>]) -> Result<MemorySubscription> {
        let session = self.engine.session();
        let mut subscription = MemorySubscription { session, counters: Arc::clone(&self.counters) };
        subscription.subscribe(topics).await?;
        Ok(subscription)
    }

    async fn bell(&self, channel: &[u8], id: &[u8]) -> Result<MemoryBell> {
        let heard = self.subscribe(&[Topic::Channel(channel)]).await?;
        let (memory, channel, id) = (self.clone(), channel.into(), id.into());
        Ok(MemoryBell { memory, heard, channel, id })
    }

    #[inline]
    fn now(&self) -> Timestamp {
        self.engine.env().now()
    }

    fn has_scripts(&self) -> bool {
        cfg!(feature = "lua")
    }

    fn monotonic(&self) -> Duration {
        self.engine.env().monotonic()
    }

    fn sleep(&self, d: Duration) -> impl Future<Output = ()> + Send {
        self.engine.env().sleep(d)
    }

    fn random(&self, bytes: &mut [u8]) {
        self.engine.env().fill(bytes);
    }

    fn stats(&self) -> Stats {
        self.counters.sum()
    }
}

/// A session of [`Memory`].
#[derive(Debug)]
pub struct MemorySession {
    session: engine::Session,
    counters: Arc<Counters>,
}

impl MemorySession {
    fn watched<B: Batch>(&mut self, keys: &[&[u8]], reads: &B) -> Result<B::Output> {
        let mut calls = Calls::default();
        collect(reads, &mut calls)?;
        self.counters.trip(calls.len() + usize::from(!keys.is_empty()));
        self.session.watch_keys(keys)?;
        let run = |(spec, argv): (_, &[&[u8]])| self.session.run(spec, argv);
        let replies: Replies = calls.iter().map(run).collect();
        batch::read(reads, replies)
    }

    fn committed<B: Batch>(&mut self, batch: &B) -> Result<Option<B::Output>> {
        let mut calls = Calls::default();
        collect(batch, &mut calls).inspect_err(|_| self.session.unwatch_all())?;
        self.counters.transaction(calls.len());
        self.session.commit(&calls)?.map(|replies| batch::read(batch, replies)).transpose()
    }
}

impl Session for MemorySession {
    async fn run<T: FromValue>(&mut self, cmd: Cmd<'_, T>) -> Result<T> {
        allowed_alone(cmd.spec())?;
        self.counters.trip(1);
        if !cmd.spec().is(Flags::BLOCKING) {
            return call_on(&mut self.session, &cmd);
        }
        let mut replies = Replies::new();
        {
            let mut calls = Calls::default();
            cmd.calls(&mut calls);
            for (spec, argv) in calls.iter() {
                replies.push(self.session.run_async(spec, argv).await);
            }
        }
        batch::read(&cmd, replies)
    }

    async fn watch_and<B: Batch>(&mut self, keys: &[&[u8]], reads: B) -> Result<B::Output> {
        self.watched(keys, &reads)
    }

    async fn commit<B: Batch>(&mut self, batch: B) -> Result<Option<B::Output>> {
        self.committed(&batch)
    }
}

/// A bell of [`Memory`].
#[derive(Debug)]
pub struct MemoryBell {
    memory: Memory,
    heard: MemorySubscription,
    channel: Bytes,
    id: Bytes,
}

impl Bell for MemoryBell {
    async fn rung(&mut self) {
        loop {
            match self.heard.next().await {
                Ok(message) if is_for(&message.payload, &self.id) => return,
                Ok(_) => {}
                // Disconnected: a ring may have been missed, so this is one.
                Err(_) => {
                    let again = self.memory.subscribe(&[Topic::Channel(&self.channel)]).await;
                    return again.map_or((), |heard| self.heard = heard);
                }
            }
        }
    }
}

/// A subscription of [`Memory`].
#[derive(Debug)]
pub struct MemorySubscription {
    session: engine::Session,
    counters: Arc<Counters>,
}

impl MemorySubscription {
    fn change<'t>(&mut self, topics: &[Topic<'t>], line: Line<'t>) -> Result<()> {
        self.counters.trip(topics.len());
        topics.iter().try_for_each(|topic| {
            let (spec, name) = line(*topic);
            match self.session.run(spec, &[spec.name.as_bytes(), name]) {
                Value::Error(_) => Err(Error::new(ErrorKind::NotSent, "the subscription is over")),
                _ => Ok(()),
            }
        })
    }
}

impl Subscription for MemorySubscription {
    async fn subscribe(&mut self, topics: &[Topic<'_>]) -> Result<()> {
        self.change(topics, Topic::begin)
    }

    async fn unsubscribe(&mut self, topics: &[Topic<'_>]) -> Result<()> {
        self.change(topics, Topic::end)
    }

    async fn next(&mut self) -> Result<Message> {
        loop {
            match self.session.message().await {
                Some(push) => {
                    if let Some(message) = subscription::message(push) {
                        return Ok(message);
                    }
                }
                None if self.session.is_closing() => {
                    return Err(subscription::over("it was ended, or left too many unread"));
                }
                // Nothing is listened to, and so nothing will come.
                None => std::future::pending().await,
            }
        }
    }
}
