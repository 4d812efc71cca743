//! [`RealRedis`]: a redis-server that belongs to one test.
//!
//! Tests run in parallel and must not see each other, so each takes a server for itself. Servers
//! are kept and lent again, emptied, because starting one costs more than most tests; one whose
//! test failed or changed its configuration is not. Each runs under a shell that kills it as soon
//! as the pipe to this process closes, whichever way the process ends.
//!
//! The wall clock of a lent server stands still until the test moves it, so that times to live
//! compare exactly (see `clock.rs`).

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stockroom::resp::Value;
use stockroom::{Stopwatch, Timestamp};

use super::Wire;
use super::clock::FrozenClock;
use super::skip;

/// Starts its arguments in the background and kills that process when standard input ends.
const WATCHDOG: &str = r#""$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -9 $server; wait"#;

/// The servers that nobody uses at the moment.
static IDLE: Mutex<Vec<Server>> = Mutex::new(Vec::new());

struct Server {
    watchdog: Child,
    addr: SocketAddr,
    clock: Option<FrozenClock>,
    dir: tempfile::TempDir,
}

/// A running redis-server 7.0, empty at first, that nobody else uses until this is dropped.
pub(crate) struct RealRedis {
    server: Option<Server>,
    reusable: bool,
}

impl RealRedis {
    /// An empty server whose clock stands at `start`, if there is a redis-server on this machine.
    /// Where the clock cannot be replaced, it is that of the machine.
    pub(crate) fn take(start: Timestamp) -> Result<Self, String> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let server = match idle {
            Some(server) => server,
            None => Server::start(FrozenClock::new(start), &[])?,
        };
        let redis = Self { server: Some(server), reusable: true };
        redis.set_clock(start);
        let mut wire = redis.connect();
        for command in ["FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH", "CONFIG RESETSTAT"] {
            let args: Vec<&str> = command.split(' ').collect();
            assert_eq!(wire.call(&args).value, Value::OK, "{command}");
        }
        Ok(redis)
    }

    /// A server started for this test alone, on the machine's clock, with more options, such as
    /// `--cluster-enabled yes`.
    pub(crate) fn start(options: &[&str]) -> Result<Self, String> {
        Ok(Self { server: Some(Server::start(None, options)?), reusable: false })
    }

    /// Puts the server's clock to `now`. Says whether it has a clock that can be put.
    pub(crate) fn set_clock(&self, now: Timestamp) -> bool {
        let clock = self.server.as_ref().and_then(|server| server.clock.as_ref());
        clock.is_some_and(|clock| {
            clock.set(now);
            true
        })
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.server.as_ref().expect("present until dropped").addr
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Wire {
        Wire::connect(self.addr())
    }

    /// Says that the server is no longer as it was started, and must not be lent again.
    pub(crate) fn spoil(&mut self) {
        self.reusable = false;
    }
}

impl Drop for RealRedis {
    fn drop(&mut self) {
        let server = self.server.take();
        if self.reusable && !std::thread::panicking() {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).extend(server);
        }
    }
}

impl Server {
    fn start(clock: Option<FrozenClock>, options: &[&str]) -> Result<Self, String> {
        let program = find_redis_server().ok_or("redis-server not found")?;
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Another process may take the port between looking and starting.
        let mut reason = String::new();
        for _ in 0..5 {
            let port = free_port().map_err(|error| error.to_string())?;
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let mut command = Command::new("sh");
            command.args(["-c", WATCHDOG, "sh", "env"]);
            command.args(clock.iter().flat_map(FrozenClock::environment)).arg(&program);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
            command.args(["--appendonly", "no", "--dir"]).arg(dir.path()).args(options);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            match command.spawn() {
                Err(error) => reason = format!("sh did not start: {error}"),
                Ok(watchdog) if answers(addr, dir.path()) => {
                    return Self { watchdog, addr, clock, dir }.check_version();
                }
                Ok(mut watchdog) => {
                    end(&mut watchdog);
                    reason = format!("redis-server did not answer on port {port}");
                }
            }
        }
        Err(reason)
    }

    fn check_version(self) -> Result<Self, String> {
        let info = Wire::connect(self.addr).call(&["INFO", "server"]);
        let text = String::from_utf8_lossy(&info.bytes).into_owned();
        let version = text.lines().find_map(|line| line.strip_prefix("redis_version:"));
        match version {
            Some(version) if version.starts_with("7.0.") => Ok(self),
            other => Err(format!("redis-server is {}, not 7.0", other.unwrap_or("of no version"))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.watchdog);
    }
}

/// Whether the server that was started in `dir`, and no other, comes to answer at `addr`.
fn answers(addr: SocketAddr, dir: &Path) -> bool {
    let dir = dir.canonicalize().unwrap_or_default();
    let expected = Value::bulks(["dir".as_bytes(), dir.as_os_str().as_encoded_bytes()]);
    let waited = Stopwatch::start();
    while waited.elapsed() < Duration::from_secs(5) {
        match Wire::try_connect(addr).and_then(|mut wire| wire.try_call(&["CONFIG", "GET", "dir"]))
        {
            Ok(reply) if reply.value == expected => return true,
            Ok(reply) if !reply.value.is_error() => return false,
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    false
}

/// Kills what a watchdog watches, and waits for it.
fn end(watchdog: &mut Child) {
    drop(watchdog.stdin.take());
    let _ = watchdog.wait();
}

/// The redis-server to compare with: `STOCKROOM_REDIS_SERVER`, or the first on the `PATH`.
fn find_redis_server() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("STOCKROOM_REDIS_SERVER") {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("redis-server")).find(|path| path.is_file())
}

/// A server for the running test, its clock at `start`. Where there is none, or its clock is that
/// of the machine, says so: see [`skip`].
pub(crate) fn real_redis(start: Timestamp) -> Option<RealRedis> {
    let redis = or_skip(RealRedis::take(start))?;
    if !redis.set_clock(start) {
        skip("times are not compared to the millisecond: no C compiler, or not Linux");
    }
    Some(redis)
}

/// As [`RealRedis::start`]. Where there is no server, says so: see [`skip`].
pub(crate) fn started_redis(options: &[&str]) -> Option<RealRedis> {
    or_skip(RealRedis::start(options))
}

fn or_skip(redis: Result<RealRedis, String>) -> Option<RealRedis> {
    redis
        .inspect_err(|reason| {
            skip(&format!("nothing is compared with Redis: {reason}"));
        })
        .ok()
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
