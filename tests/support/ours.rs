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
        let reply = reply_of(&session, &value);
        *self = Self::Idle(session);
        Some(reply)
    }

    pub(crate) fn closes(mut self) -> bool {
        let _ = self.reply();
        matches!(self, Self::Idle(session) if session.is_closing())
    }
}

/// What the engine answers: the bytes that a server would send, and what a client reads in them.
fn reply_of(session: &Session, value: &Value) -> Reply {
    let mut bytes = Vec::new();
    encode(value, session.protocol(), &mut bytes);
    let mut decoder = ReplyDecoder::default();
    decoder.feed(&bytes);
    match decoder.next_reply() {
        Ok(Some(value)) => Reply { bytes, value },
        other => panic!("the engine's reply is not RESP: {other:?} from {value:?}"),
    }
}
