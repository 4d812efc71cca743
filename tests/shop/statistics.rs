//! Statistics: sums by the hour, once each, and the slowest contexts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{ACCESS_TIME, Keys, MAX_ID, Recorded, SLOWEST_KEPT, Statistics};
use stockroom::{Bytes, Error, ErrorKind, Timestamp};

use crate::bed::{START, assert_invalid, each_backend, hostile_ids, memory};
use crate::interpose::{Fate, Interposed, Step};

const HOUR: Duration = Duration::from_secs(3_600);

fn statistics<B: Backend>(backend: &B) -> Statistics<B> {
    Statistics::new(backend.clone(), Keys::new())
}

fn count<B: Backend>(statistics: &Statistics<B>, kind: &[u8], at: Timestamp) -> u64 {
    statistics.summary_at(b"c", kind, at).wait().unwrap().map_or(0, |hour| hour.count)
}

fn all_keys<B: Backend>(backend: &B) -> Vec<Bytes> {
    let mut keys = backend.run(cmd::scan(0, 100_000)).wait().unwrap().1;
    keys.sort();
    keys
}

each_backend! {
    fn values_are_summed_up_in_one_round_trip_each(backend, _clock) {
        let statistics = statistics(backend);
        assert_eq!(statistics.summary(b"c", b"k").wait().unwrap(), None);
        let before = backend.stats().round_trips;
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let mut last = None;
        for value in values {
            last = Some(statistics.record(b"c", b"k", value).wait().unwrap());
        }
        assert_eq!(last, Some(Recorded { count: 8, mean: 5.0 }));
        assert_eq!(backend.stats().round_trips - before, 8);
        let hour = statistics.summary(b"c", b"k").wait().unwrap().unwrap();
        assert_eq!((hour.hour, hour.count, hour.mean()), (START, 8, 5.0));
        assert_eq!((hour.sum, hour.sum_of_squares), (40.0, 232.0));
        assert_eq!((hour.min, hour.max), (2.0, 9.0));
        assert_eq!(hour.variance(), Some(32.0 / 7.0));
        assert_eq!(hour.standard_deviation(), Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!(all_keys(backend), ["stats:c:k:1699999200"]);
        // Kinds and contexts are apart.
        assert_eq!(statistics.summary(b"c", b"other").wait().unwrap(), None);
        assert_eq!(statistics.summary(b"k", b"c").wait().unwrap(), None);
    }
}

each_backend! {
    fn several_values_are_counted_in_one_round_trip_or_none_of_them(backend, _clock) {
        let statistics = statistics(backend);
        statistics.record_all(&[]).wait().unwrap();
        let bad = statistics.record_all(&[(b"c", b"k", 1.0), (b"c", b"k", f64::NAN)]).wait();
        assert_invalid(bad, "value");
        assert_invalid(statistics.record_all(&[(b"c", b"", 1.0)]).wait(), "kind");
        assert_eq!(backend.stats().commands, 0);
        let values: [(&[u8], &[u8], f64); 3] =
            [(b"c", b"k", 1.0), (b"c", b"other", 5.0), (b"c", b"k", 3.0)];
        statistics.record_all(&values).wait().unwrap();
        assert_eq!(backend.stats().round_trips, 1);
        let hour = statistics.summary(b"c", b"k").wait().unwrap().unwrap();
        assert_eq!((hour.count, hour.sum, hour.min, hour.max), (2, 4.0, 1.0, 3.0));
        assert_eq!(count(&statistics, b"other", START), 1);
    }
}

each_backend! {
    fn values_below_zero_and_zeros_and_extremes_are_values(backend, _clock) {
        let statistics = statistics(backend);
        for value in [-0.0, 0.0, -1e100, 1e100, f64::MIN_POSITIVE, -0.1] {
            statistics.record(b"c", b"k", value).wait().unwrap();
        }
        let hour = statistics.summary(b"c", b"k").wait().unwrap().unwrap();
        assert_eq!((hour.count, hour.min, hour.max), (6, -1e100, 1e100));
        let deviation = hour.standard_deviation().unwrap();
        assert!((deviation / 1e100 - 0.4_f64.sqrt()).abs() < 1e-9, "{deviation}");
        let once = statistics.record(b"c", b"single", -7.5).wait().unwrap();
        assert_eq!(once, Recorded { count: 1, mean: -7.5 });
        let hour = statistics.summary(b"c", b"single").wait().unwrap().unwrap();
        assert_eq!((hour.min, hour.max, hour.standard_deviation()), (-7.5, -7.5, None));
    }
}

each_backend! {
    fn each_hour_has_its_own_numbers_and_ends_a_day_after_its_last_value(backend, clock) {
        let statistics = statistics(backend);
        statistics.record(b"c", b"k", 1.0).wait().unwrap();
        clock.advance(Duration::from_micros(3_599_999_999));
        statistics.record(b"c", b"k", 2.0).wait().unwrap();
        assert_eq!(statistics.previous(b"c", b"k").wait().unwrap(), None);
        clock.advance(Duration::from_micros(1));
        assert_eq!(statistics.summary(b"c", b"k").wait().unwrap(), None);
        statistics.record(b"c", b"k", 5.0).wait().unwrap();
        let now = statistics.summary(b"c", b"k").wait().unwrap().unwrap();
        let before = statistics.previous(b"c", b"k").wait().unwrap().unwrap();
        assert_eq!((now.hour, now.count, now.max), (START + HOUR, 1, 5.0));
        assert_eq!((before.hour, before.count, before.max), (START, 2, 2.0));
        // After a silent hour there is no previous one, but it can be asked for.
        clock.advance(HOUR);
        clock.advance(HOUR);
        assert_eq!(statistics.previous(b"c", b"k").wait().unwrap(), None);
        assert_eq!(count(&statistics, b"k", START + Duration::from_secs(1)), 2);
        // The first hour's last value came just before the second hour.
        clock.set(START + 25 * HOUR - Duration::from_millis(1));
        assert_eq!(count(&statistics, b"k", START), 2);
        clock.set(START + 25 * HOUR + Duration::from_millis(1));
        assert_eq!(count(&statistics, b"k", START), 0);
        clock.advance(HOUR);
        assert!(all_keys(backend).is_empty());
    }
}

each_backend! {
    fn clock_that_steps_back_counts_for_the_hour_it_shows(backend, clock) {
        let statistics = statistics(backend);
        clock.set(START + HOUR);
        statistics.record(b"c", b"k", 1.0).wait().unwrap();
        for back in [START, Timestamp::from_secs(-1)] {
            clock.env().set(back);
            statistics.record(b"c", b"k", 2.0).wait().unwrap();
            let hour = statistics.summary(b"c", b"k").wait().unwrap().unwrap();
            assert_eq!((hour.count, hour.sum), (1, 2.0));
            assert!(hour.hour <= back && back < hour.hour + HOUR);
        }
        clock.env().set(START + HOUR);
        assert_eq!(statistics.summary(b"c", b"k").wait().unwrap().unwrap().sum, 1.0);
        assert_eq!(statistics.previous(b"c", b"k").wait().unwrap().unwrap().sum, 2.0);
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let statistics = statistics(backend);
        let huge = vec![b'x'; MAX_ID + 1];
        for id in [&b""[..], &huge] {
            assert_invalid(statistics.record(id, b"k", 1.0).wait(), "context");
            assert_invalid(statistics.record(b"c", id, 1.0).wait(), "kind");
            assert_invalid(statistics.record_once(id, b"k", 1.0, b"m").wait(), "context");
            assert_invalid(statistics.record_once(b"c", id, 1.0, b"m").wait(), "kind");
            assert_invalid(statistics.record_once(b"c", b"k", 1.0, id).wait(), "message id");
            assert_invalid(statistics.summary(id, b"k").wait(), "context");
            assert_invalid(statistics.previous(b"c", id).wait(), "kind");
            assert_invalid(statistics.record_access(id, HOUR).wait(), "context");
            let block = async { panic!("a block of no context is not run") };
            assert_invalid(statistics.time(id, block).wait(), "context");
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1.1e100, -1.1e100] {
            assert_invalid(statistics.record(b"c", b"k", value).wait(), "value");
            assert_invalid(statistics.record_once(b"c", b"k", value, b"m").wait(), "value");
        }
        for kept in [Duration::ZERO, Duration::from_secs(7_199), Duration::MAX] {
            assert_invalid(statistics.clone().with_kept(kept).map(drop), "time to keep hours");
        }
        for kept in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            assert_invalid(statistics.clone().with_ids_kept(kept).map(drop), "time to keep ids");
        }
        assert!(statistics.slowest(0).wait().unwrap().is_empty());
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn hostile_names_stay_apart(backend, _clock) {
        let (statistics, ids) = (statistics(backend), hostile_ids());
        for (n, context) in ids.iter().enumerate() {
            for (m, kind) in ids.iter().enumerate() {
                let value = (n * 100 + m) as f64;
                assert!(statistics.record_once(context, kind, value, kind).wait().unwrap());
                let again = statistics.record_once(context, kind, value, context).wait().unwrap();
                assert_eq!(again, n != m);
            }
            statistics.record_access(context, HOUR).wait().unwrap();
        }
        for (n, context) in ids.iter().enumerate() {
            for (m, kind) in ids.iter().enumerate() {
                let hour = statistics.summary(context, kind).wait().unwrap().unwrap();
                assert_eq!((hour.count, hour.max), (1 + u64::from(n != m), (n * 100 + m) as f64));
            }
        }
        assert_eq!(statistics.slowest(99).wait().unwrap().len(), ids.len());
    }
}

each_backend! {
    fn value_with_an_id_counts_once_while_the_id_is_kept(backend, clock) {
        let minute = Duration::from_secs(60);
        let statistics = statistics(backend).with_ids_kept(minute).unwrap();
        let before = backend.stats().round_trips;
        assert!(statistics.record_once(b"c", b"k", 1.0, b"m").wait().unwrap());
        assert_eq!(backend.stats().round_trips - before, 2);
        assert!(!statistics.record_once(b"c", b"k", 1.0, b"m").wait().unwrap());
        assert_eq!(backend.stats().round_trips - before, 3);
        assert!(statistics.record_once(b"c", b"k", 1.0, b"n").wait().unwrap());
        assert!(statistics.record_once(b"c", b"other", 1.0, b"m").wait().unwrap());
        assert_eq!(count(&statistics, b"k", START), 2);
        // Also in another hour.
        clock.set(START + HOUR - minute / 2);
        assert!(statistics.record_once(b"c", b"k", 1.0, b"late").wait().unwrap());
        clock.set(START + HOUR + minute / 2);
        assert!(!statistics.record_once(b"c", b"k", 1.0, b"late").wait().unwrap());
        clock.advance(Duration::from_millis(1));
        assert!(statistics.record_once(b"c", b"k", 1.0, b"late").wait().unwrap());
        assert_eq!(count(&statistics, b"k", START + HOUR), 1);
    }
}

each_backend! {
    fn repeating_after_a_lost_request_or_reply_counts_once(backend, _clock) {
        let plain = statistics(backend);
        for (n, fate) in [Fate::NotSent, Fate::LoseReply].into_iter().enumerate() {
            for lost in 0..3_u32 {
                let steps = AtomicU32::new(0);
                let hook = move |_: &Step| match steps.fetch_add(1, Ordering::SeqCst) {
                    step if step == lost => fate,
                    _ => Fate::Pass,
                };
                let lossy = statistics(&Interposed::new(backend.clone(), hook));
                let (kind, id) = (format!("{n}{lost}"), b"m");
                let error = lossy.record_once(b"c", kind.as_bytes(), 1.0, id).wait().unwrap_err();
                let done = fate == Fate::LoseReply && lost == 2;
                assert_eq!(error.is_unknown(), done, "{error}");
                let counted = lossy.record_once(b"c", kind.as_bytes(), 1.0, id).wait().unwrap();
                assert_eq!(counted, !done);
                assert_eq!(count(&plain, kind.as_bytes(), START), 1);
            }
        }
        // Without an id the outcome is unknown, and nobody may think otherwise.
        let lossy = Interposed::new(backend.clone(), |_: &Step| Fate::LoseReply);
        let error = statistics(&lossy).record(b"c", b"k", 1.0).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert_eq!(count(&plain, b"k", START), 1);
    }
}

each_backend! {
    fn same_id_between_any_two_steps_counts_once(backend, _clock) {
        let plain = statistics(backend);
        for at in 0..3_u32 {
            let kind = [b'0' + at as u8];
            let steps = AtomicU32::new(0);
            let hook = {
                let plain = plain.clone();
                move |_: &Step| {
                    if steps.fetch_add(1, Ordering::SeqCst) == at {
                        assert!(plain.record_once(b"c", &kind, 1.0, b"m").wait().unwrap());
                    }
                    Fate::Pass
                }
            };
            let slow = statistics(&Interposed::new(backend.clone(), hook));
            assert!(!slow.record_once(b"c", &kind, 1.0, b"m").wait().unwrap());
            assert_eq!(count(&plain, &kind, START), 1);
        }
    }
}

each_backend! {
    fn writers_that_cross_the_hour_together_lose_and_double_nothing(backend, clock) {
        const HOURS: u32 = 12;
        let statistics = &statistics(backend);
        let (done, written) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..6_u8 {
                let (done, written) = (&done, &written);
                scope.spawn(move || {
                    for n in 0_u32.. {
                        if done.load(Ordering::SeqCst) {
                            break;
                        }
                        if thread % 2 == 0 {
                            statistics.record(b"c", b"k", 3.0).wait().unwrap();
                            written.fetch_add(1, Ordering::SeqCst);
                        } else {
                            // Two writers have each message: one of them counts it.
                            let id = [&[thread / 4][..], &n.to_be_bytes()].concat();
                            let new = statistics.record_once(b"c", b"k", 3.0, &id).wait().unwrap();
                            written.fetch_add(new.into(), Ordering::SeqCst);
                        }
                    }
                });
            }
            // On when each hour has something in it, or when nobody comes for long.
            for n in 0..HOURS {
                let hour = START + n * HOUR;
                clock.env().set(hour);
                let some = |_: &u32| count(statistics, b"k", hour) < 20;
                (0..5_000).take_while(some).for_each(|_| std::thread::yield_now());
            }
            done.store(true, Ordering::SeqCst);
        });
        let hours: Vec<_> = (0..HOURS)
            .map(|n| statistics.summary_at(b"c", b"k", START + n * HOUR).wait().unwrap())
            .map(|hour| hour.expect("somebody wrote in each hour"))
            .collect();
        let total: u64 = hours.iter().map(|hour| hour.count).sum();
        assert_eq!(total, written.load(Ordering::SeqCst));
        for hour in hours {
            assert_eq!(hour.sum, 3.0 * hour.count as f64);
            assert_eq!((hour.min, hour.max), (3.0, 3.0));
        }
    }
}

each_backend! {
    fn slowest_contexts_of_the_hour_are_kept_by_their_mean(backend, clock) {
        let statistics = statistics(backend);
        for n in 0..SLOWEST_KEPT as u32 + 20 {
            let took = Duration::from_millis(u64::from(n * 7 % 120));
            statistics.record_access(format!("page {n:03}").as_bytes(), took).wait().unwrap();
        }
        let before = backend.stats().round_trips;
        statistics.record_access(b"page 000", Duration::from_secs(4)).wait().unwrap();
        assert_eq!(backend.stats().round_trips - before, 2);
        let slowest = statistics.slowest(usize::MAX).wait().unwrap();
        assert_eq!(slowest.len(), SLOWEST_KEPT);
        assert_eq!(slowest[0], ("page 000".into(), Duration::from_secs(2)));
        assert_eq!(slowest[1].1, Duration::from_millis(119));
        assert!(slowest.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        assert_eq!(statistics.slowest(2).wait().unwrap(), slowest[..2]);
        let hour = statistics.summary(b"page 000", ACCESS_TIME).wait().unwrap().unwrap();
        assert_eq!((hour.count, hour.min, hour.max), (2, 0.0, 4.0));
        // A new hour, a new list; what was slow once does not stay for ever.
        clock.advance(HOUR);
        assert!(statistics.slowest(9).wait().unwrap().is_empty());
        assert_eq!(statistics.slowest_at(2, START).wait().unwrap(), slowest[..2]);
        clock.advance(24 * HOUR);
        assert!(all_keys(backend).is_empty());
    }
}

each_backend! {
    fn block_is_timed_by_the_backends_clock(backend, clock) {
        let statistics = statistics(backend);
        let timed = statistics.time(b"page", async {
            clock.advance(Duration::from_millis(250));
            "done"
        });
        let timed = timed.wait().unwrap();
        assert_eq!((timed.output, timed.took), ("done", Duration::from_millis(250)));
        timed.recorded.unwrap();
        // A clock that was put back meanwhile gives no time below zero.
        let timed = statistics.time(b"page", async { clock.env().set(START) }).wait().unwrap();
        assert_eq!(timed.took, Duration::ZERO);
        let hour = statistics.summary(b"page", ACCESS_TIME).wait().unwrap().unwrap();
        assert_eq!((hour.count, hour.sum), (2, 0.25));
        let slowest = statistics.slowest(9).wait().unwrap();
        assert_eq!(slowest, [("page".into(), Duration::from_millis(125))]);
    }
}

#[test]
fn output_of_a_block_is_not_lost_when_its_time_cannot_be_recorded() {
    let (memory, _) = memory();
    for (fate, kind) in [(Fate::NotSent, ErrorKind::NotSent), (Fate::LoseReply, ErrorKind::Unknown)]
    {
        let statistics = statistics(&Interposed::new(memory.clone(), move |_: &Step| fate));
        let timed = statistics.time(b"page", async { Err::<(), _>("of its own") }).wait().unwrap();
        assert_eq!(timed.output, Err("of its own"));
        assert_eq!(timed.recorded.unwrap_err().kind(), kind);
    }
}

#[test]
fn block_that_is_dropped_records_nothing() {
    let (memory, _) = memory();
    let statistics = statistics(&memory);
    {
        let mut timed = std::pin::pin!(statistics.time(b"page", std::future::pending::<()>()));
        assert!(crate::bed::settle(timed.as_mut()).is_pending());
    }
    assert!(all_keys(&memory).is_empty());
}

each_backend! {
    fn foreign_content_is_an_error_and_no_panic(backend, _clock) {
        let statistics = statistics(backend);
        let key = b"stats:c:k:1699999200";
        backend.run(cmd::zadd(key, f64::INFINITY, b"sum")).wait().unwrap();
        let error = statistics.summary(b"c", b"k").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
        backend.run(cmd::del([key])).wait().unwrap();
        backend.run(cmd::set(key, "text")).wait().unwrap();
        let wrong = |error: Error| assert_eq!(error.code(), Some("WRONGTYPE"));
        wrong(statistics.record(b"c", b"k", 1.0).wait().unwrap_err());
        wrong(statistics.summary(b"c", b"k").wait().unwrap_err());
        let shared = Arc::new(statistics);
        assert!(shared.record(b"c", b"other", 1.0).wait().is_ok());
    }
}
