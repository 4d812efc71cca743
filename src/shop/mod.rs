//! The shop: what a large web shop keeps in Redis, written once over
//! [`Backend`](crate::backend::Backend).
//!
//! What repeats by itself is a [`Chore`] that a [`Daemon`] runs.

mod backoff;
pub mod daemon;

pub use daemon::{Chore, Daemon, Progress};
