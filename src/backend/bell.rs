//! [`Bell`]: hears that something may have changed, so that a wait can end before its time.
//!
//! A hint and no more: a ring may be missed while the bell is hung up or when the connection is
//! lost, and one may come for nothing. Who waits for a bell waits for a time, too, and looks for
//! itself after either.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::Backend;
use crate::error::Result;

/// A bell; see [`Backend::bell`]. Dropping it takes it down.
pub trait Bell: Send + 'static {
    /// Waits until it rings. A ring since the last call, or since it was hung up, is remembered.
    fn rung(&mut self) -> impl Future<Output = ()> + Send;
}

/// Whether a message to a bell's channel is for the one who hung it up: an empty one is for all.
pub(super) fn is_for(message: &[u8], id: &[u8]) -> bool {
    message.is_empty() || message == id
}

/// Waits for a bell, and from when it is hung up no longer than `time`; says whether it rang. It is
/// hung up with `hang` unless it is already; without one, because a connection is lost, it waits
/// for the time alone.
pub(crate) async fn rung_within<B: Backend>(
    backend: &B,
    bell: &mut Option<B::Bell>,
    hang: impl Future<Output = Result<B::Bell>>,
    time: Duration,
) -> bool {
    if bell.is_none() {
        *bell = hang.await.ok();
    }
    let mut sleep = pin!(backend.sleep(time));
    let Some(bell) = bell else {
        sleep.await;
        return false;
    };
    let mut rung = pin!(bell.rung());
    poll_fn(|cx| match rung.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| false),
    })
    .await
}
