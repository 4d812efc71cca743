//! Numbers, times and bytes as people read them.

use std::time::Duration;

use crate::Timestamp;
use crate::replay::trace::civil;

/// With a comma between groups of three digits: `12,390`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things, grouped, and what they are: `1 event`, `2,213 events`.
pub(crate) fn count(n: u64, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(n))
}

/// A whole number grouped; any other with what is needed to see three digits of it, and
/// `<0.01` for what is next to nothing.
pub(crate) fn decimal(n: f64) -> String {
    if n.fract() == 0.0 && n.abs() < 9e15 {
        let sign = if n < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(n.abs() as u64));
    }
    match n.abs() {
        a if a >= 100.0 => format!("{n:.1}"),
        a if a >= 0.01 => format!("{n:.3}"),
        _ => "<0.01".to_owned(),
    }
}

/// A share as a percentage with one decimal; `-` when there is none.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", s * 100.0))
}

/// A duration with three digits in the unit that fits: `812 µs`, `45.6 ms`, `1.23 s`, `3 min 7 s`.
pub(crate) fn duration(d: Duration) -> String {
    let s = d.as_secs_f64();
    match s {
        _ if s >= 120.0 => format!("{} min {} s", d.as_secs() / 60, d.as_secs() % 60),
        _ if s >= 1.0 => format!("{} s", three_digits(s)),
        _ if s >= 1e-3 => format!("{} ms", three_digits(s * 1e3)),
        _ => format!("{} µs", three_digits(s * 1e6)),
    }
}

fn three_digits(n: f64) -> String {
    match n {
        _ if n >= 100.0 => format!("{n:.0}"),
        _ if n >= 10.0 => format!("{n:.1}"),
        _ => format!("{n:.2}"),
    }
}

/// Date and time in UTC: `2016-01-03 00:00:07`.
pub(crate) fn date_time(at: Timestamp) -> String {
    let (y, mo, d, h, mi, s) = civil(at);
    format!("{y:04}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02}")
}

/// Bytes as text of at most `most` characters: as they are when they are printable UTF-8, else
/// with escapes.
pub(crate) fn printable(bytes: &[u8], most: usize) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(s) if !s.chars().any(char::is_control) => s.to_owned(),
        _ => bytes.escape_ascii().to_string(),
    };
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0, 999, 1_000, 12_390, 1_234_567].map(grouped),
            ["0", "999", "1,000", "12,390", "1,234,567"]
        );
        assert_eq!(
            [26.0, -1_500.0, 0.5, 1234.5, 6.5, 1e-9, -0.0].map(decimal),
            ["26", "-1,500", "0.500", "1234.5", "6.500", "<0.01", "0"]
        );
        assert_eq!([0.0099, 0.01].map(decimal), ["<0.01", "0.010"]);
        assert_eq!([0, 1, 2_213].map(|n| count(n, "hit")), ["0 hits", "1 hit", "2,213 hits"]);
        assert_eq!(percent(Some(0.0525)), "5.2 %");
        assert_eq!((percent(Some(1.0)), percent(None)), ("100.0 %".into(), "-".into()));
    }

    #[test]
    fn durations_take_the_unit_that_fits() {
        let shown = [0, 812, 45_600, 1_234_000, 59_990_000, 187_000_000]
            .map(|us| duration(Duration::from_micros(us)));
        assert_eq!(shown, ["0.00 µs", "812 µs", "45.6 ms", "1.23 s", "60.0 s", "3 min 7 s"]);
    }

    #[test]
    fn bytes_print_on_one_line() {
        assert_eq!(printable("Gänse".as_bytes(), 10), "Gänse");
        assert_eq!(printable("Gänse".as_bytes(), 2), "Gä…");
        assert_eq!(printable(b"a\nb\xff", 10), "a\\nb\\xff");
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(date_time(Timestamp::from_millis(1_451_779_207_112)), "2016-01-03 00:00:07");
        assert_eq!(date_time(Timestamp::EPOCH), "1970-01-01 00:00:00");
    }
}
