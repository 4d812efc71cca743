//! Purchases: a cart becomes an order; what sells to whom, and together with what.
//!
//! | key | type | content |
//! |---|---|---|
//! | `order:ID` | hash | item → count; kept as long as a retry can come |
//! | `orders:` | string | number of orders |
//! | `bought:` | sorted set | item → units bought |
//! | `lookers:ITEM`, `buyers:ITEM` | set | the sessions that looked at it, that bought it |
//! | `also:ITEM` | sorted set | other item → number of orders that hold both |
//!
//! The order id is the caller's and makes a purchase safe to repeat: while the order is kept, a
//! second call with its id changes nothing and answers the same order.
//!
//! Sets of sessions give exact answers and cost about 50 bytes per session and item; a shop that
//! cannot afford that calls [`Purchases::look`] for a sample of its sessions.

use std::time::Duration;

use super::backoff::unwritten;
use super::check::{id, kept};
use super::keys::{Key, Keys};
use crate::backend::{Backend, Batch, Session, cmd};
use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// How often a purchase tries again when the same cart or order changes under its feet.
const ATTEMPTS: u32 = 100;

/// Of a larger order only the first so many items are counted as bought together: the number of
/// pairs grows with the square.
const MOST_LINKED: usize = 32;

/// Purchases; see the module's documentation.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Cart, Keys, Purchases};
///
/// let (memory, keys) = (Memory::new(), Keys::new());
/// let cart = Cart::new(memory.clone(), keys.clone());
/// let purchases = Purchases::new(memory, keys);
/// cart.set(b"t", b"teapot", 1).wait()?;
/// cart.set(b"t", b"cup", 4).wait()?;
/// let order = purchases.purchase(b"t", b"order-1").wait()?;
/// assert_eq!(order.items, [("cup".into(), 4), ("teapot".into(), 1)]);
/// // The reply was lost? Once more:
/// assert_eq!(purchases.purchase(b"t", b"order-1").wait()?.items, order.items);
/// assert_eq!(purchases.also_bought(b"teapot", 5).wait()?, [("cup".into(), 1)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Purchases<B> {
    backend: B,
    keys: Keys,
    kept: Option<Duration>,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What was bought, by item.
    pub items: Vec<(Bytes, i64)>,
    /// Whether an earlier call had made it already.
    pub repeated: bool,
}

/// How many of those who looked at an item bought it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Sessions that looked at the item.
    pub lookers: u64,
    /// Those of them that bought it.
    pub buyers: u64,
}

impl Conversion {
    /// The buyers among the lookers, in percent; `None` when nobody looked.
    pub fn percent(&self) -> Option<f64> {
        (self.lookers > 0).then(|| self.buyers as f64 * 100.0 / self.lookers as f64)
    }
}

impl<B: Backend> Purchases<B> {
    /// Purchases under `keys`. Orders are kept for ever.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys, kept: None }
    }

    /// Sets for how long orders are kept, by the server's clock: a purchase is safe to repeat that
    /// long. Fails when it is less than a second or more than 366 days.
    pub fn with_orders_kept(mut self, time: Duration) -> Result<Self> {
        self.kept = Some(kept("time to keep orders", time, Duration::from_secs(1))?);
        Ok(self)
    }

    /// Buys what is in the cart of `token`, as order `order`.
    ///
    /// Two round trips: WATCH on the cart and the order with HGETALL of both; then one transaction
    /// that empties the cart, writes the order and counts. Tried again when the cart changes in
    /// between: what is bought is exactly what was taken out of the cart. An empty cart is invalid
    /// unless the order has been made already.
    ///
    /// When the reply to the transaction is lost the error is [`Unknown`](ErrorKind::Unknown), and
    /// a repetition is safe. When the server refuses a command of the transaction, because a key
    /// holds another type or a sum leaves 64 bits, the others stand:
    /// [`Partly`](ErrorKind::Partly); the order itself is written before anything is counted.
    pub async fn purchase(&self, token: &[u8], order: &[u8]) -> Result<Order> {
        id("token", token)?;
        self.buy(token, order, None).await
    }

    /// Records an order that did not come from a cart, which is left alone. Counts must be at
    /// least 1 and items differ. Can be repeated like [`purchase`](Self::purchase).
    pub async fn record(
        &self,
        token: &[u8],
        order: &[u8],
        items: &[(&[u8], i64)],
    ) -> Result<Order> {
        id("token", token)?;
        let mut given: Vec<(Bytes, i64)> = Vec::with_capacity(items.len());
        for (item, count) in items {
            id("item", item)?;
            if *count < 1 {
                return Err(Error::invalid("count", count, "a count of at least 1"));
            }
            given.push((Bytes::copy_from(item), *count));
        }
        given.sort_unstable();
        if given.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
            return Err(Error::invalid("items", "with one twice", "items that differ"));
        }
        self.buy(token, order, Some(given)).await
    }

    /// Notes that a session looked at an item. SADD. O(1). Can be repeated.
    pub async fn look(&self, token: &[u8], item: &[u8]) -> Result<()> {
        id("token", token)?;
        id("item", item)?;
        self.backend.run(cmd::sadd(&self.keys.lookers(item), [token])).await.map(drop)
    }

    /// How many of the sessions that looked at an item bought it. SCARD and SINTERCARD in one
    /// transaction. O(the smaller set).
    pub async fn conversion(&self, item: &[u8]) -> Result<Conversion> {
        id("item", item)?;
        let (lookers, buyers) = (self.keys.lookers(item), self.keys.buyers(item));
        let batch = (cmd::scard(&lookers), cmd::sintercard(&lookers, &buyers));
        let (lookers, buyers) = self.backend.atomic(batch).await?;
        Ok(Conversion { lookers, buyers })
    }

    /// The `n` items that were most often bought together with this one, with the number of such
    /// orders; those of equal number in the reverse order of their bytes. ZRANGE … REV.
    /// O(log items + n).
    pub async fn also_bought(&self, item: &[u8], n: u64) -> Result<Vec<(Bytes, u64)>> {
        id("item", item)?;
        self.top_of(&self.keys.also(item), n).await
    }

    /// The `n` items of which most units were bought, with their number. ZRANGE … REV.
    pub async fn bestsellers(&self, n: u64) -> Result<Vec<(Bytes, u64)>> {
        self.top_of(&self.keys.bought(), n).await
    }

    /// How many orders were made. GET.
    pub async fn orders(&self) -> Result<u64> {
        let orders = self.backend.run(cmd::get(&self.keys.orders())).await?;
        Ok(orders.unwrap_or(0))
    }

    /// What an order holds, by item; empty when there is none of that id, or no longer. HGETALL.
    pub async fn order(&self, order: &[u8]) -> Result<Vec<(Bytes, i64)>> {
        id("order id", order)?;
        let mut items = self.backend.run(cmd::hgetall(&self.keys.order(order))).await?;
        items.sort_unstable();
        Ok(items)
    }

    async fn top_of(&self, key: &Key, n: u64) -> Result<Vec<(Bytes, u64)>> {
        if n == 0 {
            return Ok(Vec::new());
        }
        let last = i64::try_from(n - 1).unwrap_or(i64::MAX);
        let top = self.backend.run(cmd::zrange_rev_withscores(key, 0, last)).await?;
        Ok(top.into_iter().map(|(item, count): (Bytes, f64)| (item, count as u64)).collect())
    }

    /// Makes an order of `given`, or of the cart.
    async fn buy(
        &self,
        token: &[u8],
        order: &[u8],
        given: Option<Vec<(Bytes, i64)>>,
    ) -> Result<Order> {
        id("order id", order)?;
        let (order_key, cart) = (self.keys.order(order), self.keys.cart(token));
        let mut session = self.backend.session().await.map_err(unwritten)?;
        for _ in 0..ATTEMPTS {
            let (watched, from_cart): (&[&[u8]], _) = match given {
                Some(_) => (&[&order_key], None),
                None => (&[&order_key, &cart], Some(cmd::hgetall(&cart))),
            };
            let reads = (cmd::hgetall(&order_key), from_cart);
            let look = session.watch_and(watched, reads).await;
            let (mut made, in_cart) = look.map_err(unwritten)?;
            if !made.is_empty() {
                made.sort_unstable();
                return Ok(Order { items: made, repeated: true });
            }
            let mut items = given.clone().or(in_cart).unwrap_or_default();
            if items.is_empty() {
                return Err(Error::invalid("cart", "without items", "at least one item"));
            }
            items.sort_unstable();
            let names = Names::new(&self.keys, &items);
            let empty_cart = given.is_none().then(|| cmd::del([&cart]));
            let batch = (empty_cart, names.batch(token, &order_key, &items, self.kept));
            if session.commit(batch).await?.is_some() {
                return Ok(Order { items, repeated: false });
            }
        }
        Err(Error::new(ErrorKind::GaveUp, "the cart kept changing under our feet"))
    }
}

/// The keys that an order is counted under.
struct Names {
    orders: Key,
    bought: Key,
    buyers: Vec<Key>,
    also: Vec<Key>,
}

impl Names {
    fn new(keys: &Keys, items: &[(Bytes, i64)]) -> Self {
        Self {
            orders: keys.orders(),
            bought: keys.bought(),
            buyers: items.iter().map(|(item, _)| keys.buyers(item)).collect(),
            also: items.iter().take(MOST_LINKED).map(|(item, _)| keys.also(item)).collect(),
        }
    }

    /// All that an order writes.
    fn batch<'a>(
        &'a self,
        token: &'a [u8],
        order: &'a Key,
        items: &'a [(Bytes, i64)],
        kept: Option<Duration>,
    ) -> impl Batch + use<'a> {
        let lines = items.iter().map(|(item, count)| (&**item, *count));
        let each = items.iter().zip(&self.buyers).map(|((item, count), buyers)| {
            (cmd::zincrby(&self.bought, *count, item), cmd::sadd(buyers, [token]))
        });
        let linked = || items.iter().zip(&self.also);
        let pairs = linked().flat_map(|(item, also)| {
            let others = linked().filter(move |(other, _)| other.0 != item.0);
            others.map(move |(other, _)| cmd::zincrby(also, 1, &other.0))
        });
        (
            cmd::hset_all(order, lines),
            kept.map(|kept| cmd::expire(order, kept)),
            cmd::incrby(&self.orders, 1),
            each.collect::<Vec<_>>(),
            pairs.collect::<Vec<_>>(),
        )
    }
}
