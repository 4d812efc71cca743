//! Stockroom: for code that depends on Redis.
//!
//! - **An engine**: an in-memory store in this process that answers as Redis 7.0 does; its replies
//!   are compared with a real server's byte for byte, and what differs is listed in
//!   `docs/DIFFERENCES.md`. Offline, no server to start, one per test.
//! - **A shop**: sessions, carts, caches, counters, logs, locks, semaphores, flash sales, queues,
//!   written once over a backend trait, on the engine or on a real Redis: see [`shop`].
//! - **A program**, `stockroom` (feature `cli`): a tour of the shop, a replay of real traffic, and
//!   the engine as a server.
//!
//! ```
//! use stockroom::{Engine, resp::Value};
//!
//! let mut session = Engine::new().session();
//! session.call(&[b"ZADD", b"board", b"7", b"ada"]);
//! assert_eq!(session.call(&[b"ZSCORE", b"board", b"ada"]), Value::Double(7.0));
//! ```
//!
//! # Layers
//!
//! Each may use those to its right, never those to its left; a test holds the arrows.
//!
//! ```text
//! cli -> {replay, server, tour} -> shop -> backend -> engine -> commands -> db -> types
//!     -> {resp, env, error, bytes}
//! ```
//!
//! # Where is …
//!
//! | what | where |
//! |---|---|
//! | a command: its row and its handler | `commands`, one file per family |
//! | the keyspace, expiry, WATCH, who waits for a key or listens | `db` |
//! | a data structure | `types` |
//! | the order of locks, MULTI/EXEC, sessions that wait or listen | `engine` |
//! | typed commands, the real-Redis backend | `backend` |
//! | a feature of the shop | `shop`, one file per feature |
//! | each feature shown once | `tour` |
//! | the clock and randomness | `env` |

pub mod backend;
pub mod bytes;
#[cfg(feature = "cli")]
pub mod cli;
pub mod commands;
pub(crate) mod db;
pub mod engine;
pub mod env;
pub mod error;
#[cfg(feature = "cli")]
pub mod replay;
pub mod resp;
#[cfg(feature = "server")]
pub mod server;
pub mod shop;
#[cfg(feature = "cli")]
pub mod tour;
pub mod types;

pub use bytes::Bytes;
pub use engine::{Engine, Session};
pub use env::{Env, Stopwatch, Timestamp};
pub use error::{Error, ErrorKind, Result, WireError};

/// The examples of the README are run as tests.
#[cfg(all(doctest, feature = "redis", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
