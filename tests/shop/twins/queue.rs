//! The twins of the scripts of the delayed queue, which the expiry queue runs too.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stockroom::Bytes;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::resp::Value;
use stockroom::shop::{DelayedQueue, ExpiryQueue, Keys};

#[cfg(feature = "redis")]
use super::on_redis;
use super::view::{Kind, View, number};
use super::{Answer, Feature, numbers, on_engine};

pub(super) static FEATURE: Feature = Feature {
    source: include_str!("../../../src/shop/delayed_queue/script.rs"),
    kind: |at| match at {
        DUE | FLIGHT | DEAD => Kind::Zset,
        0..=MINE => Kind::Hash,
        _ => Kind::Foreign,
    },
    run,
};

const DUE: usize = 0;
const QUEUED: usize = 1;
const FLIGHT: usize = 2;
const CLAIMS: usize = 3;
const TRIES: usize = 4;
const PAYLOADS: usize = 5;
const AGAIN: usize = 6;
const DEAD: usize = 7;
const META: usize = 8;
/// The tasks of the claim that a call is about.
const MINE: usize = 9;

/// For how long after its end a claim is remembered.
const REMEMBERED: i64 = 3_600_000;

fn run(name: &str, view: &mut View, args: &[Bytes]) -> Answer {
    let mut queue = Queue { view };
    match name {
        "ADD" => queue.add(number(&args[0]), (args[1] == "1").then_some(&args[2]), &args[3..]),
        "REMOVE" => args.iter().map(|id| i64::from(queue.remove(id))).sum::<i64>().into(),
        "CLAIM" => {
            let [most, visibility, tries, dead] = [1, 2, 3, 4].map(|at| number(&args[at]));
            queue.claim(&args[0], most as usize, visibility, (tries, dead))
        }
        "ACK" => {
            let ended: Vec<i64> =
                args[1..].iter().map(|id| queue.ack(&args[0], id).into()).collect();
            numbers(&ended)
        }
        "DELETE" => {
            let ids = args[1..].iter().enumerate();
            let each: Vec<[bool; 2]> =
                ids.map(|(n, id)| queue.delete(&args[0], id, MINE + 1 + n)).collect();
            numbers(&[0, 1].map(|at| each.iter().filter(|done| done[at]).count() as i64))
        }
        "GIVE_BACK" => {
            let (token, id) = (&args[0], &args[4]);
            if !queue.has(token, id) {
                return (queue.view.hget(MINE, id).is_some_and(|state| state == "b")).into();
            }
            let [delay, tries, dead] = [1, 2, 3].map(|at| number(&args[at]));
            queue.give_back(id, queue.view.now + delay, (tries, dead));
            queue.view.hset(MINE, id, b"b");
            true.into()
        }
        "EXTEND" => queue.extend(&args[0], number(&args[1]), &args[2]).into(),
        "REVIVE" => {
            let id = &args[1];
            let there = queue.view.zrem(DEAD, id);
            if there {
                queue.view.hdel(TRIES, id);
                queue.enqueue(id, queue.view.now + number(&args[0]));
            }
            there.into()
        }
        "COUNT" => queue.count(),
        other => panic!("{other} has no twin"),
    }
}

struct Queue<'v> {
    view: &'v mut View,
}

impl Queue<'_> {
    fn has(&mut self, token: &Bytes, id: &[u8]) -> bool {
        self.view.hget(CLAIMS, id).as_ref() == Some(token)
    }

    fn enqueue(&mut self, id: &[u8], at: i64) {
        let seq = format!("{:016x}", self.view.hincr(META, b"seq", 1));
        self.view.hset(QUEUED, id, seq.as_bytes());
        self.view.zadd(DUE, at, &[seq.as_bytes(), id].concat());
    }

    fn dequeue(&mut self, id: &[u8]) -> bool {
        let Some(seq) = self.view.hget(QUEUED, id) else { return false };
        self.view.hdel(QUEUED, id);
        self.view.zrem(DUE, &[&seq, id].concat())
    }

    fn land(&mut self, id: &[u8]) {
        self.view.zrem(FLIGHT, id);
        self.view.hdel(CLAIMS, id);
    }

    fn forget(&mut self, id: &[u8]) {
        self.view.hdel(TRIES, id);
        self.view.hdel(PAYLOADS, id);
    }

    /// Queues what was added while it was claimed.
    fn readded(&mut self, id: &[u8]) -> bool {
        let Some(entry) = self.view.hget(AGAIN, id) else { return false };
        self.view.hdel(AGAIN, id);
        self.forget(id);
        let colon = entry.iter().position(|b| *b == b':').expect("a time and a payload");
        let (at, payload) = (&entry[..colon], &entry[colon + 1..]);
        if payload[0] == b'1' {
            self.view.hset(PAYLOADS, id, &payload[1..]);
        }
        self.enqueue(id, number(at));
        true
    }

    /// Back into the queue, or to the dead letters.
    fn give_back(&mut self, id: &[u8], at: i64, (most_tries, most_dead): (i64, i64)) {
        self.land(id);
        if self.readded(id) {
            return;
        }
        if self.view.hget(TRIES, id).map_or(0, |tries| number(&tries)) < most_tries {
            return self.enqueue(id, at);
        }
        self.view.zadd(DEAD, self.view.now, id);
        let dead = self.view.zrange(DEAD);
        let too_many = dead.len().saturating_sub(most_dead as usize);
        for (old, _) in &dead[..too_many] {
            self.view.zrem(DEAD, old);
            self.forget(old);
        }
    }

    fn add(&mut self, delay: i64, payload: Option<&Bytes>, ids: &[Bytes]) -> Answer {
        let (mut new, at) = (0, self.view.now + delay);
        for id in ids {
            if self.view.hget(CLAIMS, id).is_some() {
                let has = if payload.is_some() { "1" } else { "0" };
                let entry = format!("{at}:{has}").into_bytes();
                let payload = payload.map_or(&b""[..], |payload| payload);
                self.view.hset(AGAIN, id, &[&entry, payload].concat());
                continue;
            }
            let (dead, queued) = (self.view.zrem(DEAD, id), self.dequeue(id));
            new += i64::from(!dead && !queued);
            self.forget(id);
            if let Some(payload) = payload {
                self.view.hset(PAYLOADS, id, payload);
            }
            self.enqueue(id, at);
        }
        new.into()
    }

    fn remove(&mut self, id: &[u8]) -> bool {
        let there = [self.dequeue(id), self.view.zrem(FLIGHT, id), self.view.zrem(DEAD, id)];
        self.view.hdel(CLAIMS, id);
        self.view.hdel(AGAIN, id);
        self.forget(id);
        there.contains(&true)
    }

    fn claim(&mut self, token: &Bytes, most: usize, visibility: i64, limits: (i64, i64)) -> Answer {
        let now = self.view.now;
        let known = self.view.hgetall(MINE);
        let mut own: Vec<Bytes> = Vec::new();
        if known.is_empty() {
            for (id, end) in self.view.before_now(FLIGHT).into_iter().take(100) {
                self.give_back(&id, end, limits);
            }
            let due = self.view.zrange(DUE).into_iter().filter(|(_, at)| *at <= now).take(most);
            for (member, _) in due {
                let id = Bytes::from(&member[16..]);
                self.view.zrem(DUE, &member);
                self.view.hdel(QUEUED, &id);
                self.view.zadd(FLIGHT, now + visibility, &id);
                self.view.hset(CLAIMS, &id, token);
                self.view.hincr(TRIES, &id, 1);
                self.view.hset(MINE, &id, b"c");
                own.push(id);
            }
            if !own.is_empty() {
                self.view.expire(MINE, visibility + REMEMBERED);
            }
        } else {
            own.extend(known.into_iter().map(|(id, _)| id).filter(|id| self.has(token, id)));
        }
        let task = |id: Bytes| {
            let tries = self.view.hget(TRIES, &id).map_or(0, |tries| number(&tries));
            let payload = self.view.hget(PAYLOADS, &id).map_or(Value::Nil, Value::Bulk);
            [Value::Bulk(id), Value::Int(tries), payload]
        };
        Answer::Now(Value::Array(own.into_iter().flat_map(task).collect()))
    }

    fn ack(&mut self, token: &Bytes, id: &[u8]) -> bool {
        if !self.has(token, id) {
            return self.view.hget(MINE, id).is_some_and(|state| state == "d");
        }
        self.land(id);
        if !self.readded(id) {
            self.forget(id);
        }
        self.view.hset(MINE, id, b"d");
        true
    }

    /// Whether the claim ended now, and whether the key was there to delete.
    fn delete(&mut self, token: &Bytes, id: &[u8], key: usize) -> [bool; 2] {
        if !self.has(token, id) {
            return [false; 2];
        }
        self.land(id);
        let again = self.readded(id);
        let mut deleted = false;
        if !again {
            self.forget(id);
            deleted = self.view.del(key);
        }
        self.view.hset(MINE, id, b"d");
        [true, deleted]
    }

    fn extend(&mut self, token: &Bytes, visibility: i64, id: &[u8]) -> bool {
        let now = self.view.now;
        let claimed = self.has(token, id);
        let lasts = claimed && self.view.zscore(FLIGHT, id).is_some_and(|end| end >= now);
        if lasts {
            self.view.zadd(FLIGHT, now + visibility, id);
            self.view.expire(MINE, visibility + REMEMBERED);
        }
        lasts
    }

    fn count(&mut self) -> Answer {
        let now = self.view.now;
        let due = self.view.zrange(DUE);
        let ready = due.iter().filter(|(_, at)| *at <= now).count() as i64;
        let next_due = due.first().map(|(_, at)| at - now);
        let next_back = self.view.zrange(FLIGHT).first().map(|(_, end)| end - now + 1);
        let next = next_due.into_iter().chain(next_back).map(|ms| ms.max(0)).min();
        let (later, claimed) = (due.len() as i64 - ready, self.view.zcard(FLIGHT));
        numbers(&[ready, later, claimed, self.view.zcard(DEAD), next.unwrap_or(-1)])
    }
}

#[derive(Clone, Debug)]
enum Act {
    Add(Vec<u8>, Option<u8>, u64),
    Remove(Vec<u8>),
    /// A token, and how many.
    Claim(u8, usize),
    Ack(u8, Vec<u8>),
    Delete(u8, Vec<u8>),
    GiveBack(u8, u8, u64),
    Extend(u8, u8),
    Revive(u8, u64),
    Counts,
    DeadLetters,
    /// The key that an id stands for is there.
    Key(u8),
    Pass(u64),
}

impl super::Act for Act {
    fn time(&self) -> Option<Duration> {
        let Self::Pass(ms) = self else { return None };
        Some(Duration::from_millis(*ms))
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let (id, token) = (|| 0..6_u8, || 0..4_u8);
    let ids = move || vec(id(), 1..4);
    let delay = || prop_oneof![Just(0), 0..80_u64];
    let payload = prop::option::of(any::<u8>());
    let act = prop_oneof![
        5 => (ids(), payload, delay()).prop_map(|(ids, p, d)| Act::Add(ids, p, d)),
        1 => ids().prop_map(Act::Remove),
        5 => (token(), 1..4_usize).prop_map(|(token, most)| Act::Claim(token, most)),
        3 => (token(), ids()).prop_map(|(token, ids)| Act::Ack(token, ids)),
        2 => (token(), ids()).prop_map(|(token, ids)| Act::Delete(token, ids)),
        2 => (token(), id(), delay()).prop_map(|(token, id, d)| Act::GiveBack(token, id, d)),
        1 => (token(), id()).prop_map(|(token, id)| Act::Extend(token, id)),
        1 => (id(), delay()).prop_map(|(id, d)| Act::Revive(id, d)),
        1 => Just(Act::Counts),
        1 => Just(Act::DeadLetters),
        1 => id().prop_map(Act::Key),
        // Now and then long enough for a claim to be forgotten.
        4 => prop_oneof![8 => 1..80_u64, 2 => 50..52_u64, 1 => Just(3_600_051)].prop_map(Act::Pass),
    ];
    vec(act, 1..60)
}

struct World<B> {
    backend: B,
    queue: DelayedQueue<B>,
}

impl<B: Backend> World<B> {
    /// A queue whose claims last 50 ms, with three tries and two dead letters.
    fn new(backend: B) -> Self {
        let queue = DelayedQueue::new(backend.clone(), &Keys::new(), b"q").unwrap();
        let queue = queue.with_visibility(Duration::from_millis(50)).unwrap();
        let queue = queue.with_most_tries(3).unwrap().with_dead_letters(2).unwrap();
        Self { backend, queue }
    }

    fn act(&mut self, act: &Act) -> String {
        let queue = &self.queue;
        let ms = Duration::from_millis;
        match act {
            Act::Add(ids, payload, delay) => {
                let ids: Vec<&[u8]> = ids.chunks(1).collect();
                let payload = payload.map(|payload| [payload]);
                let payload = payload.as_ref().map(|payload| &payload[..]);
                format!("{}", queue.add_all(&ids, payload, ms(*delay)).wait().unwrap())
            }
            Act::Remove(ids) => {
                let ids: Vec<&[u8]> = ids.chunks(1).collect();
                format!("{}", queue.remove_all(&ids).wait().unwrap())
            }
            Act::Claim(token, most) => {
                format!("{:?}", queue.claim_as(&[*token], *most).wait().unwrap().tasks)
            }
            Act::Ack(token, ids) => {
                let ids: Vec<&[u8]> = ids.chunks(1).collect();
                format!("{:?}", queue.ack_all(&[*token], &ids).wait().unwrap())
            }
            Act::Delete(token, ids) => {
                let ids: Vec<&[u8]> = ids.chunks(1).collect();
                let expiry = ExpiryQueue::on(queue.clone());
                format!("{:?}", expiry.delete(&[*token], &ids).wait().unwrap())
            }
            Act::GiveBack(token, id, delay) => {
                let given = queue.give_back(&[*token], &[*id], ms(*delay)).wait();
                format!("{}", given.unwrap())
            }
            Act::Extend(token, id) => {
                format!("{}", queue.extend(&[*token], &[*id]).wait().unwrap())
            }
            Act::Revive(id, delay) => {
                format!("{}", queue.revive(&[*id], ms(*delay)).wait().unwrap())
            }
            Act::Counts => format!("{:?}", queue.counts().wait().unwrap()),
            Act::DeadLetters => format!("{:?}", queue.dead_letters(9).wait().unwrap()),
            Act::Key(id) => {
                self.backend.run(cmd::set(&[*id], "there")).wait().unwrap();
                String::new()
            }
            Act::Pass(_) => String::new(),
        }
    }
}

#[test]
fn queues_and_their_twins_do_the_same() {
    on_engine!(World::new, acts());
}

#[cfg(feature = "redis")]
#[test]
fn queues_and_their_twins_do_the_same_on_redis() {
    on_redis!(World::new, acts());
}
