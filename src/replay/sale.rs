//! A flash sale in a replay: each item has a few units, and nobody buys more than there are.
//!
//! An item's units are delivered when it is first ordered. The order is the trace's transaction,
//! so that a transaction that comes again counts once, as a purchase that is sent again must. What
//! is sold out stays in the cart and is not recorded as bought.
//!
//! The sale keeps orders for a week by the server's clock, which on a real Redis is not the
//! trace's; so an order that comes again later than that is not sent any more.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::report::Sale;
use super::tally::{Seen, fingerprint};
use crate::backend::Backend;
use crate::shop::flash_sale::{ORDERS_KEPT, Outcome};
use crate::shop::{FlashSale, Keys};
use crate::{Env, Result, Timestamp};

/// How many orders are remembered for longer than the sale does.
const MOST: usize = 1 << 22;

/// The name of the only delivery.
const DELIVERY: &[u8] = b"replay";

/// What of an order was asked for.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) item: &'a [u8],
    pub(super) buyer: &'a [u8],
    pub(super) units: u64,
    pub(super) order: &'a [u8],
}

/// Guards purchases by the stock of their items.
pub(super) struct Guard<B> {
    sale: FlashSale<B>,
    env: Env,
    delivered: Seen,
    /// When each line was sold, by fingerprint of item and order.
    sold_at: HashMap<u64, Timestamp, FixedState>,
    done: Sale,
}

impl<B: Backend> Guard<B> {
    /// A guard of `units` of each item.
    pub(super) fn new(backend: &B, keys: &Keys, env: &Env, units: u64) -> Self {
        Self {
            sale: FlashSale::new(backend.clone(), keys.clone()),
            env: env.clone(),
            delivered: Seen::new(),
            sold_at: HashMap::default(),
            done: Sale { units, ..Sale::default() },
        }
    }

    /// Asks the sale; says whether the units are sold by this.
    pub(super) async fn sells(&mut self, line: Line<'_>) -> Result<bool> {
        let Line { item, buyer, units, order } = line;
        let now = self.env.now();
        let id = fingerprint(&[&item.len().to_le_bytes(), item, order].concat());
        if self.sold_at.get(&id).is_some_and(|at| now.since(*at) >= ORDERS_KEPT) {
            self.done.repeated += 1;
            return Ok(false);
        }
        if self.delivered.note(item) {
            self.sale.restock(item, DELIVERY, self.done.units).await?;
        }
        let answer = self.sale.buy(item, buyer, units, order).await?;
        match answer.outcome {
            _ if answer.repeated => self.done.repeated += 1,
            Outcome::Sold(_) => {
                self.done.sold += units;
                if self.sold_at.len() < MOST {
                    self.sold_at.insert(id, now);
                }
                return Ok(true);
            }
            _ => self.done.sold_out += units,
        }
        Ok(false)
    }

    /// What it has done.
    pub(super) fn done(&self) -> Sale {
        Sale { items: self.delivered.count(), ..self.done }
    }
}

#[cfg(feature = "lua")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Memory, Wait};
    use std::time::Duration;

    #[test]
    fn an_order_counts_once_however_late_it_comes_again() {
        let env = Env::manual(Timestamp::from_secs(1_000), 0);
        let memory = Memory::with_env(env.clone());
        let mut guard = Guard::new(&memory, &Keys::new(), &env, 3);
        let mut sells = |item: &[u8], units, order: &[u8]| {
            guard.sells(Line { item, buyer: b"ada", units, order }).wait().unwrap()
        };
        assert!(sells(b"cup", 2, b"1") && sells(b"pot", 1, b"1"));
        assert!(!sells(b"cup", 2, b"1") && !sells(b"cup", 2, b"2"));
        // The engine forgets the order then.
        env.advance(ORDERS_KEPT + Duration::from_secs(1));
        assert!(!sells(b"cup", 1, b"1") && sells(b"cup", 1, b"3") && !sells(b"cup", 1, b"4"));
        let items = guard.delivered.count();
        let done = Sale { units: 3, items, sold: 4, sold_out: 3, repeated: 2 };
        assert_eq!((guard.done(), items.count), (done, 2));
        let stock = guard.sale.stock(b"cup").wait().unwrap();
        assert_eq!((stock.free, stock.sold), (0, 3));
    }
}
