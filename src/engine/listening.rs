//! A session that listens: the messages of channels, patterns and shard channels.
//!
//! Messages arrive beside the replies. Who runs commands in this process asks for them when it
//! likes ([`Session::message`]); a server puts them between the replies.
//!
//! A client that speaks RESP2 and has subscribed to something may only change what it has
//! subscribed to, ask whether the server is there, and leave: it could not tell a message from a
//! reply.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use super::Session;
use crate::commands::{Run, SessionOp, Spec};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

impl Session {
    /// Whether it has subscribed to anything.
    pub fn listens(&self) -> bool {
        self.client.listens()
    }

    /// The first message that has arrived and has not been read: a [`Value::Push`] as Redis sends
    /// it, such as `message`, the channel and the text.
    ///
    /// ```
    /// use stockroom::{Engine, resp::Value};
    ///
    /// let engine = Engine::new();
    /// let (mut ada, mut bob) = (engine.session(), engine.session());
    /// ada.call(&[b"SUBSCRIBE", b"news"]);
    /// assert_eq!(bob.call(&[b"PUBLISH", b"news", b"sale"]), Value::Int(1));
    /// let Some(Value::Push(items)) = ada.take_message() else { panic!() };
    /// assert_eq!(Value::Array(items), Value::bulks(["message", "news", "sale"]));
    /// assert_eq!(ada.take_message(), None);
    /// ```
    pub fn take_message(&mut self) -> Option<Value> {
        self.client.listener()?.take()
    }

    /// The next message, for which it waits. `None`: there will be none, because the session is
    /// over, or listens to nothing. The last task that asked is woken.
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Value>> {
        if let Some(message) = self.take_message() {
            return Poll::Ready(Some(message));
        }
        if self.is_closing() || self.client.poll_killed(cx).is_ready() || !self.listens() {
            return Poll::Ready(None);
        }
        ready!(self.poll_unread(cx, true));
        Poll::Ready(self.take_message())
    }

    /// The next message; see [`poll_message`](Self::poll_message). Dropping the future loses
    /// nothing.
    pub async fn message(&mut self) -> Option<Value> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    /// How many of the messages that have not been read a server must send before the reply to the
    /// last command: those after it came when it had been run.
    pub fn messages_before_reply(&self) -> usize {
        self.client.messages_before_reply()
    }

    /// How many messages have not been read.
    #[cfg(feature = "server")]
    pub(crate) fn unread(&self) -> usize {
        self.client.listener().map_or(0, |listener| listener.unread_until(u64::MAX))
    }

    /// Ready once there is a message to take, if somebody `takes` it, or there is no more room for
    /// more. Never if it has not subscribed to anything.
    pub(crate) fn poll_unread(&self, cx: &mut Context<'_>, takes: bool) -> Poll<()> {
        self.client.listener().map_or(Poll::Pending, |listener| listener.poll(cx, takes))
    }

    pub(super) fn is_overrun(&self) -> bool {
        self.client.listener().is_some_and(|listener| listener.is_overrun())
    }

    pub(super) fn unsubscribe_all(&self) {
        if let Some(listener) = self.client.listener() {
            self.shared.keyspace.unsubscribe_all(listener);
        }
    }

    /// What PING answers a client that listens, in RESP2: a message, too.
    #[inline]
    pub(super) fn pong(&self, spec: &Spec, argv: &[&[u8]]) -> Option<Value> {
        self.client.listener()?;
        if spec.name != "PING" || self.protocol != Protocol::Resp2 || !self.listens() {
            return None;
        }
        match argv {
            [_] => Some(Value::bulks(["pong", ""])),
            [_, text] => Some(Value::bulks([b"pong", *text])),
            _ => None,
        }
    }
}

/// Whether a client that listens may run a command in RESP2.
#[inline]
pub(super) fn is_for_listeners(spec: &Spec) -> bool {
    use SessionOp::{
        Psubscribe, Punsubscribe, Quit, Reset, Ssubscribe, Subscribe, Sunsubscribe, Unsubscribe,
    };
    match spec.run {
        Run::Session(op) => matches!(
            op,
            Psubscribe
                | Punsubscribe
                | Quit
                | Reset
                | Ssubscribe
                | Subscribe
                | Sunsubscribe
                | Unsubscribe
        ),
        Run::Plain(_) => spec.name == "PING",
        _ => false,
    }
}

/// The error for any other.
pub(super) fn only_for_listeners(spec: &Spec) -> WireError {
    WireError::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
         allowed in this context",
        spec.lower_name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::wait;
    use crate::{Engine, Env, Timestamp};

    fn publish(session: &mut Session, text: &[u8]) -> Value {
        session.call(&[b"PUBLISH", b"c", text])
    }

    #[test]
    fn who_leaves_too_much_unread_is_cut_off() {
        let engine = Engine::new();
        let (mut slow, mut quick, mut p) = (engine.session(), engine.session(), engine.session());
        slow.call(&[b"SUBSCRIBE", b"c"]);
        quick.call(&[b"SUBSCRIBE", b"c"]);
        let text = vec![b'x'; 1 << 20];
        for _ in 0..31 {
            assert_eq!(publish(&mut p, &text), Value::Int(2));
            assert!(quick.take_message().is_some());
        }
        assert!(slow.held() > 31 << 20 && !slow.is_closing());
        publish(&mut p, &text);
        assert!(quick.take_message().is_some());
        assert!(slow.is_closing(), "no gap is hidden");
        assert_eq!((slow.held(), slow.take_message()), (0, None));
        assert_eq!(wait(slow.message()), None);
        assert!(slow.call(&[b"PING"]).is_error());
        drop(slow);
        assert_eq!(publish(&mut p, &text), Value::Int(1));
    }

    #[test]
    fn a_message_wakes_who_waits_for_one() {
        let engine = Engine::with_env(Env::manual(Timestamp::from_secs(1), 1));
        let mut listener = engine.session();
        assert_eq!(wait(listener.message()), None, "nothing is subscribed to");
        listener.call(&[b"SUBSCRIBE", b"c"]);
        let heard = std::thread::spawn(move || {
            let heard = wait(listener.message());
            (heard, wait(listener.message()))
        });
        let mut p = engine.session();
        while publish(&mut p, b"m") != Value::Int(1) {}
        let id = |session: &mut Session| session.call(&[b"CLIENT", b"KILL", b"TYPE", b"pubsub"]);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(id(&mut p), Value::Int(1));
        let (heard, after) = heard.join().unwrap();
        let message = vec![Value::bulk("message"), Value::bulk("c"), Value::bulk("m")];
        assert_eq!(heard, Some(Value::Push(message)));
        assert_eq!(after, None, "it was killed");
    }

    #[test]
    fn a_session_that_ends_listens_no_longer() {
        let engine = Engine::new();
        let mut p = engine.session();
        for end in ["drop", "RESET"] {
            let mut listener = engine.session();
            listener.call(&[b"SUBSCRIBE", b"c", b"d"]);
            listener.call(&[b"PSUBSCRIBE", b"*"]);
            listener.call(&[b"SSUBSCRIBE", b"c"]);
            assert_eq!(publish(&mut p, b"m"), Value::Int(2));
            if end == "RESET" {
                listener.call(&[b"RESET"]);
                assert!(!listener.listens());
            } else {
                drop(listener);
            }
            assert_eq!(publish(&mut p, b"m"), Value::Int(0));
            assert_eq!(p.call(&[b"SPUBLISH", b"c", b"m"]), Value::Int(0));
            assert_eq!(p.call(&[b"PUBSUB", b"CHANNELS"]), Value::Array(Vec::new()));
            assert_eq!(p.call(&[b"PUBSUB", b"NUMPAT"]), Value::Int(0));
        }
    }

    #[test]
    fn threads_hear_what_threads_publish_in_one_order() {
        let engine = Engine::new();
        let mut listeners: Vec<Session> = (0..3).map(|_| engine.session()).collect();
        listeners.iter_mut().for_each(|l| drop(l.call(&[b"SUBSCRIBE", b"c"])));
        std::thread::scope(|scope| {
            for publisher in 0..3_u8 {
                let mut session = engine.session();
                scope.spawn(move || {
                    for n in 0..200_u8 {
                        publish(&mut session, &[publisher, n]);
                    }
                });
            }
        });
        let heard: Vec<Vec<Value>> = listeners
            .iter_mut()
            .map(|l| std::iter::from_fn(|| l.take_message()).collect())
            .collect();
        assert_eq!(heard[0].len(), 600);
        assert!(heard.iter().all(|other| *other == heard[0]));
    }
}
