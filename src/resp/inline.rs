//! Inline commands: a line of words, for people at a terminal.
//!
//! Words are separated by white space. Double quotes allow `\n \r \t \b \a`, `\xHH` and a
//! backslash before any other byte; single quotes allow only `\'`. A closing quote must end the
//! word; an opening one may stand inside it, as in Redis.

/// The quotes of a line do not match up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unbalanced;

/// Splits `line` into words, unescaping them in place, and appends each word's position in `line`,
/// moved by `base`, to `words`.
pub(super) fn split(
    line: &mut [u8],
    base: usize,
    words: &mut Vec<(usize, usize)>,
) -> Result<(), Unbalanced> {
    // A word is never longer than its spelling, so writing cannot overtake reading.
    let (mut read, mut write) = (0, 0);
    loop {
        while line.get(read).copied().is_some_and(is_space) {
            read += 1;
        }
        if read >= line.len() {
            return Ok(());
        }
        let begin = write;
        (read, write) = word(line, read, write)?;
        words.push((base + begin, base + write));
    }
}

/// The words of `line`; `None` when its quotes do not match up.
#[cfg(feature = "lua")]
pub(crate) fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut line = line.to_vec();
    let mut found = Vec::new();
    split(&mut line, 0, &mut found).ok()?;
    found.into_iter().map(|(start, end)| Some(line.get(start..end)?.to_vec())).collect()
}

/// Reads one word from `read` on and writes it from `write` on; gives both positions after it.
fn word(line: &mut [u8], mut read: usize, mut write: usize) -> Result<(usize, usize), Unbalanced> {
    let mut quote = None;
    while let Some(&b) = line.get(read) {
        read += 1;
        let byte = match (quote, b) {
            (None, b' ' | b'\t' | b'\r' | b'\n') => return Ok((read, write)),
            (None, b'"' | b'\'') => {
                quote = Some(b);
                continue;
            }
            (Some(q), _) if q == b => {
                let ends = line.get(read).copied().is_none_or(is_space);
                return if ends { Ok((read, write)) } else { Err(Unbalanced) };
            }
            (Some(b'"'), b'\\') => {
                let (byte, used) = escape(line.get(read..).unwrap_or_default());
                read += used;
                byte
            }
            (Some(b'\''), b'\\') if line.get(read) == Some(&b'\'') => {
                read += 1;
                b'\''
            }
            _ => b,
        };
        if let Some(place) = line.get_mut(write) {
            *place = byte;
            write += 1;
        }
    }
    if quote.is_none() { Ok((read, write)) } else { Err(Unbalanced) }
}

/// The byte that a backslash and `rest` stand for, and how many bytes of `rest` belong to it.
fn escape(rest: &[u8]) -> (u8, usize) {
    let hex = |b: &u8| char::from(*b).to_digit(16);
    match rest {
        [b'x', high, low, ..] => match (hex(high), hex(low)) {
            (Some(high), Some(low)) => ((high * 16 + low) as u8, 3),
            _ => (b'x', 1),
        },
        [b'n', ..] => (b'\n', 1),
        [b'r', ..] => (b'\r', 1),
        [b't', ..] => (b'\t', 1),
        [b'b', ..] => (8, 1),
        [b'a', ..] => (7, 1),
        [other, ..] => (*other, 1),
        [] => (b'\\', 0),
    }
}

/// C's `isspace`.
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<Vec<u8>>, Unbalanced> {
        let mut line = line.as_bytes().to_vec();
        let mut found = Vec::new();
        split(&mut line, 0, &mut found)?;
        Ok(found.into_iter().map(|(from, to)| line[from..to].to_vec()).collect())
    }

    #[test]
    fn quotes_and_escapes_are_read_as_by_redis() {
        // Each line as PING answered it on 7.0.15.
        for (line, expected) in [
            ("", &[][..]),
            ("  \x0b\x0c ", &[]),
            ("a b", &[&b"a"[..], b"b"]),
            ("a\x0bb", &[b"a\x0bb"]),
            (r#""\x41\n\r\t\a\b\q\"""#, &[b"A\n\r\t\x07\x08q\""]),
            (r#""\xZZ""#, &[b"xZZ"]),
            (r"'a\'b\n'", &[br"a'b\n"]),
            (r#"PI"NG" a"b c""#, &[b"PING", b"ab c"]),
            (r#"a "" ''"#, &[b"a", b"", b""]),
            (r"\n", &[br"\n"]),
            ("'x'\x0b\"y\"", &[b"x", b"y"]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in [r#""a"#, "'a", r#""a"b"#, "'a'b", r#""\""#, r#"a"b"c"#, r#"a ""#, "\"a\\"] {
            assert_eq!(words(line), Err(Unbalanced), "{line}");
        }
    }
}
