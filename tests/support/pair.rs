//! [`Pair`]: one test body for the engine and for real Redis.
//!
//! A body runs twice: on an engine alone, where `same` and its kin can compare nothing but
//! [`check`](Pair::check) still can fail, and on a fresh engine beside a real server, where every
//! reply is compared. How much of a reply must agree is said by the method that is called:
//!
//! ```ignore
//! side_by_side(|c| {
//!     c.same("RPUSH l a b \"\\xff\"");           // words as at a terminal …
//!     c.same(&["LRANGE", "l", "0", "-1"]);       // … or one by one
//!     c.same_set("SMEMBERS s");                  // any order
//!     c.advance(1_500);                          // both clocks stand until they are moved
//!     c.same("PTTL l");
//!     c.check("LLEN l", b":3\r\n");              // also without a server
//!     c.on(1).same("WATCH l");                   // another connection
//!     c.on(2).blocks("BLPOP q 0");               // which waits on both sides …
//!     c.same("RPUSH q a");
//!     c.on(2).wakes();                           // … and gets the same reply on both
//! });
//! ```
//!
//! When replies differ, the panic shows the command, both replies and all commands so far.

mod blocked;

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use stockroom::resp::{ReplyDecoder, RequestDecoder, Value, encode};
use stockroom::{Engine, Env, Session, Timestamp};

use super::{OurSide, RealRedis, Reply, Wire, compare, real_redis, replies_in};

/// Where both clocks stand when a body begins.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_123);

/// Runs `body` on an engine alone, and beside real Redis if there is one.
pub(crate) fn side_by_side(body: impl Fn(&Pair)) {
    body(&Pair::new(None));
    if let Some(real) = real_redis(START) {
        body(&Pair::new(Some(real)));
    }
}

/// As [`side_by_side`], once in RESP2 and once in RESP3.
pub(crate) fn in_both_protocols(body: impl Fn(&Pair)) {
    side_by_side(&body);
    side_by_side(|c| {
        c.hello3();
        body(c);
    });
}

/// What can be given as a command: words in one string, quoted as at a terminal; or arguments.
pub(crate) trait Argv {
    fn argv(&self) -> Vec<Vec<u8>>;
}

impl Argv for &str {
    fn argv(&self) -> Vec<Vec<u8>> {
        let mut decoder = RequestDecoder::default();
        decoder.feed(self.as_bytes());
        decoder.feed(b"\n");
        match decoder.next_request() {
            Ok(Some(request)) => request.iter().map(<[u8]>::to_vec).collect(),
            other => panic!("{self:?} is no command: {other:?}"),
        }
    }
}

impl Argv for String {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.as_str().argv()
    }
}

impl<T: AsRef<[u8]>> Argv for &[T] {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.iter().map(|arg| arg.as_ref().to_vec()).collect()
    }
}

impl<T: AsRef<[u8]>, const N: usize> Argv for &[T; N] {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.as_slice().argv()
    }
}

impl<T: AsRef<[u8]>, const N: usize> Argv for [T; N] {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.as_slice().argv()
    }
}

impl<T: AsRef<[u8]>> Argv for Vec<T> {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.as_slice().argv()
    }
}

impl<T: AsRef<[u8]>> Argv for &Vec<T> {
    fn argv(&self) -> Vec<Vec<u8>> {
        self.as_slice().argv()
    }
}

/// A connection to the engine and, in the second run, the same to real Redis.
pub(crate) struct Pair {
    shared: Rc<RefCell<Shared>>,
    connection: usize,
}

struct Shared {
    engine: Engine,
    sessions: Vec<Option<OurSide>>,
    wires: Vec<Option<Wire>>,
    /// Of the test itself, once there is something to wait for.
    control: Option<Wire>,
    real: Option<RealRedis>,
    /// The commands sent so far, for the report.
    sent: String,
    reported: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.reported {
            eprintln!("the panic came after these commands:\n{}", self.sent);
        }
    }
}

impl Pair {
    fn new(real: Option<RealRedis>) -> Self {
        let frozen = real.as_ref().is_none_or(|real| real.set_clock(START));
        let env = if frozen { Env::manual(START, 1) } else { Env::system() };
        let shared = Shared {
            engine: Engine::with_env(env),
            sessions: Vec::new(),
            wires: Vec::new(),
            control: None,
            real,
            sent: String::new(),
            reported: false,
        };
        Self { shared: Rc::new(RefCell::new(shared)), connection: 0 }
    }

    /// The connection of that number; the body's own is 0. Opened at its first command.
    pub(crate) fn on(&self, connection: usize) -> Self {
        Self { shared: Rc::clone(&self.shared), connection }
    }

    /// The engine of this run.
    pub(crate) fn engine(&self) -> Engine {
        self.shared.borrow().engine.clone()
    }

    /// Whether real Redis answers too.
    pub(crate) fn is_compared(&self) -> bool {
        self.shared.borrow().real.is_some()
    }

    /// Whether both clocks stand until [`advance`](Self::advance).
    pub(crate) fn is_frozen(&self) -> bool {
        self.shared.borrow().engine.env().is_manual()
    }

    /// The same bytes.
    #[track_caller]
    pub(crate) fn same(&self, args: impl Argv) -> Value {
        self.compared(args, "the same bytes", |ours, real| ours.bytes == real.bytes)
    }

    /// The same items in any order.
    #[track_caller]
    pub(crate) fn same_set(&self, args: impl Argv) -> Value {
        self.compared(args, "the same items in any order", |ours, real| {
            compare::same_set(&ours.value, &real.value)
        })
    }

    /// The same pairs in any order: `HGETALL`, `CONFIG GET`.
    #[track_caller]
    pub(crate) fn same_pairs(&self, args: impl Argv) -> Value {
        self.compared(args, "the same pairs in any order", |ours, real| {
            compare::same_pairs(&ours.value, &real.value)
        })
    }

    /// The same types and numbers of items.
    #[track_caller]
    pub(crate) fn same_shape(&self, args: impl Argv) -> Value {
        self.compared(args, "the same shape", |ours, real| {
            compare::same_shape(&ours.value, &real.value)
        })
    }

    /// Two errors with the same first word.
    #[track_caller]
    pub(crate) fn same_error_class(&self, args: impl Argv) -> Value {
        let value = self.compared(args, "the same kind of error", |ours, real| {
            compare::same_error_class(&ours.value, &real.value)
        });
        assert!(value.is_error(), "expected an error, got {value:?}");
        value
    }

    /// Numbers that are at most `tolerance` apart, alone or in an array.
    #[track_caller]
    pub(crate) fn near(&self, args: impl Argv, tolerance: f64) -> Value {
        self.compared(args, &format!("numbers at most {tolerance} apart"), |ours, real| {
            compare::near(&ours.value, &real.value, tolerance)
        })
    }

    /// The same once `project` has taken away what may differ.
    #[track_caller]
    pub(crate) fn same_after(&self, args: impl Argv, project: impl Fn(Value) -> Value) -> Value {
        self.compared(args, "the same after the projection", |ours, real| {
            project(ours.value.clone()) == project(real.value.clone())
        })
    }

    /// Exactly these bytes, from the engine and from real Redis.
    #[track_caller]
    pub(crate) fn check(&self, args: impl Argv, expected: &[u8]) -> Value {
        let argv = args.argv();
        let (ours, real) = self.send(&argv);
        for (who, reply) in [("the engine", Some(&ours)), ("real Redis", real.as_ref())] {
            if let Some(reply) = reply.filter(|reply| reply.bytes != expected) {
                self.fail(
                    &argv,
                    &format!("{who} did not answer what the test expects"),
                    &[("expected", expected), ("got", &reply.bytes)],
                );
            }
        }
        ours.value
    }

    /// Exactly these bytes from the engine, and exactly those from real Redis.
    #[track_caller]
    pub(crate) fn differs(&self, args: impl Argv, ours: &[u8], real: &[u8]) {
        let argv = args.argv();
        let (our_reply, real_reply) = self.send(&argv);
        let replies = [("the engine", Some(our_reply), ours), ("real Redis", real_reply, real)];
        for (who, reply, expected) in replies {
            if let Some(reply) = reply.filter(|reply| reply.bytes != expected) {
                let what = format!("{who} did not answer what the test expects of it");
                self.fail(&argv, &what, &[("expected", expected), ("got", &reply.bytes)]);
            }
        }
    }

    /// The engine's reply and that of real Redis, for who expects them to differ.
    pub(crate) fn both(&self, args: impl Argv) -> (Reply, Option<Reply>) {
        self.send(&args.argv())
    }

    /// Whatever the replies are; for preparing what another command then compares.
    pub(crate) fn run(&self, args: impl Argv) -> Value {
        self.send(&args.argv()).0.value
    }

    /// Sends a command to the engine alone.
    pub(crate) fn run_ours(&self, args: impl Argv) -> Value {
        let shared = &mut *self.shared.borrow_mut();
        let argv = args.argv();
        let _ =
            writeln!(shared.sent, "  {}> {} (engine only)", self.connection, command_line(&argv));
        let reply = shared.ask_engine(self.connection, &argv);
        reply.unwrap_or_else(|| panic!("the engine waits: {}", command_line(&argv))).value
    }

    /// Sends a command to real Redis alone.
    pub(crate) fn run_real(&self, args: impl Argv) -> Option<Value> {
        let shared = &mut *self.shared.borrow_mut();
        let argv = args.argv();
        let _ = writeln!(shared.sent, "  {}> {} (real only)", self.connection, command_line(&argv));
        shared.ask_real(self.connection, &argv, 1).map(|reply| reply.value)
    }

    /// Waits until the LRU clock of real Redis, which it reads now and then, is where the body has
    /// begun: a body before this one may have left it ahead.
    pub(crate) fn settle_lru_clock(&self) {
        let Some(mut wire) = self.connect_real().filter(|_| self.is_frozen()) else { return };
        let wanted = format!("lru_clock:{}\r\n", START.as_secs() & 0xff_ffff);
        let settled = |info: Reply| String::from_utf8_lossy(&info.bytes).contains(&wanted);
        while !settled(wire.call(&["INFO", "server"])) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Another connection to real Redis, if there is one, that no other method uses.
    pub(crate) fn connect_real(&self) -> Option<Wire> {
        self.shared.borrow().real.as_ref().map(RealRedis::connect)
    }

    /// Switches this connection to RESP3.
    pub(crate) fn hello3(&self) {
        let reply = self.same_shape("HELLO 3");
        assert!(matches!(reply, Value::Map(_)), "HELLO 3 answered {reply:?}");
    }

    /// Both sides close the connection. The next command opens a new one.
    #[track_caller]
    pub(crate) fn closes(&self) {
        let shared = &mut *self.shared.borrow_mut();
        let ours = shared.sessions.get_mut(self.connection).and_then(Option::take);
        assert!(ours.is_some_and(OurSide::closes), "the engine keeps the connection");
        if let Some(mut wire) = shared.wires.get_mut(self.connection).and_then(Option::take) {
            assert!(wire.ends(), "real Redis keeps the connection");
        }
    }

    /// Closes the connection from this side. The next command opens a new one.
    pub(crate) fn disconnect(&self) {
        let shared = &mut *self.shared.borrow_mut();
        if let Some(session) = shared.sessions.get_mut(self.connection) {
            *session = None;
        }
        if let Some(wire) = shared.wires.get_mut(self.connection) {
            *wire = None;
        }
        shared.settle();
    }

    /// Moves both clocks on. Where the real one cannot be moved, waits.
    pub(crate) fn advance(&self, ms: u64) {
        let shared = &mut *self.shared.borrow_mut();
        let _ = writeln!(shared.sent, "  ({ms} ms pass)");
        let env = shared.engine.env();
        let step = Duration::from_millis(ms);
        env.advance(step);
        if !env.is_manual() {
            std::thread::sleep(step);
        } else if let Some(real) = &shared.real {
            real.set_clock(env.now());
            shared.settle();
        }
    }

    #[track_caller]
    fn compared(
        &self,
        args: impl Argv,
        what: &str,
        agree: impl Fn(&Reply, &Reply) -> bool,
    ) -> Value {
        let argv = args.argv();
        let (ours, real) = self.send(&argv);
        if let Some(real) = real.filter(|real| !agree(&ours, real)) {
            self.fail(
                &argv,
                &format!("the replies are not {what}"),
                &[("engine", &ours.bytes), ("real", &real.bytes)],
            );
        }
        ours.value
    }

    /// Sends a command to the engine and, if there is one, to the real server.
    fn send(&self, argv: &[Vec<u8>]) -> (Reply, Option<Reply>) {
        let shared = &mut *self.shared.borrow_mut();
        let _ = writeln!(shared.sent, "  {}> {}", self.connection, command_line(argv));
        let ours = shared.ask_engine(self.connection, argv);
        let ours = ours.unwrap_or_else(|| panic!("the engine waits: {}", command_line(argv)));
        let replies = replies_in(&ours.bytes).len();
        (ours, shared.ask_real(self.connection, argv, replies))
    }

    #[track_caller]
    fn fail(&self, argv: &[Vec<u8>], what: &str, replies: &[(&str, &[u8])]) -> ! {
        let mut shared = self.shared.borrow_mut();
        shared.reported = true;
        let mut text = format!("{what}\n  command: {}\n", command_line(argv));
        for (name, bytes) in replies {
            let _ = writeln!(text, "  {name:>8}: {}", bytes.escape_ascii());
        }
        let _ = write!(text, "after\n{}", shared.sent);
        drop(shared);
        panic!("{text}");
    }
}

impl Shared {
    /// The reply, unless it has to be waited for.
    fn ask_engine(&mut self, connection: usize, argv: &[Vec<u8>]) -> Option<Reply> {
        if self.sessions.len() <= connection {
            self.sessions.resize_with(connection + 1, || None);
        }
        let idle = OurSide::Idle(self.engine.session());
        let mut ours = self.sessions[connection].take().unwrap_or(idle);
        let reply = ours.begin(argv);
        self.sessions[connection] = Some(ours);
        reply
    }

    /// As many replies as the engine gave.
    fn ask_real(&mut self, connection: usize, argv: &[Vec<u8>], replies: usize) -> Option<Reply> {
        let real = self.real.as_mut()?;
        if spoils(argv) {
            real.spoil();
        }
        if self.wires.len() <= connection {
            self.wires.resize_with(connection + 1, || None);
        }
        let wire = self.wires[connection].get_or_insert_with(|| real.connect());
        Some(wire.try_call_for(argv, replies).unwrap_or_else(|error| {
            panic!("real Redis did not answer {}: {error}", command_line(argv))
        }))
    }
}

/// Whether a command may leave a server that FLUSHALL does not make as new.
fn spoils(argv: &[Vec<u8>]) -> bool {
    let is = |at: usize, word: &str| {
        argv.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    };
    (is(0, "CONFIG") && !is(1, "GET"))
        || (is(0, "CLIENT") && is(1, "PAUSE"))
        || (is(0, "SCRIPT") && is(1, "DEBUG"))
        || ["ACL", "DEBUG", "SHUTDOWN", "REPLICAOF", "SLAVEOF", "MONITOR", "FUNCTION"]
            .iter()
            .any(|name| is(0, name))
}

/// The command as it can be typed at a terminal.
fn command_line(argv: &[Vec<u8>]) -> String {
    let plain = |arg: &[u8]| {
        !arg.is_empty() && arg.iter().all(|b| b.is_ascii_graphic() && !b"\"'\\".contains(b))
    };
    let words: Vec<String> = argv
        .iter()
        .map(|arg| {
            let escaped = arg.escape_ascii();
            if plain(arg) { escaped.to_string() } else { format!("\"{escaped}\"") }
        })
        .collect();
    words.join(" ")
}
