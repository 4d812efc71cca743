//! The engine as a server: RESP2 and RESP3 over TCP.
//!
//! Every connection is one task with one engine session. It answers all complete requests that
//! have arrived and writes their replies together, so that a pipeline costs few system calls; it
//! reads on while replies wait to be written, so that a client may send a whole pipeline before it
//! reads; and it stops reading when too many replies wait, so that a client that never reads costs
//! a bounded amount of memory and nobody else any time.
//!
//! Invariants: no lock of the engine is held while a task waits; whatever ends a connection, its
//! session ends with it, and so do its watches and its transaction.
//!
//! One difference from Redis: a client that wants no replies (`CLIENT REPLY`) and sends QUIT or
//! what is not the protocol is disconnected; Redis leaves such a connection open and dead.
//!
//! Not here: what commands do (the engine), and what bytes mean (`resp`).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! use stockroom::{Engine, server};
//!
//! let listener = server::listen("127.0.0.1:0".parse().unwrap()).await?;
//! let server = server::spawn(Engine::new(), listener, server::Limits::default())?;
//! println!("listening on {}", server.addr());
//! server.stop().await;
//! # Ok(()) }
//! ```

mod connection;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::engine::Engine;
use crate::resp::RequestLimits;
use connection::Connection;

/// How long a stopping server waits for clients to take their last replies.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks for keys whose deadline has passed.
const EXPIRE_EVERY: Duration = Duration::from_millis(100);
/// Keys removed before other tasks get their turn.
const EXPIRE_AT_ONCE: usize = 256;
/// Pause after accepting failed, as it does while there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that the kernel keeps until they are accepted, as Redis's `tcp-backlog`.
const BACKLOG: u32 = 511;

/// What a server allows its clients. The default is that of Redis 7.0 where Redis has a limit.
///
/// What the engine builds to answer a request is in these numbers only when it is to be written.
/// Picks with repetition (`SRANDMEMBER` and its kin with a negative count) are bounded by the
/// engine. `MGET k k k …` copies up to 511 bytes of a value each time it is named, and shares a
/// longer one. A transaction that reads a long list a thousand times builds it a thousand times, as
/// it does on Redis. Who serves strangers lowers [`RequestLimits::max_request`] and
/// [`RequestLimits::max_args`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time (`maxclients`).
    pub max_clients: usize,
    /// What a request may be.
    pub request: RequestLimits,
    /// Bytes of replies that may wait for one client before it is no longer read from. A single
    /// reply may be longer.
    pub max_output: usize,
    /// Bytes of incomplete requests, queued transactions, watched keys and waiting replies of all
    /// clients together. A client that would exceed it is disconnected, before the reply that is
    /// too long is written.
    pub max_buffered: usize,
    /// How long a client may be silent (`timeout`); `None` for ever.
    pub idle: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_clients: 10_000,
            request: RequestLimits::default(),
            max_output: 256 << 20,
            max_buffered: 4 << 30,
            idle: None,
        }
    }
}

/// What the connections of a server share.
#[derive(Debug, Default)]
struct Shared {
    clients: AtomicUsize,
    buffered: AtomicUsize,
}

/// A running server. Dropping it stops it, without waiting.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Where it listens; the port that was chosen, if it was asked for port 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How many clients are connected.
    pub fn clients(&self) -> usize {
        self.shared.clients.load(Ordering::Relaxed)
    }

    /// Bytes of incomplete requests, queued transactions, watched keys and waiting replies that it
    /// holds for all clients together.
    pub fn buffered(&self) -> usize {
        self.shared.buffered.load(Ordering::Relaxed)
    }

    /// Accepts no more clients, writes the replies to the requests it has read, closes all
    /// connections and returns when that is done, at most two seconds later.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        // A panic inside is the server's end as well.
        let _ = (&mut self.task).await;
    }
}

/// Listens at `addr` as Redis does: a backlog of 511, and TCP keep-alive on every connection, so
/// that one whose client has vanished ends at last.
///
/// # Errors
/// What the operating system says, such as that the port is taken.
#[expect(clippy::unused_async, reason = "it needs the runtime, and may have to wait one day")]
pub async fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_keepalive(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Serves `engine` on `listener` in a task of its own.
///
/// # Errors
/// If the listener does not know its address.
pub fn spawn(engine: Engine, listener: TcpListener, limits: Limits) -> io::Result<Server> {
    let addr = listener.local_addr()?;
    let shared = Arc::new(Shared::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = stopped.await;
    };
    let task = tokio::spawn(run(engine, listener, limits, Arc::clone(&shared), shutdown));
    Ok(Server { addr, shared, stop: Some(stop), task })
}

/// Serves `engine` on `listener` until `shutdown` is ready; then ends as [`Server::stop`] does.
pub async fn serve(
    engine: Engine,
    listener: TcpListener,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    run(engine, listener, limits, Arc::default(), shutdown).await;
}

async fn run(
    engine: Engine,
    listener: TcpListener,
    limits: Limits,
    shared: Arc<Shared>,
    shutdown: impl Future<Output = ()>,
) {
    if let Ok(addr) = listener.local_addr() {
        engine.set_port(addr.port());
    }
    engine.set_max_clients(limits.max_clients);
    let (stop, stopped) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    let mut connections = JoinSet::new();
    let mut janitor = JoinSet::new(); // dropped, and so ended, with this function
    janitor.spawn(expire(engine.clone()));
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Some(connection) = admit(stream, &engine, limits, &shared) {
                        connections.spawn(connection.run(stopped.clone()));
                    }
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    drop(stop);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all_gone).await;
}

/// A connection for a new client, unless there are too many: that one is told so and dropped.
fn admit(
    stream: TcpStream,
    engine: &Engine,
    limits: Limits,
    shared: &Arc<Shared>,
) -> Option<Connection> {
    if shared.clients.load(Ordering::Relaxed) >= limits.max_clients {
        engine.count_rejected();
        let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
        return None;
    }
    // Without it a reply may wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let mut session = engine.session();
    if let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) {
        session.set_addresses(peer.to_string(), local.to_string());
    }
    Some(Connection::new(stream, session, limits, Arc::clone(shared)))
}

/// Gives back the memory of keys whose deadline has passed.
async fn expire(engine: Engine) {
    loop {
        tokio::time::sleep(EXPIRE_EVERY).await;
        while engine.expire(EXPIRE_AT_ONCE) == EXPIRE_AT_ONCE {
            tokio::task::yield_now().await;
        }
    }
}
