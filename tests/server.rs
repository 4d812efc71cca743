//! The server over real sockets: framing, pipelines, limits, clients that misbehave, and the
//! clients that people use.
#![cfg(feature = "server")]

mod support;

use std::process::{Command, Output};
use std::time::Duration;

use stockroom::resp::{RequestLimits, Value, encode_request};
use stockroom::server::{self, Limits, Server};
use stockroom::{Engine, Stopwatch, Timestamp};
use support::{Wire, real_redis, skip};

#[path = "server/messages.rs"]
mod messages;

/// A server in a runtime of its own, stopped when dropped.
struct Running {
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
}

impl Running {
    fn with(limits: Limits) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = runtime.block_on(async {
            let addr = "127.0.0.1:0".parse().expect("an address");
            let listener = server::listen(addr).await.expect("a free port");
            server::spawn(Engine::new(), listener, limits).expect("an address")
        });
        Self { runtime, server: Some(server) }
    }

    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("running")
    }

    fn connect(&self) -> Wire {
        Wire::connect(self.server().addr())
    }

    fn port(&self) -> String {
        self.server().addr().port().to_string()
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until `done`, and fails after five seconds.
fn eventually(what: &str, done: impl Fn() -> bool) {
    let waited = Stopwatch::start();
    while !done() {
        assert!(waited.elapsed() < Duration::from_secs(5), "{what}: still not after 5 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything the server sends in answer to `pieces`.
fn converse<'a>(mut wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    for piece in pieces {
        wire.send(piece);
        std::thread::sleep(Duration::from_micros(300));
    }
    wire.finish();
    wire.read_to_end()
}

/// Everything the server sends until it closes the connection by itself.
fn until_closed(mut wire: Wire, bytes: &[u8]) -> Vec<u8> {
    wire.send(bytes);
    wire.read_to_end()
}

#[test]
fn a_split_anywhere_gives_the_same_replies() {
    let running = Running::new();
    let mut requests = b"*3\r\n$3\r\nSET\r\n$2\r\nk\0\r\n$4\r\n\r\n\xff*\r\n".to_vec();
    requests.extend_from_slice(b"GET \"k\\x00\"\r\n\r\n*0\r\nNOSUCH 'a b'\n");
    let expected = b"+OK\r\n$4\r\n\r\n\xff*\r\n-ERR unknown command 'NOSUCH', with args beginning \
        with: 'a b' \r\n";
    for at in 0..=requests.len() {
        let (head, tail) = requests.split_at(at);
        let replies = converse(running.connect(), [head, tail]);
        assert_eq!(replies.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{at}");
    }
    assert_eq!(converse(running.connect(), requests.chunks(1)), expected);
}

#[test]
fn a_pipeline_may_be_sent_whole_before_any_reply_is_read() {
    const REQUESTS: usize = 10_000;
    let running = Running::new();
    let mut wire = running.connect();
    let value = "x".repeat(3_000);
    assert_eq!(wire.call(&["SET", "big", &value]).value, Value::OK);
    let mut requests = Vec::new();
    for i in 0..REQUESTS {
        let n = i.to_string();
        encode_request(&["SET", "n", &n], &mut requests);
        encode_request(&["GET", "n"], &mut requests);
        encode_request(&["GET", "big"], &mut requests);
    }
    // 30 MB of replies: far more than the operating system holds for a client that does not read.
    wire.send(&requests);
    for i in 0..REQUESTS {
        assert_eq!(wire.read().value, Value::OK);
        assert_eq!(wire.read().value, Value::bulk(i.to_string()));
        assert_eq!(wire.read().value, Value::bulk(&value));
    }
    eventually("nothing is buffered", || running.server().buffered() == 0);
}

#[test]
fn malformed_requests_are_answered_as_by_redis() {
    let running = Running::new();
    let real = real_redis(Timestamp::from_secs(1_700_000_000));
    let long = vec![b'1'; 65_537];
    for bytes in [
        &b"*x\r\nPING\r\n"[..],
        b"*2147483648\r\n",
        b"SET a b\r\n*1\r\n$-1\r\n",
        b"*1\r\n$536870913\r\n",
        b"*1\r\nGET\r\n",
        b"*1\r\n\xff\r\n",
        b"SET a \"b\r\n",
        b"SET a 'b'c\r\n",
        b"QUIT\r\nSET a b\r\n",
        b"MULTI\r\nQUIT\r\n",
        b"MULTI\r\nSET a b\r\n*x\r\nEXEC\r\n",
        b"CLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\nQUIT\r\n",
        b"SET a b\r\nPOST / HTTP/1.1\r\nHost: x\r\n",
        b"Host: x\r\n",
        &[b"SET a b\r\n", &long[..]].concat(),
        &[b"*", &long[..]].concat(),
        &[b"*1\r\n$", &long[..]].concat(),
    ] {
        let shown = bytes[..bytes.len().min(60)].escape_ascii();
        let ours = until_closed(running.connect(), bytes);
        let Some(real) = &real else { continue };
        let theirs = until_closed(real.connect(), bytes);
        assert_eq!(ours.escape_ascii().to_string(), theirs.escape_ascii().to_string(), "{shown}");
    }
}

#[test]
fn a_client_without_replies_is_still_closed_at_its_end() {
    // Redis 7.0.15 keeps these connections open for ever, and reads nothing more from them.
    let running = Running::new();
    assert_eq!(until_closed(running.connect(), b"CLIENT REPLY OFF\r\nECHO a\r\n*x\r\n"), b"");
    assert_eq!(until_closed(running.connect(), b"CLIENT REPLY SKIP\r\nQUIT\r\n"), b"");
}

#[test]
fn a_skipped_reply_takes_a_protocol_error_after_it_along() {
    let bytes = b"CLIENT REPLY SKIP\r\nECHO a\r\n*x\r\n";
    let running = Running::new();
    assert_eq!(until_closed(running.connect(), bytes), b"");
    let Some(real) = real_redis(Timestamp::from_secs(1_700_000_000)) else { return };
    let refused = b"-ERR Protocol error: invalid multibulk length\r\n";
    assert_eq!(until_closed(real.connect(), bytes), refused);
}

#[test]
fn limits_of_a_server_are_those_it_was_started_with() {
    let running = Running::new();
    let mut first = running.connect();
    let set = ["CONFIG", "SET", "maxclients", "1", "timeout", "1"];
    assert_eq!(first.call(&set).value, Value::OK);
    assert_eq!(running.connect().call(&["PING"]).value, Value::simple("PONG"));
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(first.call(&["PING"]).value, Value::simple("PONG"));
    let Some(mut real) = real_redis(Timestamp::from_secs(1_700_000_000)) else { return };
    real.spoil();
    let mut first = real.connect();
    assert_eq!(first.call(&set[..4]).value, Value::OK);
    let refused = b"-ERR max number of clients reached\r\n";
    assert_eq!(real.connect().read_to_end(), refused);
}

#[test]
fn limits_of_a_request_are_held() {
    let request = RequestLimits { max_args: 3, max_bulk: 1_000, max_request: 2_000 };
    let running = Running::with(Limits { request, ..Limits::default() });
    let refused = |bytes: &[u8]| String::from_utf8(until_closed(running.connect(), bytes)).unwrap();
    assert_eq!(refused(b"*4\r\n"), "-ERR Protocol error: invalid multibulk length\r\n");
    assert_eq!(refused(b"*1\r\n$1001\r\n"), "-ERR Protocol error: invalid bulk length\r\n");
    // As Redis beyond client-query-buffer-limit: no word.
    let value = "x".repeat(999);
    let mut bytes = Vec::new();
    encode_request(&["SET", &value, &value], &mut bytes);
    assert_eq!(refused(&bytes), "");
    let mut wire = running.connect();
    assert_eq!(wire.call(&["SET", "k", &value]).value, Value::OK);
}

#[test]
fn all_clients_together_may_buffer_only_so_much() {
    let running = Running::with(Limits { max_buffered: 100_000, ..Limits::default() });
    let half = [b"*2\r\n$3\r\nGET\r\n$60000\r\n", &vec![b'x'; 50_000][..]].concat();
    let mut first = running.connect();
    first.send(&half);
    eventually("the half request is held", || running.server().buffered() >= 50_000);
    let mut second = running.connect();
    second.send(&half);
    assert_eq!(second.read_to_end(), b"");
    first.send(&[&[b'x'; 10_000][..], b"\r\n"].concat());
    assert_eq!(first.read().value, Value::Nil);
    eventually("both are forgotten", || running.server().buffered() == 0);
}

#[test]
fn one_client_too_many_is_told_so() {
    let running = Running::with(Limits { max_clients: 2, ..Limits::default() });
    let mut first = running.connect();
    let mut second = running.connect();
    for wire in [&mut first, &mut second] {
        assert_eq!(wire.call(&["SET", "k", "v"]).value, Value::OK);
    }
    let mut third = running.connect();
    assert_eq!(third.read_to_end(), b"-ERR max number of clients reached\r\n");
    let told = |wire: &mut Wire| {
        let info = String::from_utf8(wire.call(&["INFO", "stats", "clients"]).bytes).unwrap();
        ["maxclients:", "rejected_connections:"].map(|name| {
            info.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned).unwrap()
        })
    };
    assert_eq!(told(&mut first), ["2", "1"]);
    // The setting does not reach a running server.
    assert_eq!(first.call(&["CONFIG", "SET", "maxclients", "7"]).value, Value::OK);
    assert_eq!(told(&mut first), ["2", "1"]);
    assert_eq!(first.call(&["CONFIG", "RESETSTAT"]).value, Value::OK);
    assert_eq!(told(&mut first), ["2", "0"]);
    drop(first);
    eventually("the first has left", || running.server().clients() == 1);
    assert_eq!(running.connect().call(&["GET", "k"]).value, Value::bulk("v"));
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let running = Running::new();
    for i in 0..200 {
        let mut wire = running.connect();
        let requests = b"WATCH k\r\nMULTI\r\nSET k v\r\n*2\r\n$3\r\nGET\r\n$100000\r\nxxxxx";
        wire.send(&requests[..requests.len() - i % requests.len()]);
    }
    // Who comes after them is let in after them.
    let mut wire = running.connect();
    assert_eq!(wire.call(&["GET", "k"]).value, Value::Nil);
    eventually("all are gone", || running.server().clients() == 1);
    assert_eq!(running.server().buffered(), 0);
    let list = wire.call(&["CLIENT", "LIST"]).bytes;
    assert_eq!(String::from_utf8_lossy(&list).matches("laddr=").count(), 1);
}

#[test]
fn a_client_that_kills_itself_is_answered_first() {
    let running = Running::new();
    let mut wire = running.connect();
    let Value::Int(id) = wire.call(&["CLIENT", "ID"]).value else { panic!("no number") };
    let kill = ["CLIENT", "KILL", "ID", &id.to_string(), "SKIPME", "no"];
    assert_eq!(wire.call(&kill).value, Value::Int(1));
    assert!(wire.ends());
}

#[test]
fn each_connection_speaks_its_own_protocol() {
    let running = Running::new();
    let (mut two, mut three) = (running.connect(), running.connect());
    assert!(matches!(three.call(&["HELLO", "3"]).value, Value::Map(_)));
    assert_eq!(two.call(&["GET", "none"]).bytes, b"$-1\r\n");
    assert_eq!(three.call(&["GET", "none"]).bytes, b"_\r\n");
}

#[test]
fn a_client_that_never_reads_costs_a_bounded_amount_and_nobody_else_any_time() {
    let limits = Limits { max_output: 1_000_000, ..Limits::default() };
    let running = Running::with(limits);
    let mut wire = running.connect();
    assert_eq!(wire.call(&["SET", "big", &"x".repeat(100_000)]).value, Value::OK);
    let mut greedy = running.connect();
    greedy.send(&b"GET big\r\n".repeat(1_000)); // 100 MB of replies
    eventually("its replies wait", || running.server().buffered() >= 1_000_000);
    let waited = Stopwatch::start();
    for _ in 0..1_000 {
        assert_eq!(wire.call(&["SET", "k", "v"]).value, Value::OK);
    }
    assert!(waited.elapsed() < Duration::from_secs(2), "{:?}", waited.elapsed());
    assert!(running.server().buffered() < 1_200_000, "{}", running.server().buffered());
    // When it reads at last, everything is there.
    for _ in 0..1_000 {
        assert_eq!(greedy.read().bytes.len(), 100_011);
    }
    assert_eq!(greedy.call(&["GET", "k"]).value, Value::bulk("v"));
}

#[test]
fn a_reply_beyond_the_limit_ends_its_connection_unwritten() {
    let running = Running::with(Limits { max_buffered: 1_000_000, ..Limits::default() });
    let mut wire = running.connect();
    assert_eq!(wire.call(&["SET", "k", &"x".repeat(400_000)]).value, Value::OK);
    assert_eq!(wire.call(&["MGET", "k", "k"]).bytes.len(), 800_026);
    // Not a byte of it is written, as would be if it were counted afterwards.
    assert_eq!(until_closed(running.connect(), b"MGET k k k\r\n"), b"");
    // A transaction's replies are one.
    let replies = until_closed(running.connect(), b"MULTI\r\nGET k\r\nMGET k k\r\nEXEC\r\n");
    assert!(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n".starts_with(&replies), "{}", replies.len());
    assert_eq!(wire.call(&["EXISTS", "k"]).value, Value::Int(1));
    eventually("nothing is buffered", || running.server().buffered() == 0);
}

#[test]
fn queued_commands_and_watched_keys_count_against_the_limit() {
    let running = Running::with(Limits { max_buffered: 1_000_000, ..Limits::default() });
    let mut wire = running.connect();
    wire.call(&["MULTI"]);
    let value = "x".repeat(10_000);
    for _ in 0..50 {
        assert_eq!(wire.call(&["SET", "k", &value]).value, Value::simple("QUEUED"));
    }
    eventually("the queue is counted", || running.server().buffered() > 500_000);
    assert!(matches!(wire.call(&["EXEC"]).value, Value::Array(_)));
    eventually("nothing is buffered", || running.server().buffered() == 0);

    // Until it is too much, and that client is gone.
    let mut queueing = running.connect();
    queueing.call(&["MULTI"]);
    assert!((0..200).any(|_| queueing.try_call(&["SET", "queued", &value]).is_err()));
    let mut watching = running.connect();
    let mut keys = (0..200).map(|n| format!("{n}{value}"));
    assert!(keys.any(|key| watching.try_call(&["WATCH", &key]).is_err()));
    eventually("nothing is buffered", || running.server().buffered() == 0);
    assert_eq!(wire.call(&["EXISTS", "queued"]).value, Value::Int(0));
}

#[test]
fn arguments_of_an_incomplete_request_count_against_the_limit() {
    let running = Running::with(Limits { max_buffered: 1_000_000, ..Limits::default() });
    let mut wire = running.connect();
    wire.send(b"*1000000\r\n");
    wire.send(&b"$0\r\n\r\n".repeat(30_000));
    // 6 bytes of each as sent, and 16 for where it is.
    eventually("they are counted", || running.server().buffered() > 30_000 * 22);
    wire.send(&b"$0\r\n\r\n".repeat(20_000));
    assert!(wire.ends());
    eventually("nothing is buffered", || running.server().buffered() == 0);
}

#[test]
fn a_silent_client_is_dropped_if_asked_for() {
    let idle = Some(Duration::from_millis(50));
    let running = Running::with(Limits { idle, ..Limits::default() });
    let mut wire = running.connect();
    assert_eq!(wire.call(&["SET", "k", "v"]).value, Value::OK);
    assert!(wire.ends());
    eventually("it is gone", || running.server().clients() == 0);
}

#[test]
fn a_killed_client_is_cut_off_while_it_waits() {
    let running = Running::new();
    let (mut one, mut other) = (running.connect(), running.connect());
    let Value::Int(id) = other.call(&["CLIENT", "ID"]).value else { panic!("no number") };
    let kill = ["CLIENT", "KILL", "ID", &id.to_string()];
    assert_eq!(one.call(&kill).value, Value::Int(1));
    assert!(other.ends());
    eventually("it is gone", || running.server().clients() == 1);
    assert_eq!(one.call(&["CLIENT", "KILL", "TYPE", "normal"]).value, Value::Int(0));
    assert_eq!(one.call(&["PING"]).value, Value::simple("PONG"));
}

#[test]
fn clients_and_the_port_are_known_by_their_addresses() {
    let running = Running::new();
    let mut wire = running.connect();
    let info = wire.call(&["CLIENT", "INFO"]).value;
    let Value::Bulk(line) = info else { panic!("{info:?} is no string") };
    assert!(line.to_text().contains(&format!(" laddr={} ", running.server().addr())), "{line:?}");
    assert!(line.to_text().contains(" addr=127.0.0.1:"), "{line:?}");
    let port = wire.call(&["CONFIG", "GET", "port"]).value;
    assert_eq!(port, Value::bulks(["port", &running.port()]));
}

#[test]
fn replies_that_a_client_does_not_want_are_not_sent() {
    let running = Running::new();
    let mut wire = running.connect();
    let requests: [&[&str]; 7] = [
        &["CLIENT", "REPLY", "SKIP"],
        &["ECHO", "skipped"],
        &["ECHO", "one"],
        &["CLIENT", "REPLY", "OFF"],
        &["ECHO", "off"],
        &["CLIENT", "REPLY", "ON"],
        &["ECHO", "two"],
    ];
    let mut bytes = Vec::new();
    for request in requests {
        encode_request(request, &mut bytes);
    }
    wire.send(&bytes);
    let replies: Vec<Value> = (0..3).map(|_| wire.read().value).collect();
    assert_eq!(replies, [Value::bulk("one"), Value::OK, Value::bulk("two")]);
}

#[test]
fn stopping_closes_every_connection_and_the_port() {
    let mut running = Running::new();
    let addr = running.server().addr();
    let mut idle = running.connect();
    assert_eq!(idle.call(&["SET", "k", "v"]).value, Value::OK);
    let mut halfway = running.connect();
    halfway.send(b"*2\r\n$3\r\nGET\r\n");
    let waited = Stopwatch::start();
    running.stop();
    assert!(waited.elapsed() < Duration::from_secs(1), "{:?}", waited.elapsed());
    assert!(idle.ends());
    assert!(halfway.ends());
    assert!(Wire::try_connect(addr).is_err());
}

/// Runs a program of redis-tools, if it is installed.
fn tool(name: &str, args: &[&str]) -> Option<Output> {
    match Command::new(name).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!("{name} is not tried: {error}"));
            None
        }
    }
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_string()
}

#[test]
fn redis_cli_works() {
    let running = Running::new();
    let port = running.port();
    let cli = |args: &[&str]| tool("redis-cli", &[&["-p", &port], args].concat());
    let Some(set) = cli(&["set", "a", "b"]) else { return };
    assert_eq!(stdout(&set), "OK");
    assert_eq!(stdout(&cli(&["get", "a"]).unwrap()), "b");
    assert_eq!(stdout(&cli(&["get", "none"]).unwrap()), "");
    let scanned = stdout(&cli(&["--scan", "--pattern", "a*"]).unwrap());
    assert_eq!(scanned, "a");
    assert!(stdout(&cli(&["info"]).unwrap()).contains("redis_version:7.0.15"));
    assert_eq!(stdout(&cli(&["-3", "-n", "3", "dbsize"]).unwrap()), "0");
}

#[test]
fn redis_benchmark_works() {
    let running = Running::new();
    let port = running.port();
    let args = ["-p", &port, "-q", "-n", "2000", "-c", "20", "-P", "8", "-t", "set,get", "--csv"];
    let Some(output) = tool("redis-benchmark", &args) else { return };
    let report = stdout(&output);
    assert!(report.contains("\"SET\"") && report.contains("\"GET\""), "{report}");
}

#[cfg(feature = "redis")]
#[test]
fn the_redis_crate_works() {
    let running = Running::new();
    let client = redis::Client::open(format!("redis://{}/", running.server().addr())).unwrap();
    let mut blocking = client.get_connection().unwrap();
    let set: String = redis::cmd("SET").arg("k").arg(&b"\0\xff"[..]).query(&mut blocking).unwrap();
    assert_eq!(set, "OK");
    running.runtime.block_on(async {
        let mut shared = client.get_multiplexed_async_connection().await.unwrap();
        let value: Vec<u8> = redis::cmd("GET").arg("k").query_async(&mut shared).await.unwrap();
        assert_eq!(value, b"\0\xff");
        let mut pipeline = redis::pipe();
        for i in 0..1_000 {
            pipeline.cmd("SET").arg("n").arg(i).ignore().cmd("GET").arg("n");
        }
        let values: Vec<usize> = pipeline.query_async(&mut shared).await.unwrap();
        assert_eq!(values, (0..1_000).collect::<Vec<_>>());
    });
}

#[cfg(feature = "lua")]
#[test]
fn a_script_that_does_not_end_is_killed_by_another_client() {
    let running = Running::new();
    running.connect().call(&["CONFIG", "SET", "busy-reply-threshold", "1"]);
    // Idle again and again when it begins: the thread that runs it must not be the one that hears
    // of new clients.
    for n in 0..20 {
        let mut one = running.connect();
        let in_transaction = n % 2 == 1;
        let script = std::thread::spawn(move || {
            if in_transaction {
                one.call(&["MULTI"]);
                one.call(&["EVAL", "while true do end", "0"]);
                return one.call(&["EXEC"]).bytes;
            }
            one.call(&["EVAL", "while true do end", "0"]).bytes
        });
        let mut other = running.connect();
        let waited = Stopwatch::start();
        while !other.call(&["GET", "k"]).bytes.starts_with(b"-BUSY ") {
            if waited.elapsed() > Duration::from_secs(5) {
                other.call(&["SCRIPT", "KILL"]);
                panic!("the script does not begin");
            }
        }
        // New clients are served, too.
        let refused = running.connect().call(&["PING"]).bytes;
        assert_eq!(other.call(&["SCRIPT", "KILL"]).value, Value::OK);
        assert!(refused.starts_with(b"-BUSY "));
        let killed = script.join().expect("a reply");
        let text = b"-ERR Script killed by user with SCRIPT KILL";
        assert!(killed.windows(text.len()).any(|part| part == text));
        assert_eq!(other.call(&["PING"]).value, Value::simple("PONG"));
    }
}

#[test]
fn a_transaction_that_wants_no_replies_is_not_answered() {
    let lines = b"MULTI\r\nPING\r\nCLIENT REPLY OFF\r\nPING\r\nEXEC\r\nCLIENT REPLY ON\r\n";
    let queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n";
    let answered = |wire: &mut Wire, expected: &str| {
        wire.send(lines);
        wire.send(b"QUIT\r\n");
        assert_eq!(String::from_utf8_lossy(&wire.read_to_end()), expected);
    };
    answered(&mut Running::new().connect(), &format!("{queued}+OK\r\n+OK\r\n"));
    if let Some(real) = real_redis(Timestamp::from_secs(1_700_000_000)) {
        // Three replies are announced, and two of those that follow are taken for them.
        answered(&mut real.connect(), &format!("{queued}*3\r\n+PONG\r\n+OK\r\n+OK\r\n"));
    }
}

/// How many clients are blocked.
fn blocked_clients(wire: &mut Wire) -> usize {
    let info = wire.call(&["INFO", "clients"]).value;
    let Value::Bulk(text) = info else { panic!("{info:?} is no string") };
    let text = text.to_text();
    let number = text.lines().find_map(|line| line.strip_prefix("blocked_clients:"));
    number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("not in {text}"))
}

fn until_blocked(wire: &mut Wire, clients: usize) {
    let waited = Stopwatch::start();
    while blocked_clients(wire) != clients {
        assert!(waited.elapsed() < Duration::from_secs(5), "not {clients} blocked after 5 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn requests_behind_one_that_waits_wait_too() {
    let running = Running::new();
    let (mut one, mut other) = (running.connect(), running.connect());
    one.send(b"PING\r\nBLPOP a b 0\r\nLLEN b\r\nBLPOP c 0.05\r\nBLPOP b 0\r\nPING last\r\n");
    assert_eq!(one.read().value, Value::simple("PONG"));
    until_blocked(&mut other, 1);
    assert_eq!(one.poll(Duration::from_millis(20)), None);
    one.send(b"PING more\r\n");
    assert_eq!(other.call(&["RPUSH", "b", "x", "y", "z"]).value, Value::Int(3));
    assert_eq!(one.read().value, Value::bulks(["b", "x"]));
    assert_eq!(one.read().value, Value::Int(2));
    assert_eq!(one.read().value, Value::NilArray);
    assert_eq!(one.read().value, Value::bulks(["b", "y"]));
    assert_eq!(one.read().value, Value::bulk("last"));
    assert_eq!(one.read().value, Value::bulk("more"));
}

#[test]
fn a_blocked_client_that_vanishes_takes_nothing_along() {
    let running = Running::new();
    let mut wire = running.connect();
    let mut blocked: Vec<Wire> = (0..6).map(|_| running.connect()).collect();
    for (n, client) in blocked.iter_mut().enumerate() {
        let requests = b"BLPOP k 0\r\nPING\r\nSET k";
        client.send(&requests[..if n % 2 == 0 { 11 } else { requests.len() }]);
    }
    until_blocked(&mut wire, 6);
    blocked[5].finish(); // says that it sends no more, and may still read
    let last = blocked.pop();
    drop(blocked);
    until_blocked(&mut wire, 0);
    drop(last);
    assert_eq!(wire.call(&["RPUSH", "k", "x"]).value, Value::Int(1));
    assert_eq!(wire.call(&["LRANGE", "k", "0", "-1"]).value, Value::bulks(["x"]));
    eventually("they are gone", || running.server().clients() == 1);
}

#[test]
fn a_blocked_client_is_not_silent_and_can_be_unblocked_or_killed() {
    let idle = Some(Duration::from_millis(300));
    let running = Running::with(Limits { idle, ..Limits::default() });
    let (mut wire, mut blocked) = (running.connect(), running.connect());
    let Value::Int(id) = blocked.call(&["CLIENT", "ID"]).value else { panic!("no number") };
    let id = id.to_string();
    blocked.request(&["BLPOP", "k", "0"]);
    let waited = Stopwatch::start();
    while waited.elapsed() < Duration::from_millis(450) {
        wire.call(&["PING"]);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(wire.call(&["CLIENT", "UNBLOCK", &id, "ERROR"]).value, Value::Int(1));
    let error = b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";
    assert_eq!(blocked.read().bytes, error);
    blocked.request(&["BZPOPMIN", "z", "0"]);
    until_blocked(&mut wire, 1);
    assert_eq!(wire.call(&["CLIENT", "KILL", "ID", &id]).value, Value::Int(1));
    assert!(blocked.ends());
    assert_eq!(wire.call(&["ZADD", "z", "1", "m"]).value, Value::Int(1));
    assert_eq!(wire.call(&["ZCARD", "z"]).value, Value::Int(1));
}

#[test]
fn a_server_stops_with_clients_blocked() {
    let mut running = Running::new();
    let (mut wire, mut blocked) = (running.connect(), running.connect());
    blocked.request(&["BLMOVE", "a", "b", "LEFT", "LEFT", "0"]);
    until_blocked(&mut wire, 1);
    let waited = Stopwatch::start();
    running.stop();
    assert!(waited.elapsed() < Duration::from_secs(1), "{:?}", waited.elapsed());
    assert!(blocked.ends());
}
