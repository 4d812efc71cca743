//! Clients that listen: who has subscribed to which channel, pattern or shard channel.
//!
//! A message goes into the [`Listener`] of every client that has subscribed, and each reads its own
//! when it likes. One lock orders all messages, so that any two clients see them in one order. It
//! is taken behind the locks of the keys, for one message at a time, and not at all while nobody
//! listens; so another thread's message may come between two of one transaction.
//!
//! Invariants: a listener knows its topics, and each of these knows the listener; no topic is kept
//! without a listener; what a listener has not read is bounded, and one that reads too slowly is
//! cut off rather than misled by a gap; wakers are called when no lock is held.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::Mutex;

use super::view::Db;
use super::{Keyspace, Wakers};
use crate::bytes::Bytes;
use crate::resp::Value;
use crate::types::glob::glob_match;

/// Bytes of messages that a client may leave unread: the hard limit that Redis has by default.
const MOST_UNREAD: usize = 32 << 20;

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A channel.
    Channel,
    /// All channels whose names match a pattern.
    Pattern,
    /// A shard channel.
    Shard,
}

impl Topic {
    const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];

    fn kind(self) -> &'static str {
        match self {
            Self::Channel => "message",
            Self::Pattern => "pmessage",
            Self::Shard => "smessage",
        }
    }
}

/// A message as a listener gets it.
#[derive(Clone, Debug)]
struct Message {
    /// The same for all who get it: how many messages there have been, with this one.
    number: u64,
    topic: Topic,
    /// What it has subscribed to: the pattern, or the channel itself.
    name: Bytes,
    channel: Bytes,
    text: Bytes,
}

impl Message {
    /// How much memory it takes, about.
    fn size(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.channel.len() + self.text.len()
    }

    fn into_value(self) -> Value {
        let mut items = vec![Value::bulk(self.topic.kind())];
        if self.topic == Topic::Pattern {
            items.push(Value::Bulk(self.name));
        }
        items.extend([Value::Bulk(self.channel), Value::Bulk(self.text)]);
        Value::Push(items)
    }
}

/// A client's end: what it has subscribed to, and what it has not read yet.
#[derive(Debug)]
pub(crate) struct Listener {
    id: u64,
    topics: Mutex<[BTreeSet<Bytes>; 3]>,
    inbox: Mutex<Inbox>,
    overrun: AtomicBool,
}

#[derive(Debug, Default)]
struct Inbox {
    unread: VecDeque<Message>,
    bytes: usize,
    waker: Option<Waker>,
}

impl Listener {
    /// The listener of the client of this number.
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            topics: Mutex::default(),
            inbox: Mutex::default(),
            overrun: AtomicBool::new(false),
        }
    }

    /// How many of a kind it has subscribed to.
    pub(crate) fn count(&self, topic: Topic) -> usize {
        self.topics.lock()[topic as usize].len()
    }

    /// How many channels and patterns it has subscribed to.
    pub(crate) fn channels_and_patterns(&self) -> usize {
        let topics = self.topics.lock();
        topics[Topic::Channel as usize].len() + topics[Topic::Pattern as usize].len()
    }

    /// Whether it has subscribed to anything.
    pub(crate) fn listens(&self) -> bool {
        self.topics.lock().iter().any(|names| !names.is_empty())
    }

    /// What it has subscribed to, in order.
    pub(crate) fn names(&self, topic: Topic) -> Vec<Bytes> {
        self.topics.lock()[topic as usize].iter().cloned().collect()
    }

    /// Whether more was left unread than there is room for: messages are missing then.
    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Acquire)
    }

    /// How many messages are unread of those up to a number. O(log n).
    pub(crate) fn unread_until(&self, number: u64) -> usize {
        self.inbox.lock().unread.partition_point(|message| message.number <= number)
    }

    /// Bytes of memory that they hold.
    pub(crate) fn bytes(&self) -> usize {
        self.inbox.lock().bytes
    }

    /// The first unread message.
    pub(crate) fn take(&self) -> Option<Value> {
        let inbox = &mut *self.inbox.lock();
        let message = inbox.unread.pop_front()?;
        inbox.bytes -= message.size();
        Some(message.into_value())
    }

    /// Ready once there is something to take, if somebody `takes` it, or nothing more will come.
    /// The last task that asked is woken.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, takes: bool) -> Poll<()> {
        let inbox = &mut *self.inbox.lock();
        if (takes && !inbox.unread.is_empty()) || self.is_overrun() {
            return Poll::Ready(());
        }
        inbox.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn put(&self, message: Message, wakers: &mut Wakers) {
        if self.is_overrun() {
            return;
        }
        let inbox = &mut *self.inbox.lock();
        wakers.add(inbox.waker.take());
        if inbox.bytes + message.size() > MOST_UNREAD {
            self.overrun.store(true, Ordering::Release);
            *inbox = Inbox::default();
            return;
        }
        inbox.bytes += message.size();
        inbox.unread.push_back(message);
    }
}

type Listeners = BTreeMap<u64, Arc<Listener>>;

/// All who listen.
#[derive(Debug, Default)]
pub(super) struct Listening {
    /// Topics that somebody listens to.
    topics: AtomicUsize,
    /// Messages that somebody has got so far. Counted once they are where they belong.
    messages: AtomicU64,
    names: Mutex<[HashMap<Bytes, Listeners, FixedState>; 3]>,
}

impl Keyspace {
    /// The number of the last message so far.
    pub(crate) fn last_message(&self) -> u64 {
        self.listening.messages.load(Ordering::Acquire)
    }

    /// Subscribes a client; also if it has done so before. The number of the last message before:
    /// what comes later belongs behind the reply.
    pub(crate) fn subscribe(&self, listener: &Arc<Listener>, topic: Topic, name: &[u8]) -> u64 {
        let names = &mut self.listening.names.lock()[topic as usize];
        let before = self.last_message();
        let name = Bytes::copy_from(name);
        if listener.topics.lock()[topic as usize].insert(name.clone()) {
            let listeners = names.entry(name).or_default();
            if listeners.is_empty() {
                self.listening.topics.fetch_add(1, Ordering::AcqRel);
            }
            listeners.insert(listener.id, Arc::clone(listener));
        }
        before
    }

    /// Ends a subscription, if there is one.
    pub(crate) fn unsubscribe(&self, listener: &Listener, topic: Topic, name: &[u8]) {
        let names = &mut self.listening.names.lock()[topic as usize];
        if !listener.topics.lock()[topic as usize].remove(name) {
            return;
        }
        if let Some(listeners) = names.get_mut(name) {
            listeners.remove(&listener.id);
            if listeners.is_empty() {
                names.remove(name);
                self.listening.topics.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Ends all subscriptions of a client. What it has not read yet it can still read.
    pub(crate) fn unsubscribe_all(&self, listener: &Listener) {
        for topic in Topic::ALL {
            for name in listener.names(topic) {
                self.unsubscribe(listener, topic, &name);
            }
        }
    }

    /// How many channels, patterns or shard channels somebody has subscribed to.
    pub(crate) fn topics(&self, topic: Topic) -> usize {
        self.listening.names.lock()[topic as usize].len()
    }
}

impl Db<'_> {
    /// Sends a message to who has subscribed to its channel, and, unless that is a shard channel,
    /// to a pattern that matches; how many got it, counting those twice who get it twice. They are
    /// woken after the command. O(clients that get it + patterns); a load while nobody listens.
    pub(crate) fn publish(&mut self, topic: Topic, channel: &[u8], text: &[u8]) -> usize {
        let listening = &self.keyspace.listening;
        if listening.topics.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let wakers = &mut self.serving.get_or_insert_default().wakers;
        let names = listening.names.lock();
        let number = listening.messages.load(Ordering::Acquire) + 1;
        let (channel, text) = (Bytes::copy_from(channel), Bytes::copy_from(text));
        let mut sent = 0;
        let mut send = |topic, name: &Bytes, listeners: &Listeners| {
            for listener in listeners.values() {
                let (name, channel, text) = (name.clone(), channel.clone(), text.clone());
                listener.put(Message { number, topic, name, channel, text }, wakers);
                sent += 1;
            }
        };
        if let Some((name, listeners)) = names[topic as usize].get_key_value(&channel) {
            send(topic, name, listeners);
        }
        if topic == Topic::Channel {
            let patterns = names[Topic::Pattern as usize].iter();
            let mut matching: Vec<_> =
                patterns.filter(|(pattern, _)| glob_match(pattern, &channel, false)).collect();
            matching.sort_unstable_by_key(|(pattern, _)| *pattern);
            for (pattern, listeners) in matching {
                send(Topic::Pattern, pattern, listeners);
            }
        }
        if sent > 0 {
            listening.messages.store(number, Ordering::Release);
        }
        sent
    }

    /// The channels, patterns or shard channels that somebody has subscribed to, in order.
    pub(crate) fn topic_names(&self, topic: Topic) -> Vec<Bytes> {
        let names = self.keyspace.listening.names.lock();
        let mut names: Vec<Bytes> = names[topic as usize].keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// How many there are.
    pub(crate) fn topics(&self, topic: Topic) -> usize {
        self.keyspace.topics(topic)
    }

    /// How many clients have subscribed to a name.
    pub(crate) fn listeners(&self, topic: Topic, name: &[u8]) -> usize {
        let names = self.keyspace.listening.names.lock();
        names[topic as usize].get(name).map_or(0, BTreeMap::len)
    }
}
