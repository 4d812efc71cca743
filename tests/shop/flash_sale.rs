//! Flash sales: every unit sold once, whoever is faster, dies, or hears nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use stockroom::ErrorKind;
use stockroom::backend::{Backend, Memory, Session, Wait, cmd};
use stockroom::shop::flash_sale::{MAX_UNITS, Outcome, Stock, Strategy as How};
use stockroom::shop::{FlashSale, Keys, MAX_ID, Patience};

use crate::bed::{assert_invalid, each_backend, hostile_ids, memory};
use crate::interpose::{Fate, Interposed, Step};

const ALL: [How; 4] = [How::Atomic, How::FairByTicket, How::Locked, How::Optimistic];

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn sale<B: Backend>(backend: &B, how: How) -> FlashSale<B> {
    FlashSale::new(backend.clone(), Keys::new()).with_strategy(how)
}

fn stock(free: u64, reserved: u64, sold: u64) -> Stock {
    Stock { free, reserved, sold }
}

each_backend! {
    fn an_order_counts_once_and_gets_the_same_answer(backend, _clock) {
        for (n, how) in ALL.into_iter().enumerate() {
            let item = [n as u8];
            let sale = sale(backend, how).with_limit(3).unwrap();
            let buy = |buyer: &[u8], units, order: &[u8]| {
                sale.buy(&item, buyer, units, order).wait().unwrap().outcome
            };
            assert_eq!(buy(b"ann", 1, b"o0"), Outcome::SoldOut(0));
            assert_eq!(sale.restock(&item, b"d1", 5).wait().unwrap(), 5);
            assert_eq!(sale.restock(&item, b"d1", 5).wait().unwrap(), 5);
            assert_eq!(buy(b"ann", 2, b"o1"), Outcome::Sold(None));
            assert_eq!(buy(b"ann", 2, b"o1"), Outcome::Sold(None));
            assert_eq!(buy(b"ann", 2, b"o2"), Outcome::LimitReached(2));
            assert_eq!(buy(b"bob", 3, b"o3"), Outcome::Sold(None));
            assert_eq!(buy(b"eve", 1, b"o4"), Outcome::SoldOut(0));
            assert_eq!(sale.stock(&item).wait().unwrap(), stock(0, 0, 5));
            let repeated = |buyer: &[u8], units, order: &[u8]| {
                sale.buy(&item, buyer, units, order).wait().unwrap().repeated
            };
            assert!(repeated(b"ann", 2, b"o1") && !repeated(b"ann", 2, b"o2"));
            // One who was turned away may come again.
            assert!(sale.give_back(&item, b"o1").wait().unwrap());
            assert!(sale.give_back(&item, b"o1").wait().unwrap());
            assert!(!sale.give_back(&item, b"o9").wait().unwrap());
            assert_eq!(sale.stock(&item).wait().unwrap(), stock(2, 0, 3));
            assert_eq!(buy(b"ann", 2, b"o1"), Outcome::Ended);
            assert!(repeated(b"ann", 2, b"o1") && !repeated(b"eve", 1, b"o4"));
            assert_eq!(buy(b"eve", 1, b"o4"), Outcome::Sold(None));
        }
    }
}

each_backend! {
    fn a_reservation_lapses_unless_it_is_confirmed(backend, clock) {
        for (n, how) in ALL.into_iter().enumerate() {
            let item = [n as u8];
            let sale = sale(backend, how).with_reservation(ms(100)).unwrap();
            let buy = |order: &[u8]| sale.buy(&item, order, 1, order).wait().unwrap().outcome;
            sale.restock(&item, b"d", 2).wait().unwrap();
            assert_eq!(buy(b"a"), Outcome::Sold(Some(ms(100))));
            clock.advance(ms(40));
            assert_eq!(buy(b"b"), Outcome::Sold(Some(ms(100))));
            assert_eq!(buy(b"a"), Outcome::Sold(Some(ms(60))));
            assert_eq!(buy(b"c"), Outcome::SoldOut(0));
            assert_eq!(sale.stock(&item).wait().unwrap(), stock(0, 2, 0));
            assert!(sale.confirm(&item, b"a").wait().unwrap());
            assert!(sale.confirm(&item, b"a").wait().unwrap());
            assert_eq!(buy(b"a"), Outcome::Sold(None));
            clock.advance(ms(100));
            assert_eq!(buy(b"c"), Outcome::SoldOut(0));
            clock.advance(ms(1));
            assert!(!sale.confirm(&item, b"b").wait().unwrap());
            // What has lapsed is there for the next, though nobody has reclaimed it.
            assert_eq!(buy(b"c"), Outcome::Sold(Some(ms(100))));
            assert_eq!(buy(b"b"), Outcome::Ended);
            assert!(sale.give_back(&item, b"c").wait().unwrap());
            assert_eq!(sale.stock(&item).wait().unwrap(), stock(1, 0, 1));
            assert_eq!(buy(b"d"), Outcome::Sold(Some(ms(100))));
            clock.advance(ms(101));
            assert_eq!(sale.reclaim_step(&item).wait().unwrap(), 1);
            assert_eq!(sale.stock(&item).wait().unwrap(), stock(1, 0, 1));
        }
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let s = sale(backend, How::Atomic);
        let buy = |item: &[u8], buyer: &[u8], units, order: &[u8]| {
            s.buy(item, buyer, units, order).wait()
        };
        assert_invalid(buy(b"", b"b", 1, b"o"), "item");
        assert_invalid(buy(b"i", b"", 1, b"o"), "buyer");
        assert_invalid(buy(b"i", b"b", 1, &[b'x'; MAX_ID + 1]), "order");
        assert_invalid(buy(b"i", b"b", 0, b"o"), "units");
        assert_invalid(buy(b"i", b"b", MAX_UNITS + 1, b"o"), "units");
        assert_invalid(s.restock(b"i", b"", 1).wait(), "delivery");
        assert_invalid(s.restock(b"i", b"d", u64::MAX).wait(), "units");
        assert_invalid(s.confirm(b"i", b"").wait(), "order");
        assert_invalid(s.clone().with_limit(0), "limit");
        assert_invalid(s.clone().with_reservation(Duration::ZERO), "reservation");
        assert_invalid(s.clone().with_reservation(Duration::MAX), "reservation");
        assert_eq!(backend.stats().commands, 0);
        for id in hostile_ids() {
            for how in ALL {
                let order = [&id[..MAX_ID.min(id.len()) - 1], &[how as u8]].concat();
                let s = sale(backend, how);
                s.restock(&id, &order, 1).wait().unwrap();
                assert_eq!(s.buy(&id, &id, 1, &order).wait().unwrap().outcome, Outcome::Sold(None));
            }
        }
    }
}

/// Whatever reply is lost, the same order again is answered the same and sold once.
#[test]
fn a_lost_reply_at_any_step_sells_once() {
    for how in ALL {
        for lost in 0..8 {
            let (backend, _) = memory();
            sale(&backend, how).restock(b"i", b"d", 5).wait().unwrap();
            let sent = AtomicUsize::new(0);
            let shaky = Interposed::new(backend.clone(), move |step| {
                let n = match step {
                    Step::Sleep(_) => usize::MAX,
                    _ => sent.fetch_add(1, Ordering::Relaxed),
                };
                if n == lost { Fate::LoseReply } else { Fate::Pass }
            });
            let s = sale(&shaky, how).with_patience(Patience::NONE);
            let buy = || s.buy(b"i", b"ann", 2, b"o").wait();
            let again = || {
                buy().or_else(|error| {
                    let unsold = [ErrorKind::NotSent, ErrorKind::GaveUp].contains(&error.kind());
                    assert!(error.is_unknown() || unsold, "{error}");
                    // A lock whose grant was not heard of is held until its lease ends.
                    for key in ["lock", "holders:line", "queue:line", "waits:line", "grants:line"] {
                        let key = format!("stock:i:{key}");
                        backend.run(cmd::del([key.as_str()])).wait().unwrap();
                    }
                    buy()
                })
            };
            assert_eq!(again().unwrap().outcome, Outcome::Sold(None), "{how:?} {lost}");
            assert_eq!(again().unwrap().outcome, Outcome::Sold(None), "{how:?} {lost}");
            let left = sale(&backend, how).stock(b"i").wait().unwrap();
            assert_eq!(left, stock(3, 0, 2), "{how:?} {lost}");
        }
    }
}

/// 1,000 buyers want one of 100 units.
fn a_thousand_buyers<B: Backend>(backend: &B, how: How) {
    let s = sale(backend, how).with_patience(Patience::of(Duration::from_secs(300)));
    s.restock(b"i", b"d", 100).wait().unwrap();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= 1_000 {
                        break;
                    }
                    let id = n.to_string();
                    let answer = s.buy(b"i", id.as_bytes(), 1, id.as_bytes()).wait().unwrap();
                    outcomes.lock().unwrap().insert(n, answer.outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    let sold = outcomes.values().filter(|outcome| **outcome == Outcome::Sold(None)).count();
    let out = outcomes.values().filter(|outcome| **outcome == Outcome::SoldOut(0)).count();
    assert_eq!((sold, out), (100, 900), "{how:?}");
    assert_eq!(s.stock(b"i").wait().unwrap(), stock(0, 0, 100), "{how:?}");
    let totals = s.totals();
    assert_eq!(totals.attempts - totals.retries, 1_000, "{how:?}");
}

#[test]
fn a_thousand_buyers_get_exactly_a_hundred_units_on_the_engine() {
    for how in ALL {
        a_thousand_buyers(&Memory::new(), how);
    }
}

#[cfg(feature = "redis")]
#[test]
fn a_thousand_buyers_get_exactly_a_hundred_units_on_redis() {
    use stockroom::backend::Redis;
    for how in ALL {
        let Some(server) = crate::support::real_redis(crate::bed::START) else { return };
        let redis = Redis::connect(&format!("redis://{}", server.addr())).wait().unwrap();
        a_thousand_buyers(&redis, how);
    }
}

#[derive(Clone, Debug)]
enum Act {
    Buy(u8, u64, u8),
    Confirm(u8),
    GiveBack(u8),
    Restock(u64, u8),
    Pass(u64),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The script and the transaction under WATCH are each other's twins.
    #[test]
    fn strategies_give_the_same_answers_and_units_are_conserved(
        acts in vec(prop_oneof![
            6 => (0..4_u8, 1..4_u64, 0..12_u8).prop_map(|(b, u, o)| Act::Buy(b, u, o)),
            2 => (0..12_u8).prop_map(Act::Confirm),
            2 => (0..12_u8).prop_map(Act::GiveBack),
            1 => (1..6_u64, 0..4_u8).prop_map(|(u, d)| Act::Restock(u, d)),
            2 => prop_oneof![1..60_u64, Just(50), Just(51)].prop_map(Act::Pass),
        ], 1..50),
        reserves in any::<bool>(),
        limit in prop::option::of(1..6_u64),
    ) {
        let beds = ALL.map(|how| {
            let (backend, env) = memory();
            let mut sale = sale(&backend, how);
            if reserves {
                sale = sale.with_reservation(ms(50)).unwrap();
            }
            if let Some(limit) = limit {
                sale = sale.with_limit(limit).unwrap();
            }
            (sale, env)
        });
        let (mut delivered, mut seen) = (0, Vec::new());
        for act in &acts {
            let answers = beds.each_ref().map(|(sale, env)| match *act {
                Act::Buy(b, units, o) => {
                    format!("{:?}", sale.buy(b"i", &[b], units, &[o]).wait().unwrap().outcome)
                }
                Act::Confirm(o) => format!("{}", sale.confirm(b"i", &[o]).wait().unwrap()),
                Act::GiveBack(o) => format!("{}", sale.give_back(b"i", &[o]).wait().unwrap()),
                Act::Restock(units, d) => {
                    format!("{}", sale.restock(b"i", &[d], units).wait().unwrap())
                }
                Act::Pass(d) => {
                    env.advance(ms(d));
                    String::new()
                }
            });
            for other in &answers {
                prop_assert_eq!(&answers[0], other, "{:?}", act);
            }
            if let Act::Restock(units, d) = *act
                && !seen.contains(&d)
            {
                seen.push(d);
                delivered += units;
            }
            for (sale, _) in &beds {
                let s = sale.stock(b"i").wait().unwrap();
                prop_assert_eq!(s.free + s.reserved + s.sold, delivered);
            }
        }
    }
}

/// What the published forms do when two buyers cross.
#[test]
fn textbook_sales_sell_too_much_or_too_little() {
    let (backend, _) = memory();
    let get = || backend.run(cmd::get::<i64>(b"n")).wait().unwrap().unwrap();
    let decr = || backend.run(cmd::incrby(b"n", -1)).wait().unwrap();
    // GET, then DECR: both see the last unit.
    backend.run(cmd::set(b"n", 1)).wait().unwrap();
    let (ann, bob) = (get(), get());
    assert!(ann > 0 && bob > 0);
    assert_eq!((decr(), decr()), (0, -1));
    // DECR, and back if it was none: a unit is free, and its buyer turned away.
    backend.run(cmd::set(b"n", 0)).wait().unwrap();
    let ann = decr();
    backend.run(cmd::incrby(b"n", 1)).wait().unwrap(); // restocked
    let bob = decr();
    assert!(ann < 0 && bob < 0);
    backend.run(cmd::incrby(b"n", 2)).wait().unwrap(); // both put theirs back
    assert_eq!(get(), 1);
    // WATCH without an order id: the reply is lost, the order is sent again, and sold twice.
    backend.run(cmd::set(b"n", 5)).wait().unwrap();
    for _ in ["the reply to this is lost", "and so it is sent again"] {
        let mut session = backend.session().wait().unwrap();
        let left = session.watch_and(&[b"n"], cmd::get::<i64>(b"n")).wait().unwrap().unwrap();
        session.commit(cmd::set(b"n", left - 1)).wait().unwrap();
    }
    assert_eq!(get(), 3);
}
