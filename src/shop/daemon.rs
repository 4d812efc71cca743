//! [`Daemon`]: the loop around every maintenance step of the shop.
//!
//! The published daemons are endless loops that differ only in their bodies. Here the body is a
//! [`Chore`], and all that makes a loop fit to run for months is in one place: it can be stopped,
//! also while it rests; it says what it did and how it is; after an error, a lost connection for
//! instance, it comes back later and later, with jitter, and goes on as before once that helps.
//!
//! Invariants: a step is never interrupted half-way by a stop, only awaited; between two steps the
//! daemon waits only by the backend's clock, so in virtual time it follows that; a daemon that is
//! stopped before it runs does nothing.
//!
//! Not here: schedules by the calendar; what a step does. A step that must not run twice at a time
//! sees to that itself: nothing keeps two daemons from the same chore.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use super::backoff::Backoff;
use crate::backend::{Backend, wait};
use crate::env::Timestamp;
use crate::error::{Error, Result};

/// What a daemon does over and over.
///
/// Implemented by every function that makes a future of a [`Progress`], so a closure over a clone
/// of a feature is a chore.
pub trait Chore: Send + 'static {
    /// Does one step. It should be short, at most some hundred keys: a stop waits for its end.
    ///
    /// An error leaves the chore fit for the next step: whatever was half done is done again or
    /// found done.
    fn step(&mut self) -> impl Future<Output = Result<Progress>> + Send;
}

impl<F, R> Chore for F
where
    F: FnMut() -> R + Send + 'static,
    R: Future<Output = Result<Progress>> + Send,
{
    fn step(&mut self) -> impl Future<Output = Result<Progress>> + Send {
        self()
    }
}

/// What a step did, and when to do the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many things it did: sessions removed, rows loaded.
    pub done: u64,
    /// How long to wait before the next step; nothing when there is more to do now.
    pub rest: Duration,
}

impl Progress {
    /// There is more to do: go on at once.
    pub const fn more(done: u64) -> Self {
        Self { done, rest: Duration::ZERO }
    }

    /// Go on after a rest.
    pub const fn rest(done: u64, rest: Duration) -> Self {
        Self { done, rest }
    }
}

/// How a daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// No step has ended yet.
    Starting,
    /// The last step went well.
    Well,
    /// The last step failed; the daemon tries again.
    Failing,
    /// It has ended, as it was told to.
    Stopped,
    /// Its step panicked, and it does nothing any more.
    Dead,
}

/// What a daemon has done so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it is.
    pub health: Health,
    /// Steps that went well.
    pub rounds: u64,
    /// What they did, added up.
    pub done: u64,
    /// Steps that failed.
    pub errors: u64,
    /// How many failed since the last that went well.
    pub errors_in_a_row: u32,
    /// The last error, also one that is over.
    pub last_error: Option<Error>,
    /// When the last step that went well ended.
    pub last_well: Option<Timestamp>,
}

/// What the daemon and those who watch it share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    stop: bool,
    /// The resting daemon.
    waker: Option<Waker>,
    report: Report,
}

impl Shared {
    fn new() -> Self {
        let report = Report {
            health: Health::Starting,
            rounds: 0,
            done: 0,
            errors: 0,
            errors_in_a_row: 0,
            last_error: None,
            last_well: None,
        };
        Self { state: Mutex::new(State { stop: false, waker: None, report }) }
    }

    /// Whether to stop; if not, whoever says so later wakes `waker`.
    fn must_stop(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if !state.stop {
            state.waker = Some(waker.clone());
        }
        state.stop
    }

    fn well(&self, round: Progress, now: Timestamp) {
        let report = &mut self.state.lock().report;
        report.health = Health::Well;
        report.rounds += 1;
        report.done = report.done.saturating_add(round.done);
        report.errors_in_a_row = 0;
        report.last_well = Some(now);
    }

    fn failed(&self, error: Error) {
        let report = &mut self.state.lock().report;
        report.health = Health::Failing;
        report.errors += 1;
        report.errors_in_a_row = report.errors_in_a_row.saturating_add(1);
        report.last_error = Some(error);
    }
}

/// Stops a daemon and says how it is. Clones speak of the same daemon.
///
/// It goes on meaning something after the daemon's end.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

impl Control {
    /// Tells the daemon to end: at once if it rests, else after the step it is in. Does not wait
    /// for it.
    pub fn stop(&self) {
        let waker = {
            let mut state = self.0.state.lock();
            state.stop = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// What it has done so far.
    pub fn report(&self) -> Report {
        self.0.state.lock().report.clone()
    }

    /// How it is.
    pub fn health(&self) -> Health {
        self.0.state.lock().report.health
    }
}

/// A loop that has not begun: [`start`](Self::start) it on a thread, or [`run`](Self::run) it in
/// any async runtime.
///
/// Costs nothing but its steps: while it rests, nothing spins. A step that fails is repeated after
/// 100 ms, then 200 ms and so on up to a minute, half of that random;
/// [`backoff`](Self::backoff) changes it.
///
/// ```
/// use std::time::Duration;
/// use stockroom::backend::{Backend, Memory, Wait, cmd};
/// use stockroom::shop::{Daemon, Progress, daemon::Health};
///
/// let memory = Memory::new();
/// let chore = {
///     let memory = memory.clone();
///     move || {
///         let memory = memory.clone();
///         async move {
///             memory.run(cmd::set(b"swept", b"yes")).await?;
///             Ok(Progress::rest(1, Duration::from_secs(60)))
///         }
///     }
/// };
/// let running = Daemon::new("sweeper", memory.clone(), chore).start()?;
/// while running.control().health() == Health::Starting {
///     std::thread::yield_now();
/// }
/// let report = running.stop();
/// assert_eq!((report.health, report.done), (Health::Stopped, 1));
/// assert_eq!(memory.run(cmd::get(b"swept")).wait()?, Some("yes".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Daemon<B, C> {
    name: String,
    backend: B,
    chore: C,
    backoff: Backoff,
    shared: Arc<Shared>,
}

impl<B: Backend, C: Chore> Daemon<B, C> {
    /// A daemon that takes time and randomness from `backend`. The name is that of its thread.
    pub fn new(name: impl Into<String>, backend: B, chore: C) -> Self {
        Self {
            name: name.into(),
            backend,
            chore,
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(60)),
            shared: Arc::new(Shared::new()),
        }
    }

    /// Waits up to `first` after an error, and up to twice as long after every further one in a
    /// row, but never more than `most`.
    #[must_use]
    pub fn backoff(mut self, first: Duration, most: Duration) -> Self {
        self.backoff = Backoff::new(first, most);
        self
    }

    /// What stops it and says how it is.
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.shared))
    }

    /// Runs until it is stopped. Dropping the future ends the daemon too, wherever it is.
    pub async fn run(mut self) {
        let _end = End(Arc::clone(&self.shared));
        let mut rest = Duration::ZERO;
        while !self.stopped_within(rest).await {
            rest = match self.chore.step().await {
                Ok(round) => {
                    self.backoff.reset();
                    self.shared.well(round, self.backend.now());
                    round.rest
                }
                Err(error) => {
                    self.shared.failed(error);
                    self.backoff.next(&self.backend)
                }
            };
        }
    }

    /// Rests for `d`, but not once the daemon is told to stop; says whether it is. Gives way to
    /// others at least once, also when there is no rest.
    async fn stopped_within(&self, d: Duration) -> bool {
        let mut sleep = pin!(self.backend.sleep(d));
        let mut gave_way = !d.is_zero();
        poll_fn(|cx| {
            if self.shared.must_stop(cx.waker()) {
                return Poll::Ready(true);
            }
            if !std::mem::replace(&mut gave_way, true) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            sleep.as_mut().poll(cx).map(|()| false)
        })
        .await
    }

    /// Runs it on a thread of its own. Fails if the machine has no thread to give.
    pub fn start(self) -> io::Result<Running> {
        let control = self.control();
        let thread =
            std::thread::Builder::new().name(self.name.clone()).spawn(move || wait(self.run()))?;
        Ok(Running { control, thread: Some(thread) })
    }
}

impl<B, C> fmt::Debug for Daemon<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Says how a daemon ended.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        let panicked = std::thread::panicking();
        self.0.state.lock().report.health = if panicked { Health::Dead } else { Health::Stopped };
    }
}

/// A daemon on a thread. When this is dropped it is told to stop, but not waited for.
#[derive(Debug)]
pub struct Running {
    control: Control,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// What stops it and says how it is.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Stops it, waits for its end, and says what it did. At most one step and, where a server
    /// does not answer, the backend's reply timeout.
    pub fn stop(self) -> Report {
        self.control.stop();
        self.join()
    }

    /// Waits for its end and says what it did. A panic of its step shows as [`Health::Dead`].
    pub fn join(mut self) -> Report {
        if let Some(thread) = self.thread.take() {
            // What it panicked with has been printed by its own thread.
            drop(thread.join());
        }
        self.control.report()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Joining would hang a runtime's thread that the daemon needs; `stop` joins.
        if self.thread.is_some() {
            self.control.stop();
        }
    }
}
