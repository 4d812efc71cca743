//! [`Sleep`]: a future that waits on an [`Env`]'s clock.
//!
//! On the machine's clock one timer thread, started at the first sleep, wakes all sleepers; it
//! needs no async runtime. On a manual clock a sleep ends when the clock is moved to its end or
//! past it, and whoever moves the clock wakes it: nothing spins.
//!
//! Invariants: a sleeper that is dropped leaves no entry behind; wakers are called without a lock.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{ManualClock, Stopwatch, Timestamp};

/// Who waits until when, in the order of waking; the number tells equal times apart.
#[derive(Debug)]
pub(super) struct Sleepers<T> {
    waiting: BTreeMap<(T, u64), Waker>,
    next: u64,
}

impl<T> Default for Sleepers<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), next: 0 }
    }
}

impl<T: Ord + Copy> Sleepers<T> {
    /// Adds a sleeper, or gives a known one another waker; answers its number.
    fn register(&mut self, until: T, number: Option<u64>, waker: &Waker) -> u64 {
        let number = number.unwrap_or_else(|| {
            self.next += 1;
            self.next
        });
        self.waiting.insert((until, number), waker.clone());
        number
    }

    /// Takes out those whose time has come.
    pub(super) fn take_due(&mut self, now: T) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > now {
                break;
            }
            due.push(first.remove());
        }
        due
    }

    /// When the next one is to be woken.
    pub(super) fn next(&self) -> Option<T> {
        self.waiting.first_key_value().map(|((until, _), _)| *until)
    }
}

/// Waits on an environment's clock; made by [`Env::sleep`](super::Env::sleep).
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Sleep {
    until: Until,
    number: Option<u64>,
}

#[derive(Debug)]
enum Until {
    Monotonic(Duration),
    Manual(Timestamp, Arc<ManualClock>),
}

impl Sleep {
    pub(super) fn monotonic(d: Duration) -> Self {
        let until = if d.is_zero() { d } else { Timer::get().start.elapsed().saturating_add(d) };
        Self { until: Until::Monotonic(until), number: None }
    }

    pub(super) fn manual(until: Timestamp, clock: Arc<ManualClock>) -> Self {
        Self { until: Until::Manual(until, clock), number: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        match &this.until {
            Until::Monotonic(until) => {
                if until.is_zero() {
                    return Poll::Ready(());
                }
                let timer = Timer::get();
                if timer.start.elapsed() >= *until {
                    return Poll::Ready(());
                }
                let mut sleepers = timer.sleepers.lock();
                this.number = Some(sleepers.register(*until, this.number, cx.waker()));
                drop(sleepers);
                timer.changed.notify_one();
            }
            Until::Manual(until, clock) => {
                // Looked at under the lock: whoever moves the clock afterwards sees the entry.
                let mut sleepers = clock.sleepers.lock();
                if clock.now() >= *until {
                    return Poll::Ready(());
                }
                this.number = Some(sleepers.register(*until, this.number, cx.waker()));
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        match &self.until {
            Until::Monotonic(until) => {
                Timer::get().sleepers.lock().waiting.remove(&(*until, number));
            }
            Until::Manual(until, clock) => {
                clock.sleepers.lock().waiting.remove(&(*until, number));
            }
        }
    }
}

/// The thread that wakes those who sleep on the machine's clock.
struct Timer {
    start: Stopwatch,
    sleepers: Mutex<Sleepers<Duration>>,
    changed: Condvar,
}

impl Timer {
    fn get() -> &'static Self {
        static TIMER: OnceLock<Timer> = OnceLock::new();
        static THREAD: OnceLock<()> = OnceLock::new();
        let timer = TIMER.get_or_init(|| Self {
            start: Stopwatch::start(),
            sleepers: Mutex::default(),
            changed: Condvar::new(),
        });
        THREAD.get_or_init(|| {
            let thread = std::thread::Builder::new().name("stockroom-timer".to_owned());
            // Without a thread the machine is beyond help, and sleepers wait for ever.
            drop(thread.spawn(|| timer.run()));
        });
        timer
    }

    fn run(&self) {
        let mut sleepers = self.sleepers.lock();
        loop {
            let now = self.start.elapsed();
            let due = sleepers.take_due(now);
            if !due.is_empty() {
                drop(sleepers);
                due.into_iter().for_each(Waker::wake);
                sleepers = self.sleepers.lock();
                continue;
            }
            match sleepers.next() {
                Some(until) => {
                    self.changed.wait_for(&mut sleepers, until.saturating_sub(now));
                }
                None => self.changed.wait(&mut sleepers),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::super::Env;
    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn manual_sleep_ends_when_the_clock_is_moved_and_wakes_once() {
        let env = Env::manual(Timestamp::from_secs(100), 0);
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut sleep = Box::pin(env.sleep(Duration::from_secs(5)));
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        assert_eq!(env.next_wake(), Some(Timestamp::from_secs(105)));
        env.advance(Duration::from_millis(4_999));
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        env.set(Timestamp::from_secs(105));
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
        assert_eq!(env.next_wake(), None);
    }

    #[test]
    fn dropped_sleep_leaves_no_entry() {
        let env = Env::manual(Timestamp::EPOCH, 0);
        let mut sleep = Box::pin(env.sleep(Duration::from_secs(1)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(env.next_wake().is_some());
        drop(sleep);
        assert_eq!(env.next_wake(), None);
    }

    #[test]
    fn system_sleep_wakes_by_itself_and_not_early() {
        struct Unpark(std::thread::Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cx = Context::from_waker(&waker);
        let watch = Stopwatch::start();
        let env = Env::system();
        let mut long = Box::pin(env.sleep(Duration::from_secs(3600)));
        assert!(long.as_mut().poll(&mut cx).is_pending());
        let mut short = Box::pin(env.sleep(Duration::from_millis(20)));
        while short.as_mut().poll(&mut cx).is_pending() {
            std::thread::park();
        }
        assert!(watch.elapsed() >= Duration::from_millis(20));
        assert!(watch.elapsed() < Duration::from_secs(60));
    }
}
