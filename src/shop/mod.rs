//! The shop: what a large web shop keeps in Redis, written once over
//! [`Backend`](crate::backend::Backend).
//!
//! | feature | type |
//! |---|---|
//! | who is logged in, what they looked at | [`Sessions`] |
//! | what they want to buy | [`Cart`] |
//! | what they bought, and what goes with it | [`Purchases`] |
//! | rendered pages of popular items | [`PageCache`] |
//! | what is viewed most | [`Popularity`] |
//! | how often something happened, over time | [`Counters`] |
//! | the last messages | [`RecentLog`] |
//! | the most frequent messages | [`CommonLog`] |
//! | one at a time, in any order or in that of arrival | [`Lock`], [`FairLock`] |
//! | no more than so many at a time | [`Semaphore`] |
//! | rows of the database, kept fresh | [`RowCache`] |
//! | mean and spread of values, slowest pages | [`Statistics`] |
//! | whom a user wrote to last | [`Contacts`] |
//! | the members of a group, by name | [`AddressBook`] |
//! | few units, many buyers | [`FlashSale`] |
//! | work to do later, once at least | [`DelayedQueue`] |
//! | keys to delete later | [`ExpiryQueue`] |
//!
//! Each feature runs on the engine in memory and on a real Redis, takes the time from the
//! backend's clock, sends what belongs together in one round trip and what must be atomic as one
//! transaction, and checks its input before it sends anything. [`Keys`] makes the names of all
//! keys. What repeats by itself is a [`Chore`] that a [`Daemon`] runs.
//!
//! # When something fails
//!
//! The [kind](crate::ErrorKind) of the error says what has happened. Where nothing has, the call
//! can simply be made again. After [`Unknown`](crate::ErrorKind::Unknown) (the reply to a write is
//! lost) each method says what doing it again does. The server refuses a command of one of the
//! shop's transactions only when a key holds what the shop did not put there, or a number leaves
//! its range; as a Redis transaction does not roll back, its other commands stand then, and the
//! error is [`Partly`](crate::ErrorKind::Partly).

mod address_book;
mod backoff;
pub(crate) mod calendar;
mod cart;
mod check;
mod common_log;
mod contacts;
mod counters;
pub mod daemon;
pub mod delayed_queue;
pub mod expiry_queue;
pub mod flash_sale;
mod flight;
mod fold;
mod held;
mod keys;
mod lease;
pub mod lock;
mod once;
mod page_cache;
mod popularity;
mod purchases;
mod recent_log;
mod row_cache;
pub mod semaphore;
mod sessions;
mod severity;
mod statistics;
pub(crate) mod url;

pub use address_book::{AddressBook, SUGGESTED};
pub use cart::Cart;
pub use check::{MAX_ID, MAX_MESSAGE};
pub use common_log::{CommonLog, Counted, LogHour};
pub use contacts::{CONTACTS_KEPT, Contacts};
pub use counters::{CleanedCounters, CounterCleaner, Counters, LARGEST_STEP, PRECISIONS, SAMPLES};
pub use daemon::{Chore, Daemon, Progress};
pub use delayed_queue::DelayedQueue;
pub use expiry_queue::ExpiryQueue;
pub use flash_sale::FlashSale;
pub use held::{Held, Renewal};
pub use keys::{Key, Keys};
pub use lease::{Lease, Patience};
pub use lock::{FairLock, Lock};
pub use once::IDS_KEPT;
pub use page_cache::{PAGE_TTL, Page, PageCache, Served};
pub use popularity::{Popularity, RESCALE_EVERY, Rescaler};
pub use purchases::{Conversion, Order, Purchases};
pub use recent_log::{LOG_KEPT, LogLine, RecentLog};
pub use row_cache::{
    Columns, FetchedRow, RowCache, RowOutcome, RowPlan, RowRefresher, RowSource, RowStep,
};
pub use semaphore::Semaphore;
pub use sessions::{Cleaned, DEFAULT_LIMIT, SessionCleaner, Sessions};
pub use severity::Severity;
pub use statistics::{ACCESS_TIME, Recorded, SLOWEST_KEPT, Statistics, Summary, Timed};
