//! [`Value`]: a reply, before it is put into RESP2 or RESP3 bytes.
//!
//! A handler says what a reply *is* (a map, a double, a null array); the encoder says how each
//! protocol spells it.

use std::borrow::Cow;

use crate::bytes::Bytes;
use crate::error::WireError;

/// The protocol version that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// What every connection starts with.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: `$-1` in RESP2, `_` in RESP3.
    Nil,
    /// No array: `*-1` in RESP2, `_` in RESP3.
    NilArray,
    /// A status such as `OK`.
    Simple(Cow<'static, str>),
    /// A string.
    Bulk(Bytes),
    /// An integer.
    Int(i64),
    /// A floating point number: a bulk string in RESP2.
    Double(f64),
    /// A truth value: 1 or 0 in RESP2.
    Bool(bool),
    /// A list of replies.
    Array(Vec<Value>),
    /// Pairs: a flat array in RESP2.
    Map(Vec<(Value, Value)>),
    /// Members in no particular order: an array in RESP2.
    Set(Vec<Value>),
    /// A message that answers no command: an array in RESP2.
    Push(Vec<Value>),
    /// Replies one after the other, as `SUBSCRIBE` gives one for each channel. Nothing on the wire
    /// says that they belong together.
    Several(Vec<Value>),
    /// Text with a three-letter format such as `txt`: a bulk string in RESP2.
    Verbatim([u8; 3], Bytes),
    /// An integer beyond 64 bits, in decimal: a bulk string in RESP2.
    BigNumber(Bytes),
    /// An error.
    Error(WireError),
}

impl Value {
    /// `+OK`.
    pub const OK: Self = Self::Simple(Cow::Borrowed("OK"));

    /// A bulk string from a copy of `bytes`.
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bulk(Bytes::copy_from(bytes.as_ref()))
    }

    /// A status known at compile time.
    pub const fn simple(text: &'static str) -> Self {
        Self::Simple(Cow::Borrowed(text))
    }

    /// A bulk string, or nil.
    pub fn bulk_or_nil(bytes: Option<impl AsRef<[u8]>>) -> Self {
        bytes.map_or(Self::Nil, Self::bulk)
    }

    /// An array of bulk strings.
    pub fn bulks<I: IntoIterator<Item: AsRef<[u8]>>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Self::bulk).collect())
    }

    /// Whether this is an error reply.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

impl From<bool> for Value {
    /// As Redis answers yes or no to most commands: 1 or 0.
    fn from(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Self {
        Self::Int(n as i64)
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Bulk(bytes)
    }
}

impl From<Result<Value, WireError>> for Value {
    fn from(result: Result<Value, WireError>) -> Self {
        result.unwrap_or_else(Self::Error)
    }
}
