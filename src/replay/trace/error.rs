//! What can be wrong with a trace: a malformed line, or a file that ends the replay.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{HEADER, Reason, source};

/// How much of a malformed line is shown.
const EXCERPT: usize = 80;

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The file's name as given.
    pub file: Arc<str>,
    /// The line's number in its file, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: Reason,
    /// The beginning of the line, made printable.
    pub excerpt: String,
}

impl Malformed {
    pub(super) fn new(file: &Arc<str>, line: u64, reason: Reason, text: &[u8]) -> Self {
        let shown = &text[..text.len().min(EXCERPT)];
        let mut excerpt = match std::str::from_utf8(shown) {
            Ok(s) if !s.chars().any(char::is_control) => s.to_owned(),
            _ => shown.escape_ascii().to_string(),
        };
        if text.len() > EXCERPT {
            excerpt.push('…');
        }
        Self { file: file.clone(), line, reason, excerpt }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.reason, self.excerpt)
    }
}

/// Why a trace cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// A file cannot be opened, or reading it failed; the text names it and says why.
    Unreadable(String),
    /// No line of a file is an event. The first of its lines that is not blank is given.
    Unrecognised(Malformed),
    /// The first line of a file names columns, and not those of an events CSV.
    OtherColumns(Malformed),
    /// The first line of a file is a row of an events CSV, whose header is missing.
    NoHeader(Malformed),
    /// A file holds bytes that no text has. Its first line is given.
    Binary(Malformed),
    /// A malformed line, when none is tolerated.
    Malformed(Malformed),
}

impl TraceError {
    pub(super) fn open(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable(format!("cannot read {}: {}", source::name(path), explain(error)))
    }

    pub(super) fn directory(path: &Path) -> Self {
        Self::Unreadable(format!("cannot read {}: it is a directory", path.display()))
    }

    pub(super) fn read(file: &str, line: u64, error: &io::Error) -> Self {
        Self::Unreadable(format!("cannot read {file} on from line {line}: {}", explain(error)))
    }
}

/// An error while reading. Only the decoder of gzip reports the kinds that are put into words here.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the gzip file is cut short".to_owned(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("the gzip file is damaged ({error})")
        }
        _ => error.to_string(),
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::Malformed(m) => write!(f, "malformed line {m}"),
            Self::OtherColumns(m) => {
                write!(f, "{}:{}: the columns are {}, expected {HEADER}", m.file, m.line, m.excerpt)
            }
            Self::NoHeader(m) => write!(
                f,
                "{}:{}: the header is missing, expected {HEADER} before {}",
                m.file, m.line, m.excerpt
            ),
            Self::Binary(m) => write!(
                f,
                "{} looks binary, expected an access log or an events CSV in UTF-8, plain or gzip",
                m.file
            ),
            Self::Unrecognised(m) => write!(
                f,
                "{} is neither an access log nor an events CSV, which begins with {HEADER}; \
                 line {}: {}: {}",
                m.file, m.line, m.reason, m.excerpt
            ),
        }
    }
}

impl std::error::Error for TraceError {}
