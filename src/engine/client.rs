//! [`Client`]: what others may see of a session, and the list that CLIENT LIST shows.
//!
//! A session owns its state; here is the part that CLIENT LIST, INFO and CLIENT KILL need. It is
//! written with relaxed stores on every command, so it may lag behind by a moment, as any such list
//! does.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::session::CLOSED;
use crate::bytes::Bytes;
use crate::commands::{Spec, all};
use crate::db::{Db, Listener, Topic, Waiter, WatchFlag};
use crate::env::Timestamp;
use crate::resp::{Protocol, Value};

const RELAXED: Ordering = Ordering::Relaxed;

/// The visible part of a session.
#[derive(Debug)]
pub(crate) struct Client {
    pub(super) id: u64,
    since: Timestamp,
    name: Mutex<Bytes>,
    /// Where the client is, and where it has connected to.
    addresses: Mutex<(String, String)>,
    db: AtomicU32,
    resp3: AtomicBool,
    no_evict: AtomicBool,
    killed: AtomicBool,
    /// Who waits for that.
    waker: Mutex<Option<Waker>>,
    /// Raised once a key that it watches has changed, if it watches any.
    watched: Mutex<Option<WatchFlag>>,
    /// What it is blocked by, if it is.
    waiter: Mutex<Option<Arc<Waiter>>>,
    /// From its first subscription on.
    listener: OnceLock<Arc<Listener>>,
    /// The number of the last message that belongs before the reply to the last command.
    before_reply: AtomicU64,
    /// Commands queued in a transaction; below zero outside of one.
    queued: AtomicI64,
    /// The last command, as [`Spec::id`] tells it.
    last: AtomicU32,
    /// When it was run, in microseconds since the epoch.
    active_us: AtomicI64,
    /// Commands run so far.
    commands: AtomicU64,
}

impl Client {
    pub(super) fn new(id: u64, now: Timestamp) -> Self {
        Self {
            id,
            since: now,
            name: Mutex::default(),
            addresses: Mutex::new((format!("process:{id}"), "process:0".to_string())),
            db: AtomicU32::new(0),
            resp3: AtomicBool::new(false),
            no_evict: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            waker: Mutex::default(),
            watched: Mutex::default(),
            waiter: Mutex::default(),
            listener: OnceLock::new(),
            before_reply: AtomicU64::new(u64::MAX),
            queued: AtomicI64::new(-1),
            last: AtomicU32::new(0),
            active_us: AtomicI64::new(now.as_micros()),
            commands: AtomicU64::new(0),
        }
    }

    pub(super) fn name(&self) -> Bytes {
        self.name.lock().clone()
    }

    pub(super) fn set_name(&self, name: &[u8]) {
        *self.name.lock() = Bytes::copy_from(name);
    }

    pub(super) fn set_addresses(&self, peer: String, local: String) {
        *self.addresses.lock() = (peer, local);
    }

    pub(super) fn is_at(&self, peer: &[u8]) -> bool {
        self.addresses.lock().0.as_bytes() == peer
    }

    pub(super) fn is_connected_to(&self, local: &[u8]) -> bool {
        self.addresses.lock().1.as_bytes() == local
    }

    pub(super) fn set_db(&self, db: usize) {
        self.db.store(db as u32, RELAXED);
    }

    pub(super) fn set_protocol(&self, protocol: Protocol) {
        self.resp3.store(protocol == Protocol::Resp3, RELAXED);
    }

    pub(super) fn set_no_evict(&self, on: bool) {
        self.no_evict.store(on, RELAXED);
    }

    pub(super) fn set_queued(&self, queued: Option<usize>) {
        self.queued.store(queued.map_or(-1, |n| n as i64), RELAXED);
    }

    /// Notes whether the session watches keys, and what is raised when one changes.
    pub(super) fn watches(&self, flag: Option<&WatchFlag>) {
        *self.watched.lock() = flag.cloned();
    }

    /// Notes what the session waits for.
    pub(super) fn waits(&self, waiter: &Arc<Waiter>, db: &mut Db<'_>) {
        *self.waiter.lock() = Some(Arc::clone(waiter));
        if self.is_killed() {
            db.end_wait(waiter, Value::Error(CLOSED));
        }
    }

    pub(super) fn waits_no_longer(&self) {
        *self.waiter.lock() = None;
    }

    /// Ends the session's wait with a reply; says whether it was waiting.
    pub(super) fn unblock(&self, db: &mut Db<'_>, reply: Value) -> bool {
        let waiter = self.waiter.lock().clone();
        waiter.is_some_and(|waiter| db.end_wait(&waiter, reply))
    }

    fn is_blocked(&self) -> bool {
        self.waiter.lock().as_ref().is_some_and(|waiter| waiter.is_waiting())
    }

    /// Its subscriptions and messages, if it has ever had any.
    #[inline]
    pub(super) fn listener(&self) -> Option<&Arc<Listener>> {
        self.listener.get()
    }

    /// As [`listener`](Self::listener), made if there is none.
    pub(super) fn listener_or_new(&self) -> &Arc<Listener> {
        self.listener.get_or_init(|| Arc::new(Listener::new(self.id)))
    }

    /// Notes the number of the last message that belongs before the reply to the last command. All
    /// do, by [`u64::MAX`], unless it is noted.
    #[inline]
    pub(super) fn set_before_reply(&self, number: u64) {
        self.before_reply.store(number, RELAXED);
    }

    /// As [`set_before_reply`](Self::set_before_reply), unless an earlier one is noted.
    pub(super) fn belongs_before_reply(&self, number: u64) {
        self.before_reply.fetch_min(number, RELAXED);
    }

    /// How many unread messages belong before the reply to the last command.
    pub(super) fn messages_before_reply(&self) -> usize {
        let number = self.before_reply.load(RELAXED);
        self.listener().map_or(0, |listener| listener.unread_until(number))
    }

    /// Whether it has subscribed to anything.
    #[inline]
    pub(super) fn listens(&self) -> bool {
        self.listener().is_some_and(|listener| listener.listens())
    }

    /// Ends the session before its next command, and its wait if it waits.
    pub(super) fn kill(&self, db: &mut Db<'_>) {
        self.killed.store(true, Ordering::Release);
        self.unblock(db, Value::Error(CLOSED));
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ready once the session is killed.
    pub(super) fn poll_killed(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Registered first: a kill in between is seen by the look that follows.
        *self.waker.lock() = Some(cx.waker().clone());
        if self.is_killed() { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(super) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Notes which command is being run, queued or refused; `None`: one that there is not.
    #[inline]
    pub(super) fn runs(&self, spec: Option<&Spec>) {
        self.last.store(spec.map_or(0, Spec::id), RELAXED);
    }

    /// Counts a command that has been run.
    #[inline]
    pub(super) fn has_run(&self) {
        // Only the session itself counts, so no addition gets lost.
        self.commands.store(self.commands.load(RELAXED) + 1, RELAXED);
    }

    /// Notes the time of a command.
    #[inline]
    pub(super) fn is_active(&self, now: Timestamp) {
        self.active_us.store(now.as_micros(), RELAXED);
    }

    /// Commands run so far.
    pub(super) fn commands(&self) -> u64 {
        self.commands.load(RELAXED)
    }

    /// The line of CLIENT LIST. Numbers of buffers are zero: in a process there are none.
    pub(super) fn line(&self, now: Timestamp) -> Vec<u8> {
        let secs = |since: Timestamp| now.as_secs().saturating_sub(since.as_secs()).max(0);
        let (peer, local) = self.addresses.lock().clone();
        let queued = self.queued.load(RELAXED);
        let mut line = format!("id={} addr={peer} laddr={local} fd=-1 name=", self.id).into_bytes();
        line.extend_from_slice(&self.name());
        let age = secs(self.since);
        let topics = |topic| self.listener().map_or(0, |listener| listener.count(topic));
        let idle = secs(Timestamp::from_micros(self.active_us.load(RELAXED)));
        let rest = format!(
            " age={age} idle={idle} flags={} db={} sub={} psub={} ssub={} multi={queued} qbuf=0 \
             qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r \
             cmd={} user=default redir=-1 resp={}\n",
            self.flags(queued >= 0),
            self.db.load(RELAXED),
            topics(Topic::Channel),
            topics(Topic::Pattern),
            topics(Topic::Shard),
            self.last_command(),
            if self.resp3.load(RELAXED) { 3 } else { 2 },
        );
        line.extend_from_slice(rest.as_bytes());
        line
    }

    fn flags(&self, in_multi: bool) -> String {
        let blocked = self.is_blocked();
        let touched = self.watched.lock().as_ref().is_some_and(WatchFlag::is_raised);
        let flags = [
            ('P', self.listens()),
            ('x', in_multi),
            ('b', blocked),
            ('d', touched),
            ('A', self.is_killed()),
            ('e', self.no_evict.load(RELAXED)),
        ];
        let set: String = flags.into_iter().filter(|(_, set)| *set).map(|(f, _)| f).collect();
        if set.is_empty() { "N".to_string() } else { set }
    }

    fn last_command(&self) -> String {
        let last = self.last.load(RELAXED);
        let mut rows =
            all().flat_map(|spec| std::iter::once(spec).chain(spec.subs.iter().copied()));
        rows.find(|spec| spec.id() == last).map_or("NULL".to_string(), Spec::lower_name)
    }
}
