//! [`OurSide`]: the engine's end of a connection, which may wait as a client of a server may.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use stockroom::Session;
use stockroom::resp::{ReplyDecoder, Value, encode};

use super::Reply;

/// The engine's end of a connection.
pub(crate) enum OurSide {
    Idle(Session),
    /// In the middle of a command. It owns the session until it has its reply.
    Busy(Pin<Box<dyn Future<Output = (Session, Value)>>>),
    /// Never, between two calls.
    Lost,
}

impl OurSide {
    /// Sends a command. The reply, unless it has to be waited for.
    pub(crate) fn begin(&mut self, argv: &[Vec<u8>]) -> Option<Reply> {
        let Self::Idle(mut session) = std::mem::replace(self, Self::Lost) else {
            panic!("a blocked client sends {argv:?}");
        };
        let argv = argv.to_vec();
        *self = Self::Busy(Box::pin(async move {
            let argv: Vec<&[u8]> = argv.iter().map(Vec::as_slice).collect();
            let reply = session.call_async(&argv).await;
            (session, reply)
        }));
        self.reply()
    }

    /// Whether it waits, and had no reply when it was last asked for.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    /// The reply that it waits for, if it is there.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        let Self::Busy(busy) = self else { return None };
        let Poll::Ready((session, value)) =
            busy.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            return None;
        };
        let mut session = session;
        let before = session.messages_before_reply();
        let mut all: Vec<Value> = (0..before).filter_map(|_| session.take_message()).collect();
        all.push(value);
        let reply = reply_of(&session, &all);
        *self = Self::Idle(session);
        Some(reply)
    }

    /// Whether it has subscribed to anything.
    pub(crate) fn listens(&self) -> bool {
        matches!(self, Self::Idle(session) if session.listens())
    }

    /// The next message, if it is there.
    pub(crate) fn message(&mut self) -> Option<Reply> {
        let Self::Idle(session) = self else { panic!("a blocked client is asked for messages") };
        let message = session.take_message()?;
        Some(reply_of(session, &[message]))
    }

    pub(crate) fn closes(mut self) -> bool {
        let _ = self.reply();
        matches!(self, Self::Idle(session) if session.is_closing())
    }
}

/// What the engine answers: the bytes that a server would send, and what a client reads last in
/// them.
fn reply_of(session: &Session, values: &[Value]) -> Reply {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| encode(value, session.protocol(), &mut bytes));
    let Some(value) = replies_in(&bytes).pop() else { panic!("no reply in {values:?}") };
    Reply { bytes, value }
}

/// The replies that a client reads in these bytes.
pub(crate) fn replies_in(bytes: &[u8]) -> Vec<Value> {
    let mut decoder = ReplyDecoder::default();
    decoder.feed(bytes);
    std::iter::from_fn(|| match decoder.next_reply() {
        Ok(next) => next,
        Err(error) => panic!("{} is not RESP: {error:?}", bytes.escape_ascii()),
    })
    .collect()
}
