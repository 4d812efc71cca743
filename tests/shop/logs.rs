//! The recent log and the common log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{
    CommonLog, Counted, Keys, LOG_KEPT, LogHour, MAX_ID, MAX_MESSAGE, RecentLog, Severity,
};
use stockroom::{Bytes, Env, ErrorKind, Timestamp};

use crate::awake::KeepAwake;
use crate::bed::{START, on_both};
use crate::interpose::{Fate, Interposed, Step};

const HOUR: Duration = Duration::from_secs(3_600);
const INFO: Severity = Severity::INFO;

/// Names and messages that would break what takes them for text or for parts of keys.
const STRANGE: [&[u8]; 6] = [b"a:info", b"{tag}", b"\0\r\n", b"\xff\xfe", b" ", b"%3A"];

fn hour(start: Timestamp, messages: &[(&str, u64)]) -> LogHour {
    let messages = messages.iter().map(|(m, n)| (Bytes::from(*m), *n)).collect();
    LogHour { start: Some(start), messages }
}

/// How often each message was counted in this hour and the last, as one sum.
fn total<B: Backend>(log: &CommonLog<B>, name: &[u8]) -> u64 {
    let now = log.top(name, &INFO, usize::MAX).wait().unwrap();
    let before = log.previous(name, &INFO, usize::MAX).wait().unwrap();
    now.messages.iter().chain(&before.messages).map(|(_, n)| n).sum()
}

#[test]
fn recent_log_keeps_the_last_hundred_newest_first() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let log = RecentLog::new(backend.clone(), Keys::new());
        for n in 0..250 {
            log.log(b"shop", &INFO, format!("message {n}").as_bytes()).wait().unwrap();
            env.advance(Duration::from_secs(1));
        }
        let all = log.recent(b"shop", &INFO, usize::MAX).wait().unwrap();
        assert_eq!(all.len(), LOG_KEPT);
        for (line, n) in all.iter().zip((150..250).rev()) {
            assert_eq!(line.message, format!("message {n}").as_str());
            assert_eq!(line.at, Some(START + Duration::from_secs(n)));
        }
        assert_eq!(log.recent(b"shop", &INFO, 3).wait().unwrap(), all[..3]);
        assert_eq!(log.recent(b"shop", &INFO, 0).wait().unwrap(), []);
        let key = Keys::new().log(b"shop", "info");
        assert_eq!(backend.run(cmd::llen(&key)).wait().unwrap(), LOG_KEPT as u64);
    }
    on_both!(body);
}

#[test]
fn recent_log_is_written_in_the_published_form_in_one_round_trip() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let log = RecentLog::new(backend.clone(), Keys::in_namespace("ns"));
        let before = backend.stats();
        log.log(b"shop", &Severity::ERROR, b"it broke").wait().unwrap();
        let after = backend.stats();
        assert_eq!(after.round_trips - before.round_trips, 1);
        assert_eq!(after.commands - before.commands, 2);
        let raw: Vec<Bytes> = backend.run(cmd::lrange(b"ns/log:shop:error", 0, -1)).wait().unwrap();
        assert_eq!(raw, ["Tue Nov 14 22:00:00 2023 it broke"]);
    }
    on_both!(body);
}

#[test]
fn logs_of_different_names_and_severities_are_apart() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let recent = RecentLog::new(backend.clone(), Keys::new());
        let common = CommonLog::new(backend.clone(), Keys::new());
        // `start` and `last` are parts of the common log's key names too.
        let severities = ["info", "start", "last", "pstart", "audit"];
        let severities = severities.map(|word| Severity::new(word).unwrap());
        for name in STRANGE {
            for severity in &severities {
                let message = [name, severity.as_str().as_bytes()].concat();
                common.log(name, severity, &message).wait().unwrap();
            }
        }
        for name in STRANGE {
            for severity in &severities {
                let message = Bytes::from([name, severity.as_str().as_bytes()].concat());
                let lines = recent.recent(name, severity, 10).wait().unwrap();
                assert_eq!(lines.len(), 1);
                assert_eq!((lines[0].at, &lines[0].message), (Some(START), &message));
                let top = common.top(name, severity, 10).wait().unwrap();
                assert_eq!(top, LogHour { start: Some(START), messages: vec![(message, 1)] });
            }
        }
    }
    on_both!(body);
}

#[test]
fn foreign_line_in_a_recent_log_is_shown_as_it_is() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let log = RecentLog::new(backend.clone(), Keys::new());
        let key = Keys::new().log(b"shop", "info");
        backend.run(cmd::lpush(&key, ["Tue Nov 31 22:00:00 2023 no such day"])).wait().unwrap();
        log.log(b"shop", &INFO, b"").wait().unwrap();
        let lines = log.recent(b"shop", &INFO, 9).wait().unwrap();
        assert_eq!((lines[0].at, &*lines[0].message), (Some(START), &b""[..]));
        assert_eq!(lines[1].at, None);
        assert_eq!(lines[1].message, "Tue Nov 31 22:00:00 2023 no such day");
    }
    on_both!(body);
}

#[test]
fn bad_input_is_refused_before_anything_is_sent() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let recent = RecentLog::new(backend.clone(), Keys::new());
        let common = CommonLog::new(backend.clone(), Keys::new());
        let (long_name, long) = (vec![b'n'; MAX_ID + 1], vec![b'm'; MAX_MESSAGE + 1]);
        let before = backend.stats();
        let errors = [
            recent.log(b"", &INFO, b"m").wait().unwrap_err(),
            recent.log(&long_name, &INFO, b"m").wait().unwrap_err(),
            recent.log(b"n", &INFO, &long).wait().unwrap_err(),
            recent.recent(b"", &INFO, 1).wait().unwrap_err(),
            common.log(b"", &INFO, b"m").wait().unwrap_err(),
            common.log(&long_name, &INFO, b"m").wait().unwrap_err(),
            common.log(b"n", &INFO, &long).wait().unwrap_err(),
            common.top(b"", &INFO, 1).wait().unwrap_err(),
            common.previous(b"", &INFO, 1).wait().unwrap_err(),
        ];
        assert!(errors.iter().all(|e| e.kind() == ErrorKind::Invalid), "{errors:?}");
        assert_eq!(backend.stats(), before);
        common.log(&long_name[1..], &INFO, &long[1..]).wait().unwrap();
    }
    on_both!(body);
}

#[test]
fn messages_are_counted_and_the_hour_turns() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let log = CommonLog::new(backend.clone(), Keys::new());
        let none = log.top(b"web", &INFO, 5).wait().unwrap();
        assert_eq!(none, LogHour::default());
        for message in ["a", "b", "b", "c", "c", "c"] {
            log.log(b"web", &INFO, message.as_bytes()).wait().unwrap();
        }
        let first = hour(START, &[("c", 3), ("b", 2), ("a", 1)]);
        assert_eq!(log.top(b"web", &INFO, 9).wait().unwrap(), first);
        assert_eq!(log.top(b"web", &INFO, 2).wait().unwrap().messages, first.messages[..2]);
        assert_eq!(log.top(b"web", &INFO, 0).wait().unwrap().messages, []);

        env.set(START + HOUR - Duration::from_micros(1));
        let counted = log.log(b"web", &INFO, b"a").wait().unwrap();
        assert_eq!(counted, Counted { attempts: 1, turned: false });
        // A silent hour between: the one before is still the last that had messages.
        env.set(START + 2 * HOUR);
        let counted = log.log(b"web", &INFO, b"d").wait().unwrap();
        assert_eq!(counted, Counted { attempts: 1, turned: true });
        let second = hour(START + 2 * HOUR, &[("d", 1)]);
        assert_eq!(log.top(b"web", &INFO, 9).wait().unwrap(), second);
        let first = hour(START, &[("c", 3), ("b", 2), ("a", 2)]);
        assert_eq!(log.previous(b"web", &INFO, 9).wait().unwrap(), first);
        env.set(START + 3 * HOUR);
        log.log(b"web", &INFO, b"e").wait().unwrap();
        assert_eq!(log.previous(b"web", &INFO, 9).wait().unwrap(), second);
        let recent = RecentLog::new(backend.clone(), Keys::new());
        assert_eq!(recent.recent(b"web", &INFO, 100).wait().unwrap().len(), 9);
    }
    on_both!(body);
}

#[test]
fn common_log_has_the_published_keys_and_two_round_trips() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let log = CommonLog::new(backend.clone(), Keys::new());
        log.log(b"web", &INFO, b"m").wait().unwrap();
        let before = backend.stats();
        log.log(b"web", &INFO, b"m").wait().unwrap();
        assert_eq!(backend.stats().round_trips - before.round_trips, 2);
        let start = backend.run(cmd::get::<String>(b"common:web:info:start")).wait().unwrap();
        assert_eq!(start.as_deref(), Some("2023-11-14T22:00:00"));
        let counts = cmd::zrange_withscores::<Bytes>(b"common:web:info", 0, -1);
        assert_eq!(backend.run(counts).wait().unwrap(), [(Bytes::from("m"), 2.0)]);
        env.advance(HOUR);
        let before = backend.stats();
        log.log(b"web", &INFO, b"n").wait().unwrap();
        assert_eq!(backend.stats().round_trips - before.round_trips, 3);
        let start = backend.run(cmd::get::<String>(b"common:web:info:pstart")).wait().unwrap();
        assert_eq!(start.as_deref(), Some("2023-11-14T22:00:00"));
        let counts = cmd::zrange_withscores::<Bytes>(b"common:web:info:last", 0, -1);
        assert_eq!(backend.run(counts).wait().unwrap(), [(Bytes::from("m"), 2.0)]);
    }
    on_both!(body);
}

#[test]
fn clock_that_steps_back_does_not_turn_the_hour() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let log = CommonLog::new(backend.clone(), Keys::new());
        log.log(b"web", &INFO, b"before").wait().unwrap();
        env.set(START + HOUR);
        log.log(b"web", &INFO, b"m").wait().unwrap();
        for back in [START, START + HOUR, START - 24 * HOUR, Timestamp::from_secs(-1)] {
            env.set(back);
            assert!(!log.log(b"web", &INFO, b"m").wait().unwrap().turned);
        }
        let now = log.top(b"web", &INFO, 9).wait().unwrap();
        assert_eq!(now, hour(START + HOUR, &[("m", 5)]));
        let last = log.previous(b"web", &INFO, 9).wait().unwrap();
        assert_eq!(last, hour(START, &[("before", 1)]));
    }
    on_both!(body);
}

#[test]
fn missing_key_at_the_turn_is_no_error_and_leaves_no_older_hour_behind() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let renames = Arc::new(AtomicU32::new(0));
        let hook = {
            let renames = Arc::clone(&renames);
            move |step: &Step| {
                if matches!(step, Step::Commit(names) if names.contains(&"RENAME")) {
                    renames.fetch_add(1, Ordering::SeqCst);
                }
                Fate::Pass
            }
        };
        let log = CommonLog::new(Interposed::new(backend.clone(), hook), Keys::new());
        let (counts, last) = (b"common:web:info", b"common:web:info:last");
        log.log(b"web", &INFO, b"old").wait().unwrap();
        env.advance(HOUR);
        log.log(b"web", &INFO, b"lost").wait().unwrap();
        assert_eq!(renames.swap(0, Ordering::SeqCst), 1);
        backend.run(cmd::del([counts])).wait().unwrap();
        env.advance(HOUR);
        assert!(log.log(b"web", &INFO, b"new").wait().unwrap().turned);
        assert_eq!(renames.load(Ordering::SeqCst), 0);
        let now = log.top(b"web", &INFO, 9).wait().unwrap();
        assert_eq!(now, hour(START + 2 * HOUR, &[("new", 1)]));
        let before = log.previous(b"web", &INFO, 9).wait().unwrap();
        assert_eq!(before, hour(START + HOUR, &[]));
        assert!(!backend.run(cmd::exists(last)).wait().unwrap());
    }
    on_both!(body);
}

#[test]
fn last_message_of_an_hour_that_comes_during_the_turn_is_archived_with_it() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        // A writer whose clock is a little slow, between the other's look and its commit: once
        // as the first message of the old hour, once as a further one.
        for earlier in [0_u64, 1] {
            let name = format!("web{earlier}");
            let slow = CommonLog::new(backend.clone(), Keys::new());
            slow.log(name.as_bytes(), &INFO, b"m").wait().unwrap();
            if earlier == 0 {
                let counts = Keys::new().common(name.as_bytes(), "info");
                backend.run(cmd::del([&counts])).wait().unwrap();
            }
            let old = env.now();
            let once = AtomicBool::new(false);
            let hook = {
                let (name, env, slow) = (name.clone(), env.clone(), slow.clone());
                move |step: &Step| {
                    let commits = matches!(step, Step::Commit(_));
                    if commits && !once.swap(true, Ordering::SeqCst) {
                        let now = env.now();
                        env.set(old);
                        slow.log(name.as_bytes(), &INFO, b"m").wait().unwrap();
                        env.set(now);
                    }
                    Fate::Pass
                }
            };
            let fast = CommonLog::new(Interposed::new(backend.clone(), hook), Keys::new());
            env.advance(HOUR);
            let counted = fast.log(name.as_bytes(), &INFO, b"n").wait().unwrap();
            assert_eq!(counted, Counted { attempts: 2, turned: true });
            let now = fast.top(name.as_bytes(), &INFO, 9).wait().unwrap();
            assert_eq!(now, hour(old + HOUR, &[("n", 1)]));
            let before = fast.previous(name.as_bytes(), &INFO, 9).wait().unwrap();
            assert_eq!(before, hour(old, &[("m", 1 + earlier)]));
        }
    }
    on_both!(body);
}

#[test]
fn conflict_without_end_is_an_error_after_five_seconds_and_nothing_is_counted() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let slept = Arc::new(Mutex::new(Vec::new()));
        let hook = {
            let (backend, env, slept) = (backend.clone(), env.clone(), Arc::clone(&slept));
            move |step: &Step| {
                match step {
                    Step::Commit(_) => {
                        let set = cmd::set(b"common:web:info:start", b"2023-11-14T22:00:00");
                        backend.run(set).wait().unwrap();
                    }
                    Step::Sleep(d) => {
                        slept.lock().push(*d);
                        env.advance(*d);
                    }
                    _ => (),
                }
                Fate::Pass
            }
        };
        let hostile = Interposed::new(backend.clone(), hook);
        let log = CommonLog::new(hostile, Keys::new());
        let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::GaveUp);
        assert!(error.is_definite());
        let spent = env.now().since(START);
        assert!(
            spent > Duration::from_millis(4_900) && spent < Duration::from_secs(5),
            "{spent:?}"
        );
        let longest = slept.lock().iter().max().copied().unwrap();
        assert!(longest <= Duration::from_millis(64), "{longest:?}");
        assert!(slept.lock().len() > 70, "waited {} times", slept.lock().len());
        assert_eq!(total(&log, b"web"), 0);
        let recent = RecentLog::new(backend.clone(), Keys::new());
        assert_eq!(recent.recent(b"web", &INFO, 1).wait().unwrap(), []);

        // Without patience it is tried once.
        slept.lock().clear();
        let log = log.with_patience(Duration::ZERO);
        let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
        assert!(error.to_string().contains("in 1 try"), "{error}");
        assert!(slept.lock().is_empty());
    }
    on_both!(body);
}

#[test]
fn giving_up_does_not_wait_for_a_clock_that_steps_back() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let hook = {
            let (backend, env) = (backend.clone(), env.clone());
            let mut slept = Duration::ZERO;
            let slept = Mutex::new(move |d| {
                slept += d;
                assert!(slept <= Duration::from_secs(5), "slept for {slept:?}");
            });
            move |step: &Step| {
                match step {
                    Step::Commit(_) => {
                        let set = cmd::set(b"common:web:info:start", b"2023-11-14T22:00:00");
                        backend.run(set).wait().unwrap();
                        env.set(env.now() - HOUR);
                    }
                    Step::Sleep(d) => {
                        slept.lock()(*d);
                        env.advance(*d);
                    }
                    _ => (),
                }
                Fate::Pass
            }
        };
        let log = CommonLog::new(Interposed::new(backend.clone(), hook), Keys::new());
        let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::GaveUp);
    }
    on_both!(body);
}

#[test]
fn lost_reply_of_the_commit_is_unknown_and_not_tried_again() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let commits = Arc::new(AtomicU32::new(0));
        let hook = {
            let commits = Arc::clone(&commits);
            move |step: &Step| match step {
                Step::Commit(_) => {
                    commits.fetch_add(1, Ordering::SeqCst);
                    Fate::LoseReply
                }
                _ => Fate::Pass,
            }
        };
        let log = CommonLog::new(Interposed::new(backend.clone(), hook), Keys::new());
        let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert_eq!(commits.load(Ordering::SeqCst), 1);
        assert_eq!(total(&log, b"web"), 1);
    }
    on_both!(body);
}

#[test]
fn reply_lost_before_the_commit_means_that_nothing_was_counted() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        for fate in [Fate::LoseReply, Fate::NotSent] {
            let hook = move |step: &Step| match step {
                Step::Watch(_) => fate,
                _ => Fate::Pass,
            };
            let log = CommonLog::new(Interposed::new(backend.clone(), hook), Keys::new());
            let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
            assert_eq!(total(&log, b"web"), 0);
        }
    }
    on_both!(body);
}

#[test]
fn foreign_name_of_an_hour_is_an_error_and_nothing_is_counted() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let log = CommonLog::new(backend.clone(), Keys::new());
        backend.run(cmd::set(b"common:web:info:start", b"teatime")).wait().unwrap();
        let error = log.log(b"web", &INFO, b"m").wait().unwrap_err();
        assert!(error.is_definite() && error.to_string().contains("teatime"), "{error}");
        assert!(!backend.run(cmd::exists(b"common:web:info")).wait().unwrap());
    }
    on_both!(body);
}

#[test]
fn writers_that_cross_the_hour_together_lose_and_double_nothing() {
    const WRITERS: usize = 8;
    const HOURS: u64 = 24;
    fn body<B: Backend>(backend: &B, env: &Env) {
        let log = CommonLog::new(backend.clone(), Keys::new());
        let per_hour = Mutex::new(vec![0_u64; HOURS as usize]);
        let done = AtomicBool::new(false);
        let turns = AtomicU32::new(0);
        let _awake = KeepAwake::new(env);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (log, done, turns) = (log.clone(), &done, &turns);
                    scope.spawn(move || {
                        let mut written = 0_u64;
                        while !done.load(Ordering::SeqCst) {
                            let message = format!("{}", (writer as u64 + written) % 3);
                            match log.log(b"web", &INFO, message.as_bytes()).wait() {
                                Ok(counted) => {
                                    turns.fetch_add(counted.turned.into(), Ordering::SeqCst);
                                    written += 1;
                                }
                                // To one in the middle of a try the jump of the clock was an hour
                                // of waiting.
                                Err(error) => assert_eq!(error.kind(), ErrorKind::GaveUp),
                            }
                        }
                        written
                    })
                })
                .collect();
            // The clock crosses from hour to hour while they write, and each hour that is over is
            // read before the next one is.
            for n in 1..HOURS {
                std::thread::sleep(Duration::from_millis(20));
                env.set(START + n as u32 * HOUR);
                let over = loop {
                    let before = log.previous(b"web", &INFO, usize::MAX).wait().unwrap();
                    if before.start == Some(START + (n - 1) as u32 * HOUR) {
                        break before;
                    }
                };
                per_hour.lock()[n as usize - 1] = over.messages.iter().map(|(_, n)| n).sum();
            }
            done.store(true, Ordering::SeqCst);
            let written: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
            let last = log.top(b"web", &INFO, usize::MAX).wait().unwrap();
            let last: u64 = last.messages.iter().map(|(_, n)| n).sum();
            assert_eq!(per_hour.lock().iter().sum::<u64>() + last, written);
        });
        assert_eq!(u64::from(turns.load(Ordering::SeqCst)), HOURS);
        assert!(per_hour.lock()[..HOURS as usize - 1].iter().all(|n| *n > 0));
    }
    on_both!(body);
}
