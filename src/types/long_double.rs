//! [`LongDouble`]: the 80-bit floats that INCRBYFLOAT and HINCRBYFLOAT compute with.
//!
//! On the machines that Redis runs on, C's `long double` is the x87 format: a mantissa of 64 bits
//! and an exponent of 15. Its sums, rounded to 17 decimals and printed, are what clients see, and
//! neither `f64` nor exact decimals give the same digits. So the format is computed here, with
//! integers: reading, adding and printing all round once, to nearest with ties to even.
//!
//! Invariant of a finite value `mantissa * 2^exp`: the mantissa has its top bit set, unless it is
//! zero or subnormal, when `exp` is the least.

use std::cmp::Ordering;
use std::fmt;

use super::numeral::{Digits, Format, Numeral, hex_value, scan};

const FORMAT: Format = Format { bits: 64, min_exp: -16445, max_exp: 16320 };

/// The buffer that Redis copies the text into is one byte longer.
const LONGEST: usize = 5 * 1024 - 1;

/// Decimals printed, before trailing zeros are cut.
const DECIMALS: usize = 17;

/// The highest power of ten in 32 bits: decimal digits are handled by the nine.
const CHUNK: u32 = 1_000_000_000;

/// An x87 extended precision number, never NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongDouble {
    negative: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Finite { mantissa: u64, exp: i64 },
    Infinite,
}

impl LongDouble {
    /// Zero.
    pub const ZERO: Self =
        Self { negative: false, kind: Kind::Finite { mantissa: 0, exp: FORMAT.min_exp } };

    /// Reads a number as C's `strtold` does, the whole of `text` and at most 5119 bytes of it.
    /// `None` for a NaN and for what overflows or underflows to zero.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (negative, numeral) = scan(text)?;
        let rounded = match numeral {
            Numeral::Infinity => return Some(Self { negative, kind: Kind::Infinite }),
            Numeral::Nan => return None,
            Numeral::Decimal(digits) | Numeral::Hex(digits) if digits.is_zero() => {
                return Some(Self { negative, ..Self::ZERO });
            }
            Numeral::Decimal(digits) => decimal_value(digits)?,
            Numeral::Hex(digits) => {
                let (mantissa, exp, sticky) = hex_value(digits);
                FORMAT.round(mantissa, exp, sticky)?
            }
        };
        let (mantissa, exp) = rounded;
        (mantissa != 0).then_some(Self { negative, kind: Kind::Finite { mantissa, exp } })
    }

    /// Whether it is neither infinity.
    pub fn is_finite(self) -> bool {
        self.kind != Kind::Infinite
    }

    /// The sum. `None` where it is infinite or not a number, which the commands refuse.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (Kind::Finite { mantissa: m1, exp: e1 }, Kind::Finite { mantissa: m2, exp: e2 }) =
            (self.kind, other.kind)
        else {
            return None;
        };
        let ((big, m1, e1), (small, m2, e2)) = if e1 >= e2 {
            ((self.negative, m1, e1), (other.negative, m2, e2))
        } else {
            ((other.negative, m2, e2), (self.negative, m1, e1))
        };
        // 62 bits of room below the larger mantissa; what falls out of it leaves its trace in the
        // lowest bit, far below where the sum is rounded.
        let high = u128::from(m1) << 62;
        let shift = (e1 - e2).min(127) as u32;
        let wide = u128::from(m2) << 62;
        let low = wide >> shift | u128::from((wide >> shift) << shift != wide);
        let (negative, sum) = match (big == small, high.cmp(&low)) {
            (true, _) => (big, high + low),
            (false, Ordering::Equal) => return Some(Self::ZERO),
            (false, Ordering::Greater) => (big, high - low),
            (false, Ordering::Less) => (small, low - high),
        };
        let (mantissa, exp) = FORMAT.round(sum, e1 - 62, false)?;
        Some(Self { negative, kind: Kind::Finite { mantissa, exp } })
    }
}

impl LongDouble {
    /// A thousand times this, as C computes `ceill(x * 1000)` and converts it to a signed integer
    /// of 64 bits: what none can hold becomes the least.
    pub fn thousandfold_ceiling(self) -> i64 {
        let Kind::Finite { mantissa, exp } = self.kind else { return i64::MIN };
        let Some((mantissa, exp)) = FORMAT.round(u128::from(mantissa) * 1000, exp, false) else {
            return i64::MIN;
        };
        let mantissa = u128::from(mantissa);
        let below = u32::try_from(-exp).unwrap_or(0).min(64); // bits behind the point
        let whole = if exp >= 0 { mantissa << exp.min(64) } else { mantissa >> below };
        let has_fraction = whole << below != mantissa && exp < 0;
        let magnitude = whole + u128::from(has_fraction && !self.negative);
        match i64::try_from(magnitude) {
            Ok(n) if self.negative => -n,
            Ok(n) => n,
            Err(_) => i64::MIN,
        }
    }
}

/// As `%.17Lf`, without trailing zeros, and zero without its sign.
impl fmt::Display for LongDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let Kind::Finite { mantissa, exp } = self.kind else {
            return write!(f, "{sign}inf");
        };
        if exp >= 0 {
            let mut value = Natural::from(mantissa);
            value.shift_left(exp as usize);
            return write!(f, "{sign}{value}");
        }
        let scaled = u128::from(mantissa) * 10u128.pow(DECIMALS as u32); // below 2^121
        let scaled = match u32::try_from(-exp) {
            Ok(shift @ 1..=127) => {
                let (kept, half) = (scaled >> shift, 1u128 << (shift - 1));
                let dropped = scaled & (half << 1).wrapping_sub(1);
                kept + u128::from(dropped > half || (dropped == half && kept & 1 == 1))
            }
            _ => 0,
        };
        let unit = 10u128.pow(DECIMALS as u32);
        let (int, frac) = (scaled / unit, scaled % unit);
        if frac == 0 {
            return write!(f, "{}{int}", if int == 0 { "" } else { sign });
        }
        let frac = format!("{frac:0DECIMALS$}");
        write!(f, "{sign}{int}.{}", frac.trim_end_matches('0'))
    }
}

/// `digits * 10^exp`, rounded. `digits` is not zero. `None` when it overflows.
fn decimal_value(digits: Digits<'_>) -> Option<(u64, i64)> {
    if let Some((mantissa, exp, sticky)) = short_value(digits) {
        return FORMAT.round(mantissa, exp, sticky);
    }
    let mut value = Natural::default();
    let (mut chunk, mut unit) = (0, 1);
    let mut length = 0i64;
    for digit in digits.iter() {
        length += i64::from(length > 0 || digit != b'0');
        (chunk, unit) = (chunk * 10 + u32::from(digit - b'0'), unit * 10);
        if unit == CHUNK {
            value.multiply_add(CHUNK, chunk);
            (chunk, unit) = (0, 1);
        }
    }
    value.multiply_add(unit, chunk);
    let ten_exp = digits.exp.saturating_sub(digits.frac.len() as i64);
    // Far out of range: not worth a number of a million digits. 1.2e4932 is the largest value,
    // half of 3.6e-4951 the smallest that is not rounded to zero.
    match ten_exp.saturating_add(length) {
        4934.. => return None,
        ..-4955 => return Some((0, FORMAT.min_exp)),
        _ => {}
    }
    let fives = Natural::power_of_five(ten_exp.unsigned_abs() as usize);
    if ten_exp >= 0 {
        let (mantissa, exp, sticky) = value.times(&fives).top();
        FORMAT.round(mantissa, exp + ten_exp, sticky)
    } else {
        let (mantissa, exp, sticky) = value.ratio(fives);
        FORMAT.round(mantissa, exp + ten_exp, sticky)
    }
}

/// The value of digits that fit 128 bits, with a power of ten that fits 64, in the form of
/// [`Natural::top`]: most numbers are so.
fn short_value(digits: Digits<'_>) -> Option<(u128, i64, bool)> {
    const MOST_FIVES: u32 = 27; // 5^27 is below 2^63
    let ten_exp = digits.exp.checked_sub(digits.frac.len() as i64)?;
    let fives = u32::try_from(ten_exp.unsigned_abs()).ok().filter(|n| *n <= MOST_FIVES)?;
    let fives = u128::from(5u64.pow(fives));
    let value = digits.iter().try_fold(0u128, |value, digit| {
        value.checked_mul(10)?.checked_add(u128::from(digit - b'0'))
    })?;
    if ten_exp >= 0 {
        return Some((value.checked_mul(fives)?, ten_exp, false));
    }
    // The quotient has 65 bits at least: those of the mantissa, and one to round by.
    let ahead = value.leading_zeros();
    let value = value << ahead;
    Some((value / fives, ten_exp - i64::from(ahead), value % fives != 0))
}

/// A natural number of any size: 32-bit limbs, the lowest first, the highest not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl From<u64> for Natural {
    fn from(n: u64) -> Self {
        let mut natural = Self(vec![n as u32, (n >> 32) as u32]);
        natural.trim();
        natural
    }
}

impl Natural {
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn power_of_five(exp: usize) -> Self {
        const STEP: usize = 13; // the highest power of five in 32 bits
        let mut power = Self::from(1);
        for _ in 0..exp / STEP {
            power.multiply_add(5u32.pow(STEP as u32), 0);
        }
        power.multiply_add(5u32.pow((exp % STEP) as u32), 0);
        power
    }

    fn bits(&self) -> usize {
        self.0.last().map_or(0, |top| self.0.len() * 32 - top.leading_zeros() as usize)
    }

    /// `self * factor + addend`.
    fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Divides and answers the remainder.
    fn divide(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for limb in self.0.iter_mut().rev() {
            rest = rest << 32 | u64::from(*limb);
            *limb = (rest / u64::from(divisor)) as u32;
            rest %= u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0u32; self.0.len() + other.0.len()];
        for (at, &a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (sum, b) in limbs[at..].iter_mut().zip(other.0.iter().chain(&[0])) {
                carry += u64::from(*sum) + u64::from(a) * u64::from(*b);
                *sum = carry as u32;
                carry >>= 32;
            }
        }
        let mut product = Self(limbs);
        product.trim();
        product
    }

    fn shift_left(&mut self, bits: usize) {
        let (limbs, bits) = (bits / 32, bits % 32);
        self.multiply_add(1 << bits, 0);
        self.0.splice(0..0, std::iter::repeat_n(0, limbs));
        self.trim();
    }

    /// `self -= other`, which is not larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (limb, b) in self.0.iter_mut().zip(other.0.iter().chain(std::iter::repeat(&0))) {
            let (difference, below) = limb.overflowing_sub(*b);
            let (difference, below_too) = difference.overflowing_sub(u32::from(borrow));
            *limb = difference;
            borrow = below || below_too;
        }
        self.trim();
    }

    /// The highest bits, up to 128, as `(mantissa, exp, sticky)`: the number is `mantissa * 2^exp`,
    /// and more when `sticky`.
    fn top(&self) -> (u128, i64, bool) {
        let skipped = self.0.len().saturating_sub(4);
        let (low, high) = self.0.split_at(skipped);
        let mantissa = high.iter().rev().fold(0u128, |m, limb| m << 32 | u128::from(*limb));
        (mantissa, skipped as i64 * 32, low.iter().any(|limb| *limb != 0))
    }

    /// `self / divisor` to at least 68 bits, in the form of [`top`](Self::top).
    fn ratio(mut self, mut divisor: Self) -> (u128, i64, bool) {
        const BITS: i64 = 68;
        let ahead = self.bits() as i64 - divisor.bits() as i64;
        if ahead > 0 {
            divisor.shift_left(ahead as usize);
        } else {
            self.shift_left(-ahead as usize);
        }
        let mut quotient = 0u128; // the first bit is the units', which may be zero
        for at in 0..=BITS {
            if at > 0 {
                self.shift_left(1);
            }
            quotient <<= 1;
            if self.cmp(&divisor) != Ordering::Less {
                self.subtract(&divisor);
                quotient |= 1;
            }
        }
        (quotient, ahead - BITS, !self.0.is_empty())
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.0.len().cmp(&other.0.len());
        length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// In decimal.
impl fmt::Display for Natural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.clone();
        let mut chunks = Vec::new();
        while !rest.0.is_empty() {
            chunks.push(rest.divide(CHUNK));
        }
        write!(f, "{}", chunks.pop().unwrap_or(0))?;
        chunks.iter().rev().try_for_each(|chunk| write!(f, "{chunk:09}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> Option<String> {
        let (a, b) = (LongDouble::parse(a.as_bytes())?, LongDouble::parse(b.as_bytes())?);
        a.checked_add(b).map(|s| s.to_string())
    }

    #[test]
    fn sums_are_those_of_the_server() {
        // Each checked with INCRBYFLOAT on Redis 7.0.15 (x86-64).
        for (a, b, expected) in [
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("3", "1.1", "4.1"),
            ("0.1", "0.2", "0.3"),
            ("1e17", "0.1", "100000000000000000.1015625"),
            ("1e18", "0.3", "1000000000000000000.3125"),
            ("-1e-18", "0", "0"),
            ("1e-17", "0", "0.00000000000000001"),
            ("0x1p64", "1", "18446744073709551616"),
            ("0x1p64", "3", "18446744073709551620"),
            ("1e-4950", "1e-4950", "0"),
            ("1e300", "-1e300", "0"),
        ] {
            assert_eq!(sum(a, b).as_deref(), Some(expected), "{a} + {b}");
        }
        assert_eq!(sum("1e4932", "1e4932").map(|s| s.len()), None);
        assert_eq!(sum("5e4931", "5e4931").map(|s| s.len()), Some(4933));
        assert_eq!(sum("inf", "1"), None);
    }

    #[test]
    fn a_thousandfold_is_rounded_up_and_saturates_as_in_c() {
        let ceiling =
            |text: &str| LongDouble::parse(text.as_bytes()).unwrap().thousandfold_ceiling();
        let cases = [
            ("0", 0),
            ("1", 1000),
            ("0.001", 1),
            ("0.0001", 1),
            ("1e-400", 1),
            ("1.0001", 1001),
            ("0x10", 16_000),
            ("-0.0001", 0),
            ("-0.001", 0), // as 80 bits, a little more than a thousandth
            ("-0.0011", -1),
            ("-1", -1000),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("9223372036854775.807", i64::MAX),
            ("9223372036854776", i64::MIN),
            ("1e30", i64::MIN),
            ("1e4932", i64::MIN),
            ("inf", i64::MIN),
            ("-inf", i64::MIN),
        ];
        for (text, expected) in cases {
            assert_eq!(ceiling(text), expected, "{text}");
        }
    }

    #[test]
    fn what_strtold_refuses_is_refused() {
        for text in ["", "nan", " 1", "1 ", "1e5000", "1e-5000", "0x", "1e", "1e4933", "0x1p-16446"]
        {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        let long = [b"0.".as_slice(), &[b'1'; LONGEST - 2]].concat();
        assert!(LongDouble::parse(&long).is_some());
        assert_eq!(LongDouble::parse(&[&long[..], b"1"].concat()), None);
        assert!(LongDouble::parse(b"1e4932").is_some());
        assert!(LongDouble::parse(b"0x1p-16445").is_some());
        assert!(LongDouble::parse(b"0e99999").is_some());
    }

    #[test]
    fn halves_are_rounded_to_even() {
        // 2^64 + 1 lies between two numbers, 2^64 + 3 too; a digit far behind decides otherwise.
        for (text, expected) in [
            ("18446744073709551617", "18446744073709551616"),
            ("18446744073709551619", "18446744073709551620"),
            ("18446744073709551617.0000000000000000000000000000001", "18446744073709551618"),
            ("0x10000000000000001", "18446744073709551616"),
            ("0x10000000000000001.00000000000000000000000000000000000001", "18446744073709551618"),
        ] {
            let value = LongDouble::parse(text.as_bytes()).map(|v| v.to_string());
            assert_eq!(value.as_deref(), Some(expected), "{text}");
        }
    }
}
