//! The two sides: an engine and a redis-server under one clock, with as many connections each.

use std::time::Duration;

use stockroom::resp::{Protocol, ReplyDecoder, Value, encode};
use stockroom::{Engine, Env, Session, Timestamp, commands};

use super::equal::{equal, equal_exec};
use super::steps::{CONNECTIONS, Step};
use crate::support::{RealRedis, Wire, real_redis};

/// Databases that lists of steps select.
const DATABASES: usize = 3;

/// The environment that both sides start with.
pub(crate) fn start_env() -> Env {
    let start = Timestamp::from_micros(commands::sample::EPOCH_SECS * 1_000_000 + 123_456);
    Env::manual(start, 7)
}

/// Both sides.
pub(crate) struct Peers {
    engine: Engine,
    sessions: Vec<Session>,
    real: RealRedis,
    wires: Vec<Wire>,
    control: Wire,
    /// Per connection, the command lines queued since MULTI.
    queued: Vec<Vec<Vec<Vec<u8>>>>,
}

impl Peers {
    /// Starts both; `None`, said loudly, without a redis-server.
    pub(crate) fn start() -> Option<Self> {
        let real = real_redis(start_env().now())?;
        assert!(real.set_clock(start_env().now()), "the server's clock cannot be frozen here");
        let wires = (0..CONNECTIONS).map(|_| real.connect()).collect();
        let control = real.connect();
        let engine = Engine::with_env(start_env());
        Some(Self { engine, sessions: Vec::new(), real, wires, control, queued: Vec::new() })
    }

    /// Empties both sides and puts both clocks to the start. The last connection speaks RESP3.
    pub(crate) fn reset(&mut self) {
        self.engine = Engine::with_env(start_env());
        self.real.set_clock(self.engine.env().now());
        self.control.call(&["FLUSHALL"]);
        self.sessions = (0..CONNECTIONS).map(|_| self.engine.session()).collect();
        self.queued = vec![Vec::new(); CONNECTIONS];
        self.wires.iter_mut().for_each(|wire| {
            wire.call(&["RESET"]);
        });
        self.sessions[CONNECTIONS - 1].call(&[b"HELLO", b"3"]);
        self.wires[CONNECTIONS - 1].call(&["HELLO", "3"]);
    }

    /// Does a step on both sides.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Call { connection, line } => self.call(*connection, line),
            Step::Wait { millis } => {
                self.engine.env().advance(Duration::from_millis(*millis));
                self.real.set_clock(self.engine.env().now());
                self.bury_the_dead();
                Ok(())
            }
        }
    }

    /// A real server counts a dead key until somebody looks at it or it happens to be sampled. A
    /// look at every key makes its answers depend on the clock alone.
    fn bury_the_dead(&mut self) {
        for db in 0..DATABASES {
            self.control.call(&["SELECT", &db.to_string()]);
            self.control.call(&["SCAN", "0", "COUNT", "100000"]);
        }
    }

    fn call(&mut self, connection: usize, line: &[Vec<u8>]) -> Result<(), String> {
        let argv: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
        let session = &mut self.sessions[connection];
        let ours = on_the_wire(&session.call(&argv), session.protocol());
        let real = self.wires[connection].call(line).value;
        let queued = &mut self.queued[connection];
        let same = if argv[0].eq_ignore_ascii_case(b"EXEC") {
            equal_exec(&std::mem::take(queued), &ours, &real)
        } else {
            if argv[0].eq_ignore_ascii_case(b"DISCARD") {
                queued.clear();
            } else if real == Value::simple("QUEUED") {
                queued.push(line.to_vec());
            }
            equal(line, &ours, &real)
        };
        if same {
            return Ok(());
        }
        let line = Step::Call { connection, line: line.to_vec() };
        Err(format!("{line:?}\n  engine: {ours:?}\n  redis:  {real:?}"))
    }

    /// Compares all keys: type, form, deadline and content.
    pub(crate) fn compare_keys(&mut self) -> Result<(), String> {
        self.bury_the_dead();
        let ours = dump(&mut self.engine.session());
        let mut control = |line: &[&[u8]]| self.control.call(line).value;
        let real = dump_with(&mut control);
        if ours == real {
            return Ok(());
        }
        let only = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|line| !b.contains(line)).cloned().collect()
        };
        let (a, b) = (only(&ours, &real).join("\n  "), only(&real, &ours).join("\n  "));
        Err(format!("the keys differ\n engine:\n  {a}\n redis:\n  {b}"))
    }
}

/// A reply as a client of that protocol reads it.
fn on_the_wire(value: &Value, protocol: Protocol) -> Value {
    let mut bytes = Vec::new();
    encode(value, protocol, &mut bytes);
    let mut decoder = ReplyDecoder::default();
    decoder.feed(&bytes);
    match decoder.next_reply() {
        Ok(Some(value)) => value,
        other => panic!("{value:?} does not survive the wire: {other:?}"),
    }
}

/// All keys of an engine, a line each.
pub(crate) fn dump(session: &mut Session) -> Vec<String> {
    dump_with(&mut |line: &[&[u8]]| on_the_wire(&session.call(line), Protocol::Resp2))
}

fn dump_with(call: &mut dyn FnMut(&[&[u8]]) -> Value) -> Vec<String> {
    let mut lines = Vec::new();
    for db in 0..DATABASES {
        call(&[b"SELECT", db.to_string().as_bytes()]);
        lines.push(format!("{db} holds {:?}", call(&[b"DBSIZE"])));
        let Value::Array(keys) = call(&[b"KEYS", b"*"]) else { continue };
        for key in &keys {
            let Value::Bulk(key) = key else { continue };
            let kind = call(&[b"TYPE", key]);
            let form = call(&[b"OBJECT", b"ENCODING", key]);
            let deadline = call(&[b"PEXPIRETIME", key]);
            let Value::Simple(name) = &kind else { continue };
            let read: Vec<&[u8]> = match &**name {
                "string" => vec![b"GET", key],
                "list" => vec![b"LRANGE", key, b"0", b"-1"],
                "hash" => vec![b"HGETALL", key],
                "set" => vec![b"SMEMBERS", key],
                _ => vec![b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
            };
            let line: Vec<Vec<u8>> = read.iter().map(|word| word.to_vec()).collect();
            let content = super::equal::normalized(&line, &call(&read));
            lines.push(format!("{db} {key:?} {name} {form:?} {deadline:?} {content:?}"));
        }
    }
    lines.sort();
    lines
}
