//! [`Subscription`]: the messages of channels, as they are published.
//!
//! Messages are a hint and not a queue: who was not listening has not heard, and a connection that
//! is lost takes what was on its way along. What must not be lost belongs into a key; a message
//! then says that it is worth a look.

use std::future::Future;

use crate::bytes::Bytes;
use crate::commands::{Spec, pubsub};
use crate::error::{Error, ErrorKind, Result};
use crate::resp::Value;

/// What to listen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic<'a> {
    /// A channel (`SUBSCRIBE`).
    Channel(&'a [u8]),
    /// All channels whose name matches a glob-style pattern (`PSUBSCRIBE`).
    Pattern(&'a [u8]),
    /// A channel of one shard of a cluster (`SSUBSCRIBE`).
    Shard(&'a [u8]),
}

/// Which command line a subscription sends for a topic: its row and its argument.
pub(super) type Line<'t> = fn(Topic<'t>) -> (&'static Spec, &'t [u8]);

impl<'a> Topic<'a> {
    /// The line that begins to listen to it.
    pub(super) fn begin(self) -> (&'static Spec, &'a [u8]) {
        match self {
            Self::Channel(name) => (&pubsub::SUBSCRIBE, name),
            Self::Pattern(name) => (&pubsub::PSUBSCRIBE, name),
            Self::Shard(name) => (&pubsub::SSUBSCRIBE, name),
        }
    }

    /// The line that ends that.
    pub(super) fn end(self) -> (&'static Spec, &'a [u8]) {
        match self {
            Self::Channel(name) => (&pubsub::UNSUBSCRIBE, name),
            Self::Pattern(name) => (&pubsub::PUNSUBSCRIBE, name),
            Self::Shard(name) => (&pubsub::SUNSUBSCRIBE, name),
        }
    }
}

/// A message that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The channel it was published to.
    pub channel: Bytes,
    /// The pattern by which it was heard, if by one.
    pub pattern: Option<Bytes>,
    /// What was published.
    pub payload: Bytes,
}

/// Topics that one listens to, on a connection of one's own.
///
/// It never reconnects: once lost, [`next`](Self::next) fails, because nobody knows what was
/// published meanwhile. Subscribe again, look, and go on. Dropping it ends it. Otherwise calls fail
/// and cost as those of [`Backend`](super::Backend).
///
/// ```
/// use stockroom::backend::{Backend, Memory, Subscription, Topic, Wait, cmd};
///
/// let memory = Memory::new();
/// let mut news = memory.subscribe(&[Topic::Pattern(b"news.*")]).wait()?;
/// assert_eq!(memory.run(cmd::publish(b"news.sale", b"today")).wait()?, 1);
/// let message = news.next().wait()?;
/// assert_eq!((&*message.channel, &*message.payload), (&b"news.sale"[..], &b"today"[..]));
/// # Ok::<(), stockroom::Error>(())
/// ```
pub trait Subscription: Send + 'static {
    /// Listens to more topics. What is published from when this is done on is heard. One round
    /// trip.
    fn subscribe(&mut self, topics: &[Topic<'_>]) -> impl Future<Output = Result<()>> + Send;

    /// Listens no longer to some topics. Messages that have arrived by then are still given. One
    /// round trip.
    fn unsubscribe(&mut self, topics: &[Topic<'_>]) -> impl Future<Output = Result<()>> + Send;

    /// The next message, for which it waits as long as it takes. Dropping the future loses none.
    ///
    /// # Errors
    /// [`Unknown`](ErrorKind::Unknown) when the connection is lost, or more was left unread than
    /// there is room for: messages may be missing.
    fn next(&mut self) -> impl Future<Output = Result<Message>> + Send;
}

/// The error of a subscription that is over.
pub(super) fn over(why: &str) -> Error {
    Error::new(ErrorKind::Unknown, format!("messages may be missing: {why}"))
}

/// What a server's push says, if it is a message.
pub(super) fn message(push: Value) -> Option<Message> {
    let Value::Push(items) = push else { return None };
    match <[Value; 3]>::try_from(items) {
        Ok([Value::Bulk(kind), Value::Bulk(channel), Value::Bulk(payload)])
            if matches!(&*kind, b"message" | b"smessage") =>
        {
            Some(Message { channel, pattern: None, payload })
        }
        Ok(_) => None,
        Err(items) => match <[Value; 4]>::try_from(items) {
            Ok(
                [
                    Value::Bulk(kind),
                    Value::Bulk(pattern),
                    Value::Bulk(channel),
                    Value::Bulk(payload),
                ],
            ) if &*kind == b"pmessage" => {
                Some(Message { channel, pattern: Some(pattern), payload })
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(words: &[&str]) -> Value {
        Value::Push(words.iter().map(Value::bulk).collect())
    }

    #[test]
    fn pushes_that_are_messages_are_read_and_others_are_not() {
        let plain = message(push(&["message", "c", "m"]));
        let (channel, payload) = (Bytes::from("c"), Bytes::from("m"));
        let expected = Message { channel, pattern: None, payload };
        assert_eq!(plain.as_ref(), Some(&expected));
        assert_eq!(message(push(&["smessage", "c", "m"])), plain);
        let by_pattern = message(push(&["pmessage", "*", "c", "m"]));
        assert_eq!(by_pattern, Some(Message { pattern: Some("*".into()), ..expected }));
        for other in [push(&["subscribe", "c", "m"]), push(&["message", "c"]), push(&[])] {
            assert_eq!(message(other), None);
        }
        assert_eq!(message(push(&["message", "c", "m", "x"])), None);
        assert_eq!(message(Value::bulks(["message", "c", "m"])), None);
    }
}
