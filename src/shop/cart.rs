//! Carts: what a session wants to buy.
//!
//! `cart:TOKEN` is a hash item → count, removed with its session. Every count is at least 1.
//!
//! Source: the shopping cart cookies of the published articles; `add` and `clear` are ours.

use super::backoff::unwritten;
use super::check::id;
use super::keys::Keys;
use crate::backend::{Backend, Session, cmd};
use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// How often [`Cart::add`] tries again when the same cart changes under its feet.
const ATTEMPTS: u32 = 100;

/// The carts of all sessions; see the module's documentation.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Cart, Keys};
///
/// let cart = Cart::new(Memory::new(), Keys::new());
/// cart.set(b"token", b"teapot", 2).wait()?;
/// assert_eq!(cart.add(b"token", b"teapot", -1).wait()?, 1);
/// assert_eq!(cart.items(b"token").wait()?, [("teapot".into(), 1)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cart<B> {
    backend: B,
    keys: Keys,
}

impl<B: Backend> Cart<B> {
    /// Carts under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys }
    }

    /// Puts `count` of an item into the cart, whatever was there; a count of 0 or less takes the
    /// item out. HSET or HDEL. O(1). Can be repeated after a lost reply.
    pub async fn set(&self, token: &[u8], item: &[u8], count: i64) -> Result<()> {
        id("token", token)?;
        id("item", item)?;
        let cart = self.keys.cart(token);
        if count > 0 {
            self.backend.run(cmd::hset(&cart, item, count)).await.map(drop)
        } else {
            self.backend.run(cmd::hdel(&cart, [item])).await.map(drop)
        }
    }

    /// Adds `by` of an item, or takes some out; an item of which none is left is taken out.
    /// Answers the new count, 0 if the item is not in the cart.
    ///
    /// Adding is one HINCRBY. Taking out is WATCH and HGET, then HSET or HDEL in a transaction,
    /// tried again, up to 100 times, when somebody else changes the same cart meanwhile; then the
    /// error is [`GaveUp`](ErrorKind::GaveUp). O(1). Invalid when the count would not fit 64 bits;
    /// the cart is then as it was.
    ///
    /// When the reply to the change is lost the error is [`Unknown`](ErrorKind::Unknown), and
    /// adding again may add twice: look at [`items`](Self::items), or [`set`](Self::set) the count.
    /// After every other error nothing was added.
    pub async fn add(&self, token: &[u8], item: &[u8], by: i64) -> Result<i64> {
        id("token", token)?;
        id("item", item)?;
        let cart = self.keys.cart(token);
        if by > 0 {
            let added = self.backend.run(cmd::hincrby(&cart, item, by)).await;
            return added.map_err(|error| if is_overflow(&error) { too_many() } else { error });
        }
        let mut session = self.backend.session().await.map_err(unwritten)?;
        for _ in 0..ATTEMPTS {
            let look = session.watch_and(&[&cart], cmd::hget::<i64>(&cart, item)).await;
            let had = look.map_err(unwritten)?;
            let left = had.unwrap_or(0).saturating_add(by).max(0);
            let done = if left > 0 {
                session.commit(cmd::hset(&cart, item, left)).await?.is_some()
            } else {
                session.commit(cmd::hdel(&cart, [item])).await?.is_some()
            };
            if done {
                return Ok(left);
            }
        }
        Err(Error::new(ErrorKind::GaveUp, "the cart kept changing under our feet"))
    }

    /// What is in the cart, by item. HGETALL. O(items).
    pub async fn items(&self, token: &[u8]) -> Result<Vec<(Bytes, i64)>> {
        id("token", token)?;
        let mut items = self.backend.run(cmd::hgetall(&self.keys.cart(token))).await?;
        items.sort_unstable();
        Ok(items)
    }

    /// Empties the cart; says whether anything was in it. DEL. O(items). Repeated after a lost
    /// reply it takes out what has come in since, and may say that nothing was in it.
    pub async fn clear(&self, token: &[u8]) -> Result<bool> {
        id("token", token)?;
        Ok(self.backend.run(cmd::del(&[self.keys.cart(token)])).await? > 0)
    }
}

/// Whether HINCRBY was refused because the sum would not fit.
fn is_overflow(error: &Error) -> bool {
    error.kind() == ErrorKind::Refused
        && error.to_string() == "ERR increment or decrement would overflow"
}

fn too_many() -> Error {
    Error::invalid("count", "beyond 64 bits", "a count that fits the cart")
}
