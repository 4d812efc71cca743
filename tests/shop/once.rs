//! Messages and events with an id: counted once, whatever is lost, repeated, or at the same time.
//!
//! Every body runs with scripts and without, on the memory backend and on a real Redis.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{CommonLog, Counters, IDS_KEPT, Keys, MAX_ID, MAX_MESSAGE, Severity};
use stockroom::{Error, ErrorKind, Timestamp};

use crate::awake::KeepAwake;
use crate::bed::{Clock, START, assert_invalid, each_backend, hostile_ids, memory};
use crate::interpose::{Fate, Interposed, Step};
use crate::state::{all_keys, state};

const HOUR: Duration = Duration::from_secs(3_600);
const MS: Duration = Duration::from_millis(1);
const INFO: Severity = Severity::INFO;

/// A day: what is counted in it stays in one slice as long as any test lasts.
const DAY: u32 = 86_400;

/// Both forms of a client, told apart by the first byte of the names they use.
fn forms<B: Backend>(backend: &B) -> [(u8, Interposed<B>); 2] {
    [(b's', with_hook(backend, true, |_| Fate::Pass)), (b'w', without(backend))]
}

fn without<B: Backend>(backend: &B) -> Interposed<B> {
    with_hook(backend, false, |_| Fate::Pass)
}

fn with_hook<B: Backend>(
    backend: &B,
    scripts: bool,
    hook: impl Fn(&Step) -> Fate + Send + Sync + 'static,
) -> Interposed<B> {
    let client = Interposed::new(backend.clone(), hook);
    if scripts { client } else { client.without_scripts() }
}

fn log<B: Backend>(backend: &B) -> CommonLog<B> {
    CommonLog::new(backend.clone(), Keys::new())
}

fn counters<B: Backend>(backend: &B) -> Counters<B> {
    Counters::new(backend.clone(), Keys::new()).with_precisions(&[1, 60, DAY]).unwrap()
}

/// How often anything was counted in this hour and the last.
fn logged<B: Backend>(backend: &B, name: &[u8]) -> u64 {
    let log = log(backend);
    let now = log.top(name, &INFO, usize::MAX).wait().unwrap();
    let before = log.previous(name, &INFO, usize::MAX).wait().unwrap();
    now.messages.iter().chain(&before.messages).map(|(_, n)| n).sum()
}

fn counted<B: Backend>(backend: &B, name: &[u8]) -> i64 {
    counters(backend).series(name, DAY).wait().unwrap().iter().map(|(_, n)| n).sum()
}

/// Whether an error comes from the clock's jump by an hour, which was an hour of waiting to one in
/// the middle of a try, and makes a script under way one that has run for an hour.
fn is_of_the_jump(error: &Error) -> bool {
    error.is_definite() && (error.kind() == ErrorKind::GaveUp || error.code() == Some("BUSY"))
}

/// One of the two features, as something that counts an id once.
#[derive(Clone, Copy, Debug)]
enum What {
    Log,
    Counter,
}

const BOTH: [What; 2] = [What::Log, What::Counter];

impl What {
    fn once<B: Backend>(self, backend: &B, name: &[u8], id: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Log => {
                log(backend).log_once(name, &INFO, b"m", id).wait().map(|new| new.is_some())
            }
            Self::Counter => counters(backend).increment_once(name, 1, id).wait(),
        }
    }

    fn count<B: Backend>(self, backend: &B, name: &[u8]) -> u64 {
        match self {
            Self::Log => logged(backend, name),
            Self::Counter => counted(backend, name) as u64,
        }
    }
}

each_backend! {
    fn a_repetition_counts_once_up_to_the_end_of_the_window(backend, clock) {
        for (form, client) in forms(backend) {
            for what in BOTH {
                let name = [form, what as u8];
                let began = clock.now();
                assert!(what.once(&client, &name, b"id").unwrap());
                for (after, new) in [(Duration::ZERO, false), (HOUR, false), (IDS_KEPT, false)] {
                    clock.set(began + after);
                    assert_eq!(what.once(&client, &name, b"id").unwrap(), new, "{after:?}");
                }
                // The repetitions did not prolong it.
                clock.set(began + IDS_KEPT + MS);
                assert!(what.once(&client, &name, b"id").unwrap());
                assert!(what.once(&client, &name, b"other").unwrap());
            }
        }
    }
}

each_backend! {
    fn the_window_can_be_chosen_and_leaves_nothing_behind(backend, clock) {
        for (form, client) in forms(backend) {
            let log = log(&client).with_ids_kept(Duration::from_millis(1_500)).unwrap();
            let counters = counters(&client).with_ids_kept(Duration::from_secs(1)).unwrap();
            let name = [form];
            assert!(log.log_once(&name, &INFO, b"m", b"i").wait().unwrap().is_some());
            assert!(counters.increment_once(&name, 1, b"i").wait().unwrap());
            clock.advance(Duration::from_secs(1));
            assert!(!counters.increment_once(&name, 1, b"i").wait().unwrap());
            clock.advance(MS);
            assert!(counters.increment_once(&name, 1, b"i").wait().unwrap());
            clock.advance(Duration::from_millis(499));
            assert!(log.log_once(&name, &INFO, b"m", b"i").wait().unwrap().is_none());
            clock.advance(MS);
            assert!(log.log_once(&name, &INFO, b"m", b"i").wait().unwrap().is_some());
        }
        // Of ten thousand ids nothing is left when their time is over.
        let counters = counters(backend).with_ids_kept(Duration::from_secs(1)).unwrap();
        for n in 0..10_000_u32 {
            assert!(counters.increment_once(b"many", 1, &n.to_be_bytes()).wait().unwrap());
        }
        clock.advance(Duration::from_secs(2));
        let ids = state(backend).into_keys().filter(|key| key.starts_with(b"added:"));
        assert_eq!(ids.count(), 0);
    }
}

each_backend! {
    fn an_id_is_known_on_both_sides_of_the_turn_of_the_hour(backend, clock) {
        for (form, client) in forms(backend) {
            let (log, name) = (log(&client), [form]);
            let once = |id: &[u8]| log.log_once(&name, &INFO, b"m", id).wait().unwrap();
            let hour = clock.now();
            clock.set(hour + HOUR - MS);
            assert!(once(b"a").is_some_and(|counted| counted.turned));
            assert!(once(b"b").is_some_and(|counted| !counted.turned));
            clock.set(hour + HOUR);
            // What was counted turns nothing, and what is new does.
            assert!(once(b"a").is_none());
            assert_eq!(log.top(&name, &INFO, 9).wait().unwrap().start, Some(hour));
            assert!(once(b"c").is_some_and(|counted| counted.turned && counted.attempts == 1));
            assert!(once(b"b").is_none() && once(b"c").is_none());
            let before = log.previous(&name, &INFO, 9).wait().unwrap();
            assert_eq!((before.start, before.messages), (Some(hour), vec![("m".into(), 2)]));
            let now = log.top(&name, &INFO, 9).wait().unwrap();
            assert_eq!((now.start, now.messages), (Some(hour + HOUR), vec![("m".into(), 1)]));
            clock.set(hour + 2 * HOUR);
        }
    }
}

each_backend! {
    fn repeating_after_a_lost_request_or_reply_counts_once(backend, clock) {
        for scripts in [true, false] {
            for what in BOTH {
                for fate in [Fate::NotSent, Fate::LoseReply] {
                    // In the middle of an hour, and at its turn, where there are more steps.
                    for (lost, turn) in (0..10_u32).map(|n| (n / 2, n % 2 == 0)) {
                        let name = format!("{scripts}{what:?}{fate:?}{lost}{turn}").into_bytes();
                        assert!(what.once(backend, &name, b"earlier").unwrap());
                        if turn {
                            clock.advance(HOUR);
                        }
                        let steps = AtomicU32::new(0);
                        let hook = move |_: &Step| match steps.fetch_add(1, Ordering::SeqCst) {
                            step if step == lost => fate,
                            _ => Fate::Pass,
                        };
                        let lossy = with_hook(backend, scripts, hook);
                        let first = what.once(&lossy, &name, b"id");
                        let again = what.once(&lossy, &name, b"id");
                        match (first, again) {
                            // Nothing was lost so far.
                            (Ok(true), Ok(false) | Err(_)) => (),
                            (Err(error), Ok(new)) => assert_eq!(error.is_definite(), new),
                            lost => panic!("{lost:?}"),
                        }
                        let more = (0..5).map(|_| what.once(&lossy, &name, b"id"));
                        assert!(more.last().is_some_and(|last| !last.unwrap()));
                        assert_eq!(what.count(backend, &name), 2, "{name:?}");
                    }
                }
            }
        }
    }
}

each_backend! {
    fn the_same_id_between_any_two_steps_counts_once(backend, clock) {
        for what in BOTH {
            // Session, watch, at the turn another watch, commit.
            for at in 0..4_u32 {
                let name = [what as u8, at as u8];
                assert!(what.once(backend, &name, b"earlier").unwrap());
                clock.advance(HOUR);
                let (steps, other) = (AtomicU32::new(0), backend.clone());
                let hook = move |_: &Step| {
                    if steps.fetch_add(1, Ordering::SeqCst) == at {
                        what.once(&other, &name, b"id").unwrap();
                    }
                    Fate::Pass
                };
                let slow = with_hook(backend, false, hook);
                let new = what.once(&slow, &name, b"id").unwrap();
                let over = matches!(what, What::Counter) && at == 3;
                assert_eq!(new, over, "{what:?} {at}");
                assert!(!what.once(&slow, &name, b"id").unwrap());
                assert_eq!(what.count(backend, &name), 2, "{what:?} {at}");
            }
        }
    }
}

each_backend! {
    fn threads_that_repeat_each_other_over_the_hour_count_once(backend, clock) {
        const THREADS: u32 = 6;
        const HOURS: u32 = 8;
        let (written, calls) = (AtomicU64::new(0), AtomicU64::new(0));
        let (sum, done) = (AtomicU64::new(0), AtomicBool::new(false));
        let _awake = KeepAwake::new(&clock.env());
        let year = Duration::from_secs(365 * 86_400);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (written, calls, done) = (&written, &calls, &done);
                scope.spawn(move || {
                    let client = with_hook(backend, thread % 2 == 0, |_| Fate::Pass);
                    // No id is forgotten, so that each is counted once in all.
                    let log = log(&client).with_ids_kept(year).unwrap();
                    let counters = counters(&client).with_ids_kept(year).unwrap();
                    // Three threads each have the same messages.
                    for n in 0_u32.. {
                        let id = [&[(thread / 2 % 2) as u8][..], &n.to_be_bytes()].concat();
                        loop {
                            match log.log_once(b"web", &INFO, b"m", &id).wait() {
                                Ok(new) => {
                                    let new = u64::from(new.is_some());
                                    written.fetch_add(new, Ordering::SeqCst);
                                    break;
                                }
                                Err(error) => assert!(is_of_the_jump(&error), "{error}"),
                            }
                        }
                        let new = loop {
                            match counters.increment_once(b"web", 1, &id).wait() {
                                Ok(new) => break new,
                                Err(error) => assert!(is_of_the_jump(&error), "{error}"),
                            }
                        };
                        written.fetch_add(u64::from(new) << 32, Ordering::SeqCst);
                        calls.fetch_add(1, Ordering::SeqCst);
                        if done.load(Ordering::SeqCst) {
                            break;
                        }
                    }
                });
            }
            for hour in 0..HOURS {
                clock.env().set(START + hour * HOUR);
                let some = calls.load(Ordering::SeqCst) + 120;
                while calls.load(Ordering::SeqCst) < some {
                    thread::yield_now();
                }
                // The hour that is over, once somebody has turned it.
                let over = log(backend).previous(b"web", &INFO, 9).wait().unwrap();
                sum.fetch_add(over.messages.iter().map(|(_, n)| n).sum(), Ordering::SeqCst);
            }
            done.store(true, Ordering::SeqCst);
        });
        let last = log(backend).top(b"web", &INFO, 9).wait().unwrap();
        let sum = sum.into_inner() + last.messages.iter().map(|(_, n)| n).sum::<u64>();
        let written = written.into_inner();
        let ids = |prefix: &[u8]| {
            all_keys(backend).iter().filter(|key| key.starts_with(prefix)).count() as u64
        };
        assert_eq!((written & 0xffff_ffff, written >> 32), (ids(b"logged:"), ids(b"added:")));
        assert_eq!(sum, ids(b"logged:"));
        assert_eq!(counted(backend, b"web") as u64, ids(b"added:"));
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let long = vec![b'x'; MAX_ID + 1];
        let (log, counters) = (log(backend), counters(backend));
        let once = |name: &[u8], message: &[u8], id: &[u8]| {
            log.log_once(name, &INFO, message, id).wait()
        };
        assert_invalid(once(b"", b"m", b"i"), "name");
        assert_invalid(once(b"n", &vec![0; MAX_MESSAGE + 1], b"i"), "message");
        assert_invalid(once(b"n", b"m", b""), "message id");
        assert_invalid(once(b"n", b"m", &long), "message id");
        assert_invalid(counters.increment_once(b"", 1, b"i").wait(), "name");
        assert_invalid(counters.increment_once(b"n", i64::MIN, b"i").wait(), "step");
        assert_invalid(counters.increment_once(b"n", 1, b"").wait(), "event id");
        assert_invalid(counters.increment_once(b"n", 1, &long).wait(), "event id");
        for bad in [Duration::ZERO, Duration::from_micros(999_999), Duration::MAX] {
            assert_invalid(log.clone().with_ids_kept(bad), "time to keep ids");
            assert_invalid(counters.clone().with_ids_kept(bad), "time to keep ids");
        }
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn ids_of_any_bytes_are_apart_and_each_counts_once_for_each_name(backend, _clock) {
        let ids = hostile_ids();
        for (form, client) in forms(backend) {
            for name in &ids {
                let name = [&[form][..], &name[..name.len().min(MAX_ID - 1)]].concat();
                for id in &ids {
                    for what in BOTH {
                        assert!(what.once(&client, &name, id).unwrap());
                        assert!(!what.once(&client, &name, id).unwrap());
                    }
                }
                assert_eq!(logged(backend, &name), ids.len() as u64);
                assert_eq!(counted(backend, &name), ids.len() as i64);
                // Another severity is another log.
                let other = log(&client);
                let other = other.log_once(&name, &Severity::ERROR, b"m", &ids[0]).wait();
                assert!(other.unwrap().is_some());
            }
        }
    }
}

each_backend! {
    fn foreign_name_of_an_hour_is_an_error_and_nothing_is_remembered(backend, _clock) {
        for (form, client) in forms(backend) {
            let start = Keys::new().common_start(&[form], "info");
            for foreign in ["teatime", "", "2023-11-14T22:00:01", "23-11-14T22:00:00"] {
                backend.run(cmd::set(&start, foreign)).wait().unwrap();
                let error = What::Log.once(&client, &[form], b"id").unwrap_err();
                assert!(error.is_definite() && error.to_string().contains(foreign), "{error}");
            }
            backend.run(cmd::del([&start])).wait().unwrap();
            assert!(What::Log.once(&client, &[form], b"id").unwrap());
        }
    }
}

each_backend! {
    fn it_takes_one_round_trip_with_scripts(backend, _clock) {
        if !backend.has_scripts() {
            return;
        }
        for what in BOTH {
            // The first sends the script in full.
            what.once(backend, b"n", b"first").unwrap();
            let before = backend.stats().round_trips;
            assert!(what.once(backend, b"n", b"second").unwrap());
            assert!(!what.once(backend, b"n", b"second").unwrap());
            assert_eq!(backend.stats().round_trips - before, 2);
        }
    }
}

/// What may come in any order.
#[derive(Clone, Debug)]
enum Act {
    Log(u8, u8, u8),
    Plain(u8),
    Increment(u8, i64, u8),
    Pass(Duration),
    /// A key of the log or the counters gets another type, or vanishes.
    Spoil(usize, bool),
}

fn act() -> impl Strategy<Value = Act> {
    let time = prop_oneof![
        (1..2_000_u64).prop_map(Duration::from_millis),
        (1..90_u64).prop_map(|minutes| Duration::from_secs(60 * minutes)),
    ];
    prop_oneof![
        6 => (0..2_u8, 0..3_u8, 0..6_u8).prop_map(|(n, m, i)| Act::Log(n, m, i)),
        1 => (0..2_u8).prop_map(Act::Plain),
        6 => (0..2_u8, -3..4_i64, 0..6_u8).prop_map(|(n, by, i)| Act::Increment(n, by, i)),
        3 => time.prop_map(Act::Pass),
        1 => (0..64_usize, any::<bool>()).prop_map(|(key, text)| Act::Spoil(key, text)),
    ]
}

/// Runs the acts on one of the two, and gives the answer.
fn answer<B: Backend>(backend: &B, act: &Act) -> String {
    let kind = |error: Error| (error.code().map(str::to_owned), error.is_unknown());
    match *act {
        Act::Log(name, message, id) => {
            let once = log(backend).log_once(&[name], &INFO, &[message], &[id]).wait();
            format!("{:?}", once.map_err(kind))
        }
        Act::Plain(name) => {
            format!("{:?}", log(backend).log(&[name], &INFO, b"m").wait().map_err(kind))
        }
        Act::Increment(name, by, id) => {
            let once = counters(backend).increment_once(&[name], by, &[id]).wait();
            format!("{:?}", once.map_err(kind))
        }
        Act::Spoil(key, text) => {
            let keys = all_keys(backend);
            if let Some(key) = keys.get(key % keys.len().max(1)) {
                backend.run(cmd::del([key])).wait().unwrap();
                if text {
                    backend.run(cmd::sadd(key, ["foreign"])).wait().unwrap();
                }
            }
            String::new()
        }
        Act::Pass(_) => String::new(),
    }
}

fn assert_twins<A: Backend, B: Backend>(script: &A, watch: &B, clocks: &[Clock<'_>], acts: &[Act]) {
    for act in acts {
        if let Act::Pass(time) = act {
            clocks.iter().for_each(|clock| clock.advance(*time));
        }
        assert_eq!(answer(script, act), answer(watch, act), "{act:?}");
        assert_eq!(state(script), state(watch), "{act:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn script_and_watch_are_twins(acts in vec(act(), 1..40)) {
        let ((script, one), (watch, other)) = (memory(), memory());
        let clocks = [Clock::new(one, None), Clock::new(other, None)];
        assert_twins(&script, &without(&watch), &clocks, &acts);
    }
}

#[cfg(feature = "redis")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn script_on_redis_and_watch_in_memory_are_twins(acts in vec(act(), 1..40)) {
        let Some(server) = crate::support::real_redis(START) else { return Ok(()) };
        if server.set_clock(START) {
            let ((script, one), (watch, other)) = (crate::bed::redis(&server), memory());
            let clocks = [Clock::new(one, Some(&server)), Clock::new(other, None)];
            assert_twins(&script, &without(&watch), &clocks, &acts);
        }
    }
}

/// The hours of years that are written with another number of digits.
#[test]
fn hours_of_all_years_turn_alike() {
    let years = [-62_200_000_000_i64, -62_167_219_200, -1, 0, 1_700_000_000, 253_402_300_800];
    for pair in years.windows(2) {
        let ((script, one), (watch, other)) = (memory(), memory());
        for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            for at in [from, to, from - 3_600, to + 3_600] {
                one.set(Timestamp::from_secs(at));
                other.set(Timestamp::from_secs(at));
                let act = Act::Log(0, 0, (at % 251) as u8);
                assert_eq!(answer(&script, &act), answer(&without(&watch), &act), "{at}");
            }
        }
    }
}
