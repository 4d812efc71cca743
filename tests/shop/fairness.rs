//! Fairness and safety of the fair lock and the semaphore, over random arrivals, releases, deaths
//! and clocks, step by step in virtual time; and the same run on the published semaphores, which
//! must fail it.
//!
//! The model beside it knows what the server must: who holds until when, who waits since when and
//! until when its place is kept. A step of a client must be answered exactly as the model says, so
//! no permit is given past a live waiter, none beyond the limit, and none is withheld.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRng, TestRunner};
use stockroom::backend::{Backend, Wait};
use stockroom::shop::semaphore::{Asked, published};
use stockroom::shop::{FairLock, Held, Keys, Lease, Semaphore};

use crate::bed::{Clock, START, memory};
use crate::interpose::Interposed;

const CLIENTS: usize = 5;
const LEASE_MS: i64 = 400;
const KEEP_MS: i64 = 150;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// A client does its next step towards a permit.
    Step(usize),
    /// It gives up what it holds.
    Release(usize),
    /// It renews what it holds.
    Refresh(usize),
    /// It leaves the queue.
    Cancel(usize),
    /// It dies where it stands, and comes back later as somebody new.
    Die(usize),
    /// Time passes, in milliseconds.
    Pass(u64),
}

fn acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..CLIENTS).prop_map(Act::Step),
        3 => (0..CLIENTS).prop_map(Act::Release),
        1 => (0..CLIENTS).prop_map(Act::Refresh),
        1 => (0..CLIENTS).prop_map(Act::Cancel),
        1 => (0..CLIENTS).prop_map(Act::Die),
        2 => prop_oneof![1..60_u64, Just(KEEP_MS as u64), Just(KEEP_MS as u64 + 1),
                         Just(LEASE_MS as u64), Just(LEASE_MS as u64 + 1)].prop_map(Act::Pass),
    ];
    vec(act, 1..most)
}

fn clocks() -> impl Strategy<Value = Vec<i64>> {
    vec(prop_oneof![Just(0), -3_600_000..3_600_000_i64, -50..50_i64], CLIENTS)
}

/// What the server must know.
struct Model {
    limit: usize,
    now: i64,
    /// Id → end of its lease.
    holders: BTreeMap<u64, i64>,
    /// Ticket → id and until when its place is kept.
    queue: BTreeMap<u64, (u64, i64)>,
    tickets: u64,
    fence: u64,
}

impl Model {
    fn new(limit: usize) -> Self {
        let (holders, queue) = (BTreeMap::new(), BTreeMap::new());
        Self { limit, now: 0, holders, queue, tickets: 0, fence: 0 }
    }

    fn forget_the_dead(&mut self) {
        let now = self.now;
        self.holders.retain(|_, end| *end >= now);
        self.queue.retain(|_, (_, end)| *end >= now);
    }

    /// Whether `id` gets a permit now, or its place.
    fn ask(&mut self, id: u64) -> Result<(), usize> {
        self.forget_the_dead();
        if self.holders.contains_key(&id) {
            return Ok(());
        }
        let own = self.queue.iter().find(|(_, (other, _))| *other == id).map(|(t, _)| *t);
        let ticket = own.unwrap_or_else(|| {
            self.tickets += 1;
            self.tickets
        });
        self.queue.insert(ticket, (id, self.now + KEEP_MS));
        let ahead = self.queue.range(..ticket).count();
        if ahead < self.limit.saturating_sub(self.holders.len()) {
            self.queue.remove(&ticket);
            self.holders.insert(id, self.now + LEASE_MS);
            return Ok(());
        }
        Err(ahead)
    }

    fn leave(&mut self, id: u64) {
        self.holders.remove(&id);
        self.queue.retain(|_, (other, _)| *other != id);
    }
}

/// A client of ours: its id changes when it dies, releases or leaves.
struct Client<B> {
    semaphore: Semaphore<B>,
    id: u64,
    held: Option<Held<B>>,
}

fn check(holds: bool, what: impl Fn() -> String) -> Result<(), TestCaseError> {
    if holds { Ok(()) } else { Err(TestCaseError::fail(what())) }
}

/// One request, answered as the model says.
fn step<B: Backend>(
    at: usize,
    client: &mut Client<B>,
    model: &mut Model,
    lease: Lease,
) -> Result<(), TestCaseError> {
    let asked = client.semaphore.ask(client.id.to_string().as_bytes(), lease).wait().unwrap();
    model.forget_the_dead();
    let new = !model.holders.contains_key(&client.id);
    match (asked, model.ask(client.id)) {
        (Asked::Granted(held), Ok(())) => {
            check(held.fence() > model.fence || !new, || format!("{at}: fence"))?;
            model.fence = model.fence.max(held.fence());
            client.held = Some(held);
        }
        (Asked::Waiting(place), Err(ahead)) => {
            client.held = None;
            check(place.ahead == ahead as u64, || format!("{at}: {place:?} {ahead}"))?;
        }
        (Asked::Granted(_), model) => {
            return Err(TestCaseError::fail(format!("{at}: granted, by the model {model:?}")));
        }
        (Asked::Waiting(place), Ok(())) => {
            return Err(TestCaseError::fail(format!("{at}: withheld, {place:?}")));
        }
    }
    Ok(())
}

/// Runs `acts` on the semaphore and on the model.
fn ours<B: Backend>(
    clients: Vec<Semaphore<Interposed<B>>>,
    limit: usize,
    clock: &Clock<'_>,
    acts: &[Act],
) -> Result<(), TestCaseError> {
    let lease = Lease::of(Duration::from_millis(LEASE_MS as u64)).unwrap();
    let mut model = Model::new(limit);
    let mut ids = 0..;
    let mut next_id = || ids.next().expect("endless");
    let mut clients: Vec<Client<_>> = clients
        .into_iter()
        .map(|semaphore| Client { semaphore, id: next_id(), held: None })
        .collect();
    for (at, act) in acts.iter().enumerate() {
        match *act {
            Act::Step(n) => step(at, &mut clients[n], &mut model, lease)?,
            Act::Release(n) => {
                let client = &mut clients[n];
                if let Some(mut held) = client.held.take() {
                    let released = held.release().wait().unwrap();
                    model.forget_the_dead();
                    let held = model.holders.contains_key(&client.id);
                    check(released == held, || format!("{at}: released {released}"))?;
                    model.leave(client.id);
                    client.id = next_id();
                }
            }
            Act::Refresh(n) => {
                let client = &clients[n];
                if let Some(held) = &client.held {
                    let refreshed = held.refresh().wait().unwrap();
                    model.forget_the_dead();
                    let end = model.now + LEASE_MS;
                    let known = model.holders.get_mut(&client.id).map(|e| *e = end).is_some();
                    check(refreshed == known, || format!("{at}: refreshed {refreshed}"))?;
                }
            }
            Act::Cancel(n) => {
                let client = &mut clients[n];
                client.semaphore.cancel(client.id.to_string().as_bytes()).wait().unwrap();
                model.leave(client.id);
                client.held = None;
                client.id = next_id();
            }
            Act::Die(n) => {
                clients[n].held = None;
                clients[n].id = next_id();
            }
            Act::Pass(ms) => {
                clock.advance(Duration::from_millis(ms));
                model.now += ms as i64;
            }
        }
        let believe = clients.iter().filter(|c| c.held.as_ref().is_some_and(Held::is_held)).count();
        check(believe <= limit, || format!("{at}: {believe} hold {limit}"))?;
    }
    drained(&clients[0].semaphore, limit, clock, lease)
}

/// Once all is over, every permit can be had again, and no more than those.
fn drained<B: Backend>(
    semaphore: &Semaphore<B>,
    limit: usize,
    clock: &Clock<'_>,
    lease: Lease,
) -> Result<(), TestCaseError> {
    clock.advance(Duration::from_millis((LEASE_MS.max(KEEP_MS) + 1) as u64));
    for n in 0..=limit {
        let held = semaphore.try_acquire(lease).wait().unwrap();
        check(held.is_some() == (n < limit), || format!("after the end, permit {n}"))?;
    }
    Ok(())
}

fn each_with<B: Backend>(
    backend: &B,
    fast_ms: &[i64],
    limit: usize,
) -> Vec<Semaphore<Interposed<B>>> {
    let keep = Duration::from_millis(KEEP_MS as u64);
    let client = |fast: &i64| {
        let backend = Interposed::with_clock(backend.clone(), *fast);
        let semaphore = if limit == 1 {
            (*FairLock::new(backend, &Keys::new(), b"f").unwrap()).clone()
        } else {
            Semaphore::new(backend, &Keys::new(), b"s", limit as u32).unwrap()
        };
        semaphore.with_keep(keep).unwrap()
    };
    fast_ms.iter().map(client).collect()
}

proptest! {
    #![proptest_config(Config::with_cases(400))]

    #[test]
    fn live_waiters_are_served_in_order_of_arrival_and_no_permit_is_lost_or_doubled(
        acts in acts(80), fast_ms in clocks(), limit in 1..4_usize,
    ) {
        let (backend, env) = memory();
        ours(each_with(&backend, &fast_ms, limit), limit, &Clock::new(env, None), &acts)?;
    }
}

#[cfg(feature = "redis")]
#[test]
fn live_waiters_are_served_in_order_of_arrival_on_redis_too() {
    let Some(server) = crate::support::real_redis(START) else { return };
    let mut runner = TestRunner::new(Config::with_cases(40));
    let run = runner.run(&(acts(60), clocks(), 1..4_usize), |(acts, fast_ms, limit)| {
        let (redis, env) = crate::bed::redis(&server);
        let clock = Clock::new(env, Some(&server));
        clock.set(START);
        redis
            .run(stockroom::backend::Cmd::<()>::new(&stockroom::commands::server::FLUSHALL))
            .wait()
            .unwrap();
        ours(each_with(&redis, &fast_ms, limit), limit, &clock, &acts)
    });
    run.unwrap();
}

/// A published semaphore, step by step.
trait Published {
    /// The next step of client `n` towards a permit: `None` if more are to come.
    fn step(&mut self, n: usize) -> Option<bool>;
    fn release(&mut self, n: usize);
}

struct ByTime<B> {
    clients: Vec<published::TimestampSemaphore<Interposed<B>>>,
    backends: Vec<Interposed<B>>,
    read: Vec<Option<f64>>,
}

impl<B: Backend> Published for ByTime<B> {
    fn step(&mut self, n: usize) -> Option<bool> {
        let Some(now) = self.read[n].take() else {
            self.read[n] = Some(self.backends[n].now().as_secs_f64());
            return None;
        };
        Some(self.clients[n].acquire_at(&[b'a' + n as u8], now).wait().unwrap())
    }

    fn release(&mut self, n: usize) {
        self.clients[n].release(&[b'a' + n as u8]).wait().unwrap();
    }
}

struct ByCounter<B> {
    clients: Vec<published::CounterSemaphore<Interposed<B>>>,
    tickets: Vec<Option<i64>>,
}

impl<B: Backend> Published for ByCounter<B> {
    fn step(&mut self, n: usize) -> Option<bool> {
        let Some(ticket) = self.tickets[n].take() else {
            self.tickets[n] = Some(self.clients[n].take_ticket().wait().unwrap());
            return None;
        };
        Some(self.clients[n].enter(&[b'a' + n as u8], ticket).wait().unwrap())
    }

    fn release(&mut self, n: usize) {
        self.clients[n].release(&[b'a' + n as u8]).wait().unwrap();
    }
}

fn by_time(fast_ms: &[i64]) -> impl Published + use<> {
    let (backend, _) = memory();
    let backends: Vec<_> =
        fast_ms.iter().map(|fast| Interposed::with_clock(backend.clone(), *fast)).collect();
    let timeout = Duration::from_secs(10);
    let new = |b: &Interposed<_>| {
        published::TimestampSemaphore::new(b.clone(), &Keys::new(), b"t", 1, timeout).unwrap()
    };
    ByTime {
        clients: backends.iter().map(new).collect(),
        read: vec![None; backends.len()],
        backends,
    }
}

fn by_counter(fast_ms: &[i64]) -> impl Published + use<> {
    let (backend, _) = memory();
    let timeout = Duration::from_secs(10);
    let new = |fast: &i64| {
        let backend = Interposed::with_clock(backend.clone(), *fast);
        published::CounterSemaphore::new(backend, &Keys::new(), b"c", 1, timeout).unwrap()
    };
    ByCounter { clients: fast_ms.iter().map(new).collect(), tickets: vec![None; fast_ms.len()] }
}

/// The same run on a published semaphore with one permit; it fails when two hold it.
fn theirs(mut semaphore: impl Published, acts: &[Act]) -> Result<(), TestCaseError> {
    let mut holds = [false; CLIENTS];
    for (at, act) in acts.iter().enumerate() {
        match *act {
            Act::Step(n) if !holds[n] => holds[n] = semaphore.step(n).unwrap_or(false),
            Act::Release(n) if holds[n] => {
                semaphore.release(n);
                holds[n] = false;
            }
            _ => {}
        }
        let now = holds.iter().filter(|holds| **holds).count();
        check(now <= 1, || format!("{at}: {now} hold one permit"))?;
    }
    Ok(())
}

/// Looks for a violation among random runs, always the same ones, and shrinks it.
fn violation<P: Published>(clocks: i64, subject: impl Fn(&[i64]) -> P) -> Vec<Act> {
    let rng = TestRng::deterministic_rng(Config::default().rng_algorithm);
    let config = Config { max_shrink_iters: 100_000, ..Config::with_cases(5_000) };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let fast_ms = vec(-clocks..=clocks, CLIENTS);
    let run = runner.run(&(acts(60), fast_ms), |(acts, fast_ms)| theirs(subject(&fast_ms), &acts));
    let Err(TestError::Fail(_, (mut acts, fast_ms))) = run else {
        panic!("no violation: {run:?}");
    };
    // And without every act that is not needed for it.
    let mut at = 0;
    while at < acts.len() {
        let mut fewer = acts.clone();
        fewer.remove(at);
        if theirs(subject(&fast_ms), &fewer).is_err() {
            acts = fewer;
            at = 0;
        } else {
            at += 1;
        }
    }
    acts
}

#[test]
fn the_published_semaphores_fail_the_same_run_with_equal_clocks() {
    assert_eq!(violation(0, by_time).len(), 4);
    assert_eq!(violation(0, by_counter).len(), 4);
}

/// What the search above has found and shrunk.
#[test]
fn two_clients_that_cross_hold_one_permit_of_the_published_semaphores() {
    let crossed = [Act::Step(0), Act::Step(1), Act::Step(1), Act::Step(0)];
    assert!(theirs(by_time(&[0; CLIENTS]), &crossed).is_err());
    assert!(theirs(by_counter(&[0; CLIENTS]), &crossed).is_err());
    // One after the other they do not: it is the crossing.
    let apart = [Act::Step(0), Act::Step(0), Act::Step(1), Act::Step(1)];
    assert!(theirs(by_time(&[0; CLIENTS]), &apart).is_ok());
    assert!(theirs(by_counter(&[0; CLIENTS]), &apart).is_ok());
}

#[test]
fn a_slow_clock_takes_the_permit_of_the_timestamp_semaphore() {
    let apart = [Act::Step(0), Act::Step(0), Act::Step(1), Act::Step(1)];
    assert!(theirs(by_time(&[0, -1, 0, 0, 0]), &apart).is_err());
    // A fast one, by more than the timeout, ends it.
    assert!(theirs(by_time(&[0, 10_001, 0, 0, 0]), &apart).is_err());
}
