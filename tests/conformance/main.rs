//! The engine against real Redis 7.0: one file per command family.
//!
//! Every test body runs on the engine alone and, where there is a redis-server, on both side by
//! side; see `support::Pair`. With `STOCKROOM_REQUIRE_REDIS=1` a missing server is a failure.

#[path = "../support/mod.rs"]
mod support;

mod blocking;
mod connection;
mod differences;
mod expiry;
mod generic;
mod harness;
mod hash;
mod list;
mod pubsub;
#[cfg(feature = "lua")]
mod scripting;
mod server;
mod set;
mod string;
mod table;
mod transactions;
mod zset;
