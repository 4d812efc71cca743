//! What a file that is no trace looks like, so that its error says what to do.

use super::rows;

/// The longest name of a column.
const LONGEST_NAME: usize = 40;

/// What the lines seen so far look like, of a file that is not known to be a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Looks {
    /// Nothing in particular.
    #[default]
    Strange,
    /// It holds bytes that no text has.
    Binary,
    /// Its first line names columns.
    Columns,
    /// Its first line is a row of an events CSV, without the header before it.
    Rows,
}

impl Looks {
    /// With one more malformed line; `first` is the file's first that is not blank.
    pub(super) fn with(self, line: &[u8], first: bool) -> Self {
        match self {
            Self::Strange if line.iter().any(|&b| is_binary(b)) => Self::Binary,
            Self::Strange if first && rows::parse(line).is_ok() => Self::Rows,
            Self::Strange if first && names_columns(line) => Self::Columns,
            as_before => as_before,
        }
    }
}

/// Whether a byte is a control character other than those found in text: tab, line break, form
/// feed, escape.
fn is_binary(b: u8) -> bool {
    b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

/// Whether a line is two names or more, with one of the usual separators between them.
fn names_columns(line: &[u8]) -> bool {
    b",;\t".iter().any(|separator| {
        let names: Vec<&[u8]> = line.split(|b| b == separator).take(1_000).collect();
        names.len() > 1 && names.iter().all(|name| is_name(name))
    })
}

fn is_name(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let bare = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(text);
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b"_-. ".contains(b);
    bare.len() <= LONGEST_NAME
        && bare.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && bare.iter().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(line: &[u8]) -> Looks {
        Looks::default().with(line, true)
    }

    #[test]
    fn headers_rows_bytes_and_the_rest_are_told_apart() {
        for line in [&b"user_id,event,time"[..], b"a;b", b"a\tb", b"\"Visitor ID\", \"Item\""] {
            assert_eq!(first(line), Looks::Columns, "{line:?}");
        }
        assert_eq!(first(b"1,a,view,b,"), Looks::Rows);
        for line in [&b"\0a,b"[..], b"\x7fELF\x02", b"a\x01"] {
            assert_eq!(first(line), Looks::Binary, "{line:?}");
        }
        for line in [&b""[..], b"word", b"a,", b",", b"{\"a\": 1, \"b\": 2}", b"a,1", b"\xff\xfe"] {
            assert_eq!(first(line), Looks::Strange, "{line:?}");
        }
    }

    #[test]
    fn the_first_line_decides_about_columns_and_any_about_bytes() {
        assert_eq!(Looks::Strange.with(b"a,b", false), Looks::Strange);
        assert_eq!(Looks::Strange.with(b"\0", false), Looks::Binary);
        assert_eq!(Looks::Columns.with(b"\0", false), Looks::Columns);
    }
}
