//! The engine: a Redis 7.0 in this process.
//!
//! [`Engine`] is a cheap handle that clones share; every [`Engine::new`] is alone. A [`Session`]
//! is what a connection is to a server: it has a selected database, a protocol, a transaction
//! queue, watched keys and what it has subscribed to, and it can wait for a key.
//!
//! Not here: bytes on a wire (see the server), typed calls (see the backend).

mod blocked;
mod calls;
mod client;
mod config;
mod dispatch;
mod listening;
mod ops;
#[cfg(feature = "lua")]
mod script;
#[cfg(not(feature = "lua"))]
#[path = "no_script.rs"]
mod script;
mod session;
mod transaction;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use foldhash::fast::FixedState;
use parking_lot::Mutex;

pub use blocked::{Blocked, Started};
pub use calls::{Calls, Replies};
pub use session::Session;

#[cfg(feature = "server")]
pub(crate) use blocked::{Begun, Wait};
use client::Client;
use config::Config;
use transaction::Watches;

use crate::commands::Spec;
use crate::db::{Keyspace, Waiter};
use crate::env::{Env, Timestamp};
use crate::resp::{Protocol, Value};

/// A Redis 7.0 in this process. Clones are handles to the same one.
///
/// ```
/// use stockroom::{Engine, resp::Value};
///
/// let engine = Engine::new();
/// let mut session = engine.session();
/// assert_eq!(session.call(&[b"SET", b"greeting", b"hello"]), Value::OK);
/// assert_eq!(session.call(&[b"GET", b"greeting"]), Value::bulk("hello"));
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// What belongs to nobody any more and is still to be given up.
#[derive(Debug, Default)]
struct Orphans {
    watches: Vec<Watches>,
    waiters: Vec<Arc<Waiter>>,
}

/// What all sessions of an engine share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) keyspace: Keyspace,
    pub(crate) env: Env,
    pub(crate) config: Config,
    /// When the engine was made.
    pub(crate) started: Timestamp,
    /// Tells this engine from all others: 40 hexadecimal digits.
    pub(crate) run_id: String,
    /// The open sessions. Whoever walks them must put them in order first.
    clients: DashMap<u64, Arc<Client>, FixedState>,
    next_client: AtomicU64,
    stats: Stats,
    #[cfg(feature = "lua")]
    scripts: script::Scripts,
    orphans: Mutex<Orphans>,
    /// Itself, for the sessions that scripts need.
    #[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "only scripts need it"))]
    me: Weak<Shared>,
}

/// Counts since the start or CONFIG RESETSTAT.
#[derive(Debug, Default)]
struct Stats {
    /// Commands of sessions that are closed.
    finished: AtomicU64,
    /// Commands before the last reset.
    commands_before: AtomicU64,
    /// Sessions before the last reset.
    sessions_before: AtomicU64,
    /// Connections that a server has turned away.
    rejected: AtomicU64,
    /// How many clients a server admits; 0 without one.
    max_clients: AtomicUsize,
}

impl Shared {
    /// The open sessions, by number.
    fn clients(&self) -> Vec<Arc<Client>> {
        let mut clients: Vec<_> = self.clients.iter().map(|c| Arc::clone(c.value())).collect();
        clients.sort_unstable_by_key(|client| client.id);
        clients
    }

    /// A session on whose behalf a script runs the commands that need one. Nobody sees it.
    #[cfg(feature = "lua")]
    fn script_session(&self) -> Option<Session> {
        self.me.upgrade().map(Session::hidden)
    }

    /// Forgets a session that is closed or killed, once: nobody sees it, it hears no more.
    fn leave(&self, client: &Client) {
        if let Some(listener) = client.listener() {
            self.keyspace.unsubscribe_all(listener);
        }
        let is_hidden = client.id == 0;
        if self.clients.remove(&client.id).is_some() || is_hidden {
            self.stats.finished.fetch_add(client.commands(), Ordering::Relaxed);
        }
    }

    fn commands_ever(&self) -> u64 {
        let open: u64 = self.clients.iter().map(|client| client.commands()).sum();
        self.stats.finished.load(Ordering::Relaxed) + open
    }

    fn sessions_ever(&self) -> u64 {
        self.next_client.load(Ordering::Relaxed) - 1
    }

    /// Commands that sessions have run since the last reset.
    fn commands(&self) -> u64 {
        self.commands_ever().saturating_sub(self.stats.commands_before.load(Ordering::Relaxed))
    }

    /// Sessions opened since the last reset.
    fn sessions(&self) -> u64 {
        self.sessions_ever().saturating_sub(self.stats.sessions_before.load(Ordering::Relaxed))
    }

    fn reset_stats(&self) {
        self.stats.commands_before.store(self.commands_ever(), Ordering::Relaxed);
        self.stats.sessions_before.store(self.sessions_ever(), Ordering::Relaxed);
        self.stats.rejected.store(0, Ordering::Relaxed);
        self.keyspace.reset_stats();
    }
}

/// 40 random hexadecimal digits.
fn run_id(env: &Env) -> String {
    let (a, b, c) = (env.random(), env.random(), env.random() as u32);
    format!("{a:016x}{b:016x}{c:08x}")
}

impl Engine {
    /// An empty engine on the machine's clock.
    pub fn new() -> Self {
        Self::with_env(Env::system())
    }

    /// An empty engine that takes time and randomness from `env`. With a manual clock everything
    /// that depends on time follows it.
    pub fn with_env(env: Env) -> Self {
        let shared = Arc::new_cyclic(|me| Shared {
            keyspace: Keyspace::new(),
            config: Config::new(),
            started: env.now(),
            run_id: run_id(&env),
            env,
            clients: DashMap::default(),
            next_client: AtomicU64::new(1),
            stats: Stats::default(),
            #[cfg(feature = "lua")]
            scripts: script::Scripts::default(),
            orphans: Mutex::default(),
            me: Weak::clone(me),
        });
        Self { shared }
    }

    /// Opens a session.
    pub fn session(&self) -> Session {
        let id = self.shared.next_client.fetch_add(1, Ordering::Relaxed);
        Session::new(Arc::clone(&self.shared), id)
    }

    /// Runs a command on database 0 without a session. Only commands on data: what belongs to a
    /// session is answered with an error.
    #[inline]
    pub fn run(&self, spec: &'static Spec, argv: &[&[u8]]) -> Value {
        dispatch::run(&self.shared, spec, argv, 0, Protocol::Resp2, None)
    }

    /// Where this engine's time and randomness come from.
    pub fn env(&self) -> &Env {
        &self.shared.env
    }

    /// Removes up to `most` keys whose deadline has passed and says how many. Nobody can see such
    /// keys, and writes remove some on their way; a server calls this now and then so that they
    /// give their memory back when no writes come.
    pub fn expire(&self, most: usize) -> usize {
        self.shared.keyspace.expire(self.shared.env.now().as_millis(), most)
    }

    /// Says at which TCP port a server lets clients reach this engine: what `INFO` and
    /// `CONFIG GET port` answer from now on, instead of 0.
    pub fn set_port(&self, port: u16) {
        self.shared.config.fix("port", port.to_string());
    }

    /// Says how many clients a server admits at the same time: the `maxclients` of `INFO` from now
    /// on, instead of what the setting says.
    pub fn set_max_clients(&self, most: usize) {
        self.shared.stats.max_clients.store(most, Ordering::Relaxed);
    }

    /// Counts a connection that a server has turned away: the `rejected_connections` of `INFO`.
    pub fn count_rejected(&self) {
        self.shared.stats.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// The earliest time at which a key expires by itself.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        // A key lives through the millisecond of its deadline.
        self.shared.keyspace.next_deadline().map(|ms| Timestamp::from_millis(ms.saturating_add(1)))
    }

    /// Entries of waiting clients in the queues of their keys, also of those that wait no longer.
    #[doc(hidden)]
    pub fn waiting_entries(&self) -> usize {
        self.shared.keyspace.waiting_entries()
    }

    #[doc(hidden)]
    pub fn check_invariants(&self) {
        self.shared.keyspace.check_invariants();
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}
