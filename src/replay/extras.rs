//! Rows, statistics and contacts in a replay: what `--features core` leaves out.
//!
//! - Who views an item reads its row through the row cache, also where the page is cached: pages
//!   end by the server's clock, and what is left at the end must not depend on that. So no page
//!   shows a row, either. Rows come from the [`Inventory`], are loaded again every hour, and leave
//!   the cache when nobody has viewed the item for as long.
//! - The pause between two events of a visitor, and the bytes of an answer, enter the statistics:
//!   both in one round trip.
//! - What a visitor puts into the cart is one of the visitor's recent contacts, as it were.
//!
//! The row daemon makes its steps at their own times in the trace. It is asked only when a row may
//! be due.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::inventory::{Happened, Inventory};
use super::item::ItemFrom;
use super::pauses::Pauses;
use super::report::{Carts, LISTED, Measured, Report, Rows, Upkeep};
use super::tally::Seen;
use super::trace::{Action, Event};
use crate::backend::Backend;
use crate::shop::{Contacts, Keys, RowCache, RowOutcome, RowStep, Statistics};
use crate::{Bytes, Env, Result, Timestamp};

/// How often a row is loaded, and for how long after a view.
const ROW_DELAY: Duration = Duration::from_secs(3_600);

/// What is measured: its context and kind, as they stand in the report too.
const PAUSE: (&str, &str) = ("visitor", "pause_s");
const ANSWER: (&str, &str) = ("answer", "bytes");

/// Which features a replay feeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeatureSet {
    /// All.
    #[default]
    All,
    /// All but row cache, statistics and contacts.
    Core,
}

impl FromStr for FeatureSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "core" => Ok(Self::Core),
            _ => Err("expected all or core".to_owned()),
        }
    }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::Core => "core",
        })
    }
}

/// The three features, and what they were fed.
pub(super) struct Extras<B> {
    rows: RowCache<B>,
    inventory: Inventory,
    /// When the first row may be due.
    rows_due: Option<Timestamp>,
    rows_read: Rows,
    refreshed: u64,
    dropped: u64,
    statistics: Statistics<B>,
    pauses: Pauses,
    /// When each of the two was last measured.
    last: [Option<Timestamp>; 2],
    contacts: Contacts<B>,
    buyers: Seen,
    last_buyer: Option<Bytes>,
}

impl<B: Backend> Extras<B> {
    pub(super) fn new(backend: &B, keys: &Keys, env: &Env) -> Self {
        let (on, under) = (|| backend.clone(), || keys.clone());
        Self {
            rows: RowCache::new(on(), under()),
            inventory: Inventory::new(env, ROW_DELAY),
            rows_due: None,
            rows_read: Rows::default(),
            refreshed: 0,
            dropped: 0,
            statistics: Statistics::new(on(), under()),
            pauses: Pauses::default(),
            last: [None; 2],
            contacts: Contacts::new(on(), under()),
            buyers: Seen::new(),
            last_buyer: None,
        }
    }

    /// Notes what an event says of an item, a visitor and an answer.
    pub(super) async fn note(&mut self, event: &Event, item_from: &ItemFrom) -> Result<()> {
        let now = event.time();
        let pause = self.pauses.note(event.visitor(), now).map(|pause| pause.as_secs_f64());
        let mut bytes = None;
        match event {
            Event::Shop(event) => {
                let happened = match event.action {
                    Action::View => Happened::View,
                    Action::AddToCart => Happened::AddToCart,
                    Action::Purchase { .. } => Happened::Sale,
                };
                self.inventory.note(&event.item, happened);
                if matches!(happened, Happened::AddToCart) {
                    self.contacts.add(&event.visitor, &event.item).await?;
                    self.buyers.note(&event.visitor);
                    self.last_buyer = Some(event.visitor.clone());
                }
            }
            Event::Hit(hit) => {
                bytes = Some(hit.bytes as f64);
                if let Some(item) = item_from.item(&hit.url).filter(|_| hit.status < 400) {
                    self.inventory.note(&item, Happened::View);
                }
            }
        }
        let mut values: [(&[u8], &[u8], f64); 2] = Default::default();
        let mut count = 0;
        let measured = [(PAUSE, pause), (ANSWER, bytes)];
        for (((context, kind), value), last) in measured.into_iter().zip(&mut self.last) {
            if let Some(value) = value {
                values[count] = (context.as_bytes(), kind.as_bytes(), value);
                count += 1;
                *last = Some(now);
            }
        }
        self.statistics.record_all(&values[..count]).await
    }

    /// Reads the row of an item through the cache.
    pub(super) async fn read_row(&mut self, item: &[u8], now: Timestamp) -> Result<()> {
        match self.rows.fetch(item, ROW_DELAY, &self.inventory).await? {
            Some(row) if row.hit => self.rows_read.hits += 1,
            Some(_) => {
                self.rows_read.loads += 1;
                let due = now + ROW_DELAY;
                self.rows_due = Some(self.rows_due.map_or(due, |earlier| earlier.min(due)));
            }
            // The inventory is full.
            None => {}
        }
        Ok(())
    }

    /// Makes the steps of the row daemon that are due at `now`, each at its own time.
    pub(super) async fn refresh_until(&mut self, now: Timestamp, env: &Env) -> Result<()> {
        while let Some(due) = self.rows_due.filter(|due| *due <= now) {
            env.set(due);
            match self.rows.refresh_step(&self.inventory).await? {
                RowStep::Idle(next) => self.rows_due = next,
                // There is nobody else.
                RowStep::Outrun => self.rows_due = Some(due + Duration::from_micros(1)),
                RowStep::Row { outcome: RowOutcome::Cached, .. } => self.refreshed += 1,
                RowStep::Row { .. } => self.dropped += 1,
            }
        }
        Ok(())
    }

    /// Adds to a report what only these features know.
    pub(super) async fn ask(&self, report: &mut Report) -> Result<()> {
        report.rows = Some(Rows { held: self.rows.scheduled().await?, ..self.rows_read });
        for ((context, kind), last) in [PAUSE, ANSWER].into_iter().zip(self.last) {
            let Some(last) = last else { continue };
            let ask = self.statistics.summary_at(context.as_bytes(), kind.as_bytes(), last);
            report.statistics.extend(ask.await?.map(|summary| Measured { context, kind, summary }));
        }
        if let Some(visitor) = &self.last_buyer {
            let mut items = self.contacts.list(visitor).await?;
            items.truncate(LISTED);
            report.carts = Some(Carts {
                visitors: self.buyers.count().count,
                last_visitor: visitor.clone(),
                last_items: items,
            });
        }
        Ok(())
    }

    /// Adds what the row daemon did.
    pub(super) fn maintained(&self, upkeep: &mut Upkeep) {
        upkeep.rows_refreshed = self.refreshed;
        upkeep.rows_dropped = self.dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_sets_are_spelled_as_they_are_read() {
        for set in [FeatureSet::All, FeatureSet::Core] {
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        assert!("ALL".parse::<FeatureSet>().is_err() && "".parse::<FeatureSet>().is_err());
    }
}
