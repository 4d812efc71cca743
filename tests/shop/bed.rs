//! Where a test body runs: a backend and the clock that its shop follows.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use stockroom::backend::Memory;
use stockroom::{Env, Timestamp};

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
