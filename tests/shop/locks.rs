//! Plain locks: one holder, fencing, leases, lost replies, repair.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use stockroom::ErrorKind;
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::{FairLock, Held, Keys, Lease, Lock, Patience};

use crate::bed::{assert_invalid, each_backend, hostile_ids, memory, pass};
use crate::interpose::{Fate, Interposed, Step};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn lease(n: u64) -> Lease {
    Lease::of(ms(n)).unwrap()
}

fn lock<B: Backend>(backend: &B) -> Lock<B> {
    Lock::new(backend.clone(), &Keys::new(), b"l").unwrap()
}

fn taken<B: Backend>(lock: &Lock<B>, id: &[u8], length: u64) -> Option<Held<B>> {
    lock.try_acquire_as(id, lease(length)).wait().unwrap()
}

each_backend! {
    fn one_holds_it_and_every_grant_has_a_greater_number(backend, clock) {
        let lock = lock(backend);
        let mut a = taken(&lock, b"a", 1_000).unwrap();
        assert!(taken(&lock, b"b", 1_000).is_none());
        assert_eq!(backend.run(cmd::get::<String>(b"lock:l")).wait().unwrap().unwrap(), "a");
        assert!(a.release().wait().unwrap());
        let b = taken(&lock, b"b", 1_000).unwrap();
        // Alive at its deadline, gone a millisecond later; over on this side a little sooner.
        assert_eq!(b.left(), ms(988));
        clock.advance(ms(1_000));
        assert!(!b.is_held() && taken(&lock, b"c", 1_000).is_none());
        clock.advance(ms(1));
        let c = taken(&lock, b"c", 1_000).unwrap();
        assert_eq!([a.fence(), b.fence(), c.fence()], [1, 2, 3]);
    }
}

each_backend! {
    fn only_its_holder_releases_and_renews(backend, clock) {
        let lock = lock(backend);
        let mut a = taken(&lock, b"a", 100).unwrap();
        clock.advance(ms(101));
        let b = taken(&lock, b"b", 1_000).unwrap();
        assert!(!a.release().wait().unwrap());
        assert!(!a.refresh().wait().unwrap());
        clock.advance(ms(900));
        assert!(b.refresh().wait().unwrap());
        clock.advance(ms(900));
        assert!(b.is_held() && b.extend(lease(50)).wait().unwrap());
        clock.advance(ms(51));
        assert!(!b.refresh().wait().unwrap());
        assert!(taken(&lock, b"c", 100).is_some());
    }
}

each_backend! {
    fn the_same_request_again_gives_the_same_lock(backend, clock) {
        let lock = lock(backend);
        let first = taken(&lock, b"a", 1_000).unwrap();
        clock.advance(ms(300));
        let again = taken(&lock, b"a", 1_000).unwrap();
        assert_eq!(first.fence(), again.fence());
        assert_eq!(first.left(), again.left());
    }
}

each_backend! {
    fn a_guarded_command_runs_only_while_it_is_held(backend, clock) {
        let lock = lock(backend);
        let a = taken(&lock, b"a", 100).unwrap();
        let write = |held: &Held<_>, value: i64| {
            held.guarded(&cmd::set(b"doc", value)).wait().unwrap().is_some()
        };
        assert!(write(&a, 1));
        clock.advance(ms(101));
        let b = taken(&lock, b"b", 100).unwrap();
        // Paused, and back too late: it cannot overwrite what its successor does.
        assert!(write(&b, 2) && !write(&a, 3));
        assert_eq!(backend.run(cmd::get::<i64>(b"doc")).wait().unwrap(), Some(2));
    }
}

each_backend! {
    fn a_lock_without_an_end_is_repaired_where_that_is_wanted(backend, clock) {
        let plain = lock(backend);
        backend.run(cmd::set(b"lock:l", b"crashed")).wait().unwrap();
        assert!(taken(&plain, b"a", 100).is_none());
        assert_eq!(backend.run(cmd::pttl(b"lock:l")).wait().unwrap(), -1);
        let repairing = lock(backend).with_repair();
        assert!(taken(&repairing, b"a", 100).is_none());
        clock.advance(ms(101));
        assert!(taken(&repairing, b"a", 100).is_some());
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        assert_invalid(Lock::new(backend.clone(), &Keys::new(), b""), "name");
        assert_invalid(lock(backend).try_acquire_as(b"", lease(100)).wait(), "id");
        assert_eq!(backend.stats().commands, 0);
        for id in hostile_ids() {
            let lock = Lock::new(backend.clone(), &Keys::new(), &id).unwrap();
            let mut held = taken(&lock, &id, 1_000).unwrap();
            assert!(held.refresh().wait().unwrap() && held.release().wait().unwrap());
        }
    }
}

#[test]
fn acquire_waits_until_the_holder_is_gone_and_gives_up_when_patience_ends() {
    let (backend, env) = memory();
    let lock = lock(&backend);
    taken(&lock, b"dead", 1_000).unwrap();
    let mut a = Box::pin(lock.acquire(lease(1_000), Patience::of(ms(500))));
    let Poll::Ready(Err(error)) = pass(&env, ms(501), a.as_mut()) else { panic!("over") };
    assert_eq!(error.kind(), ErrorKind::GaveUp);
    let mut b = Box::pin(lock.acquire(lease(1_000), Patience::of(ms(5_000))));
    // Its lease has 499 ms left, and one poll is at most 100 ms.
    assert!(pass(&env, ms(499), b.as_mut()).is_pending());
    assert!(pass(&env, ms(101), b.as_mut()).is_ready());
}

#[test]
fn a_lost_reply_at_any_step_changes_nothing_but_the_knowledge() {
    for lost in 0..5 {
        let (backend, env) = memory();
        let sent = std::sync::Arc::new(AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&sent);
        let shaky = Interposed::new(backend.clone(), move |step| {
            let is_send = matches!(step, Step::Send(_));
            let n = if is_send { count.fetch_add(1, Ordering::Relaxed) } else { usize::MAX };
            if n == lost { Fate::LoseReply } else { Fate::Pass }
        });
        let lock = lock(&shaky);
        let mut waiting = Box::pin(lock.acquire_as(b"a", lease(5_000), Patience::of(ms(1_000))));
        let Poll::Ready(held) = pass(&env, ms(1_000), waiting.as_mut()) else { panic!("{lost}") };
        let mut held = held.unwrap();
        assert_eq!(held.fence(), 1, "{lost}");
        match held.refresh().wait() {
            Ok(refreshed) => assert!(refreshed),
            Err(error) => assert!(error.is_unknown() && held.refresh().wait().unwrap()),
        }
        match held.release().wait() {
            Ok(released) => assert!(released),
            Err(error) => {
                assert!(error.is_unknown());
                // What was lost may have been the answer that the script is not known yet.
                let again = held.release().wait();
                assert!(again.unwrap_or_else(|error| error.is_unknown()), "{lost}");
            }
        }
        assert!(lock.try_acquire(lease(100)).wait().is_ok_and(|held| held.is_some()) || lost == 4);
        assert!(sent.load(Ordering::Relaxed) >= lost.min(4), "{lost}");
    }
}

/// Many threads count up a number that only a lock makes safe to count.
fn counting<B: Backend>(backend: &B, fair: bool) {
    let keys = Keys::new();
    let (plain, line) = (lock(backend), FairLock::new(backend.clone(), &keys, b"f").unwrap());
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let patience = Patience::of(Duration::from_secs(120));
                    let held = if fair {
                        line.acquire(lease(60_000), patience).wait()
                    } else {
                        plain.acquire(lease(60_000), patience).wait()
                    };
                    let mut held = held.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    let n = backend.run(cmd::get::<i64>(b"n")).wait().unwrap().unwrap_or(0);
                    backend.run(cmd::set(b"n", n + 1)).wait().unwrap();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    assert!(held.release().wait().unwrap());
                }
            });
        }
    });
    assert_eq!(backend.run(cmd::get::<i64>(b"n")).wait().unwrap(), Some(200));
}

#[test]
fn what_is_counted_under_a_lock_is_counted_once_on_the_engine() {
    counting(&Memory::new(), false);
    counting(&Memory::new(), true);
}

#[cfg(feature = "redis")]
#[test]
fn what_is_counted_under_a_lock_is_counted_once_on_redis() {
    use stockroom::backend::Redis;
    for fair in [false, true] {
        let Some(server) = crate::support::real_redis(crate::bed::START) else { return };
        let redis = Redis::connect(&format!("redis://{}", server.addr())).wait().unwrap();
        counting(&redis, fair);
    }
}
