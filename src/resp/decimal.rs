//! Whole numbers in headers: lengths, counts and integer replies.
//!
//! Only the canonical spelling counts, as in Redis: no plus sign, no leading zero, no `-0`, no
//! spaces.

/// Reads a canonical decimal; `None` for anything else and beyond 64 bits.
pub(super) fn parse(digits: &[u8]) -> Option<i64> {
    let (negative, magnitude) = match digits {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, digits),
    };
    match magnitude {
        [b'0'] => return (!negative).then_some(0),
        [b'1'..=b'9', ..] if magnitude.len() <= 19 => {}
        _ => return None,
    }
    // Counted downwards, because the smallest number has no positive counterpart.
    let mut n: i64 = 0;
    for &b in magnitude {
        if !b.is_ascii_digit() {
            return None;
        }
        n = n.checked_mul(10)?.checked_sub(i64::from(b - b'0'))?;
    }
    if negative { Some(n) } else { n.checked_neg() }
}

/// Appends `n` in decimal.
pub(super) fn push(out: &mut Vec<u8>, n: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_spellings_are_numbers() {
        for bad in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "-01",
            " 1",
            "1 ",
            "1.0",
            "0x1",
            "1e3",
            "00",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn numbers_round_trip_up_to_both_ends() {
        for n in [0, 1, -1, 9, 10, -10, 12_345, i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1] {
            let mut text = Vec::new();
            push(&mut text, n);
            assert_eq!(text, n.to_string().into_bytes());
            assert_eq!(parse(&text), Some(n));
        }
    }
}
