//! LCS: the longest common subsequence of two strings.
//!
//! By the textbook table: cell `(i, j)` is the length for the first `i` bytes of one string and the
//! first `j` of the other. Redis shows which of several longest subsequences its walk back through
//! the table finds, so the walk here prefers the same direction.

use super::super::args::{int, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, LONGEST, Reply, Run, Spec};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Str;

/// `LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]`
pub const LCS: Spec = Spec::new(
    "LCS",
    Run::Data(lcs),
    Flags::READONLY,
    &[
        Arg::Key,
        Arg::Key,
        Arg::Opt(&[Arg::Tok("LEN")]),
        Arg::Opt(&[Arg::Tok("IDX")]),
        Arg::Opt(&[Arg::Seq(&[Arg::Tok("MINMATCHLEN"), Arg::Count])]),
        Arg::Opt(&[Arg::Tok("WITHMATCHLEN")]),
    ],
)
.keys(&[KeySpec::range(1, 1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))])
.acl(Acl::STRING)
.doc(
    "string",
    "7.0.0",
    "O(N*M) where N and M are the lengths of s1 and s2, respectively",
    "Find longest common substring",
);

fn lcs(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let text = |key: &[u8]| match cx.db.read::<Str>(key) {
        Ok(found) => Ok(found.map(Str::to_bytes).unwrap_or_default()),
        Err(_) => Err(WireError::fixed("ERR The specified keys must contain string values")),
    };
    let (a, b) = (text(argv[1])?, text(argv[2])?);
    let options = Options::read(&argv[3..])?;
    let table = Table::of(&a, &b)?;
    if options.idx {
        let mut matches = Vec::new();
        table.walk(|a, b, len| {
            if len >= options.min_match_len {
                matches.push(options.a_match(a, b, len));
            }
        });
        return Ok(Value::Map(vec![
            (Value::bulk("matches"), Value::Array(matches)),
            (Value::bulk("len"), table.len().into()),
        ]));
    }
    if options.len {
        return Ok(table.len().into());
    }
    let mut parts = Vec::new();
    table.walk(|at, _, len| parts.push(&a[at..at + len]));
    parts.reverse();
    Ok(Value::Bulk(Bytes::from(parts.concat())))
}

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    min_match_len: usize,
    with_match_len: bool,
}

impl Options {
    fn read(mut words: &[&[u8]]) -> Result<Self, WireError> {
        let mut options = Self::default();
        while let [word, rest @ ..] = words {
            words = rest;
            if is(word, "IDX") {
                options.idx = true;
            } else if is(word, "LEN") {
                options.len = true;
            } else if is(word, "WITHMATCHLEN") {
                options.with_match_len = true;
            } else if let (true, [least, rest @ ..]) = (is(word, "MINMATCHLEN"), rest) {
                options.min_match_len = int(least)?.max(0) as usize;
                words = rest;
            } else {
                return Err(WireError::SYNTAX);
            }
        }
        if options.idx && options.len {
            return Err(WireError::fixed(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }

    fn a_match(&self, a: usize, b: usize, len: usize) -> Value {
        let span = |at: usize| Value::Array(vec![at.into(), (at + len - 1).into()]);
        let mut parts = vec![span(a), span(b)];
        if self.with_match_len {
            parts.push(len.into());
        }
        Value::Array(parts)
    }
}

/// The lengths for all beginnings of two strings.
struct Table<'a> {
    a: &'a [u8],
    b: &'a [u8],
    cells: Vec<u32>,
}

impl<'a> Table<'a> {
    /// Fails when the table would be larger than the largest string.
    fn of(a: &'a [u8], b: &'a [u8]) -> Result<Self, WireError> {
        let width = b.len() + 1;
        let size = (a.len() + 1).checked_mul(width);
        let most = LONGEST / size_of::<u32>();
        let size = size.filter(|size| *size <= most).ok_or(WireError::fixed(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ))?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(size).map_err(|_| {
            WireError::fixed("ERR Insufficient memory, failed allocating transient memory for LCS")
        })?;
        cells.resize(size, 0u32);
        for (i, x) in a.iter().enumerate() {
            let (done, open) = cells.split_at_mut((i + 1) * width);
            let above = &done[i * width..];
            for (j, y) in b.iter().enumerate() {
                open[j + 1] = if x == y { above[j] + 1 } else { above[j + 1].max(open[j]) };
            }
        }
        Ok(Self { a, b, cells })
    }

    fn cell(&self, i: usize, j: usize) -> u32 {
        self.cells[i * (self.b.len() + 1) + j]
    }

    fn len(&self) -> usize {
        self.cell(self.a.len(), self.b.len()) as usize
    }

    /// Tells each run of bytes that both strings share in the subsequence: where it begins in
    /// each, and its length; the last run first.
    fn walk(&self, mut tell: impl FnMut(usize, usize, usize)) {
        let (mut i, mut j, mut run) = (self.a.len(), self.b.len(), 0);
        while i > 0 && j > 0 {
            if self.a[i - 1] == self.b[j - 1] {
                (i, j, run) = (i - 1, j - 1, run + 1);
                continue;
            }
            if run > 0 {
                tell(i, j, run);
                run = 0;
            }
            if self.cell(i - 1, j) > self.cell(i, j - 1) {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        if run > 0 {
            tell(i, j, run);
        }
    }
}
