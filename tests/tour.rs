//! `stockroom tour` as its users see it: the same text each time in memory, the same on a real
//! Redis, and nothing left there unless it is asked for.

#![cfg(all(feature = "cli", feature = "lua"))]

mod support;

use std::cell::RefCell;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use stockroom::backend::{Backend, Memory, Redis, RedisConfig, Wait};
use stockroom::resp::Value;
use stockroom::tour::{self, Feature};
use stockroom::{Env, Timestamp};
use support::{RealRedis, real_redis};

const START: Timestamp = Timestamp::from_millis(1_700_000_000_123);

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockroom"));
    command.arg("tour").args(args).stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// What a run that goes well prints.
fn told(args: &[&str]) -> String {
    let out = run(args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
    text(&out.stdout)
}

/// The message of a run that is refused.
fn refused(args: &[&str]) -> String {
    let out = run(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    assert!(out.stdout.is_empty(), "no half a tour: {}", text(&out.stdout));
    text(&out.stderr)
}

/// All keys that a server holds, sorted.
fn keys(redis: &RealRedis) -> Vec<String> {
    let reply = redis.connect().call(&["KEYS", "*"]).value;
    let Value::Array(keys) = reply else { panic!("{reply:?}") };
    let mut keys: Vec<String> = keys
        .iter()
        .map(|key| match key {
            Value::Bulk(key) => String::from_utf8_lossy(key).into_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    keys.sort();
    keys
}

#[test]
fn the_tour_in_memory_is_the_one_in_the_docs() {
    let shown = told(&[]);
    let docs = include_str!("../docs/TOUR.md");
    let block = docs.split("```text\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let docs: Vec<&str> = block.expect("a block of text").lines().collect();
    let lines: Vec<&str> = shown.trim_end().lines().collect();
    for (n, (line, documented)) in lines.iter().zip(&docs).enumerate() {
        assert_eq!(line, documented, "line {} of the tour in docs/TOUR.md", n + 1);
    }
    assert_eq!(lines.len(), docs.len());
    assert_eq!(shown, told(&[]));
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn every_feature_is_shown_with_the_keys_that_it_leaves() {
    let shown = told(&[]);
    for feature in Feature::ALL {
        let alone = told(&["--feature", feature.name()]);
        let part = |text: &str| {
            let (_, rest) = text.split_once(&format!("\n{feature}\n")).expect("its part");
            rest.split("\n\n").take(3).map(str::to_owned).collect::<Vec<_>>()
        };
        let (there, alone) = (part(&shown), part(&alone));
        let [what, calls, keys] = &alone[..] else { panic!("{feature}: {alone:?}") };
        assert_eq!(&there[0], what);
        assert!(calls.starts_with("  > ") && calls.lines().count() >= 6, "{feature}: {calls}");
        assert!(keys.starts_with(&format!("  under tour.{feature}/ ")), "{keys}");
        assert!(keys.lines().count() >= 2, "{feature} leaves nothing");
    }
    let two = told(&["--feature", "lock", "--feature", "cart"]);
    let at = |name: &str| two.find(&format!("\n{name}\n"));
    assert!(at("lock") < at("cart") && at("lock").is_some() && at("sessions").is_none(), "{two}");
}

/// Everything that the tour tells, the clock going on by a millisecond with each call.
fn whole<B: Backend>(backend: &B, env: &Env, also: impl Fn(Timestamp)) -> Vec<String> {
    let tick = RefCell::new(|| {
        env.advance(Duration::from_millis(1));
        also(env.now());
    });
    let show = |feature| {
        let mut tick = || tick.borrow_mut()();
        tour::show(backend, feature, &mut tick).wait().expect("the tour goes on")
    };
    Feature::ALL.into_iter().map(show).collect()
}

#[test]
fn a_real_redis_gives_the_same_answers_and_is_left_with_the_same_keys() {
    let Some(server) = real_redis(START) else { return };
    if !server.set_clock(START) {
        return;
    }
    let env = Env::manual(START, 1);
    let memory = whole(&Memory::with_env(env.clone()), &env, |_| {});
    let env = Env::manual(START, 2);
    let config = RedisConfig { env: env.clone(), ..RedisConfig::default() };
    let redis = Redis::lazy(&format!("redis://{}", server.addr()), config).expect("a URL");
    let there = whole(&redis, &env, |now| {
        server.set_clock(now);
    });
    for (here, there) in memory.iter().zip(&there) {
        assert_eq!(here, there);
    }
    assert!(keys(&server).iter().all(|key| key.starts_with("tour.")));
    assert!(tour::clean(&redis, &Feature::ALL).wait().expect("they can be deleted") > 60);
    assert_eq!(keys(&server), [""; 0]);
}

#[test]
fn a_real_redis_is_left_as_it_was_unless_the_keys_are_to_be_kept() {
    let Some(server) = real_redis(START) else { return };
    let url = format!("redis://{}", server.addr());
    let own = ["cart:t1", "tour", "tour.de.france", "tour.locks/a"];
    let mut wire = server.connect();
    for key in own {
        wire.call(&["SET", key, "mine"]);
    }
    let shown = told(&["--backend", &url]);
    assert!(shown.contains(&format!("\nthat it leaves; on {url}.\n\nsessions\n")), "{shown}");
    let last = shown.lines().last().expect("a last line");
    assert!(last.ends_with(" keys deleted again; --keep leaves them to be looked at"), "{last}");
    assert_eq!(keys(&server), own);

    let lock = ["--backend", url.as_str(), "--feature", "lock"];
    let shown = told(&[&lock[..], &["--keep"]].concat());
    assert!(!shown.contains("deleted"), "{shown}");
    let kept = keys(&server);
    assert_eq!(kept.len(), own.len() + 2, "{kept:?}");
    // What is there already may be somebody's.
    for args in [&lock[..], &lock[..2]] {
        let why = refused(args);
        let expected = format!(
            "stockroom: {url} holds 2 keys of a tour, tour.lock/lock:stocktaking for one: \
             --replace deletes them\n"
        );
        assert_eq!(why, expected);
        assert_eq!(keys(&server), kept);
    }
    told(&["--backend", &url, "--feature", "cart"]);
    assert_eq!(keys(&server), kept);
    told(&[&lock[..], &["--replace"]].concat());
    assert_eq!(keys(&server), own);
}

#[test]
fn a_tour_that_fails_deletes_what_it_has_left() {
    let Some(server) = real_redis(START) else { return };
    let mut wire = server.connect();
    // Scripts are refused from here on, and with them all features from the locks on.
    wire.call(&["ACL", "SETUSER", "guest", "on", ">secret", "~*", "+@all", "-@scripting"]);
    let url = format!("redis://guest:secret@{}", server.addr());
    let out = run(&["--backend", &url, "--feature", "cart", "--feature", "lock"]);
    wire.call(&["ACL", "DELUSER", "guest"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stdout).contains("\ncart\n"), "{}", text(&out.stdout));
    let why = text(&out.stderr);
    assert!(why.contains("NOPERM") && !why.contains("secret"), "{why}");
    assert_eq!(keys(&server), [""; 0]);
}

#[test]
fn bad_options_exit_with_2_and_say_why() {
    for (args, why) in [
        (&["--keep"][..], "--keep needs a Redis: in memory nothing is left"),
        (&["--replace"], "--replace needs a Redis: in memory nothing is left"),
        (&["--feature", "carts"], "expected one of sessions, cart, page-cache"),
        (&["--backend", "nonsense"], "invalid --backend nonsense: expected memory, redis"),
        (&["--backend", "http://x"], "--backend: invalid Redis URL http://x: expected redis"),
        (&["--backend", "redis://127.0.0.1:1"], "cannot use redis://127.0.0.1:1"),
        (&["extra"], "unexpected argument 'extra'"),
    ] {
        let message = refused(args);
        assert!(message.contains(why), "{args:?}: {message}");
    }
}
