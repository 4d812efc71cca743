//! [`Cx`]: what a handler works with.

use crate::db::Db;
use crate::env::{Env, Timestamp};
use crate::resp::Protocol;

/// The context of one call.
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
}

impl Cx<'_> {
    /// The time of the call in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.db.now_ms()
    }

    /// Whether the client speaks RESP3.
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }
}
