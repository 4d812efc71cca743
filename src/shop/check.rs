//! Checks of what callers pass in, before anything is sent.

use std::fmt;

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

#[cfg_attr(not(test), allow(dead_code, reason = "the logs come next"))]
/// A message of up to [`MAX_MESSAGE`] bytes, of any kind.
pub(super) fn message(message: &[u8]) -> Result<&[u8]> {
    if message.len() > MAX_MESSAGE {
        return Err(Error::invalid("message", Length(message.len()), "at most 65536 bytes"));
    }
    Ok(message)
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
}
