//! The counters and their cleaner.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{
    Chore, CleanedCounters, CounterCleaner, Counters, Daemon, Keys, MAX_ID, PRECISIONS, SAMPLES,
};
use stockroom::{Bytes, Env, ErrorKind, Timestamp};

use crate::bed::{START, on_both};
use crate::interpose::{Fate, Interposed, Step};

const MINUTE: Duration = Duration::from_secs(60);

/// A length of slices that keeps counts for as long as any test lasts.
const LONG: u32 = 86_400;

fn secs(secs: u32) -> Duration {
    Duration::from_secs(u64::from(secs))
}

fn counters<B: Backend>(backend: &B, precisions: &[u32]) -> Counters<B> {
    Counters::new(backend.clone(), Keys::new()).with_precisions(precisions).unwrap()
}

fn sum<B: Backend>(counters: &Counters<B>, name: &[u8], precision: u32) -> i64 {
    counters.series(name, precision).wait().unwrap().iter().map(|(_, count)| count).sum()
}

/// Every hash has its member of `known:`, and every member its hash.
fn assert_index_is_exact<B: Backend>(backend: &B, counters: &Counters<B>) {
    let mut hashes = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, page) = backend.run(cmd::scan(cursor, 1_000)).wait().unwrap();
        hashes.extend(page.into_iter().filter(|key| key.starts_with(b"count:")));
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    hashes.sort();
    hashes.dedup();
    let name = |(precision, name): (u32, Bytes)| Keys::new().count(precision, &name);
    let known = counters.known().wait().unwrap();
    let mut known: Vec<Bytes> = known.into_iter().map(|c| name(c).as_ref().into()).collect();
    known.sort();
    assert_eq!(hashes, known);
}

#[test]
fn increment_enters_all_precisions_in_one_round_trip() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = Counters::new(backend.clone(), Keys::new());
        env.advance(secs(3_725));
        let before = backend.stats();
        counters.increment(b"hits", 3).wait().unwrap();
        assert_eq!(backend.stats().round_trips - before.round_trips, 1);
        env.advance(secs(1));
        counters.increment(b"hits", -1).wait().unwrap();

        let now = START.as_secs() + 3_725;
        let whole = |precision: i64| Timestamp::from_secs(now / precision * precision);
        for precision in PRECISIONS {
            let series = counters.series(b"hits", precision).wait().unwrap();
            let expected = if precision == 1 {
                vec![(whole(1), 3), (whole(1) + secs(1), -1)]
            } else {
                vec![(whole(precision.into()), 2)]
            };
            assert_eq!(series, expected, "{precision}");
        }
        let known = PRECISIONS.map(|precision| (precision, Bytes::from("hits")));
        assert_eq!(counters.known().wait().unwrap(), known);
        let raw = backend.run(cmd::hgetall::<i64>(b"count:3600:hits")).wait().unwrap();
        assert_eq!(raw, [(Bytes::from((START + secs(3_600)).as_secs().to_string()), 2)]);
        let raw = backend.run(cmd::zscore(b"known:", b"18000:hits")).wait().unwrap();
        assert_eq!(raw, Some(0.0));
    }
    on_both!(body);
}

#[test]
fn series_is_in_the_order_of_time() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[5, 60]);
        // The clock jumps about; the text of a field is of several lengths.
        for at in [999_999_999, 1_000_000_000, 5, 99, 100, -7, 1_000_000_000, 0] {
            env.set(Timestamp::from_secs(at));
            counters.increment(b"hits", 1).wait().unwrap();
        }
        let series = counters.series(b"hits", 5).wait().unwrap();
        let starts: Vec<i64> = series.iter().map(|(start, _)| start.as_secs()).collect();
        assert_eq!(starts, [-10, 0, 5, 95, 100, 999_999_995, 1_000_000_000]);
        assert_eq!(series.last().unwrap().1, 2);
        assert_eq!(counters.series(b"misses", 5).wait().unwrap(), []);
    }
    on_both!(body);
}

#[test]
fn names_of_any_bytes_are_counters_of_their_own() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let counters = counters(backend, &[1, 60]);
        let names: [&[u8]; 8] = [b"a", b"60:a", b":", b"1:", b"a:", b"\0\xff\r\n", b"{x}", b"%3A"];
        let steps: Vec<_> = names.iter().zip(1..).map(|(name, by)| (*name, by)).collect();
        counters.increment_all(&steps).wait().unwrap();
        for (name, by) in &steps {
            assert_eq!((sum(&counters, name, 1), sum(&counters, name, 60)), (*by, *by));
        }
        let known: Vec<_> = counters.known().wait().unwrap();
        assert_eq!(known.len(), 16);
        assert!(names.iter().all(|name| known.contains(&(60, Bytes::from(*name)))));
        assert_index_is_exact(backend, &counters);
        let cleaned = counters.cleaner().pass().wait().unwrap();
        assert_eq!(cleaned, CleanedCounters { visited: 16, ..Default::default() });
    }
    on_both!(body);
}

#[test]
fn bad_input_is_refused_before_anything_is_sent() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let counters = Counters::new(backend.clone(), Keys::new());
        let long = vec![b'n'; MAX_ID + 1];
        let too_many: Vec<u32> = (1..=33).collect();
        let with = |precisions: &[u32]| counters.clone().with_precisions(precisions).err().unwrap();
        let errors = [
            counters.increment(b"", 1).wait().unwrap_err(),
            counters.increment(&long, 1).wait().unwrap_err(),
            counters.increment(b"n", 1_000_000_000_001).wait().unwrap_err(),
            counters.increment(b"n", i64::MIN).wait().unwrap_err(),
            counters.increment_all(&[(b"n", 1), (b"", 1)]).wait().unwrap_err(),
            counters.series(b"", 60).wait().unwrap_err(),
            counters.series(b"n", 61).wait().unwrap_err(),
            counters.series(b"n", 0).wait().unwrap_err(),
            with(&[]),
            with(&[0, 1]),
            with(&[60, 1, 60]),
            with(&[366 * 86_400 + 1]),
            with(&too_many),
        ];
        assert!(errors.iter().all(|e| e.kind() == ErrorKind::Invalid), "{errors:?}");
        assert!(errors[6].to_string().contains("61"), "{}", errors[6]);
        counters.increment_all(&[]).wait().unwrap();
        assert_eq!(backend.stats().commands, 0);
        counters.increment(&long[1..], -1_000_000_000_000).wait().unwrap();
        let sorted = counters.with_precisions(&[60, 1]).unwrap();
        assert_eq!(sorted.precisions(), [1, 60]);
    }
    on_both!(body);
}

#[test]
fn sum_beyond_64_bits_is_refused_and_the_other_slices_stand() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let counters = counters(backend, &[60, 300]);
        let start = START.as_secs();
        backend.run(cmd::hincrby(b"count:60:n", start, i64::MAX)).wait().unwrap();
        let error = counters.increment(b"n", 1).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("ERR")));
        let count = |precision| counters.series(b"n", precision).wait().unwrap();
        assert_eq!(count(60), [(START, i64::MAX)]);
        assert_eq!(count(300), [(START, 1)]);
    }
    on_both!(body);
}

#[test]
fn cleaner_keeps_exactly_the_newest_hundred_and_twenty() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[5]);
        for _ in 0..300 {
            counters.increment(b"hits", 1).wait().unwrap();
            env.advance(secs(5));
        }
        env.set(env.now() - secs(5));
        let newest = env.now();
        let cleaned = counters.cleaner().pass().wait().unwrap();
        assert_eq!((cleaned.visited, cleaned.slices, cleaned.counters), (1, 300 - 120, 0));
        let series = counters.series(b"hits", 5).wait().unwrap();
        assert_eq!(series.len(), SAMPLES as usize);
        assert_eq!(series[0].0, newest - 119 * secs(5));
        assert_eq!(series[119].0, newest);
        // A second later nothing more is too old, at the next slice one is.
        env.advance(secs(4));
        assert_eq!(counters.cleaner().pass().wait().unwrap().slices, 0);
        env.advance(secs(1));
        assert_eq!(counters.cleaner().pass().wait().unwrap().slices, 1);
    }
    on_both!(body);
}

#[test]
fn counter_that_nobody_counts_vanishes_whole() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[1, LONG]);
        counters.increment(b"hits", 1).wait().unwrap();
        env.advance(secs(120));
        let cleaned = counters.cleaner().pass().wait().unwrap();
        let expected = CleanedCounters { visited: 2, slices: 1, counters: 1, ..Default::default() };
        assert_eq!(cleaned, expected);
        assert_eq!(counters.known().wait().unwrap(), [(LONG, Bytes::from("hits"))]);
        assert_index_is_exact(backend, &counters);
        env.advance(secs(121) * LONG);
        assert_eq!(counters.cleaner().pass().wait().unwrap().counters, 1);
        assert!(!backend.run(cmd::exists(b"known:")).wait().unwrap());
    }
    on_both!(body);
}

#[test]
fn member_without_a_hash_is_healed() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        // What a crash between HDEL and ZREM would leave, of a cleaner that sends them apart.
        let counters = counters(backend, &[1, 60]);
        counters.increment(b"alive", 1).wait().unwrap();
        backend
            .run(cmd::zadd_all(b"known:", [(0, &b"1:gone"[..]), (0, b"60:gone")]))
            .wait()
            .unwrap();
        let cleaned = counters.cleaner().pass().wait().unwrap();
        assert_eq!((cleaned.visited, cleaned.slices, cleaned.counters), (4, 0, 2));
        assert_index_is_exact(backend, &counters);
        assert_eq!(counters.known().wait().unwrap().len(), 2);
    }
    on_both!(body);
}

#[test]
fn count_that_comes_while_a_counter_is_dropped_is_kept() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let plain = counters(backend, &[1]);
        // Before each step of the cleaner in turn, and several of them.
        for before in 0..5_u64 {
            plain.increment(b"hits", 1).wait().unwrap();
            env.advance(secs(1_000));
            let (steps, counted) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
            let hook = {
                let (plain, counted) = (plain.clone(), Arc::clone(&counted));
                move |step: &Step| {
                    if !matches!(step, Step::Session)
                        && steps.fetch_add(1, Ordering::SeqCst) == before
                    {
                        plain.increment(b"hits", 7).wait().unwrap();
                        counted.store(true, Ordering::SeqCst);
                    }
                    Fate::Pass
                }
            };
            let slow = counters(&Interposed::new(backend.clone(), hook), &[1]);
            let cleaned = slow.cleaner().pass().wait().unwrap();
            assert!(counted.load(Ordering::SeqCst), "the cleaner has {before} steps");
            assert_eq!(cleaned.counters, 0);
            // Only the last step is too late to notice: its transaction is not run.
            assert_eq!(cleaned.conflicts, u64::from(before == 4), "before step {before}");
            let series = plain.series(b"hits", 1).wait().unwrap();
            assert_eq!(series.last(), Some(&(env.now(), 7)));
            assert_index_is_exact(backend, &plain);
            env.advance(secs(1_000));
            let cleaned = plain.cleaner().pass().wait().unwrap();
            assert_eq!(cleaned.counters, 1);
        }
    }
    on_both!(body);
}

#[test]
fn lost_requests_and_replies_of_the_cleaner_leave_nothing_half_done() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let plain = counters(backend, &[1, LONG]);
        for fate in [Fate::NotSent, Fate::LoseReply] {
            for lost in 0..7_u64 {
                plain.increment_all(&[(b"gone", 1), (b"old", 1)]).wait().unwrap();
                env.advance(secs(1_000));
                plain.increment(b"old", 1).wait().unwrap();
                let steps = AtomicU64::new(0);
                let hook = move |step: &Step| match step {
                    Step::Sleep(_) => Fate::Pass,
                    _ if steps.fetch_add(1, Ordering::SeqCst) == lost => fate,
                    _ => Fate::Pass,
                };
                let lossy = counters(&Interposed::new(backend.clone(), hook), &[1, LONG]);
                let mut cleaner = lossy.cleaner();
                cleaner.pass().wait().unwrap_err();
                assert_index_is_exact(backend, &plain);
                cleaner.pass().wait().unwrap();
                assert_index_is_exact(backend, &plain);
                assert_eq!(plain.known().wait().unwrap().len(), 3);
                assert_eq!(plain.series(b"old", 1).wait().unwrap().len(), 1);
                env.advance(secs(1_000));
            }
        }
        assert_eq!(sum(&plain, b"old", LONG), 28);
    }
    on_both!(body);
}

#[test]
fn no_counter_is_skipped_when_others_vanish_and_appear_during_the_walk() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let plain = counters(backend, &[1]);
        let names: Vec<String> = (0..1_000).map(|n| format!("c{n:04}")).collect();
        let steps: Vec<_> = names.iter().map(|name| (name.as_bytes(), 1)).collect();
        plain.increment_all(&steps).wait().unwrap();
        env.advance(secs(1_000));
        // Every other one is still in use.
        let alive: Vec<_> = steps.iter().skip(1).step_by(2).copied().collect();
        plain.increment_all(&alive).wait().unwrap();
        let pages = AtomicU64::new(0);
        let hook = {
            let backend = backend.clone();
            move |step: &Step| {
                if matches!(step, Step::Send(names) if names[..] == ["ZRANGE"]) {
                    // Some that are walked already vanish, and others appear before and after.
                    let page = pages.fetch_add(1, Ordering::SeqCst);
                    for n in (page.saturating_sub(1) * 90..page * 90).step_by(7) {
                        let member = format!("1:c{n:04}");
                        backend.run(cmd::zrem(b"known:", [&*member])).wait().unwrap();
                    }
                    for new in [format!("1:a{page}"), format!("1:z{page}")] {
                        backend.run(cmd::zadd(b"known:", 0, &*new)).wait().unwrap();
                    }
                }
                Fate::Pass
            }
        };
        let slow = counters(&Interposed::new(backend.clone(), hook), &[1]);
        let cleaned = slow.cleaner().pass().wait().unwrap();
        assert_eq!(cleaned.slices, 1_000);
        for (n, name) in names.iter().enumerate() {
            let key = Keys::new().count(1, name.as_bytes());
            assert_eq!(backend.run(cmd::hlen(&key)).wait().unwrap(), n as u64 % 2, "{name}");
        }
    }
    on_both!(body);
}

#[test]
fn counters_are_visited_every_minute_or_every_precision_if_longer() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = Counters::new(backend.clone(), Keys::new());
        counters.increment(b"hits", 1).wait().unwrap();
        let mut cleaner = counters.cleaner();
        let mut visited = Vec::new();
        for _ in 0..=5 * 60 {
            counters.increment(b"hits", 1).wait().unwrap();
            visited.push(cleaner.pass().wait().unwrap().visited);
            assert_eq!(cleaner.rest(), MINUTE);
            env.advance(MINUTE);
        }
        let expected = |minute: u64| {
            let due = |p: &&u32| minute.is_multiple_of(u64::from(**p).div_ceil(60));
            PRECISIONS.iter().filter(due).count() as u64
        };
        let wrong =
            visited.iter().zip(0..).find(|(visited, minute)| **visited != expected(*minute));
        assert_eq!(wrong, None);
        env.set(START + secs(LONG));
        counters.increment(b"hits", 1).wait().unwrap();
        assert_eq!(cleaner.pass().wait().unwrap().visited, 7);
        // A clock that has stepped back does not keep the cleaner from its work.
        env.set(START - secs(1));
        assert_eq!(cleaner.pass().wait().unwrap().visited, 7);
    }
    on_both!(body);
}

#[test]
fn daemon_cleans_in_virtual_time() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[1, 5]);
        let steps: Vec<Vec<u8>> = (0..150).map(|n| format!("c{n}").into_bytes()).collect();
        let steps: Vec<_> = steps.iter().map(|name| (&**name, 1)).collect();
        counters.increment_all(&steps).wait().unwrap();
        let mut cleaner = counters.cleaner();
        // 300 members of the index are three pages, and the end of the walk.
        let mut rests = Vec::new();
        for _ in 0..4 {
            rests.push(cleaner.step().wait().unwrap().rest);
        }
        assert_eq!(rests, [Duration::ZERO, Duration::ZERO, Duration::ZERO, MINUTE]);
        let daemon = Daemon::new("cleaner", backend.clone(), cleaner);
        let control = daemon.control();
        // Threads, because the futures of a real server are not ready at the first look.
        let running = daemon.start().unwrap();
        let end = START + 11 * MINUTE;
        while env.now() < end {
            match env.next_wake() {
                Some(next) => env.set(next.min(end)),
                None => std::thread::yield_now(),
            }
        }
        while !counters.known().wait().unwrap().is_empty() {
            assert_eq!(control.report().errors, 0);
            if let Some(next) = env.next_wake() {
                env.set(next);
            }
        }
        let report = running.stop();
        assert_eq!(report.done, 2 * 300, "{report:?}");
        assert!(env.now() < end + 2 * MINUTE);
    }
    on_both!(body);
}

#[test]
fn keys_that_are_not_counters_are_left_alone_and_in_nobodys_way() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[1]);
        counters.increment_all(&[(b"a", 1), (b"z", 1)]).wait().unwrap();
        let members = ["", "nonsense", "0:a", "1:", "01:a", "-1:a", "1:text"];
        let members = members.map(|member| (0, member.as_bytes()));
        backend.run(cmd::zadd_all(b"known:", members)).wait().unwrap();
        backend.run(cmd::set(b"count:1:text", b"text")).wait().unwrap();
        env.advance(secs(1_000));
        let cleaned = counters.cleaner().pass().wait().unwrap();
        assert_eq!((cleaned.visited, cleaned.counters, cleaned.foreign), (2, 2, 7));
        let text = backend.run(cmd::get::<Bytes>(b"count:1:text")).wait().unwrap();
        assert_eq!(text.as_deref(), Some(&b"text"[..]));
        assert_eq!(backend.run(cmd::zcard(b"known:")).wait().unwrap(), 7);
    }
    on_both!(body);
}

#[test]
fn refusal_of_another_kind_stops_the_cleaner() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let refuse = |step: &Step| match step {
            Step::Send(names) if names.contains(&"HLEN") => Fate::Refuse("NOPERM no access"),
            _ => Fate::Pass,
        };
        let counters = counters(&Interposed::new(backend.clone(), refuse), &[1]);
        counters.increment(b"a", 1).wait().unwrap();
        let error = counters.cleaner().pass().wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("NOPERM")));
    }
    on_both!(body);
}

#[test]
fn cleaner_that_fails_half_way_says_that_a_part_is_done() {
    fn body<B: Backend>(backend: &B, env: &Env) {
        counters(backend, &[1]).increment_all(&[(b"a", 1), (b"b", 1)]).wait().unwrap();
        env.advance(secs(1_000));
        let looks = AtomicU64::new(0);
        let second_fails = move |step: &Step| match step {
            Step::Watch(_) if looks.fetch_add(1, Ordering::SeqCst) == 1 => Fate::NotSent,
            _ => Fate::Pass,
        };
        let hostile = counters(&Interposed::new(backend.clone(), second_fails), &[1]);
        let mut cleaner = hostile.cleaner();
        assert_eq!(cleaner.pass().wait().unwrap_err().kind(), ErrorKind::Partly);
        assert_eq!(hostile.known().wait().unwrap(), [(1, "b".into())]);
        // It looks at the same page again.
        assert_eq!(cleaner.pass().wait().unwrap().counters, 1);
        assert_index_is_exact(backend, &counters(backend, &[1]));
    }
    on_both!(body);
}

#[test]
fn long_neglected_counters_are_read_in_portions() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let counters = counters(backend, &[1]);
        for name in ["a", "b", "c", "d"] {
            let key = Keys::new().count(1, name.as_bytes());
            let fields: Vec<Vec<u8>> = (0..9_000).map(|n| format!("{n}").into_bytes()).collect();
            let fields = fields.iter().map(|field| (&**field, 1));
            backend.run(cmd::hset_all(&key, fields)).wait().unwrap();
            counters.increment(name.as_bytes(), 1).wait().unwrap();
        }
        let most = Arc::new(AtomicU64::new(0));
        let hook = {
            let most = Arc::clone(&most);
            move |step: &Step| {
                if let Step::Send(names) = step {
                    let keys = names.iter().filter(|name| **name == "HKEYS").count();
                    most.fetch_max(keys as u64, Ordering::SeqCst);
                }
                Fate::Pass
            }
        };
        let watched = Counters::new(Interposed::new(backend.clone(), hook), Keys::new());
        let cleaned = watched.cleaner().pass().wait().unwrap();
        assert_eq!((cleaned.visited, cleaned.slices), (4, 36_000));
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }
    on_both!(body);
}

#[test]
fn counts_and_cleaning_side_by_side_lose_nothing() {
    const NAMES: usize = 12;
    fn body<B: Backend>(backend: &B, env: &Env) {
        let counters = counters(backend, &[1, 5, LONG]);
        let sums: Vec<AtomicI64> = (0..NAMES).map(|_| AtomicI64::new(0)).collect();
        let done = AtomicBool::new(false);
        let dropped = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let clean = |mut cleaner: CounterCleaner<B>| {
                while !done.load(Ordering::SeqCst) {
                    let cleaned = cleaner.pass().wait().unwrap();
                    dropped.fetch_add(cleaned.counters, Ordering::SeqCst);
                }
            };
            let cleaners = [counters.cleaner(), counters.cleaner()];
            let cleaners = cleaners.map(|cleaner| scope.spawn(move || clean(cleaner)));
            let writers: Vec<_> = (0..3)
                .map(|writer: usize| {
                    let (counters, sums) = (&counters, &sums);
                    scope.spawn(move || {
                        for n in 0..400 {
                            let which = (n * (writer + 5) + writer) % NAMES;
                            let by = (n % 9) as i64 - 3;
                            let name = format!("c{which}");
                            counters.increment(name.as_bytes(), by).wait().unwrap();
                            sums[which].fetch_add(by, Ordering::SeqCst);
                            // Counters of a second are empty after each step of the clock.
                            env.advance(secs(41));
                        }
                    })
                })
                .collect();
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::SeqCst);
            for cleaner in cleaners {
                cleaner.join().unwrap();
            }
        });
        assert!(dropped.load(Ordering::SeqCst) > 0, "nothing raced");
        for (n, expected) in sums.iter().enumerate() {
            let name = format!("c{n}");
            assert_eq!(sum(&counters, name.as_bytes(), LONG), expected.load(Ordering::SeqCst));
        }
        assert_index_is_exact(backend, &counters);
    }
    on_both!(body);
}

#[test]
fn configured_precisions_are_the_ones_counted() {
    fn body<B: Backend>(backend: &B, _: &Env) {
        let counters = counters(backend, &[7, 100]);
        counters.increment(b"n", 2).wait().unwrap();
        let known = counters.known().wait().unwrap();
        let known: BTreeMap<u32, Bytes> = known.into_iter().collect();
        assert_eq!(known.keys().copied().collect::<Vec<_>>(), [7, 100]);
        assert_eq!(sum(&counters, b"n", 7), 2);
    }
    on_both!(body);
}
