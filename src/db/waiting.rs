//! Clients that wait for a key to hold something: `BLPOP` and its kin.
//!
//! Each shard knows who waits for its keys, in order of arrival. A [`Waiter`] is registered under
//! the exclusive locks of the shards of all its keys, so nothing slips in between the look that
//! found nothing and the wait. A key that comes into being is noted as ready if somebody waits for
//! it; when the command, the transaction or the script is through, and before its locks are given
//! up, the commands layer serves who waits for the ready keys (see `commands::blocking`).
//!
//! Serving needs the lock of the ready key's shard, which is held, and no other: a waiter that is
//! served, timed out or unblocked is over at once by its own state, and an entry that it leaves in
//! other shards means nothing until it is removed. Only *movers* (`BLMOVE`) need more, as they
//! push to another key. So whoever locks a shard exclusively in which a mover is registered gets
//! all shards ([`Keyspace::lock_unless`]); everybody else pays one comparison.
//!
//! A waiter that times out, is unblocked or is killed races with who serves it. Its state decides:
//! who serves it claims it first, and a claim wins once.
//!
//! Invariants: a waiter is over once and for all; the counts are those of the waiters that are not
//! over; wakers are called when no lock is held.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::view::Db;
use super::{Keyspace, Object, locate};
use crate::bytes::Bytes;
use crate::resp::Value;
use crate::types::End;

/// What a waiting command does with the first of its keys that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Pops an element of a list.
    Element(End),
    /// Pops up to so many elements of a list.
    Elements(End, usize),
    /// Pops an element of a list and pushes it to another.
    Move {
        /// Where it is popped.
        from: End,
        /// The other list.
        target: Bytes,
        /// Where it is pushed.
        to: End,
    },
    /// Pops a member of a sorted set.
    Member(End),
    /// Pops up to so many members of a sorted set.
    Members(End, usize),
}

/// The types that are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// A list.
    List,
    /// A sorted set.
    Zset,
}

impl Awaited {
    /// The type of a value, if it is one that is waited for.
    pub(crate) fn of(object: &Object) -> Option<Self> {
        match object {
            Object::List(_) => Some(Self::List),
            Object::Zset(_) => Some(Self::Zset),
            _ => None,
        }
    }
}

impl Want {
    fn awaited(&self) -> Awaited {
        match self {
            Self::Element(_) | Self::Elements(..) | Self::Move { .. } => Awaited::List,
            Self::Member(_) | Self::Members(..) => Awaited::Zset,
        }
    }

    fn moves(&self) -> bool {
        matches!(self, Self::Move { .. })
    }
}

/// A client that waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// By order of arrival.
    number: u64,
    db: usize,
    keys: Box<[Bytes]>,
    want: Want,
    /// In milliseconds since the epoch; it is over once the time is past it.
    deadline_ms: Option<i64>,
    state: Mutex<State>,
    /// The number of the last message that was published before the reply.
    last_message: AtomicU64,
    /// Entries in the shards.
    entries: AtomicUsize,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Phase {
    Waiting,
    /// Somebody is serving it just now.
    Claimed,
    /// The reply is there and has not been read.
    Over(Value),
    /// The reply has been read, or nobody will.
    Gone,
}

impl Waiter {
    /// The number of the database of its keys.
    pub(crate) fn db(&self) -> usize {
        self.db
    }

    /// Its keys.
    pub(crate) fn keys(&self) -> &[Bytes] {
        &self.keys
    }

    /// What it does with one that holds something.
    pub(crate) fn want(&self) -> &Want {
        &self.want
    }

    /// The last millisecond since the epoch at which it still waits.
    pub(crate) fn deadline_ms(&self) -> Option<i64> {
        self.deadline_ms
    }

    /// Whether it is neither served nor over.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Waiting)
    }

    /// The number of the last message that was published before its reply was there.
    pub(crate) fn last_message(&self) -> u64 {
        self.last_message.load(Ordering::Acquire)
    }

    /// Whether a shard may still have an entry of it.
    pub(crate) fn is_registered(&self) -> bool {
        self.entries.load(Ordering::Acquire) > 0
    }

    /// Its reply, to be read once. `None`: not yet; `waker` is then called when it is there.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Value> {
        let state = &mut *self.state.lock();
        if let Phase::Over(_) = state.phase
            && let Phase::Over(reply) = std::mem::replace(&mut state.phase, Phase::Gone)
        {
            return Some(reply);
        }
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        None
    }

    /// Claims it, to be served; says whether it was still waiting.
    fn claim(&self) -> bool {
        let phase = &mut self.state.lock().phase;
        let waits = matches!(phase, Phase::Waiting);
        if waits {
            *phase = Phase::Claimed;
        }
        waits
    }

    /// Gives it a reply if it is in a phase of which `from` holds; says whether it was.
    fn end(
        &self,
        from: fn(&Phase) -> bool,
        reply: Value,
        last_message: u64,
        wakers: &mut Wakers,
    ) -> bool {
        let mut state = self.state.lock();
        if !from(&state.phase) {
            return false;
        }
        self.last_message.store(last_message, Ordering::Release);
        wakers.add(state.waker.take());
        state.phase = Phase::Over(reply);
        true
    }
}

/// Wakers, called when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Wakers(SmallVec<[Waker; 2]>);

impl Wakers {
    pub(super) fn add(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

/// Who waits for the keys of one shard.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    keys: BTreeMap<(usize, Bytes), BTreeMap<u64, Arc<Waiter>>>,
    /// Entries of movers.
    movers: usize,
}

impl Waiting {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    #[inline]
    pub(super) fn has_movers(&self) -> bool {
        self.movers > 0
    }

    fn add(&mut self, key: &Bytes, waiter: &Arc<Waiter>) {
        let queue = self.keys.entry((waiter.db, key.clone())).or_default();
        if queue.insert(waiter.number, Arc::clone(waiter)).is_none() {
            waiter.entries.fetch_add(1, Ordering::AcqRel);
            self.movers += usize::from(waiter.want.moves());
        }
    }

    fn remove(&mut self, key: &Bytes, waiter: &Waiter) {
        let at = (waiter.db, key.clone());
        let Some(queue) = self.keys.get_mut(&at) else { return };
        if queue.remove(&waiter.number).is_some() {
            waiter.entries.fetch_sub(1, Ordering::AcqRel);
            self.movers -= usize::from(waiter.want.moves());
        }
        if queue.is_empty() {
            self.keys.remove(&at);
        }
    }

    /// The keys of a database that somebody waits for.
    fn keys_of(&self, db: usize) -> impl Iterator<Item = &Bytes> {
        self.keys.range((db, Bytes::EMPTY)..(db + 1, Bytes::EMPTY)).map(|((_, key), _)| key)
    }

    /// Entries, also of those that are over.
    fn len(&self) -> usize {
        self.keys.values().map(BTreeMap::len).sum()
    }
}

/// All who wait, of all shards.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    arrivals: AtomicU64,
    lists: AtomicUsize,
    zsets: AtomicUsize,
    /// Those with a deadline, in the order in which they will be over.
    deadlines: Mutex<BTreeMap<(i64, u64), Arc<Waiter>>>,
}

impl Blocked {
    fn count(&self, awaited: Awaited) -> &AtomicUsize {
        match awaited {
            Awaited::List => &self.lists,
            Awaited::Zset => &self.zsets,
        }
    }

    fn enter(&self, waiter: &Arc<Waiter>) {
        self.count(waiter.want.awaited()).fetch_add(1, Ordering::AcqRel);
        if let Some(ms) = waiter.deadline_ms {
            self.deadlines.lock().insert((ms, waiter.number), Arc::clone(waiter));
        }
    }

    fn leave(&self, waiter: &Waiter) {
        self.count(waiter.want.awaited()).fetch_sub(1, Ordering::AcqRel);
        if let Some(ms) = waiter.deadline_ms {
            self.deadlines.lock().remove(&(ms, waiter.number));
        }
    }
}

impl Keyspace {
    /// How many clients wait.
    pub(crate) fn blocked(&self) -> usize {
        let Blocked { lists, zsets, .. } = &self.blocked;
        lists.load(Ordering::Acquire) + zsets.load(Ordering::Acquire)
    }

    /// How many of them will give up at some time.
    pub(crate) fn blocked_with_deadline(&self) -> usize {
        self.blocked.deadlines.lock().len()
    }

    /// Entries of waiting clients in all shards, also of those that are over and have not removed
    /// theirs.
    pub(crate) fn waiting_entries(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().waiting.len()).sum()
    }

    /// Ends the wait of those whose deadline is past, in the order of their deadlines, and of
    /// their arrival where those are equal. They are woken when `wakers` is dropped.
    pub(crate) fn time_out(&self, now_ms: i64, wakers: &mut Wakers) {
        loop {
            let mut deadlines = self.blocked.deadlines.lock();
            let Some(first) = deadlines.first_entry().filter(|e| e.key().0 < now_ms) else {
                return;
            };
            let waiter = first.remove();
            drop(deadlines);
            self.end_wait(&waiter, Value::NilArray, wakers);
        }
    }

    /// Ends a wait with a reply, unless it is over or being served; says whether it did.
    pub(crate) fn end_wait(&self, waiter: &Waiter, reply: Value, wakers: &mut Wakers) -> bool {
        let waits = |phase: &Phase| matches!(phase, Phase::Waiting);
        let ended = waiter.end(waits, reply, self.last_message(), wakers);
        if ended {
            self.blocked.leave(waiter);
        }
        ended
    }
}

/// What has become ready during a command, and who is to be woken after it.
#[derive(Debug, Default)]
pub(super) struct Serving {
    /// In the order in which they became ready.
    ready: VecDeque<(usize, Bytes)>,
    /// The same, to find them in.
    noted: BTreeSet<(usize, Bytes)>,
    pub(super) wakers: Wakers,
}

impl Db<'_> {
    /// Registers a client that waits for keys of the selected database. Their shards must be
    /// locked for writing.
    pub(crate) fn wait(
        &mut self,
        keys: &[&[u8]],
        want: Want,
        deadline_ms: Option<i64>,
    ) -> Arc<Waiter> {
        let waiter = Arc::new(Waiter {
            number: self.keyspace.blocked.arrivals.fetch_add(1, Ordering::Relaxed),
            db: self.index(),
            keys: keys.iter().map(|key| Bytes::copy_from(key)).collect(),
            want,
            deadline_ms,
            state: Mutex::new(State { phase: Phase::Waiting, waker: None }),
            last_message: AtomicU64::new(0),
            entries: AtomicUsize::new(0),
        });
        for key in &waiter.keys {
            self.shard_mut(locate(key).0).waiting.add(key, &waiter);
        }
        self.keyspace.blocked.enter(&waiter);
        waiter
    }

    /// Notes that a key of the selected database has come into being. As in Redis, that counts
    /// for nothing unless somebody waits for a value of its type, under whatever key, and somebody
    /// for this key, whatever the type; a value that replaces another is not noted.
    #[cold]
    pub(super) fn signal(&mut self, key: &[u8]) {
        let Some(awaited) = self.peek(key).and_then(Awaited::of) else { return };
        self.time_out();
        if self.keyspace.blocked.count(awaited).load(Ordering::Acquire) == 0 {
            return;
        }
        let at = (self.index(), Bytes::copy_from(key));
        let queue = self.shard(locate(key).0).and_then(|shard| shard.waiting.keys.get(&at));
        if queue.is_some_and(|queue| queue.values().any(|waiter| waiter.is_waiting())) {
            let serving = self.serving.get_or_insert_default();
            if serving.noted.insert(at.clone()) {
                serving.ready.push_back(at);
            }
        }
    }

    /// Notes as ready what is there under keys of a database that somebody waits for, after all of
    /// it has changed.
    pub(super) fn signal_all(&mut self, db: usize) {
        if self.shards().all(|shard| shard.waiting.is_empty()) {
            return;
        }
        let mut keys: Vec<Bytes> =
            self.shards().flat_map(|shard| shard.waiting.keys_of(db).cloned()).collect();
        keys.sort_unstable();
        let selected = self.index();
        self.select(db);
        keys.iter().for_each(|key| self.signal(key));
        self.select(selected);
    }

    /// Whether a key has become ready.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.serving.as_ref().is_some_and(|serving| !serving.ready.is_empty())
    }

    /// The next key that has become ready, with the number of its database.
    pub(crate) fn next_ready(&mut self) -> Option<(usize, Bytes)> {
        let serving = self.serving.as_mut()?;
        let next = serving.ready.pop_front()?;
        serving.noted.remove(&next);
        Some(next)
    }

    /// Claims the first who waits for a key of the selected database and has arrived after `last`,
    /// to be [served](Self::serve). O(log n), and as many more steps as others are passed over:
    /// those who wait for another type, or are over.
    pub(crate) fn claim(
        &mut self,
        key: &Bytes,
        awaited: Awaited,
        last: Option<&Waiter>,
    ) -> Option<Arc<Waiter>> {
        let from = last.map_or(0, |waiter| waiter.number + 1);
        let shard = self.shard(locate(key).0)?;
        let queue = shard.waiting.keys.get(&(self.index(), key.clone()))?;
        let mut fitting = queue.range(from..).map(|(_, w)| w);
        let claimed = fitting.find(|waiter| waiter.want.awaited() == awaited && waiter.claim());
        claimed.cloned()
    }

    /// Gives a waiter that was claimed its reply. It is woken after the command.
    pub(crate) fn serve(&mut self, waiter: &Waiter, reply: Value) {
        self.keyspace.blocked.leave(waiter);
        self.unregister(waiter);
        let claimed = |phase: &Phase| matches!(phase, Phase::Claimed);
        let last_message = self.keyspace.last_message();
        let wakers = &mut self.serving.get_or_insert_default().wakers;
        waiter.end(claimed, reply, last_message, wakers);
    }

    /// Ends the wait of those whose deadline is past at the command's time.
    pub(crate) fn time_out(&mut self) {
        let (keyspace, now_ms) = (self.keyspace, self.now_ms());
        keyspace.time_out(now_ms, &mut self.serving.get_or_insert_default().wakers);
    }

    /// Ends a wait with a reply, unless it is over or being served; says whether it did.
    pub(crate) fn end_wait(&mut self, waiter: &Waiter, reply: Value) -> bool {
        let keyspace = self.keyspace;
        keyspace.end_wait(waiter, reply, &mut self.serving.get_or_insert_default().wakers)
    }

    /// Removes a waiter for good, and answers the reply that it has been given and nobody has
    /// read. The shards of all its keys must be locked for writing.
    pub(crate) fn withdraw(&mut self, waiter: &Waiter) -> Option<Value> {
        self.unregister(waiter);
        // With these locks nobody is serving it.
        let phase = std::mem::replace(&mut waiter.state.lock().phase, Phase::Gone);
        match phase {
            Phase::Over(reply) => Some(reply),
            Phase::Gone => None,
            Phase::Waiting | Phase::Claimed => {
                self.keyspace.blocked.leave(waiter);
                None
            }
        }
    }

    /// Removes a waiter's entries from the shards that are locked for writing.
    fn unregister(&mut self, waiter: &Waiter) {
        for key in &waiter.keys {
            if let Some(shard) = self.locks.get_mut(locate(key).0) {
                shard.waiting.remove(key, waiter);
            }
        }
    }
}

#[cfg(test)]
mod tests;
