//! Sessions: touch, check, logout, the cleaner and its races.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::{Cart, Keys, MAX_ID, Sessions};
use stockroom::{Bytes, ErrorKind};

use crate::bed::{assert_invalid, each_backend, hostile_ids, memory};
use crate::interpose::{Fate, Interposed, Step};

/// What must hold at all times: the same tokens in `login:` and `recent:`.
fn assert_whole<B: Backend>(backend: &B) -> BTreeSet<Bytes> {
    let keys = Keys::new();
    let (login, recent) = (keys.login(), keys.recent());
    let both = (cmd::hkeys::<Bytes>(&login), cmd::zrange::<Bytes>(&recent, 0, -1));
    let (login, recent) = backend.atomic(both).wait().unwrap();
    let (login, recent): (BTreeSet<_>, BTreeSet<_>) =
        (login.into_iter().collect(), recent.into_iter().collect());
    assert_eq!(login, recent);
    login
}

each_backend! {
    fn touch_is_one_round_trip_and_keeps_the_newest_25_items(backend, clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        for n in 0..30 {
            sessions.touch(b"t", b"ada", Some(format!("item{n}").as_bytes())).wait().unwrap();
            clock.advance(Duration::from_millis(1));
        }
        sessions.touch(b"t", b"ada", None).wait().unwrap();
        let stats = backend.stats();
        assert_eq!((stats.round_trips, stats.commands), (31, 30 * 5 + 2));
        let viewed = sessions.recently_viewed(b"t").wait().unwrap();
        let newest_first: Vec<Bytes> = (5..30).rev().map(|n| format!("item{n}").into()).collect();
        assert_eq!(viewed, newest_first);
        // Looking again moves an item to the front.
        sessions.touch(b"t", b"ada", Some(b"item7")).wait().unwrap();
        assert_eq!(sessions.recently_viewed(b"t").wait().unwrap()[0], "item7");
        let views = cmd::zscore(b"viewed:", b"item7");
        assert_eq!(backend.run(views).wait().unwrap(), Some(-2.0));
    }
}

each_backend! {
    fn token_changes_hands_with_its_user(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        sessions.touch(b"t", b"ada", None).wait().unwrap();
        sessions.touch(b"t", b"bob", None).wait().unwrap();
        assert_eq!(sessions.check(b"t").wait().unwrap().unwrap(), "bob");
        assert_eq!(sessions.count().wait().unwrap(), 1);
    }
}

each_backend! {
    fn logout_leaves_nothing_of_the_session(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        let cart = Cart::new(backend.clone(), Keys::new());
        sessions.touch(b"t", b"ada", Some(b"item")).wait().unwrap();
        cart.set(b"t", b"item", 1).wait().unwrap();
        assert!(sessions.logout(b"t").wait().unwrap());
        assert!(!sessions.logout(b"t").wait().unwrap());
        let (_, mut keys) = backend.run(cmd::scan(0, 100)).wait().unwrap();
        keys.sort();
        assert_eq!(keys, ["viewed:"]);
    }
}

each_backend! {
    fn cleaner_drops_the_oldest_beyond_the_limit_a_hundred_a_step(backend, clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new()).with_limit(50);
        for n in 0..250_u32 {
            sessions.touch(&n.to_be_bytes(), b"user", Some(b"item")).wait().unwrap();
            clock.advance(Duration::from_millis(1));
        }
        let steps: Vec<(u64, u64)> = (0..4)
            .map(|_| sessions.clean_step().wait().unwrap())
            .map(|cleaned| (cleaned.removed, cleaned.left))
            .collect();
        assert_eq!(steps, [(100, 150), (100, 50), (0, 50), (0, 50)]);
        let left = assert_whole(backend);
        assert!(left.iter().all(|token| **token >= 200_u32.to_be_bytes()[..]));
        let (_, keys) = backend.run(cmd::scan(0, 1_000)).wait().unwrap();
        assert_eq!(keys.iter().filter(|key| key.starts_with(b"viewed:")).count(), 51);
    }
}

each_backend! {
    fn session_beyond_its_age_has_ended_and_is_cleaned(backend, clock) {
        let hour = Duration::from_secs(3_600);
        let sessions = Sessions::new(backend.clone(), Keys::new()).with_max_age(hour);
        sessions.touch(b"old", b"ada", Some(b"item")).wait().unwrap();
        clock.advance(Duration::from_micros(1));
        sessions.touch(b"new", b"bob", None).wait().unwrap();
        clock.advance(Duration::from_micros(3_600_000_000 - 1));
        // An hour to the microsecond: still there.
        assert!(sessions.check(b"old").wait().unwrap().is_some());
        clock.advance(Duration::from_micros(1));
        assert_eq!(sessions.check(b"old").wait().unwrap(), None);
        assert!(sessions.check(b"new").wait().unwrap().is_some());
        assert_eq!(sessions.clean_step().wait().unwrap().removed, 1);
        assert_eq!(assert_whole(backend), BTreeSet::from(["new".into()]));
        // Another touch keeps a session alive.
        sessions.touch(b"new", b"bob", None).wait().unwrap();
        clock.advance(hour);
        assert!(sessions.check(b"new").wait().unwrap().is_some());
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        let huge = vec![b'x'; MAX_ID + 1];
        assert_invalid(sessions.check(b"").wait(), "token");
        assert_invalid(sessions.touch(b"", b"ada", None).wait(), "token");
        assert_invalid(sessions.touch(b"t", b"", None).wait(), "user");
        assert_invalid(sessions.touch(b"t", b"ada", Some(b"")).wait(), "item");
        assert_invalid(sessions.touch(&huge, b"ada", None).wait(), "token");
        assert_invalid(sessions.touch(b"t", &huge, None).wait(), "user");
        assert_invalid(sessions.touch(b"t", b"ada", Some(&huge)).wait(), "item");
        assert_invalid(sessions.logout(b"").wait(), "token");
        assert_invalid(sessions.recently_viewed(&huge).wait(), "token");
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn sessions_with_hostile_ids_do_not_meet(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::tagged("{"));
        for id in hostile_ids() {
            sessions.touch(&id, &id, Some(&id)).wait().unwrap();
        }
        for id in hostile_ids() {
            assert_eq!(sessions.check(&id).wait().unwrap().unwrap(), id[..]);
            assert_eq!(sessions.recently_viewed(&id).wait().unwrap(), [&*id]);
            assert!(sessions.logout(&id).wait().unwrap());
        }
        assert_eq!(sessions.count().wait().unwrap(), 0);
    }
}

each_backend! {
    fn key_of_another_type_is_an_error_with_its_code(backend, _clock) {
        backend.run(cmd::set(b"recent:", b"x")).wait().unwrap();
        let sessions = Sessions::new(backend.clone(), Keys::new());
        let error = sessions.touch(b"t", b"ada", None).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("WRONGTYPE")));
        assert_eq!(sessions.check(b"t").wait().unwrap().as_deref(), Some(&b"ada"[..]));
        // The cleaner only looked: nothing was removed.
        let error = sessions.clean_step().wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("WRONGTYPE")));
    }
}

each_backend! {
    fn reply_lost_while_the_cleaner_looks_means_that_nothing_was_removed(backend, _clock) {
        Sessions::new(backend.clone(), Keys::new()).touch(b"a", b"user", None).wait().unwrap();
        for fate in [Fate::LoseReply, Fate::NotSent] {
            let reads = || vec!["ZCARD", "ZRANGE"];
            for at in [Step::Send(reads()), Step::Session, Step::Watch(reads())] {
                let by_script = matches!(at, Step::Send(_));
                if by_script && !backend.has_scripts() {
                    continue; // it never takes that step
                }
                let hook = move |step: &Step| if *step == at { fate } else { Fate::Pass };
                let backend = Interposed::new(backend.clone(), hook);
                let backend = if by_script { backend } else { backend.without_scripts() };
                let sessions = Sessions::new(backend, Keys::new()).with_limit(0);
                let error = sessions.clean_step().wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
                assert_eq!(sessions.count().wait().unwrap(), 1);
            }
        }
    }
}

/// A backend on `memory` where token `a` is touched, a millisecond later, before a commit, as long
/// as `again` says so.
fn meddling(
    memory: &Memory,
    again: impl Fn() -> bool + Send + Sync + 'static,
) -> Interposed<Memory> {
    let sessions = Sessions::new(memory.clone(), Keys::new());
    let env = memory.engine().env().clone();
    Interposed::new(memory.clone(), move |step| {
        let removes = match step {
            Step::Commit(_) => true,
            Step::Send(names) => names == &["EVALSHA"],
            _ => false,
        };
        if removes && again() {
            env.advance(Duration::from_millis(1));
            sessions.touch(b"a", b"user", None).wait().unwrap();
        }
        Fate::Pass
    })
}

#[cfg(feature = "lua")]
#[test]
fn cleaner_by_script_spares_what_was_used_since_and_removes_the_rest() {
    let (memory, env) = memory();
    let sessions = Sessions::new(memory.clone(), Keys::new());
    for token in [b"a", b"b", b"c"] {
        sessions.touch(token, b"user", Some(b"item")).wait().unwrap();
        env.advance(Duration::from_secs(1));
    }
    let backend = meddling(&memory, || true);
    let cleaned = Sessions::new(backend, Keys::new()).with_limit(1).clean_step().wait().unwrap();
    assert_eq!((cleaned.conflicts, cleaned.removed, cleaned.left), (1, 1, 2));
    assert!(cleaned.more);
    assert_eq!(assert_whole(&memory), BTreeSet::from(["a".into(), "c".into()]));
    assert_eq!(sessions.recently_viewed(b"a").wait().unwrap(), ["item"]);
}

/// Removes the same with scripts and without, whatever was touched when.
#[cfg(feature = "lua")]
#[test]
fn cleaner_by_script_and_by_watch_do_the_same() {
    use proptest::prelude::*;
    let touches = proptest::collection::vec((0..12_u8, 0..3_u64), 0..40);
    let config = proptest::test_runner::Config::with_cases(200);
    let run = proptest::test_runner::TestRunner::new(config).run(
        &(touches, 0..10_u64, proptest::option::of(1..40_u64)),
        |(touches, limit, age)| {
            let outcome = |scripts: bool| {
                let (memory, env) = memory();
                let backend = Interposed::new(memory.clone(), |_| Fate::Pass);
                let backend = if scripts { backend } else { backend.without_scripts() };
                let mut sessions = Sessions::new(backend, Keys::new()).with_limit(limit);
                if let Some(age) = age {
                    sessions = sessions.with_max_age(Duration::from_secs(age));
                }
                for (token, secs) in &touches {
                    env.advance(Duration::from_secs(*secs));
                    sessions.touch(&[*token], b"user", Some(b"i")).wait().unwrap();
                }
                let cleaned = sessions.clean_step().wait().unwrap();
                (cleaned, assert_whole(&memory))
            };
            prop_assert_eq!(outcome(true), outcome(false));
            Ok(())
        },
    );
    run.unwrap();
}

#[test]
fn session_touched_after_the_cleaner_picked_it_is_not_deleted() {
    let (memory, env) = memory();
    let sessions = Sessions::new(memory.clone(), Keys::new());
    for token in [b"a", b"b"] {
        sessions.touch(token, b"user", Some(b"item")).wait().unwrap();
        env.advance(Duration::from_secs(1));
    }
    let once = AtomicBool::new(true);
    let backend = meddling(&memory, move || once.swap(false, Ordering::SeqCst)).without_scripts();
    let cleaned = Sessions::new(backend, Keys::new()).with_limit(1).clean_step().wait().unwrap();
    assert_eq!((cleaned.conflicts, cleaned.removed), (1, 1));
    // The other one was the oldest by then.
    assert_eq!(assert_whole(&memory), BTreeSet::from(["a".into()]));
    assert_eq!(sessions.recently_viewed(b"a").wait().unwrap(), ["item"]);
}

#[test]
fn cleaner_that_is_always_disturbed_says_so_and_harms_nothing() {
    let (memory, _) = memory();
    Sessions::new(memory.clone(), Keys::new()).touch(b"a", b"user", None).wait().unwrap();
    let backend = meddling(&memory, || true).without_scripts();
    let cleaned = Sessions::new(backend, Keys::new()).with_limit(0).clean_step().wait().unwrap();
    assert!(cleaned.more && cleaned.removed == 0 && cleaned.conflicts > 1);
    assert_eq!(assert_whole(&memory).len(), 1);
}

each_backend! {
    fn cleaner_among_eight_touching_threads_tears_no_session(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new()).with_limit(20);
        let (done, removed) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let touch = |thread: u8| {
                let sessions = &sessions;
                scope.spawn(move || {
                    for n in 0..200_u8 {
                        let token = [thread, n % 40];
                        sessions.touch(&token, b"user", Some(&[n])).wait().unwrap();
                    }
                })
            };
            let touching: Vec<_> = (0..8).map(touch).collect();
            scope.spawn(|| {
                loop {
                    let last = done.load(Ordering::SeqCst);
                    let step = sessions.clean_step().wait().unwrap();
                    removed.fetch_add(step.removed, Ordering::SeqCst);
                    assert_whole(backend);
                    if last {
                        break;
                    }
                }
            });
            for n in 0..200_u8 {
                sessions.logout(&[n % 8, n % 40]).wait().unwrap();
            }
            touching.into_iter().for_each(|thread| thread.join().unwrap());
            done.store(true, Ordering::SeqCst);
        });
        assert!(removed.load(Ordering::SeqCst) > 0, "the cleaner found nothing to do");
        while sessions.clean_step().wait().unwrap().more {}
        let tokens = assert_whole(backend);
        assert!(tokens.len() <= 20);
        for token in tokens {
            assert!(sessions.check(&token).wait().unwrap().is_some());
        }
    }
}
