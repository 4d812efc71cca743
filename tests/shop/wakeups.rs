//! Who waits for a lock or a permit is woken when it is given up. The clock stands in these tests:
//! a waiter that only polled would wait for ever.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use stockroom::Stopwatch;
use stockroom::backend::{Backend, Cmd, Wait};
use stockroom::commands::pubsub::PUBSUB_NUMSUB;
use stockroom::shop::{FairLock, Held, Keys, Lease, Lock, Patience, Semaphore};

use crate::bed::each_backend;

const LEASE: Duration = Duration::from_secs(600);

fn lease() -> Lease {
    Lease::of(LEASE).expect("a good lease")
}

fn patience() -> Patience {
    Patience::of(LEASE)
}

/// Runs what gives a holding in a thread of its own.
fn waits<B: Backend>(
    acquire: impl FnOnce() -> stockroom::Result<Held<B>> + Send + 'static,
) -> Receiver<Held<B>> {
    let (to, from) = channel();
    thread::spawn(move || to.send(acquire().expect("it is given up in the end")));
    from
}

#[track_caller]
fn woken<B: Backend>(waiter: &Receiver<Held<B>>) -> Held<B> {
    waiter.recv_timeout(Duration::from_secs(20)).expect("nobody has woken it")
}

/// Waits until so many clients at least listen to a channel: on a server all that wait share one
/// connection, and so are told apart by what they wait for.
fn until_heard<B: Backend>(backend: &B, key: &[u8], waiting: impl Fn() -> bool) {
    let watch = Stopwatch::start();
    let listeners = || {
        let asked: Cmd<'_, (Vec<u8>, u64)> = Cmd::new(&PUBSUB_NUMSUB).arg(key);
        backend.run(asked).wait().expect("an answer").1
    };
    while listeners() == 0 || !waiting() {
        assert!(watch.elapsed() < Duration::from_secs(20), "nobody listens");
        thread::sleep(Duration::from_millis(1));
    }
    // The last to come has asked, and is about to listen.
    thread::sleep(Duration::from_millis(20));
}

each_backend! {
    fn a_lock_that_is_given_up_wakes_who_waits_for_it(backend, _clock) {
        let keys = Keys::new();
        let lock = Lock::new(backend.clone(), &keys, b"l").unwrap();
        let mut held = lock.try_acquire(lease()).wait().unwrap().unwrap();
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                waits(move || lock.acquire(lease(), patience()).wait())
            })
            .collect();
        until_heard(backend, &keys.lock(b"l"), || true);
        assert!(held.release().wait().unwrap());
        // One after the other, in some order.
        let mut left: Vec<_> = waiters.iter().collect();
        let watch = Stopwatch::start();
        while !left.is_empty() {
            assert!(watch.elapsed() < Duration::from_secs(20), "{} sleep on", left.len());
            left.retain(|waiter| match waiter.try_recv() {
                Ok(mut held) => {
                    thread::sleep(Duration::from_millis(20));
                    !held.release().wait().unwrap()
                }
                Err(_) => true,
            });
        }
    }
}

each_backend! {
    fn a_permit_that_is_given_up_wakes_the_next_in_line(backend, _clock) {
        let keys = Keys::new();
        let lock = FairLock::new(backend.clone(), &keys, b"f").unwrap();
        let mut held = lock.try_acquire(lease()).wait().unwrap().unwrap();
        let waiters: Vec<_> = (0..3_u64)
            .map(|n| {
                let waiting = lock.clone();
                let id = format!("w{n}");
                let waiter =
                    waits(move || waiting.acquire_as(id.as_bytes(), lease(), patience()).wait());
                let channel = &keys.fair_lock(b"f")[0];
                until_heard(backend, channel, || lock.count().wait().unwrap() == (1, n + 1));
                waiter
            })
            .collect();
        for waiter in &waiters {
            assert!(held.release().wait().unwrap());
            held = woken(waiter);
        }
    }
}

each_backend! {
    fn permits_given_up_at_once_wake_as_many(backend, _clock) {
        let keys = Keys::new();
        let s = Semaphore::new(backend.clone(), &keys, b"s", 3).unwrap();
        let take = || s.try_acquire(lease()).wait().unwrap().unwrap();
        let mut held = [take(), take(), take()];
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let waiting = s.clone();
                waits(move || waiting.acquire(lease(), patience()).wait())
            })
            .collect();
        until_heard(backend, &keys.semaphore(b"s")[0], || s.count().wait().unwrap() == (3, 3));
        held.iter_mut().for_each(|held| assert!(held.release().wait().unwrap()));
        waiters.iter().for_each(|waiter| drop(woken(waiter)));
        // One who leaves the queue lets the next have what is free.
        assert_eq!(s.count().wait().unwrap(), (3, 0));
    }
}

each_backend! {
    fn who_leaves_the_queue_wakes_the_next(backend, _clock) {
        let keys = Keys::new();
        let s = Semaphore::new(backend.clone(), &keys, b"s", 1).unwrap();
        let mut held = s.try_acquire(lease()).wait().unwrap().unwrap();
        // The first in the queue does not ask any more, and so cannot be woken.
        assert!(matches!(
            s.ask(b"silent", lease()).wait().unwrap(),
            stockroom::shop::semaphore::Asked::Waiting(_)
        ));
        let waiting = s.clone();
        let waiter = waits(move || waiting.acquire(lease(), patience()).wait());
        until_heard(backend, &keys.semaphore(b"s")[0], || s.count().wait().unwrap() == (1, 2));
        assert!(held.release().wait().unwrap());
        assert!(waiter.try_recv().is_err());
        assert!(s.cancel(b"silent").wait().unwrap());
        woken(&waiter);
    }
}

each_backend! {
    fn a_waiter_whose_connection_is_lost_listens_again(backend, _clock) {
        let keys = Keys::new();
        let lock = Lock::new(backend.clone(), &keys, b"l").unwrap();
        let mut held = lock.try_acquire(lease()).wait().unwrap().unwrap();
        let waiting = lock.clone();
        let waiter = waits(move || waiting.acquire(lease(), patience()).wait());
        let key = keys.lock(b"l");
        until_heard(backend, &key, || true);
        let kill = Cmd::<i64>::new(&stockroom::commands::connection::CLIENT_KILL);
        assert_eq!(backend.run(kill.arg("TYPE").arg("pubsub")).wait().unwrap(), 1);
        until_heard(backend, &key, || true);
        assert!(held.release().wait().unwrap());
        woken(&waiter);
    }
}
