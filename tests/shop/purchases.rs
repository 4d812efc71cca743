//! Purchases: a cart becomes exactly one order, also when the call is repeated.

use std::time::Duration;

use stockroom::ErrorKind;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Cart, Conversion, Keys, Purchases};

use crate::bed::{assert_invalid, each_backend, hostile_ids};
use crate::interpose::{Fate, Interposed, Step};

fn shop<B: Backend>(backend: &B) -> (Cart<B>, Purchases<B>) {
    let keys = Keys::new();
    (Cart::new(backend.clone(), keys.clone()), Purchases::new(backend.clone(), keys))
}

each_backend! {
    fn purchase_empties_the_cart_and_counts_once_however_often_it_is_repeated(backend, _clock) {
        let (cart, purchases) = shop(backend);
        cart.set(b"t", b"a", 2).wait().unwrap();
        cart.set(b"t", b"b", 1).wait().unwrap();
        let order = purchases.purchase(b"t", b"o1").wait().unwrap();
        assert_eq!(order.items, [("a".into(), 2), ("b".into(), 1)]);
        assert!(!order.repeated);
        assert!(cart.items(b"t").wait().unwrap().is_empty());
        // What has come into the cart since belongs to the next order.
        cart.set(b"t", b"c", 1).wait().unwrap();
        let again = purchases.purchase(b"t", b"o1").wait().unwrap();
        assert_eq!((again.items, again.repeated), (order.items.clone(), true));
        assert_eq!(cart.items(b"t").wait().unwrap(), [("c".into(), 1)]);
        assert_eq!(purchases.orders().wait().unwrap(), 1);
        let best = purchases.bestsellers(5).wait().unwrap();
        assert_eq!(best, [("a".into(), 2), ("b".into(), 1)]);
        assert_eq!(purchases.order(b"o1").wait().unwrap(), order.items);
        assert!(purchases.order(b"o2").wait().unwrap().is_empty());
    }
}

each_backend! {
    fn also_bought_counts_orders_that_hold_both(backend, _clock) {
        let (_, purchases) = shop(backend);
        purchases.record(b"t", b"1", &[(b"a", 1), (b"b", 5), (b"c", 1)]).wait().unwrap();
        purchases.record(b"u", b"2", &[(b"b", 1), (b"a", 1)]).wait().unwrap();
        purchases.record(b"u", b"3", &[(b"a", 1)]).wait().unwrap();
        let also = purchases.also_bought(b"a", 10).wait().unwrap();
        assert_eq!(also, [("b".into(), 2), ("c".into(), 1)]);
        assert_eq!(purchases.also_bought(b"a", 1).wait().unwrap(), [("b".into(), 2)]);
        assert!(purchases.also_bought(b"a", 0).wait().unwrap().is_empty());
        assert!(purchases.also_bought(b"z", 9).wait().unwrap().is_empty());
    }
}

each_backend! {
    fn conversion_is_the_share_of_lookers_who_bought(backend, _clock) {
        let (_, purchases) = shop(backend);
        let none = purchases.conversion(b"a").wait().unwrap();
        assert_eq!((none, none.percent()), (Conversion::default(), None));
        for token in [b"1", b"2", b"3", b"4", b"1"] {
            purchases.look(token, b"a").wait().unwrap();
        }
        purchases.record(b"1", b"o1", &[(b"a", 1)]).wait().unwrap();
        purchases.record(b"1", b"o2", &[(b"a", 1)]).wait().unwrap();
        // Bought without a look: not one of those who looked.
        purchases.record(b"9", b"o3", &[(b"a", 1)]).wait().unwrap();
        let conversion = purchases.conversion(b"a").wait().unwrap();
        assert_eq!(conversion, Conversion { lookers: 4, buyers: 1 });
        assert_eq!(conversion.percent(), Some(25.0));
    }
}

each_backend! {
    fn orders_are_kept_as_long_as_asked(backend, clock) {
        let (_, purchases) = shop(backend);
        let purchases = purchases.with_orders_kept(Duration::from_secs(60)).unwrap();
        purchases.record(b"t", b"o", &[(b"a", 1)]).wait().unwrap();
        clock.advance_secs(60);
        assert!(purchases.record(b"t", b"o", &[(b"a", 1)]).wait().unwrap().repeated);
        clock.advance_secs(1);
        assert!(!purchases.record(b"t", b"o", &[(b"a", 1)]).wait().unwrap().repeated);
        let year = Duration::from_secs(366 * 86_400);
        for bad in [Duration::ZERO, Duration::from_millis(999), year + Duration::from_nanos(1)] {
            let refused = purchases.clone().with_orders_kept(bad).map(|_| ());
            assert_invalid(refused, "time to keep orders");
        }
        let longest = purchases.with_orders_kept(year).unwrap();
        longest.record(b"t", b"long", &[(b"a", 1)]).wait().unwrap();
        let left = backend.run(cmd::pttl(b"order:long")).wait().unwrap();
        assert_eq!(left, 366 * 86_400_000);
    }
}

each_backend! {
    fn reply_lost_before_the_transaction_means_that_nothing_was_bought(backend, _clock) {
        for fate in [Fate::LoseReply, Fate::NotSent] {
            for at in [Step::Session, Step::Watch(vec!["HGETALL", "HGETALL"])] {
                let hook = move |step: &Step| if *step == at { fate } else { Fate::Pass };
                let (cart, purchases) = shop(&Interposed::new(backend.clone(), hook));
                cart.set(b"t", b"a", 1).wait().unwrap();
                let error = purchases.purchase(b"t", b"o").wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
                assert_eq!(purchases.orders().wait().unwrap(), 0);
                assert_eq!(cart.items(b"t").wait().unwrap(), [("a".into(), 1)]);
            }
        }
    }
}

each_backend! {
    fn purchase_whose_reply_is_lost_is_repeated_without_harm(backend, _clock) {
        let lose = |step: &Step| match step {
            Step::Commit(_) => Fate::LoseReply,
            _ => Fate::Pass,
        };
        let (cart, purchases) = shop(backend);
        cart.set(b"t", b"a", 1).wait().unwrap();
        let (_, unlucky) = shop(&Interposed::new(backend.clone(), lose));
        assert!(unlucky.purchase(b"t", b"o").wait().unwrap_err().is_unknown());
        assert!(purchases.purchase(b"t", b"o").wait().unwrap().repeated);
        assert_eq!(purchases.orders().wait().unwrap(), 1);
    }
}

each_backend! {
    fn count_of_another_type_leaves_the_order_standing(backend, _clock) {
        backend.run(cmd::set(b"bought:", b"x")).wait().unwrap();
        let (cart, purchases) = shop(backend);
        cart.set(b"t", b"a", 1).wait().unwrap();
        let error = purchases.purchase(b"t", b"o").wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("WRONGTYPE")));
        assert_eq!(purchases.order(b"o").wait().unwrap(), [("a".into(), 1)]);
        assert!(purchases.purchase(b"t", b"o").wait().unwrap().repeated);
    }
}

each_backend! {
    fn bad_input_is_refused_and_nothing_is_written(backend, _clock) {
        let (_, purchases) = shop(backend);
        assert_invalid(purchases.purchase(b"", b"o").wait(), "token");
        assert_invalid(purchases.purchase(b"t", b"").wait(), "order id");
        assert_invalid(purchases.record(b"t", b"o", &[(b"a", 0)]).wait(), "count 0");
        assert_invalid(purchases.record(b"t", b"o", &[(b"a", i64::MIN)]).wait(), "count");
        assert_invalid(purchases.record(b"t", b"o", &[(b"", 1)]).wait(), "item");
        assert_invalid(purchases.record(b"t", b"o", &[(b"a", 1), (b"a", 2)]).wait(), "items");
        assert_invalid(purchases.look(b"t", b"").wait(), "item");
        assert_eq!(backend.stats().commands, 0);
        assert_invalid(purchases.purchase(b"t", b"o").wait(), "cart");
        assert_invalid(purchases.record(b"t", b"o", &[]).wait(), "cart");
        assert!(backend.run(cmd::scan(0, 10)).wait().unwrap().1.is_empty());
    }
}

each_backend! {
    fn hostile_ids_stay_apart(backend, _clock) {
        let (_, purchases) = shop(backend);
        for id in hostile_ids() {
            let order = purchases.record(&id, &id, &[(&id, 1)]).wait().unwrap();
            assert!(!order.repeated);
            purchases.look(&id, &id).wait().unwrap();
        }
        for id in hostile_ids() {
            let conversion = purchases.conversion(&id).wait().unwrap();
            assert_eq!(conversion, Conversion { lookers: 1, buyers: 1 });
        }
    }
}

each_backend! {
    fn buyers_racing_for_one_cart_buy_every_unit_once(backend, _clock) {
        let (cart, purchases) = shop(backend);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200 {
                    cart.add(b"t", b"a", 1).wait().unwrap();
                }
            });
            for thread in 0..4_u8 {
                let purchases = &purchases;
                scope.spawn(move || {
                    for n in 0..50_u8 {
                        // Empty carts, and giving up under the adder's hands, are definite.
                        let _ = purchases.purchase(b"t", &[thread, n]).wait();
                    }
                });
            }
        });
        let in_cart: i64 = cart.items(b"t").wait().unwrap().iter().map(|(_, n)| n).sum();
        let best = purchases.bestsellers(1).wait().unwrap();
        let sold = best.first().map_or(0, |(_, units)| *units as i64);
        assert_eq!(sold + in_cart, 200);
    }
}
