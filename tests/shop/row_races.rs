//! Row cache: what races, crashes and lost replies leave.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Keys, RowCache, RowOutcome, RowPlan};
use stockroom::{Bytes, Error, ErrorKind};

use crate::bed::each_backend;
use crate::interpose::{Fate, Interposed, Step};
use crate::rows::{Database, Probe, STEPS, all_keys, cache, drain, outcome, stock};

const SECOND: Duration = Duration::from_secs(1);

each_backend! {
    fn unscheduling_between_any_two_steps_of_a_daemon_leaves_nothing(backend, clock) {
        for had_copy in [false, true] {
            for at in 0..=STEPS {
                let (rows, database) = (cache(backend), Database::of(&[b"a"]));
                rows.schedule(b"a", SECOND).wait().unwrap();
                if had_copy {
                    drain(&rows, &database);
                    clock.advance(SECOND);
                }
                let drop_it = {
                    let rows = rows.clone();
                    move || assert!(rows.unschedule(b"a").wait().unwrap())
                };
                let probe = Probe::new(at, drop_it.clone());
                let (slow, watched) = probe.between(backend, &database);
                slow.refresh_step(&watched).wait().unwrap();
                if at == STEPS {
                    assert_eq!(probe.steps.load(Ordering::SeqCst), STEPS);
                    drop_it();
                }
                assert!(all_keys(backend).is_empty(), "before step {at}: {:?}", all_keys(backend));
            }
        }
    }
}

each_backend! {
    fn scheduling_anew_between_any_two_steps_of_a_daemon_is_respected(backend, clock) {
        for at in 0..=STEPS {
            let (rows, database) = (cache(backend), Database::of(&[b"a"]));
            rows.schedule(b"a", SECOND).wait().unwrap();
            let slot: Arc<Mutex<Option<Database>>> = Arc::default();
            let anew = {
                let (rows, slot) = (rows.clone(), Arc::clone(&slot));
                // Who changes the row and wants it seen.
                move || {
                    slot.lock().iter().for_each(|watched| watched.put(b"a", 2));
                    rows.schedule(b"a", 60 * SECOND).wait().unwrap();
                }
            };
            let probe = Probe::new(at, anew.clone());
            let (slow, watched) = probe.between(backend, &database);
            *slot.lock() = Some(watched.clone());
            slow.refresh_step(&watched).wait().unwrap();
            if at == STEPS {
                anew();
            }
            watched.0.lock().probe = None;
            drain(&rows, &watched);
            assert_eq!(rows.get(b"a").wait().unwrap(), stock(2), "before step {at}");
            let plan = RowPlan { delay: 60 * SECOND, next: clock.now() + 60 * SECOND };
            assert_eq!(rows.planned(b"a").wait().unwrap(), Some(plan), "before step {at}");
            assert_eq!(all_keys(backend), ["delay:", "inv:a", "schedule:"]);
            rows.unschedule(b"a").wait().unwrap();
        }
    }
}

each_backend! {
    fn second_daemon_between_any_two_steps_loads_nothing_twice(backend, clock) {
        for at in 0..=STEPS {
            let (rows, database) = (cache(backend), Database::of(&[b"a"]));
            rows.schedule(b"a", SECOND).wait().unwrap();
            let other = {
                let (rows, database) = (rows.clone(), database.clone());
                move || drop(rows.refresh_step(&database).wait().unwrap())
            };
            let probe = Probe::new(at, other);
            let (slow, watched) = probe.between(backend, &database);
            slow.refresh_step(&watched).wait().unwrap();
            assert_eq!(database.loads(b"a") + watched.loads(b"a"), 1, "before step {at}");
            assert_eq!(rows.get(b"a").wait().unwrap(), stock(1));
            let plan = RowPlan { delay: SECOND, next: clock.now() + SECOND };
            assert_eq!(rows.planned(b"a").wait().unwrap(), Some(plan));
            assert_eq!(all_keys(backend), ["delay:", "inv:a", "schedule:"]);
            rows.unschedule(b"a").wait().unwrap();
        }
    }
}

each_backend! {
    fn unscheduling_between_any_two_steps_of_a_fetch_leaves_nothing(backend, _clock) {
        // The look; session, look; the load; the commit.
        for at in 0..5 {
            let (rows, database) = (cache(backend), Database::of(&[b"a"]));
            let drop_it = {
                let rows = rows.clone();
                move || {
                    rows.unschedule(b"a").wait().unwrap();
                }
            };
            let probe = Probe::new(at, drop_it);
            let (slow, watched) = probe.between(backend, &database);
            let row = slow.fetch(b"a", SECOND, &watched).wait().unwrap().unwrap();
            assert_eq!(Some(row.json), stock(1));
            assert_eq!(probe.steps.load(Ordering::SeqCst), 5);
            if at >= 3 {
                assert!(all_keys(backend).is_empty(), "before step {at}");
            }
            rows.unschedule(b"a").wait().unwrap();
        }
    }
}

each_backend! {
    fn daemon_that_dies_after_its_claim_delays_the_row_by_its_lease_only(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        rows.schedule(b"a", SECOND).wait().unwrap();
        drain(&rows, &database);
        clock.advance(SECOND);
        let dying = |_: Bytes| async {
            std::future::pending::<()>().await;
            Ok(None)
        };
        let dead = Interposed::new(backend.clone(), |_: &Step| Fate::Pass);
        let dead = RowCache::new(dead, Keys::new()).with_lease(10 * SECOND).unwrap();
        {
            let mut step = pin!(dead.refresh_step(&dying));
            // On a real server it takes some polls to get there.
            for _ in 0..500 {
                assert!(crate::bed::settle(step.as_mut()).is_pending());
                if rows.planned(b"a").wait().unwrap().unwrap().next > clock.now() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        database.put(b"a", 2);
        let lease_over = clock.now() + 10 * SECOND;
        assert_eq!(drain(&rows, &database), Some(lease_over));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(1));
        clock.set(lease_over);
        assert_eq!(drain(&rows, &database), Some(lease_over + SECOND));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        assert_eq!(all_keys(backend), ["delay:", "inv:a", "schedule:"]);
    }
}

each_backend! {
    fn what_comes_after_the_lease_is_over_and_another_has_claimed_is_not_written(backend, clock) {
        let (rows, database) = (cache(backend), Database::of(&[b"a"]));
        rows.schedule(b"a", 60 * SECOND).wait().unwrap();
        let overtake = {
            let (rows, database) = (rows.clone(), database.clone());
            let late = Mutex::new(Some(()));
            let env = clock.env();
            move || {
                if late.lock().take().is_some() {
                    env.advance(30 * SECOND);
                    database.put(b"a", 2);
                    let step = rows.refresh_step(&database).wait().unwrap();
                    assert!(matches!(outcome(step), RowOutcome::Cached));
                }
            }
        };
        let probe = Probe::new(4, overtake);
        let (slow, watched) = probe.between(backend, &database);
        let step = slow.refresh_step(&watched).wait().unwrap();
        assert!(matches!(outcome(step), RowOutcome::Superseded));
        assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        let plan = RowPlan { delay: 60 * SECOND, next: clock.now() + 60 * SECOND };
        assert_eq!(rows.planned(b"a").wait().unwrap(), Some(plan));
    }
}

each_backend! {
    fn what_comes_while_another_loads_after_the_lease_is_left_to_the_other(backend, clock) {
        let rows = cache(backend);
        rows.schedule(b"a", 60 * SECOND).wait().unwrap();
        let (rows, clock) = (&rows, &clock);
        std::thread::scope(|scope| {
            let daemon = |stock: u64| {
                let (loads, loading) = mpsc::channel();
                let (arrive, arrives) = mpsc::channel::<()>();
                let arrives = Mutex::new(arrives);
                let source = move |_: Bytes| {
                    loads.send(()).unwrap();
                    arrives.lock().recv().unwrap();
                    let columns = [("stock".to_owned(), stock.into())].into_iter().collect();
                    std::future::ready(Ok(Some(columns)))
                };
                let step = scope.spawn(move || outcome(rows.refresh_step(&source).wait().unwrap()));
                loading.recv().unwrap();
                (step, arrive)
            };
            let (slow, slow_arrives) = daemon(1);
            clock.advance(30 * SECOND);
            let (next, next_arrives) = daemon(2);
            slow_arrives.send(()).unwrap();
            assert!(matches!(slow.join().unwrap(), RowOutcome::Superseded));
            assert_eq!(rows.get(b"a").wait().unwrap(), None);
            next_arrives.send(()).unwrap();
            assert!(matches!(next.join().unwrap(), RowOutcome::Cached));
            assert_eq!(rows.get(b"a").wait().unwrap(), stock(2));
        });
        assert_eq!(all_keys(backend), ["delay:", "inv:a", "schedule:"]);
    }
}

each_backend! {
    fn lost_request_or_reply_at_any_step_is_made_good_after_the_lease(backend, clock) {
        for kind in ["cached", "gone", "failed", "dropped"] {
            for fate in [Fate::NotSent, Fate::LoseReply] {
                for lost in 0..STEPS - 1 {
                    let (rows, database) = (cache(backend), Database::of(&[b"a"]));
                    rows.schedule(b"a", SECOND).wait().unwrap();
                    drain(&rows, &database);
                    clock.advance(SECOND);
                    database.put(b"a", 2);
                    match kind {
                        "gone" => database.remove(b"a"),
                        "failed" => database.0.lock().down = true,
                        "dropped" => {
                            { backend.run(cmd::zadd(b"delay:", 0, b"a")).wait().unwrap(); }
                        }
                        _ => {}
                    }
                    let steps = AtomicU32::new(0);
                    let hook = move |_: &Step| match steps.fetch_add(1, Ordering::SeqCst) {
                        n if n == lost => fate,
                        _ => Fate::Pass,
                    };
                    let lossy = RowCache::new(Interposed::new(backend.clone(), hook), Keys::new());
                    match lossy.refresh_step(&database).wait() {
                        Ok(_) => assert!(kind == "dropped" && lost >= 4, "{kind} {lost}"),
                        Err(error) => {
                            let commit = fate == Fate::LoseReply && [3, 6].contains(&lost);
                            assert_eq!(error.is_unknown(), commit, "{kind} {lost}: {error}");
                        }
                    }
                    database.0.lock().down = false;
                    clock.advance(30 * SECOND);
                    drain(&rows, &database);
                    let copy = rows.get(b"a").wait().unwrap();
                    let kept = ["cached", "failed"].contains(&kind);
                    assert_eq!(copy, stock(2).filter(|_| kept), "{kind} {lost}");
                    assert_eq!(rows.planned(b"a").wait().unwrap().is_some(), kept);
                    assert!(rows.failing(1).wait().unwrap().is_empty());
                    rows.unschedule(b"a").wait().unwrap();
                    assert!(all_keys(backend).is_empty());
                }
            }
        }
    }
}

each_backend! {
    fn calls_whose_reply_was_lost_can_be_repeated(backend, clock) {
        let database = Database::of(&[b"a"]);
        let (plain, lose) = (cache(backend), Arc::new(AtomicBool::new(false)));
        let hook = {
            let lose = Arc::clone(&lose);
            move |step: &Step| match step {
                Step::Atomic(_) | Step::Commit(_) if lose.swap(false, Ordering::SeqCst) => {
                    Fate::LoseReply
                }
                _ => Fate::Pass,
            }
        };
        let rows = RowCache::new(Interposed::new(backend.clone(), hook), Keys::new());
        let unknown = |error: Error| assert_eq!(error.kind(), ErrorKind::Unknown);
        lose.store(true, Ordering::SeqCst);
        unknown(rows.schedule(b"a", SECOND).wait().unwrap_err());
        let plan = plain.planned(b"a").wait().unwrap();
        rows.schedule(b"a", SECOND).wait().unwrap();
        assert_eq!(plain.planned(b"a").wait().unwrap(), plan);
        lose.store(true, Ordering::SeqCst);
        unknown(rows.unschedule(b"a").wait().unwrap_err());
        assert!(!rows.unschedule(b"a").wait().unwrap());
        lose.store(true, Ordering::SeqCst);
        unknown(rows.fetch(b"a", SECOND, &database).wait().unwrap_err());
        assert!(rows.fetch(b"a", SECOND, &database).wait().unwrap().unwrap().hit);
        let plan = RowPlan { delay: SECOND, next: clock.now() + SECOND };
        assert_eq!(plain.planned(b"a").wait().unwrap(), Some(plan));
    }
}

each_backend! {
    fn many_daemons_side_by_side_load_each_due_row_once(backend, clock) {
        const ROWS: u32 = 120;
        let (rows, database) = (cache(backend), Database::default());
        for n in 0..ROWS {
            database.put(&n.to_be_bytes(), 1);
            rows.schedule(&n.to_be_bytes(), SECOND).wait().unwrap();
        }
        for round in 1..=3 {
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| drain(&rows, &database));
                }
            });
            for n in 0..ROWS {
                assert_eq!(database.loads(&n.to_be_bytes()), round, "row {n}");
                database.put(&n.to_be_bytes(), u64::from(round) + 1);
                assert_eq!(rows.get(&n.to_be_bytes()).wait().unwrap(), stock(round.into()));
            }
            clock.advance(SECOND);
        }
        assert_eq!(all_keys(backend).len(), ROWS as usize + 2);
    }
}

each_backend! {
    fn daemons_among_threads_that_plan_and_drop_rows_leave_no_orphan(backend, clock) {
        let (rows, database) = (cache(backend), Database::default());
        (0..8_u8).for_each(|n| database.put(&[n], 1));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::SeqCst) {
                        rows.refresh_step(&database).wait().unwrap();
                    }
                });
            }
            let planners: Vec<_> = (0..3_u8)
                .map(|thread| {
                    let (rows, database) = (&rows, &database);
                    scope.spawn(move || {
                        for n in 0..120_u8 {
                            let row = [n.wrapping_mul(5).wrapping_add(thread) % 8];
                            match n % 3 {
                                0 => {
                                    rows.unschedule(&row).wait().unwrap();
                                }
                                1 => rows.schedule(&row, SECOND).wait().unwrap(),
                                _ => drop(rows.fetch(&row, SECOND, database).wait().unwrap()),
                            }
                        }
                    })
                })
                .collect();
            let ends: Vec<_> = planners.into_iter().map(ScopedJoinHandle::join).collect();
            done.store(true, Ordering::SeqCst);
            ends.into_iter().for_each(|end| end.unwrap());
        });
        clock.advance(60 * SECOND);
        (0..8_u8).for_each(|n| database.put(&[n], 2));
        drain(&rows, &database);
        let mut left = 0;
        for n in 0..8_u8 {
            let planned = rows.planned(&[n]).wait().unwrap().is_some();
            assert_eq!(rows.get(&[n]).wait().unwrap(), stock(2).filter(|_| planned), "row {n}");
            left += u64::from(planned);
        }
        assert_eq!(rows.scheduled().wait().unwrap(), left);
        assert_eq!(all_keys(backend).len() as u64, if left > 0 { left + 2 } else { 0 });
    }
}
