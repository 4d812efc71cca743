//! What trying again needs: [`Backoff`], how long to wait before, and whether the failure was
//! harmless: [`unwritten`], [`after_a_part`].
//!
//! The wait doubles up to a limit; half of it is random, so that clients that failed together do
//! not come back together. The randomness is the backend's: with a seed the waits repeat.

use std::time::Duration;

use crate::backend::Backend;
use crate::error::{Error, ErrorKind};

/// The waits between tries.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits of up to `first` after the first failure, and never more than `most`.
    pub(super) const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, failures: 0 }
    }

    /// These waits, after so many failures already.
    pub(super) const fn after(self, failures: u32) -> Self {
        Self { failures, ..self }
    }

    /// Starts over, after a success.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The wait after one more failure: between half of the limit reached and all of it.
    pub(super) fn next<B: Backend>(&mut self, backend: &B) -> Duration {
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        let half = self.first.saturating_mul(doubled).min(self.most) / 2;
        let mut random = [0; 8];
        backend.random(&mut random);
        half + fraction(half, u64::from_le_bytes(random))
    }
}

/// An error of a step that only reads, on the way to a write. Whatever became of the step, nothing
/// was written, and the caller, who only knows of the write, may try again; after an error reply to
/// one of several reads not sooner than after a refusal.
pub(super) fn unwritten(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Partly => error.with_kind(ErrorKind::Refused),
        _ if error.is_definite() => error,
        _ => Error::new(ErrorKind::NotSent, format!("nothing was written: {error}")),
    }
}

/// An error of a later one of several steps, of which the earlier ones stand.
pub(super) fn after_a_part(error: Error) -> Error {
    if error.is_definite() { error.with_kind(ErrorKind::Partly) } else { error }
}

/// `d` times `random` / 2⁶⁴.
fn fraction(d: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(((u128::from(nanos) * u128::from(random)) >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Memory;
    use crate::env::{Env, Timestamp};

    #[test]
    fn waits_double_up_to_the_limit_and_differ() {
        let memory = Memory::with_env(Env::manual(Timestamp::EPOCH, 7));
        let mut backoff = Backoff::new(Duration::from_millis(8), Duration::from_millis(100));
        let mut seen = Vec::new();
        for limit in [8, 16, 32, 64, 100, 100] {
            let wait = backoff.next(&memory);
            let limit = Duration::from_millis(limit);
            assert!(wait >= limit / 2 && wait <= limit, "{wait:?} of {limit:?}");
            seen.push(wait);
        }
        assert_ne!(seen[4], seen[5]);
        (0..100).for_each(|_| assert!(backoff.next(&memory) <= Duration::from_millis(100)));
        backoff.reset();
        assert!(backoff.next(&memory) <= Duration::from_millis(8));
    }

    #[test]
    fn whatever_becomes_of_a_read_nothing_was_written() {
        use crate::error::WireError;
        for kind in [ErrorKind::Unknown, ErrorKind::UnexpectedReply, ErrorKind::NotSent] {
            assert_eq!(unwritten(Error::new(kind, "x")).kind(), ErrorKind::NotSent);
        }
        let partly = Error::from(WireError::WRONGTYPE).with_kind(ErrorKind::Partly);
        let error = unwritten(partly);
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("WRONGTYPE")));
    }

    #[test]
    fn after_a_part_nothing_is_said_not_to_have_happened() {
        for kind in [ErrorKind::NotSent, ErrorKind::Refused, ErrorKind::GaveUp] {
            assert_eq!(after_a_part(Error::new(kind, "x")).kind(), ErrorKind::Partly);
        }
        assert_eq!(after_a_part(Error::new(ErrorKind::Unknown, "x")).kind(), ErrorKind::Unknown);
    }

    #[test]
    fn same_seed_gives_the_same_waits() {
        let waits = |seed| {
            let memory = Memory::with_env(Env::manual(Timestamp::EPOCH, seed));
            let mut backoff = Backoff::new(Duration::from_millis(1), Duration::MAX);
            (0..80).map(|_| backoff.next(&memory)).collect::<Vec<_>>()
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
