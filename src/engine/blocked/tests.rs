//! Waits of the engine that only a process can have: given up, woken by hand, from many threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use super::*;
use crate::env::Env;
use crate::{Bytes, Engine};

type Words<'a> = Vec<&'a [u8]>;

fn words(line: &str) -> Words<'_> {
    line.split(' ').map(str::as_bytes).collect()
}

fn call(session: &mut Session, line: &str) -> Value {
    match session.start(&words(line)) {
        Started::Ready(reply) => reply,
        Started::Blocked(_) => panic!("{line} waits"),
    }
}

fn blocked<'s>(session: &'s mut Session, line: &str) -> Blocked<'s> {
    match session.start(&words(line)) {
        Started::Ready(reply) => panic!("{line} answers {reply:?} at once"),
        Started::Blocked(blocked) => blocked,
    }
}

fn poll(blocked: &mut Blocked<'_>) -> Poll<Value> {
    Pin::new(blocked).poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_wait_given_up_leaves_no_waiter_and_gets_nothing() {
    let engine = Engine::with_env(Env::manual(Timestamp::from_secs(1), 0));
    let (mut a, mut b) = (engine.session(), engine.session());
    for line in ["BLPOP x y z 0", "BLMOVE x y LEFT LEFT 5", "BZMPOP 1 2 x y MIN"] {
        let mut wait = blocked(&mut a, line);
        assert!(poll(&mut wait).is_pending());
        assert!(engine.waiting_entries() > 0);
        drop(wait);
        assert_eq!(engine.waiting_entries(), 0, "{line}");
        assert_eq!(engine.env().next_wake(), None, "{line}");
    }
    call(&mut b, "RPUSH x 1");
    assert_eq!(call(&mut b, "LLEN x"), Value::Int(1));
    assert_eq!(call(&mut a, "LPOP x"), Value::bulk("1"), "its session goes on");
}

#[test]
fn a_wait_given_up_after_it_was_served_loses_nothing() {
    for (wait, push, look, whole) in [
        ("BLPOP k 0", "RPUSH k 1 2 3", "LRANGE k 0 -1", vec!["1", "2", "3"]),
        ("BRPOP j k 0", "RPUSH k 1 2 3", "LRANGE k 0 -1", vec!["1", "2", "3"]),
        ("BLMPOP 0 1 k LEFT COUNT 2", "RPUSH k 1 2 3", "LRANGE k 0 -1", vec!["1", "2", "3"]),
        ("BLMPOP 0 1 k RIGHT COUNT 9", "RPUSH k 1 2 3", "LRANGE k 0 -1", vec!["1", "2", "3"]),
        ("BZPOPMIN k 0", "ZADD k 1 a 2 b", "ZRANGE k 0 -1", vec!["a", "b"]),
        ("BZPOPMAX k 0", "ZADD k 1 a 2 b", "ZRANGE k 0 -1", vec!["a", "b"]),
        ("BZMPOP 0 1 k MAX COUNT 9", "ZADD k 1 a 2 b", "ZRANGE k 0 -1", vec!["a", "b"]),
        // What was moved is where it was moved to.
        ("BLMOVE k d LEFT LEFT 0", "RPUSH k 1", "LRANGE d 0 -1", vec!["1"]),
    ] {
        let engine = Engine::new();
        let (mut a, mut b) = (engine.session(), engine.session());
        let waits = blocked(&mut a, wait);
        call(&mut b, push);
        drop(waits);
        assert_eq!(call(&mut b, look), Value::bulks(whole), "{wait}");
        assert_eq!(engine.waiting_entries(), 0, "{wait}");
        engine.check_invariants();
    }
}

#[test]
fn what_goes_back_goes_to_the_next_who_waits() {
    let engine = Engine::new();
    let (mut a, mut b, mut c, mut boss) =
        (engine.session(), engine.session(), engine.session(), engine.session());
    let first = blocked(&mut a, "BLPOP k 0");
    let mut second = blocked(&mut b, "BLMOVE k d LEFT LEFT 0");
    let mut third = blocked(&mut c, "BLPOP d 0");
    call(&mut boss, "RPUSH k x");
    assert!(poll(&mut second).is_pending());
    drop(first);
    assert_eq!(poll(&mut second), Poll::Ready(Value::bulk("x")));
    assert_eq!(poll(&mut third), Poll::Ready(Value::bulks(["d", "x"])));
}

#[test]
fn what_was_overwritten_meanwhile_does_not_come_back() {
    let engine = Engine::new();
    let (mut a, mut b) = (engine.session(), engine.session());
    let waits = blocked(&mut a, "BLPOP k 0");
    call(&mut b, "RPUSH k x");
    call(&mut b, "SET k y");
    drop(waits);
    assert_eq!(call(&mut b, "GET k"), Value::bulk("y"));
    let waits = blocked(&mut a, "BZPOPMIN z 0");
    call(&mut b, "ZADD z 1 m");
    call(&mut b, "ZADD z 7 m");
    drop(waits);
    assert_eq!(call(&mut b, "ZSCORE z m"), Value::Double(7.0));
}

#[test]
fn a_waker_is_called_once_when_the_reply_is_there() {
    let engine = Engine::with_env(Env::manual(Timestamp::from_secs(1), 0));
    let (mut a, mut b) = (engine.session(), engine.session());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut wait = blocked(&mut a, "BLPOP k 5");
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
    engine.env().advance(Duration::from_secs(5));
    call(&mut b, "RPUSH j 1");
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    call(&mut b, "RPUSH k 1");
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert_eq!(poll(&mut wait), Poll::Ready(Value::bulks(["k", "1"])));
    assert_eq!(engine.env().next_wake(), None);
}

#[test]
fn a_deadline_is_on_the_clock_wherever_that_is_put() {
    let env = Env::manual(Timestamp::from_secs(100), 0);
    let engine = Engine::with_env(env.clone());
    let mut a = engine.session();
    let mut wait = blocked(&mut a, "BLPOP k 5");
    assert!(poll(&mut wait).is_pending());
    assert_eq!(env.next_wake(), Some(Timestamp::from_millis(105_001)));
    env.set(Timestamp::from_secs(1));
    assert!(poll(&mut wait).is_pending());
    env.set(Timestamp::from_secs(105));
    assert!(poll(&mut wait).is_pending());
    env.set(Timestamp::from_millis(105_001));
    assert_eq!(poll(&mut wait), Poll::Ready(Value::NilArray));
    assert_eq!(env.next_wake(), None);
}

#[test]
fn a_thread_waits_for_a_clock_that_another_moves() {
    let env = Env::manual(Timestamp::from_secs(100), 0);
    let engine = Engine::with_env(env.clone());
    let mut session = engine.session();
    let waits = thread::spawn(move || session.call(&[b"BRPOP", b"k", b"60"]));
    while env.next_wake().is_none() {
        thread::yield_now();
    }
    env.advance(Duration::from_secs(61));
    assert_eq!(waits.join().unwrap(), Value::NilArray);
}

#[test]
fn who_is_killed_stops_waiting() {
    let engine = Engine::new();
    let (mut a, mut b) = (engine.session(), engine.session());
    let id = a.id();
    let mut wait = blocked(&mut a, "BLPOP k 0");
    assert!(poll(&mut wait).is_pending());
    call(&mut b, &format!("CLIENT KILL ID {id}"));
    call(&mut b, "RPUSH k x");
    assert!(matches!(poll(&mut wait), Poll::Ready(Value::Error(_))));
    assert!(a.is_closing());
    assert_eq!(call(&mut b, "LPOP k"), Value::bulk("x"));
    assert_eq!(engine.waiting_entries(), 0);
}

#[test]
fn without_a_session_of_its_own_a_command_does_not_wait() {
    let engine = Engine::new();
    let reply = engine.run(&blocking::BLPOP, &[b"BLPOP", b"k", b"0"]);
    assert_eq!(reply, Value::NilArray);
    assert_eq!(engine.waiting_entries(), 0);
}

/// Pops with `line` until a `stop` comes, giving up now and then, and counts what it gets.
fn consume(engine: &Engine, line: &str, patience: u64, taken: &AtomicU64) -> Vec<Bytes> {
    let mut session = engine.session();
    let mut got = Vec::new();
    let mut round = engine.session().id();
    loop {
        round = round.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut wait = match session.start(&words(line)) {
            Started::Ready(reply) => Err(reply),
            Started::Blocked(wait) => Ok(wait),
        };
        let reply = match &mut wait {
            Err(reply) => reply.clone(),
            Ok(blocked) if patience > 0 && (round >> 33).is_multiple_of(2) => {
                // A few looks, then it gives up, whether it has been served or not.
                let looks = (round >> 40) % patience;
                let mut found = None;
                for _ in 0..looks {
                    if let Poll::Ready(reply) = poll(blocked) {
                        found = Some(reply);
                        break;
                    }
                    thread::yield_now();
                }
                let Some(reply) = found else { continue };
                reply
            }
            Ok(blocked) => crate::env::wait(blocked),
        };
        let Value::Array(items) = reply else { panic!("{line}: {reply:?}") };
        let Some(Value::Bulk(element)) = items.get(1).cloned() else { panic!("{items:?}") };
        if &*element == b"stop" {
            return got;
        }
        taken.fetch_add(1, Ordering::Relaxed);
        got.push(element);
    }
}

/// Producers push numbers to a few lists, alone and in transactions; consumers of several lists
/// take them.
fn deliver(patience: u64) {
    const PRODUCERS: usize = 3;
    const CONSUMERS: usize = 5;
    const EACH: usize = 2_000;
    let engine = Engine::new();
    let taken = AtomicU64::new(0);
    let got = thread::scope(|scope| {
        let (engine, taken) = (&engine, &taken);
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|n| {
                let line = ["BLPOP a b 0", "BRPOP b c a 0", "BLPOP c 0", "BRPOP a 0"][n % 4];
                // The last ones read all there is, so that nothing is left over.
                let line = if n == CONSUMERS - 1 { "BLPOP c b a 0" } else { line };
                scope.spawn(move || consume(engine, line, patience, taken))
            })
            .collect();
        for producer in 0..PRODUCERS {
            scope.spawn(move || {
                let mut session = engine.session();
                for n in 0..EACH / 2 {
                    let (x, y) = (producer * EACH + 2 * n, producer * EACH + 2 * n + 1);
                    let keys = ["a", "b", "c"];
                    let (one, other) = (keys[n % 3], keys[(n + producer) % 3]);
                    if n % 4 == 0 {
                        call(&mut session, "MULTI");
                        call(&mut session, &format!("RPUSH {one} {x}"));
                        call(&mut session, &format!("LPUSH {other} {y}"));
                        call(&mut session, "EXEC");
                    } else {
                        call(&mut session, &format!("RPUSH {one} {x} {y}"));
                    }
                }
            });
        }
        while taken.load(Ordering::Relaxed) < (PRODUCERS * EACH) as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        // One for each, where it looks.
        let mut session = engine.session();
        for key in ["c", "a", "b", "a"] {
            call(&mut session, &format!("RPUSH {key} stop"));
        }
        let stopped = AtomicBool::new(false);
        while !stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
            stopped.store(consumers.iter().all(ScopedJoinHandle::is_finished), Ordering::Relaxed);
            if engine.shared.keyspace.blocked() > 0 {
                ["a", "b", "c"].iter().for_each(|k| {
                    call(&mut session, &format!("RPUSH {k} stop"));
                });
            }
        }
        let all = consumers.into_iter().flat_map(|consumer| consumer.join().unwrap());
        all.collect::<Vec<_>>()
    });
    let mut times = BTreeMap::new();
    got.into_iter().for_each(|element| *times.entry(element).or_insert(0) += 1);
    assert_eq!(times.len(), PRODUCERS * EACH, "every element is delivered");
    assert!(times.values().all(|times| *times == 1), "and once");
    assert_eq!((engine.waiting_entries(), engine.shared.keyspace.blocked()), (0, 0));
    engine.check_invariants();
}

#[test]
fn many_threads_deliver_every_element_once() {
    deliver(0);
}

#[test]
fn many_threads_that_give_up_deliver_every_element_once() {
    deliver(40);
}

#[test]
fn a_ring_of_movers_never_loses_what_it_passes_on() {
    const PLACES: usize = 4;
    const ROUNDS: usize = 300;
    let engine = Engine::new();
    thread::scope(|scope| {
        for place in 0..PLACES {
            let mut session = engine.session();
            let line = format!("BLMOVE r{place} r{} LEFT RIGHT 0", (place + 1) % PLACES);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    assert!(matches!(session.call(&words(&line)), Value::Bulk(_)));
                }
            });
        }
        let mut session = engine.session();
        call(&mut session, "RPUSH r0 a b");
        call(&mut session, "RPUSH r2 c");
    });
    let mut session = engine.session();
    let lens = (0..PLACES).map(|place| match call(&mut session, &format!("LLEN r{place}")) {
        Value::Int(n) => n,
        other => panic!("{other:?}"),
    });
    assert_eq!(lens.sum::<i64>(), 3);
    assert_eq!(engine.waiting_entries(), 0);
}
