//! Floating point numbers as replies spell them.
//!
//! Redis 7.0 writes a double with C's `%.17g`: 17 significant digits, correctly rounded, trailing
//! zeros dropped, an exponent of at least two digits below `1e-4` and from `1e17` on. So 0.1 is
//! `0.10000000000000001`, and every number reads back as itself.

use super::decimal;

/// Significant digits.
const PRECISION: i32 = 17;
/// Whole numbers below this are written through an integer: no more digits than the precision.
const WHOLE: f64 = 1e17;

/// A double as Redis 7.0 replies it.
///
/// ```
/// use stockroom::resp::double::format_f64;
/// assert_eq!(format_f64(0.1), "0.10000000000000001");
/// assert_eq!(format_f64(3.0), "3");
/// assert_eq!(format_f64(1e300), "1.0000000000000001e+300");
/// assert_eq!(format_f64(f64::NEG_INFINITY), "-inf");
/// ```
pub fn format_f64(n: f64) -> String {
    let mut out = Vec::with_capacity(24);
    push_f64(&mut out, n);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends what [`format_f64`] gives.
pub fn push_f64(out: &mut Vec<u8>, n: f64) {
    if n.is_sign_negative() {
        out.push(b'-');
    }
    let n = n.abs();
    if n.is_nan() {
        out.extend_from_slice(b"nan");
    } else if n.is_infinite() {
        out.extend_from_slice(b"inf");
    } else if n < WHOLE && n.fract() == 0.0 {
        decimal::push(out, n as i64);
    } else {
        push_finite(out, n);
    }
}

/// C's `%.17g` for a finite number that is not negative.
fn push_finite(out: &mut Vec<u8>, n: f64) {
    let scientific = format!("{n:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let used = digits.iter().rposition(|&b| b != b'0').map_or(1, |last| last + 1);
    let digits = digits.get(..used).unwrap_or(b"0");
    if (-4..PRECISION).contains(&exponent) {
        push_fixed(out, digits, exponent);
        return;
    }
    push_point(out, digits, 1);
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    if exponent.abs() < 10 {
        out.push(b'0');
    }
    decimal::push(out, i64::from(exponent.abs()));
}

/// Writes significant `digits`, the first of which stands for `10^exponent`, without an exponent.
fn push_fixed(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-1 - exponent) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        push_point(out, digits, exponent as usize + 1);
    }
}

/// Writes `digits` with a point after the first `whole` of them, filling up with zeros.
fn push_point(out: &mut Vec<u8>, digits: &[u8], whole: usize) {
    match digits.split_at_checked(whole) {
        Some((head, [])) => out.extend_from_slice(head),
        Some((head, tail)) => {
            out.extend_from_slice(head);
            out.push(b'.');
            out.extend_from_slice(tail);
        }
        None => {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        }
    }
}

/// Reads a RESP3 double: digits with an optional sign, point and exponent, or `inf` or `nan`.
pub(super) fn parse(text: &[u8]) -> Option<f64> {
    let (negative, magnitude) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let n = match magnitude {
        b"inf" => f64::INFINITY,
        b"nan" => f64::NAN,
        [b'0'..=b'9', ..] => {
            let legal = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
            if !magnitude.iter().all(legal) {
                return None;
            }
            std::str::from_utf8(magnitude).ok()?.parse().ok()?
        }
        _ => return None,
    };
    Some(if negative { -n } else { n })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn doubles_are_spelled_as_by_redis() {
        // Each pair as ZADD and ZSCORE gave it on 7.0.15, the set not being a listpack, which has
        // no negative zero.
        for (n, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (0.1, "0.10000000000000001"),
            (1e-4, "0.0001"),
            (1e-5, "1.0000000000000001e-05"),
            (123_456_789.125, "123456789.125"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (99_999_999_999_999_990.0, "99999999999999984"),
            (1_234_567_890_123_456.2, "1234567890123456.2"),
            (1_234_567_890_123_456.8, "1234567890123456.8"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "4.9406564584124654e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(format_f64(n), text);
        }
    }

    #[test]
    fn not_a_number_keeps_its_sign() {
        assert_eq!(format_f64(f64::NAN.copysign(1.0)), "nan");
        assert_eq!(format_f64(f64::NAN.copysign(-1.0)), "-nan");
        assert!(parse(b"-nan").is_some_and(|n| n.is_nan() && n.is_sign_negative()));
    }

    #[test]
    fn words_and_broken_numbers_are_refused() {
        for bad in
            ["", "-", "infinity", "NaN", "+1", ".5", "1e", "1 ", "0x10", "1_0", "--1", "1..2"]
        {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back_as_itself(bits: u64) {
            let n = f64::from_bits(bits);
            let back = parse(format_f64(n).as_bytes()).unwrap();
            if n.is_nan() {
                prop_assert!(back.is_nan());
            } else {
                prop_assert_eq!(back.to_bits(), bits);
            }
        }
    }
}
