//! Daemons: when they step, how they end, and what they make of errors.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::daemon::Health;
use stockroom::shop::{Chore, Daemon, Progress};
use stockroom::{Env, Error, ErrorKind, Result, Stopwatch, Timestamp};

use crate::bed::{START, memory, on_both, pass, settle};
use crate::interpose::{Fate, Interposed, Step};

const MINUTE: Duration = Duration::from_secs(60);

/// A chore that keeps when it was done and answers from a list, then that it has a minute's rest.
struct Scripted {
    env: Env,
    times: Arc<Mutex<Vec<Timestamp>>>,
    answers: std::vec::IntoIter<Result<Progress>>,
}

impl Scripted {
    fn new(env: &Env, answers: Vec<Result<Progress>>) -> (Self, Arc<Mutex<Vec<Timestamp>>>) {
        let times = Arc::<Mutex<Vec<_>>>::default();
        let answers = answers.into_iter();
        (Self { env: env.clone(), times: Arc::clone(&times), answers }, times)
    }
}

impl Chore for Scripted {
    async fn step(&mut self) -> Result<Progress> {
        self.times.lock().push(self.env.now());
        self.answers.next().unwrap_or(Ok(Progress::rest(1, MINUTE)))
    }
}

fn lost() -> Result<Progress> {
    Err(Error::new(ErrorKind::NotSent, "the connection is lost"))
}

#[test]
fn steps_come_when_their_rests_are_over() {
    let (memory, env) = memory();
    let (chore, times) = Scripted::new(&env, vec![Ok(Progress::more(5)), Ok(Progress::more(2))]);
    let daemon = Daemon::new("test", memory, chore);
    let control = daemon.control();
    assert_eq!(control.health(), Health::Starting);
    let mut run = pin!(daemon.run());
    assert!(pass(&env, 2 * MINUTE + MINUTE / 2, run.as_mut()).is_pending());
    assert_eq!(*times.lock(), [START, START, START, START + MINUTE, START + 2 * MINUTE]);
    let report = control.report();
    assert_eq!((report.health, report.rounds, report.done), (Health::Well, 5, 5 + 2 + 3));
    assert_eq!((report.errors, report.last_well), (0, Some(START + 2 * MINUTE)));
}

#[test]
fn endless_work_lets_others_have_the_thread() {
    let (memory, env) = memory();
    let (chore, times) = Scripted::new(&env, vec![Ok(Progress::more(1)); 100]);
    let mut run = pin!(Daemon::new("test", memory, chore).run());
    for steps in 0..50 {
        let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        assert_eq!(times.lock().len(), steps);
    }
}

#[test]
fn errors_are_retried_later_and_later_and_forgotten_after_a_success() {
    let (memory, env) = memory();
    let mut answers: Vec<_> = (0..8).map(|_| lost()).collect();
    answers.extend([Ok(Progress::rest(1, MINUTE)), lost(), Ok(Progress::rest(1, MINUTE))]);
    let (chore, times) = Scripted::new(&env, answers);
    let limits = (Duration::from_millis(100), Duration::from_secs(3));
    let daemon = Daemon::new("test", memory, chore).backoff(limits.0, limits.1);
    let control = daemon.control();
    let mut run = pin!(daemon.run());
    assert!(settle(run.as_mut()).is_pending());
    assert_eq!(control.health(), Health::Failing);
    assert!(pass(&env, 2 * MINUTE, run.as_mut()).is_pending());

    let times = times.lock();
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    for (gap, limit) in gaps.iter().zip([100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000]) {
        let limit = Duration::from_millis(limit);
        assert!(*gap >= limit / 2 && *gap <= limit, "{gap:?} of {limit:?}");
    }
    assert_eq!(gaps[8], MINUTE);
    assert!(gaps[9] <= limits.0, "the first wait after a success: {:?}", gaps[9]);
    let report = control.report();
    assert_eq!((report.health, report.errors, report.errors_in_a_row), (Health::Well, 9, 0));
    assert_eq!(report.last_error.unwrap().kind(), ErrorKind::NotSent);
}

#[test]
fn stop_ends_a_rest_at_once() {
    // Nobody moves this clock: the rest would never end.
    let (memory, env) = memory();
    let (chore, times) = Scripted::new(&env, Vec::new());
    let running = Daemon::new("test", memory, chore).start().unwrap();
    while running.control().health() == Health::Starting {
        std::thread::yield_now();
    }
    let watch = Stopwatch::start();
    let report = running.stop();
    assert!(watch.elapsed() < Duration::from_secs(5));
    assert_eq!((report.health, report.rounds), (Health::Stopped, 1));
    assert_eq!(times.lock().len(), 1);
}

#[test]
fn stop_waits_for_the_end_of_a_step() {
    let (memory, env) = memory();
    let chore = {
        let memory = memory.clone();
        move || {
            let memory = memory.clone();
            async move {
                memory.sleep(MINUTE).await;
                memory.run(cmd::set(b"done", b"1")).await?;
                Ok(Progress::more(1))
            }
        }
    };
    let daemon = Daemon::new("test", memory.clone(), chore);
    let control = daemon.control();
    let mut run = pin!(daemon.run());
    assert!(settle(run.as_mut()).is_pending());
    control.stop();
    assert!(settle(run.as_mut()).is_pending());
    assert_eq!(memory.run(cmd::get::<i64>(b"done")).wait().unwrap(), None);
    env.advance(MINUTE);
    assert_eq!(settle(run), Poll::Ready(()));
    assert_eq!(memory.run(cmd::get::<i64>(b"done")).wait().unwrap(), Some(1));
    assert_eq!((control.health(), control.report().rounds), (Health::Stopped, 1));
}

#[test]
fn stopped_before_it_runs_it_does_nothing() {
    let (memory, env) = memory();
    let (chore, times) = Scripted::new(&env, Vec::new());
    let daemon = Daemon::new("test", memory, chore);
    daemon.control().stop();
    let report = daemon.start().unwrap().join();
    assert_eq!((report.health, report.rounds), (Health::Stopped, 0));
    assert!(times.lock().is_empty());
}

#[test]
fn dropped_future_is_a_stopped_daemon() {
    let (memory, env) = memory();
    let (chore, _) = Scripted::new(&env, Vec::new());
    let daemon = Daemon::new("test", memory, chore);
    let control = daemon.control();
    {
        let mut run = pin!(daemon.run());
        assert!(settle(run.as_mut()).is_pending());
        assert_eq!(control.health(), Health::Well);
    }
    assert_eq!(control.health(), Health::Stopped);
    assert_eq!(env.next_wake(), None);
}

#[test]
fn dropped_thread_handle_stops_the_daemon() {
    let (memory, env) = memory();
    let (chore, _) = Scripted::new(&env, Vec::new());
    let running = Daemon::new("test", memory, chore).start().unwrap();
    let control = running.control().clone();
    drop(running);
    let watch = Stopwatch::start();
    while control.health() != Health::Stopped {
        assert!(watch.elapsed() < Duration::from_secs(10), "{:?}", control.health());
        std::thread::yield_now();
    }
}

#[test]
fn panicking_step_shows_as_a_dead_daemon() {
    fn step() -> std::future::Ready<Result<Progress>> {
        panic!("a test of what a panic does");
    }
    let (memory, _) = memory();
    let report = Daemon::new("test", memory, step).start().unwrap().join();
    assert_eq!(report.health, Health::Dead);
}

#[test]
fn lost_connections_cost_time_and_no_work() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let calls = Arc::new(AtomicU64::new(0));
        let hook = {
            let calls = Arc::clone(&calls);
            move |step: &Step| match step {
                Step::Send(_) => match calls.fetch_add(1, Ordering::SeqCst) % 4 {
                    1 => Fate::NotSent,
                    2 => Fate::LoseReply,
                    _ => Fate::Pass,
                },
                _ => Fate::Pass,
            }
        };
        let lossy = Interposed::new(backend.clone(), hook);
        let chore = {
            let lossy = lossy.clone();
            move || {
                let lossy = lossy.clone();
                async move {
                    let now = lossy.now().as_secs();
                    lossy.run(cmd::set(b"alive", now)).await?;
                    Ok(Progress::rest(1, MINUTE))
                }
            }
        };
        let daemon = Daemon::new("test", lossy, chore);
        let control = daemon.control();
        let running = daemon.start().unwrap();
        let watch = Stopwatch::start();
        while control.report().rounds < 10 {
            assert!(watch.elapsed() < Duration::from_secs(30), "{:?}", control.report());
            if let Some(next) = env.next_wake() {
                env.set(next);
            }
            std::thread::yield_now();
        }
        let report = running.stop();
        assert!(report.errors >= 8, "{report:?}");
        let alive = backend.run(cmd::get::<i64>(b"alive")).wait().unwrap().unwrap();
        assert!(alive >= (START + 9 * MINUTE).as_secs());
    }
    on_both!(body);
}

#[cfg(feature = "redis")]
#[test]
fn server_that_drops_its_clients_is_found_again() {
    use crate::bed::redis;
    use crate::support::real_redis;

    let Some(server) = real_redis(START) else { return };
    let (redis, env) = redis(&server);
    let chore = {
        let redis = redis.clone();
        move || {
            let redis = redis.clone();
            async move {
                redis.run(cmd::set(b"alive", b"yes")).await?;
                Ok(Progress::rest(1, MINUTE))
            }
        }
    };
    let running = Daemon::new("test", redis, chore).start().unwrap();
    let watch = Stopwatch::start();
    let mut wire = server.connect();
    for round in 1..=5 {
        while running.control().report().rounds < round {
            assert!(watch.elapsed() < Duration::from_secs(30), "{:?}", running.control().report());
            if let Some(next) = env.next_wake() {
                env.set(next);
            }
            std::thread::yield_now();
        }
        wire.call(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
    assert_eq!(running.stop().health, Health::Stopped);
}

#[test]
fn daemons_can_be_driven_by_any_runtime() {
    fn send<T: Send + 'static>(_: &T) {}
    let (memory, env) = memory();
    let (chore, _) = Scripted::new(&env, Vec::new());
    let daemon: Daemon<Memory, _> = Daemon::new("test", memory, chore);
    send(&daemon.run());
}
