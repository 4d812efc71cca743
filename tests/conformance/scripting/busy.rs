//! A script that takes too long: what others are told, and how it is killed. No [`Pair`] here,
//! which waits for each reply: the same steps on the engine and on a real server, each with two
//! connections.
//!
//! [`Pair`]: crate::support::Pair

use std::thread;
use std::time::Duration;

use stockroom::resp::encode;
use stockroom::{Engine, Session};

use crate::support::{RealRedis, Wire};

/// A connection: words in, the bytes of the reply out.
trait Connection: Send + 'static {
    fn ask(&mut self, argv: &[&str]) -> Vec<u8>;
}

impl Connection for Session {
    fn ask(&mut self, argv: &[&str]) -> Vec<u8> {
        let argv: Vec<&[u8]> = argv.iter().map(|word| word.as_bytes()).collect();
        let (reply, mut bytes) = (self.call(&argv), Vec::new());
        encode(&reply, self.protocol(), &mut bytes);
        bytes
    }
}

impl Connection for Wire {
    fn ask(&mut self, argv: &[&str]) -> Vec<u8> {
        self.call(argv).bytes
    }
}

/// What is asked while a script runs, in this order.
const MEANWHILE: &[&[&str]] = &[
    &["PING"],
    &["GET", "k"],
    &["SET", "k", "v"],
    &["EVAL", "return 1", "0"],
    &["SCRIPT", "LOAD", "return 1"],
    &["SCRIPT", "EXISTS", "x"],
    &["NOPE"],
    &["GET"],
    &["MULTI"],
    &["GET", "k"],
    &["EXEC"],
    &["MULTI"],
    &["DISCARD"],
    &["SCRIPT", "KILL"],
];

/// Starts `script`, asks the list once the script is overdue, and answers all replies, that of the
/// script last.
fn transcript<C: Connection>(mut open: impl FnMut() -> C, script: &str) -> Vec<Vec<u8>> {
    let (mut runner, mut other) = (open(), open());
    let script = script.to_string();
    let running = thread::spawn(move || runner.ask(&["EVAL", &script, "0"]));
    while !other.ask(&["PING"]).starts_with(b"-BUSY") {
        assert!(!running.is_finished(), "the script has ended");
        thread::sleep(Duration::from_millis(1));
    }
    let mut replies: Vec<Vec<u8>> = MEANWHILE.iter().map(|line| other.ask(line)).collect();
    replies.push(running.join().unwrap());
    replies.push(other.ask(&["SCRIPT", "KILL"]));
    replies
}

#[test]
fn a_busy_script_is_told_of_and_killed_as_on_a_real_server() {
    let real = match RealRedis::start(&["--busy-reply-threshold", "1"]) {
        Ok(real) => Some(real),
        Err(reason) => {
            let required = std::env::var_os("STOCKROOM_REQUIRE_REDIS").is_some_and(|v| v == "1");
            assert!(!required, "{reason}");
            None
        }
    };
    for script in [
        "while true do end",
        "while true do redis.call('GET', 'k') end",
        "\nwhile true do pcall(function() while true do end end) end",
        "local co = coroutine.wrap(function() while true do end end) co()",
        // This one cannot be killed, and ends by itself.
        "redis.call('SET', 'a', 1) for i = 1, 1e8 do end return 5",
    ] {
        let engine = Engine::new();
        engine.session().ask(&["CONFIG", "SET", "busy-reply-threshold", "1"]);
        let ours = transcript(|| engine.session(), script);
        if let Some(real) = &real {
            let theirs = transcript(|| real.connect(), script);
            let shown = |replies: &[Vec<u8>]| -> Vec<String> {
                replies.iter().map(|bytes| bytes.escape_ascii().to_string()).collect()
            };
            assert_eq!(shown(&ours), shown(&theirs), "{script}");
        }
    }
}
