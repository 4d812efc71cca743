//! What a replay did: numbers, as text for people and as JSON for programs.
//!
//! Everything in it comes from the trace, from the shop's own answers at the end of the replay, or
//! from counting calls; nothing is computed twice in two ways. The JSON's field names are stable:
//! they are only ever added to.

mod json;
mod number;
mod text;

use std::time::Duration;

use super::trace::Tally;
use crate::shop::Summary;
use crate::{Bytes, Timestamp};

pub(crate) use number::{count, date_time, decimal, duration, grouped, percent, printable};

/// How many items and log messages are listed.
pub const LISTED: usize = 10;

/// What a replay did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Where the shop ran: `memory` or a URL without its password.
    pub backend: String,
    /// What was read.
    pub trace: Tally,
    /// Events by kind.
    pub kinds: Kinds,
    /// The sum of the sizes of all answers in access logs.
    pub bytes_served: u64,
    /// Distinct visitors in the trace.
    pub visitors: Distinct,
    /// Distinct items looked at in the trace.
    pub items: Distinct,
    /// Sessions that the shop holds at the end.
    pub sessions: u64,
    /// What became of the page requests.
    pub pages: Pages,
    /// The most viewed items, best first; equal ones in the order of their ids' bytes.
    pub most_viewed: Vec<Viewed>,
    /// Visitors who looked at something, and those of them who bought something.
    pub conversion: Conversion,
    /// For each counter, the busiest of the slices that it still holds.
    pub busiest: Vec<Slice>,
    /// The most frequent messages of the common log, of its last hour.
    pub common_log: Vec<Logged>,
    /// What became of the rows that pages asked for; `None` when the row cache was left out.
    pub rows: Option<Rows>,
    /// What was measured, in the last hour in which there was anything to measure.
    pub statistics: Vec<Measured>,
    /// What visitors put into their carts last; `None` when nobody did.
    pub carts: Option<Carts>,
    /// What the flash sale did; `None` when there was none.
    pub sale: Option<Sale>,
    /// What maintenance did; `None` when it was left out.
    pub maintenance: Option<Upkeep>,
    /// Commands sent to the backend.
    pub commands: u64,
    /// Round trips they took.
    pub round_trips: u64,
    /// How long the replay took on the machine's clock.
    pub elapsed: Duration,
}

/// Events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Views of an item.
    pub views: u64,
    /// Items put into a cart.
    pub add_to_cart: u64,
    /// Items bought.
    pub transactions: u64,
    /// Hits of a web server.
    pub hits: u64,
}

/// A number of distinct things, exact up to 2^24 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distinct {
    /// How many were counted.
    pub count: u64,
    /// Whether there were more than could be counted in bounded memory.
    pub or_more: bool,
}

/// What became of the requests for pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Answered from the cache.
    pub hits: u64,
    /// Rendered and cached.
    pub misses: u64,
    /// Rendered, and not a page that is cached.
    pub uncacheable: u64,
    /// Not rendered, because the server failed or refused.
    pub failed: u64,
}

impl Pages {
    /// Hits among the cacheable requests, from 0 to 1; `None` when there were none.
    pub fn hit_rate(&self) -> Option<f64> {
        let cacheable = self.hits + self.misses;
        (cacheable > 0).then(|| self.hits as f64 / cacheable as f64)
    }
}

/// An item and how often it was viewed.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewed {
    /// The item.
    pub item: Bytes,
    /// Its views; after popularity was rescaled, with the older ones counting less.
    pub views: f64,
    /// Of those who looked at it, how many bought it.
    pub conversion: Conversion,
}

/// How many of those who looked also bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Those who looked.
    pub looked: u64,
    /// Those of them who bought.
    pub bought: u64,
}

impl Conversion {
    /// The share of buyers, from 0 to 1; `None` when nobody looked.
    pub fn rate(&self) -> Option<f64> {
        (self.looked > 0).then(|| self.bought as f64 / self.looked as f64)
    }
}

/// The busiest slice of a counter at one precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The counter's name.
    pub counter: &'static str,
    /// The slice's length in seconds.
    pub precision_s: u64,
    /// When it began.
    pub start: Timestamp,
    /// What was counted in it.
    pub count: i64,
}

/// A message of the common log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its severity.
    pub severity: String,
    /// The hour in which it was counted: the last one in which there was such a message.
    pub hour: Timestamp,
    /// The message.
    pub message: Bytes,
    /// How often it was logged in that hour.
    pub count: u64,
}

/// What became of the rows of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Read from the cache.
    pub hits: u64,
    /// Loaded, because they were not cached.
    pub loads: u64,
    /// Rows that the cache holds at the end.
    pub held: u64,
}

impl Rows {
    /// Hits among the reads, from 0 to 1; `None` when there were none.
    pub fn hit_rate(&self) -> Option<f64> {
        let reads = self.hits + self.loads;
        (reads > 0).then(|| self.hits as f64 / reads as f64)
    }
}

/// Values that were measured in an hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// What was measured: a `visitor`, or an `answer`.
    pub context: &'static str,
    /// What of it, with the unit last: `pause_s`, or `bytes`.
    pub kind: &'static str,
    /// The hour's values.
    pub summary: Summary,
}

/// What visitors put into their carts last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carts {
    /// Visitors who put something into a cart.
    pub visitors: u64,
    /// The last of them.
    pub last_visitor: Bytes,
    /// That visitor's items, the newest first; at most [`LISTED`].
    pub last_items: Vec<Bytes>,
}

/// What a flash sale did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sale {
    /// Units that there were of each item.
    pub units: u64,
    /// Items that somebody ordered.
    pub items: Distinct,
    /// Units sold.
    pub sold: u64,
    /// Units that somebody ordered when too few were left.
    pub sold_out: u64,
    /// Items in orders that had been made before, and so were not sold again.
    pub repeated: u64,
}

/// What maintenance did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Sessions dropped by the session cleaner.
    pub sessions_dropped: u64,
    /// Times that popularity was rescaled.
    pub rescales: u64,
    /// Passes of the counter cleaner that had something to visit.
    pub counter_passes: u64,
    /// Counter samples that it removed.
    pub samples_dropped: u64,
    /// Rows that the row daemon loaded again.
    pub rows_refreshed: u64,
    /// Rows that it dropped, as nobody viewed their items any more.
    pub rows_dropped: u64,
}

impl Report {
    /// Events replayed in a second of the machine's clock.
    pub fn events_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.trace.events as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
