//! The two kinds of error: [`WireError`], the exact bytes of an error reply, and [`Error`], what a
//! caller of the shop or a backend gets.
//!
//! A caller must be able to tell four things apart: the command was never sent and can be sent
//! again; the server refused it and said why; of several commands the server refused some, and
//! the others stand; or it was sent and the reply was lost, so that nobody knows whether it
//! happened. `Error` keeps these apart and hides everything else.

use std::borrow::Cow;
use std::fmt;

/// An error reply of the engine: its exact text as sent on the wire, without the leading `-`.
///
/// The first word is the code clients switch on (`ERR`, `WRONGTYPE`, `EXECABORT`, …).
#[derive(Clone, PartialEq, Eq)]
pub struct WireError(Cow<'static, [u8]>);

impl WireError {
    /// The operation does not fit the type of the value under the key.
    pub const WRONGTYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Options that make no sense, or not together.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// An integer was expected.
    pub const NOT_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// A number with a fraction was expected.
    pub const NOT_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// A position outside a list.
    pub const INDEX_RANGE: Self = Self::fixed("ERR index out of range");
    /// A number outside its allowed range.
    pub const OUT_OF_RANGE: Self = Self::fixed("ERR value is out of range");
    /// The key must exist.
    pub const NO_SUCH_KEY: Self = Self::fixed("ERR no such key");

    /// An error with a text known at compile time.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// An error with a text made at run time. Line breaks, which would end the reply early, become
    /// spaces, as in Redis.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        let mut text: Vec<u8> = text.into();
        for b in &mut text {
            if matches!(b, b'\r' | b'\n') {
                *b = b' ';
            }
        }
        Self(Cow::Owned(text))
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first word.
    pub fn code(&self) -> &[u8] {
        self.0.split(|&b| b == b' ').next().unwrap_or_default()
    }
}

impl fmt::Debug for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-{}", self.0.escape_ascii())
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl std::error::Error for WireError {}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The command was not sent: nothing happened, and it can be sent again.
    NotSent,
    /// The server refused the command, or the transaction as a whole, and said why; see
    /// [`Error::code`]. Nothing happened.
    Refused,
    /// A part happened and the rest did not. Mostly: of several commands sent together the server
    /// refused at least one, the first with this [`Error::code`]; the others stand, in a
    /// transaction too. Or a script failed, which leaves standing what it did before.
    Partly,
    /// The command was sent and its reply was lost: it may or may not have happened.
    Unknown,
    /// The caller's input was refused before anything was sent.
    Invalid,
    /// The reply did not have the form that the command promises.
    UnexpectedReply,
    /// A retry limit or a deadline was reached; nothing of the last attempt took effect.
    GaveUp,
    /// What the caller supplied (a renderer, a loader) failed.
    Callback,
}

/// What a caller of the shop or of a backend gets instead of a result.
///
/// ```
/// use stockroom::{Error, ErrorKind};
/// let e = Error::invalid("count", "-1", "a count of at least 0");
/// assert_eq!(e.kind(), ErrorKind::Invalid);
/// assert_eq!(e.to_string(), "invalid count -1: expected a count of at least 0");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    code: Option<String>,
    message: String,
}

/// The result of everything that can fail in the shop and the backends.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code: None, message: message.into() }))
    }

    /// Bad input: what it was, what it said and what was expected.
    pub fn invalid(what: &str, got: impl fmt::Display, expected: &str) -> Self {
        Self::new(ErrorKind::Invalid, format!("invalid {what} {got}: expected {expected}"))
    }

    /// An error reply of the server.
    pub fn refused(wire: &WireError) -> Self {
        Self(Box::new(Inner {
            kind: ErrorKind::Refused,
            code: Some(String::from_utf8_lossy(wire.code()).into_owned()),
            message: wire.to_string(),
        }))
    }

    /// The same error as one of another kind.
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// A reply of another form than the command promises.
    pub fn unexpected(expected: &str, got: &impl fmt::Debug) -> Self {
        use fmt::Write;
        let mut short = Short { text: String::new(), left: 200 };
        // An error means that it is full.
        let _ = write!(short, "{got:?}");
        let got = short.text;
        Self::new(ErrorKind::UnexpectedReply, format!("expected {expected}, got {got}"))
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The first word of the server's error reply, when the server refused: `WRONGTYPE`, `ERR`, …
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Whether certainly nothing took effect.
    pub fn is_definite(&self) -> bool {
        use ErrorKind::{Partly, UnexpectedReply, Unknown};
        !matches!(self.0.kind, Unknown | UnexpectedReply | Partly)
    }

    /// Whether it is unknown if the command took effect.
    pub fn is_unknown(&self) -> bool {
        self.0.kind == ErrorKind::Unknown
    }
}

/// The beginning of a text: so many characters, after which nothing more is written.
struct Short {
    text: String,
    left: usize,
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<WireError> for Error {
    fn from(wire: WireError) -> Self {
        Self::refused(&wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_error_cannot_break_the_line() {
        let e = WireError::new("ERR unknown command 'a\r\nb'");
        assert_eq!(e.as_bytes(), b"ERR unknown command 'a  b'");
        assert_eq!(e.code(), b"ERR");
    }

    #[test]
    fn unexpected_reply_is_written_no_further_than_it_is_shown() {
        struct Endless;
        impl fmt::Debug for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("äö")?;
                }
            }
        }
        let error = Error::unexpected("an end", &Endless);
        assert_eq!(error.to_string(), format!("expected an end, got {}", "äö".repeat(100)));
        assert_eq!(Error::unexpected("two", &1).to_string(), "expected two, got 1");
    }

    #[test]
    fn only_what_certainly_did_not_happen_is_definite() {
        assert!(Error::from(WireError::WRONGTYPE).is_definite());
        assert_eq!(Error::from(WireError::WRONGTYPE).code(), Some("WRONGTYPE"));
        assert!(Error::new(ErrorKind::NotSent, "x").is_definite());
        assert!(!Error::new(ErrorKind::Unknown, "x").is_definite());
        assert!(!Error::new(ErrorKind::UnexpectedReply, "x").is_definite());
        let partly = Error::from(WireError::WRONGTYPE).with_kind(ErrorKind::Partly);
        assert!(!partly.is_definite() && !partly.is_unknown());
        assert_eq!(partly.code(), Some("WRONGTYPE"));
    }
}
