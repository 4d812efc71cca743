//! Scripts on the engine alone: what bounds them, what stops them, what they leave behind, and what
//! others see meanwhile.
#![cfg(feature = "lua")]

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use stockroom::commands::scripting::{EVAL, EVALSHA};
use stockroom::commands::string;
use stockroom::resp::Value;
use stockroom::{Engine, Env, Session, Timestamp, WireError};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

/// A script, without keys, as a client sends it.
fn eval(session: &mut Session, script: &str) -> Value {
    session.call(&[b"EVAL", script.as_bytes(), b"0"])
}

fn error(value: &Value) -> String {
    match value {
        Value::Error(error) => error.to_string(),
        other => panic!("{other:?} is no error"),
    }
}

fn info(session: &mut Session, name: &str) -> u64 {
    let Value::Verbatim(_, text) = session.call(&[b"INFO", b"memory"]) else { panic!("no INFO") };
    let text = String::from_utf8(text.to_vec()).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_default().parse().unwrap()
}

#[test]
fn many_runs_of_a_script_leave_nothing_behind() {
    let engine = Engine::with_env(Env::manual(START, 1));
    let mut session = engine.session();
    let script = "local t = {} for i = 1, 20 do t[ARGV[1] .. i] = {KEYS[1], i} end \
                  redis.call('SET', KEYS[1], ARGV[1]) local ok = pcall(redis.call, 'GET') \
                  return {redis.call('GET', KEYS[1]), ok}";
    let mut run = |rounds: std::ops::Range<u32>| {
        let mut most = 0;
        for round in rounds {
            let arg = format!("value {round}");
            let line: [&[u8]; 5] = [b"EVAL", script.as_bytes(), b"1", b"k", arg.as_bytes()];
            let expected = Value::Array(vec![Value::bulk(&arg), Value::Nil]);
            assert_eq!(session.call(&line), expected);
            if round % 50 == 0 {
                most = most.max(info(&mut session, "used_memory_lua"));
            }
        }
        most
    };
    let (early, late) = (run(0..2_000), run(2_000..20_000));
    // What waits for the collector differs a little from time to time.
    assert!(late < early + early / 4, "{early} bytes grew to {late}");
    assert_eq!(info(&mut session, "number_of_cached_scripts"), 1);
}

#[test]
fn the_cache_grows_until_it_is_flushed() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    for n in 0..9_000 {
        assert_eq!(eval(&mut session, &format!("return {n}")), Value::Int(n));
    }
    assert_eq!(info(&mut session, "number_of_cached_scripts"), 9_000);
    assert!(info(&mut session, "used_memory_scripts_eval") > 9_000 * 40);
    let before = info(&mut session, "used_memory_lua");
    assert_eq!(session.call(&[b"SCRIPT", b"FLUSH"]), Value::OK);
    assert_eq!(info(&mut session, "number_of_cached_scripts"), 0);
    assert_eq!(info(&mut session, "used_memory_lua"), 0);
    eval(&mut session, "return 1");
    assert!(info(&mut session, "used_memory_lua") < before / 2);
}

#[test]
fn a_script_that_wants_too_much_memory_gets_an_error() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    for script in [
        "return string.rep('x', 2e9)",
        "local s = string.rep('x', 1e6) while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
    ] {
        let e = error(&eval(&mut session, script));
        assert!(e.contains("not enough memory"), "{script} {e}");
        assert_eq!(eval(&mut session, "return 1"), Value::Int(1));
    }
    let caught = "return {pcall(string.rep, 'x', 2e9)}";
    let expected = Value::Array(vec![Value::Nil, Value::bulk("not enough memory")]);
    assert_eq!(eval(&mut session, caught), expected);
}

#[test]
fn hostile_scripts_end_with_an_error() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    for script in [
        "local t = {} t[1] = t return t".to_string(),
        "local t = {} t.map = {a = t} return t".to_string(),
        "local function f() return pcall(f) end return f() and 1".to_string(),
        "local function f() return string.gsub('x', 'x', f) end return f()".to_string(),
        "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x".to_string(),
        "local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) \
         return tostring(t)"
            .to_string(),
        "error(setmetatable({}, {__tostring = function() error('x') end}))".to_string(),
        "error(setmetatable({}, {__index = function() error('x') end}))".to_string(),
        "error({})".to_string(),
        "local f f = function() return xpcall(f, f) end return f() and 1".to_string(),
        "coroutine.wrap(function() coroutine.yield() end)()".to_string(),
        "local co co = coroutine.wrap(function() co() end) co()".to_string(),
        "local t = {} for i = 1, 250 do t[i] = i end return redis.call('MGET', unpack(t, 1, 250))"
            .to_string(),
    ] {
        let _ = eval(&mut session, &script);
        assert_eq!(eval(&mut session, "return redis.call('PING')"), Value::simple("PONG"));
        assert_eq!(eval(&mut session, "return #KEYS + #ARGV"), Value::Int(0), "{script}");
    }
}

#[test]
fn a_call_takes_thousands_of_words_but_not_any_number() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    // `n` keys, of which each round puts 200 more in front.
    let script = |rounds: usize| {
        let more = "'x',".repeat(200);
        format!(
            "local t = {{}} for i = 1, 7000 do t[i] = 'k' .. i end local function f(n, ...) if n \
             == 0 then return #redis.call('MGET', ...) end return f(n - 1, {more} ...) end return \
             f({rounds}, unpack(t))"
        )
    };
    assert_eq!(eval(&mut session, &script(0)), Value::Int(7_000));
    assert_eq!(eval(&mut session, &script(4)), Value::Int(7_800));
    assert!(eval(&mut session, &script(10)).is_error());
    assert_eq!(eval(&mut session, &script(4)), Value::Int(7_800));
}

#[test]
fn the_collector_and_the_log_are_not_the_scripts() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    eval(&mut session, "collectgarbage('stop') collectgarbage('setpause', 1000)");
    let garbage = "for i = 1, 1e5 do local t = {i} end return collectgarbage('count')";
    let Value::Int(kib) = eval(&mut session, garbage) else { panic!("no number") };
    assert!(kib < 4_096, "{kib} KiB");
    assert_eq!(eval(&mut session, "redis.log(redis.LOG_WARNING, 'x')"), Value::Nil);
}

#[test]
fn random_numbers_go_on_from_script_to_script_as_on_a_fresh_server() {
    let mut session = Engine::with_env(Env::manual(START, 1)).session();
    for expected in ["0.39646477363839", "0.84048536971234", "0.35333609737146"] {
        assert_eq!(eval(&mut session, "return tostring(math.random())"), Value::bulk(expected));
    }
}

#[test]
fn engines_do_not_share_scripts() {
    let (one, other) = (Engine::new(), Engine::new());
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db".as_bytes();
    assert_eq!(one.run(&EVAL, &[b"EVAL", b"return 1", b"0"]), Value::Int(1));
    assert_eq!(one.run(&EVALSHA, &[b"EVALSHA", sha, b"0"]), Value::Int(1));
    assert!(other.run(&EVALSHA, &[b"EVALSHA", sha, b"0"]).is_error());
}

/// Runs `script` in a thread of its own, and `meanwhile` once it runs. Gives the reply to the
/// script.
fn while_running(engine: &Engine, script: &str, meanwhile: impl FnOnce(&mut Session)) -> Value {
    let (done, reply) = channel();
    let mut session = engine.session();
    let script = script.to_string();
    let runner = thread::spawn(move || done.send(eval(&mut session, &script)).unwrap());
    let mut other = engine.session();
    let mut waits = 0;
    // It runs once it holds the lock of a key.
    while other.call(&[b"GET", b"k"]) != busy() {
        assert!(reply.try_recv().is_err(), "the script has ended");
        waits += 1;
        assert!(waits < 10_000, "nobody is told that the script is busy");
        thread::sleep(Duration::from_millis(1));
    }
    meanwhile(&mut other);
    let reply = reply.recv_timeout(Duration::from_secs(60)).expect("the script ends");
    runner.join().unwrap();
    reply
}

fn busy() -> Value {
    Value::Error(WireError::fixed(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    ))
}

/// An engine with these milliseconds until others are told that it is busy.
fn engine_with_patience(env: Env, ms: &str) -> Engine {
    let engine = Engine::with_env(env);
    let set = engine.session().call(&[b"CONFIG", b"SET", b"busy-reply-threshold", ms.as_bytes()]);
    assert_eq!(set, Value::OK);
    engine
}

const KILLED: &str = "ERR Script killed by user with SCRIPT KILL... script: ";

#[test]
fn a_script_that_does_not_end_can_be_killed_however_it_clings() {
    for script in [
        "while true do end",
        "while true do redis.call('GET', 'k') end",
        "while true do redis.pcall('NOPE') end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(redis.call, 'GET', 'k') end",
        "while true do xpcall(function() while true do end end, function(e) return e end) end",
        "local co = coroutine.create(function() while true do end end) while true do \
         coroutine.resume(co) co = coroutine.create(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "load(function() while true do end end)",
        "string.gsub(string.rep('x', 1e6), 'x', function() for i = 1, 1e9 do end end)",
    ] {
        let engine = engine_with_patience(Env::system(), "1");
        let reply = while_running(&engine, script, |other| {
            assert_eq!(other.call(&[b"SCRIPT", b"KILL"]), Value::OK, "{script}");
        });
        assert!(error(&reply).starts_with(KILLED), "{script}: {reply:?}");
        assert_eq!(eval(&mut engine.session(), "return 1"), Value::Int(1));
        engine.check_invariants();
    }
}

#[test]
fn a_script_that_has_written_cannot_be_killed() {
    let engine = engine_with_patience(Env::system(), "1");
    let script = "redis.call('SET', 'a', 1) for i = 1, 3e7 do end return redis.call('GET', 'a')";
    let reply = while_running(&engine, script, |other| {
        let unkillable = error(&other.call(&[b"SCRIPT", b"KILL"]));
        let expected = "UNKILLABLE Sorry the script already executed write commands against the \
                        dataset. You can either wait the script termination or kill the server \
                        in a hard way using the SHUTDOWN NOSAVE command.";
        assert_eq!(unkillable, expected);
    });
    assert_eq!(reply, Value::bulk("1"));
    let idle = error(&engine.session().call(&[b"SCRIPT", b"KILL"]));
    assert_eq!(idle, "NOTBUSY No scripts in execution right now.");
}

#[test]
fn others_wait_until_the_script_is_overdue_and_are_then_told() {
    let engine = engine_with_patience(Env::manual(START, 1), "5000");
    let mut runner = engine.session();
    let script = thread::spawn(move || eval(&mut runner, "while true do end"));
    // Who asks before the script runs is answered; who asks later waits.
    let waiter = loop {
        let mut session = engine.session();
        let waiter = thread::spawn(move || session.call(&[b"GET", b"k"]));
        thread::sleep(Duration::from_millis(50));
        if !waiter.is_finished() {
            break waiter;
        }
    };
    let mut other = engine.session();
    assert_eq!(other.call(&[b"PING"]), Value::simple("PONG"), "it takes no lock");
    engine.env().advance(Duration::from_millis(4_999));
    thread::sleep(Duration::from_millis(50));
    assert!(!waiter.is_finished());
    engine.env().advance(Duration::from_millis(1));
    assert_eq!(waiter.join().unwrap(), busy());
    assert_eq!(other.call(&[b"PING"]), busy());
    assert_eq!(other.call(&[b"SCRIPT", b"KILL"]), Value::OK);
    assert!(error(&script.join().unwrap()).starts_with(KILLED));
    assert_eq!(other.call(&[b"PING"]), Value::simple("PONG"));
}

#[test]
fn messages_of_others_may_come_between_those_of_a_script() {
    let engine = Engine::with_env(Env::manual(START, 1));
    let (mut runner, mut other) = (engine.session(), engine.session());
    let mut listener = engine.session();
    listener.call(&[b"SUBSCRIBE", b"c"]);
    let script = "redis.call('PUBLISH', 'c', 'first') for _ = 1, 300000 do \
                  if redis.call('PUBSUB', 'NUMSUB', 'go on')[2] > 0 then break end end \
                  return redis.call('PUBLISH', 'c', 'last')";
    let script = thread::spawn(move || eval(&mut runner, script));
    let mut next = || {
        // Who waits for a message is woken after the script.
        let message = std::iter::repeat_with(|| listener.take_message()).find_map(|message| {
            thread::yield_now();
            message
        });
        let Some(Value::Push(words)) = message else { panic!("no message") };
        words.into_iter().nth(2).unwrap()
    };
    assert_eq!(next(), Value::bulk("first"));
    assert_eq!(other.call(&[b"PUBLISH", b"c", b"other"]), Value::Int(1));
    other.call(&[b"SUBSCRIBE", b"go on"]);
    assert_eq!(script.join().unwrap(), Value::Int(1));
    assert_eq!([next(), next()], ["other", "last"].map(Value::bulk));
}

#[test]
fn a_busy_engine_refuses_all_but_what_may_end_it() {
    let engine = engine_with_patience(Env::system(), "1");
    let mut watcher = engine.session();
    watcher.call(&[b"SET", b"w", b"1"]);
    watcher.call(&[b"WATCH", b"w"]);
    watcher.call(&[b"MULTI"]);
    watcher.call(&[b"GET", b"w"]);
    let reply = while_running(&engine, "while true do end", |other| {
        let told = |argv: &[&[u8]], other: &mut Session| other.call(argv) == busy();
        assert!(told(&[b"PING"], other));
        assert!(told(&[b"SET", b"a", b"1"], other));
        assert!(told(&[b"KEYS", b"*"], other));
        assert!(told(&[b"INFO"], other));
        assert!(told(&[b"EVAL", b"return 1", b"0"], other));
        assert!(told(&[b"EVAL_RO", b"return 1", b"0"], other));
        assert!(told(&[b"SCRIPT", b"LOAD", b"return 1"], other));
        assert!(told(&[b"SCRIPT", b"EXISTS", b"x"], other));
        assert!(told(&[b"SCRIPT", b"FLUSH"], other));
        // What is wrong with a command comes first, as in Redis.
        assert!(error(&other.call(&[b"GET"])).starts_with("ERR wrong number"));
        assert!(error(&other.call(&[b"NOPE"])).starts_with("ERR unknown command"));
        // MULTI is allowed; what follows spoils the transaction.
        assert_eq!(other.call(&[b"MULTI"]), Value::OK);
        assert!(told(&[b"GET", b"a"], other));
        assert!(error(&other.call(&[b"EXEC"])).starts_with("EXECABORT"));
        let aborted = error(&watcher.call(&[b"EXEC"]));
        let because = "EXECABORT Transaction discarded because of: BUSY Redis is busy";
        assert!(aborted.starts_with(because), "{aborted}");
        assert_eq!(engine.run(&string::GET, &[b"GET", b"a"]), busy());
        assert_eq!(other.call(&[b"SCRIPT", b"KILL"]), Value::OK);
    });
    assert!(error(&reply).starts_with(KILLED));
    // The watch was given up with its transaction.
    watcher.call(&[b"MULTI"]);
    watcher.call(&[b"PING"]);
    engine.session().call(&[b"SET", b"w", b"2"]);
    assert_eq!(watcher.call(&[b"EXEC"]), Value::Array(vec![Value::simple("PONG")]));
}
