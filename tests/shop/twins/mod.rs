//! Twins of scripts: each script of locks, semaphores, sales and queues once more, as a
//! transaction under WATCH, written anew against the script's contract.
//!
//! [`Twin`] is a backend that runs the twin wherever a script is asked for, so that a feature does
//! not know which it has. Both run the same random acts side by side; after each, the answers are
//! the same and so are all keys, their times to live included. The scripts are told apart by their
//! text in the sources, so one that is new has no twin and fails.
//!
//! Elsewhere: the twins that the shop itself has where there are no scripts, of the cleaner of
//! sessions and of what counts once.

mod lock;
mod queue;
mod sale;
mod semaphore;
mod view;

use std::future::Future;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use stockroom::backend::{
    Arg, Backend, Batch, Cmd, FromValue, Script, Session, Stats, Topic, Wait, cmd,
};
use stockroom::resp::Value;
use stockroom::shop::{Held, Lease};
use stockroom::{Bytes, Result, Timestamp};

use self::view::{Kind, View};
use crate::bed::Clock;
use crate::state::state;

/// What a twin answers.
enum Answer {
    Now(Value),
    /// The reply to the last command, in an array.
    Last,
}

impl From<i64> for Answer {
    fn from(n: i64) -> Self {
        Self::Now(n.into())
    }
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        Self::Now(Value::Int(yes.into()))
    }
}

fn numbers(numbers: &[i64]) -> Answer {
    Answer::Now(Value::Array(numbers.iter().map(|n| Value::Int(*n)).collect()))
}

/// The scripts of a feature.
struct Feature {
    /// The file that holds them.
    source: &'static str,
    kind: fn(usize) -> Kind,
    /// What the script of that name does.
    run: fn(&str, &mut View, &[Bytes]) -> Answer,
}

static FEATURES: [&Feature; 4] =
    [&lock::FEATURE, &semaphore::FEATURE, &sale::FEATURE, &queue::FEATURE];

impl Feature {
    /// Names and texts of its scripts: what comes in quotes after `static NAME: Script`.
    fn scripts(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.source.split("static ").skip(1).filter_map(|part| {
            let (name, rest) = part.split_once(": Script = ")?;
            Some((name, rest.split('"').nth(1)?))
        })
    }
}

/// All scripts: feature, name and text.
static SCRIPTS: LazyLock<Vec<(&Feature, &str, &str)>> = LazyLock::new(|| {
    let all = FEATURES.iter().flat_map(|f| f.scripts().map(|(name, text)| (*f, name, text)));
    all.collect()
});

/// The feature and the name of a script: the one with the longest text that ends it.
fn identified(script: &Script) -> Option<(&'static Feature, &'static str)> {
    let own = SCRIPTS.iter().filter(|(_, _, text)| script.source().ends_with(text));
    own.max_by_key(|(_, _, text)| text.len()).map(|(feature, name, _)| (*feature, *name))
}

/// A backend that runs the twins of scripts.
#[derive(Clone, Debug)]
struct Twin<B>(B);

impl<B: Backend> Backend for Twin<B> {
    type Session = B::Session;
    type Subscription = B::Subscription;
    type Bell = B::Bell;

    fn run<T: FromValue>(&self, cmd: Cmd<'_, T>) -> impl Future<Output = Result<T>> + Send {
        self.0.run(cmd)
    }

    fn pipeline<L: Batch>(&self, batch: L) -> impl Future<Output = Result<L::Output>> + Send {
        self.0.pipeline(batch)
    }

    fn atomic<L: Batch>(&self, batch: L) -> impl Future<Output = Result<L::Output>> + Send {
        self.0.atomic(batch)
    }

    async fn script<T: FromValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[Arg<'_>],
    ) -> Result<T> {
        let (feature, name) = identified(script).expect("a script that has a twin");
        let args: Vec<Bytes> = args.iter().map(|arg| Bytes::copy_from(arg)).collect();
        let mut session = self.0.session().await?;
        loop {
            let mut view = View::read(&mut session, keys, feature.kind).await?;
            let answer = (feature.run)(name, &mut view, &args);
            let Some(replies) = session.commit(view.into_writes()).await? else { continue };
            return T::from_value(match answer {
                Answer::Now(value) => value,
                Answer::Last => Value::Array(replies.into_iter().next_back().into_iter().collect()),
            });
        }
    }

    fn session(&self) -> impl Future<Output = Result<B::Session>> + Send {
        self.0.session()
    }

    fn subscribe(
        &self,
        topics: &[Topic<'_>],
    ) -> impl Future<Output = Result<B::Subscription>> + Send {
        self.0.subscribe(topics)
    }

    fn bell(&self, channel: &[u8], id: &[u8]) -> impl Future<Output = Result<B::Bell>> + Send {
        self.0.bell(channel, id)
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn sleep(&self, d: Duration) -> impl Future<Output = ()> + Send {
        self.0.sleep(d)
    }

    fn random(&self, bytes: &mut [u8]) {
        self.0.random(bytes);
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }
}

/// An act, or time that passes.
trait Act: std::fmt::Debug {
    fn time(&self) -> Option<Duration>;
}

/// Lets two run the same acts, one with scripts and one with their twins.
fn side_by_side<A: Act, S: Backend, T: Backend>(
    (script, mut one): (&S, impl FnMut(&A) -> String),
    (twin, mut other): (&T, impl FnMut(&A) -> String),
    clocks: &[Clock<'_>],
    acts: &[A],
) {
    for act in acts {
        if let Some(time) = act.time() {
            clocks.iter().for_each(|clock| clock.advance(time));
        }
        assert_eq!(one(act), other(act), "{act:?}");
        assert_eq!(state(script), state(twin), "{act:?}");
    }
}

/// What is done with something held.
#[derive(Clone, Debug)]
enum OnHeld {
    Release,
    /// For so many ms.
    Extend(u64),
    /// Adds to a number of the caller's.
    Guarded(i64),
}

impl OnHeld {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            3 => Just(Self::Release),
            2 => prop_oneof![10..300_u64, Just(100_000)].prop_map(Self::Extend),
            2 => (0..9_i64).prop_map(Self::Guarded),
        ]
    }

    /// Does it with one of those granted so far, if there is any.
    fn act<B: Backend>(&self, granted: &mut [Held<B>], which: usize) -> String {
        let count = granted.len().max(1);
        let Some(held) = granted.get_mut(which % count) else { return String::new() };
        match *self {
            Self::Release => format!("{:?}", held.release().wait().unwrap()),
            Self::Extend(ms) => {
                let lease = Lease::of(Duration::from_millis(ms)).unwrap();
                let extended = held.extend(lease).wait().unwrap();
                format!("{extended} {:?}", held.left())
            }
            Self::Guarded(by) => {
                format!("{:?}", held.guarded(&cmd::incrby(b"doc", by)).wait().unwrap())
            }
        }
    }
}

/// Random acts on two worlds on the engine. `$new` makes one of a backend, and it has
/// `act(&mut self, &act) -> String`.
macro_rules! on_engine {
    ($new:expr, $acts:expr) => {{
        let run = TestRunner::new(ProptestConfig::with_cases(64)).run(&$acts, |acts| {
            let ((script, one), (twin, other)) = (crate::bed::memory(), crate::bed::memory());
            let clocks = [one, other].map(|env| crate::bed::Clock::new(env, None));
            let (mut a, mut b) = ($new(script.clone()), $new(super::Twin(twin.clone())));
            let (one, other) = (|act: &_| a.act(act), |act: &_| b.act(act));
            super::side_by_side((&script, one), (&twin, other), &clocks, &acts);
            script.engine().check_invariants();
            Ok(())
        });
        run.unwrap();
    }};
}
use on_engine;

/// The same on two real Redis, where there are any.
#[cfg(feature = "redis")]
macro_rules! on_redis {
    ($new:expr, $acts:expr) => {{
        let server = || crate::support::real_redis(crate::bed::START);
        let (Some(script), Some(twin)) = (server(), server()) else { return };
        if !script.set_clock(crate::bed::START) {
            return;
        }
        let run = TestRunner::new(ProptestConfig::with_cases(8)).run(&$acts, |acts| {
            let beds = [&script, &twin].map(super::emptied);
            let [(script, one), (twin, other)] = beds;
            let clocks = [one, other];
            let (mut a, mut b) = ($new(script.clone()), $new(super::Twin(twin.clone())));
            let (one, other) = (|act: &_| a.act(act), |act: &_| b.act(act));
            super::side_by_side((&script, one), (&twin, other), &clocks, &acts);
            Ok(())
        });
        run.unwrap();
    }};
}
#[cfg(feature = "redis")]
use on_redis;

/// A server with nothing in it, at the start of time.
#[cfg(feature = "redis")]
fn emptied(server: &crate::support::RealRedis) -> (stockroom::backend::Redis, Clock<'_>) {
    let (redis, env) = crate::bed::redis(server);
    let clock = Clock::new(env, Some(server));
    clock.set(crate::bed::START);
    redis.run(Cmd::<()>::new(&stockroom::commands::server::FLUSHALL)).wait().unwrap();
    (redis, clock)
}

/// Every script of the shop is in one of these files, or has its twin in the shop itself.
#[test]
fn no_script_is_without_a_twin() {
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shop");
    let mut files = Vec::new();
    let mut folders = vec![shop.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains(": Script = ") {
                files.push(path.strip_prefix(&shop).unwrap().display().to_string());
            }
        }
    }
    files.sort();
    let here = ["delayed_queue/script.rs", "flash_sale/script.rs", "lock/script.rs"];
    let here = [&here[..], &["once.rs", "semaphore/script.rs", "sessions.rs"]].concat();
    assert_eq!(files, here);
    // Of each file, the names of its scripts.
    let names = |feature: &Feature| {
        let mut names: Vec<&str> = feature.scripts().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let all = FEATURES.map(names);
    assert_eq!(all[0], "ACQUIRE GUARDED REFRESH RELEASE");
    assert_eq!(all[1], "ACQUIRE CANCEL COUNT GUARDED REFRESH RELEASE");
    assert_eq!(all[2], "BUY CONFIRM GIVE_BACK RECLAIM RESTOCK STOCK");
    assert_eq!(all[3], "ACK ADD CLAIM COUNT DELETE EXTEND GIVE_BACK REMOVE REVIVE");
}
