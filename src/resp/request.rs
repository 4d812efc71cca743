//! [`RequestDecoder`]: the commands that a client sends, from bytes that arrive in pieces.
//!
//! A request is an array of bulk strings, or a line of words ([inline](super::inline)). What is
//! accepted and what is refused, in which words, is as on Redis 7.0 for an authenticated client,
//! including its leniencies: the byte after a carriage return and the two after a bulk string are
//! skipped unread; an empty line and an array of no elements are no request; a header or line that
//! contains a NUL byte never ends.
//!
//! One difference: Redis looks for the end of a line only after each read from the socket, so that
//! the longest line it takes depends on timing. Here it is always 65,536 bytes.

use std::fmt;

use smallvec::SmallVec;

use super::{decimal, inline};
use crate::error::WireError;

/// The longest line or header, without its end.
const MAX_LINE: usize = 64 * 1024;
/// The buffers of an idle decoder are given back if they are larger.
const KEEP: usize = 16 * 1024;

/// What a [`RequestDecoder`] accepts. The default is that of Redis 7.0.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The most arguments of a request, the command's name included.
    pub max_args: usize,
    /// The longest argument, in bytes (`proto-max-bulk-len`).
    pub max_bulk: usize,
    /// The longest request as sent, in bytes (`client-query-buffer-limit`).
    pub max_request: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_args: i32::MAX as usize, max_bulk: 512 << 20, max_request: 1 << 30 }
    }
}

/// Why a request cannot be read. The connection is of no use after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The number of arguments is no number, or too large.
    InvalidMultibulkLength,
    /// The length of an argument is no number, negative, or too large.
    InvalidBulkLength,
    /// An argument began with this byte instead of a `$`.
    ExpectedDollar(u8),
    /// The quotes of an inline request do not match up.
    UnbalancedQuotes,
    /// An inline request that does not end.
    TooBigInline,
    /// The line with the number of arguments does not end.
    TooBigMultibulkCount,
    /// The line with the length of an argument does not end.
    TooBigBulkCount,
    /// The whole request is longer than [`RequestLimits::max_request`].
    TooBigRequest,
}

impl RequestError {
    /// The error reply to send before the connection is closed; `None` if Redis closes it without
    /// a word.
    pub fn to_wire(self) -> Option<WireError> {
        Some(match self {
            Self::InvalidMultibulkLength => {
                WireError::fixed("ERR Protocol error: invalid multibulk length")
            }
            Self::InvalidBulkLength => WireError::fixed("ERR Protocol error: invalid bulk length"),
            Self::ExpectedDollar(got) => {
                let mut text = b"ERR Protocol error: expected '$', got '".to_vec();
                text.extend_from_slice(&[got, b'\'']);
                WireError::new(text)
            }
            Self::UnbalancedQuotes => {
                WireError::fixed("ERR Protocol error: unbalanced quotes in request")
            }
            Self::TooBigInline => WireError::fixed("ERR Protocol error: too big inline request"),
            Self::TooBigMultibulkCount => {
                WireError::fixed("ERR Protocol error: too big mbulk count string")
            }
            Self::TooBigBulkCount => {
                WireError::fixed("ERR Protocol error: too big bulk count string")
            }
            Self::TooBigRequest => return None,
        })
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_wire() {
            Some(wire) => wire.fmt(f),
            None => f.write_str("request longer than the limit"),
        }
    }
}

impl std::error::Error for RequestError {}

/// A complete request: its arguments, borrowed from the decoder. Never empty.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    bytes: &'a [u8],
    args: &'a [(usize, usize)],
}

impl<'a> Request<'a> {
    /// The number of arguments, the command's name included.
    #[expect(clippy::len_without_is_empty, reason = "a request is never empty")]
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// The arguments in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.args.iter().map(move |&(from, to)| bytes.get(from..to).unwrap_or_default())
    }

    /// The arguments as an `argv`.
    pub fn to_argv(&self) -> SmallVec<[&'a [u8]; 8]> {
        self.iter().collect()
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|arg| arg.escape_ascii().to_string())).finish()
    }
}

/// Decodes requests from bytes that arrive in pieces.
///
/// ```
/// use stockroom::resp::RequestDecoder;
///
/// let mut decoder = RequestDecoder::default();
/// decoder.feed(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING \"a b\"\r\n*1\r\n$4\r\nQU");
/// let request = decoder.next_request().unwrap().unwrap();
/// assert_eq!(request.to_argv()[..], [&b"ECHO"[..], b"hi"]);
/// let request = decoder.next_request().unwrap().unwrap();
/// assert_eq!(request.to_argv()[..], [&b"PING"[..], b"a b"]);
/// assert!(decoder.next_request().unwrap().is_none());
/// ```
#[derive(Debug, Default)]
pub struct RequestDecoder {
    limits: RequestLimits,
    buf: Vec<u8>,
    /// Where the request being read begins.
    start: usize,
    /// The next byte to read.
    at: usize,
    /// How many bytes from `at` on hold no end of line.
    searched: usize,
    /// The complete arguments of the request being read, as positions from `start`.
    args: Vec<(usize, usize)>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Start,
    Header {
        missing: usize,
    },
    Body {
        missing: usize,
        len: usize,
    },
    Failed(RequestError),
}

/// What a step led to.
enum Step {
    More,
    Complete,
    Incomplete,
}

impl RequestDecoder {
    /// A decoder with limits of its own.
    pub fn new(limits: RequestLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes bytes that arrived. O(bytes), amortised.
    pub fn feed(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Failed(_)) {
            return;
        }
        if matches!(self.state, State::Start) {
            // The last request has been handed out and dropped.
            self.args.clear();
            self.start = self.at;
        }
        // Moving the rest down only once it is the smaller part keeps this linear overall.
        if self.start > 0 && self.start >= self.buf.len() / 2 {
            self.buf.drain(..self.start);
            self.at -= self.start;
            self.start = 0;
        }
        self.buf.extend_from_slice(bytes);
    }

    /// Bytes of memory that belong to no request handed out yet: what was fed, and where the
    /// arguments in it begin and end.
    pub fn pending(&self) -> usize {
        if matches!(self.state, State::Start) {
            return self.buf.len() - self.at;
        }
        self.buf.len() - self.start + size_of_val(&self.args[..])
    }

    /// The next complete request, or `None` until more bytes are fed.
    ///
    /// # Errors
    /// What is not the protocol, or beyond the limits. The same error is returned ever after.
    pub fn next_request(&mut self) -> Result<Option<Request<'_>>, RequestError> {
        if matches!(self.state, State::Start) {
            self.args.clear();
        }
        match self.advance() {
            Ok(true) => {
                let bytes = self.buf.get(self.start..self.at).unwrap_or_default();
                Ok(Some(Request { bytes, args: &self.args }))
            }
            Ok(false) => {
                self.give_back();
                Ok(None)
            }
            Err(error) => {
                *self = Self { state: State::Failed(error), ..Self::new(self.limits) };
                Err(error)
            }
        }
    }

    /// Reads on to the end of a request; false if its bytes are not all here.
    fn advance(&mut self) -> Result<bool, RequestError> {
        loop {
            if matches!(self.state, State::Start) {
                self.start = self.at;
            }
            // Nothing beyond the limit is looked at, so that the outcome does not depend on how
            // much has arrived.
            let limit = self.start.saturating_add(self.limits.max_request);
            let end = self.buf.len().min(limit);
            let step = match self.state {
                State::Start => self.begin(end)?,
                State::Header { missing } => self.header(end, missing)?,
                State::Body { missing, len } => self.body(end, missing, len),
                State::Failed(error) => return Err(error),
            };
            match step {
                Step::More => {}
                Step::Complete => return Ok(true),
                Step::Incomplete if self.buf.len() > limit => {
                    return Err(RequestError::TooBigRequest);
                }
                Step::Incomplete => return Ok(false),
            }
        }
    }

    /// The first line of a request.
    fn begin(&mut self, end: usize) -> Result<Step, RequestError> {
        match self.buf.get(self.at..end).and_then(<[u8]>::first) {
            None => return Ok(Step::Incomplete),
            Some(b'*') => {}
            Some(_) => return self.inline(end),
        }
        let Some(line_end) = self.line(end, RequestError::TooBigMultibulkCount)? else {
            return Ok(Step::Incomplete);
        };
        let count = self.number(line_end).ok_or(RequestError::InvalidMultibulkLength)?;
        let missing = usize::try_from(count).unwrap_or(0); // negative: no request, as 0
        if missing > self.limits.max_args {
            return Err(RequestError::InvalidMultibulkLength);
        }
        self.go_to(line_end + 2);
        if missing > 0 {
            self.state = State::Header { missing };
        }
        Ok(Step::More)
    }

    /// The line with an argument's length.
    fn header(&mut self, end: usize, missing: usize) -> Result<Step, RequestError> {
        let Some(line_end) = self.line(end, RequestError::TooBigBulkCount)? else {
            return Ok(Step::Incomplete);
        };
        match self.buf.get(self.at) {
            Some(b'$') => {}
            other => return Err(RequestError::ExpectedDollar(*other.unwrap_or(&b' '))),
        }
        let len = self
            .number(line_end)
            .and_then(|len| usize::try_from(len).ok())
            .filter(|&len| len <= self.limits.max_bulk)
            .ok_or(RequestError::InvalidBulkLength)?;
        self.go_to(line_end + 2);
        self.state = State::Body { missing, len };
        Ok(Step::More)
    }

    /// An argument and the two bytes after it.
    fn body(&mut self, end: usize, missing: usize, len: usize) -> Step {
        if end.saturating_sub(self.at) < len.saturating_add(2) {
            return Step::Incomplete;
        }
        let begin = self.at - self.start;
        self.args.push((begin, begin + len));
        self.go_to(self.at + len + 2);
        if missing > 1 {
            self.state = State::Header { missing: missing - 1 };
            Step::More
        } else {
            self.state = State::Start;
            Step::Complete
        }
    }

    /// A request in one line.
    fn inline(&mut self, end: usize) -> Result<Step, RequestError> {
        let Some(at) = self.find(b'\n', end, RequestError::TooBigInline)? else {
            return Ok(Step::Incomplete);
        };
        let base = self.at - self.start;
        let ends_in_return = self.buf.get(at.wrapping_sub(1)) == Some(&b'\r') && at > self.at;
        let line_end = at - usize::from(ends_in_return);
        let line = self.buf.get_mut(self.at..line_end).unwrap_or_default();
        inline::split(line, base, &mut self.args).map_err(|_| RequestError::UnbalancedQuotes)?;
        self.go_to(at + 1);
        Ok(if self.args.is_empty() { Step::More } else { Step::Complete })
    }

    /// Where the header at `at` ends, once the byte after its carriage return is here too.
    fn line(&mut self, end: usize, too_big: RequestError) -> Result<Option<usize>, RequestError> {
        Ok(self.find(b'\r', end, too_big)?.filter(|&line_end| line_end + 1 < end))
    }

    /// The number between the first byte of the header at `at` and its end.
    fn number(&self, line_end: usize) -> Option<i64> {
        decimal::parse(self.buf.get(self.at + 1..line_end)?)
    }

    /// The position of `what` from `at` on.
    fn find(
        &mut self,
        what: u8,
        end: usize,
        too_big: RequestError,
    ) -> Result<Option<usize>, RequestError> {
        let window = end.min(self.at + MAX_LINE + 1);
        let from = self.at + self.searched;
        let rest = self.buf.get(from..window).unwrap_or_default();
        let found = rest.iter().position(|&b| b == what || b == 0);
        self.searched += found.unwrap_or(rest.len());
        if found.and_then(|i| rest.get(i)) == Some(&what) {
            return Ok(Some(self.at + self.searched));
        }
        if window - self.at > MAX_LINE { Err(too_big) } else { Ok(None) }
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.searched = 0;
    }

    /// Frees the buffers of an idle decoder that a large request has left.
    fn give_back(&mut self) {
        if self.at == self.buf.len() && matches!(self.state, State::Start) {
            self.buf.clear();
            self.start = 0;
            self.at = 0;
            self.buf.shrink_to(KEEP);
            self.args.shrink_to(KEEP / size_of::<(usize, usize)>());
        }
    }
}

#[cfg(test)]
mod tests;
