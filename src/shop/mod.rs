//! The shop: what a large web shop keeps in Redis, written once over
//! [`Backend`](crate::backend::Backend).
//!
//! | feature | type |
//! |---|---|
//! | how often something happened, over time | [`Counters`] |
//! | the last messages | [`RecentLog`] |
//! | the most frequent messages | [`CommonLog`] |
//!
//! What repeats by itself is a [`Chore`] that a [`Daemon`] runs.

mod backoff;
mod calendar;
mod check;
mod common_log;
mod counters;
pub mod daemon;
mod keys;
mod recent_log;
mod severity;

pub use check::{MAX_ID, MAX_MESSAGE};
pub use common_log::{CommonLog, Counted, LogHour};
pub use counters::{CleanedCounters, CounterCleaner, Counters, PRECISIONS, SAMPLES};
pub use daemon::{Chore, Daemon, Progress};
pub use keys::{Key, Keys};
pub use recent_log::{LOG_KEPT, LogLine, RecentLog};
pub use severity::Severity;
