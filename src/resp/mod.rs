//! RESP, the Redis protocol, without I/O: the [`Value`] of a reply, and the codec that turns bytes
//! into values and values into bytes, for RESP2 and RESP3.
//!
//! * [`RequestDecoder`]: what a server reads: commands, as arrays of bulk strings or as lines.
//! * [`ReplyDecoder`]: what a client reads: replies of either protocol.
//! * [`encode`] and [`encode_request`]: the other direction of each.
//! * [`double`]: floating point numbers as replies spell them.
//!
//! Why without I/O: the same code serves the TCP server, the test clients and the fuzzer, and can
//! be fed one byte at a time.
//!
//! Invariants of both decoders: the result depends on the bytes alone, not on how they were split;
//! every byte is searched once; memory follows the bytes that arrived, never a length that was
//! merely claimed; after an error the decoder stays failed.

mod decimal;
pub mod double;
mod encode;
pub(crate) mod inline;
mod reply;
mod request;
mod value;

pub use encode::{encode, encode_request, encoded_len};
pub use reply::{ReplyDecoder, ReplyError, ReplyLimits};
pub use request::{Request, RequestDecoder, RequestError, RequestLimits};
pub use value::{Protocol, Value};
