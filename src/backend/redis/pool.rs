//! [`Pool`]: the connections that sessions have to themselves.
//!
//! Why not a pool from a crate: it would have to ask a connection whether it still lives, with a
//! round trip at every session, and could not tell a session that was never sent from one that
//! was. A link knows when it is closed.
//!
//! Invariants: a link is with one session or idle, never both; one that failed, or whose last call
//! was cancelled, never comes back.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::link::{Link, not_sent};
use crate::error::Result;

/// A link that waits for its next session.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) link: Link,
    /// Whether its last session left watches behind.
    pub(super) watching: bool,
}

#[derive(Debug)]
pub(super) struct Pool {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    size: usize,
}

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(size));
        Self { permits, idle: Mutex::default(), size }
    }

    /// Waits for the right to one more session, at most `limit`.
    pub(super) async fn permit(&self, limit: Duration) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(limit, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(not_sent(&format!("all {} sessions were busy for {limit:?}", self.size))),
        }
    }

    /// An idle link that still stands. The most recently used one: the others may time out.
    pub(super) fn take(&self) -> Option<Idle> {
        let mut idle = self.idle.lock();
        while let Some(last) = idle.pop() {
            if last.link.is_open() {
                return Some(last);
            }
        }
        None
    }

    /// Gives a healthy link back.
    pub(super) fn give_back(&self, idle: Idle) {
        self.idle.lock().push(idle);
    }
}
