//! The twins of the scripts of the semaphore and the fair lock.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stockroom::Bytes;
use stockroom::backend::{Backend, Wait};
use stockroom::resp::Value;
use stockroom::shop::semaphore::Asked;
use stockroom::shop::{FairLock, Held, Keys, Lease, Semaphore};

#[cfg(feature = "redis")]
use super::on_redis;
use super::view::{Kind, View, number};
use super::{Answer, Feature, OnHeld, numbers, on_engine};

pub(super) static FEATURE: Feature = Feature {
    source: include_str!("../../../src/shop/semaphore/script.rs"),
    kind: |at| match at {
        HOLDERS | QUEUE | WAITS => Kind::Zset,
        GRANTS | META => Kind::Hash,
        _ => Kind::Foreign,
    },
    run,
};

const HOLDERS: usize = 0;
const QUEUE: usize = 1;
const WAITS: usize = 2;
const GRANTS: usize = 3;
const META: usize = 4;

/// How much longer than its content a key lives.
const SPARE: i64 = 60_000;

fn run(name: &str, view: &mut View, args: &[Bytes]) -> Answer {
    match name {
        "ACQUIRE" => return acquire(view, args),
        "CANCEL" => {
            view.zrem(WAITS, &args[0]);
            view.hdel(GRANTS, &args[0]);
            let waited = view.zrem(QUEUE, &args[0]);
            return (view.zrem(HOLDERS, &args[0]) || waited).into();
        }
        "COUNT" => {
            let lives = |view: &mut View, at| view.zcard(at) - view.before_now(at).len() as i64;
            return numbers(&[lives(view, HOLDERS), lives(view, WAITS)]);
        }
        _ => (),
    }
    let (id, fence) = (&args[0], &args[1]);
    let granted = view.hget(GRANTS, id).as_ref() == Some(fence);
    let held = granted && view.zscore(HOLDERS, id).is_some_and(|end| end >= view.now);
    match name {
        "RELEASE" => {
            if granted {
                view.hdel(GRANTS, id);
                view.zrem(HOLDERS, id);
            }
            held.into()
        }
        "REFRESH" => {
            if held {
                let lease = number(&args[2]);
                view.zadd(HOLDERS, view.now + lease, id);
                for at in [HOLDERS, GRANTS] {
                    view.keep(at, lease + SPARE);
                }
            }
            held.into()
        }
        "GUARDED" if held => {
            view.call(&args[2..]);
            Answer::Last
        }
        "GUARDED" => Answer::Now(Value::Array(Vec::new())),
        other => panic!("{other} has no twin"),
    }
}

fn acquire(view: &mut View, args: &[Bytes]) -> Answer {
    let id = &args[0];
    let [limit, lease, wait] = [1, 2, 3].map(|at| number(&args[at]));
    for (dead, _) in view.before_now(HOLDERS) {
        view.zrem(HOLDERS, &dead);
        view.hdel(GRANTS, &dead);
    }
    for (dead, _) in view.before_now(WAITS) {
        view.zrem(WAITS, &dead);
        view.zrem(QUEUE, &dead);
    }
    if let Some(fence) = view.hget(GRANTS, id) {
        let end = view.zscore(HOLDERS, id).expect("whoever has a grant holds");
        return numbers(&[1, number(&fence), end - view.now]);
    }
    if view.zscore(QUEUE, id).is_none() {
        let ticket = view.hincr(META, b"ticket", 1);
        view.zadd(QUEUE, ticket, id);
    }
    let ahead = view.zrange(QUEUE).iter().take_while(|(other, _)| other != id).count() as i64;
    if ahead < limit - view.zcard(HOLDERS) {
        view.zrem(QUEUE, id);
        view.zrem(WAITS, id);
        let fence = view.hincr(META, b"fence", 1);
        view.zadd(HOLDERS, view.now + lease, id);
        view.hset(GRANTS, id, fence.to_string().as_bytes());
        for at in [HOLDERS, GRANTS] {
            view.keep(at, lease + SPARE);
        }
        return numbers(&[1, fence, lease]);
    }
    // What can change by itself: the end of a lease, or of another's wait.
    let next_end = view.zrange(HOLDERS).first().map(|(_, end)| *end);
    let others = view.zrange(WAITS).into_iter().find(|(other, _)| other != id);
    let next_dead = others.map(|(_, end)| end).filter(|_| ahead > 0);
    let ends = next_end.into_iter().chain(next_dead).map(|end| end - view.now + 1);
    let hint = ends.fold(wait, i64::min);
    if args[4] == "1" {
        view.zrem(QUEUE, id);
        view.zrem(WAITS, id);
    } else {
        view.zadd(WAITS, view.now + wait, id);
        for at in [QUEUE, WAITS] {
            view.keep(at, wait + SPARE);
        }
    }
    numbers(&[0, ahead, hint])
}

#[derive(Clone, Debug)]
enum Act {
    /// Who asks, for how long.
    Ask(u8, u64),
    Try(u8, u64),
    Cancel(u8),
    Count,
    /// With one of those granted so far.
    Held(usize, OnHeld),
    Pass(u64),
}

impl super::Act for Act {
    fn time(&self) -> Option<Duration> {
        let Self::Pass(ms) = self else { return None };
        Some(Duration::from_millis(*ms))
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let lease = || prop_oneof![10..300_u64, Just(100_000)];
    let act = prop_oneof![
        6 => (0..6_u8, lease()).prop_map(|(who, ms)| Act::Ask(who, ms)),
        2 => (0..6_u8, lease()).prop_map(|(who, ms)| Act::Try(who, ms)),
        1 => (0..6_u8).prop_map(Act::Cancel),
        1 => Just(Act::Count),
        6 => (any::<usize>(), OnHeld::any()).prop_map(|(which, act)| Act::Held(which, act)),
        4 => prop_oneof![1..120_u64, Just(KEEP), Just(KEEP + 1), Just(61_000)].prop_map(Act::Pass),
    ];
    vec(act, 1..60)
}

/// For how long a place is kept, in ms.
const KEEP: u64 = 150;

struct World<B> {
    semaphore: Semaphore<B>,
    granted: Vec<Held<B>>,
}

impl<B: Backend> World<B> {
    /// A semaphore of two permits.
    fn new(backend: B) -> Self {
        let semaphore = Semaphore::new(backend, &Keys::new(), b"s", 2).unwrap();
        let semaphore = semaphore.with_keep(Duration::from_millis(KEEP)).unwrap();
        Self { semaphore, granted: Vec::new() }
    }

    fn act(&mut self, act: &Act) -> String {
        let lease = |ms| Lease::of(Duration::from_millis(ms)).unwrap();
        let tell = |held: &Held<B>| format!("{} {:?}", held.fence(), held.left());
        match *act {
            Act::Ask(who, ms) => match self.semaphore.ask(&[who], lease(ms)).wait().unwrap() {
                Asked::Waiting(place) => format!("{place:?}"),
                Asked::Granted(held) => {
                    let told = tell(&held);
                    self.granted.push(held);
                    told
                }
            },
            Act::Try(who, ms) => {
                let held = self.semaphore.try_acquire_as(&[who], lease(ms)).wait().unwrap();
                let told = held.as_ref().map(tell);
                self.granted.extend(held);
                format!("{told:?}")
            }
            Act::Cancel(who) => format!("{}", self.semaphore.cancel(&[who]).wait().unwrap()),
            Act::Count => format!("{:?}", self.semaphore.count().wait().unwrap()),
            Act::Pass(_) => String::new(),
            Act::Held(which, ref act) => act.act(&mut self.granted, which),
        }
    }
}

#[test]
fn semaphores_and_their_twins_do_the_same() {
    on_engine!(World::new, acts());
}

#[cfg(feature = "redis")]
#[test]
fn semaphores_and_their_twins_do_the_same_on_redis() {
    on_redis!(World::new, acts());
}

#[test]
fn fair_locks_and_their_twins_do_the_same() {
    on_engine!(fair_lock, acts());
}

#[cfg(feature = "redis")]
#[test]
fn fair_locks_and_their_twins_do_the_same_on_redis() {
    on_redis!(fair_lock, acts());
}

/// A fair lock, with the acts of a semaphore.
fn fair_lock<B: Backend>(backend: B) -> World<B> {
    let lock = FairLock::new(backend, &Keys::new(), b"f").unwrap();
    let semaphore = (*lock).clone().with_keep(Duration::from_millis(KEEP)).unwrap();
    World { semaphore, granted: Vec::new() }
}
