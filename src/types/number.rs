//! Numbers as Redis reads and writes them.
//!
//! Which texts count as a number, and how a number is spelled in a reply, is visible to clients
//! byte for byte, and neither is Rust's own rule: integers must be canonical, floats follow C's
//! `strtod`, and doubles are printed as `%.17g`.

pub use crate::resp::double::format_f64;

use super::long_double::LongDouble;
use super::numeral::{Format, Numeral, hex_value, scan};

const DOUBLE: Format = Format { bits: 53, min_exp: -1074, max_exp: 971 };

/// Reads an integer in canonical form: no `+`, no leading zero, no space, within 64 bits.
///
/// ```
/// use stockroom::types::number::parse_i64;
/// assert_eq!(parse_i64(b"-12"), Some(-12));
/// assert_eq!(parse_i64(b"012"), None);
/// assert_eq!(parse_i64(b"-0"), None);
/// ```
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        b"0" => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        _ => (false, text),
    };
    if digits.len() > 19 || !matches!(digits.first(), Some(b'1'..=b'9')) {
        return None;
    }
    let mut value = 0u64; // 19 digits cannot overflow it
    for &d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(d - b'0');
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Reads a double as Redis reads scores and other floats: all that C's `strtod` takes (decimal or
/// hexadecimal, `inf`, `infinity`), but no NaN, no space, nothing left over, and nothing too large
/// or too small for a double.
///
/// ```
/// use stockroom::types::number::parse_f64;
/// assert_eq!(parse_f64(b"1.5e3"), Some(1500.0));
/// assert_eq!(parse_f64(b"-inf"), Some(f64::NEG_INFINITY));
/// assert_eq!(parse_f64(b"0x1p-1"), Some(0.5));
/// assert_eq!(parse_f64(b"1e400"), None);
/// assert_eq!(parse_f64(b" 1"), None);
/// ```
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_decimal(text) {
        return Some(value);
    }
    if let Some(n) = parse_i64(text) {
        return Some(n as f64); // rounds once, as reading the digits would
    }
    convert(text).filter(|(_, fits)| *fits).map(|(n, _)| n)
}

/// Reads a double as Redis reads the ends of a range of scores: all that C's `strtod` takes, from
/// a C string. So leading space is skipped, nothing at all is 0, what is too large is infinite and
/// too small is 0, and a zero byte ends the text. But no NaN, and nothing left over.
///
/// ```
/// use stockroom::types::number::parse_c_f64;
/// assert_eq!(parse_c_f64(b" 1.5"), Some(1.5));
/// assert_eq!(parse_c_f64(b""), Some(0.0));
/// assert_eq!(parse_c_f64(b"1e400"), Some(f64::INFINITY));
/// assert_eq!(parse_c_f64(b"1 "), None);
/// ```
pub fn parse_c_f64(text: &[u8]) -> Option<f64> {
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(0.0);
    }
    let space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|b| !space(b))?;
    let text = &text[start..];
    short_decimal(text).or_else(|| convert(text).map(|(n, _)| n))
}

/// The number that `strtod` reads, and whether a double can hold it: if not it is infinite or 0.
fn convert(text: &[u8]) -> Option<(f64, bool)> {
    let (negative, numeral) = scan(text)?;
    let (magnitude, fits) = match numeral {
        Numeral::Infinity => (f64::INFINITY, true),
        Numeral::Nan => return None,
        Numeral::Decimal(digits) => {
            let unsigned = text.strip_prefix(b"-").unwrap_or(text);
            let value: f64 = std::str::from_utf8(unsigned).ok()?.parse().ok()?;
            let lost = value == 0.0 && !digits.is_zero();
            (value, value.is_finite() && !lost)
        }
        Numeral::Hex(digits) => {
            let (mantissa, exp, sticky) = hex_value(digits);
            match DOUBLE.round(mantissa, exp, sticky) {
                Some((m, e)) => (compose(m, e), m != 0 || mantissa == 0),
                None => (f64::INFINITY, false),
            }
        }
    };
    Some((if negative { -magnitude } else { magnitude }, fits))
}

/// The number, if it is a short decimal such as nearly all scores and times are: digits, perhaps
/// with a sign and a point between them. Both the digits and the power of ten are exact as doubles
/// then, and one division rounds correctly.
fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    // So long that it cannot overflow.
    if unsigned.len() > 19 || !unsigned.last()?.is_ascii_digit() || unsigned[0] == b'.' {
        return None;
    }
    let (mut digits, mut places) = (0_u64, 0);
    for (at, &byte) in unsigned.iter().enumerate() {
        match byte {
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' if places == 0 => places = unsigned.len() - 1 - at,
            _ => return None,
        }
    }
    if digits >= 1 << 53 {
        return None;
    }
    let value = digits as f64 / POWERS.get(places)?;
    Some(if negative { -value } else { value })
}

/// The double `m * 2^e` from what [`Format::round`] gave.
fn compose(m: u64, e: i64) -> f64 {
    if m >> 52 == 0 {
        return f64::from_bits(m); // subnormal: the exponent field is zero
    }
    f64::from_bits(((e + 1075) as u64) << 52 | m & ((1 << 52) - 1))
}

/// Why [`incr_by_float`] refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncrError {
    /// The value or the increment is no float.
    NotFloat,
    /// The sum would not be a finite number.
    NotFinite,
}

/// The sum of two numbers as INCRBYFLOAT computes and prints it: see [`LongDouble`].
///
/// ```
/// use stockroom::types::number::incr_by_float;
/// assert_eq!(incr_by_float(b"10.50", b"0.1").as_deref(), Ok("10.6"));
/// assert_eq!(incr_by_float(b"5.0e3", b"2.0e2").as_deref(), Ok("5200"));
/// ```
pub fn incr_by_float(value: &[u8], increment: &[u8]) -> Result<String, IncrError> {
    let value = LongDouble::parse(value).ok_or(IncrError::NotFloat)?;
    let increment = LongDouble::parse(increment).ok_or(IncrError::NotFloat)?;
    let sum = value.checked_add(increment).ok_or(IncrError::NotFinite)?;
    Ok(sum.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn short_decimals_are_read_as_long_ones_are(
            text in "-?0{0,3}[0-9]{1,17}(\\.[0-9]{0,17})?"
        ) {
            if let Some(value) = short_decimal(text.as_bytes()) {
                let read: f64 = text.parse().unwrap();
                proptest::prop_assert_eq!(value.to_bits(), read.to_bits());
            }
        }
    }

    #[test]
    fn a_time_is_a_short_decimal_and_what_is_no_number_is_not() {
        let time = short_decimal(b"1433221332.117123");
        assert_eq!(time.map(f64::to_bits), Some(1_433_221_332.117_123_f64.to_bits()));
        assert_eq!(short_decimal(b"-0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        for text in ["", "-", ".", ".5", "5.", "1.2.3", "1e3", "inf", "+1", "0x1", " 1"] {
            assert_eq!(short_decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn integers_are_read_only_in_canonical_form() {
        for (text, value) in [
            ("0", 0),
            ("-1", -1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), Some(value));
        }
        for text in [
            "",
            "-",
            "+1",
            "00",
            "01",
            "-0",
            " 1",
            "1 ",
            "1.0",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
            "1\0",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn doubles_are_read_as_by_strtod() {
        // Checked with ZADD and ZSCORE on Redis 7.0.15.
        for (text, value) in [
            ("inf", f64::INFINITY),
            ("+Inf", f64::INFINITY),
            ("-INFINITY", f64::NEG_INFINITY),
            ("0x10", 16.0),
            ("0x.8", 0.5),
            ("0X1P+3", 8.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("1.e5", 1e5),
            ("+7", 7.0),
            ("007", 7.0),
            ("1e-320", 1e-320),
            ("0e400", 0.0),
            ("0e99999999999999999999", 0.0),
            ("0x1p-1074", 5e-324),
            ("0x1.8p-1075", 5e-324),
            ("0x1.fffffffffffff7ffffffffffffffffffffffffffp0", 1.999_999_999_999_999_8),
            ("0x1.fffffffffffff8000000000000000000000000001p0", 2.0),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text:?}");
        }
        assert!(parse_f64(b"-0").is_some_and(|z| z == 0.0 && z.is_sign_negative()));
        for text in [
            "",
            "+",
            "-",
            ".",
            "nan",
            "-nan",
            "nan(12)",
            " 1",
            "1 ",
            "1e",
            "1e+",
            "0x",
            "0x.p1",
            "0x1p",
            "0x1p-1075",
            "0x1p-1080",
            "0x1p1024",
            "1e400",
            "1e-400",
            "infi",
            "1\0",
            "--1",
            "1e99999999999999999999",
            "1,5",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn ends_of_ranges_are_read_as_c_strings() {
        // Checked with ZRANGEBYSCORE on Redis 7.0.15.
        for (text, value) in [
            ("", 0.0),
            ("\0x", 0.0),
            ("\t\n 7\0x", 7.0),
            ("1e-400", 0.0),
            ("-1e400", f64::NEG_INFINITY),
            ("0x1p1024", f64::INFINITY),
            ("0x10", 16.0),
        ] {
            assert_eq!(parse_c_f64(text.as_bytes()), Some(value), "{text:?}");
        }
        for text in [" ", "1 ", "nan", "-nan(1)", "x", "1x", " \0"] {
            assert_eq!(parse_c_f64(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn doubles_are_written_as_by_printf() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-2.5, "-2.5"),
            (0.1, "0.10000000000000001"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e17, "1.5e+17"),
            (123_456_789.123, "123456789.123"),
            (1e-4, "0.0001"),
            (1e-5, "1.0000000000000001e-05"),
            (1e300, "1.0000000000000001e+300"),
            (5e-324, "4.9406564584124654e-324"),
            (1e100, "1e+100"),
            (99_999_999_999_999_984.0, "99999999999999984"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(format_f64(value), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_double_survives_writing_and_reading(bits: u64) {
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                let read = parse_f64(format_f64(value).as_bytes());
                proptest::prop_assert_eq!(read.map(f64::to_bits), Some(bits));
            }
        }
    }
}
