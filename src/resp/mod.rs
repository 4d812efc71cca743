//! RESP, the Redis protocol, without I/O: the [`Value`] of a reply, and the codec that turns bytes
//! into values and values into bytes, for RESP2 and RESP3.

mod value;

pub use value::{Protocol, Value};
