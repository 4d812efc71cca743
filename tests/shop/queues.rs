//! Delayed and expiry queues: nothing lost, nothing early, one owner at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::delayed_queue::Counts;
use stockroom::shop::{DelayedQueue, ExpiryQueue, Keys, MAX_ID};
use stockroom::{Bytes, Result};

use crate::bed::{Clock, assert_invalid, each_backend, hostile_ids, memory};
use crate::interpose::{Fate, Interposed, Step};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn queue<B: Backend>(backend: &B) -> DelayedQueue<B> {
    let queue = DelayedQueue::new(backend.clone(), &Keys::new(), b"q").unwrap();
    queue.with_visibility(ms(1_000)).unwrap()
}

fn claimed<B: Backend>(queue: &DelayedQueue<B>, token: &[u8], most: usize) -> Vec<Bytes> {
    let claim = queue.claim_as(token, most).wait().unwrap();
    claim.tasks.into_iter().map(|task| task.id).collect()
}

each_backend! {
    fn tasks_come_when_they_are_due_the_earliest_first(backend, clock) {
        let q = queue(backend);
        for (id, delay) in [(b"late", 30), (b"soon", 10), (b"zzzz", 20), (b"aaaa", 20)] {
            assert!(q.add(id, None, ms(delay)).wait().unwrap());
        }
        assert!(claimed(&q, b"t0", 10).is_empty());
        assert_eq!(q.counts().wait().unwrap().next, Some(ms(10)));
        clock.advance(ms(9));
        assert!(claimed(&q, b"t1", 10).is_empty());
        clock.advance(ms(1));
        assert_eq!(claimed(&q, b"t2", 10), ["soon"]);
        clock.advance(ms(20));
        // Of those due at the same time the first that was added.
        assert_eq!(claimed(&q, b"t3", 2), ["zzzz", "aaaa"]);
        assert_eq!(claimed(&q, b"t4", 10), ["late"]);
        let counts = q.counts().wait().unwrap();
        assert_eq!((counts.due, counts.later, counts.claimed), (0, 0, 4));
    }
}

each_backend! {
    fn a_claim_is_one_workers_until_it_ends(backend, clock) {
        let q = queue(backend);
        q.add(b"a", Some(b"payload"), Duration::ZERO).wait().unwrap();
        let first = q.claim_as(b"w1", 10).wait().unwrap();
        assert_eq!(first.tasks[0].payload.as_deref(), Some(&b"payload"[..]));
        assert!(claimed(&q, b"w2", 10).is_empty());
        clock.advance(ms(1_000));
        assert!(claimed(&q, b"w3", 10).is_empty());
        clock.advance(ms(1));
        // Overdue: another has it, and the first comes too late.
        let second = q.claim_as(b"w4", 10).wait().unwrap();
        assert_eq!((&*second.tasks[0].id, second.tasks[0].tries), (&b"a"[..], 2));
        assert!(!q.ack(b"w1", b"a").wait().unwrap());
        assert!(!q.extend(b"w1", b"a").wait().unwrap());
        assert!(!q.give_back(b"w1", b"a", ms(0)).wait().unwrap());
        assert!(q.extend(b"w4", b"a").wait().unwrap());
        assert!(q.ack(b"w4", b"a").wait().unwrap());
        assert_eq!(q.counts().wait().unwrap(), Counts::default());
    }
}

each_backend! {
    fn what_is_added_again_is_never_early_and_comes_once(backend, clock) {
        let q = queue(backend);
        assert!(q.add(b"a", Some(b"1"), ms(10)).wait().unwrap());
        assert!(!q.add(b"a", Some(b"2"), ms(50)).wait().unwrap());
        clock.advance(ms(10));
        assert!(claimed(&q, b"t1", 10).is_empty());
        clock.advance(ms(40));
        assert_eq!(claimed(&q, b"t2", 10), ["a"]);
        // While it is claimed: it comes again once that claim has ended.
        assert!(!q.add(b"a", Some(b"3"), ms(100)).wait().unwrap());
        clock.advance(ms(100));
        assert!(claimed(&q, b"t3", 10).is_empty());
        assert!(q.ack(b"t2", b"a").wait().unwrap());
        let again = q.claim_as(b"t4", 10).wait().unwrap();
        assert_eq!(again.tasks[0].payload.as_deref(), Some(&b"3"[..]));
        assert_eq!(again.tasks[0].tries, 1);
        // And at its own time if the claim is only overdue.
        q.add(b"a", None, ms(5_000)).wait().unwrap();
        clock.advance(ms(1_001));
        assert!(claimed(&q, b"t5", 10).is_empty());
        clock.advance(ms(3_999));
        assert_eq!(claimed(&q, b"t6", 10), ["a"]);
    }
}

each_backend! {
    fn what_fails_too_often_becomes_a_dead_letter(backend, clock) {
        let q = queue(backend).with_most_tries(2).unwrap().with_dead_letters(2).unwrap();
        for id in [b"a", b"b", b"c"] {
            q.add(id, Some(b"p"), Duration::ZERO).wait().unwrap();
            assert_eq!(claimed(&q, &[id[0], 1], 1).len(), 1);
            assert!(q.give_back(&[id[0], 1], id, ms(5)).wait().unwrap());
            assert!(claimed(&q, &[id[0], 2], 1).is_empty());
            clock.advance(ms(5));
            assert_eq!(claimed(&q, &[id[0], 3], 1).len(), 1);
            assert!(q.give_back(&[id[0], 3], id, ms(5)).wait().unwrap());
            clock.advance(ms(5));
            assert!(claimed(&q, &[id[0], 4], 1).is_empty());
        }
        let dead: Vec<Bytes> =
            q.dead_letters(10).wait().unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(dead, ["c", "b"]);
        assert!(q.revive(b"b", Duration::ZERO).wait().unwrap());
        assert!(!q.revive(b"b", Duration::ZERO).wait().unwrap());
        let task = q.claim(1).wait().unwrap().tasks.remove(0);
        assert_eq!((&*task.id, task.tries), (&b"b"[..], 1));
        assert_eq!(task.payload.as_deref(), Some(&b"p"[..]));
        assert!(q.remove(b"c").wait().unwrap() && !q.remove(b"a").wait().unwrap());
    }
}

each_backend! {
    fn what_is_removed_is_gone_for_its_worker_too(backend, _clock) {
        let q = queue(backend);
        q.add_all(&[b"a", b"b"], None, Duration::ZERO).wait().unwrap();
        assert_eq!(claimed(&q, b"w", 1), ["a"]);
        assert_eq!(q.remove_all(&[b"a", b"b", b"c"]).wait().unwrap(), 2);
        assert!(!q.ack(b"w", b"a").wait().unwrap());
        assert_eq!(q.counts().wait().unwrap(), Counts::default());
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let q = queue(backend);
        assert_invalid(DelayedQueue::new(backend.clone(), &Keys::new(), b""), "name");
        assert_invalid(q.add(b"", None, ms(1)).wait(), "id");
        assert_invalid(q.add(&[b'x'; MAX_ID + 1], None, ms(1)).wait(), "id");
        assert_invalid(q.add(b"a", None, Duration::MAX).wait(), "delay");
        assert_invalid(q.add(b"a", Some(&vec![0; 65_537]), ms(1)).wait(), "message");
        assert_invalid(q.add_all(&[&b"a"[..]; 1_001], None, ms(1)).wait(), "number of ids");
        assert_invalid(q.claim(0).wait(), "number of tasks");
        assert_invalid(q.claim(1_001).wait(), "number of tasks");
        assert_invalid(q.claim_as(b"", 1).wait(), "token");
        assert_invalid(q.ack(b"", b"a").wait(), "token");
        assert_invalid(q.give_back(b"t", b"a", Duration::MAX).wait(), "delay");
        assert_invalid(q.clone().with_visibility(Duration::ZERO), "visibility");
        assert_invalid(q.clone().with_most_tries(0), "tries");
        assert_invalid(q.clone().with_dead_letters(0), "dead letters");
        let expiry = ExpiryQueue::new(backend.clone(), &Keys::new()).unwrap();
        assert_invalid(expiry.start_with(0, 1, ms(1)).map(drop), "workers");
        assert_invalid(expiry.start_with(1, 0, ms(1)).map(drop), "batch");
        assert_eq!(backend.stats().commands, 0);
        for id in hostile_ids() {
            let q = DelayedQueue::new(backend.clone(), &Keys::new(), &id).unwrap();
            q.add(&id, Some(&id), Duration::ZERO).wait().unwrap();
            let claim = q.claim_as(&id, 1).wait().unwrap();
            let task = &claim.tasks[0];
            assert_eq!((&*task.id, task.payload.as_deref()), (&*id, Some(&*id)));
            assert!(q.ack(&id, &id).wait().unwrap());
        }
    }
}

/// Whatever reply is lost, doing it again gives the same state and answer.
#[test]
fn a_lost_reply_at_any_step_changes_nothing() {
    fn again<T>(mut call: impl FnMut() -> Result<T>) -> T {
        match call() {
            Err(error) if error.is_unknown() => call().unwrap(),
            other => other.unwrap(),
        }
    }
    for lost in 0..12 {
        let (backend, env) = memory();
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let shaky = Interposed::new(backend.clone(), move |step| {
            let n = match step {
                Step::Send(_) => count.fetch_add(1, Ordering::Relaxed),
                _ => usize::MAX,
            };
            if n == lost { Fate::LoseReply } else { Fate::Pass }
        });
        let q = queue(&shaky);
        again(|| q.add_all(&[b"a", b"b", b"c"], None, Duration::ZERO).wait());
        let claim = again(|| q.claim_as(b"t", 2).wait());
        let ids: Vec<_> = claim.tasks.iter().map(|task| (&*task.id, task.tries)).collect();
        assert_eq!(ids, [(&b"a"[..], 1), (b"b", 1)], "{lost}");
        assert!(again(|| q.extend(b"t", b"a").wait()), "{lost}");
        assert!(again(|| q.ack(b"t", b"a").wait()), "{lost}");
        assert!(again(|| q.give_back(b"t", b"b", ms(10)).wait()), "{lost}");
        env.advance(ms(10));
        let claim = again(|| q.claim_as(b"u", 2).wait());
        assert_eq!(claim.tasks.len(), 2, "{lost}");
        again(|| q.remove_all(&[b"b", b"c"]).wait());
        assert_eq!(q.counts().wait().unwrap(), Counts::default(), "{lost}");
        assert!(sent.load(Ordering::Relaxed) > 10);
    }
}

/// What a queue must do, in a few lines: id → state.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Queued { at: u64, seq: u64, tries: u32 },
    Claimed { until: u64, token: u64, tries: u32, again: Option<u64> },
    Dead,
}

#[derive(Clone, Debug)]
enum Act {
    Add(u8, u64),
    Remove(u8),
    Claim(usize),
    Ack(usize, u8),
    GiveBack(usize, u8, u64),
    Pass(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let id = 0..6_u8;
    let act = prop_oneof![
        4 => (id.clone(), 0..40_u64).prop_map(|(id, d)| Act::Add(id, d)),
        1 => id.clone().prop_map(Act::Remove),
        4 => (1..4_usize).prop_map(Act::Claim),
        3 => (0..8_usize, id.clone()).prop_map(|(t, id)| Act::Ack(t, id)),
        2 => (0..8_usize, id, 0..40_u64).prop_map(|(t, id, d)| Act::GiveBack(t, id, d)),
        3 => prop_oneof![1..30_u64, Just(100), Just(101)].prop_map(Act::Pass),
    ];
    vec(act, 1..60)
}

#[derive(Default)]
struct Model {
    now: u64,
    seq: u64,
    tasks: BTreeMap<u8, State>,
}

const TRIES: u32 = 3;

impl Model {
    fn enqueue(&mut self, id: u8, at: u64, tries: u32) {
        self.seq += 1;
        self.tasks.insert(id, State::Queued { at, seq: self.seq, tries });
    }

    fn add(&mut self, id: u8, delay: u64) -> bool {
        let at = self.now + delay;
        match self.tasks.get_mut(&id) {
            Some(State::Claimed { again, .. }) => {
                *again = Some(at);
                false
            }
            there => {
                let new = there.is_none();
                self.enqueue(id, at, 0);
                new
            }
        }
    }

    fn give_back(&mut self, id: u8, at: u64) {
        let Some(State::Claimed { tries, again, .. }) = self.tasks.get(&id).cloned() else {
            return;
        };
        match again {
            Some(again) => self.enqueue(id, again, 0),
            None if tries < TRIES => self.enqueue(id, at, tries),
            None => {
                self.tasks.insert(id, State::Dead);
            }
        }
    }

    fn claim(&mut self, token: u64, most: usize) -> Vec<u8> {
        let mut overdue: Vec<(u64, u8)> = self
            .tasks
            .iter()
            .filter_map(|(id, state)| match state {
                State::Claimed { until, .. } if *until < self.now => Some((*until, *id)),
                _ => None,
            })
            .collect();
        overdue.sort_unstable();
        for (until, id) in overdue {
            self.give_back(id, until);
        }
        let mut due: Vec<(u64, u64, u8, u32)> = self
            .tasks
            .iter()
            .filter_map(|(id, s)| match s {
                State::Queued { at, seq, tries } if *at <= self.now => {
                    Some((*at, *seq, *id, *tries))
                }
                _ => None,
            })
            .collect();
        due.sort_unstable();
        due.truncate(most);
        let until = self.now + 100;
        for (_, _, id, tries) in &due {
            let state = State::Claimed { until, token, tries: tries + 1, again: None };
            self.tasks.insert(*id, state);
        }
        due.into_iter().map(|(_, _, id, _)| id).collect()
    }

    fn has(&self, token: u64, id: u8) -> bool {
        matches!(self.tasks.get(&id), Some(State::Claimed { token: own, .. }) if *own == token)
    }
}

/// Runs `acts` on the queue and on the model; every answer must be the same.
fn as_the_model<B: Backend>(
    backend: &B,
    clock: &Clock<'_>,
    acts: &[Act],
) -> std::result::Result<(), TestCaseError> {
    let q = DelayedQueue::new(backend.clone(), &Keys::new(), b"q").unwrap();
    let q = q.with_visibility(ms(100)).unwrap().with_most_tries(TRIES).unwrap();
    let mut model = Model::default();
    let mut tokens = 0_u64;
    // What ended under which token: an acknowledgement made again gets the same answer.
    let mut ended: BTreeSet<(bool, u64, u8)> = BTreeSet::new();
    for act in acts {
        match *act {
            Act::Add(id, delay) => {
                let new = q.add(&[id], None, ms(delay)).wait().unwrap();
                prop_assert_eq!(new, model.add(id, delay));
            }
            Act::Remove(id) => {
                let removed = q.remove(&[id]).wait().unwrap();
                prop_assert_eq!(removed, model.tasks.remove(&id).is_some());
            }
            Act::Claim(most) => {
                tokens += 1;
                let ids = claimed(&q, &tokens.to_be_bytes(), most);
                let ids: Vec<u8> = ids.iter().map(|id| id[0]).collect();
                prop_assert_eq!(&ids, &model.claim(tokens, most));
            }
            Act::Ack(back, id) => {
                let token = tokens.saturating_sub(back as u64);
                let acked = q.ack(&token.to_be_bytes(), &[id]).wait().unwrap();
                let now = model.has(token, id);
                if now {
                    ended.insert((true, token, id));
                    let again = match model.tasks.remove(&id) {
                        Some(State::Claimed { again, .. }) => again,
                        _ => None,
                    };
                    again.into_iter().for_each(|at| model.enqueue(id, at, 0));
                }
                prop_assert_eq!(acked, now || ended.contains(&(true, token, id)));
            }
            Act::GiveBack(back, id, delay) => {
                let token = tokens.saturating_sub(back as u64);
                let given = q.give_back(&token.to_be_bytes(), &[id], ms(delay)).wait().unwrap();
                let now = model.has(token, id);
                if now {
                    ended.insert((false, token, id));
                    model.give_back(id, model.now + delay);
                }
                prop_assert_eq!(given, now || ended.contains(&(false, token, id)));
            }
            Act::Pass(d) => {
                clock.advance(ms(d));
                model.now += d;
            }
        }
    }
    let counts = q.counts().wait().unwrap();
    let count = |f: fn(&State) -> bool| model.tasks.values().filter(|s| f(s)).count() as u64;
    prop_assert_eq!(counts.due + counts.later, count(|s| matches!(s, State::Queued { .. })));
    prop_assert_eq!(counts.claimed, count(|s| matches!(s, State::Claimed { .. })));
    prop_assert_eq!(counts.dead, count(|s| matches!(s, State::Dead)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_queue_answers_as_its_model(acts in acts()) {
        let (backend, env) = memory();
        as_the_model(&backend, &Clock::new(env, None), &acts)?;
    }
}

#[cfg(feature = "redis")]
#[test]
fn a_queue_answers_as_its_model_on_redis_too() {
    use proptest::test_runner::TestRunner;
    use stockroom::backend::Cmd;
    use stockroom::commands::server::FLUSHALL;
    let Some(server) = crate::support::real_redis(crate::bed::START) else { return };
    let run = TestRunner::new(ProptestConfig::with_cases(30)).run(&acts(), |acts| {
        let (redis, env) = crate::bed::redis(&server);
        let clock = Clock::new(env, Some(&server));
        clock.set(crate::bed::START);
        redis.run(Cmd::<()>::new(&FLUSHALL)).wait().unwrap();
        as_the_model(&redis, &clock, &acts)
    });
    run.unwrap();
}

/// 8 workers drain a queue while some of them die with their claims.
fn drain<B: Backend>(backend: &B, tasks: u64) {
    let q = DelayedQueue::new(backend.clone(), &Keys::new(), b"d").unwrap();
    let q = q.with_visibility(ms(300)).unwrap().with_most_tries(1_000).unwrap();
    let ids: Vec<Vec<u8>> = (0..tasks).map(|n| n.to_string().into_bytes()).collect();
    for batch in ids.chunks(1_000) {
        let batch: Vec<&[u8]> = batch.iter().map(|id| &**id).collect();
        assert_eq!(q.add_all(&batch, None, Duration::ZERO).wait().unwrap(), batch.len() as u64);
    }
    let done = Mutex::new(BTreeSet::new());
    let (deaths, left) = (AtomicU64::new(0), AtomicU64::new(tasks));
    thread::scope(|scope| {
        for worker in 0..8_u64 {
            let (q, done, deaths, left) = (&q, &done, &deaths, &left);
            scope.spawn(move || {
                let mut dice = worker.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                while left.load(Ordering::SeqCst) > 0 {
                    let claim = q.claim(100).wait().unwrap();
                    if claim.tasks.is_empty() {
                        thread::sleep(ms(10));
                        continue;
                    }
                    dice ^= dice << 13;
                    dice ^= dice >> 7;
                    dice ^= dice << 17;
                    // Dies after its claim, or half-way through.
                    let dies = dice.is_multiple_of(10);
                    let lives = if dies { dice as usize / 10 % 100 } else { 100 };
                    deaths.fetch_add(u64::from(dies), Ordering::Relaxed);
                    let ids: Vec<&[u8]> =
                        claim.tasks.iter().take(lives).map(|task| &*task.id).collect();
                    let acked = q.ack_all(&claim.token, &ids).wait().unwrap();
                    let mut done = done.lock().unwrap();
                    for (id, _) in ids.iter().zip(acked).filter(|(_, acked)| *acked) {
                        assert!(done.insert(id.to_vec()), "{id:?} was ended twice");
                        left.fetch_sub(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(done.into_inner().unwrap().len() as u64, tasks);
    assert!(deaths.into_inner() > 10);
    assert_eq!(q.counts().wait().unwrap(), Counts::default());
}

#[test]
fn eight_workers_of_whom_some_die_end_each_of_100_000_tasks_once_on_the_engine() {
    drain(&Memory::new(), 100_000);
}

#[cfg(feature = "redis")]
#[test]
fn eight_workers_of_whom_some_die_end_each_of_100_000_tasks_once_on_redis() {
    use stockroom::backend::Redis;
    let Ok(server) = crate::support::RealRedis::start(&[]) else {
        assert!(crate::support::real_redis(crate::bed::START).is_none());
        return;
    };
    let redis = Redis::connect(&format!("redis://{}", server.addr())).wait().unwrap();
    drain(&redis, 100_000);
}

each_backend! {
    fn keys_are_deleted_when_their_time_has_come(backend, clock) {
        let queue = ExpiryQueue::new(backend.clone(), &Keys::new()).unwrap();
        for key in [b"a", b"b", b"c", b"d"] {
            backend.run(cmd::set(key, 1)).wait().unwrap();
            assert!(queue.add(key, ms(1_000)).wait().unwrap());
        }
        assert!(queue.remove(b"b").wait().unwrap());
        assert!(!queue.add(b"c", ms(2_000)).wait().unwrap());
        backend.run(cmd::del([b"d"])).wait().unwrap();
        clock.advance(ms(1_000));
        let step = queue.step(100).wait().unwrap();
        assert_eq!((step.ended, step.deleted, step.more), (2, 1, false));
        let left = [b"a", b"b", b"c"].map(|key| backend.run(cmd::exists(key)).wait().unwrap());
        assert_eq!(left, [false, true, true]);
        clock.advance(ms(1_000));
        assert_eq!(queue.step(100).wait().unwrap().deleted, 1);
        assert_eq!(queue.counts().wait().unwrap(), Counts::default());
    }
}

each_backend! {
    fn a_key_added_again_while_a_worker_has_it_is_not_deleted_early(backend, clock) {
        let queue = ExpiryQueue::new(backend.clone(), &Keys::new()).unwrap();
        backend.run(cmd::set(b"a", 1)).wait().unwrap();
        queue.add(b"a", Duration::ZERO).wait().unwrap();
        let claim = queue.queue().claim(1).wait().unwrap();
        queue.add(b"a", ms(5_000)).wait().unwrap();
        assert_eq!(queue.delete(&claim.token, &[b"a"]).wait().unwrap(), (1, 0));
        assert!(backend.run(cmd::exists(b"a")).wait().unwrap());
        clock.advance(ms(5_000));
        assert_eq!(queue.step(1).wait().unwrap().deleted, 1);
    }
}

#[test]
fn a_pool_of_workers_deletes_what_is_due_and_stops_cleanly() {
    let memory = Memory::new();
    let queue = ExpiryQueue::new(memory.clone(), &Keys::new()).unwrap();
    let keys: Vec<Vec<u8>> = (0..5_000).map(|n| format!("k{n}").into_bytes()).collect();
    for batch in keys.chunks(1_000) {
        let batch: Vec<&[u8]> = batch.iter().map(|key| &**key).collect();
        batch.iter().for_each(|key| memory.run(cmd::set(key, 1)).wait().unwrap());
        queue.add_all(&batch, ms(1)).wait().unwrap();
    }
    let pool = queue.start_with(10, 100, ms(5)).unwrap();
    while queue.counts().wait().unwrap() != Counts::default() {
        thread::sleep(ms(2));
    }
    let reports = pool.stop();
    assert_eq!(reports.iter().map(|report| report.done).sum::<u64>(), 5_000);
    assert!(reports.iter().all(|report| report.errors == 0));
}

/// The published take: a range, and then its removal by rank, with another worker between.
#[test]
fn the_published_take_loses_keys_when_two_workers_cross() {
    let (backend, _) = memory();
    let key = b"published";
    for (n, id) in [b"a", b"b", b"c", b"d"].into_iter().enumerate() {
        backend.run(cmd::zadd(key, n as i64, id)).wait().unwrap();
    }
    let look = || backend.run(cmd::zrange::<Bytes>(key, 0, 1)).wait().unwrap();
    let remove = || backend.run(cmd::zremrangebyrank(key, 0, 1)).wait().unwrap();
    let (first, second) = (look(), look());
    assert_eq!((remove(), remove()), (2, 2));
    // Both took a and b, and nobody ever sees c and d.
    assert_eq!(first, second);
    assert!(look().is_empty());
}
