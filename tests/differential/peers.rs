//! The two sides: an engine and a redis-server under one clock, with as many connections each.

use std::time::Duration;

use stockroom::resp::{Protocol, ReplyDecoder, Value, encode};
use stockroom::{Engine, Env, Session, Timestamp, commands};

use super::equal::{equal, equal_exec};
use super::steps::{CONNECTIONS, Step};
use crate::support::{OurSide, RealRedis, Wire, real_redis, replies_in};

/// Databases that lists of steps select.
const DATABASES: usize = 3;

/// The environment that both sides start with.
pub(crate) fn start_env() -> Env {
    let start = Timestamp::from_micros(commands::sample::EPOCH_SECS * 1_000_000 + 123_456);
    Env::manual(start, 7)
}

/// How long a real server may take for a reply that the engine has given.
const PATIENCE: Duration = Duration::from_secs(5);

type Line = Vec<Vec<u8>>;

/// A connection to both sides.
struct Client {
    ours: OurSide,
    wire: Wire,
    /// The command lines queued since MULTI.
    queued: Vec<Line>,
    /// The line that it is blocked by.
    blocked: Option<Line>,
}

/// Both sides.
pub(crate) struct Peers {
    engine: Engine,
    real: RealRedis,
    clients: Vec<Client>,
    control: Wire,
    /// Whether a step had different results.
    differ: bool,
}

impl Peers {
    /// Starts both; `None`, said loudly, without a redis-server.
    pub(crate) fn start() -> Option<Self> {
        let real = real_redis(start_env().now())?;
        assert!(real.set_clock(start_env().now()), "the server's clock cannot be frozen here");
        let control = real.connect();
        let engine = Engine::with_env(start_env());
        let mut peers = Self { engine, real, clients: Vec::new(), control, differ: false };
        peers.connect();
        Some(peers)
    }

    /// Empties both sides and puts both clocks to the start. The last connection speaks RESP3.
    pub(crate) fn reset(&mut self) {
        self.engine = Engine::with_env(start_env());
        self.real.set_clock(self.engine.env().now());
        self.control.call(&["FLUSHALL"]);
        // What one side has to say and the other has not would be taken for a reply.
        let differ = std::mem::take(&mut self.differ);
        if differ || self.clients.iter().any(|client| client.blocked.is_some()) {
            for class in ["normal", "pubsub"] {
                self.control.call(&["CLIENT", "KILL", "TYPE", class]);
            }
            self.connect();
        }
        for client in &mut self.clients {
            client.wire.call(&["RESET"]);
            client.ours = OurSide::Idle(self.engine.session());
            client.queued.clear();
        }
        let hello = ["HELLO", "3"].map(|word| word.as_bytes().to_vec());
        if let Some(last) = self.clients.last_mut() {
            last.ours.begin(&hello);
            last.wire.call(&hello);
        }
    }

    fn connect(&mut self) {
        let client = |_| Client {
            ours: OurSide::Idle(self.engine.session()),
            wire: self.real.connect(),
            queued: Vec::new(),
            blocked: None,
        };
        self.clients = (0..CONNECTIONS).map(client).collect();
    }

    /// Whether a step can be done: the client is not blocked, and what it sends neither makes
    /// several keys ready in the order of a hash table, as SWAPDB may, nor publishes in a
    /// transaction to who subscribes in it.
    pub(crate) fn can_do(&self, step: &Step) -> bool {
        let Step::Call { connection, line } = step else { return true };
        let client = &self.clients[*connection];
        let swaps = |line: &Line| line.iter().any(|word| word.eq_ignore_ascii_case(b"SWAPDB"));
        let runs_queue = line[0].eq_ignore_ascii_case(b"EXEC");
        let swaps = swaps(line) || runs_queue && client.queued.iter().any(swaps);
        // What a transaction publishes to channels that it has itself subscribed to comes in the
        // middle of its reply in Redis, and after it here.
        let subscribes = |line: &Line| line[0].to_ascii_uppercase().ends_with(b"SUBSCRIBE");
        let publishes = |line: &Line| {
            let name = line[0].to_ascii_uppercase();
            name.ends_with(b"PUBLISH") || name.starts_with(b"EVAL")
        };
        let to_itself = subscribes(line) && client.queued.iter().any(publishes)
            || publishes(line) && client.queued.iter().any(subscribes);
        let others_wait = self.clients.iter().any(|client| client.blocked.is_some());
        client.blocked.is_none() && !(swaps && others_wait) && !to_itself
    }

    /// Does a step on both sides.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        let result = self.take_step(step);
        self.differ |= result.is_err();
        result
    }

    fn take_step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Call { connection, line } => {
                self.call(*connection, line)?;
                self.compare_messages()?;
                self.compare_blocked()
            }
            Step::Wait { millis } => {
                self.engine.env().advance(Duration::from_millis(*millis));
                self.real.set_clock(self.engine.env().now());
                self.bury_the_dead();
                self.compare_blocked()
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

    fn call(&mut self, connection: usize, line: &Line) -> Result<(), String> {
        let client = &mut self.clients[connection];
        let ours = client.ours.begin(line);
        client.wire.request(line);
        let Some(ours) = ours else {
            client.blocked = Some(line.clone());
            return Ok(()); // whether the other side waits, too, is looked at for all
        };
        let ours = replies_in(&ours.bytes);
        let real: Vec<Value> = ours
            .iter()
            .map_while(|_| client.wire.poll(PATIENCE))
            .map(|reply| reply.value)
            .collect();
        let is = |name: &[u8]| line[0].eq_ignore_ascii_case(name);
        let queued = if is(b"EXEC") { std::mem::take(&mut client.queued) } else { Vec::new() };
        let same = match (&ours[..], &real[..]) {
            ([ours], [real]) if is(b"EXEC") => equal_exec(&queued, ours, real),
            ([ours], [real]) => equal(line, ours, real),
            _ => words_of(&ours) == words_of(&real),
        };
        if is(b"DISCARD") || is(b"RESET") {
            client.queued.clear();
        } else if real == [Value::simple("QUEUED")] {
            client.queued.push(line.clone());
        }
        if same {
            return Ok(());
        }
        let [ours, real] = [ours, real].map(Value::Several);
        Err(difference(connection, line, Some(&ours), Some(&real)))
    }

    /// Looks at the messages that have arrived for each client.
    fn compare_messages(&mut self) -> Result<(), String> {
        if !self.clients.iter().any(|client| client.ours.listens()) {
            return Ok(());
        }
        (0..2).for_each(|_| drop(self.control.call(&["PING"])));
        for (connection, client) in self.clients.iter_mut().enumerate() {
            if client.blocked.is_some() {
                continue;
            }
            let ours = std::iter::from_fn(|| client.ours.message()).map(|message| message.value);
            let real = std::iter::from_fn(|| client.wire.arrived()).map(|message| message.value);
            let (ours, real): (Vec<Value>, Vec<Value>) = (ours.collect(), real.collect());
            if words_of(&ours) != words_of(&real) {
                return Err(format!(
                    "messages for {connection}\n  engine: {ours:?}\n  redis:  {real:?}"
                ));
            }
        }
        Ok(())
    }

    /// Looks at every client that was blocked: it still is on both sides, or has the same reply.
    fn compare_blocked(&mut self) -> Result<(), String> {
        if self.clients.iter().all(|client| client.blocked.is_none()) {
            return Ok(());
        }
        // What was sent before the first reply is done before the second.
        (0..2).for_each(|_| drop(self.control.call(&["PING"])));
        for (connection, client) in self.clients.iter_mut().enumerate() {
            let Some(line) = &client.blocked else { continue };
            let ours = client.ours.reply().map(|reply| reply.value);
            let real = client.wire.arrived().map(|reply| reply.value);
            match (&ours, &real) {
                (None, None) => {}
                (Some(ours), Some(real)) if equal(line, ours, real) => client.blocked = None,
                _ => return Err(difference(connection, line, ours.as_ref(), real.as_ref())),
            }
        }
        Ok(())
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

/// All that several replies say, in some order: which pattern a message is sent for first, and
/// which channel is given up first, is that of a hash table.
fn words_of(replies: &[Value]) -> Vec<String> {
    fn collect(value: &Value, words: &mut Vec<String>) {
        match value {
            Value::Array(items) | Value::Push(items) | Value::Set(items) => {
                items.iter().for_each(|item| collect(item, words));
            }
            other => words.push(format!("{other:?}")),
        }
    }
    let mut words = Vec::new();
    replies.iter().for_each(|reply| collect(reply, &mut words));
    words.sort();
    words
}

fn difference(
    connection: usize,
    line: &Line,
    ours: Option<&Value>,
    real: Option<&Value>,
) -> String {
    let step = Step::Call { connection, line: line.clone() };
    format!("{step:?}\n  engine: {ours:?}\n  redis:  {real:?}")
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
