//! [`Bells`]: all bells of a backend, over one connection that listens.
//!
//! A subscription of its own for each who waits would be a connection for each. So all share one,
//! opened by the first; a channel is subscribed to while it has a bell. When the connection is
//! lost every bell rings, and who waits for one opens another.
//!
//! Invariants: who subscribes and who unsubscribes take turns, and look again once it is theirs, so
//! that a channel with a bell is subscribed to as soon as nobody changes anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::{PushInfo, PushKind};
use tokio::sync::Notify;

use super::Inner;
use super::link::{Inside, Link};
use super::subscription::{connect, read, say};
use crate::backend::Topic;
use crate::backend::bell::{Bell, is_for};
use crate::bytes::Bytes;
use crate::error::Result;

/// The bells, and the connection that they hear by.
#[derive(Debug, Default)]
pub(super) struct Bells {
    hung: Mutex<Hung>,
    /// Held by who changes what is subscribed to.
    link: tokio::sync::Mutex<Option<Link>>,
}

#[derive(Debug, Default)]
struct Hung {
    next: u64,
    /// By channel and number: for whom, and how it is rung.
    bells: BTreeMap<Bytes, BTreeMap<u64, (Bytes, Arc<Notify>)>>,
}

impl Hung {
    fn ring(&self, channel: &[u8], message: &[u8]) {
        let bells = self.bells.get(channel).into_iter().flat_map(BTreeMap::values);
        let heard = bells.filter(|(id, _)| is_for(message, id));
        // A message for all is for whoever can use it first: here one of them, who has waited the
        // longest. Others will be told by the next, or look by themselves.
        heard.take(1).for_each(|(_, notify)| notify.notify_one());
    }

    fn ring_all(&self) {
        let bells = self.bells.values().flat_map(BTreeMap::values);
        bells.for_each(|(_, notify)| notify.notify_one());
    }
}

/// A bell of [`Redis`](super::Redis).
#[derive(Debug)]
pub struct RedisBell {
    inner: Arc<Inner>,
    channel: Bytes,
    number: u64,
    notify: Arc<Notify>,
}

impl RedisBell {
    pub(super) async fn hang(inner: Arc<Inner>, channel: &[u8], id: &[u8]) -> Result<Self> {
        let (channel, notify) = (Bytes::copy_from(channel), Arc::new(Notify::new()));
        let number = {
            let hung = &mut *inner.bells.hung.lock();
            hung.next += 1;
            let bells = hung.bells.entry(channel.clone()).or_default();
            bells.insert(hung.next, (Bytes::copy_from(id), Arc::clone(&notify)));
            hung.next
        };
        let bell = Self { inner, channel, number, notify };
        bell.inner.listen(&bell.channel).await?;
        Ok(bell)
    }
}

impl Inner {
    /// Subscribes to a channel, on the connection that stands or a new one, which then hears of
    /// all channels.
    async fn listen(self: &Arc<Self>, channel: &Bytes) -> Result<()> {
        let mut link = self.bells.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| link.is_open()) {
            return say(self, link, &[Topic::Channel(channel)], Topic::begin).await;
        }
        let hearing = Arc::downgrade(self);
        let new = connect(self, move |push| {
            if let Some(inner) = hearing.upgrade() {
                inner.bells.hear(push);
            }
        });
        let new = new.await?;
        let channels: Vec<Bytes> = self.bells.hung.lock().bells.keys().cloned().collect();
        let topics: Vec<Topic<'_>> = channels.iter().map(|name| Topic::Channel(name)).collect();
        say(self, &new, &topics, Topic::begin).await?;
        *link = Some(new);
        Ok(())
    }

    /// Unsubscribes from a channel, unless it has a bell again.
    async fn stop_listening(&self, channel: &Bytes) {
        let link = self.bells.link.lock().await;
        let is_heard = self.bells.hung.lock().bells.contains_key(channel);
        if let Some(link) = link.as_ref().filter(|link| !is_heard && link.is_open()) {
            // If that fails the connection is lost, and the subscription with it.
            let _ = say(self, link, &[Topic::Channel(channel)], Topic::end).await;
        }
    }
}

impl Bells {
    /// Whether the connection is lost and nobody is at it.
    fn are_deaf(&self) -> bool {
        self.link.try_lock().is_ok_and(|link| link.as_ref().is_none_or(|link| !link.is_open()))
    }

    fn hear(&self, push: PushInfo) {
        match push.kind {
            PushKind::Disconnection => self.hung.lock().ring_all(),
            PushKind::Message => {
                if let Some(message) = read(push.data) {
                    self.hung.lock().ring(&message.channel, &message.payload);
                }
            }
            _ => {}
        }
    }
}

impl Bell for RedisBell {
    async fn rung(&mut self) {
        let (inner, notify) = (&self.inner, &self.notify);
        let hearing = async {
            if inner.bells.are_deaf() {
                // Where that fails too, nothing rings, and who waits does so for the time alone.
                let _ = inner.listen(&self.channel).await;
            }
            notify.notified().await;
        };
        Inside::new(&inner.runtime, hearing).await;
    }
}

impl Drop for RedisBell {
    fn drop(&mut self) {
        let hung = &mut *self.inner.bells.hung.lock();
        let Some(bells) = hung.bells.get_mut(&self.channel) else { return };
        bells.remove(&self.number);
        if bells.is_empty() {
            hung.bells.remove(&self.channel);
            let (inner, channel) = (Arc::clone(&self.inner), self.channel.clone());
            self.inner.runtime.spawn(async move { inner.stop_listening(&channel).await });
        }
    }
}
