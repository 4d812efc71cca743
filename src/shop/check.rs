//! Checks of what callers pass in, before anything is sent.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};

/// The longest id (token, user, item, name) that is accepted, in bytes.
pub const MAX_ID: usize = 4_096;

/// The longest log message that is accepted, in bytes.
pub const MAX_MESSAGE: usize = 65_536;

/// An id of 1 to [`MAX_ID`] bytes, of any kind.
#[inline]
pub(super) fn id<'a>(what: &str, id: &'a [u8]) -> Result<&'a [u8]> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Error::invalid(what, Length(id.len()), "1 to 4096 bytes"));
    }
    Ok(id)
}

/// A message of up to [`MAX_MESSAGE`] bytes, of any kind.
pub(super) fn message(message: &[u8]) -> Result<&[u8]> {
    if message.len() > MAX_MESSAGE {
        return Err(Error::invalid("message", Length(message.len()), "at most 65536 bytes"));
    }
    Ok(message)
}

/// How long something is kept: at least `least`, and no longer than a leap year, which every
/// deadline survives.
pub(super) fn kept(what: &str, time: Duration, least: Duration) -> Result<Duration> {
    const YEAR: Duration = Duration::from_secs(366 * 86_400);
    if time < least || time > YEAR {
        let expected = format!("{least:?} to 366 days");
        return Err(Error::invalid(what, format!("of {time:?}"), &expected));
    }
    Ok(time)
}

/// What was wrong with something whose bytes are better not shown.
struct Length(usize);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of {} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn ids_have_at_least_one_byte_and_no_more_than_fit() {
        assert!(id("token", b"\0").is_ok());
        assert!(id("token", &[b'x'; MAX_ID]).is_ok());
        let empty = id("token", b"").unwrap_err();
        assert_eq!(empty.kind(), ErrorKind::Invalid);
        assert_eq!(empty.to_string(), "invalid token of 0 bytes: expected 1 to 4096 bytes");
        assert!(id("token", &[b'x'; MAX_ID + 1]).is_err());
        assert!(message(&vec![0; MAX_MESSAGE]).is_ok());
        assert!(message(&vec![0; MAX_MESSAGE + 1]).is_err());
    }

    #[test]
    fn times_to_keep_have_two_ends() {
        let second = Duration::from_secs(1);
        let year = second * 366 * 86_400;
        assert!(kept("time", second, second).is_ok() && kept("time", year, second).is_ok());
        let short = kept("time", Duration::from_millis(999), second).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Invalid);
        assert_eq!(short.to_string(), "invalid time of 999ms: expected 1s to 366 days");
        for long in [year + Duration::from_nanos(1), Duration::MAX] {
            assert!(kept("time", long, second).is_err());
        }
    }
}
