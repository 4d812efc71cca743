//! Lines of bounded length from any reader.
//!
//! A file without a line break must not be held in memory, so a line longer than [`MAX_LINE`] is
//! skipped in pieces and reported as [`Line::TooLong`]; it costs only itself. Lines are bytes: no
//! encoding is assumed. A line ends at `\n`, or `\r\n`; the last one needs neither.

use std::io::{self, BufRead, Read};

/// The longest line that is read: 1 MiB without its line break.
pub const MAX_LINE: usize = 1 << 20;

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
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buf: Vec::new(), number: 0 }
    }

    /// The number of the line last returned, or about to be returned when reading it failed.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
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
        if !complete {
            self.reader.skip_until(b'\n')?;
        }
        Ok(Some(Line::TooLong(&self.buf)))
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
