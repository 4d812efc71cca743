//! Popularity: ranks, the best, and the halving that lets new items rise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Chore, Keys, Popularity, RESCALE_EVERY, Sessions};
use stockroom::{Bytes, ErrorKind};

use crate::bed::{assert_invalid, each_backend};
use crate::interpose::{Fate, Interposed, Step};

/// Views item `n` of `views` so many times as `views[n]` says.
fn view<B: Backend>(backend: &B, views: &[u32]) {
    let sessions = Sessions::new(backend.clone(), Keys::new());
    for (n, times) in views.iter().enumerate() {
        for _ in 0..*times {
            sessions.touch(b"t", b"user", Some(format!("i{n}").as_bytes())).wait().unwrap();
        }
    }
}

fn top<B: Backend>(popularity: &Popularity<B>) -> Vec<(Bytes, f64)> {
    popularity.top(10).wait().unwrap()
}

each_backend! {
    fn most_viewed_come_first_with_their_counts(backend, _clock) {
        view(backend, &[1, 3, 2, 3]);
        let popularity = Popularity::new(backend.clone(), Keys::new());
        let expected: Vec<(Bytes, f64)> = [("i1", 3.0), ("i3", 3.0), ("i2", 2.0), ("i0", 1.0)]
            .map(|(item, views)| (item.into(), views))
            .to_vec();
        assert_eq!(top(&popularity), expected);
        assert_eq!(popularity.top(2).wait().unwrap(), expected[..2]);
        assert_eq!(popularity.top(u64::MAX).wait().unwrap(), expected);
        assert!(popularity.top(0).wait().unwrap().is_empty());
        assert_eq!(popularity.rank(b"i0").wait().unwrap(), Some(3));
        assert_eq!(popularity.rank(b"none").wait().unwrap(), None);
    }
}

each_backend! {
    fn rescale_keeps_the_best_and_halves_in_one_step(backend, _clock) {
        view(backend, &[1, 4, 2, 3]);
        let popularity = Popularity::new(backend.clone(), Keys::new()).with_kept(3);
        let before = backend.stats().round_trips;
        assert_eq!(popularity.rescale(1).wait().unwrap(), 3);
        assert_eq!(backend.stats().round_trips, before + 1);
        let halved: Vec<(Bytes, f64)> =
            [("i1", 2.0), ("i3", 1.5), ("i2", 1.0)].map(|(i, n)| (i.into(), n)).to_vec();
        assert_eq!(top(&popularity), halved);
        // A new item needs half as many views to pass.
        view(backend, &[3]);
        assert_eq!(top(&popularity)[0].0, "i0");
        let none = Popularity::new(backend.clone(), Keys::new()).with_kept(0);
        assert_eq!(none.rescale(1).wait().unwrap(), 0);
        assert_eq!(none.rescale(1).wait().unwrap(), 0);
        assert!(!backend.run(cmd::exists(b"viewed:")).wait().unwrap());
    }
}

each_backend! {
    fn many_halvings_at_once_equal_as_many_alone(backend, _clock) {
        let (once, alone) = (Keys::in_namespace("once"), Keys::in_namespace("alone"));
        for keys in [&once, &alone] {
            let sessions = Sessions::new(backend.clone(), keys.clone());
            for item in [&b"a"[..], b"b", b"b", b"c", b"b", b"c", b"b", b"b"] {
                sessions.touch(b"t", b"user", Some(item)).wait().unwrap();
            }
        }
        let once = Popularity::new(backend.clone(), once);
        let alone = Popularity::new(backend.clone(), alone);
        for times in [2, 5, 60] {
            once.rescale(times).wait().unwrap();
            for _ in 0..times {
                alone.rescale(1).wait().unwrap();
            }
            assert_eq!(top(&once), top(&alone));
            assert!(top(&once)[0].1 > 0.0);
        }
    }
}

each_backend! {
    fn loop_halves_every_five_minutes_and_makes_up_for_missed_ones(backend, clock) {
        view(backend, &[8]);
        let popularity = Popularity::new(backend.clone(), Keys::new());
        let mut chore = popularity.rescaler();
        let first = chore.step().wait().unwrap();
        assert_eq!((first.done, first.rest), (0, RESCALE_EVERY));
        clock.advance_secs(299);
        assert_eq!(chore.step().wait().unwrap().done, 0);
        clock.advance_secs(2);
        let second = chore.step().wait().unwrap();
        assert_eq!((second.done, second.rest), (1, Duration::from_secs(299)));
        clock.advance_secs(599);
        assert_eq!(chore.step().wait().unwrap().done, 2);
        assert_eq!(top(&popularity), [("i0".into(), 1.0)]);
    }
}

each_backend! {
    fn loop_makes_up_for_more_periods_than_leave_a_bit_of_any_number(backend, clock) {
        let (missed, alone) = (Keys::in_namespace("missed"), Keys::in_namespace("alone"));
        for keys in [&missed, &alone] {
            let sessions = Sessions::new(backend.clone(), keys.clone());
            for item in [&b"a"[..], b"b", b"b", b"b", b"b", b"b", b"c", b"c", b"c"] {
                sessions.touch(b"t", b"user", Some(item)).wait().unwrap();
            }
        }
        let bits = |keys: &Keys| {
            let top = top(&Popularity::new(backend.clone(), keys.clone()));
            top.into_iter().map(|(item, views)| (item, views.to_bits())).collect::<Vec<_>>()
        };
        let mut chore = Popularity::new(backend.clone(), missed.clone()).rescaler();
        let alone_popularity = Popularity::new(backend.clone(), alone.clone());
        chore.step().wait().unwrap();
        for periods in [1_073, 1, 2_000] {
            clock.advance(RESCALE_EVERY * periods);
            let mut done = 0;
            loop {
                let progress = chore.step().wait().unwrap();
                done += progress.done;
                if !progress.rest.is_zero() {
                    break;
                }
            }
            assert_eq!(done, u64::from(periods));
            for _ in 0..periods.min(1_100) {
                alone_popularity.rescale(1).wait().unwrap();
            }
            assert_eq!(bits(&missed), bits(&alone), "{periods}");
        }
        assert_eq!(alone_popularity.top(1).wait().unwrap()[0].1, 0.0);
    }
}

each_backend! {
    fn rescale_that_fails_half_way_says_that_a_part_is_done(backend, _clock) {
        view(backend, &[1]);
        let transactions = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&transactions);
        let second_fails = move |step: &Step| match step {
            Step::Atomic(_) if count.fetch_add(1, Ordering::SeqCst) > 0 => Fate::NotSent,
            _ => Fate::Pass,
        };
        let hostile = Interposed::new(backend.clone(), second_fails);
        let error = Popularity::new(hostile, Keys::new()).rescale(901).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Partly, "{error}");
        assert!(!error.is_definite());
        let popularity = Popularity::new(backend.clone(), Keys::new());
        assert_eq!(top(&popularity), [("i0".into(), 0.5_f64.powi(900))]);
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let popularity = Popularity::new(backend.clone(), Keys::new());
        assert_invalid(popularity.rank(b"").wait(), "item");
        assert_invalid(popularity.rescale(0).wait(), "halvings");
        assert_eq!(backend.stats().commands, 0);
    }
}
