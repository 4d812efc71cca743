//! Common log: which messages come most often, this hour and the last.
//!
//! | key | type | content |
//! |---|---|---|
//! | `common:NAME:SEVERITY` | sorted set | message → count in the current hour |
//! | `common:NAME:SEVERITY:start` | string | that hour, `2023-11-14T22:00:00`, UTC |
//! | `common:NAME:SEVERITY:last` | sorted set | message → count in the hour before |
//! | `common:NAME:SEVERITY:pstart` | string | that hour |
//! | `logged:NAME:SEVERITY:ID` | string | that the message with this id was counted; it expires |
//!
//! "The hour before" is the last one before the current one in which messages came: after a silent
//! night it is yesterday's, as `pstart` says.
//!
//! # Invariants
//!
//! - A message that was answered with success is counted once, in the hour whose name its count
//!   stands under, and is in the [recent log](super::RecentLog): one transaction does all of it,
//!   and does nothing at all if somebody else turned the hour since its writer looked.
//! - A message with an id is counted once in all hours, for as long as ids are remembered.
//! - `:last` and `:pstart` speak of the same hour, also when nothing was counted in it.
//! - The hour never turns back: with a clock that has stepped back, or is slow, messages count for
//!   the hour that others have begun.
//!
//! Nothing bounds how many different messages an hour has: keep numbers and names that vary out of
//! the message. A clock that is years ahead turns the hour for years; nothing turns before it has
//! been caught up with.
//!
//! Source: the common log of the published articles. Theirs sends a RENAME that fails when the key
//! is missing at the turn, after which the rest of the transaction stands; and forgets the message
//! silently after 5 seconds of conflicts.

use std::time::Duration;

use super::backoff::{Backoff, unwritten};
use super::calendar::{hour_of, iso_hour, parse_iso_hour};
use super::check::{id, message as checked};
use super::keys::{Key, Keys};
use super::once::{self, IdsKept};
use super::recent_log::{LOG_KEPT, append, line};
use super::severity::Severity;
use crate::backend::{Arg, Backend, Session, cmd};
use crate::bytes::Bytes;
use crate::env::Timestamp;
use crate::error::{Error, ErrorKind, Result};

/// How long a message is tried for, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// The waits between tries. The first try again does not wait: most conflicts are that somebody
/// else has turned the hour, after which nothing is in the way.
const WAITS: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(64));

/// The most frequent messages of each name and severity, by the hour.
///
/// Names are ids of any bytes, messages any bytes too. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{CommonLog, Keys, Severity};
///
/// let log = CommonLog::new(Memory::new(), Keys::new());
/// for message in [&b"404 /old"[..], b"404 /older", b"404 /old"] {
///     log.log(b"web", &Severity::WARNING, message).wait()?;
/// }
/// let hour = log.top(b"web", &Severity::WARNING, 1).wait()?;
/// assert_eq!(hour.messages, [("404 /old".into(), 2)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommonLog<B> {
    backend: B,
    keys: Keys,
    patience: Duration,
    ids_kept: IdsKept,
}

/// How a message was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many tries it took: more than one when somebody else turned the hour meanwhile.
    pub attempts: u32,
    /// Whether it began a new hour.
    pub turned: bool,
}

/// The most frequent messages of an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHour {
    /// When the hour began; `None` while there has been none.
    pub start: Option<Timestamp>,
    /// Messages with their counts, the most frequent first; of equal counts the last in the order
    /// of bytes first.
    pub messages: Vec<(Bytes, u64)>,
}

/// What became of a try.
enum Attempt {
    Done {
        turned: bool,
    },
    /// The key of its id was there.
    Known,
    /// Somebody else turned the hour, or counted the same id, since this one looked; nothing was
    /// done.
    Conflict,
}

/// The names of one log's keys.
struct Names {
    counts: Key,
    start: Key,
    last: Key,
    previous_start: Key,
    recent: Key,
}

impl<B: Backend> CommonLog<B> {
    /// The log under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys, patience: PATIENCE, ids_kept: IdsKept::default() }
    }

    /// Sets for how long a message is tried; the published 5 seconds otherwise. With zero it is
    /// tried once.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Counts a message of up to 65,536 bytes, and adds it to the recent log.
    ///
    /// Two round trips: WATCH of the hour's name and GET; then the transaction: ZINCRBY, LPUSH and
    /// LTRIM. At the turn of the hour a third one between them, WATCH and EXISTS of the counts,
    /// and in the transaction RENAME (DEL of the older hour if there is nothing to rename) and two
    /// SETs. O(log messages of the hour + length of the message).
    ///
    /// When somebody else turned the hour in between, it is tried again, with jittered waits of up
    /// to 64 ms, for 5 seconds by the backend's clock; then the error is
    /// [`GaveUp`](ErrorKind::GaveUp), and nothing was counted. When the reply to the transaction
    /// is lost the error is [`Unknown`](ErrorKind::Unknown): it is not tried again, as that could
    /// count twice. When the server refuses a command of the transaction, as it does when a key
    /// holds another type, the others stand: [`Partly`](ErrorKind::Partly). After every other
    /// error nothing was counted.
    pub async fn log(&self, name: &[u8], severity: &Severity, message: &[u8]) -> Result<Counted> {
        id("name", name)?;
        checked(message)?;
        let names = self.names(name, severity);
        self.persist(&names, message, None).await.map(|(counted, _)| counted)
    }

    /// Counts a message like [`log`](Self::log), unless the message with this id has been counted
    /// for this name and severity already, in whatever hour; `None`: it was. An id is remembered
    /// for two hours, or as [`with_ids_kept`](Self::with_ids_kept) says, from when it was counted
    /// on: a repetition up to that very millisecond is recognised, one that comes later counts
    /// again, and none prolongs it. So after a lost reply, or when a queue delivers the message
    /// once more, call it again with the same id.
    ///
    /// One script, one round trip, and never in anybody's way. O(log messages of the hour + length
    /// of the message). The log remembers one small key for each id of the last two hours. A
    /// command that the server refuses is [`Partly`](ErrorKind::Partly), and the id is remembered
    /// then: the others stand.
    ///
    /// Where there are no scripts (see [`Backend::has_scripts`]) it is what [`log`](Self::log)
    /// does, with the id's key watched too.
    ///
    /// ```
    /// use stockroom::backend::{Memory, Wait};
    /// use stockroom::shop::{CommonLog, Keys, Severity};
    ///
    /// let log = CommonLog::new(Memory::new(), Keys::new());
    /// let once = || log.log_once(b"web", &Severity::ERROR, b"it broke", b"request 17").wait();
    /// assert!(once()?.is_some());
    /// // Nobody knows whether that arrived, so it is sent again.
    /// assert!(once()?.is_none());
    /// let hour = log.top(b"web", &Severity::ERROR, 1).wait()?;
    /// assert_eq!(hour.messages, [("it broke".into(), 1)]);
    /// # Ok::<(), stockroom::Error>(())
    /// ```
    pub async fn log_once(
        &self,
        name: &[u8],
        severity: &Severity,
        message: &[u8],
        message_id: &[u8],
    ) -> Result<Option<Counted>> {
        id("name", name)?;
        checked(message)?;
        id("message id", message_id)?;
        let names = self.names(name, severity);
        let logged = self.keys.logged(name, severity.as_str(), message_id);
        if !self.backend.has_scripts() {
            let (counted, new) = self.persist(&names, message, Some(&logged)).await?;
            return Ok(new.then_some(counted));
        }
        let now = self.backend.now();
        let keys: [&[u8]; 6] = [
            &logged,
            &names.start,
            &names.counts,
            &names.last,
            &names.previous_start,
            &names.recent,
        ];
        let args: [Arg<'_>; 5] = [
            self.ids_kept.into(),
            iso_hour(hour_of(now)).into(),
            message.into(),
            line(now, message).into(),
            (LOG_KEPT - 1).into(),
        ];
        match self.backend.script::<(i64, Bytes)>(&once::LOG, &keys, &args).await? {
            (0, _) => Ok(None),
            (code @ (1 | 2), _) => Ok(Some(Counted { attempts: 1, turned: code == 2 })),
            (_, start) => Err(foreign(&start)),
        }
    }

    /// Sets how long the ids of [`log_once`](Self::log_once) are remembered, by the server's clock:
    /// a second to 366 days.
    pub fn with_ids_kept(mut self, kept: Duration) -> Result<Self> {
        self.ids_kept = IdsKept::of(kept)?;
        Ok(self)
    }

    /// Tries until it is counted, and says how; and whether it was counted now, which it was not
    /// if the key of its id was there already.
    async fn persist(
        &self,
        names: &Names,
        message: &[u8],
        logged: Option<&Key>,
    ) -> Result<(Counted, bool)> {
        let began = self.backend.now();
        let (mut waits, mut waited) = (WAITS, Duration::ZERO);
        let mut session = self.backend.session().await.map_err(unwritten)?;
        let mut attempts = 0_u32;
        loop {
            attempts = attempts.saturating_add(1);
            match self.attempt(&mut session, names, message, logged).await? {
                Attempt::Done { turned } => return Ok((Counted { attempts, turned }, true)),
                Attempt::Known => return Ok((Counted { attempts, turned: false }, false)),
                Attempt::Conflict => (),
            }
            let wait = if attempts == 1 { Duration::ZERO } else { waits.next(&self.backend) };
            // By the waits alone too: the clock may have stepped back.
            let spent = self.backend.now().since(began).max(waited);
            if spent.saturating_add(wait) >= self.patience {
                return Err(gave_up(attempts, spent));
            }
            if !wait.is_zero() {
                self.backend.sleep(wait).await;
                waited += wait;
            }
        }
    }

    /// Tries once.
    async fn attempt(
        &self,
        session: &mut B::Session,
        names: &Names,
        message: &[u8],
        logged: Option<&Key>,
    ) -> Result<Attempt> {
        let mut watched: Vec<&[u8]> = vec![&names.start];
        watched.extend(logged.map(|key| &**key));
        let look = (cmd::get::<Bytes>(&names.start), logged.map(|key| cmd::exists(key)));
        let (started, known) = session.watch_and(&watched, look).await.map_err(unwritten)?;
        if known == Some(true) {
            return Ok(Attempt::Known);
        }
        let now = self.backend.now();
        let hour = hour_of(now);
        let name = iso_hour(hour);
        let turn = match &started {
            Some(start) if parsed(start)? >= hour => None,
            None => Some((None, cmd::set(&names.start, name.as_str()))),
            Some(start) => {
                // Watched, so that a last message of the old hour is not left behind: it may be
                // the first of its hour, and create the key after this look.
                let look = cmd::exists(&names.counts);
                let any = session.watch_and(&[&names.counts], look).await.map_err(unwritten)?;
                let archive = (
                    any.then(|| cmd::rename(&names.counts, &names.last)),
                    (!any).then(|| cmd::del([&names.last])),
                    cmd::set(&names.previous_start, start),
                );
                Some((Some(archive), cmd::set(&names.start, name.as_str())))
            }
        };
        let turned = turn.is_some();
        let line = line(now, message);
        let count = cmd::zincrby(&names.counts, 1, message);
        let note = logged.map(|key| cmd::set_for(key, "", self.ids_kept.0));
        let done = session.commit((note, turn, count, append(&names.recent, &line))).await?;
        Ok(done.map_or(Attempt::Conflict, |_| Attempt::Done { turned }))
    }

    /// The `n` most frequent messages of the current hour.
    ///
    /// The current hour is that of the last message: it may be long ago. GET and ZRANGE REV, one
    /// transaction in one round trip. O(log messages + n).
    pub async fn top(&self, name: &[u8], severity: &Severity, n: usize) -> Result<LogHour> {
        id("name", name)?;
        let names = self.names(name, severity);
        self.hour(&names.start, &names.counts, n).await
    }

    /// The `n` most frequent messages of the hour before; like [`top`](Self::top).
    pub async fn previous(&self, name: &[u8], severity: &Severity, n: usize) -> Result<LogHour> {
        id("name", name)?;
        let names = self.names(name, severity);
        self.hour(&names.previous_start, &names.last, n).await
    }

    async fn hour(&self, start: &Key, counts: &Key, n: usize) -> Result<LogHour> {
        let last = i64::try_from(n).unwrap_or(i64::MAX) - 1;
        let top = (n > 0).then(|| cmd::zrange_rev_withscores::<Bytes>(counts, 0, last));
        let (start, top) = self.backend.atomic((cmd::get::<Bytes>(start), top)).await?;
        let start = start.as_deref().map(parsed).transpose()?;
        let whole = |(message, count): (Bytes, f64)| (message, count as u64);
        Ok(LogHour { start, messages: top.unwrap_or_default().into_iter().map(whole).collect() })
    }

    fn names(&self, name: &[u8], severity: &Severity) -> Names {
        let severity = severity.as_str();
        Names {
            counts: self.keys.common(name, severity),
            start: self.keys.common_start(name, severity),
            last: self.keys.common_last(name, severity),
            previous_start: self.keys.common_previous_start(name, severity),
            recent: self.keys.log(name, severity),
        }
    }
}

/// The hour of that name.
fn parsed(name: &[u8]) -> Result<Timestamp> {
    parse_iso_hour(name).ok_or_else(|| foreign(name))
}

/// Something else than an hour is not ours to turn.
fn foreign(name: &[u8]) -> Error {
    unwritten(Error::unexpected("the start of an hour", &Bytes::from(name)))
}

fn gave_up(attempts: u32, spent: Duration) -> Error {
    let tries = if attempts == 1 { "try" } else { "tries" };
    let why = format!("not counted: others turned the hour in {attempts} {tries}, {spent:?}");
    Error::new(ErrorKind::GaveUp, why)
}
