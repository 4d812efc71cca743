//! [`Severity`]: how bad a log message is.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The longest name of a severity, in bytes.
const MAX: usize = 32;

/// How bad a log message is: one of the usual five, or any other lower-case word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(Cow<'static, str>);

impl Severity {
    /// For those who search for errors.
    pub const DEBUG: Self = Self(Cow::Borrowed("debug"));
    /// As expected.
    pub const INFO: Self = Self(Cow::Borrowed("info"));
    /// Worth a look.
    pub const WARNING: Self = Self(Cow::Borrowed("warning"));
    /// Something did not work.
    pub const ERROR: Self = Self(Cow::Borrowed("error"));
    /// Much does not work.
    pub const CRITICAL: Self = Self(Cow::Borrowed("critical"));

    /// A severity of one's own: 1 to 32 letters `a` to `z`, digits, `-` or `_`, the first a
    /// letter. Capital letters become small ones.
    ///
    /// ```
    /// use stockroom::shop::Severity;
    ///
    /// assert_eq!(Severity::new("ERROR")?, Severity::ERROR);
    /// assert_eq!(Severity::new("audit")?.as_str(), "audit");
    /// assert!(Severity::new("very bad").is_err());
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    pub fn new(word: &str) -> Result<Self> {
        let fits = word.len() <= MAX
            && word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if fits {
            return Ok(Self(Cow::Owned(word.to_ascii_lowercase())));
        }
        let got: String = word.escape_debug().take(2 * MAX).collect();
        Err(Error::invalid("severity", format!("\"{got}\""), "a word of at most 32 letters"))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Severity {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        Self::new(word)
    }
}

impl fmt::Debug for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_severities_are_refused() {
        for word in ["", "a b", "1st", "info:start", "é", "a\0", "-", &"a".repeat(33)] {
            assert!(Severity::new(word).is_err(), "{word:?}");
        }
        assert_eq!(Severity::new("Audit-2_b").unwrap().as_str(), "audit-2_b");
        assert_eq!("Info".parse::<Severity>().unwrap(), Severity::INFO);
        assert!(Severity::new(&"a".repeat(32)).is_ok());
    }
}
