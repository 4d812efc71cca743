//! [`Lease`] and [`Patience`]: how long something is held, and how long it is waited for. Two
//! types, so that nobody swaps the two.

use std::time::Duration;

use super::check::kept;
use crate::error::Result;

/// The longest wait for a lock or a permit.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 86_400);

/// How long something is held unless it is renewed: after that, others may have it.
///
/// ```
/// use std::time::Duration;
/// use stockroom::shop::Lease;
///
/// assert!(Lease::of(Duration::from_secs(10)).is_ok());
/// assert!(Lease::of(Duration::ZERO).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(Duration);

impl Lease {
    /// A lease of this length: 10 ms to 366 days, in whole milliseconds.
    pub fn of(length: Duration) -> Result<Self> {
        let length = kept("lease", length, Duration::from_millis(10))?;
        Ok(Self(Duration::from_millis(length.as_millis() as u64)))
    }

    /// Its length.
    pub fn length(self) -> Duration {
        self.0
    }

    /// Its length in milliseconds.
    pub(super) fn as_millis(self) -> i64 {
        self.0.as_millis() as i64
    }

    /// How much earlier than the server a holder takes a lease for over: a hundredth for clocks
    /// that run at different rates, and 2 ms for how exactly the server expires.
    pub(super) fn margin(self) -> Duration {
        self.0 / 100 + Duration::from_millis(2)
    }
}

/// How long to wait for something before giving up. Zero: one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Patience(Duration);

impl Patience {
    /// No waiting.
    pub const NONE: Self = Self(Duration::ZERO);

    /// Patience of this length; more than 366 days counts as that.
    pub fn of(length: Duration) -> Self {
        Self(length.min(LONGEST_WAIT))
    }

    /// Its length.
    pub fn length(self) -> Duration {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_bounded_and_of_whole_milliseconds() {
        for bad in [Duration::ZERO, Duration::from_micros(9_999), Duration::MAX] {
            let error = Lease::of(bad).unwrap_err().to_string();
            assert!(error.starts_with("invalid lease of "), "{error}");
        }
        let lease = Lease::of(Duration::from_micros(10_999)).unwrap();
        assert_eq!((lease.length(), lease.as_millis()), (Duration::from_millis(10), 10));
        assert_eq!(Patience::of(Duration::MAX).length(), LONGEST_WAIT);
    }
}
