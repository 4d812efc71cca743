//! Traces of real traffic, read as a stream of events.
//!
//! Files are read in the order given, one line at a time, in bounded memory whatever they hold.
//! Each is an events CSV or an access log, plain or gzip; its first lines
//! decide, never its name. A malformed line costs only itself: it is counted, the first few are
//! kept with their reason, and the rest of the file still counts. A file that is neither format is
//! an error, as is one that cannot be read or unpacked to its end.
//!
//! Time never goes back. Web servers write a line when an answer ends but stamp it with the time
//! the request began, so their lines are out of order by seconds. An event's time is the latest
//! time seen so far, in all files; events that came late are counted in the [`Tally`].
//!
//! Invariant: every line read is exactly one of an event, malformed, or skipped (a blank line or a
//! header).

mod access;
mod date;
mod error;
mod event;
mod lines;
mod looks;
mod rows;
mod source;

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use date::civil;
pub use error::{Malformed, TraceError};
pub use event::{Action, Event, Hit, ShopEvent, session_id};
pub use lines::MAX_LINE;
pub use rows::HEADER;
pub use source::Progress;

use crate::Timestamp;
use lines::{Line, Lines};
use looks::Looks;

/// Why a line is malformed.
pub type Reason = &'static str;

/// How many malformed lines are kept for the report.
pub const MALFORMED_KEPT: usize = 5;

/// Lines without a single good one after which a file is taken to be no access log.
const GIVE_UP_AFTER: u64 = 100;

/// What was read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines read: events, malformed ones and skipped ones.
    pub lines: u64,
    /// Events.
    pub events: u64,
    /// Malformed lines.
    pub malformed: u64,
    /// Blank lines and headers.
    pub skipped: u64,
    /// The first [`MALFORMED_KEPT`] malformed lines.
    pub first_malformed: Vec<Malformed>,
    /// The files that held no event, by the names given.
    pub without_events: Vec<Arc<str>>,
    /// Events whose time lies before that of an earlier line.
    pub late: u64,
    /// The most that an event was late by.
    pub latest_by: Duration,
    /// The time of the first event.
    pub start: Option<Timestamp>,
    /// The latest time of any event.
    pub end: Option<Timestamp>,
}

/// An iterator over the events of some files. It ends after the first error.
///
/// ```
/// use stockroom::replay::trace::{Event, Trace};
///
/// let csv = "timestamp,visitorid,event,itemid,transactionid\n5,ann,view,42,\nnonsense\n";
/// let mut trace = Trace::from_bytes("day.csv", csv.as_bytes().to_vec());
/// let Some(Ok(Event::Shop(view))) = trace.next() else { panic!("one view") };
/// assert_eq!(&*view.item, b"42");
/// assert!(trace.next().is_none());
/// assert_eq!((trace.tally().events, trace.tally().malformed), (1, 1));
/// ```
pub struct Trace {
    waiting: VecDeque<Input>,
    current: Option<OpenFile>,
    strict: bool,
    failed: bool,
    tally: Tally,
    progress: Progress,
}

enum Input {
    Path(PathBuf),
    Memory(String, Vec<u8>),
}

struct OpenFile {
    name: Arc<str>,
    lines: Lines<Box<dyn BufRead>>,
    format: Format,
    /// Malformed lines while no event was seen, and the first of them.
    bad: u64,
    first_bad: Option<Malformed>,
    looks: Looks,
    any_event: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Unknown,
    Rows,
    Access,
}

/// What one line turned out to be.
enum Read {
    Event(Event),
    Skipped,
    Malformed(Malformed),
}

impl Trace {
    /// A trace of the files `paths`, in this order; `-` is standard input.
    ///
    /// Every file is opened once at the start, so that one that cannot be read is an error before
    /// the first event.
    pub fn open(paths: &[PathBuf]) -> Result<Self, TraceError> {
        for path in paths.iter().filter(|p| !source::is_stdin(p)) {
            let metadata = std::fs::File::open(path).and_then(|f| f.metadata());
            match metadata {
                Ok(m) if m.is_dir() => return Err(TraceError::directory(path)),
                Ok(_) => {}
                Err(e) => return Err(TraceError::open(path, &e)),
            }
        }
        Ok(Self::new(paths.iter().cloned().map(Input::Path).collect()))
    }

    /// A trace of one file's content, plain or gzip.
    pub fn from_bytes(name: &str, content: Vec<u8>) -> Self {
        Self::new(VecDeque::from([Input::Memory(name.to_owned(), content)]))
    }

    fn new(waiting: VecDeque<Input>) -> Self {
        let (tally, progress) = (Tally::default(), Progress::default());
        Self { waiting, current: None, strict: false, failed: false, tally, progress }
    }

    /// The same trace, ending with an error at the first malformed line.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// What was read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// A counter of the bytes read, which can be watched while the trace is being read.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    fn advance(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            let Some(file) = &mut self.current else {
                let Some(input) = self.waiting.pop_front() else { return Ok(None) };
                self.current = Some(OpenFile::open(input, &self.progress)?);
                continue;
            };
            let Some(read) = file.next()? else {
                let ended = self.current.take().filter(|file| !file.any_event);
                self.tally.without_events.extend(ended.map(|file| file.name));
                continue;
            };
            self.tally.lines += 1;
            match read {
                Read::Skipped => self.tally.skipped += 1,
                Read::Malformed(m) if self.strict => {
                    self.tally.malformed += 1;
                    return Err(file.verdict(m, TraceError::Malformed));
                }
                Read::Malformed(m) => self.tally.note_malformed(m),
                Read::Event(mut event) => {
                    self.tally.note_event(&mut event);
                    return Ok(Some(event));
                }
            }
        }
    }
}

impl Iterator for Trace {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl Tally {
    fn note_malformed(&mut self, m: Malformed) {
        self.malformed += 1;
        if self.first_malformed.len() < MALFORMED_KEPT {
            self.first_malformed.push(m);
        }
    }

    /// Counts an event and keeps time from going back.
    fn note_event(&mut self, event: &mut Event) {
        self.events += 1;
        let time = event.time();
        self.start.get_or_insert(time);
        let clock = self.end.map_or(time, |end| end.max(time));
        self.end = Some(clock);
        if time < clock {
            self.late += 1;
            self.latest_by = self.latest_by.max(clock.since(time));
            event.set_time(clock);
        }
    }
}

impl OpenFile {
    fn open(input: Input, progress: &Progress) -> Result<Self, TraceError> {
        let (name, reader) = match input {
            Input::Path(path) => {
                let reader =
                    source::open(&path, progress).map_err(|e| TraceError::open(&path, &e))?;
                (source::name(&path), reader)
            }
            Input::Memory(name, content) => {
                let reader = source::decode(std::io::Cursor::new(content));
                let reader = reader.map_err(|e| TraceError::open(name.as_ref(), &e))?;
                (name, reader)
            }
        };
        let lines = Lines::new(reader);
        Ok(Self {
            name: name.into(),
            lines,
            format: Format::Unknown,
            bad: 0,
            first_bad: None,
            looks: Looks::default(),
            any_event: false,
        })
    }

    /// Reads one line; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Read>, TraceError> {
        let number = self.lines.number() + 1;
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return self.end(),
            Err(e) => return Err(TraceError::read(&self.name, number, &e)),
        };
        let parsed = match line {
            Line::Text(text) => parse(&mut self.format, number, text),
            Line::TooLong(_) => Err("longer than 1 MiB"),
        };
        match parsed {
            Ok(read) => {
                self.any_event |= matches!(read, Read::Event(_));
                Ok(Some(read))
            }
            Err(reason) => {
                let (Line::Text(text) | Line::TooLong(text)) = line;
                let bad = Malformed::new(&self.name, number, reason, text);
                self.looks = self.looks.with(text, self.first_bad.is_none());
                self.note_bad(&bad)?;
                Ok(Some(Read::Malformed(bad)))
            }
        }
    }

    /// Gives up on a file that holds nothing but lines that no access log has.
    fn note_bad(&mut self, bad: &Malformed) -> Result<(), TraceError> {
        if self.format == Format::Rows || self.any_event {
            return Ok(());
        }
        self.bad += 1;
        let first = self.first_bad.get_or_insert_with(|| bad.clone());
        // A first line that is too long says what the file is, and the rest may be endless.
        let go_on = self.format != Format::Unknown && self.bad < GIVE_UP_AFTER;
        if go_on {
            return Ok(());
        }
        let first = first.clone();
        Err(self.verdict(first, TraceError::Unrecognised))
    }

    /// What is wrong with the file that has the malformed line `first`: `else_`, unless it is no
    /// trace and looks like something.
    fn verdict(&self, first: Malformed, else_: fn(Malformed) -> TraceError) -> TraceError {
        let known = self.format == Format::Rows || self.any_event;
        match self.looks {
            _ if known => else_(first),
            Looks::Strange => else_(first),
            Looks::Binary => TraceError::Binary(first),
            Looks::Columns => TraceError::OtherColumns(first),
            Looks::Rows => TraceError::NoHeader(first),
        }
    }

    fn end(&mut self) -> Result<Option<Read>, TraceError> {
        match self.first_bad.take().filter(|_| !self.any_event) {
            Some(first) => Err(self.verdict(first, TraceError::Unrecognised)),
            None => Ok(None),
        }
    }
}

/// Reads a line in the file's format, which the first line that is not blank decides.
fn parse(format: &mut Format, number: u64, text: &[u8]) -> Result<Read, Reason> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Ok(Read::Skipped);
    }
    if *format == Format::Unknown {
        *format = if rows::is_header(text) { Format::Rows } else { Format::Access };
    }
    match format {
        Format::Rows => match rows::parse(text) {
            Ok(event) => Ok(Read::Event(Event::Shop(event))),
            // Again where files were concatenated.
            Err(_) if rows::is_header(text) => Ok(Read::Skipped),
            Err(reason) => Err(reason),
        },
        _ => access::parse(text).map(|hit| Read::Event(Event::Hit(hit))),
    }
}

#[cfg(test)]
mod tests;
