//! Carts: counts, their limits, and many hands in one cart.

use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Cart, Keys, MAX_ID};
use stockroom::{Bytes, ErrorKind};

use crate::bed::{assert_invalid, each_backend, hostile_ids};
use crate::interpose::{Fate, Interposed, Step};

fn items<B: Backend>(cart: &Cart<B>) -> Vec<(Bytes, i64)> {
    cart.items(b"t").wait().unwrap()
}

each_backend! {
    fn set_replaces_and_a_count_of_zero_or_less_removes(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::new());
        cart.set(b"t", b"b", 2).wait().unwrap();
        cart.set(b"t", b"a", i64::MAX).wait().unwrap();
        assert_eq!(items(&cart), [("a".into(), i64::MAX), ("b".into(), 2)]);
        cart.set(b"t", b"a", 0).wait().unwrap();
        cart.set(b"t", b"b", i64::MIN).wait().unwrap();
        assert!(items(&cart).is_empty());
        // An empty cart is no key.
        assert!(!backend.run(cmd::exists(b"cart:t")).wait().unwrap());
    }
}

each_backend! {
    fn add_is_relative_and_takes_out_what_is_gone(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::new());
        assert_eq!(cart.add(b"t", b"a", 3).wait().unwrap(), 3);
        assert_eq!(cart.add(b"t", b"a", -1).wait().unwrap(), 2);
        assert_eq!(cart.add(b"t", b"a", 0).wait().unwrap(), 2);
        assert_eq!(cart.add(b"t", b"a", -5).wait().unwrap(), 0);
        assert_eq!(cart.add(b"t", b"b", -1).wait().unwrap(), 0);
        assert_eq!(cart.add(b"t", b"b", i64::MIN).wait().unwrap(), 0);
        assert!(items(&cart).is_empty());
    }
}

each_backend! {
    fn count_that_would_overflow_is_refused_and_stays(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::new());
        cart.set(b"t", b"a", i64::MAX - 1).wait().unwrap();
        assert_invalid(cart.add(b"t", b"a", 2).wait(), "count");
        assert_eq!(items(&cart), [("a".into(), i64::MAX - 1)]);
        assert_eq!(cart.add(b"t", b"a", 1).wait().unwrap(), i64::MAX);
    }
}

each_backend! {
    fn other_refusals_that_speak_of_overflow_are_not_the_callers_fault(backend, _clock) {
        const TEXT: &str = "ERR the log overflowed";
        let refusing = Interposed::new(backend.clone(), |_| Fate::Refuse(TEXT));
        let error = Cart::new(refusing, Keys::new()).add(b"t", b"a", 1).wait().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Refused, TEXT));
        backend.run(cmd::hset(b"cart:t", b"a", b"overflow")).wait().unwrap();
        let cart = Cart::new(backend.clone(), Keys::new());
        assert_eq!(cart.add(b"t", b"a", 1).wait().unwrap_err().kind(), ErrorKind::Refused);
    }
}

each_backend! {
    fn reply_lost_before_the_change_means_that_nothing_was_taken_out(backend, _clock) {
        for fate in [Fate::LoseReply, Fate::NotSent] {
            for at in [Step::Session, Step::Watch(vec!["HGET"])] {
                let hook = move |step: &Step| if *step == at { fate } else { Fate::Pass };
                let cart = Cart::new(Interposed::new(backend.clone(), hook), Keys::new());
                cart.set(b"t", b"a", 5).wait().unwrap();
                let error = cart.add(b"t", b"a", -1).wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
                assert_eq!(items(&cart), [("a".into(), 5)]);
            }
        }
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::new());
        let huge = vec![0; MAX_ID + 1];
        assert_invalid(cart.set(b"", b"a", 1).wait(), "token");
        assert_invalid(cart.set(b"t", b"", 1).wait(), "item");
        assert_invalid(cart.set(b"t", &huge, 1).wait(), "item");
        assert_invalid(cart.add(b"t", b"", -1).wait(), "item");
        assert_invalid(cart.items(&huge).wait(), "token");
        assert_invalid(cart.clear(b"").wait(), "token");
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn carts_of_hostile_ids_do_not_meet(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::in_namespace("a/b"));
        for id in hostile_ids() {
            cart.set(&id, &id, 1).wait().unwrap();
        }
        for id in hostile_ids() {
            assert_eq!(cart.items(&id).wait().unwrap(), [(id[..].into(), 1)]);
            assert!(cart.clear(&id).wait().unwrap());
            assert!(!cart.clear(&id).wait().unwrap());
        }
    }
}

each_backend! {
    fn many_hands_in_one_cart_lose_no_count(backend, _clock) {
        let cart = Cart::new(backend.clone(), Keys::new());
        cart.set(b"t", b"a", 1_000).wait().unwrap();
        std::thread::scope(|scope| {
            for by in [1, 1, -1, -1] {
                let cart = &cart;
                scope.spawn(move || {
                    for _ in 0..50 {
                        let mut result = cart.add(b"t", b"a", by).wait();
                        // Giving up is definite: nothing was counted.
                        while result.as_ref().is_err_and(|e| e.kind() == ErrorKind::GaveUp) {
                            result = cart.add(b"t", b"a", by).wait();
                        }
                        result.unwrap();
                    }
                });
            }
        });
        assert_eq!(items(&cart), [("a".into(), 1_000)]);
    }
}
