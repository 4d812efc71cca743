//! The part of the tour about those who must not get in each other's way: locks, permits, units,
//! work.

use std::time::Duration;

use super::guide::{Guide, list, yes};
use crate::backend::Backend;
use crate::shop::flash_sale::Outcome;
use crate::shop::semaphore::Asked;
use crate::shop::{
    Cart, DelayedQueue, ExpiryQueue, FairLock, FlashSale, Held, Lease, Lock, Semaphore,
};
use crate::{Bytes, Result};

const TEN_SECONDS: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3_600);

pub(super) async fn lock<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "One at a time, on all servers. A lock is a lease: who dies with it is in nobody's way \
         for longer than that. Each grant has a number, higher than the one before: what the \
         lock guards can refuse whoever comes late with an old one.",
    );
    let lock = Lock::new(g.backend(), &g.keys(), b"stocktaking")?;
    let lease = Lease::of(TEN_SECONDS)?;
    let mut ada = lock.try_acquire_as(b"ada", lease).await?;
    g.call(r#"lock.try_acquire_as("ada", 10 s)"#, granted(ada.as_ref()));
    let bob = lock.try_acquire_as(b"bob", lease).await?;
    g.call(r#"lock.try_acquire_as("bob", 10 s)"#, granted(bob.as_ref()));
    if let Some(ada) = &mut ada {
        let still = ada.release().await?;
        g.call("ada.release()", format!("was it still hers: {}", yes(still)));
    }
    let bob = lock.try_acquire_as(b"bob", lease).await?;
    g.call(r#"lock.try_acquire_as("bob", 10 s)"#, granted(bob.as_ref()));
    Ok(())
}

pub(super) async fn fair_lock<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "A lock for which people queue: first come, first served. Who waits asks again from \
         time to time; who stops asking has left, and is skipped.",
    );
    let lock = FairLock::new(g.backend(), &g.keys(), b"till")?;
    queue(g, &lock, "lock", &["ada", "bob", "eve"]).await
}

pub(super) async fn semaphore<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "No more than so many at a time: two calls to the bank at once, say. A permit is a \
         lease, too, and who finds none waits in order of arrival.",
    );
    let semaphore = Semaphore::new(g.backend(), &g.keys(), b"bank", 2)?;
    queue(g, &semaphore, "semaphore", &["ada", "bob", "eve", "dan"]).await
}

/// All ask in this order; then the first gives up what it has, and those who wait ask again, the
/// last first.
async fn queue<B: Backend>(
    g: &mut Guide<'_, B>,
    semaphore: &Semaphore<B>,
    called: &str,
    names: &[&str],
) -> Result<()> {
    let lease = Lease::of(TEN_SECONDS)?;
    let mut first = None;
    let mut waiting: Vec<&str> = Vec::new();
    for name in names {
        let asked = semaphore.ask(name.as_bytes(), lease).await?;
        g.call(&format!(r#"{called}.ask("{name}", 10 s)"#), place(&asked));
        match asked {
            Asked::Granted(held) if first.is_none() => first = Some((*name, held)),
            Asked::Granted(_) => {}
            Asked::Waiting(_) => waiting.push(name),
        }
    }
    if let Some((name, held)) = &mut first {
        held.release().await?;
        g.call(&format!("{name}.release()"), "released");
    }
    for name in waiting.iter().rev() {
        let asked = semaphore.ask(name.as_bytes(), lease).await?;
        g.call(&format!(r#"{called}.ask("{name}", 10 s)"#), place(&asked));
    }
    Ok(())
}

fn granted<B: Backend>(held: Option<&Held<B>>) -> String {
    held.map_or_else(
        || "no: it is taken".to_owned(),
        |held| format!("granted, no. {}", held.fence()),
    )
}

fn place<B: Backend>(asked: &Asked<B>) -> String {
    match asked {
        Asked::Granted(held) => granted(Some(held)),
        Asked::Waiting(place) => format!("not yet: {} ahead in the queue", place.ahead),
    }
}

pub(super) async fn flash_sale<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Few units, many buyers, and each unit sold once. An order has an id of yours: sent \
         again after a lost reply it is the same order. A unit can be reserved for a while and \
         given back, and no buyer gets more than a limit, if you set one.",
    );
    let sale = FlashSale::new(g.backend(), g.keys());
    let free = sale.restock(b"teapot", b"delivery 1", 2).await?;
    g.call(r#"sale.restock("teapot", "delivery 1", 2)"#, format!("{free} free"));
    for (buyer, order) in [("ada", "1"), ("ada", "1"), ("bob", "2"), ("eve", "3")] {
        let answer = sale.buy(b"teapot", buyer.as_bytes(), 1, order.as_bytes()).await?;
        let told = match answer.outcome {
            Outcome::Sold(_) if answer.repeated => "sold before: the same order, the same unit",
            Outcome::Sold(_) => "sold",
            Outcome::SoldOut(_) => "sold out",
            Outcome::LimitReached(_) | Outcome::Ended => "not sold",
        };
        g.call(&format!(r#"sale.buy("teapot", "{buyer}", 1, "{order}")"#), told);
    }
    let stock = sale.stock(b"teapot").await?;
    g.call(r#"sale.stock("teapot")"#, format!("{} sold, {} free", stock.sold, stock.free));
    Ok(())
}

pub(super) async fn delayed_queue<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Work to do later. A worker claims what is due and says when it is done; what a dead \
         worker had claimed comes back by itself, so each task is done at least once. What \
         fails too often is set aside for somebody to look at.",
    );
    let mails = DelayedQueue::new(g.backend(), &g.keys(), b"mails")?;
    for (id, delay) in [("welcome", Duration::ZERO), ("bill", Duration::ZERO), ("survey", HOUR)] {
        mails.add(id.as_bytes(), Some(b"ada"), delay).await?;
        let when = if delay.is_zero() { "now" } else { "1 h" };
        g.call(&format!(r#"mails.add("{id}", Some("ada"), {when})"#), "added");
    }
    let claim = mails.claim_as(b"worker 1", 10).await?;
    let tasks: Vec<Bytes> = claim.tasks.iter().map(|task| task.id.clone()).collect();
    g.call(r#"mails.claim_as("worker 1", 10)"#, list(&tasks));
    let done = mails.ack(b"worker 1", b"welcome").await?;
    g.call(r#"mails.ack("worker 1", "welcome")"#, format!("done: {}", yes(done)));
    let counts = mails.counts().await?;
    let answer =
        format!("{} claimed, {} due later, {} dead", counts.claimed, counts.later, counts.dead);
    g.call("mails.counts()", answer);
    Ok(())
}

pub(super) async fn expiry_queue<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Keys that workers delete when their time has come, rather than the server by their \
         TTL: so the deletions can be counted, paced and taken back. Added again, a key goes \
         at the later time only. Here are two carts, of which one is over; a worker claims \
         what is due, and deletes it in a second step: queue.step(100) does both.",
    );
    let cart = Cart::new(g.backend(), g.keys());
    let queue = ExpiryQueue::new(g.backend(), &g.keys())?;
    for (token, ttl) in [("t1", Duration::ZERO), ("t2", HOUR)] {
        cart.set(token.as_bytes(), b"cup", 1).await?;
        g.call(&format!(r#"cart.set("{token}", "cup", 1)"#), "set");
        queue.add(&g.keys().cart(token.as_bytes()), ttl).await?;
        let when = if ttl.is_zero() { "now" } else { "1 h" };
        g.call(&format!("queue.add(the key of that cart, {when})"), "added");
    }
    let claim = queue.queue().claim_as(b"worker 1", 100).await?;
    let due: Vec<Bytes> = claim.tasks.iter().map(|task| task.id.clone()).collect();
    g.call(r#"queue.queue().claim_as("worker 1", 100)"#, list(&due));
    let keys: Vec<&[u8]> = due.iter().map(|key| &**key).collect();
    let (_, deleted) = queue.delete(&claim.token, &keys).await?;
    g.call(r#"queue.delete("worker 1", those)"#, format!("{deleted} deleted"));
    let counts = queue.counts().await?;
    g.call("queue.counts()", format!("{} due, {} later", counts.due, counts.later));
    Ok(())
}
