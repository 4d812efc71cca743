//! The twins of the scripts of the flash sale; its optimistic strategy, in the shop itself, is
//! another one of the purchase.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stockroom::Bytes;
use stockroom::backend::{Backend, Wait};
use stockroom::shop::{FlashSale, Keys};

#[cfg(feature = "redis")]
use super::on_redis;
use super::view::{Kind, View, number};
use super::{Answer, Feature, numbers, on_engine};

pub(super) static FEATURE: Feature = Feature {
    source: include_str!("../../../src/shop/flash_sale/script.rs"),
    kind: |at| match at {
        FREE | SOLD => Kind::Text,
        RESERVED => Kind::Zset,
        _ => Kind::Hash,
    },
    run,
};

const FREE: usize = 0;
const ORDERS: usize = 1;
const RESERVED: usize = 2;
const BUYERS: usize = 3;
const SOLD: usize = 4;

fn run(name: &str, view: &mut View, args: &[Bytes]) -> Answer {
    let mut sale = Sale { view };
    match name {
        "BUY" => sale.buy(args),
        "CONFIRM" => sale.confirm(&args[0]).into(),
        "GIVE_BACK" => sale.give_back(&args[0]).into(),
        "RESTOCK" => {
            let field = [b"d", &*args[0]].concat();
            if sale.view.hget(ORDERS, &field).is_some() {
                return sale.view.number(FREE).into();
            }
            sale.view.hset(ORDERS, &field, &args[1]);
            sale.view.expire(ORDERS, number(&args[2]));
            sale.view.incr(FREE, number(&args[1])).into()
        }
        "RECLAIM" => sale.reclaim(number(&args[0])).into(),
        "STOCK" => {
            let held = sale.view.zrange(RESERVED);
            let held = held.iter().map(|(id, _)| sale.order(id).map_or(0, |order| order.units));
            let held = held.sum();
            numbers(&[sale.view.number(FREE), held, sale.view.number(SOLD)])
        }
        other => panic!("{other} has no twin"),
    }
}

struct Order {
    state: u8,
    units: i64,
    buyer: Vec<u8>,
}

struct Sale<'v> {
    view: &'v mut View,
}

impl Sale<'_> {
    fn order(&mut self, id: &[u8]) -> Option<Order> {
        let entry = self.view.hget(ORDERS, &[b"o", id].concat())?;
        let mut parts = entry.splitn(3, |b| *b == b':');
        let mut part = || parts.next().expect("state, units and buyer");
        let (state, units, buyer) = (part()[0], number(part()), part().to_vec());
        Some(Order { state, units, buyer })
    }

    fn write(&mut self, id: &[u8], state: char, units: i64, buyer: &[u8]) {
        let entry = [format!("{state}:{units}:").as_bytes(), buyer].concat();
        self.view.hset(ORDERS, &[b"o", id].concat(), &entry);
    }

    /// Units of an order become free again.
    fn free(&mut self, id: &[u8], state: char, order: &Order) {
        self.view.zrem(RESERVED, id);
        self.view.incr(FREE, order.units);
        if self.view.hincr(BUYERS, &order.buyer, -order.units) <= 0 {
            self.view.hdel(BUYERS, &order.buyer);
        }
        self.write(id, state, order.units, &order.buyer);
    }

    fn reclaim(&mut self, most: i64) -> i64 {
        let lapsed = self.view.before_now(RESERVED);
        let lapsed = &lapsed[..lapsed.len().min(most as usize)];
        for (id, _) in lapsed {
            match self.order(id) {
                Some(order) => self.free(id, 'l', &order),
                None => drop(self.view.zrem(RESERVED, id)),
            }
        }
        lapsed.len() as i64
    }

    fn units_of(&mut self, buyer: &[u8]) -> i64 {
        self.view.hget(BUYERS, buyer).map_or(0, |units| number(&units))
    }

    fn buy(&mut self, args: &[Bytes]) -> Answer {
        let (id, buyer) = (&args[0], &args[1]);
        let [units, limit, reservation, kept] = [2, 3, 4, 5].map(|at| number(&args[at]));
        let now = self.view.now;
        if let Some(order) = self.order(id) {
            let left = self.view.zscore(RESERVED, id).map(|end| end - now);
            return match (order.state, left) {
                (b's', _) => numbers(&[1, -1, 1]),
                (b'r', Some(left @ 0..)) => numbers(&[1, left, 1]),
                _ => numbers(&[4, 0, 1]),
            };
        }
        let too_many = |own: i64| limit > 0 && own + units > limit;
        if too_many(self.units_of(buyer)) {
            self.reclaim(100);
            let own = self.units_of(buyer);
            if too_many(own) {
                return numbers(&[3, own, 0]);
            }
        }
        while self.view.number(FREE) < units && self.reclaim(100) > 0 {}
        if self.view.number(FREE) < units {
            return numbers(&[2, self.view.number(FREE), 0]);
        }
        self.view.incr(FREE, -units);
        self.view.hincr(BUYERS, buyer, units);
        let mut answer = -1;
        if reservation == 0 {
            self.view.incr(SOLD, units);
            self.write(id, 's', units, buyer);
        } else {
            self.view.zadd(RESERVED, now + reservation, id);
            self.write(id, 'r', units, buyer);
            answer = reservation;
        }
        for at in [ORDERS, BUYERS] {
            self.view.expire(at, kept);
        }
        numbers(&[1, answer, 0])
    }

    fn confirm(&mut self, id: &[u8]) -> bool {
        let Some(order) = self.order(id) else { return false };
        let lasts = self.view.zscore(RESERVED, id).is_some_and(|end| end >= self.view.now);
        if order.state == b'r' && lasts {
            self.view.zrem(RESERVED, id);
            self.view.incr(SOLD, order.units);
            self.write(id, 's', order.units, &order.buyer);
            return true;
        }
        order.state == b's'
    }

    fn give_back(&mut self, id: &[u8]) -> bool {
        let Some(order) = self.order(id) else { return false };
        if order.state == b's' {
            self.view.incr(SOLD, -order.units);
        }
        if matches!(order.state, b's' | b'r') {
            self.free(id, 'g', &order);
        }
        true
    }
}

#[derive(Clone, Debug)]
enum Act {
    /// Buyer, units, order; with a reservation, with a limit.
    Buy(u8, u64, u8, bool, bool),
    Confirm(u8),
    GiveBack(u8),
    Restock(u64, u8),
    Reclaim,
    Stock,
    Pass(u64),
}

impl super::Act for Act {
    fn time(&self) -> Option<Duration> {
        let Self::Pass(ms) = self else { return None };
        Some(Duration::from_millis(*ms))
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    const EIGHT_DAYS: u64 = 8 * 86_400_000;
    let time = prop_oneof![8 => 1..80_u64, 2 => 50..52_u64, 1 => Just(EIGHT_DAYS)];
    let act = prop_oneof![
        7 => (0..4_u8, 1..4_u64, 0..12_u8, any::<bool>(), any::<bool>())
            .prop_map(|(b, u, o, reserve, limit)| Act::Buy(b, u, o, reserve, limit)),
        2 => (0..12_u8).prop_map(Act::Confirm),
        2 => (0..12_u8).prop_map(Act::GiveBack),
        2 => (1..8_u64, 0..4_u8).prop_map(|(u, d)| Act::Restock(u, d)),
        1 => Just(Act::Reclaim),
        1 => Just(Act::Stock),
        // Now and then long enough for orders to be forgotten.
        3 => time.prop_map(Act::Pass),
    ];
    vec(act, 1..60)
}

struct World<B>(FlashSale<B>);

impl<B: Backend> World<B> {
    fn new(backend: B) -> Self {
        Self(FlashSale::new(backend, Keys::new()))
    }

    fn act(&mut self, act: &Act) -> String {
        let sale = &self.0;
        match *act {
            Act::Buy(buyer, units, order, reserves, limited) => {
                let mut sale = sale.clone();
                if reserves {
                    sale = sale.with_reservation(Duration::from_millis(50)).unwrap();
                }
                if limited {
                    sale = sale.with_limit(4).unwrap();
                }
                format!("{:?}", sale.buy(b"i", &[buyer], units, &[order]).wait().unwrap())
            }
            Act::Confirm(order) => format!("{}", sale.confirm(b"i", &[order]).wait().unwrap()),
            Act::GiveBack(order) => format!("{}", sale.give_back(b"i", &[order]).wait().unwrap()),
            Act::Restock(units, delivery) => {
                format!("{}", sale.restock(b"i", &[delivery], units).wait().unwrap())
            }
            Act::Reclaim => format!("{}", sale.reclaim_step(b"i").wait().unwrap()),
            Act::Stock => format!("{:?}", sale.stock(b"i").wait().unwrap()),
            Act::Pass(_) => String::new(),
        }
    }
}

#[test]
fn sales_and_their_twins_do_the_same() {
    on_engine!(World::new, acts());
}

#[cfg(feature = "redis")]
#[test]
fn sales_and_their_twins_do_the_same_on_redis() {
    on_redis!(World::new, acts());
}
