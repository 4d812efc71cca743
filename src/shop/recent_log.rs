//! Recent log: the last 100 messages of each name and severity.
//!
//! | key | type | content |
//! |---|---|---|
//! | `log:NAME:SEVERITY` | list | `TIME MESSAGE`, the newest first |
//!
//! The time is UTC in the form of `asctime`, `Tue Nov 14 22:13:20 2023`, by the backend's clock.
//!
//! Invariant: a list never holds more than [`LOG_KEPT`] lines, not even for a moment, since a line
//! is added and the list cut in one transaction.
//!
//! Source: the recent log of the published articles, which keep it in `recent:NAME:SEVERITY`; here
//! `recent:` belongs to the sessions alone. For counts of messages see
//! [`CommonLog`](super::CommonLog).

use super::calendar::{asctime, parse_asctime};
use super::check::{id, message as checked};
use super::keys::{Key, Keys};
use super::severity::Severity;
use crate::backend::{Backend, Batch, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::Result;

/// How many messages are kept of each name and severity.
pub const LOG_KEPT: usize = 100;

/// The last messages of each name and severity.
///
/// Names are ids of any bytes, messages any bytes too. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, RecentLog, Severity};
/// use stockroom::{Env, Timestamp};
///
/// let memory = Memory::with_env(Env::manual(Timestamp::from_secs(1_700_000_000), 0));
/// let log = RecentLog::new(memory, Keys::new());
/// log.log(b"shop", &Severity::WARNING, b"out of teapots").wait()?;
/// let newest = &log.recent(b"shop", &Severity::WARNING, 10).wait()?[0];
/// assert_eq!(newest.at, Some(Timestamp::from_secs(1_700_000_000)));
/// assert_eq!(newest.message, "out of teapots");
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecentLog<B> {
    backend: B,
    keys: Keys,
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When it was written, to the second. `None` if something else than a recent log wrote it.
    pub at: Option<Timestamp>,
    /// The message; the whole line when there is no time.
    pub message: Bytes,
}

impl<B: Backend> RecentLog<B> {
    /// The log under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys }
    }

    /// Adds a message of up to 65,536 bytes.
    ///
    /// LPUSH and LTRIM 0 99, one transaction in one round trip. O(length of the message). When the
    /// reply is lost the message may be there or not; logging it again may double it.
    pub async fn log(&self, name: &[u8], severity: &Severity, message: &[u8]) -> Result<()> {
        id("name", name)?;
        let line = line(self.backend.now(), checked(message)?);
        let key = self.keys.log(name, severity.as_str());
        self.backend.atomic(append(&key, &line)).await.map(drop)
    }

    /// Up to `n` messages, the newest first.
    ///
    /// LRANGE, one round trip. O(n), and n is at most 100.
    pub async fn recent(&self, name: &[u8], severity: &Severity, n: usize) -> Result<Vec<LogLine>> {
        id("name", name)?;
        if n == 0 {
            return Ok(Vec::new());
        }
        let key = self.keys.log(name, severity.as_str());
        let last = n.min(LOG_KEPT) as i64 - 1;
        let lines: Vec<Bytes> = self.backend.run(cmd::lrange(&key, 0, last)).await?;
        Ok(lines.into_iter().map(LogLine::parse).collect())
    }
}

impl LogLine {
    fn parse(line: Bytes) -> Self {
        match parse_asctime(&line) {
            Some((at, message)) => Self { at: Some(at), message: message.into() },
            None => Self { at: None, message: line },
        }
    }
}

/// What adds a line to the log at `key`.
pub(super) fn append<'a>(key: &'a Key, line: &'a [u8]) -> impl Batch + use<'a> {
    (cmd::lpush(key, [line]), cmd::ltrim(key, 0, LOG_KEPT as i64 - 1))
}

/// A message as it stands in the log.
pub(super) fn line(at: Timestamp, message: &[u8]) -> Vec<u8> {
    let mut line = asctime(at).into_bytes();
    line.push(b' ');
    line.extend_from_slice(message);
    line
}
