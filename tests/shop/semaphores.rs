//! Semaphores and fair locks: limits, order, leases, lost replies, and the published variants.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use stockroom::ErrorKind;
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::semaphore::{Asked, Place, published};
use stockroom::shop::{Daemon, FairLock, Held, Keys, Lease, MAX_ID, Patience, Semaphore};

use crate::bed::{assert_invalid, each_backend, hostile_ids, memory, pass};
use crate::interpose::{Fate, Interposed, Step};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn lease(n: u64) -> Lease {
    Lease::of(ms(n)).unwrap()
}

fn semaphore<B: Backend>(backend: &B, limit: u32) -> Semaphore<B> {
    Semaphore::new(backend.clone(), &Keys::new(), b"s", limit).unwrap()
}

#[track_caller]
fn granted<B>(asked: Asked<B>) -> Held<B> {
    match asked {
        Asked::Granted(held) => held,
        Asked::Waiting(place) => panic!("still {place:?}"),
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "as `granted`")]
fn waiting<B>(asked: Asked<B>) -> Place {
    match asked {
        Asked::Granted(_) => panic!("granted"),
        Asked::Waiting(place) => place,
    }
}

each_backend! {
    fn permits_go_in_the_order_of_arrival(backend, clock) {
        let s = semaphore(backend, 2);
        let ask = |id: &str| s.ask(id.as_bytes(), lease(10_000)).wait().unwrap();
        let mut a = granted(ask("a"));
        let b = granted(ask("b"));
        assert_eq!((a.fence(), b.fence()), (1, 2));
        assert_eq!(waiting(ask("c")), Place { ahead: 0, hint: ms(3_000) });
        assert_eq!(waiting(ask("d")).ahead, 1);
        assert_eq!(s.count().wait().unwrap(), (2, 2));
        assert!(a.release().wait().unwrap());
        // The free permit is for the first in the queue, whoever asks.
        assert_eq!(waiting(ask("d")).ahead, 1);
        assert!(s.try_acquire(lease(100)).wait().unwrap().is_none());
        assert_eq!(granted(ask("c")).fence(), 3);
        assert_eq!(waiting(ask("d")).ahead, 0);
        clock.advance(ms(2_999));
        assert_eq!(waiting(ask("d")).ahead, 0);
        // The others' leases end.
        clock.advance(ms(7_001));
        assert_eq!(waiting(ask("d")).ahead, 0);
        clock.advance(ms(1));
        assert_eq!(granted(ask("d")).fence(), 4);
        assert!(!b.is_held());
    }
}

each_backend! {
    fn a_waiter_that_stops_asking_loses_its_place(backend, clock) {
        let s = semaphore(backend, 1);
        let ask = |id: &str| s.ask(id.as_bytes(), lease(10_000)).wait().unwrap();
        let mut a = granted(ask("a"));
        for dead in ["b", "c", "d"] {
            waiting(ask(dead));
        }
        clock.advance(ms(1_000));
        assert_eq!(waiting(ask("e")), Place { ahead: 3, hint: ms(2_001) });
        a.release().wait().unwrap();
        clock.advance(ms(2_000));
        assert_eq!(waiting(ask("e")).ahead, 3);
        // All dead ones at once.
        clock.advance(ms(1));
        granted(ask("e"));
    }
}

each_backend! {
    fn the_same_request_again_gives_the_same_permit(backend, clock) {
        let s = semaphore(backend, 1);
        let first = granted(s.ask(b"a", lease(1_000)).wait().unwrap());
        clock.advance(ms(400));
        let again = granted(s.ask(b"a", lease(1_000)).wait().unwrap());
        assert_eq!((first.fence(), first.id()), (again.fence(), again.id()));
        // Not longer than before: both end at the same time.
        assert_eq!(again.left(), first.left());
        assert_eq!(again.left(), ms(588));
        let third = s.try_acquire_as(b"a", lease(1_000)).wait().unwrap().unwrap();
        assert_eq!(third.fence(), 1);
    }
}

each_backend! {
    fn a_refresh_tells_the_truth_and_revives_nothing(backend, clock) {
        let s = semaphore(backend, 1);
        let a = granted(s.ask(b"a", lease(1_000)).wait().unwrap());
        clock.advance(ms(900));
        assert!(a.refresh().wait().unwrap());
        clock.advance(ms(900));
        assert!(a.is_held() && a.refresh().wait().unwrap());
        assert!(a.extend(lease(2_000)).wait().unwrap());
        clock.advance(ms(2_000));
        assert!(!a.is_held());
        // At its deadline the server still has it; a moment later it has not.
        assert!(a.extend(lease(50)).wait().unwrap());
        clock.advance(ms(51));
        assert!(!a.refresh().wait().unwrap());
        assert!(!a.refresh().wait().unwrap());
        let b = granted(s.ask(b"b", lease(1_000)).wait().unwrap());
        assert!(!a.refresh().wait().unwrap() && b.is_held());
        assert_eq!(s.count().wait().unwrap(), (1, 0));
    }
}

each_backend! {
    fn a_release_says_whether_it_was_held_and_leaves_others_alone(backend, clock) {
        let s = semaphore(backend, 1);
        let mut a = granted(s.ask(b"a", lease(100)).wait().unwrap());
        clock.advance(ms(101));
        let b = granted(s.ask(b"b", lease(1_000)).wait().unwrap());
        assert!(!a.release().wait().unwrap());
        assert!(b.refresh().wait().unwrap());
        assert!(!a.is_held() && !a.refresh().wait().unwrap());
    }
}

each_backend! {
    fn a_guarded_command_runs_only_while_it_is_held(backend, clock) {
        let s = semaphore(backend, 1);
        let held = granted(s.ask(b"a", lease(100)).wait().unwrap());
        let write = |value: i64| held.guarded(&cmd::set(b"doc", value)).wait().unwrap();
        assert_eq!(write(1), Some(()));
        clock.advance(ms(101));
        assert_eq!(write(2), None);
        assert_eq!(backend.run(cmd::get::<i64>(b"doc")).wait().unwrap(), Some(1));
        // Errors of the command are the caller's.
        let other = granted(s.ask(b"b", lease(100)).wait().unwrap());
        let wrong = other.guarded(&cmd::hget::<i64>(b"doc", b"f")).wait().unwrap_err();
        assert_eq!(wrong.code(), Some("WRONGTYPE"));
    }
}

each_backend! {
    fn cancel_leaves_the_queue_and_gives_up_a_permit(backend, _clock) {
        let s = semaphore(backend, 1);
        granted(s.ask(b"a", lease(1_000)).wait().unwrap());
        waiting(s.ask(b"b", lease(1_000)).wait().unwrap());
        waiting(s.ask(b"c", lease(1_000)).wait().unwrap());
        assert!(s.cancel(b"b").wait().unwrap());
        assert!(!s.cancel(b"b").wait().unwrap());
        assert_eq!(waiting(s.ask(b"c", lease(1_000)).wait().unwrap()).ahead, 0);
        assert!(s.cancel(b"a").wait().unwrap());
        granted(s.ask(b"c", lease(1_000)).wait().unwrap());
    }
}

each_backend! {
    fn nothing_stays_behind_but_the_counters(backend, clock) {
        let s = semaphore(backend, 2);
        for id in [&b"a"[..], b"b", b"c", b"d"] {
            s.ask(id, lease(500)).wait().unwrap();
        }
        assert!(s.try_acquire(lease(500)).wait().unwrap().is_none());
        clock.advance(ms(64_000));
        let (_, keys) = backend.run(cmd::scan(0, 100)).wait().unwrap();
        assert_eq!(keys, ["semaphore:s:meta"]);
        let mut both = [(); 2].map(|()| s.try_acquire(lease(500)).wait().unwrap().unwrap());
        assert!(s.try_acquire(lease(500)).wait().unwrap().is_none());
        assert_eq!(both.each_ref().map(Held::fence), [3, 4]);
        for held in &mut both {
            assert!(held.release().wait().unwrap());
        }
        let (_, keys) = backend.run(cmd::scan(0, 100)).wait().unwrap();
        assert_eq!(keys, ["semaphore:s:meta"]);
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let new = |name: &[u8], limit| Semaphore::new(backend.clone(), &Keys::new(), name, limit);
        assert_invalid(new(b"", 1), "name");
        assert_invalid(new(&[b'x'; MAX_ID + 1], 1), "name");
        assert_invalid(new(b"s", 0), "limit 0");
        assert_invalid(new(b"s", 1_000_001), "limit 1000001");
        assert_invalid(Lease::of(Duration::ZERO), "lease");
        assert_invalid(Lease::of(Duration::MAX), "lease");
        let s = semaphore(backend, 1);
        assert_invalid(s.clone().with_keep(Duration::ZERO), "keep");
        assert_invalid(s.clone().with_keep(Duration::MAX), "keep");
        assert_invalid(s.clone().with_poll(Duration::ZERO), "poll");
        assert_invalid(s.ask(b"", lease(100)).wait(), "id");
        assert_invalid(s.cancel(&[b'x'; MAX_ID + 1]).wait(), "id");
        assert_invalid(FairLock::new(backend.clone(), &Keys::new(), b""), "name");
        assert_eq!(backend.stats().commands, 0);
        for id in hostile_ids() {
            let s = new(&id, 1).unwrap();
            let mut held = granted(s.ask(&id, lease(1_000)).wait().unwrap());
            assert!(held.refresh().wait().unwrap() && held.release().wait().unwrap());
        }
    }
}

#[test]
fn acquire_waits_in_virtual_time_and_gives_up_when_patience_ends() {
    let (backend, env) = memory();
    let s = semaphore(&backend, 1);
    let mut a = s.acquire(lease(60_000), Patience::NONE).wait().unwrap();
    let mut b = Box::pin(s.acquire(lease(1_000), Patience::of(ms(5_000))));
    assert!(pass(&env, ms(4_000), b.as_mut()).is_pending());
    assert_eq!(s.count().wait().unwrap(), (1, 1));
    let error = match pass(&env, ms(2_000), b.as_mut()) {
        std::task::Poll::Ready(result) => result.unwrap_err(),
        std::task::Poll::Pending => panic!("its patience is over"),
    };
    assert_eq!(error.kind(), ErrorKind::GaveUp);
    assert_eq!(s.count().wait().unwrap(), (1, 0));
    let mut c = Box::pin(s.acquire(lease(1_000), Patience::of(ms(5_000))));
    assert!(pass(&env, ms(1_000), c.as_mut()).is_pending());
    a.release().wait().unwrap();
    // Within one poll.
    assert!(pass(&env, ms(100), c.as_mut()).is_ready());
}

#[test]
fn renewal_keeps_it_held_and_never_comes_after_the_release() {
    let (backend, env) = memory();
    let s = semaphore(&backend, 1);
    let mut held = granted(s.ask(b"a", lease(900)).wait().unwrap());
    let daemon = Daemon::new("renewal", backend.clone(), held.renewal());
    let control = daemon.control();
    let mut run = Box::pin(daemon.run());
    assert!(pass(&env, ms(10_000), run.as_mut()).is_pending());
    assert!(held.is_held());
    assert_eq!(control.report().done, 34);
    held.release().wait().unwrap();
    let trips = backend.stats().round_trips;
    assert!(pass(&env, ms(10_000), run.as_mut()).is_pending());
    assert_eq!(backend.stats().round_trips, trips);
    control.stop();
    assert!(pass(&env, ms(1), run.as_mut()).is_ready());
    assert_eq!(s.count().wait().unwrap(), (0, 0));
}

/// Whatever reply is lost, asking again gives the same state and answer, or says "unknown".
#[test]
fn a_lost_reply_at_any_step_changes_nothing_but_the_knowledge() {
    for lost in 0..6 {
        let (backend, _) = memory();
        let sent = std::sync::Arc::new(AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&sent);
        let shaky = Interposed::new(backend.clone(), move |step| {
            let is_send = matches!(step, Step::Send(_));
            let n = if is_send { count.fetch_add(1, Ordering::Relaxed) } else { usize::MAX };
            if n == lost { Fate::LoseReply } else { Fate::Pass }
        });
        let s = semaphore(&shaky, 1);
        let ask = |id: &[u8]| again(|| s.ask(id, lease(1_000)).wait());
        let mut a = granted(ask(b"a"));
        waiting(ask(b"b"));
        assert!(again(|| a.refresh().wait()));
        let released = match a.release().wait() {
            Ok(released) => Ok(released),
            Err(error) if error.is_unknown() => a.release().wait(),
            Err(error) => panic!("{error}"),
        };
        assert!(released.unwrap_or_else(|error| error.is_unknown()), "{lost}");
        let b = granted(ask(b"b"));
        assert_eq!((a.fence(), b.fence()), (1, 2), "{lost}");
        again(|| s.cancel(b"b").wait());
        assert_eq!(s.count().wait().unwrap(), (0, 0), "{lost}");
        assert!(sent.load(Ordering::Relaxed) > lost);
    }
}

#[track_caller]
fn again<T>(mut call: impl FnMut() -> stockroom::Result<T>) -> T {
    match call() {
        Err(error) if error.is_unknown() => call().unwrap(),
        other => other.unwrap(),
    }
}

/// 64 tasks want one of 5 permits; holders are counted inside.
fn sixty_four_tasks<B: Backend>(backend: &B) {
    let s = semaphore(backend, 5).with_poll(ms(2)).unwrap();
    let (inside, most, served) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let patience = Patience::of(Duration::from_secs(120));
                let mut held = s.acquire(lease(60_000), patience).wait().unwrap();
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                thread::sleep(ms(2));
                inside.fetch_sub(1, Ordering::SeqCst);
                assert!(held.is_held() && held.release().wait().unwrap());
                served.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(served.into_inner(), 64);
    let most = most.into_inner();
    assert!(most <= 5, "{most} at a time");
    assert!(most > 1, "never two at a time: nothing was tested");
}

#[test]
fn sixty_four_tasks_are_never_more_than_five_at_a_time_on_the_engine() {
    sixty_four_tasks(&Memory::new());
}

#[cfg(feature = "redis")]
#[test]
fn sixty_four_tasks_are_never_more_than_five_at_a_time_on_redis() {
    use stockroom::backend::Redis;
    let Some(server) = crate::support::real_redis(crate::bed::START) else { return };
    let redis = Redis::connect(&format!("redis://{}", server.addr())).wait().unwrap();
    sixty_four_tasks(&redis);
}

each_backend! {
    fn the_published_ones_let_too_many_in(backend, clock) {
        let keys = Keys::new();
        let second = Duration::from_secs(1);
        // By time: b read its clock first and wrote last, with a smaller id at the same time.
        let by_time =
            published::TimestampSemaphore::new(backend.clone(), &keys, b"t", 1, second).unwrap();
        let now = backend.now().as_secs_f64();
        assert!(by_time.acquire_at(b"b", now).wait().unwrap());
        assert!(by_time.acquire_at(b"a", now).wait().unwrap());
        assert!(by_time.release(b"a").wait().unwrap() && by_time.release(b"b").wait().unwrap());
        // By counter: numbers in one order, ranks in the other.
        let fair =
            published::CounterSemaphore::new(backend.clone(), &keys, b"f", 1, second).unwrap();
        let a = fair.take_ticket().wait().unwrap();
        let b = fair.take_ticket().wait().unwrap();
        assert!(fair.enter(b"b", b).wait().unwrap());
        assert!(fair.enter(b"a", a).wait().unwrap());
        // And both hear that all is well.
        assert!(fair.refresh(b"a").wait().unwrap() && fair.refresh(b"b").wait().unwrap());
        assert!(fair.release(b"a").wait().unwrap() && fair.release(b"b").wait().unwrap());
        // A refresh that is repeated revives what was lost.
        assert!(fair.acquire(b"a").wait().unwrap());
        clock.advance(second + ms(1));
        assert!(fair.acquire(b"b").wait().unwrap());
        backend.run(cmd::zadd(b"sem:f", backend.now(), b"a")).wait().unwrap(); // reply lost
        assert!(fair.refresh(b"a").wait().unwrap());
    }
}

each_backend! {
    fn the_guarded_one_keeps_its_limit_unless_a_client_is_paused(backend, _clock) {
        let second = Duration::from_secs(1);
        let guarded = published::GuardedSemaphore::new(
            backend.clone(), &Keys::new(), b"g", 2, second, lease(1_000),
        ).unwrap();
        assert!(guarded.acquire(b"a").wait().unwrap());
        assert!(guarded.acquire(b"b").wait().unwrap());
        assert!(!guarded.acquire(b"c").wait().unwrap());
        assert!(guarded.refresh(b"a").wait().unwrap());
        assert!(guarded.release(b"a").wait().unwrap());
        assert!(guarded.acquire(b"c").wait().unwrap());
    }
}
