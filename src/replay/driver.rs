//! Drives the shop with the events of a trace, one after the other.
//!
//! What an event does:
//!
//! | event | session | page cache | counters | besides |
//! |---|---|---|---|---|
//! | view | touched, with the item | `/?item=ID` | `views` | the item's lookers |
//! | addtocart | touched | | `addtocart` | into the cart |
//! | transaction | touched | | `transactions` | the order, out of the cart |
//! | hit | touched, with the item | the URL of a GET or HEAD | `hits`, `bytes` | common log |
//!
//! Who views an item reads its row, too, and every event enters the statistics; for these and the
//! contacts see `extras`.
//!
//! Where each item has a stock, a flash sale decides what of an order is bought; see `sale`.
//!
//! A visitor's id is token and user of the session. Rows of one transaction that follow each other
//! are one order, made when the next event is another. The renderer acts as the log says the
//! server did: it fails for a status of 400 and above, so nothing of that is cached, and the
//! message `STATUS PATH` goes to the common log `web`, a warning below 500 and an error from there.
//!
//! Each event waits for every reply before the next begins, on both backends.

use std::fmt;
use std::time::Duration;

use super::extras::{Extras, FeatureSet};
use super::features::Features;
use super::item::{self, ItemFrom};
use super::report::{Report, Upkeep};
use super::sale::{Guard, Line};
use super::schedule::Schedule;
use super::tally::Tally;
use super::trace::{Action, Event, Hit, ShopEvent, Trace, TraceError};
use super::upkeep::Daemons;
use crate::backend::Backend;
use crate::shop::{DEFAULT_LIMIT, Keys, MAX_ID, PAGE_TTL, Served, Severity};
use crate::{Bytes, Env, Error, ErrorKind, Result, Stopwatch, Timestamp};

/// The common log's name.
pub(super) const LOG: &[u8] = b"web";

/// How much of a path a log message holds, and of a URL a rendered page.
const MESSAGE_PATH: usize = 1_000;

/// How often the backend is given time for itself: as long as a page is cached.
const PAUSE: Duration = PAGE_TTL;

/// The most different items of one order; a transaction of more becomes several.
const MOST_ITEMS: usize = 1_000;

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many sessions the session cleaner leaves.
    pub sessions_limit: u64,
    /// The namespace of all keys.
    pub namespace: Option<String>,
    /// Which part of an access log's URL names the item.
    pub item_from: ItemFrom,
    /// Whether the shop's daemons run, at their schedule in the trace's time.
    pub maintenance: bool,
    /// Which features are fed.
    pub features: FeatureSet,
    /// How many units there are of each item, for a flash sale that guards purchases: 1 to
    /// [`MAX_UNITS`](crate::shop::flash_sale::MAX_UNITS). In memory it needs the feature `lua`.
    pub stock: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sessions_limit: DEFAULT_LIMIT,
            namespace: None,
            item_from: ItemFrom::default(),
            maintenance: true,
            features: FeatureSet::default(),
            stock: None,
        }
    }
}

/// Why a replay ended early.
#[derive(Clone, Debug)]
pub enum ReplayError {
    /// The trace.
    Trace(TraceError),
    /// The backend, or what the shop said about it.
    Backend(Error),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Backend(error) => write!(f, "the backend failed: {error}"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<Error> for ReplayError {
    fn from(error: Error) -> Self {
        Self::Backend(error)
    }
}

/// Replays `trace` through a shop on `backend`.
///
/// `env` is the manual clock that the backend takes its time from; it is moved with the trace.
/// `now_and_then` is called when five minutes of the trace have passed, for what the backend
/// itself wants to have done from time to time.
pub async fn replay<B: Backend>(
    backend: &B,
    env: &Env,
    mut trace: Trace,
    options: &Options,
    mut now_and_then: impl FnMut(),
) -> std::result::Result<Report, ReplayError> {
    let watch = Stopwatch::start();
    let before = backend.stats();
    let mut driver = Driver::new(backend, env, options);
    let mut pauses: Option<Schedule> = None;
    while let Some(event) = trace.next().transpose().map_err(ReplayError::Trace)? {
        let now = event.time();
        driver.move_to(now, env).await?;
        let start = || Schedule::new(now, PAUSE);
        if pauses.get_or_insert_with(start).due(now).is_some() {
            now_and_then();
        }
        driver.event(event).await?;
    }
    driver.complete_order().await?;
    let elapsed = watch.elapsed();
    let after = backend.stats();
    let mut report = driver.tally.report();
    driver.shop.ask(&mut report).await?;
    if let Some(extras) = &driver.extras {
        extras.ask(&mut report).await?;
    }
    report.maintenance = driver.maintained();
    report.sale = driver.guard.as_ref().map(Guard::done);
    report.trace = trace.tally().clone();
    report.commands = after.commands - before.commands;
    report.round_trips = after.round_trips - before.round_trips;
    report.elapsed = elapsed;
    Ok(report)
}

struct Driver<'o, B> {
    options: &'o Options,
    shop: Features<B>,
    extras: Option<Extras<B>>,
    guard: Option<Guard<B>>,
    daemons: Option<Daemons<B>>,
    order: Option<PendingOrder>,
    tally: Tally,
}

/// Rows of one transaction, of which more may follow.
struct PendingOrder {
    visitor: Bytes,
    transaction: Bytes,
    /// The number of the first row's event.
    number: u64,
    items: Vec<(Bytes, i64)>,
}

impl PendingOrder {
    /// The transaction; one that is missing, or too long to be an id, is made up.
    fn transaction(&self) -> Vec<u8> {
        match self.transaction.len() {
            1..=MAX_ID => self.transaction.to_vec(),
            _ => self.id(),
        }
    }

    /// An id that no other order of this trace has, since a transaction's rows may lie apart and
    /// its id may be missing.
    fn id(&self) -> Vec<u8> {
        let mut id = self.transaction.to_vec();
        id.truncate(MAX_ID - 32);
        id.extend_from_slice(format!("#{}", self.number).as_bytes());
        id
    }

    fn add(&mut self, item: Bytes) {
        match self.items.iter_mut().find(|(held, _)| *held == item) {
            Some((_, count)) => *count += 1,
            None => self.items.push((item, 1)),
        }
    }
}

impl<'o, B: Backend> Driver<'o, B> {
    fn new(backend: &B, env: &Env, options: &'o Options) -> Self {
        let keys = options.namespace.as_ref().map_or_else(Keys::new, Keys::in_namespace);
        let shop = Features::new(backend, &keys, options);
        let extras = match options.features {
            FeatureSet::All => Some(Extras::new(backend, &keys, env)),
            FeatureSet::Core => None,
        };
        let guard = options.stock.map(|units| Guard::new(backend, &keys, env, units));
        Self { options, shop, extras, guard, daemons: None, order: None, tally: Tally::new() }
    }

    /// What maintenance did; `None` when it was left out.
    fn maintained(&self) -> Option<Upkeep> {
        let mut done = self.options.maintenance.then(Upkeep::default)?;
        if let Some(daemons) = &self.daemons {
            done = daemons.done();
        }
        if let Some(extras) = &self.extras {
            extras.maintained(&mut done);
        }
        Some(done)
    }

    /// Brings the clock to the time of the next event, and the daemons with it.
    async fn move_to(&mut self, now: Timestamp, env: &Env) -> Result<()> {
        if self.options.maintenance {
            if let Some(extras) = &mut self.extras {
                extras.refresh_until(now, env).await?;
            }
            let limit = self.options.sessions_limit;
            let daemons = self.daemons.get_or_insert_with(|| Daemons::new(&self.shop, limit, now));
            daemons.until(now, env).await?;
        }
        env.set(now);
        Ok(())
    }

    async fn event(&mut self, event: Event) -> Result<()> {
        self.tally.note(&event, &self.options.item_from);
        let belongs = |order: &PendingOrder| match &event {
            Event::Shop(ShopEvent {
                visitor, action: Action::Purchase { transaction }, ..
            }) => {
                *visitor == order.visitor
                    && *transaction == order.transaction
                    && order.items.len() < MOST_ITEMS
            }
            _ => false,
        };
        if !self.order.as_ref().is_some_and(belongs) {
            self.complete_order().await?;
        }
        if let Some(extras) = &mut self.extras {
            extras.note(&event, &self.options.item_from).await?;
        }
        match event {
            Event::Shop(event) => self.shop_event(event).await,
            Event::Hit(hit) => self.hit(&hit).await,
        }
    }

    async fn shop_event(&mut self, event: ShopEvent) -> Result<()> {
        let ShopEvent { time, visitor, item, action } = event;
        let shop = &self.shop;
        let counter: &[u8] = match action {
            Action::View => {
                shop.sessions.touch(&visitor, &visitor, Some(&item)).await?;
                shop.purchases.look(&visitor, &item).await?;
                self.read_row(&item, time).await?;
                let served = self.fetch(&page_of(&item), 200).await?;
                self.tally.pages.note(served);
                b"views"
            }
            Action::AddToCart => {
                shop.sessions.touch(&visitor, &visitor, None).await?;
                shop.cart.add(&visitor, &item, 1).await?;
                b"addtocart"
            }
            Action::Purchase { transaction } => {
                shop.sessions.touch(&visitor, &visitor, None).await?;
                let number = self.tally.events;
                let start = || PendingOrder { visitor, transaction, number, items: Vec::new() };
                self.order.get_or_insert_with(start).add(item);
                b"transactions"
            }
        };
        self.shop.counters.increment(counter, 1).await
    }

    /// Makes the order whose rows have all been seen: what was bought leaves the cart.
    async fn complete_order(&mut self) -> Result<()> {
        let Some(mut order) = self.order.take() else { return Ok(()) };
        self.guard_order(&mut order).await?;
        if order.items.is_empty() {
            return Ok(());
        }
        let items: Vec<(&[u8], i64)> = order.items.iter().map(|(i, n)| (&**i, *n)).collect();
        self.shop.purchases.record(&order.visitor, &order.id(), &items).await?;
        for (item, _) in &order.items {
            self.shop.cart.set(&order.visitor, item, 0).await?;
        }
        Ok(())
    }

    /// Takes out of an order what a flash sale does not sell.
    async fn guard_order(&mut self, order: &mut PendingOrder) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        let transaction = order.transaction();
        let mut sold = Vec::with_capacity(order.items.len());
        for (item, count) in std::mem::take(&mut order.items) {
            let (buyer, units) = (&*order.visitor, count.unsigned_abs());
            let line = Line { item: &item, buyer, units, order: &transaction };
            if guard.sells(line).await? {
                sold.push((item, count));
            }
        }
        order.items = sold;
        Ok(())
    }

    async fn hit(&mut self, hit: &Hit) -> Result<()> {
        let item = self.options.item_from.item(&hit.url);
        self.shop.sessions.touch(&hit.session, &hit.session, item.as_deref()).await?;
        if matches!(&*hit.method, b"GET" | b"HEAD") {
            if let Some(item) = item.as_deref().filter(|_| hit.status < 400) {
                self.read_row(item, hit.time).await?;
            }
            let served = self.fetch(&hit.url, hit.status).await?;
            self.tally.pages.note(served);
        }
        if let Some(severity) = severity(hit.status) {
            self.shop.common.log(LOG, &severity, &message(hit)).await?;
        }
        let bytes = i64::try_from(hit.bytes).unwrap_or(i64::MAX);
        let counts = [(&b"hits"[..], 1), (b"bytes", bytes)];
        let counted = if bytes == 0 { &counts[..1] } else { &counts };
        self.shop.counters.increment_all(counted).await
    }

    /// Fetches a page; `None` when rendering it failed, as the server did for such a status.
    async fn fetch(&self, url: &[u8], status: u16) -> Result<Option<Served>> {
        let render = || async {
            if status >= 400 {
                return Err(Error::new(ErrorKind::Callback, "the server failed"));
            }
            let url = url.get(..url.len().min(MESSAGE_PATH)).unwrap_or_default();
            Ok(Bytes::from([b"<!doctype html><title>", url, b"</title>"].concat()))
        };
        match self.shop.pages.fetch(url, render).await {
            Ok(page) => Ok(Some(page.served)),
            Err(error) if error.kind() == ErrorKind::Callback => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn read_row(&mut self, item: &[u8], now: Timestamp) -> Result<()> {
        match &mut self.extras {
            Some(extras) => extras.read_row(item, now).await,
            None => Ok(()),
        }
    }
}

/// The page of an item: `/?item=ID`, encoded where the id holds what a URL may not.
fn page_of(item: &[u8]) -> Vec<u8> {
    const START: &[u8] = b"/?item=";
    let mut url = Vec::with_capacity(START.len() + item.len());
    url.extend_from_slice(START);
    for &b in item {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            url.push(b);
        } else {
            url.extend_from_slice(format!("%{b:02X}").as_bytes());
        }
    }
    url
}

/// The severity with which a status belongs into the common log; below 400 there is nothing to log.
fn severity(status: u16) -> Option<Severity> {
    match status {
        0..400 => None,
        400..500 => Some(Severity::WARNING),
        _ => Some(Severity::ERROR),
    }
}

/// The log message for a hit: `404 /path`, without the query, of which there are too many.
fn message(hit: &Hit) -> Vec<u8> {
    let path = item::path(&hit.url);
    let path = path.get(..path.len().min(MESSAGE_PATH)).filter(|p| !p.is_empty()).unwrap_or(b"-");
    [hit.status.to_string().as_bytes(), b" ", path].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::trace::session_id;

    #[test]
    fn severity_follows_the_status_class() {
        assert_eq!([0, 200, 304, 399].map(severity), [const { None }; 4]);
        assert_eq!([400, 404, 499].map(severity), [const { Some(Severity::WARNING) }; 3]);
        assert_eq!([500, 503, 599, 999].map(severity), [const { Some(Severity::ERROR) }; 4]);
    }

    #[test]
    fn messages_name_status_and_path() {
        let hit = |url: &str| Hit {
            time: Timestamp::EPOCH,
            session: session_id(b"h", b"-"),
            method: Bytes::EMPTY,
            url: Bytes::from(url),
            status: 404,
            bytes: 0,
        };
        assert_eq!(message(&hit("/a?b=c")), b"404 /a");
        assert_eq!(message(&hit("http://h/a#b")), b"404 /a");
        assert_eq!(message(&hit("")), b"404 -");
        assert_eq!(message(&hit(&"/x".repeat(9_000))).len(), MESSAGE_PATH + 4);
    }

    #[test]
    fn pages_encode_ids() {
        assert_eq!(page_of(b"8644"), b"/?item=8644");
        assert_eq!(page_of(b"a&b=\xff"), b"/?item=a%26b%3D%FF");
    }

    #[test]
    fn order_ids_fit_and_differ() {
        let order = |transaction: &[u8], number| PendingOrder {
            visitor: Bytes::from("v"),
            transaction: Bytes::from(transaction),
            number,
            items: Vec::new(),
        };
        assert_eq!(order(b"77", 5).id(), b"77#5");
        assert_ne!(order(b"", 5).id(), order(b"", 6).id());
        assert!(order(&[b'x'; MAX_ID], u64::MAX).id().len() <= MAX_ID);
    }
}
