//! [`Session`]: what a connection is to a server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::transaction::{Queue, Watches};
use super::{Client, Engine, Shared, dispatch, ops};
use crate::commands::{self, Flags, Run, SessionOp, Spec};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

/// A client's state: selected database, protocol, transaction queue, watched keys.
///
/// Dropping it gives up its watches, as closing a connection does.
#[derive(Debug)]
pub struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) id: u64,
    pub(super) db: usize,
    pub(super) protocol: Protocol,
    pub(super) queue: Option<Queue>,
    pub(super) watches: Watches,
    pub(super) closing: bool,
    commands: u64,
}

/// How many commands a session counts before it reports them, so that sessions on several cores
/// do not fight over the counter.
const REPORT_EVERY: u64 = 64;

impl Session {
    pub(super) fn new(shared: Arc<Shared>, id: u64) -> Self {
        shared.clients.insert(id, Client::default());
        Self {
            shared,
            id,
            db: 0,
            protocol: Protocol::Resp2,
            queue: None,
            watches: Watches::default(),
            closing: false,
            commands: 0,
        }
    }

    /// The session's number, as `CLIENT ID` answers.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> Engine {
        Engine { shared: Arc::clone(&self.shared) }
    }

    /// The protocol in which the client wants its replies.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the client has asked to be disconnected (`QUIT`).
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Runs a command line: its name, in any case, and its arguments.
    pub fn call(&mut self, argv: &[&[u8]]) -> Value {
        match commands::resolve(argv) {
            Ok(spec) => self.run_resolved(spec, argv),
            Err(error) => self.reject(error),
        }
    }

    /// Runs a command whose row is known; `argv` starts with its name.
    pub fn run(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Value {
        if spec.accepts(argv.len()) {
            self.run_resolved(spec, argv)
        } else {
            self.reject(spec.arity_error())
        }
    }

    /// An error before a command is run or queued: a transaction being queued is lost with it.
    fn reject(&mut self, error: WireError) -> Value {
        if let Some(queue) = &mut self.queue {
            queue.abort();
        }
        Value::Error(error)
    }

    fn run_resolved(&mut self, spec: &'static Spec, argv: &[&[u8]]) -> Value {
        if let Some(queue) = &mut self.queue {
            if spec.is(Flags::NO_MULTI) {
                return self.reject(NOT_IN_MULTI);
            }
            if !runs_at_once(spec) {
                queue.push(spec, argv);
                return Value::simple("QUEUED");
            }
        }
        self.count();
        match spec.run {
            Run::Data(_) | Run::Plain(_) => {
                dispatch::run(&self.shared, spec, argv, self.db, self.protocol)
            }
            Run::Session(op) | Run::Server(op) => {
                let shared = Arc::clone(&self.shared);
                let scope = dispatch::whole(spec);
                let mut cx = dispatch::context(&shared, &scope, self.db, self.protocol);
                ops::run(self, op, &mut cx, argv).into()
            }
            Run::Container => Value::Error(spec.arity_error()),
        }
    }

    fn count(&mut self) {
        self.commands += 1;
        if self.commands.is_multiple_of(REPORT_EVERY) {
            self.shared.commands.fetch_add(REPORT_EVERY, Ordering::Relaxed);
        }
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
        self.shared.clients.remove(&self.id);
        self.shared.commands.fetch_add(self.commands % REPORT_EVERY, Ordering::Relaxed);
    }
}
