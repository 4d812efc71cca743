//! Numbers as C's `printf` writes them with `%g`, and as `strtod` finds them before other text.

use crate::types::number::parse_c_f64;

/// Writes a number as `%.<precision>g`; `precision` is at least 1.
pub(super) fn push_g(out: &mut Vec<u8>, x: f64, precision: usize) {
    if !x.is_finite() {
        let text = if x.is_nan() { "nan" } else { "inf" };
        let sign = if x == f64::NEG_INFINITY { "-" } else { "" };
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(text.as_bytes());
        return;
    }
    if x.is_sign_negative() {
        out.push(b'-');
    }
    let x = x.abs();
    if x.fract() == 0.0 && x < 10_f64.powi(precision.min(15) as i32) {
        out.extend_from_slice(itoa::Buffer::new().format(x as u64).as_bytes());
        return;
    }
    let text = format!("{x:.*e}", precision.saturating_sub(1));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let kept = digits.iter().rposition(|&d| d != b'0').map_or(1, |last| last + 1);
    let digits = digits.get(..kept).unwrap_or(&digits);
    if exponent < -4 || exponent >= precision as i32 {
        push_with_point(out, digits, 1);
        let sign = if exponent < 0 { '-' } else { '+' };
        out.extend_from_slice(format!("e{sign}{:02}", exponent.abs()).as_bytes());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(digits);
    } else {
        push_with_point(out, digits, exponent as usize + 1);
    }
}

/// Writes digits with the point behind the first `whole` of them.
fn push_with_point(out: &mut Vec<u8>, digits: &[u8], whole: usize) {
    let Some((whole, fraction)) = digits.split_at_checked(whole) else {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
        return;
    };
    out.extend_from_slice(whole);
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

/// The number that the text begins with, and how long it is. (The payload of a NaN is dropped.)
pub(super) fn leading(text: &[u8]) -> Option<(f64, usize)> {
    let sign = text.iter().take(1).filter(|b| matches!(b, b'+' | b'-')).count();
    let negative = text.first() == Some(&b'-');
    let rest = &text[sign..];
    let length = match rest {
        [b'0', b'x' | b'X', hex @ ..] => match digits(hex, u8::is_ascii_hexdigit, *b"pP") {
            0 => 1,
            length => 2 + length,
        },
        _ => digits(rest, u8::is_ascii_digit, *b"eE"),
    };
    if length > 0 {
        return Some((parse_c_f64(&text[..sign + length])?, sign + length));
    }
    let (value, length) = if starts(rest, b"infinity") {
        (f64::INFINITY, 8)
    } else if starts(rest, b"inf") {
        (f64::INFINITY, 3)
    } else if starts(rest, b"nan") {
        (f64::NAN, 3 + tag(&rest[3..]))
    } else {
        return None;
    };
    Some((value.copysign(if negative { -1.0 } else { 1.0 }), sign + length))
}

/// Whether strict JSON forbids what the text begins with, though `strtod` might read it.
pub(super) fn is_invalid(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    match unsigned {
        [b'+', ..] => unsigned.len() == text.len(),
        [b'0', second, ..] => matches!(second, b'x' | b'X' | b'0'..=b'9'),
        _ => starts(unsigned, b"inf") || starts(unsigned, b"nan"),
    }
}

fn starts(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// How long the digits are, with a point and an exponent; 0 if there is no digit.
fn digits(text: &[u8], is_digit: fn(&u8) -> bool, markers: [u8; 2]) -> usize {
    let run = |from: usize, is_digit: fn(&u8) -> bool| {
        text.iter().skip(from).take_while(|b| is_digit(b)).count()
    };
    let whole = run(0, is_digit);
    let mut end = whole;
    if text.get(end) == Some(&b'.') {
        let fraction = run(end + 1, is_digit);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end > 0 && text.get(end).is_some_and(|b| markers.contains(b)) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(end + 1 + sign, u8::is_ascii_digit);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// How long the tag in parentheses is that may follow `nan`.
fn tag(text: &[u8]) -> usize {
    let Some(inner) = text.strip_prefix(b"(") else { return 0 };
    let length = inner.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if inner.get(length) == Some(&b')') { length + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g(x: f64, precision: usize) -> String {
        let mut out = Vec::new();
        push_g(&mut out, x, precision);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn numbers_are_written_as_by_printf() {
        let expected = [
            (0.0, 14, "0"),
            (-0.0, 14, "-0"),
            (1e14, 14, "1e+14"),
            (99_999_999_999_999.0, 14, "99999999999999"),
            (999_999_999_999_999.0, 14, "1e+15"),
            (123_456_789_012_345_678.0, 14, "1.2345678901235e+17"),
            (0.1, 14, "0.1"),
            (0.1 + 0.2, 14, "0.3"),
            (1.0 / 3.0, 14, "0.33333333333333"),
            (-1.5e-7, 14, "-1.5e-07"),
            (1e-5, 14, "1e-05"),
            (0.000_123_45, 3, "0.000123"),
            (123.456, 3, "123"),
            (999.5, 3, "1e+03"),
            (1000.0, 3, "1e+03"),
            (9.5, 1, "1e+01"),
            (10.0, 1, "1e+01"),
            (5e-324, 14, "4.9406564584125e-324"),
            (f64::MAX, 14, "1.7976931348623e+308"),
            (f64::NEG_INFINITY, 14, "-inf"),
            (f64::NAN, 14, "nan"),
        ];
        for (x, precision, text) in expected {
            assert_eq!(g(x, precision), text);
        }
    }

    #[test]
    fn the_longest_number_is_read() {
        let expected = [
            ("12]", 12.0, 2),
            ("-1.5e3,", -1500.0, 6),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            ("1.", 1.0, 2),
            (".5", 0.5, 2),
            ("1..2", 1.0, 2),
            ("0x", 0.0, 1),
            ("0xg", 0.0, 1),
            ("0x.8p1z", 1.0, 6),
            ("0x1p", 1.0, 3),
            ("+0X1F", 31.0, 5),
            ("1e999", f64::INFINITY, 5),
            ("-1e-999", -0.0, 7),
            ("infinit", f64::INFINITY, 3),
            ("-InFiNiTyy", f64::NEG_INFINITY, 9),
        ];
        for (text, value, length) in expected {
            let (read, end) = leading(text.as_bytes()).expect(text);
            assert_eq!((read.to_bits(), end), (value.to_bits(), length), "{text}");
        }
        for (text, length) in [("nan", 3), ("-NaN(1_a)]", 9), ("nan(", 3), ("nan(-)", 3)] {
            let (read, end) = leading(text.as_bytes()).expect(text);
            assert_eq!((read.is_nan(), end), (true, length), "{text}");
        }
        for text in ["", "-", ".", "-.", "e1", "x", "--1", "in", "- 1"] {
            assert_eq!(leading(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn strict_json_knows_fewer_numbers() {
        for text in ["+1", "01", "-01", "0x1", "-0X1", "inf", "-Infinity", "NaN"] {
            assert!(is_invalid(text.as_bytes()), "{text}");
        }
        for text in ["0", "-0", "0.5", "1", "-1", "", "-", "-a", "-+1", "in"] {
            assert!(!is_invalid(text.as_bytes()), "{text}");
        }
    }
}
