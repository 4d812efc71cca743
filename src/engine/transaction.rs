//! MULTI, EXEC, DISCARD, WATCH and UNWATCH.
//!
//! EXEC locks the union of its queue's keys and of the watched keys, looks at the watch flag under
//! those locks, and runs the queue without giving them up: nobody sees half a transaction, and no
//! change slips in between the look and the run.

use std::sync::Arc;

use super::session::{CLOSED, NOT_IN_MULTI, runs_at_once};
use super::{Calls, Replies, Session, Shared, dispatch, ops, script};
use crate::bytes::Bytes;
use crate::commands::{Cx, Flags, Reply, Run, SessionOp, Spec};
use crate::db::{Access, Scope, WatchFlag};
use crate::error::WireError;
use crate::resp::{Protocol, ReplyDecoder, Value, encode};

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(super) struct Queue {
    commands: Vec<Queued>,
    /// How many commands there are, or were when it was aborted.
    len: usize,
    /// Of memory that the commands hold.
    bytes: usize,
    aborted: bool,
}

#[derive(Debug)]
struct Queued {
    spec: &'static Spec,
    argv: Vec<Bytes>,
}

impl Queue {
    pub(super) fn push(&mut self, spec: &'static Spec, argv: &[&[u8]]) {
        // Once aborted it only waits for its end; keeping more would be a waste.
        if !self.aborted {
            let argv: Vec<Bytes> = argv.iter().map(|arg| Bytes::copy_from(arg)).collect();
            let words: usize = argv.iter().map(|arg| size_of::<Bytes>() + arg.heap_size()).sum();
            self.bytes += size_of::<Queued>() + words;
            self.commands.push(Queued { spec, argv });
            self.len += 1;
        }
    }

    pub(super) fn abort(&mut self) {
        *self = Self { aborted: true, len: self.len, ..Self::default() };
    }

    #[cfg(feature = "server")]
    pub(super) fn has_script(&self) -> bool {
        self.commands.iter().any(|queued| matches!(queued.spec.run, Run::Script(_)))
    }

    /// Commands queued so far, not counting those that came once it could no longer be run.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// The keys that a session watches, each once.
#[derive(Debug, Default)]
pub(super) struct Watches {
    flag: WatchFlag,
    keys: Vec<(usize, Bytes)>,
    /// Of memory that the keys hold, here and beside the keyspace.
    bytes: usize,
}

impl Watches {
    /// Whether a watched key has changed.
    pub(super) fn are_touched(&self) -> bool {
        self.flag.is_raised()
    }

    /// Whether a watched key has changed, or has expired and is still to be removed.
    fn are_broken(&self, cx: &mut Cx<'_>) -> bool {
        self.flag.is_raised()
            || self.keys.iter().any(|(db, key)| {
                cx.db.select(*db);
                cx.db.is_expired(key)
            })
    }
}

/// What a client reads of a reply in a protocol: how it stays when a HELLO in the queue changes the
/// protocol of what follows.
fn as_read(reply: &Value, protocol: Protocol) -> Value {
    if let Value::Several(replies) = reply {
        return Value::Several(replies.iter().map(|reply| as_read(reply, protocol)).collect());
    }
    let mut bytes = Vec::new();
    encode(reply, protocol, &mut bytes);
    let mut decoder = ReplyDecoder::default();
    decoder.feed(&bytes);
    decoder.next_reply().ok().flatten().unwrap_or(Value::Nil)
}

const NO_SHARD_CHANNELS: WireError =
    WireError::fixed("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");

/// The error for an EXEC that is itself malformed.
pub(super) fn exec_aborted(error: &WireError) -> WireError {
    let reason = error.as_bytes();
    let reason = reason.strip_prefix(b"ERR ").unwrap_or(reason);
    WireError::new([b"EXECABORT Transaction discarded because of: ", reason].concat())
}

impl Session {
    pub(super) fn multi(&mut self) -> Reply {
        if self.queue.is_some() {
            return Err(WireError::fixed("ERR MULTI calls can not be nested"));
        }
        self.queue = Some(Queue::default());
        self.client.set_queued(Some(0));
        Ok(Value::OK)
    }

    pub(super) fn discard(&mut self) -> Reply {
        if self.queue.is_none() {
            return Err(WireError::fixed("ERR DISCARD without MULTI"));
        }
        self.abandon();
        Ok(Value::OK)
    }

    /// Gives up the transaction and all watches.
    pub(super) fn abandon(&mut self) {
        self.queue = None;
        self.client.set_queued(None);
        self.unwatch_all();
    }

    pub(super) fn watch(&mut self, keys: &[&[u8]]) -> Reply {
        if self.queue.is_some() {
            return Err(WireError::fixed("ERR WATCH inside MULTI is not allowed"));
        }
        if !self.watches.flag.is_raised() {
            let scope = Scope::of(keys.iter().map(|key| (*key, Access::Write)));
            let mut cx = dispatch::context(&self.shared, scope, self.db, self.protocol)?;
            for key in keys {
                if cx.db.watch(key, &self.watches.flag) {
                    let key = Bytes::copy_from(key);
                    self.watches.bytes += 2 * (size_of::<(usize, Bytes)>() + key.heap_size());
                    self.watches.keys.push((self.db, key));
                }
            }
            self.client.watches(Some(&self.watches.flag));
        }
        Ok(Value::OK)
    }

    /// Bytes of memory that it holds for its client between two commands: those queued in a
    /// transaction, the keys watched, and messages that have not been read. O(1).
    pub fn held(&self) -> usize {
        let unread = self.client.listener().map_or(0, |listener| listener.bytes());
        self.watches.bytes + unread + self.queue.as_ref().map_or(0, |queue| queue.bytes)
    }

    /// Watches keys of the selected database, as `WATCH` does.
    pub fn watch_keys(&mut self, keys: &[&[u8]]) -> Result<(), WireError> {
        self.watch(keys).map(drop)
    }

    /// Gives up all watches, as `UNWATCH` does.
    pub fn unwatch_all(&mut self) {
        let watches = self.take_watches();
        self.shared.release(watches);
    }

    fn take_watches(&mut self) -> Watches {
        if !self.watches.keys.is_empty() {
            self.client.watches(None);
        }
        std::mem::take(&mut self.watches)
    }

    pub(super) fn exec(&mut self) -> Reply {
        let Some(queue) = self.queue.take() else {
            return Err(WireError::fixed("ERR EXEC without MULTI"));
        };
        let reply = if queue.aborted {
            Err(WireError::fixed("EXECABORT Transaction discarded because of previous errors."))
        } else {
            self.exec_queue(&queue.commands).map_err(|busy| exec_aborted(&busy))
        };
        self.abandon();
        reply
    }

    /// Runs the queue if no watched key has changed.
    fn exec_queue(&mut self, commands: &[Queued]) -> Reply {
        let mut calls = Calls::default();
        for queued in commands {
            calls.line(queued.spec, queued.argv.iter().map(|arg| &**arg));
        }
        let replies = self.run_unbroken(&calls)?;
        Ok(replies.map_or(Value::NilArray, |replies| Value::Array(replies.into_vec())))
    }

    /// What MULTI, the commands and EXEC do, in one call and without copying a word. `None`: a
    /// watched key has changed and nothing was run. A line of the wrong length refuses all.
    /// Whatever the outcome, the watches are given up; but within a MULTI, which they guard, it is
    /// refused and changes nothing.
    pub fn commit(&mut self, calls: &Calls<'_>) -> Result<Option<Replies>, WireError> {
        if self.queue.is_some() {
            return Err(WireError::fixed("ERR MULTI calls can not be nested"));
        }
        let refused = |spec: &Spec| spec.is(Flags::NO_MULTI) || runs_at_once(spec);
        let result = if self.is_closing() {
            Err(CLOSED)
        } else if let Some(error) = calls.refusal() {
            Err(error)
        } else if calls.iter().any(|(spec, _)| refused(spec)) {
            Err(NOT_IN_MULTI)
        } else {
            calls.iter().for_each(|(spec, _)| self.client.runs(Some(spec)));
            self.run_unbroken(calls)
        };
        self.unwatch_all();
        result
    }

    /// Runs the lines under one union of locks if no watched key has changed. The watches are
    /// given up once its locks are.
    fn run_unbroken(&mut self, calls: &Calls<'_>) -> Result<Option<Replies>, WireError> {
        let shared = Arc::clone(&self.shared);
        // Taken out, so that an UNWATCH among the lines finds nothing to lock.
        let watches = self.take_watches();
        let watched = watches.keys.iter().map(|(_, key)| &**key);
        let locked = calls.lock(&shared, watched, self.db, self.protocol);
        let mut cx = match locked {
            Ok(cx) => cx,
            Err(busy) => {
                shared.release(watches);
                return Err(busy);
            }
        };
        if watches.are_broken(&mut cx) {
            drop(cx);
            shared.release(watches);
            return Ok(None);
        }
        cx.db.select(self.db);
        let mut replies = Replies::new();
        for (spec, argv) in calls.iter() {
            let reply: Value = match spec.run {
                Run::Plain(_) if let Some(pong) = self.pong(spec, argv) => Ok(pong),
                Run::Data(handler) | Run::Plain(handler) => handler(&mut cx, argv),
                // Redis says of one as it runs what is true of all who may not wait, and lets the
                // rest of the family pass.
                Run::Session(SessionOp::Ssubscribe) => Err(NO_SHARD_CHANNELS),
                Run::Session(op) | Run::Server(op) => ops::run(self, op, &mut cx, argv),
                Run::Script(op) => script::run(&shared, spec, op, &mut cx, argv),
                Run::Container => Err(spec.arity_error()),
            }
            .into();
            self.client.has_run();
            cx.db.select(self.db);
            if self.protocol != cx.protocol {
                replies.iter_mut().for_each(|reply| *reply = as_read(reply, cx.protocol));
                cx.protocol = self.protocol;
            }
            replies.push(reply);
        }
        drop(cx);
        shared.release(watches);
        shared.release_orphans();
        Ok(Some(replies))
    }
}

impl Shared {
    /// Gives up watches. While a script that has been running too long holds a lock they are put
    /// aside, for the next who runs a script.
    fn release(&self, watches: Watches) {
        if watches.keys.is_empty() {
            return;
        }
        let scope = Scope::of(watches.keys.iter().map(|(_, key)| (&**key, Access::Write)));
        let Ok(mut cx) = dispatch::context(self, scope, 0, Protocol::Resp2) else {
            self.orphans.lock().watches.push(watches);
            return;
        };
        for (db, key) in &watches.keys {
            cx.db.select(*db);
            cx.db.unwatch(key, &watches.flag);
        }
    }

    /// Gives up the watches and the waits that were put aside.
    pub(super) fn release_orphans(&self) {
        let orphans = std::mem::take(&mut *self.orphans.lock());
        orphans.watches.into_iter().for_each(|watches| self.release(watches));
        orphans.waiters.iter().for_each(|waiter| self.withdraw(waiter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::string::{GET, SET};
    use crate::engine::Engine;

    fn get<'a>() -> Calls<'a> {
        let mut calls = Calls::default();
        calls.call(&GET, [&b"k"[..]]);
        calls
    }

    #[test]
    fn key_watched_again_is_kept_once() {
        let mut session = Engine::new().session();
        for _ in 0..1_000 {
            session.call(&[b"WATCH", b"a", b"b", b"a"]);
        }
        assert_eq!(session.watches.keys.len(), 2);
        // The same name in another database is another key.
        session.call(&[b"SELECT", b"1"]);
        session.call(&[b"WATCH", b"a"]);
        assert_eq!(session.watches.keys.len(), 3);
        assert_eq!(session.shared.keyspace.watched_keys(), 3);
        session.call(&[b"UNWATCH"]);
        assert!(session.watches.keys.is_empty());
        assert_eq!(session.shared.keyspace.watched_keys(), 0);
    }

    #[test]
    fn queue_and_watches_are_held_until_they_end() {
        let mut session = Engine::new().session();
        let long = [b'x'; 1_000];
        assert_eq!(session.held(), 0);
        session.call(&[b"WATCH", b"k", &long, b"k"]);
        assert!((2_000..2_200).contains(&session.held()), "{}", session.held());
        session.call(&[b"UNWATCH"]);
        assert_eq!(session.held(), 0);
        for end in ["EXEC", "DISCARD", "NOSUCH"] {
            session.call(&[b"MULTI"]);
            for n in 1..100 {
                session.call(&[b"SET", b"k", &long]);
                assert!(session.held() > n * 1_000 && session.held() < n * 1_200);
            }
            session.call(&[end.as_bytes()]);
            assert_eq!(session.held(), 0, "{end}");
            session.call(&[b"DISCARD"]);
        }
    }

    #[test]
    fn commit_ends_all_watches_also_when_it_is_refused() {
        let engine = Engine::new();
        let mut session = engine.session();
        let mut short = Calls::default();
        short.push(&SET);
        session.watch_keys(&[b"k"]).unwrap();
        assert!(session.commit(&short).is_err());
        assert!(session.watches.keys.is_empty());
        let mut watch = Calls::default();
        watch.call(&crate::commands::transactions::WATCH, [&b"k"[..]]);
        session.watch_keys(&[b"k"]).unwrap();
        assert_eq!(session.commit(&watch), Err(NOT_IN_MULTI));
        assert!(session.watches.keys.is_empty());
        session.watch_keys(&[b"k"]).unwrap();
        let id = session.id().to_string();
        engine.session().call(&[b"CLIENT", b"KILL", b"ID", id.as_bytes()]);
        assert_eq!(session.commit(&get()), Err(CLOSED));
        assert!(session.watches.keys.is_empty());
    }

    #[test]
    fn commit_within_multi_leaves_the_watches_to_guard_it() {
        let engine = Engine::new();
        let mut session = engine.session();
        session.call(&[b"WATCH", b"k"]);
        session.call(&[b"MULTI"]);
        assert!(session.commit(&get()).is_err());
        engine.session().call(&[b"SET", b"k", b"1"]);
        session.call(&[b"SET", b"k", b"2"]);
        assert_eq!(session.call(&[b"EXEC"]), Value::NilArray);
    }
}
