//! Numerals as C's `strtod` family reads them, taken apart but not yet converted.
//!
//! Why our own: Redis reads floats with `strtod` and `strtold`, which know hexadecimal floats,
//! `infinity` and `nan(..)`, and which round once, to the precision of their type. The parts found
//! here serve both [`super::number`] (53 bits) and [`super::long_double`] (64 bits).
//!
//! Only whole inputs count: Redis refuses leading space and anything left over.
//!
//! Rounding is exact in all cases. (glibc 2.36 loses one bit of hexadecimal numerals that have more
//! digits than the format and a subnormal value; that is not imitated.)

/// A numeral's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numeral<'a> {
    Infinity,
    Nan,
    /// Digits before and after the point, and the power of ten.
    Decimal(Digits<'a>),
    /// Digits before and after the point, and the power of two.
    Hex(Digits<'a>),
}

/// At least one digit in `int` and `frac` together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits<'a> {
    pub(super) int: &'a [u8],
    pub(super) frac: &'a [u8],
    /// Saturates far outside any float's range.
    pub(super) exp: i64,
}

impl<'a> Digits<'a> {
    /// Every digit in turn.
    pub(super) fn iter(self) -> impl Iterator<Item = u8> + 'a {
        self.int.iter().chain(self.frac).copied()
    }

    /// Whether every digit is zero.
    pub(super) fn is_zero(self) -> bool {
        self.iter().all(|d| d == b'0')
    }
}

/// Whether the numeral is negative, and its parts; `None` when `text` is not one numeral and
/// nothing else.
pub(super) fn scan(text: &[u8]) -> Option<(bool, Numeral<'_>)> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let numeral = match rest {
        [b'0', b'x' | b'X', hex @ ..] => {
            Numeral::Hex(digits(hex, u8::is_ascii_hexdigit, *b"pP").filter(|d| !d.is_empty())?)
        }
        [b'0'..=b'9' | b'.', ..] => Numeral::Decimal(digits(rest, u8::is_ascii_digit, *b"eE")?),
        _ => named(rest)?,
    };
    Some((negative, numeral))
}

impl Digits<'_> {
    fn is_empty(self) -> bool {
        self.int.is_empty() && self.frac.is_empty()
    }
}

fn named(text: &[u8]) -> Option<Numeral<'static>> {
    if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
        return Some(Numeral::Infinity);
    }
    let (word, rest) = text.split_at_checked(3)?;
    let tag = |t: &[u8]| t.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let whole = match rest {
        [] => true,
        [b'(', inner @ .., b')'] => tag(inner),
        _ => false,
    };
    (word.eq_ignore_ascii_case(b"nan") && whole).then_some(Numeral::Nan)
}

fn digits(text: &[u8], is_digit: fn(&u8) -> bool, markers: [u8; 2]) -> Option<Digits<'_>> {
    let run = |t: &[u8]| t.iter().take_while(|b| is_digit(b)).count();
    let (int, rest) = text.split_at(run(text));
    let (frac, rest) = match rest {
        [b'.', rest @ ..] => rest.split_at(run(rest)),
        _ => rest.split_at(0),
    };
    let exp = match rest {
        [] => 0,
        [m, exp @ ..] if markers.contains(m) => exponent(exp)?,
        _ => return None,
    };
    let found = Digits { int, frac, exp };
    (!found.is_empty()).then_some(found)
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1 << 50));
    Some(if negative { -value } else { value })
}

/// The first 128 bits' worth of a hexadecimal numeral as `mantissa * 2^exp`, and whether any digit
/// behind them is not zero.
pub(super) fn hex_value(digits: Digits<'_>) -> (u128, i64, bool) {
    let (mut mantissa, mut sticky) = (0u128, false);
    let mut exp = digits.exp.saturating_sub(4 * digits.frac.len() as i64);
    for digit in digits.iter() {
        let digit = (digit as char).to_digit(16).unwrap_or(0);
        if mantissa >> 124 == 0 {
            mantissa = mantissa << 4 | u128::from(digit);
        } else {
            sticky |= digit != 0;
            exp += 4;
        }
    }
    (mantissa, exp, sticky)
}

/// A binary floating point format: bits of the mantissa, and the exponent range of its last bit.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) bits: u32,
    pub(super) min_exp: i64,
    pub(super) max_exp: i64,
}

impl Format {
    /// Rounds `mantissa * 2^exp` (a little more when `sticky`) to nearest, ties to even.
    ///
    /// The result `(m, e)` has all its bits in use unless it is subnormal, when `e` is the least;
    /// `None` when it overflows. A mantissa that is zero, or underflows to it, gives zero.
    /// With `sticky`, `mantissa` must hold at least one bit more than the format.
    pub(super) fn round(self, mantissa: u128, exp: i64, sticky: bool) -> Option<(u64, i64)> {
        if mantissa == 0 {
            return Some((0, self.min_exp));
        }
        let length = 128 - mantissa.leading_zeros();
        let shift =
            (i64::from(length) - i64::from(self.bits)).max(self.min_exp.saturating_sub(exp));
        if shift <= 0 {
            let e = exp + shift;
            return (e <= self.max_exp).then_some(((mantissa << -shift) as u64, e));
        }
        let mut e = exp.saturating_add(shift);
        if shift > 128 {
            return Some((0, self.min_exp));
        }
        let kept = mantissa.checked_shr(shift as u32).unwrap_or(0);
        let dropped = if shift == 128 { mantissa } else { mantissa & ((1 << shift) - 1) };
        let half = 1u128 << (shift - 1);
        let up = dropped > half || (dropped == half && (sticky || kept & 1 == 1));
        let mut m = kept + u128::from(up);
        if m >> self.bits != 0 {
            m >>= 1;
            e += 1;
        }
        (e <= self.max_exp).then_some((m as u64, e))
    }
}
