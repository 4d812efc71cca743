//! [`ReplyDecoder`]: the replies that a server sends, from bytes that arrive in pieces.
//!
//! Both protocols at once: no type of one means something else in the other. Attributes are read
//! and dropped. Streamed strings and aggregates, which no Redis sends, are refused, and so is what
//! Redis never writes: a number that is not canonical, a line feed inside a line.
//!
//! Not a client: which reply answers which request, and what a push is for, is the caller's.

use std::borrow::Cow;
use std::fmt;

use super::{Value, decimal, double};
use crate::bytes::Bytes;
use crate::error::WireError;

/// The buffer of an idle decoder is given back if it is larger.
const KEEP: usize = 16 * 1024;

/// What a [`ReplyDecoder`] accepts.
#[derive(Clone, Copy, Debug)]
pub struct ReplyLimits {
    /// How many aggregates may stand inside each other.
    pub max_depth: usize,
    /// The longest reply, in bytes.
    pub max_bytes: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { max_depth: 128, max_bytes: 1 << 30 }
    }
}

/// Why a reply cannot be read. The connection is of no use after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// No reply begins with this byte.
    UnknownType(u8),
    /// A length, count, number or literal that is none.
    Malformed,
    /// A line or string that does not end as it must.
    BadEnding,
    /// Verbatim text without its format.
    BadVerbatim,
    /// More aggregates inside each other than [`ReplyLimits::max_depth`].
    TooDeep,
    /// Longer than [`ReplyLimits::max_bytes`], or claiming to be.
    TooBig,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(b) => {
                write!(f, "no reply begins with '{}'", std::ascii::escape_default(*b))
            }
            Self::Malformed => f.write_str("a length, number or literal in a reply is malformed"),
            Self::BadEnding => f.write_str("a line or string in a reply does not end as it must"),
            Self::BadVerbatim => f.write_str("verbatim text without a format"),
            Self::TooDeep => f.write_str("reply nested beyond the limit"),
            Self::TooBig => f.write_str("reply longer than the limit"),
        }
    }
}

impl std::error::Error for ReplyError {}

/// Decodes replies from bytes that arrive in pieces.
///
/// ```
/// use stockroom::resp::{ReplyDecoder, Value};
///
/// let mut decoder = ReplyDecoder::default();
/// decoder.feed(b"+OK\r\n*2\r\n:1\r\n$1");
/// assert_eq!(decoder.next_reply(), Ok(Some(Value::OK)));
/// assert_eq!(decoder.next_reply(), Ok(None));
/// decoder.feed(b"\r\na\r\n");
/// let expected = Value::Array(vec![Value::Int(1), Value::bulk("a")]);
/// assert_eq!(decoder.next_reply(), Ok(Some(expected)));
/// ```
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    limits: ReplyLimits,
    buf: Vec<u8>,
    /// Where the reply being read begins.
    start: usize,
    /// The next byte to read.
    at: usize,
    /// How many bytes from `at` on hold no end of line.
    searched: usize,
    /// The aggregates around `at`, outermost first.
    open: Vec<Open>,
    /// Whether the bytes before `at` belong to a reply that the caller has.
    handed_out: bool,
    failed: Option<ReplyError>,
}

/// An aggregate whose items are not all read.
#[derive(Debug)]
struct Open {
    kind: Kind,
    missing: usize,
    items: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Array,
    Set,
    Push,
    Map,
    Attribute,
}

/// What stands at `at`.
enum Item {
    Value(Value),
    Open(Kind, usize),
    Nothing,
    Incomplete,
}

impl ReplyDecoder {
    /// A decoder with limits of its own.
    pub fn new(limits: ReplyLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes bytes that arrived. O(bytes), amortised.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.begin();
        // Moving the rest down only once it is the smaller part keeps this linear overall.
        if self.start > 0 && self.start >= self.buf.len() / 2 {
            self.buf.drain(..self.start);
            self.at -= self.start;
            self.start = 0;
        }
        self.buf.extend_from_slice(bytes);
    }

    /// The next complete reply, or `None` until more bytes are fed.
    ///
    /// # Errors
    /// What is not the protocol, or beyond the limits. The same error is returned ever after.
    pub fn next_reply(&mut self) -> Result<Option<Value>, ReplyError> {
        Ok(self.next_with_bytes()?.map(|(value, _)| value))
    }

    /// As [`next_reply`](Self::next_reply), with the bytes of the reply as they arrived.
    ///
    /// # Errors
    /// As `next_reply`.
    pub fn next_with_bytes(&mut self) -> Result<Option<(Value, &[u8])>, ReplyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.advance() {
            Ok(Some(value)) => {
                let bytes = self.buf.get(self.start..self.at).unwrap_or_default();
                Ok(Some((value, bytes)))
            }
            Ok(None) => {
                self.give_back();
                Ok(None)
            }
            Err(error) => {
                *self = Self { failed: Some(error), ..Self::new(self.limits) };
                Err(error)
            }
        }
    }

    /// Reads on to the end of a reply; `None` if its bytes are not all here.
    fn advance(&mut self) -> Result<Option<Value>, ReplyError> {
        self.begin();
        // Nothing beyond the limit is looked at, so that the outcome does not depend on how much
        // has arrived.
        let limit = self.start.saturating_add(self.limits.max_bytes);
        let end = self.buf.len().min(limit);
        loop {
            match self.item(end, limit)? {
                Item::Value(value) => {
                    if let Some(reply) = self.close(value) {
                        self.handed_out = true;
                        return Ok(Some(reply));
                    }
                }
                Item::Open(kind, missing) => {
                    if self.open.len() >= self.limits.max_depth {
                        return Err(ReplyError::TooDeep);
                    }
                    let items = Vec::with_capacity(missing.min(16));
                    self.open.push(Open { kind, missing, items });
                }
                Item::Nothing => {}
                Item::Incomplete if self.buf.len() > limit => return Err(ReplyError::TooBig),
                Item::Incomplete => return Ok(None),
            }
        }
    }

    /// Puts a value into the innermost aggregate, and that into the next if it is now complete,
    /// and so on; gives the value back if there is nothing around it.
    fn close(&mut self, mut value: Value) -> Option<Value> {
        loop {
            let Some(inner) = self.open.last_mut() else {
                return Some(value);
            };
            inner.items.push(value);
            inner.missing -= 1;
            if inner.missing > 0 {
                return None;
            }
            let Open { kind, items, .. } = self.open.pop()?;
            value = aggregate(kind, items)?;
        }
    }

    /// The item at `at`; moves behind it if it is complete.
    fn item(&mut self, end: usize, limit: usize) -> Result<Item, ReplyError> {
        let Some(&kind) = self.buf.get(self.at..end).and_then(<[u8]>::first) else {
            return Ok(Item::Incomplete);
        };
        if !b"+-:$*_#,(!=%~>|".contains(&kind) {
            return Err(ReplyError::UnknownType(kind));
        }
        let Some(line_end) = self.line(end)? else {
            return Ok(Item::Incomplete);
        };
        let text = self.buf.get(self.at + 1..line_end).unwrap_or_default();
        let next = line_end + 2;
        let item = match kind {
            b'$' | b'!' | b'=' => return self.string(kind, next, end, limit),
            b'*' if text == b"-1" => Item::Value(Value::NilArray),
            b'*' => open(Kind::Array, text, limit - next)?,
            b'~' => open(Kind::Set, text, limit - next)?,
            b'>' => open(Kind::Push, text, limit - next)?,
            b'%' => open(Kind::Map, text, limit - next)?,
            b'|' => open(Kind::Attribute, text, limit - next)?,
            _ => Item::Value(scalar(kind, text)?),
        };
        self.go_to(next);
        Ok(item)
    }

    /// A string whose header ends before `body`.
    fn string(
        &mut self,
        kind: u8,
        body: usize,
        end: usize,
        limit: usize,
    ) -> Result<Item, ReplyError> {
        let header = self.buf.get(self.at + 1..body - 2).unwrap_or_default();
        if kind == b'$' && header == b"-1" {
            self.go_to(body);
            return Ok(Item::Value(Value::Nil));
        }
        let len = length(header)?;
        if len.saturating_add(2) > limit - body {
            return Err(ReplyError::TooBig);
        }
        let Some(bytes) = self.buf.get(body..end.min(body + len + 2)) else {
            return Ok(Item::Incomplete);
        };
        let Some((bytes, ending)) = bytes.split_at_checked(len) else {
            return Ok(Item::Incomplete);
        };
        if !b"\r\n".starts_with(ending) {
            return Err(ReplyError::BadEnding);
        }
        if ending.len() < 2 {
            return Ok(Item::Incomplete);
        }
        let value = match (kind, bytes) {
            (b'=', [a, b, c, b':', text @ ..]) => Value::Verbatim([*a, *b, *c], text.into()),
            (b'=', _) => return Err(ReplyError::BadVerbatim),
            (b'!', _) => Value::Error(WireError::new(bytes)),
            _ => Value::Bulk(Bytes::copy_from(bytes)),
        };
        self.go_to(body + len + 2);
        Ok(Item::Value(value))
    }

    /// Where the line at `at` ends, once it is here with its end.
    fn line(&mut self, end: usize) -> Result<Option<usize>, ReplyError> {
        let from = self.at + self.searched;
        let rest = self.buf.get(from..end).unwrap_or_default();
        let Some(i) = rest.iter().position(|&b| matches!(b, b'\r' | b'\n')) else {
            self.searched += rest.len();
            return Ok(None);
        };
        self.searched += i;
        match rest.get(i..).unwrap_or_default() {
            [b'\r', b'\n', ..] => Ok(Some(from + i)),
            [b'\r'] => Ok(None),
            _ => Err(ReplyError::BadEnding),
        }
    }

    /// Leaves a reply that was handed out behind.
    fn begin(&mut self) {
        if self.handed_out {
            self.handed_out = false;
            self.start = self.at;
        }
    }

    /// Frees the buffer of an idle decoder that a large reply has left.
    fn give_back(&mut self) {
        if self.start == self.buf.len() {
            self.buf.clear();
            self.start = 0;
            self.at = 0;
            self.buf.shrink_to(KEEP);
        }
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.searched = 0;
    }
}

/// An aggregate of as many items, or pairs, as `count` says. Of the reply, `room` bytes are left.
fn open(kind: Kind, count: &[u8], room: usize) -> Result<Item, ReplyError> {
    let pairs = matches!(kind, Kind::Map | Kind::Attribute);
    let missing = length(count)?.checked_mul(if pairs { 2 } else { 1 });
    // The shortest item takes three bytes.
    match missing.filter(|missing| missing.checked_mul(3).is_some_and(|bytes| bytes <= room)) {
        None => Err(ReplyError::TooBig),
        Some(0) => Ok(aggregate(kind, Vec::new()).map_or(Item::Nothing, Item::Value)),
        Some(missing) => Ok(Item::Open(kind, missing)),
    }
}

/// The value of a complete aggregate; an attribute has none.
fn aggregate(kind: Kind, items: Vec<Value>) -> Option<Value> {
    Some(match kind {
        Kind::Array => Value::Array(items),
        Kind::Set => Value::Set(items),
        Kind::Push => Value::Push(items),
        Kind::Map => {
            let mut pairs = Vec::with_capacity(items.len() / 2);
            let mut items = items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                pairs.push((key, value));
            }
            Value::Map(pairs)
        }
        Kind::Attribute => return None,
    })
}

/// A reply that is one line.
fn scalar(kind: u8, text: &[u8]) -> Result<Value, ReplyError> {
    Ok(match (kind, text) {
        (b'+', b"OK") => Value::OK,
        (b'+', b"QUEUED") => Value::simple("QUEUED"),
        (b'+', b"PONG") => Value::simple("PONG"),
        (b'+', _) => Value::Simple(Cow::Owned(String::from_utf8_lossy(text).into_owned())),
        (b'-', _) => Value::Error(WireError::new(text)),
        (b':', _) => Value::Int(decimal::parse(text).ok_or(ReplyError::Malformed)?),
        (b',', _) => Value::Double(double::parse(text).ok_or(ReplyError::Malformed)?),
        (b'_', b"") => Value::Nil,
        (b'#', b"t") => Value::Bool(true),
        (b'#', b"f") => Value::Bool(false),
        (b'(', _) if is_integer(text) => Value::BigNumber(text.into()),
        _ => return Err(ReplyError::Malformed),
    })
}

fn length(text: &[u8]) -> Result<usize, ReplyError> {
    decimal::parse(text).and_then(|n| usize::try_from(n).ok()).ok_or(ReplyError::Malformed)
}

/// Whether `text` is digits with an optional sign.
fn is_integer(text: &[u8]) -> bool {
    let digits = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;
