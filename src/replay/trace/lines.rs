//! Lines of bounded length from any reader.
//!
//! A file without a line break must not be held in memory, so a line longer than [`MAX_LINE`] is
//! reported as [`Line::TooLong`] as soon as that is known, and its rest is skipped in pieces when
//! the next line is asked for; it costs only itself. A line that does not end within [`MAX_SKIP`]
//! is an error: what holds it (a device, a bomb of compressed zeros) may never end. Lines are
//! bytes: no encoding is assumed. A line ends at `\n`, or `\r\n`; the last one needs neither.

use std::io::{self, BufRead, Read};

/// The longest line that is read: 1 MiB without its line break.
pub const MAX_LINE: usize = 1 << 20;

/// The longest rest of a line that is skipped: 1 GiB.
const MAX_SKIP: u64 = 1 << 30;

/// One line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Its bytes, without the line break.
    Text(&'a [u8]),
    /// It is longer than [`MAX_LINE`]; these are its first bytes.
    TooLong(&'a [u8]),
}

/// Reads lines, numbering them from 1.
pub(super) struct Lines<R> {
    reader: R,
    buf: Vec<u8>,
    number: u64,
    /// Whether the rest of the last line is still to be skipped.
    unfinished: bool,
    max_skip: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buf: Vec::new(), number: 0, unfinished: false, max_skip: MAX_SKIP }
    }

    /// The number of the line last returned, or about to be returned when reading it failed.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if std::mem::take(&mut self.unfinished) {
            self.skip_rest()?;
        }
        self.buf.clear();
        self.number += 1;
        // Two more than the limit, for the line break.
        let n = (&mut self.reader).take(MAX_LINE as u64 + 2).read_until(b'\n', &mut self.buf)?;
        if n == 0 {
            self.number -= 1;
            return Ok(None);
        }
        let complete = self.buf.last() == Some(&b'\n');
        if complete {
            self.buf.pop();
            if self.buf.last() == Some(&b'\r') {
                self.buf.pop();
            }
        }
        if self.buf.len() <= MAX_LINE {
            return Ok(Some(Line::Text(&self.buf)));
        }
        self.unfinished = !complete;
        Ok(Some(Line::TooLong(&self.buf)))
    }

    /// Skips to the end of the line, or of the file.
    fn skip_rest(&mut self) -> io::Result<()> {
        let mut rest = (&mut self.reader).take(self.max_skip);
        rest.skip_until(b'\n')?;
        // At the limit the line may just have ended: the next one would say so.
        if rest.limit() > 0 || self.reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        let text = format!("line {} does not end within {} bytes", self.number, self.max_skip);
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(input: &[u8]) -> Vec<Result<usize, usize>> {
        let mut lines = Lines::new(input);
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            out.push(match line {
                Line::Text(t) => Ok(t.len()),
                Line::TooLong(t) => Err(t.len()),
            });
        }
        assert_eq!(lines.number(), out.len() as u64);
        out
    }

    #[test]
    fn both_line_breaks_and_a_missing_last_one_are_understood() {
        assert_eq!(lens(b""), []);
        assert_eq!(lens(b"a\r\n\nbcd\n"), [Ok(1), Ok(0), Ok(3)]);
        assert_eq!(lens(b"a\nbc"), [Ok(1), Ok(2)]);
        assert_eq!(lens(b"a\rb\n"), [Ok(3)]);
    }

    #[test]
    fn a_line_without_end_is_reported_at_once_and_given_up() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')));
        lines.max_skip = 1 << 22;
        assert!(matches!(lines.next(), Ok(Some(Line::TooLong(_)))));
        let error = lines.next().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "line 1 does not end within 4194304 bytes");
    }

    #[test]
    fn a_line_over_the_limit_costs_only_itself() {
        let mut input = vec![b'x'; MAX_LINE];
        input.extend_from_slice(b"\r\n");
        input.extend(vec![b'y'; MAX_LINE + 1]);
        input.push(b'\n');
        input.extend(vec![b'z'; 5 * MAX_LINE]);
        input.extend_from_slice(b"\nlast");
        let got = lens(&input);
        assert_eq!(got.len(), 4);
        assert_eq!((got[0], got[3]), (Ok(MAX_LINE), Ok(4)));
        assert!(got[1].is_err());
        assert!(got[2].is_err_and(|held| held <= MAX_LINE + 2));
    }
}
