//! Arguments as Redis reads them, with the errors it answers.
//!
//! Only what several families share. What belongs to one family stands with it.

use std::ops::RangeInclusive;

use super::Reply;
use crate::bytes::Bytes;
use crate::db::DATABASES;
use crate::error::WireError;
use crate::resp::Value;
use crate::types::glob::glob_match;
use crate::types::number::parse_i64;

/// Whether an argument is this word, in any case. Redis compares C strings, so what follows a zero
/// byte does not count.
#[inline]
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    match arg.get(word.len()) {
        None | Some(0) => {
            arg.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        }
        Some(_) => false,
    }
}

/// A signed integer of 64 bits.
#[inline]
pub(crate) fn int(arg: &[u8]) -> Result<i64, WireError> {
    parse_i64(arg).ok_or(WireError::NOT_INTEGER)
}

/// A signed integer within `range`.
pub(crate) fn int_in(arg: &[u8], range: RangeInclusive<i64>) -> Result<i64, WireError> {
    let n = int(arg)?;
    if range.contains(&n) {
        return Ok(n);
    }
    let (least, most) = range.into_inner();
    let text = format!("ERR value is out of range, value must between {least} and {most}");
    Err(WireError::new(text))
}

/// A signed integer of 32 bits.
pub(crate) fn int32(arg: &[u8]) -> Result<i32, WireError> {
    int_in(arg, i64::from(i32::MIN)..=i64::from(i32::MAX)).map(|n| n as i32)
}

/// The number of a database.
pub(crate) fn database(arg: &[u8]) -> Result<usize, WireError> {
    database_at(int32(arg)?)
}

/// The database of this number.
pub(crate) fn database_at(index: i32) -> Result<usize, WireError> {
    let index = usize::try_from(index).ok().filter(|index| *index < DATABASES);
    index.ok_or(WireError::fixed("ERR DB index is out of range"))
}

/// The cursor and options of SCAN, HSCAN, SSCAN and ZSCAN.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// Where to go on.
    pub(crate) cursor: u64,
    /// How many elements to look at.
    pub(crate) count: usize,
    pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
}

impl<'a> Page<'a> {
    /// Reads a cursor.
    ///
    /// As Redis does, with C's `strtoul`: a sign is allowed, and so is nothing at all.
    pub(crate) fn cursor(arg: &[u8]) -> Result<u64, WireError> {
        const INVALID: WireError = WireError::fixed("ERR invalid cursor");
        let text = arg.split(|&b| b == 0).next().unwrap_or_default();
        if text.is_empty() {
            return Ok(0);
        }
        let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        if digits.is_empty() {
            return Err(INVALID);
        }
        let digit = |sum: u64, b: &u8| match b {
            b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(b - b'0')),
            _ => None,
        };
        let cursor = digits.iter().try_fold(0, digit).ok_or(INVALID)?;
        Ok(if text[0] == b'-' { cursor.wrapping_neg() } else { cursor })
    }

    /// Reads the options behind a cursor. TYPE is only SCAN's.
    pub(crate) fn options(
        cursor: u64,
        mut options: &[&'a [u8]],
        has_type: bool,
    ) -> Result<Self, WireError> {
        let mut page = Self { cursor, count: 10, pattern: None, kind: None };
        while let [name, rest @ ..] = options {
            let [value, rest @ ..] = rest else { return Err(WireError::SYNTAX) };
            if is(name, "COUNT") {
                page.count = usize::try_from(int(value)?).map_err(|_| WireError::SYNTAX)?;
                if page.count == 0 {
                    return Err(WireError::SYNTAX);
                }
            } else if is(name, "MATCH") {
                page.pattern = Some(*value).filter(|pattern| *pattern != b"*");
            } else if is(name, "TYPE") && has_type {
                page.kind = Some(value);
            } else {
                return Err(WireError::SYNTAX);
            }
            options = rest;
        }
        Ok(page)
    }

    /// Whether the pattern, if there is one, fits.
    #[inline]
    pub(crate) fn wants(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob_match(pattern, name, false))
    }

    /// Whether this is the type asked for, if one was.
    pub(crate) fn wants_type(&self, name: &str) -> bool {
        self.kind.is_none_or(|kind| is(kind, name))
    }

    /// The reply: the next cursor and what was found.
    pub(crate) fn reply(next: u64, found: Vec<Value>) -> Reply {
        let next = Value::Bulk(Bytes::from(next.to_string().as_str()));
        Ok(Value::Array(vec![next, Value::Array(found)]))
    }
}

/// The error of a subcommand whose arguments are not as it wants them.
pub(crate) fn wrong_usage(container: &str, sub: &[u8]) -> WireError {
    let mut text = b"ERR unknown subcommand or wrong number of arguments for '".to_vec();
    text.extend(sub.iter().take(128).take_while(|&&b| b != 0));
    text.extend_from_slice(format!("'. Try {container} HELP.").as_bytes());
    WireError::new(text)
}

/// What `HELP` of a container answers: its own lines between the first and the last.
pub(crate) fn help(container: &str, lines: &[&'static str]) -> Reply {
    let first = format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let last = ["HELP", "    Prints this help."];
    let lines = lines.iter().chain(&last).map(|line| Value::simple(line));
    Ok(Value::Array([Value::Simple(first.into())].into_iter().chain(lines).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_a_zero_byte() {
        assert!(is(b"nX", "NX"));
        assert!(is(b"nx\0tail", "NX"));
        assert!(!is(b"nxx", "NX"));
        assert!(!is(b"n", "NX"));
        assert!(!is(b"", "NX"));
    }

    #[test]
    fn cursors_are_read_as_strtoul_reads() {
        let reads = |text: &str| Page::cursor(text.as_bytes()).ok();
        assert_eq!(reads("0"), Some(0));
        assert_eq!(reads(""), Some(0));
        assert_eq!(reads("+7"), Some(7));
        assert_eq!(reads("007"), Some(7));
        assert_eq!(reads("-1"), Some(u64::MAX));
        assert_eq!(reads("18446744073709551615"), Some(u64::MAX));
        assert_eq!(reads("7\0x"), Some(7));
        for bad in ["x", "1x", " 1", "1.5", "+", "-", "--1", "18446744073709551616"] {
            assert_eq!(reads(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_of_databases_have_three_errors() {
        assert_eq!(database(b"15"), Ok(15));
        assert_eq!(database(b"x"), Err(WireError::NOT_INTEGER));
        assert_eq!(database(b"16").unwrap_err().as_bytes(), b"ERR DB index is out of range");
        let far = database(b"2147483648").unwrap_err();
        let text = "ERR value is out of range, value must between -2147483648 and 2147483647";
        assert_eq!(far.to_string(), text);
    }
}
