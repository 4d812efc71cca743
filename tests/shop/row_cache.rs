//! Row cache: what is loaded when, what is kept, what is dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Chore, Columns, Daemon, MAX_ID, Progress, RowOutcome, RowPlan, RowStep};
use stockroom::{Bytes, ErrorKind};

use crate::bed::{START, assert_invalid, each_backend, hostile_ids, memory, pass};
use crate::rows::{Database, all_keys, cache, drain, outcome, stock};

const SECOND: Duration = Duration::from_secs(1);

each_backend! {
    fn row_is_loaded_when_it_is_due_and_again_after_its_delay(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a", b"b"]));
        assert!(matches!(rows.refresh_step(&database).wait().unwrap(), RowStep::Idle(None)));
        rows.schedule(b"a", 5 * SECOND).wait().unwrap();
        rows.schedule(b"b", Duration::from_millis(7_500)).wait().unwrap();
        assert_eq!(drain(&rows, &database), Some(START + 5 * SECOND));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(1));
        assert_eq!(rows.columns(b"a").wait().unwrap().unwrap()["stock"], 1);
        database.put(b"a", 2);
        clock.advance(Duration::from_micros(4_999_999));
        assert_eq!(drain(&rows, &database), Some(START + 5 * SECOND));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(1));
        clock.advance(Duration::from_micros(1));
        assert_eq!(drain(&rows, &database), Some(START + Duration::from_millis(7_500)));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        assert_eq!((database.loads(b"a"), database.loads(b"b")), (2, 1));
        let plan = RowPlan { delay: 5 * SECOND, next: START + 10 * SECOND };
        assert_eq!(rows.planned(b"a").wait().unwrap(), Some(plan));
        assert_eq!(rows.scheduled().wait().unwrap(), 2);
        assert_eq!(all_keys(backend), ["delay:", "inv:a", "inv:b", "schedule:"]);
    }
}

each_backend! {
    fn refresh_takes_five_round_trips_and_a_look_at_nothing_one(backend, _clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        let trips = |act: &dyn Fn()| {
            let before = backend.stats().round_trips;
            act();
            backend.stats().round_trips - before
        };
        assert_eq!(trips(&|| rows.schedule(b"a", SECOND).wait().unwrap()), 1);
        assert_eq!(trips(&|| drop(rows.refresh_step(&database).wait().unwrap())), 5);
        assert_eq!(trips(&|| drop(rows.refresh_step(&database).wait().unwrap())), 1);
        assert_eq!(trips(&|| drop(rows.get(b"a").wait().unwrap())), 1);
        assert_eq!(trips(&|| drop(rows.fetch(b"a", SECOND, &database).wait().unwrap())), 1);
        assert_eq!(trips(&|| assert!(rows.unschedule(b"a").wait().unwrap())), 1);
        assert_eq!(trips(&|| drop(rows.fetch(b"a", SECOND, &database).wait().unwrap())), 3);
    }
}

each_backend! {
    fn failing_load_keeps_the_last_copy_and_is_tried_later_and_later(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a", b"b"]));
        rows.schedule(b"a", SECOND).wait().unwrap();
        drain(&rows, &database);
        clock.advance(SECOND);
        database.0.lock().down = true;
        rows.schedule(b"b", SECOND).wait().unwrap();
        for attempt in 1..=12_u32 {
            let step = rows.refresh_step(&database).wait().unwrap();
            let RowOutcome::Failed { error, failures, retry_in } = outcome(step) else {
                panic!("the database is down")
            };
            assert_eq!((error.kind(), failures), (ErrorKind::Callback, attempt));
            let limit = (SECOND * 2_u32.pow(attempt - 1)).min(300 * SECOND);
            assert!(retry_in >= limit / 2 && retry_in <= limit, "{retry_in:?} of {limit:?}");
            assert_eq!(rows.get(b"a").wait().unwrap(), stock(1));
            let next = clock.now() + retry_in;
            assert_eq!(rows.planned(b"a").wait().unwrap().unwrap().next, next);
            assert_eq!(rows.failing(1).wait().unwrap(), [("a".into(), u64::from(attempt))]);
            if attempt == 1 {
                // The other row was not kept waiting by this one.
                let step = rows.refresh_step(&database).wait().unwrap();
                assert!(matches!(step, RowStep::Row { row, .. } if row == "b"));
                assert_eq!(rows.failing(9).wait().unwrap().len(), 2);
                rows.unschedule(b"b").wait().unwrap();
            }
            clock.advance(retry_in);
        }
        database.0.lock().down = false;
        database.put(b"a", 2);
        drain(&rows, &database);
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        assert!(rows.failing(9).wait().unwrap().is_empty());
        assert!(rows.failing(0).wait().unwrap().is_empty());
        let plan = rows.planned(b"a").wait().unwrap().unwrap();
        assert_eq!(plan, RowPlan { delay: SECOND, next: clock.now() + SECOND });
    }
}

each_backend! {
    fn row_that_no_longer_exists_is_uncached_and_unscheduled(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        rows.schedule(b"a", SECOND).wait().unwrap();
        rows.schedule(b"never", SECOND).wait().unwrap();
        drain(&rows, &database);
        database.remove(b"a");
        clock.advance(SECOND);
        let step = rows.refresh_step(&database).wait().unwrap();
        assert!(matches!(outcome(step), RowOutcome::Gone));
        assert!(all_keys(backend).is_empty());
    }
}

each_backend! {
    fn delay_of_zero_or_less_drops_the_row(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        for drop in 0..3 {
            rows.schedule_secs(b"a", 0.5).wait().unwrap();
            drain(&rows, &database);
            assert!(rows.get(b"a").wait().unwrap().is_some());
            match drop {
                0 => rows.schedule(b"a", Duration::ZERO).wait().unwrap(),
                1 => rows.schedule_secs(b"a", -1.0).wait().unwrap(),
                _ => rows.schedule_secs(b"a", f64::NEG_INFINITY).wait().unwrap(),
            }
            assert!(all_keys(backend).is_empty());
        }
        // As a client of the published form leaves it: the delay says it, or is missing.
        for delay in [Some(0.0), Some(-1.0), None] {
            rows.schedule(b"a", SECOND).wait().unwrap();
            drain(&rows, &database);
            match delay {
                Some(delay) => { backend.run(cmd::zadd(b"delay:", delay, b"a")).wait().unwrap(); }
                None => { backend.run(cmd::zrem(b"delay:", [b"a"])).wait().unwrap(); }
            }
            backend.run(cmd::zadd(b"schedule:", clock.now(), b"a")).wait().unwrap();
            let loads = database.loads(b"a");
            let step = rows.refresh_step(&database).wait().unwrap();
            assert!(matches!(outcome(step), RowOutcome::Dropped));
            assert!(all_keys(backend).is_empty());
            assert_eq!(database.loads(b"a"), loads);
        }
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let (rows, database) = (cache(backend), Database::default());
        let huge = vec![b'x'; MAX_ID + 1];
        for row in [&b""[..], &huge] {
            assert_invalid(rows.schedule(row, SECOND).wait(), "row");
            assert_invalid(rows.schedule(row, Duration::ZERO).wait(), "row");
            assert_invalid(rows.schedule_secs(row, f64::NAN).wait(), "row");
            assert_invalid(rows.unschedule(row).wait(), "row");
            assert_invalid(rows.get(row).wait(), "row");
            assert_invalid(rows.columns(row).wait(), "row");
            assert_invalid(rows.planned(row).wait(), "row");
            assert_invalid(rows.fetch(row, SECOND, &database).wait(), "row");
        }
        let year = Duration::from_secs(366 * 86_400);
        let nano = Duration::from_nanos(1);
        for delay in [Duration::from_micros(999), year + nano, Duration::MAX] {
            assert_invalid(rows.schedule(b"a", delay).wait(), "delay");
            assert_invalid(rows.fetch(b"a", delay, &database).wait(), "delay");
        }
        assert_invalid(rows.fetch(b"a", Duration::ZERO, &database).wait(), "delay");
        for delay in [f64::NAN, -f64::NAN, f64::INFINITY, 1e300, 4e7, 1e-9, f64::MIN_POSITIVE] {
            assert_invalid(rows.schedule_secs(b"a", delay).wait(), "delay");
        }
        for lease in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
            assert_invalid(rows.clone().with_lease(lease).map(drop), "lease");
        }
        assert_eq!(backend.stats().commands, 0);
        rows.schedule(&huge[1..], year).wait().unwrap();
        rows.schedule_secs(b"a", 1e-3).wait().unwrap();
        assert_eq!(rows.planned(&huge[1..]).wait().unwrap().unwrap().delay, year);
    }
}

each_backend! {
    fn hostile_rows_stay_apart(backend, _clock) {
        let ids = hostile_ids();
        let database = Database::default();
        let rows = cache(backend);
        for (n, id) in ids.iter().enumerate() {
            database.put(id, n as u64);
            rows.schedule(id, SECOND).wait().unwrap();
        }
        drain(&rows, &database);
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(rows.get(id).wait().unwrap(), stock(n as u64));
        }
        for id in &ids {
            assert!(rows.unschedule(id).wait().unwrap());
            assert!(!rows.unschedule(id).wait().unwrap());
        }
        assert!(all_keys(backend).is_empty());
    }
}

each_backend! {
    fn foreign_copy_is_an_unexpected_reply_and_no_panic(backend, _clock) {
        let rows = cache(backend);
        for copy in ["", "7", "[1]", "{", "\u{0}", "{\"a\":1}x"] {
            backend.run(cmd::set(b"inv:a", copy)).wait().unwrap();
            let error = rows.columns(b"a").wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{copy}");
        }
    }
}

each_backend! {
    fn columns_keep_their_order_and_any_text(backend, _clock) {
        let columns: Columns = [
            ("z".to_owned(), serde_json::json!(null)),
            ("a \"quoted\"\n\u{0}ü".to_owned(), serde_json::json!(["x", 1.5, true])),
            (String::new(), serde_json::json!({ "deep": -1 })),
        ]
        .into_iter()
        .collect();
        let source = {
            let columns = columns.clone();
            move |_: Bytes| std::future::ready(Ok(Some(columns.clone())))
        };
        let rows = cache(backend);
        rows.schedule(b"a", SECOND).wait().unwrap();
        rows.refresh_step(&source).wait().unwrap();
        let read = rows.columns(b"a").wait().unwrap().unwrap();
        assert_eq!(read, columns);
        assert!(read.keys().eq(columns.keys()));
    }
}

each_backend! {
    fn fetch_loads_what_is_missing_and_keeps_it_fresh_from_then_on(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        assert_eq!(rows.fetch(b"none", SECOND, &database).wait().unwrap(), None);
        assert!(all_keys(backend).is_empty());
        let first = rows.fetch(b"a", 2 * SECOND, &database).wait().unwrap().unwrap();
        assert_eq!((Some(first.json), first.hit), (stock(1), false));
        database.put(b"a", 2);
        let again = rows.fetch(b"a", 2 * SECOND, &database).wait().unwrap().unwrap();
        assert_eq!((Some(again.json), again.hit), (stock(1), true));
        assert_eq!(drain(&rows, &database), Some(START + 2 * SECOND));
        clock.advance(2 * SECOND);
        drain(&rows, &database);
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        // What was planned by others stays planned so.
        rows.schedule(b"a", 9 * SECOND).wait().unwrap();
        backend.run(cmd::del([b"inv:a"])).wait().unwrap();
        assert!(!rows.fetch(b"a", SECOND, &database).wait().unwrap().unwrap().hit);
        let plan = RowPlan { delay: 9 * SECOND, next: clock.now() };
        assert_eq!(rows.planned(b"a").wait().unwrap(), Some(plan));
        // An error of the source is the caller's, and caches nothing.
        rows.unschedule(b"a").wait().unwrap();
        database.0.lock().down = true;
        let error = rows.fetch(b"a", SECOND, &database).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Callback);
        assert!(all_keys(backend).is_empty());
    }
}

#[test]
fn daemon_rests_fifty_milliseconds_or_until_the_next_row() {
    let (memory, env) = memory();
    let (rows, database) = (cache(&memory), Database::of(&[b"a"]));
    let steps: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut refresher = {
        let steps = Arc::clone(&steps);
        let report = move |step: &RowStep| steps.lock().push(format!("{step:?}"));
        rows.refresher(database.clone()).reporting(report)
    };
    let fifty = Duration::from_millis(50);
    assert_eq!(refresher.step().wait().unwrap(), Progress::rest(0, fifty));
    rows.schedule(b"a", Duration::from_millis(120)).wait().unwrap();
    assert_eq!(refresher.step().wait().unwrap(), Progress::more(1));
    assert_eq!(refresher.step().wait().unwrap(), Progress::rest(0, fifty));
    env.advance(2 * fifty);
    let rest = Progress::rest(0, Duration::from_millis(20));
    assert_eq!(refresher.step().wait().unwrap(), rest);
    database.0.lock().down = true;
    env.advance(rest.rest);
    assert_eq!(refresher.step().wait().unwrap(), Progress::more(0));
    let steps = steps.lock();
    assert_eq!(steps.len(), 5);
    assert!(steps[4].contains("the database is down"), "{}", steps[4]);
}

#[test]
fn daemon_keeps_each_row_at_its_own_pace_in_virtual_time() {
    let (memory, env) = memory();
    let (rows, database) = (cache(&memory), Database::of(&[b"a", b"b", b"c"]));
    rows.schedule(b"a", SECOND).wait().unwrap();
    rows.schedule(b"b", 10 * SECOND).wait().unwrap();
    let daemons = [1, 2].map(|n| {
        Daemon::new(format!("rows {n}"), memory.clone(), rows.refresher(database.clone()))
    });
    let controls = daemons.each_ref().map(Daemon::control);
    let [one, two] = daemons.map(|daemon| Box::pin(daemon.run()));
    let mut both = pin!(async {
        let (mut one, mut two) = (one, two);
        std::future::poll_fn(|cx| {
            let (a, b) = (one.as_mut().poll(cx), two.as_mut().poll(cx));
            if a.is_ready() && b.is_ready() { a } else { std::task::Poll::Pending }
        })
        .await;
    });
    assert!(pass(&env, 60 * SECOND, both.as_mut()).is_pending());
    assert_eq!((database.loads(b"a"), database.loads(b"b")), (61, 7));
    let done: u64 = controls.iter().map(|control| control.report().done).sum();
    assert_eq!(done, 68);
    for control in &controls {
        control.stop();
    }
    assert!(pass(&env, Duration::ZERO, both.as_mut()).is_ready());
}
