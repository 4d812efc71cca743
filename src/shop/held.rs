//! [`Held`]: something of which one has it for a while: a lock, a permit of a semaphore.
//!
//! It knows by itself when it is over: its deadline is counted from the moment before the request
//! that granted or renewed it was sent, by a clock that never goes back, less a margin. So it ends
//! on this side before it ends on the server, whatever the network does. It moves only when the
//! server has confirmed a renewal.
//!
//! Not here: waiting for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::daemon::{Chore, Progress};
use super::keys::Key;
use super::lease::Lease;
use crate::backend::{Arg, Backend, Cmd, FromValue, Script};
use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// The scripts of one kind of thing to hold. All take the thing's keys, the holder's id and the
/// number of the grant.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) release: &'static Script,
    pub(super) refresh: &'static Script,
    pub(super) guarded: &'static Script,
}

/// What a grant told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) fence: u64,
    /// By the caller's monotonic clock, before the request went out.
    pub(super) sent: Duration,
    /// What was left of the lease by the server.
    pub(super) left: Duration,
}

/// A lock or a permit that is held; see [`Lock`](super::Lock), [`FairLock`](super::FairLock) and
/// [`Semaphore`](super::Semaphore).
///
/// Dropping it does not give it up, since that takes a round trip: it ends with its lease. Call
/// [`release`](Self::release).
#[derive(Debug)]
pub struct Held<B> {
    holding: Arc<Holding<B>>,
    /// A release whose reply was lost.
    unsure: bool,
}

/// What is held, for who holds it and who renews it.
#[derive(Debug)]
struct Holding<B> {
    backend: B,
    keys: Arc<[Key]>,
    scripts: &'static Scripts,
    id: Bytes,
    fence: u64,
    lease: Lease,
    /// By the monotonic clock of the backend.
    deadline: Mutex<Duration>,
    /// The server has said that it is lost, or it has been given up: no renewal from here on.
    over: AtomicBool,
}

impl<B: Backend> Holding<B> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(|key| &**key).collect()
    }

    async fn extend(&self, lease: Lease) -> Result<bool> {
        if self.is_over() {
            return Ok(false);
        }
        let args = [(&self.id).into(), self.fence.into(), lease.as_millis().into()];
        let sent = self.backend.monotonic();
        let held: bool = self.backend.script(self.scripts.refresh, &self.keys(), &args).await?;
        if held {
            *self.deadline.lock() = (sent + lease.length()).saturating_sub(lease.margin());
        } else {
            self.end();
        }
        Ok(held)
    }
}

impl<B: Backend> Held<B> {
    pub(super) fn new(
        backend: B,
        keys: Arc<[Key]>,
        scripts: &'static Scripts,
        id: Bytes,
        lease: Lease,
        grant: Grant,
    ) -> Self {
        let deadline = (grant.sent + grant.left).saturating_sub(lease.margin());
        let (deadline, over) = (Mutex::new(deadline), AtomicBool::new(false));
        let fence = grant.fence;
        let holding = Holding { backend, keys, scripts, id, fence, lease, deadline, over };
        Self { holding: Arc::new(holding), unsure: false }
    }

    /// Under which id it is held.
    pub fn id(&self) -> &[u8] {
        &self.holding.id
    }

    /// The fencing number: every later grant has a greater one, so whoever writes to a store that
    /// remembers the greatest number it has seen can be told from one who comes too late.
    pub fn fence(&self) -> u64 {
        self.holding.fence
    }

    /// How long it certainly still is held; zero when that is over. By this side's own clock,
    /// without asking.
    pub fn left(&self) -> Duration {
        if self.holding.is_over() {
            return Duration::ZERO;
        }
        self.holding.deadline.lock().saturating_sub(self.holding.backend.monotonic())
    }

    /// Whether it certainly still is held.
    pub fn is_held(&self) -> bool {
        !self.left().is_zero()
    }

    /// Lets it last for its lease from now. `false`: it was lost, and is not revived. One script,
    /// one round trip, O(log holders). After an error it may have been renewed or not, and this
    /// side goes by what was confirmed.
    pub async fn refresh(&self) -> Result<bool> {
        self.extend(self.holding.lease).await
    }

    /// Lets it last for `lease` from now, longer or shorter than before; like
    /// [`refresh`](Self::refresh).
    pub async fn extend(&self, lease: Lease) -> Result<bool> {
        self.holding.extend(lease).await
    }

    /// A chore that renews it whenever a third of its lease has passed, for a
    /// [`Daemon`](super::Daemon). It ends its renewals when the holding does; stop the daemon when
    /// the work is done, at the latest.
    pub fn renewal(&self) -> Renewal<B> {
        Renewal { holding: Arc::clone(&self.holding) }
    }

    /// Runs one command if it is still held, both in one step by the server's clock: no pause
    /// between the look and the command can let a stale holder write. `None`: it is lost, and
    /// nothing was done.
    ///
    /// On a Redis Cluster the command's keys must be in its slot: with
    /// [`Keys::clustered`](super::Keys::clustered) those with its name as hash tag are.
    pub async fn guarded<T: FromValue>(&self, cmd: &Cmd<'_, T>) -> Result<Option<T>> {
        let spec = cmd.spec();
        let mut argv: Vec<&[u8]> = spec.words().collect();
        argv.extend(cmd.arguments().iter().map(|arg| &**arg));
        let Some(positions) = spec.key_positions(&argv) else {
            return Err(Error::invalid("command", spec.name, "a line that says its keys"));
        };
        let held = &*self.holding;
        let mut keys = held.keys();
        keys.extend(positions.iter().filter_map(|(at, _)| argv.get(*at)));
        let mut args: Vec<Arg<'_>> = vec![(&held.id).into(), held.fence.into()];
        args.extend(argv.iter().map(|word| Arg::from(*word)));
        let replies: Vec<T> = held.backend.script(held.scripts.guarded, &keys, &args).await?;
        Ok(replies.into_iter().next())
    }

    /// Gives it up; says whether it was still held. One script, one round trip.
    ///
    /// After an error call it again. When the reply to an earlier call was lost and it is not held
    /// any more, nobody can tell whether that call or the end of the lease was first, and the
    /// answer is [`Unknown`](ErrorKind::Unknown) again; it is free for others either way.
    pub async fn release(&mut self) -> Result<bool> {
        // First, so that no renewal comes after it.
        let held = &*self.holding;
        held.end();
        let args = [(&held.id).into(), held.fence.into()];
        match held.backend.script(held.scripts.release, &held.keys(), &args).await {
            Ok(false) if self.unsure => Err(Error::new(
                ErrorKind::Unknown,
                "given up, by the call whose reply was lost or by the end of the lease",
            )),
            Err(error) => {
                self.unsure |= error.is_unknown();
                Err(error)
            }
            done => done,
        }
    }
}

/// Renews something held, in the background; see [`Held::renewal`].
#[derive(Debug)]
pub struct Renewal<B> {
    holding: Arc<Holding<B>>,
}

impl<B: Backend> Chore for Renewal<B> {
    async fn step(&mut self) -> Result<Progress> {
        let lease = self.holding.lease;
        let renewed = self.holding.extend(lease).await?;
        Ok(Progress::rest(u64::from(renewed), lease.length() / 3))
    }
}

/// An id that nobody else has: 128 random bits in hexadecimal digits.
pub(super) fn fresh_id<B: Backend>(backend: &B) -> Bytes {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let (mut random, mut id) = ([0; 16], [0; 32]);
    backend.random(&mut random);
    for (pair, byte) in id.chunks_exact_mut(2).zip(random) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    Bytes::copy_from(&id)
}
