//! [`Interposed`]: a backend that lets a test act between two steps of a client, see what is sent,
//! lose requests and replies, and refuse commands.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use stockroom::backend::{Backend, Batch, Cmd, FromValue, Session, Stats, Topic};
use stockroom::commands::Spec;
use stockroom::engine::{Calls, Replies};
use stockroom::resp::Value;
use stockroom::{Bytes, Error, ErrorKind, Result, Timestamp, WireError};

/// What a client is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One command, or a pipeline, outside a session or in one.
    Send(Vec<&'static str>),
    /// `MULTI … EXEC` outside a session.
    Atomic(Vec<&'static str>),
    /// To take a session.
    Session,
    /// To watch keys and read.
    Watch(Vec<&'static str>),
    /// `MULTI … EXEC` under its watches.
    Commit(Vec<&'static str>),
    /// To wait.
    Sleep(Duration),
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes through.
    Pass,
    /// The request is lost.
    NotSent,
    /// The request arrives, and its reply is lost.
    LoseReply,
    /// Each of its commands is answered with this error.
    Refuse(&'static str),
}

type Hook = dyn Fn(&Step) -> Fate + Send + Sync;

/// Told of the keys that a script, a transaction with what it watches, or a single command names.
type Together = dyn Fn(&[Bytes]) + Send + Sync;

/// A backend whose every step is told to a hook first.
#[derive(Clone)]
pub(crate) struct Interposed<B> {
    inner: B,
    hook: Arc<Hook>,
    /// By how many milliseconds this client's clock is fast.
    fast_ms: i64,
    scripts: bool,
    together: Arc<Together>,
}

impl<B: Backend> Interposed<B> {
    pub(crate) fn new(inner: B, hook: impl Fn(&Step) -> Fate + Send + Sync + 'static) -> Self {
        let together = Arc::new(|_: &[Bytes]| ());
        Self { inner, hook: Arc::new(hook), fast_ms: 0, scripts: true, together }
    }

    /// Lets everything pass, and tells of the keys that must be in one slot of a cluster.
    pub(crate) fn telling_keys(inner: B, to: impl Fn(&[Bytes]) + Send + Sync + 'static) -> Self {
        Self { together: Arc::new(to), ..Self::new(inner, |_| Fate::Pass) }
    }

    /// The same without scripts.
    pub(crate) fn without_scripts(mut self) -> Self {
        self.scripts = false;
        self
    }

    /// A client that only has another clock.
    pub(crate) fn with_clock(inner: B, fast_ms: i64) -> Self {
        Self { fast_ms, ..Self::new(inner, |_| Fate::Pass) }
    }
}

impl<B> std::fmt::Debug for Interposed<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interposed")
    }
}

fn names<B: Batch>(batch: &B) -> Vec<&'static str> {
    let mut calls = Calls::default();
    batch.calls(&mut calls);
    calls.iter().map(|(spec, _)| spec.name).collect()
}

/// The keys of each command of a batch.
fn keys<B: Batch>(batch: &B) -> Vec<Vec<Bytes>> {
    let mut calls = Calls::default();
    batch.calls(&mut calls);
    let of_line = |(spec, argv): (&'static Spec, &[&[u8]])| {
        let positions = spec.key_positions(argv).expect("a line that says its keys");
        positions.iter().map(|(at, _)| Bytes::from(argv[*at])).collect()
    };
    calls.iter().map(of_line).collect()
}

/// The output of a batch each of whose commands is answered with an error.
fn refused<B: Batch>(batch: &B, text: &'static str) -> Result<B::Output> {
    let error = |_| Value::Error(WireError::fixed(text));
    let replies: Replies = names(batch).into_iter().map(error).collect();
    batch.output(&mut replies.into_iter())
}

/// Lets `call` happen, or not, or happen unseen.
async fn meet<T>(fate: Fate, call: impl Future<Output = Result<T>>) -> Result<T> {
    match fate {
        Fate::Refuse(text) => Err(Error::from(WireError::fixed(text))),
        Fate::Pass => call.await,
        Fate::NotSent => Err(Error::new(ErrorKind::NotSent, "lost on the way there")),
        Fate::LoseReply => {
            drop(call.await);
            Err(Error::new(ErrorKind::Unknown, "lost on the way back"))
        }
    }
}

impl<B: Backend> Backend for Interposed<B> {
    type Session = InterposedSession<B::Session>;
    type Subscription = B::Subscription;
    type Bell = B::Bell;

    async fn run<T: FromValue>(&self, cmd: Cmd<'_, T>) -> Result<T> {
        let fate = (self.hook)(&Step::Send(names(&cmd)));
        keys(&cmd).iter().for_each(|keys| (self.together)(keys));
        meet(fate, self.inner.run(cmd)).await
    }

    async fn pipeline<L: Batch>(&self, batch: L) -> Result<L::Output> {
        let names = names(&batch);
        // Nothing is sent for an empty one.
        let fate = if names.is_empty() { Fate::Pass } else { (self.hook)(&Step::Send(names)) };
        if let Fate::Refuse(text) = fate {
            return refused(&batch, text);
        }
        keys(&batch).iter().for_each(|keys| (self.together)(keys));
        meet(fate, self.inner.pipeline(batch)).await
    }

    async fn atomic<L: Batch>(&self, batch: L) -> Result<L::Output> {
        let fate = (self.hook)(&Step::Atomic(names(&batch)));
        (self.together)(&keys(&batch).concat());
        meet(fate, self.inner.atomic(batch)).await
    }

    async fn session(&self) -> Result<Self::Session> {
        let fate = (self.hook)(&Step::Session);
        let inner = meet(fate, self.inner.session()).await?;
        let (hook, together) = (Arc::clone(&self.hook), Arc::clone(&self.together));
        Ok(InterposedSession { inner, hook, together, watched: Vec::new() })
    }

    fn subscribe(
        &self,
        topics: &[Topic<'_>],
    ) -> impl Future<Output = Result<Self::Subscription>> + Send {
        self.inner.subscribe(topics)
    }

    fn bell(&self, channel: &[u8], id: &[u8]) -> impl Future<Output = Result<B::Bell>> + Send {
        self.inner.bell(channel, id)
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.inner.now().as_micros() + self.fast_ms * 1_000)
    }

    fn has_scripts(&self) -> bool {
        self.scripts && self.inner.has_scripts()
    }

    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }

    fn sleep(&self, d: Duration) -> impl Future<Output = ()> + Send {
        // The end of the sleep is fixed first, so that a hook can move the clock to it.
        let sleep = self.inner.sleep(d);
        let hook = Arc::clone(&self.hook);
        async move {
            hook(&Step::Sleep(d));
            sleep.await;
        }
    }

    fn random(&self, bytes: &mut [u8]) {
        self.inner.random(bytes);
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }
}

/// A session of [`Interposed`].
pub(crate) struct InterposedSession<S> {
    inner: S,
    hook: Arc<Hook>,
    together: Arc<Together>,
    /// What it watches, and has read since.
    watched: Vec<Bytes>,
}

impl<S: Session> Session for InterposedSession<S> {
    async fn run<T: FromValue>(&mut self, cmd: Cmd<'_, T>) -> Result<T> {
        let fate = (self.hook)(&Step::Send(names(&cmd)));
        keys(&cmd).iter().for_each(|keys| (self.together)(keys));
        meet(fate, self.inner.run(cmd)).await
    }

    async fn watch_and<L: Batch>(&mut self, watched: &[&[u8]], reads: L) -> Result<L::Output> {
        let fate = (self.hook)(&Step::Watch(names(&reads)));
        self.watched.extend(watched.iter().map(|key| Bytes::from(*key)));
        self.watched.extend(keys(&reads).concat());
        (self.together)(&self.watched);
        meet(fate, self.inner.watch_and(watched, reads)).await
    }

    async fn commit<L: Batch>(&mut self, batch: L) -> Result<Option<L::Output>> {
        let fate = (self.hook)(&Step::Commit(names(&batch)));
        let mut together = std::mem::take(&mut self.watched);
        together.extend(keys(&batch).concat());
        (self.together)(&together);
        meet(fate, self.inner.commit(batch)).await
    }
}
