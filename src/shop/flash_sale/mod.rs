//! Flash sale: few units, many buyers, and every unit sold exactly once.
//!
//! | key | type | content |
//! |---|---|---|
//! | `stock:ITEM` | string | units that are free |
//! | `stock:ITEM:orders` | hash | order → what became of it |
//! | `stock:ITEM:reserved` | sorted set | order → end of its reservation |
//! | `stock:ITEM:buyers` | hash | buyer → units |
//! | `stock:ITEM:sold` | string | units sold |
//!
//! # What it promises
//!
//! Units free, reserved and sold add up to what was delivered, at every moment. Nobody is told
//! "sold out" while enough units are free, those of lapsed reservations included. An order counts
//! once however often it is sent, and gets the same answer, for as long as orders are kept: 7 days
//! after the last one. No buyer gets more than the limit. Times are the server's.
//!
//! # Strategies
//!
//! | [`Strategy`] | how | cost of a purchase |
//! |---|---|---|
//! | `Atomic`, the default | one script | one round trip |
//! | `FairByTicket` | the same, in order of arrival, under a [`FairLock`] | three, and the wait |
//! | `Locked` | a transaction, under a [`Lock`] | five, and the wait |
//! | `Optimistic` | a transaction that is tried again when somebody was faster | two for each try |
//!
//! The last starves slow buyers, since each purchase makes all others under way start again: with
//! n at a time about n/2 tries for each. It is the only one that needs no scripts, without which
//! there are no reservations either. Under the lock the transaction watches too, so that a holder
//! that was paused beyond its lease cannot sell twice.
//!
//! Source: the published sale, under WATCH or under a lock without a look at the end of its lease,
//! sells twice when a reply is lost and the order is sent again.

pub(super) mod script;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::backoff::{Backoff, unwritten};
use super::check::{id as check_id, kept};
use super::daemon::{Chore, Progress};
use super::keys::{Key, Keys};
use super::lease::{Lease, Patience};
use super::lock::{FairLock, Lock};
use crate::backend::{Arg, Backend, Cmd, Session, cmd};
use crate::bytes::Bytes;
use crate::commands::string;
use crate::error::{Error, ErrorKind, Result};

/// The most units of an order, a delivery or a limit.
pub const MAX_UNITS: u64 = 1_000_000_000;

/// How long orders are kept after the last one of an item.
pub const ORDERS_KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Waits between the tries of the optimistic strategy.
const WAITS: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(64));

/// How a purchase is kept apart from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// One script.
    #[default]
    Atomic,
    /// One script, under a fair lock: first come, first served; who dies in the queue is skipped.
    FairByTicket,
    /// A transaction under a lock.
    Locked,
    /// A transaction that is tried again.
    Optimistic,
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The units are the buyer's; for so long, where they must be confirmed.
    Sold(Option<Duration>),
    /// Too few are free: so many.
    SoldOut(u64),
    /// It would be more than the limit of a buyer, who has so many.
    LimitReached(u64),
    /// This order was given back, or its reservation has lapsed.
    Ended,
}

/// The answer to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What became of it.
    pub outcome: Outcome,
    /// How many tries it took; more than one only when optimistic.
    pub attempts: u32,
    /// Whether the order had been answered before, so that nothing changed now.
    pub repeated: bool,
}

/// The units of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Free.
    pub free: u64,
    /// Reserved, lapsed ones included that nobody has reclaimed yet.
    pub reserved: u64,
    /// Sold.
    pub sold: u64,
}

/// What a sale has done so far, in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tries of all orders.
    pub attempts: u64,
    /// Those of them that were tries again.
    pub retries: u64,
}

#[derive(Debug, Default)]
struct Counted {
    attempts: AtomicU64,
    retries: AtomicU64,
}

/// A flash sale; see the module's documentation for keys and promises. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{FlashSale, Keys, flash_sale::Outcome};
///
/// # #[cfg(feature = "lua")] {
/// let sale = FlashSale::new(Memory::new(), Keys::new());
/// sale.restock(b"teapot", b"delivery 1", 1).wait()?;
/// let buy = |buyer: &[u8], order: &[u8]| sale.buy(b"teapot", buyer, 1, order).wait();
/// assert_eq!(buy(b"ada", b"order 1")?.outcome, Outcome::Sold(None));
/// // Sent again it counts once.
/// assert_eq!(buy(b"ada", b"order 1")?.outcome, Outcome::Sold(None));
/// assert_eq!(buy(b"bob", b"order 2")?.outcome, Outcome::SoldOut(0));
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlashSale<B> {
    backend: B,
    keys: Keys,
    strategy: Strategy,
    reservation: Duration,
    limit: u64,
    patience: Patience,
    counted: Arc<Counted>,
}

impl<B: Backend> FlashSale<B> {
    /// Sales under `keys`: atomic, final at once, without a limit.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self {
            backend,
            keys,
            strategy: Strategy::default(),
            reservation: Duration::ZERO,
            limit: 0,
            patience: Patience::of(Duration::from_secs(10)),
            counted: Arc::default(),
        }
    }

    /// Sets how purchases are kept apart. All strategies can run side by side.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Lets an order be a reservation of this length, 10 ms to 366 days, until it is confirmed.
    pub fn with_reservation(mut self, length: Duration) -> Result<Self> {
        self.reservation = kept("reservation", length, Duration::from_millis(10))?;
        Ok(self)
    }

    /// Sets how many units one buyer may have, 1 to a billion.
    pub fn with_limit(mut self, units: u64) -> Result<Self> {
        self.limit = check_units("limit", units)?;
        Ok(self)
    }

    /// Sets for how long a purchase waits for the lock or tries again, 10 seconds unless told
    /// otherwise; then the error is [`GaveUp`](ErrorKind::GaveUp).
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Buys units of an item; `order` names the order, of this item and for ever. Costs: see the
    /// module's documentation; O(1), and O(log reservations) for those that have lapsed.
    ///
    /// After [`Unknown`](ErrorKind::Unknown) send the same order again: it counts once.
    pub async fn buy(&self, item: &[u8], buyer: &[u8], units: u64, order: &[u8]) -> Result<Answer> {
        check_id("item", item)?;
        check_id("buyer", buyer)?;
        check_id("order", order)?;
        check_units("number of units", units)?;
        let order = Order { keys: self.keys.sale(item), id: order, buyer, units };
        match self.strategy {
            Strategy::Atomic => self.atomic(&order).await,
            Strategy::Optimistic => self.optimistic(&order).await,
            Strategy::Locked => {
                let lock = Lock::of(self.backend.clone(), self.keys.sale_lock(item));
                let mut held = lock.acquire(lease()?, self.patience).await.map_err(unwritten)?;
                let answer = self.optimistic(&order).await;
                // The answer stands whatever becomes of this: the lease ends by itself.
                drop(held.release().await);
                answer
            }
            Strategy::FairByTicket => {
                let lock = FairLock::of(self.backend.clone(), self.keys.sale_line(item));
                let mut held = lock.acquire(lease()?, self.patience).await.map_err(unwritten)?;
                let answer = self.atomic(&order).await;
                drop(held.release().await);
                answer
            }
        }
    }

    async fn atomic(&self, order: &Order<'_>) -> Result<Answer> {
        self.count(1);
        let args: [Arg<'_>; 6] = [
            order.id.into(),
            order.buyer.into(),
            order.units.into(),
            self.limit.into(),
            millis(self.reservation).into(),
            millis(ORDERS_KEPT).into(),
        ];
        let (code, n, known): (i64, i64, i64) =
            self.backend.script(&script::BUY, &names(&order.keys), &args).await?;
        let outcome = match code {
            1 => Outcome::Sold(u64::try_from(n).ok().map(Duration::from_millis)),
            2 => Outcome::SoldOut(n.max(0) as u64),
            3 => Outcome::LimitReached(n.max(0) as u64),
            4 => Outcome::Ended,
            _ => return Err(Error::unexpected("1 to 4", &code)),
        };
        Ok(Answer { outcome, attempts: 1, repeated: known == 1 })
    }

    async fn optimistic(&self, order: &Order<'_>) -> Result<Answer> {
        let began = self.backend.monotonic();
        let (mut waits, mut waited) = (WAITS, Duration::ZERO);
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let mut attempts = 0_u32;
        loop {
            attempts = attempts.saturating_add(1);
            self.count(attempts);
            if let Some((outcome, repeated)) = self.attempt(&mut session, order).await? {
                return Ok(Answer { outcome, attempts, repeated });
            }
            let spent = self.backend.monotonic().saturating_sub(began).max(waited);
            if spent >= self.patience.length() {
                let text =
                    format!("nothing bought: others were faster {attempts} times, {spent:?}");
                return Err(Error::new(ErrorKind::GaveUp, text));
            }
            let wait = waits.next(&self.backend);
            self.backend.sleep(wait).await;
            waited += wait;
        }
    }

    /// Tries once; says whether the order was known. `None`: somebody was faster, and nothing was
    /// done.
    async fn attempt(
        &self,
        session: &mut B::Session,
        order: &Order<'_>,
    ) -> Result<Option<(Outcome, bool)>> {
        let [stock, orders, reserved, buyers, sold] = &order.keys;
        let field = [b"o", order.id].concat();
        let time = Cmd::<(i64, i64)>::new(&crate::commands::server::TIME);
        let reads = (
            cmd::get::<u64>(stock),
            cmd::hget::<Bytes>(orders, &field),
            cmd::hget::<u64>(buyers, order.buyer),
            cmd::zscore(reserved, order.id),
            cmd::zrange_withscores::<Bytes>(reserved, 0, 0),
            time,
        );
        let watched: [&[u8]; 4] = [stock, orders, reserved, buyers];
        let (free, own, known, end, now) = loop {
            let look = session.watch_and(&watched, reads.clone()).await.map_err(unwritten)?;
            let (free, known, own, end, oldest, (secs, micros)) = look;
            let (free, own) = (free.unwrap_or(0), own.unwrap_or(0));
            let now = secs * 1_000 + micros / 1_000;
            // What has lapsed is free again before anybody is turned away.
            let too_few = free < order.units || (self.limit > 0 && own + order.units > self.limit);
            let lapsed = oldest.first().is_some_and(|(_, end)| (*end as i64) < now);
            if known.is_some() || !too_few || !lapsed {
                break (free, own, known, end, now);
            }
            // Its own watches must not see this change.
            session.commit(()).await.map_err(unwritten)?;
            let keys = names(&order.keys);
            let _: u64 = self.backend.script(&script::RECLAIM, &keys, &[100.into()]).await?;
        };
        if let Some(known) = known {
            let left = end.map(|end| end as i64 - now);
            let outcome = match (known.first(), left) {
                (Some(b's'), _) => Outcome::Sold(None),
                (Some(b'r'), Some(left @ 0..)) => {
                    Outcome::Sold(Some(Duration::from_millis(left as u64)))
                }
                _ => Outcome::Ended,
            };
            return Ok(Some((outcome, true)));
        }
        let too_many = self.limit > 0 && own + order.units > self.limit;
        if too_many {
            return Ok(Some((Outcome::LimitReached(own), false)));
        }
        if free < order.units {
            return Ok(Some((Outcome::SoldOut(free), false)));
        }
        let reserves = !self.reservation.is_zero();
        let until = now + millis(self.reservation) as i64;
        let state = if reserves { "r" } else { "s" };
        let entry = [format!("{state}:{}:", order.units).as_bytes(), order.buyer].concat();
        let units = order.units as i64;
        let batch = (
            Cmd::<i64>::new(&string::DECRBY).arg(stock).arg(units),
            cmd::hset(orders, &field, &entry),
            cmd::hincrby(buyers, order.buyer, units),
            reserves.then(|| cmd::zadd(reserved, until, order.id)),
            (!reserves).then(|| cmd::incrby(sold, units)),
            (cmd::expire(orders, ORDERS_KEPT), cmd::expire(buyers, ORDERS_KEPT)),
        );
        let left = reserves.then_some(self.reservation);
        Ok(session.commit(batch).await?.map(|_| (Outcome::Sold(left), false)))
    }

    fn count(&self, attempt: u32) {
        self.counted.attempts.fetch_add(1, Ordering::Relaxed);
        if attempt > 1 {
            self.counted.retries.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often this sale and its clones have tried so far.
    pub fn totals(&self) -> Totals {
        Totals {
            attempts: self.counted.attempts.load(Ordering::Relaxed),
            retries: self.counted.retries.load(Ordering::Relaxed),
        }
    }

    /// Makes a reservation a sale; says whether it is one now. `false`: it has lapsed, was given
    /// back, or never was. One script, O(log reservations). Can be repeated.
    pub async fn confirm(&self, item: &[u8], order: &[u8]) -> Result<bool> {
        check_id("item", item)?;
        let args = [check_id("order", order)?.into()];
        self.backend.script(&script::CONFIRM, &names(&self.keys.sale(item)), &args).await
    }

    /// Gives the units of an order back, reserved or sold; says whether there is such an order.
    /// One script, O(log reservations). Can be repeated: they come back once.
    pub async fn give_back(&self, item: &[u8], order: &[u8]) -> Result<bool> {
        check_id("item", item)?;
        let args = [check_id("order", order)?.into()];
        self.backend.script(&script::GIVE_BACK, &names(&self.keys.sale(item)), &args).await
    }

    /// Adds units; `delivery` names the delivery, which counts once however often it is sent. Gives
    /// how many units are free. One script, O(1).
    pub async fn restock(&self, item: &[u8], delivery: &[u8], units: u64) -> Result<u64> {
        check_id("item", item)?;
        check_units("number of units", units)?;
        let delivery = check_id("delivery", delivery)?;
        let args: [Arg<'_>; 3] = [delivery.into(), units.into(), millis(ORDERS_KEPT).into()];
        self.backend.script(&script::RESTOCK, &names(&self.keys.sale(item)), &args).await
    }

    /// The units of an item. One script, O(reservations).
    pub async fn stock(&self, item: &[u8]) -> Result<Stock> {
        check_id("item", item)?;
        let keys = self.keys.sale(item);
        let (free, reserved, sold) =
            self.backend.script(&script::STOCK, &names(&keys), &[]).await?;
        Ok(Stock { free, reserved, sold })
    }

    /// Frees what up to 100 reservations hold whose time is over; says how many these were. A
    /// purchase that finds too few units does the same, so this is only for those who look at the
    /// stock. One script, O(log reservations) each.
    pub async fn reclaim_step(&self, item: &[u8]) -> Result<u64> {
        check_id("item", item)?;
        let keys = self.keys.sale(item);
        self.backend.script(&script::RECLAIM, &names(&keys), &[100.into()]).await
    }

    /// [`reclaim_step`](Self::reclaim_step) as a chore, every second.
    pub fn reclaimer(&self, item: &[u8]) -> Reclaimer<B> {
        Reclaimer { sale: self.clone(), item: Bytes::copy_from(item) }
    }
}

/// Frees lapsed reservations; see [`FlashSale::reclaimer`].
#[derive(Debug)]
pub struct Reclaimer<B> {
    sale: FlashSale<B>,
    item: Bytes,
}

impl<B: Backend> Chore for Reclaimer<B> {
    async fn step(&mut self) -> Result<Progress> {
        let freed = self.sale.reclaim_step(&self.item).await?;
        let rest = if freed < 100 { Duration::from_secs(1) } else { Duration::ZERO };
        Ok(Progress::rest(freed, rest))
    }
}

struct Order<'a> {
    keys: [Key; 5],
    id: &'a [u8],
    buyer: &'a [u8],
    units: u64,
}

fn names(keys: &[Key; 5]) -> [&[u8]; 5] {
    keys.each_ref().map(|key| &**key)
}

/// How long a purchase holds its lock at most.
fn lease() -> Result<Lease> {
    Lease::of(Duration::from_secs(10))
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}

fn check_units(what: &str, units: u64) -> Result<u64> {
    if units == 0 || units > MAX_UNITS {
        return Err(Error::invalid(what, units, "1 to 1000000000 units"));
    }
    Ok(units)
}
