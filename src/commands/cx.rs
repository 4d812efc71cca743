//! [`Cx`]: what a handler works with.

use std::sync::Arc;

use super::{Reply, blocking};
use crate::db::{Db, Waiter, Want};
use crate::env::{Env, Timestamp};
use crate::resp::{Protocol, Value};

/// The context of one call, of one transaction or of one script.
///
/// When it is dropped, at the end of what nobody else may see half of, clients that wait for what
/// has become ready are served, and only then the locks are given up.
#[derive(Debug)]
pub struct Cx<'k> {
    /// The keys, through the locks that the command's row asks for.
    pub db: Db<'k>,
    /// Where randomness comes from. The time is in [`now`](Self::now): it stands still during a
    /// command, and during a transaction.
    pub env: &'k Env,
    /// The time of the call.
    pub now: Timestamp,
    /// The protocol that the reply goes out in. Most replies do not depend on it.
    pub protocol: Protocol,
    /// Whether the command may wait, and whether it does.
    pub(crate) waits: Waits,
}

/// Whether a command waits for a key.
#[derive(Debug)]
pub(crate) enum Waits {
    /// It may not: it runs in a transaction, in a script, or without a client of its own.
    Never,
    /// It may.
    Maybe,
    /// It does, and its reply comes later.
    Yes(Arc<Waiter>),
}

impl<'k> Cx<'k> {
    /// The context of a call that may not wait.
    pub(crate) fn new(db: Db<'k>, env: &'k Env, now: Timestamp, protocol: Protocol) -> Self {
        Self { db, env, now, protocol, waits: Waits::Never }
    }

    /// The time of the call in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.db.now_ms()
    }

    /// Whether the client speaks RESP3.
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    /// Waits for one of `keys`, up to the end of the millisecond `deadline_ms`. Where a command may
    /// not wait, it answers `otherwise` at once.
    pub(crate) fn wait_for(
        &mut self,
        keys: &[&[u8]],
        want: Want,
        deadline_ms: Option<i64>,
        otherwise: Value,
    ) -> Reply {
        if let Waits::Maybe = self.waits {
            self.waits = Waits::Yes(self.db.wait(keys, want, deadline_ms));
        }
        Ok(otherwise)
    }
}

impl Drop for Cx<'_> {
    fn drop(&mut self) {
        if self.db.has_ready() {
            blocking::serve(self);
        }
    }
}
