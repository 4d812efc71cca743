//! Where a test body runs: a backend and the clock that its shop follows.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use stockroom::backend::Memory;
use stockroom::{Env, ErrorKind, Result, Timestamp};

/// When tests begin: a full hour, 2023-11-14 22:00:00 UTC.
pub(crate) const START: Timestamp = Timestamp::from_secs(1_699_999_200);

/// A memory backend of its own on a manual clock.
pub(crate) fn memory() -> (Memory, Env) {
    let env = Env::manual(START, 1);
    (Memory::with_env(env.clone()), env)
}

/// Runs `fn body<B: Backend>(backend: &B, env: &Env)` on the memory backend and, where there is
/// one, on a real Redis.
macro_rules! on_both {
    ($body:ident) => {{
        let (memory, env) = crate::bed::memory();
        $body(&memory, &env);
        #[cfg(feature = "redis")]
        if let Some(server) = crate::support::real_redis(crate::bed::START) {
            let (redis, env) = crate::bed::redis(&server);
            $body(&redis, &env);
        }
    }};
}
pub(crate) use on_both;

/// A backend on `server` whose shop follows a manual clock.
#[cfg(feature = "redis")]
pub(crate) fn redis(server: &crate::support::RealRedis) -> (stockroom::backend::Redis, Env) {
    use stockroom::backend::{Redis, RedisConfig};
    let env = Env::manual(START, 1);
    let config = RedisConfig { env: env.clone(), ..RedisConfig::default() };
    let redis = Redis::lazy(&format!("redis://{}", server.addr()), config);
    (redis.expect("the address is one"), env)
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls until the future is done or waits for something that is not there yet.
pub(crate) fn settle<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() || !woken.0.swap(false, Ordering::SeqCst) {
            return polled;
        }
    }
}

/// Lets `future` run in virtual time until the clock has moved on by `d`: whenever it waits, the
/// clock jumps to where it wakes.
pub(crate) fn pass<F: Future>(env: &Env, d: Duration, mut future: Pin<&mut F>) -> Poll<F::Output> {
    let end = env.now() + d;
    loop {
        if let Poll::Ready(output) = settle(future.as_mut()) {
            return Poll::Ready(output);
        }
        match env.next_wake() {
            Some(next) if next <= end => env.set(next),
            _ => {
                env.set(end);
                return Poll::Pending;
            }
        }
    }
}

/// The clock of a test body: that of the backend, and where there is one that of the server, which
/// times to live follow.
pub(crate) struct Clock<'r> {
    env: Env,
    server: Option<&'r crate::support::RealRedis>,
}

impl<'r> Clock<'r> {
    pub(crate) fn new(env: Env, server: Option<&'r crate::support::RealRedis>) -> Self {
        Self { env, server }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.env.now()
    }

    /// The backend's part of it, which can be moved from within a step.
    pub(crate) fn env(&self) -> Env {
        self.env.clone()
    }

    pub(crate) fn advance(&self, d: Duration) {
        self.set(self.env.now() + d);
    }

    pub(crate) fn advance_secs(&self, secs: u64) {
        self.advance(Duration::from_secs(secs));
    }

    pub(crate) fn set(&self, to: Timestamp) {
        if let Some(server) = self.server {
            server.set_clock(to);
        }
        self.env.set(to);
    }
}

/// A test whose body, generic over the backend, runs on the memory backend and, where there is
/// one, on a real Redis, with a [`Clock`].
macro_rules! each_backend {
    (fn $name:ident($backend:ident, $clock:ident) $body:block) => {
        #[test]
        fn $name() {
            fn body<B: Backend>($backend: &B, $clock: &$crate::bed::Clock<'_>) $body
            let (memory, env) = $crate::bed::memory();
            body(&memory, &$crate::bed::Clock::new(env, None));
            memory.engine().check_invariants();
            #[cfg(feature = "redis")]
            if let Some(server) = $crate::support::real_redis($crate::bed::START)
                // Times to live follow the clock that the body moves.
                && server.set_clock($crate::bed::START)
            {
                let (redis, env) = $crate::bed::redis(&server);
                body(&redis, &$crate::bed::Clock::new(env, Some(&server)));
            }
        }
    };
}
pub(crate) use each_backend;

/// That the input was refused, before anything was sent, with a text that names it.
#[track_caller]
pub(crate) fn assert_invalid<T>(result: Result<T>, named: &str) {
    let Err(error) = result else { panic!("must be refused") };
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains(named), "{error}");
}

/// Ids that break careless code.
pub(crate) fn hostile_ids() -> Vec<Vec<u8>> {
    let short = [&b"\0"[..], b":", b"{", b"}{", b"%", b"%3A", b"\r\n", b"\xff\xfe"];
    let mut ids: Vec<Vec<u8>> = short.iter().map(|id| id.to_vec()).collect();
    ids.push(vec![b'x'; stockroom::shop::MAX_ID]);
    ids
}
