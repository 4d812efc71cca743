//! [`Arg`]: a word of a command, borrowed or made from a number; [`Score`]: a sorted set's number.
//!
//! A number becomes text inside the value itself, without an allocation. An instant becomes
//! seconds with as many decimals as it has, which a 64-bit float keeps apart up to the microsecond.

use std::fmt::{self, Write as _};
use std::ops::Deref;

use crate::bytes::Bytes;
use crate::env::Timestamp;

/// A word of a command.
#[derive(Clone)]
pub struct Arg<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

const _: () = assert!(size_of::<Arg<'_>>() == 24);

impl Deref for Arg<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Borrowed(bytes) => bytes,
            Repr::Owned(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

impl<'a> From<&'a [u8]> for Arg<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self(Repr::Borrowed(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Arg<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Self {
        Self(Repr::Borrowed(bytes))
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self(Repr::Borrowed(text.as_bytes()))
    }
}

impl<'a> From<&'a Vec<u8>> for Arg<'a> {
    #[inline]
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self(Repr::Borrowed(bytes))
    }
}

impl<'a> From<&'a Bytes> for Arg<'a> {
    #[inline]
    fn from(bytes: &'a Bytes) -> Self {
        Self(Repr::Borrowed(bytes))
    }
}

impl From<Bytes> for Arg<'_> {
    #[inline]
    fn from(bytes: Bytes) -> Self {
        Self(Repr::Owned(bytes))
    }
}

impl From<Vec<u8>> for Arg<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Repr::Owned(bytes.into()))
    }
}

impl From<String> for Arg<'_> {
    fn from(text: String) -> Self {
        Self(Repr::Owned(text.into()))
    }
}

impl From<i64> for Arg<'_> {
    fn from(n: i64) -> Self {
        Self(Repr::Owned(Bytes::copy_from(itoa::Buffer::new().format(n).as_bytes())))
    }
}

impl From<i32> for Arg<'_> {
    #[inline]
    fn from(n: i32) -> Self {
        i64::from(n).into()
    }
}

impl From<u64> for Arg<'_> {
    fn from(n: u64) -> Self {
        Self(Repr::Owned(Bytes::copy_from(itoa::Buffer::new().format(n).as_bytes())))
    }
}

impl From<usize> for Arg<'_> {
    #[inline]
    fn from(n: usize) -> Self {
        (n as u64).into()
    }
}

impl From<f64> for Arg<'_> {
    /// The shortest text that reads back as the same number.
    fn from(x: f64) -> Self {
        /// Below this every whole number is exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if x.trunc() == x && x.abs() < EXACT && (x != 0.0 || x.is_sign_positive()) {
            return (x as i64).into();
        }
        let mut text = Text::default();
        // Very large and very small numbers are shorter with an exponent.
        let plain = x == 0.0 || !x.is_finite() || (1e-5..1e17).contains(&x.abs());
        let written = if plain { write!(text, "{x}") } else { write!(text, "{x:e}") };
        debug_assert!(written.is_ok(), "32 bytes hold every double");
        text.into()
    }
}

/// The number of a sorted set's member, on its way to the server.
///
/// From a number as it is, and from a [`Timestamp`] in seconds since the epoch.
#[derive(Clone, Debug)]
pub struct Score(Arg<'static>);

impl From<f64> for Score {
    #[inline]
    fn from(x: f64) -> Self {
        Self(x.into())
    }
}

impl From<i64> for Score {
    #[inline]
    fn from(n: i64) -> Self {
        Self(n.into())
    }
}

impl From<i32> for Score {
    #[inline]
    fn from(n: i32) -> Self {
        Self(n.into())
    }
}

impl From<Timestamp> for Score {
    fn from(at: Timestamp) -> Self {
        const SECOND: u64 = 1_000_000;
        let mut text = Text::default();
        let us = at.as_micros();
        if us < 0 {
            text.push(b'-');
        }
        let us = us.unsigned_abs();
        let written = text.write_str(itoa::Buffer::new().format(us / SECOND));
        debug_assert!(written.is_ok(), "32 bytes hold every integer");
        let mut rest = us % SECOND;
        if rest > 0 {
            text.push(b'.');
            let mut place = SECOND / 10;
            while rest > 0 {
                text.push(b'0' + (rest / place) as u8);
                rest %= place;
                place /= 10;
            }
        }
        Self(text.into())
    }
}

impl From<Score> for Arg<'_> {
    #[inline]
    fn from(score: Score) -> Self {
        score.0
    }
}

/// A few characters on the stack.
#[derive(Default)]
struct Text {
    buf: [u8; 32],
    len: usize,
}

impl Text {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.buf.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let slot = self.buf.get_mut(self.len..self.len + s.len()).ok_or(fmt::Error)?;
        slot.copy_from_slice(s.as_bytes());
        self.len += s.len();
        Ok(())
    }
}

impl From<Text> for Arg<'_> {
    fn from(text: Text) -> Self {
        Self(Repr::Owned(Bytes::copy_from(&text.buf[..text.len])))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text<'a>(arg: impl Into<Arg<'a>>) -> String {
        String::from_utf8(arg.into().to_vec()).unwrap()
    }

    #[test]
    fn numbers_at_their_borders() {
        assert_eq!(text(i64::MIN), i64::MIN.to_string());
        assert_eq!(text(u64::MAX), u64::MAX.to_string());
        assert_eq!(text(0_i64), "0");
        assert_eq!(text(-0.0), "-0");
        assert_eq!(text(f64::INFINITY), "inf");
        assert_eq!(text(f64::NEG_INFINITY), "-inf");
        assert_eq!(text(f64::NAN), "NaN");
        assert_eq!(text(0.5), "0.5");
    }

    #[test]
    fn instants_are_seconds_with_the_decimals_they_have() {
        let score = |us| text(Arg::from(Score::from(Timestamp::from_micros(us))));
        assert_eq!(score(0), "0");
        assert_eq!(score(1_433_221_332_117_000), "1433221332.117");
        assert_eq!(score(1_000_001), "1.000001");
        assert_eq!(score(-1_500_000), "-1.5");
        assert_eq!(score(i64::MIN), "-9223372036854.775808");
    }

    proptest! {
        #[test]
        fn a_double_reads_back_as_itself(bits: u64) {
            let x = f64::from_bits(bits);
            let back: f64 = text(x).parse().unwrap();
            prop_assert!(back.to_bits() == bits || x.is_nan() && back.is_nan());
        }

        #[test]
        fn instants_a_microsecond_apart_stay_apart(us in 0_i64..8_000_000_000_000_000) {
            let read = |us| -> f64 {
                text(Arg::from(Score::from(Timestamp::from_micros(us)))).parse().unwrap()
            };
            prop_assert!(read(us) < read(us + 1));
            // Up to the year 2106 a double holds the microsecond itself.
            let us = us / 2;
            prop_assert_eq!((read(us) * 1e6).round() as i64, us);
        }
    }
}
