//! The queues of those who wait, without commands.

use std::sync::atomic::AtomicU32;
use std::task::Wake;

use super::*;
use crate::db::{Access, DATABASES, Expire, Kind, SHARDS, Scope};
use crate::types::{List, Zset};

const FIRST: Want = Want::Element(End::First);

fn lock<'k>(keyspace: &'k Keyspace, keys: &[&[u8]]) -> Db<'k> {
    keyspace.lock(Scope::of(keys.iter().map(|key| (*key, Access::Write))), 0, 0)
}

fn wait(keyspace: &Keyspace, keys: &[&[u8]], want: Want, deadline_ms: Option<i64>) -> Arc<Waiter> {
    lock(keyspace, keys).wait(keys, want, deadline_ms)
}

fn list() -> Object {
    let mut list = List::default();
    list.push_back(b"x");
    list.wrap()
}

/// Two keys whose shards differ.
fn apart() -> (&'static [u8], &'static [u8]) {
    let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
    let other = keys.into_iter().find(|key| locate(key).0 != locate(keys[0]).0);
    (keys[0], other.expect("some of four lie apart"))
}

#[test]
fn clients_are_claimed_in_order_of_arrival_and_once() {
    let keyspace = Keyspace::new();
    let waiters: Vec<_> = (0..3).map(|_| wait(&keyspace, &[b"k"], FIRST, None)).collect();
    let other = wait(&keyspace, &[b"k"], Want::Member(End::First), None);
    let mut db = lock(&keyspace, &[b"k"]);
    let key = Bytes::from("k");
    let mut last = None;
    for waiter in &waiters {
        let claimed = db.claim(&key, Awaited::List, last.as_deref()).expect("one more");
        assert!(Arc::ptr_eq(&claimed, waiter));
        assert!(!db.end_wait(&claimed, Value::NilArray), "a claim wins");
        db.serve(&claimed, Value::OK);
        last = Some(claimed);
    }
    assert!(db.claim(&key, Awaited::List, last.as_deref()).is_none());
    assert!(db.claim(&key, Awaited::List, None).is_none());
    assert_eq!(keyspace.blocked(), 1);
    assert!(db.withdraw(&other).is_none());
    drop(db);
    assert!(waiters.iter().all(|w| w.poll(Waker::noop()) == Some(Value::OK)));
    assert!(waiters.iter().all(|w| w.poll(Waker::noop()).is_none()), "read once");
    assert_eq!((keyspace.blocked(), keyspace.waiting_entries()), (0, 0));
}

#[test]
fn who_is_served_under_one_key_leaves_the_others_when_it_withdraws() {
    let keyspace = Keyspace::new();
    let (a, b) = apart();
    let waiter = wait(&keyspace, &[a, b, a], FIRST, Some(5));
    assert_eq!((keyspace.waiting_entries(), keyspace.blocked_with_deadline()), (2, 1));
    let mut db = lock(&keyspace, &[a]);
    let claimed = db.claim(&Bytes::copy_from(a), Awaited::List, None).expect("it waits");
    db.serve(&claimed, Value::OK);
    drop(db);
    assert_eq!((keyspace.blocked(), keyspace.blocked_with_deadline()), (0, 0));
    // Its entry under the other key means nothing.
    let mut db = lock(&keyspace, &[b]);
    assert!(waiter.is_registered());
    assert!(db.claim(&Bytes::copy_from(b), Awaited::List, None).is_none());
    db.set(b, list(), Expire::Clear);
    assert!(!db.has_ready());
    drop(db);
    assert_eq!(lock(&keyspace, &[a, b]).withdraw(&waiter), Some(Value::OK));
    assert!(!waiter.is_registered());
    assert_eq!(keyspace.waiting_entries(), 0);
}

#[test]
fn keys_become_ready_in_the_order_of_their_birth_and_once() {
    let keyspace = Keyspace::new();
    let _waiter = wait(&keyspace, &[b"a", b"b", b"c"], FIRST, None);
    let mut db = lock(&keyspace, &[b"a", b"b", b"c", b"d"]);
    for key in [b"c", b"a", b"d", b"b"] {
        db.set(key, list(), Expire::Clear);
    }
    db.delete(b"c");
    db.set(b"c", list(), Expire::Clear);
    let mut ready = Vec::new();
    while let Some((0, key)) = db.next_ready() {
        ready.push(key.to_text());
    }
    assert_eq!(ready, ["c", "a", "b"]);
}

#[test]
fn only_the_birth_of_an_awaited_type_makes_ready() {
    let keyspace = Keyspace::new();
    let _waiter = wait(&keyspace, &[b"k"], FIRST, None);
    let mut db = lock(&keyspace, &[b"k"]);
    let mut zset = Zset::default();
    zset.insert(b"m", 1.0, &db.limits());
    db.set(b"k", zset.clone().wrap(), Expire::Clear);
    assert!(!db.has_ready(), "nobody waits for a sorted set");
    db.set(b"k", list(), Expire::Clear);
    assert!(!db.has_ready(), "it replaces a value");
    db.delete(b"k");
    db.set(b"k", crate::types::Str::new(b"x").wrap(), Expire::Clear);
    assert!(!db.has_ready(), "nobody can wait for a string");
    db.delete(b"k");
    db.set(b"k", list(), Expire::Clear);
    assert!(db.has_ready());
}

#[test]
fn swapped_databases_are_looked_through() {
    let keyspace = Keyspace::new();
    let _waiter = wait(&keyspace, &[b"a", b"b"], FIRST, None);
    let mut db = keyspace.lock(Scope::all(Access::Write), 1, 0);
    db.set(b"b", list(), Expire::Clear);
    db.set(b"c", list(), Expire::Clear);
    assert!(!db.has_ready());
    db.swap(0, 1);
    assert_eq!(db.next_ready(), Some((0, Bytes::from("b"))));
    assert_eq!(db.next_ready(), None);
    assert_eq!(db.index(), 1);
    const { assert!(DATABASES > 1) };
}

#[test]
fn who_would_push_elsewhere_makes_writers_lock_all() {
    let keyspace = Keyspace::new();
    let (a, b) = apart();
    let moves = Want::Move { from: End::First, target: Bytes::copy_from(b), to: End::Last };
    let waiter = wait(&keyspace, &[a], moves, None);
    assert_eq!(lock(&keyspace, &[a]).locks.len(), SHARDS);
    assert_eq!(lock(&keyspace, &[a, b]).locks.len(), SHARDS);
    assert_eq!(lock(&keyspace, &[b]).locks.len(), 1);
    assert_eq!(keyspace.lock(Scope::of([(a, Access::Read)]), 0, 0).locks.len(), 1);
    lock(&keyspace, &[a]).withdraw(&waiter);
    assert_eq!(lock(&keyspace, &[a]).locks.len(), 1);
}

/// Notes at which turn it was woken.
struct Turn(Arc<AtomicU32>, AtomicU32);

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.1.store(self.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    }
}

#[test]
fn waits_end_in_the_order_of_deadline_then_arrival() {
    let keyspace = Keyspace::new();
    let turns = Arc::new(AtomicU32::new(0));
    let waiters: Vec<_> = [Some(30), Some(10), None, Some(20), Some(10), Some(40)]
        .into_iter()
        .map(|deadline_ms| {
            let waiter = wait(&keyspace, &[b"k"], FIRST, deadline_ms);
            let turn = Arc::new(Turn(Arc::clone(&turns), AtomicU32::new(0)));
            assert!(waiter.poll(&Waker::from(Arc::clone(&turn))).is_none());
            (waiter, turn)
        })
        .collect();
    let woken = || waiters.iter().map(|(_, t)| t.1.load(Ordering::SeqCst)).collect::<Vec<_>>();
    keyspace.time_out(10, &mut Wakers::default());
    assert_eq!(woken(), [0; 6], "a deadline is still waited through");
    keyspace.time_out(39, &mut Wakers::default());
    assert_eq!(woken(), [4, 1, 0, 3, 2, 0]);
    assert_eq!((keyspace.blocked(), keyspace.blocked_with_deadline()), (2, 1));
    assert_eq!(waiters[1].0.poll(Waker::noop()), Some(Value::NilArray));
}
