//! One client: bytes in, requests to its session, replies out.
//!
//! The loop alternates between three steps that never wait (answer what is complete, write what
//! the socket takes, read what has arrived) and one wait for whatever can happen next. Requests
//! behind one that waits for a key are left where they are until its wait is over; messages that
//! the client has subscribed to go out between the replies.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, Ready};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;

use super::{Limits, Shared};
use crate::engine::{Begun, Session, Wait};
use crate::resp::{RequestDecoder, Value, encode, encoded_len};

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;
/// Bytes of replies after which they are written before more requests are answered.
const BATCH: usize = 64 * 1024;
/// The reply buffer of an idle connection is given back if it is larger.
const KEEP: usize = 16 * 1024;
/// How long to wait for a client to take the last reply before it was cut off, and how much of
/// what it still sends is read.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 64 << 20;

pub(super) struct Connection {
    stream: TcpStream,
    session: Session,
    /// The command that its client is blocked by. Later requests wait behind it.
    blocked: Option<Box<Wait>>,
    decoder: RequestDecoder,
    /// Replies, of which the first `sent` bytes are written.
    out: Vec<u8>,
    sent: usize,
    limits: Limits,
    phase: Phase,
    /// Last, so that the session is closed before this connection no longer counts.
    share: Share,
}

/// A connection's part of the counts that all share, given back when it is dropped.
struct Share {
    shared: Arc<Shared>,
    /// Its part of `Shared::buffered`.
    buffered: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests are read and answered.
    Open,
    /// The replies so far are written, then the connection is closed.
    Closing,
    /// As `Closing`, though the client may be sending still.
    Refusing,
    /// Closed without another byte.
    Cut,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        session: Session,
        limits: Limits,
        shared: Arc<Shared>,
    ) -> Self {
        shared.clients.fetch_add(1, Ordering::Relaxed);
        Self {
            stream,
            session,
            blocked: None,
            decoder: RequestDecoder::new(limits.request),
            out: Vec::new(),
            sent: 0,
            limits,
            phase: Phase::Open,
            share: Share { shared, buffered: 0 },
        }
    }

    /// Serves the client until either side ends it or `stopped` closes.
    pub(super) async fn run(mut self, mut stopped: watch::Receiver<()>) {
        // An error means that the client is gone, and there is nobody to tell.
        let _ = self.converse(&mut stopped).await;
        if self.phase == Phase::Refusing {
            let _ = tokio::time::timeout(LINGER, self.linger()).await;
        }
    }

    async fn converse(&mut self, stopped: &mut watch::Receiver<()>) -> io::Result<()> {
        loop {
            let answered_all = self.answer();
            if self.phase == Phase::Cut {
                return Ok(()); // as Redis: replies that are not written yet are lost
            }
            self.write()?;
            self.count();
            if self.phase == Phase::Cut {
                return Ok(());
            }
            let waiting = self.waiting();
            if self.phase != Phase::Open && waiting == 0 {
                return Ok(());
            }
            if !answered_all && waiting < self.limits.max_output {
                tokio::task::yield_now().await;
                continue;
            }
            let ready = self.wait(stopped, answered_all).await?;
            if ready.is_readable() && self.read()? == CHUNK {
                // More has arrived; others first.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Answers complete requests, up to one that has to wait. False if it stopped before the last,
    /// since there are replies enough to write some.
    fn answer(&mut self) -> bool {
        if self.phase != Phase::Open {
            self.blocked = None; // nobody is left to take what it waits for
        }
        let enough = self.out.len() + BATCH;
        if self.phase == Phase::Open {
            // Counted before the look at the wait: what comes after its reply stays behind it.
            let unread = self.session.unread();
            if self.blocked.as_ref().is_none_or(|wait| wait.is_waiting()) {
                self.deliver(unread);
            }
        }
        while self.phase == Phase::Open && self.blocked.is_none() {
            if self.out.len() >= enough || self.waiting() >= self.limits.max_output {
                return false;
            }
            match self.decoder.next_request() {
                Ok(Some(request)) => {
                    let argv = request.to_argv();
                    if is_http(argv.first().copied().unwrap_or_default()) {
                        self.phase = Phase::Cut;
                        return true;
                    }
                    if self.session.is_closing() {
                        self.phase = Phase::Cut; // killed by another client
                        return true;
                    }
                    let begun = begin(&mut self.session, &argv);
                    drop(argv);
                    match begun {
                        Begun::Ready(reply) => {
                            self.deliver(self.session.messages_before_reply());
                            if !self.push(&reply) {
                                self.phase = Phase::Cut;
                                return true;
                            }
                        }
                        Begun::Blocked(wait) => self.blocked = Some(wait),
                    }
                    if self.session.is_closing() {
                        self.phase = Phase::Closing;
                    }
                }
                Ok(None) => return true,
                Err(error) => match error.to_wire() {
                    Some(wire) => {
                        self.push(&Value::Error(wire));
                        self.phase = Phase::Refusing;
                    }
                    None => self.phase = Phase::Cut,
                },
            }
        }
        true
    }

    /// Appends up to `most` messages that have arrived, while there is room.
    fn deliver(&mut self, most: usize) {
        let protocol = self.session.protocol();
        for _ in 0..most {
            if self.waiting() >= self.limits.max_output {
                return;
            }
            let Some(message) = self.session.take_message() else { return };
            encode(&message, protocol, &mut self.out);
        }
    }

    /// Waits until the socket can be read or, if replies wait, written. Reads on while replies
    /// wait, up to the limit, because a client may send all its requests before it reads.
    async fn wait(
        &mut self,
        stopped: &mut watch::Receiver<()>,
        answered_all: bool,
    ) -> io::Result<Ready> {
        let waiting = self.waiting();
        let reads = self.phase == Phase::Open && answered_all && waiting < self.limits.max_output;
        let interest = match (reads, waiting > 0) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (true, false) => Interest::READABLE,
            _ => Interest::WRITABLE,
        };
        let blocked = self.blocked.is_some();
        let room = self.phase == Phase::Open && waiting < self.limits.max_output;
        let idle = async {
            match self.limits.idle {
                Some(idle) if !blocked && !self.session.listens() => tokio::time::sleep(idle).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = stopped.changed(), if self.phase == Phase::Open => {
                self.phase = Phase::Closing;
                Ok(Ready::EMPTY)
            }
            reply = reply_of(&mut self.blocked), if blocked => {
                self.blocked = None;
                self.deliver(self.session.messages_before_reply());
                // Killed by another client, or the reply is too long.
                if self.session.is_closing() || !self.push(&reply) {
                    self.phase = Phase::Cut;
                }
                Ok(Ready::EMPTY)
            }
            () = poll_fn(|cx| self.session.poll_unread(cx, room)) => {
                if self.session.is_closing() {
                    self.phase = Phase::Cut;
                }
                Ok(Ready::EMPTY)
            }
            ready = self.stream.ready(interest) => ready,
            // Who kills itself is answered first.
            () = poll_fn(|cx| self.session.poll_killed(cx)), if self.phase == Phase::Open => {
                self.phase = Phase::Cut;
                Ok(Ready::EMPTY)
            }
            () = idle => {
                self.phase = Phase::Cut;
                Ok(Ready::EMPTY)
            }
        }
    }

    /// Reads once, and says how much.
    fn read(&mut self) -> io::Result<usize> {
        let mut chunk = [0; CHUNK];
        match self.stream.try_read(&mut chunk) {
            Ok(0) => {
                self.phase = Phase::Closing;
                Ok(0)
            }
            Ok(n) => {
                self.decoder.feed(chunk.get(..n).unwrap_or_default());
                Ok(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) -> io::Result<()> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.out.shrink_to(KEEP);
            self.sent = 0;
        } else if self.sent > self.out.len() / 2 {
            // Moving the rest down only once it is the smaller part keeps this linear overall.
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// Bytes of replies that are not written yet.
    fn waiting(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Appends a reply, unless the client does not want it. False, and nothing appended, if it is a
    /// long one that would be too much.
    fn push(&mut self, reply: &Value) -> bool {
        // What a subscription changes is said to who wants no replies, too.
        let is_told = |reply: &Value| matches!(reply, Value::Push(_) | Value::Several(_));
        if self.session.is_silent() && !is_told(reply) {
            let Value::Array(replies) = reply else { return true };
            return replies.iter().filter(|reply| is_told(reply)).all(|reply| self.push(reply));
        }
        let protocol = self.session.protocol();
        let len = encoded_len(reply, protocol);
        if len > BATCH && self.share.sum_with(self.buffered() + len) > self.limits.max_buffered {
            return false;
        }
        self.out.reserve(len);
        encode(reply, protocol, &mut self.out);
        true
    }

    /// Bytes that are held for this client.
    fn buffered(&self) -> usize {
        self.decoder.pending() + self.waiting() + self.session.held()
    }

    /// Brings this connection's part of what all have buffered up to date, and ends it if that is
    /// too much.
    fn count(&mut self) {
        let now = self.buffered();
        if self.share.set_buffered(now) > self.limits.max_buffered {
            self.phase = Phase::Cut;
        }
    }

    /// Closes this side and reads what the client still sends: if it were left unread, the
    /// operating system would reset the connection, and the client might lose the last reply.
    async fn linger(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        let mut chunk = [0; 1024];
        let mut left = LINGER_BYTES;
        while left > 0 {
            let n = self.stream.read(&mut chunk).await?;
            if n == 0 {
                break;
            }
            left = left.saturating_sub(n);
        }
        Ok(())
    }
}

impl Share {
    /// How much all connections have buffered if this one has `now`.
    fn sum_with(&self, now: usize) -> usize {
        let all = self.shared.buffered.load(Ordering::Relaxed);
        all.saturating_sub(self.buffered).saturating_add(now)
    }

    /// Says how much this connection has buffered. Gives how much all have, or 0 if it is no more
    /// than before.
    fn set_buffered(&mut self, now: usize) -> usize {
        let before = std::mem::replace(&mut self.buffered, now);
        let all = &self.shared.buffered;
        if now > before {
            return all.fetch_add(now - before, Ordering::Relaxed) + now - before;
        }
        all.fetch_sub(before - now, Ordering::Relaxed);
        0
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shared.buffered.fetch_sub(self.buffered, Ordering::Relaxed);
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Begins a command. A script may take any time, and whoever would end it must be heard meanwhile:
/// where the runtime has more threads, what else this one has to do goes on in another.
fn begin(session: &mut Session, argv: &[&[u8]]) -> Begun {
    let has_threads = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if session.runs_script(argv) && has_threads() {
        return tokio::task::block_in_place(|| session.begin(argv));
    }
    session.begin(argv)
}

/// The reply to the command that a client is blocked by.
async fn reply_of(blocked: &mut Option<Box<Wait>>) -> Value {
    match blocked {
        Some(wait) => Pin::new(wait).await,
        None => std::future::pending().await,
    }
}

/// The first word of an HTTP request or header. Redis cuts such clients off, because a web page
/// may make a browser send commands inside a request.
fn is_http(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}
