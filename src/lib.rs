//! stub
pub mod bytes;
pub mod env;
pub mod error;
pub mod resp;
pub mod types;

pub use bytes::Bytes;
pub use env::{Env, Stopwatch, Timestamp};
pub use error::{Error, ErrorKind, Result, WireError};
