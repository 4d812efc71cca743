//! stub
pub mod bytes;
pub mod commands;
pub mod db;
pub mod engine;
pub mod env;
pub mod error;
pub mod resp;
pub mod types;

pub use bytes::Bytes;
pub use engine::{Engine, Session};
pub use env::{Env, Stopwatch, Timestamp};
pub use error::{Error, ErrorKind, Result, WireError};
