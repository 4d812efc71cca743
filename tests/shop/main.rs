//! The shop, every body on the memory backend and, where there is a redis-server, on a real one.
//!
//! One file per feature. The shop's clock is a manual one on both, so a test moves time by hand;
//! see `bed` for that, and `interpose` for what happens between two steps of a client.

#[path = "../support/mod.rs"]
mod support;

mod awake;
mod bed;
mod interpose;
mod rows;
mod state;

mod address_book;
mod cart;
mod contacts;
mod counters;
mod daemon;
mod daemons;
#[cfg(feature = "lua")]
mod fairness;
#[cfg(feature = "lua")]
mod flash_sale;
#[cfg(feature = "lua")]
mod locks;
mod logs;
mod once;
mod page_cache;
mod popularity;
mod published;
mod purchases;
#[cfg(feature = "lua")]
mod queues;
mod row_cache;
mod row_races;
#[cfg(feature = "lua")]
mod semaphores;
mod sessions;
#[cfg(feature = "lua")]
mod slots;
mod statistics;
#[cfg(feature = "lua")]
mod twins;
#[cfg(feature = "lua")]
mod wakeups;
