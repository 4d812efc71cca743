//! Popularity: ranks, the best, and the halving that lets new items rise.

use std::time::Duration;

use stockroom::Bytes;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Chore, Keys, Popularity, RESCALE_EVERY, Sessions};

use crate::bed::{assert_invalid, each_backend};

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
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let popularity = Popularity::new(backend.clone(), Keys::new());
        assert_invalid(popularity.rank(b"").wait(), "item");
        assert_invalid(popularity.rescale(0).wait(), "halvings");
        assert_invalid(popularity.rescale(1_001).wait(), "halvings");
        assert_eq!(backend.stats().commands, 0);
    }
}
