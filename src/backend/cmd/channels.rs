//! Publishing. To listen is a method of the backend: see
//! [`Subscription`](crate::backend::Subscription).

use super::Cmd;
use crate::commands::pubsub;

/// `PUBLISH channel message`: how many have heard it.
pub fn publish<'a>(channel: &'a [u8], message: &'a [u8]) -> Cmd<'a, u64> {
    Cmd::new(&pubsub::PUBLISH).arg(channel).arg(message)
}

/// `SPUBLISH channel message`: how many have heard it, on a channel of one shard of a cluster.
pub fn spublish<'a>(channel: &'a [u8], message: &'a [u8]) -> Cmd<'a, u64> {
    Cmd::new(&pubsub::SPUBLISH).arg(channel).arg(message)
}
