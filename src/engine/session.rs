//! [`Session`]: what a connection is to a server.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::blocked::Begun;
use super::client::Client;
use super::listening::{is_for_listeners, only_for_listeners};
use super::transaction::{self, Queue, Watches};
use super::{Engine, Shared, dispatch, ops, script};
use crate::commands::{self, Flags, Run, SessionOp, Spec};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

/// A client's state: selected database, protocol, transaction queue, watched keys, what it has
/// subscribed to.
///
/// Dropping it gives up its watches and its subscriptions, as closing a connection does.
#[derive(Debug)]
pub struct Session {
    pub(super) shared: Arc<Shared>,
    /// What others see of it.
    pub(super) client: Arc<Client>,
    pub(super) db: usize,
    pub(super) protocol: Protocol,
    pub(super) queue: Option<Queue>,
    pub(super) watches: Watches,
    pub(super) closing: bool,
    pub(super) wanted: Wanted,
}

/// Which replies the client wants, by CLIENT REPLY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All.
    #[default]
    On,
    /// None, from the command that asks for this on.
    Off,
    /// Neither that of the command that asks for this nor the next.
    SkipNext,
    /// Not this one.
    Skip,
}

pub(super) const CLOSED: WireError = WireError::fixed("ERR the session is closed");

impl Session {
    pub(super) fn new(shared: Arc<Shared>, id: u64) -> Self {
        let client = Arc::new(Client::new(id, shared.env.now()));
        shared.clients.insert(id, Arc::clone(&client));
        Self::of(shared, client)
    }

    /// A session that is not in the list of clients.
    #[cfg(feature = "lua")]
    pub(super) fn hidden(shared: Arc<Shared>) -> Self {
        let client = Arc::new(Client::new(0, shared.env.now()));
        Self::of(shared, client)
    }

    fn of(shared: Arc<Shared>, client: Arc<Client>) -> Self {
        Self {
            shared,
            client,
            db: 0,
            protocol: Protocol::Resp2,
            queue: None,
            watches: Watches::default(),
            closing: false,
            wanted: Wanted::On,
        }
    }

    /// The session's number, as `CLIENT ID` answers.
    pub fn id(&self) -> u64 {
        self.client.id
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> Engine {
        Engine { shared: Arc::clone(&self.shared) }
    }

    /// The protocol in which the client wants its replies.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the session is over: the client has asked to be disconnected (`QUIT`), or another
    /// has had it disconnected (`CLIENT KILL`), or it has left too many messages unread. Every
    /// further command is answered with an error.
    pub fn is_closing(&self) -> bool {
        self.closing || self.client.is_killed() || self.is_overrun()
    }

    /// Ready once another client has had this session disconnected (`CLIENT KILL`), for a server
    /// that waits for requests meanwhile. The last task that asked is woken.
    pub fn poll_killed(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.client.poll_killed(cx)
    }

    /// Whether the client does not want the reply to the last command (`CLIENT REPLY`).
    pub fn is_silent(&self) -> bool {
        self.wanted != Wanted::On
    }

    /// Says where the client is and where it has connected to, for `CLIENT LIST` and its kin. A
    /// session in this process is at `process:` and its number.
    pub fn set_addresses(&mut self, peer: impl Into<String>, local: impl Into<String>) {
        self.client.set_addresses(peer.into(), local.into());
    }

    /// Runs a command line: its name, in any case, and its arguments.
    ///
    /// A command that waits for a key (`BLPOP` and its kin) holds up the calling thread meanwhile;
    /// [`start`](Self::start) and [`call_async`](Self::call_async) do not.
    pub fn call(&mut self, argv: &[&[u8]]) -> Value {
        self.begin(argv).finish()
    }

    /// Runs a command whose row is known; `argv` starts with its name. Waits as
    /// [`call`](Self::call) does.
    pub fn run(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Value {
        self.begin_spec(spec, argv).finish()
    }

    /// Whether a command line runs a script, alone or in the transaction that it ends.
    #[cfg(feature = "server")]
    pub(crate) fn runs_script(&self, argv: &[&[u8]]) -> bool {
        let Some(name) = argv.first().filter(|name| matches!(name.first(), Some(b'e' | b'E')))
        else {
            return false;
        };
        match commands::lookup(name).map(|spec| spec.run) {
            Some(Run::Script(_)) => true,
            Some(Run::Session(SessionOp::Exec)) => {
                self.queue.as_ref().is_some_and(transaction::Queue::has_script)
            }
            _ => false,
        }
    }

    /// Runs a command line as far as it goes without waiting.
    pub(crate) fn begin(&mut self, argv: &[&[u8]]) -> Begun {
        match commands::find(argv) {
            Ok(spec) => self.begin_spec(spec, argv),
            Err(error) => {
                self.client.runs(None);
                Begun::Ready(self.reject(error, None))
            }
        }
    }

    /// As [`begin`](Self::begin) for a command whose row is known.
    pub(super) fn begin_spec(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Begun {
        if spec.accepts(argv.len()) {
            self.run_resolved(spec, argv)
        } else {
            self.client.runs(Some(spec));
            Begun::Ready(self.reject(spec.arity_error(), Some(spec)))
        }
    }

    /// An error before a command is run or queued: a transaction being queued is lost with it, and
    /// a misspelt EXEC ends it.
    fn reject(&mut self, error: WireError, spec: Option<&'static Spec>) -> Value {
        self.next_reply();
        if spec.is_some_and(|spec| matches!(spec.run, Run::Session(SessionOp::Exec))) {
            self.abandon();
            return Value::Error(transaction::exec_aborted(&error));
        }
        if let Some(queue) = &mut self.queue {
            queue.abort();
        }
        Value::Error(error)
    }

    fn run_resolved(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Begun {
        if self.is_closing() {
            return Begun::Ready(Value::Error(CLOSED));
        }
        self.client.runs(Some(spec));
        if self.protocol == Protocol::Resp2 && !is_for_listeners(spec) && self.listens() {
            return Begun::Ready(self.reject(only_for_listeners(spec), Some(spec)));
        }
        if !spec.is(Flags::ALLOW_BUSY) && script::is_overdue(&self.shared) {
            return Begun::Ready(self.reject(dispatch::BUSY, Some(spec)));
        }
        if let Some(queue) = &mut self.queue {
            if spec.is(Flags::NO_MULTI) {
                return Begun::Ready(self.reject(NOT_IN_MULTI, Some(spec)));
            }
            if !runs_at_once(spec) {
                // Nothing of it will be run once a watched key has changed.
                if !self.watches.are_touched() {
                    queue.push(spec, argv);
                }
                self.client.set_queued(Some(queue.len()));
                self.next_reply();
                return Begun::Ready(Value::simple("QUEUED"));
            }
        }
        self.next_reply();
        if spec.is(Flags::BLOCKING) {
            return self.run_blocking(spec, argv);
        }
        let reply = match spec.run {
            Run::Plain(_) if let Some(pong) = self.pong(spec, argv) => pong,
            Run::Data(_) | Run::Plain(_) | Run::Script(_) => {
                let client = Some(&*self.client);
                dispatch::run(&self.shared, spec, argv, self.db, self.protocol, client)
            }
            Run::Session(op) | Run::Server(op) => {
                let shared = Arc::clone(&self.shared);
                let scope = dispatch::scope(spec, argv);
                match dispatch::context(&shared, scope, self.db, self.protocol) {
                    Ok(mut cx) => {
                        self.client.is_active(cx.now);
                        ops::run(self, op, &mut cx, argv).into()
                    }
                    Err(busy) => Value::Error(busy),
                }
            }
            Run::Container => Value::Error(spec.arity_error()),
        };
        self.client.has_run();
        Begun::Ready(reply)
    }

    /// Moves what CLIENT REPLY has asked for on to the next command.
    fn next_reply(&mut self) {
        self.client.set_before_reply(u64::MAX);
        self.wanted = match self.wanted {
            Wanted::On | Wanted::Skip => Wanted::On,
            Wanted::Off => Wanted::Off,
            Wanted::SkipNext => Wanted::Skip,
        };
    }
}

pub(super) const NOT_IN_MULTI: WireError =
    WireError::fixed("ERR Command not allowed inside a transaction");

/// Commands that are not queued inside MULTI.
pub(super) fn runs_at_once(spec: &Spec) -> bool {
    use SessionOp::{Discard, Exec, Multi, Quit, Reset, Watch};
    matches!(spec.run, Run::Session(Exec | Discard | Multi | Watch | Quit | Reset))
}

impl Drop for Session {
    fn drop(&mut self) {
        self.unwatch_all();
        self.shared.leave(&self.client);
    }
}
