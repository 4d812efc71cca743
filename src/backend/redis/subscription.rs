//! [`RedisSubscription`]: a connection that listens.
//!
//! It speaks RESP3, in which messages are told apart from replies by the client library. Its reader
//! is always reading, so a bound is kept here: who leaves more unread is told so, instead of
//! missing a part of it silently.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, ConnectionInfo, ProtocolVersion, PushInfo, PushKind};
use tokio::sync::Notify;

use super::Inner;
use super::link::{Inside, Link};
use super::reply::convert;
use crate::backend::subscription::{Line, Message, Subscription, Topic, over};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::resp::Value;

/// Bytes of messages that may be left unread, as many as a Redis server keeps for a client.
const MOST_UNREAD: usize = 32 << 20;

const LOST: &str = "the connection is lost";

/// A subscription of [`Redis`](super::Redis).
#[derive(Debug)]
pub struct RedisSubscription {
    inner: Arc<Inner>,
    link: Link,
    inbox: Arc<Inbox>,
}

/// What has arrived.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    unread: Mutex<Unread>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Unread {
    messages: VecDeque<Message>,
    bytes: usize,
    over: Option<&'static str>,
}

/// How much memory a message takes, about.
fn size(message: &Message) -> usize {
    size_of::<Message>() + message.channel.len() + message.payload.len()
}

impl Inbox {
    /// The next message, or why there is none any more. `None`: not yet.
    fn next(&self) -> Option<Result<Message>> {
        let unread = &mut *self.unread.lock();
        if let Some(message) = unread.messages.pop_front() {
            unread.bytes -= size(&message);
            return Some(Ok(message));
        }
        unread.over.map(|why| Err(over(why)))
    }

    /// Takes in what the client library has read.
    fn take_in(&self, push: PushInfo) {
        let PushInfo { kind, data } = push;
        let unread = &mut *self.unread.lock();
        match kind {
            PushKind::Disconnection => unread.over = unread.over.or(Some(LOST)),
            PushKind::Message | PushKind::SMessage | PushKind::PMessage => {
                let Some(message) = read(data) else { return };
                unread.bytes += size(&message);
                if unread.bytes > MOST_UNREAD {
                    *unread =
                        Unread { over: Some("too many were left unread"), ..Unread::default() };
                } else if unread.over.is_none() {
                    unread.messages.push_back(message);
                }
            }
            _ => return,
        }
        self.arrived.notify_one();
    }
}

/// The message of a push: its channel and what was published, behind the pattern if there is one.
pub(super) fn read(data: Vec<redis::Value>) -> Option<Message> {
    let words: Option<Vec<Bytes>> = data
        .into_iter()
        .map(|word| match convert(word) {
            Value::Bulk(word) => Some(word),
            _ => None,
        })
        .collect();
    let mut words = words?.into_iter().rev();
    let (payload, channel) = (words.next()?, words.next()?);
    Some(Message { channel, pattern: words.next(), payload })
}

/// Opens a connection that speaks RESP3, whose pushes go to `hear`.
pub(super) async fn connect(
    inner: &Inner,
    hear: impl Fn(PushInfo) + Send + Sync + 'static,
) -> Result<Link> {
    let config = AsyncConnectionConfig::new().set_push_sender(move |push| {
        hear(push);
        Ok::<(), redis::aio::SendError>(())
    });
    let settings = inner.info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let info: ConnectionInfo = inner.info.clone().set_redis_settings(settings);
    Link::connect_with(&info, inner.config.connect_timeout, config).await
}

/// Sends a line for each topic: so each has one reply.
pub(super) async fn say<'t>(
    inner: &Inner,
    link: &Link,
    topics: &[Topic<'t>],
    line: Line<'t>,
) -> Result<()> {
    if topics.is_empty() {
        return Ok(());
    }
    let mut packed = redis::Pipeline::with_capacity(topics.len());
    for topic in topics {
        let (spec, name) = line(*topic);
        packed.cmd(spec.name).arg(name);
    }
    inner.counters.trip(topics.len());
    let replies = link.send(&packed, inner.config.reply_timeout).await?;
    let refused = replies.into_iter().find_map(|reply| match reply {
        Value::Error(error) => Some(Error::refused(&error)),
        _ => None,
    });
    refused.map_or(Ok(()), Err)
}

impl RedisSubscription {
    pub(super) async fn open(inner: Arc<Inner>, topics: &[Topic<'_>]) -> Result<Self> {
        let inbox = Arc::new(Inbox::default());
        let taking = Arc::clone(&inbox);
        let link = connect(&inner, move |push| taking.take_in(push)).await?;
        let this = Self { inner, link, inbox };
        this.change(topics, Topic::begin).await?;
        Ok(this)
    }

    async fn change<'t>(&self, topics: &[Topic<'t>], line: Line<'t>) -> Result<()> {
        say(&self.inner, &self.link, topics, line).await
    }
}

impl Subscription for RedisSubscription {
    async fn subscribe(&mut self, topics: &[Topic<'_>]) -> Result<()> {
        let change = self.change(topics, Topic::begin);
        Inside::new(&self.inner.runtime, change).await
    }

    async fn unsubscribe(&mut self, topics: &[Topic<'_>]) -> Result<()> {
        let change = self.change(topics, Topic::end);
        Inside::new(&self.inner.runtime, change).await
    }

    async fn next(&mut self) -> Result<Message> {
        loop {
            // A permit that was given before is not lost: it is taken at the next wait.
            if let Some(next) = self.inbox.next() {
                return next;
            }
            if !self.link.is_open() {
                // What its driver had to say, it has said.
                return self.inbox.next().unwrap_or_else(|| Err(over(LOST)));
            }
            self.inbox.arrived.notified().await;
        }
    }
}
