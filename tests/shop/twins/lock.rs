//! The twins of the lock's scripts.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stockroom::Bytes;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::resp::Value;
use stockroom::shop::{Held, Keys, Lease, Lock};

#[cfg(feature = "redis")]
use super::on_redis;
use super::view::{Kind, View, number};
use super::{Answer, Feature, OnHeld, numbers, on_engine};

pub(super) static FEATURE: Feature = Feature {
    source: include_str!("../../../src/shop/lock/script.rs"),
    kind: |at| if at < 2 { Kind::Text } else { Kind::Foreign },
    run,
};

const HOLDER: usize = 0;
const FENCE: usize = 1;

fn run(name: &str, view: &mut View, args: &[Bytes]) -> Answer {
    let id = &args[0];
    let own = view.get(HOLDER).as_ref() == Some(id);
    match name {
        "ACQUIRE" => acquire(view, id, number(&args[1]), args[2] == "1"),
        "RELEASE" => (own && view.del(HOLDER)).into(),
        "REFRESH" => (own && view.expire(HOLDER, number(&args[2]))).into(),
        "GUARDED" if own => {
            view.call(&args[2..]);
            Answer::Last
        }
        "GUARDED" => Answer::Now(Value::Array(Vec::new())),
        other => panic!("{other} has no twin"),
    }
}

fn acquire(view: &mut View, id: &Bytes, lease: i64, repair: bool) -> Answer {
    let Some(holder) = view.get(HOLDER) else {
        view.set_for(HOLDER, id, lease);
        let fence = view.incr(FENCE, 1);
        return numbers(&[1, fence, lease]);
    };
    if holder == *id {
        return numbers(&[1, view.number(FENCE), view.left(HOLDER)]);
    }
    if view.left(HOLDER) == -1 && repair {
        view.expire(HOLDER, lease);
    }
    numbers(&[0, 0, view.left(HOLDER)])
}

#[derive(Clone, Debug)]
enum Act {
    /// Who, for how long, with repair.
    Acquire(u8, u64, bool),
    /// With one of those granted so far.
    Held(usize, OnHeld),
    /// Somebody has left a lock without an end, or taken it away.
    Foreign(bool),
    Pass(u64),
}

impl super::Act for Act {
    fn time(&self) -> Option<Duration> {
        let Self::Pass(ms) = self else { return None };
        Some(Duration::from_millis(*ms))
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..3_u8, 10..200_u64, any::<bool>()).prop_map(|(w, ms, r)| Act::Acquire(w, ms, r)),
        7 => (any::<usize>(), OnHeld::any()).prop_map(|(which, act)| Act::Held(which, act)),
        1 => any::<bool>().prop_map(Act::Foreign),
        4 => prop_oneof![1..120_u64, Just(10), Just(11)].prop_map(Act::Pass),
    ];
    vec(act, 1..60)
}

struct World<B> {
    backend: B,
    granted: Vec<Held<B>>,
}

impl<B: Backend> World<B> {
    fn new(backend: B) -> Self {
        Self { backend, granted: Vec::new() }
    }

    fn act(&mut self, act: &Act) -> String {
        let lease = |ms| Lease::of(Duration::from_millis(ms)).unwrap();
        match *act {
            Act::Acquire(who, ms, repair) => {
                let lock = Lock::new(self.backend.clone(), &Keys::new(), b"l").unwrap();
                let lock = if repair { lock.with_repair() } else { lock };
                let held = lock.try_acquire_as(&[who], lease(ms)).wait().unwrap();
                let told = held.as_ref().map(|held| (held.fence(), held.left()));
                self.granted.extend(held);
                format!("{told:?}")
            }
            Act::Foreign(there) => {
                if there {
                    self.backend.run(cmd::set(b"lock:l", "foreign")).wait().unwrap();
                } else {
                    self.backend.run(cmd::del([b"lock:l"])).wait().unwrap();
                }
                String::new()
            }
            Act::Pass(_) => String::new(),
            Act::Held(which, ref act) => act.act(&mut self.granted, which),
        }
    }
}

#[test]
fn locks_and_their_twins_do_the_same() {
    on_engine!(World::new, acts());
}

#[cfg(feature = "redis")]
#[test]
fn locks_and_their_twins_do_the_same_on_redis() {
    on_redis!(World::new, acts());
}
