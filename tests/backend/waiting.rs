//! What a backend waits for: messages, and keys that hold something.

use std::time::Duration;

use stockroom::backend::{Backend, Cmd, Memory, Message, Session, Subscription, Topic, Wait, cmd};
use stockroom::{Bytes, ErrorKind, Stopwatch};

/// Runs `body` on the machine's clock: on the memory backend and, where there is one, on a real
/// Redis.
macro_rules! in_real_time {
    ($body:ident) => {{
        $body(&Memory::new());
        #[cfg(feature = "redis")]
        if let Some(server) = crate::support::started_redis(&[]) {
            $body(&crate::real::backend(&server, |config| {
                config.env = stockroom::Env::system();
                // Far less than some wait for a key.
                config.reply_timeout = Duration::from_millis(150);
            }));
        }
    }};
}

fn heard(channel: &str, pattern: Option<&str>, payload: &[u8]) -> Message {
    let pattern = pattern.map(Bytes::from);
    Message { channel: channel.into(), pattern, payload: payload.into() }
}

#[test]
fn messages_are_heard_from_the_subscription_on() {
    fn body<B: Backend>(backend: &B) {
        assert_eq!(backend.run(cmd::publish(b"a", b"early")).wait().unwrap(), 0);
        let topics = [Topic::Channel(b"a"), Topic::Pattern(b"?*"), Topic::Shard(b"a")];
        let mut subscription = backend.subscribe(&topics).wait().unwrap();
        assert_eq!(backend.run(cmd::publish(b"a", b"\xff\0\r\n")).wait().unwrap(), 2);
        assert_eq!(backend.run(cmd::spublish(b"a", b"shard")).wait().unwrap(), 1);
        assert_eq!(backend.run(cmd::publish(b"b", b"")).wait().unwrap(), 1);
        let mut next = || subscription.next().wait().unwrap();
        assert_eq!(next(), heard("a", None, b"\xff\0\r\n"));
        assert_eq!(next(), heard("a", Some("?*"), b"\xff\0\r\n"));
        assert_eq!(next(), heard("a", None, b"shard"));
        assert_eq!(next(), heard("b", Some("?*"), b""));
        subscription.unsubscribe(&[Topic::Pattern(b"?*"), Topic::Channel(b"no")]).wait().unwrap();
        assert_eq!(backend.run(cmd::publish(b"b", b"x")).wait().unwrap(), 0);
        subscription.subscribe(&[Topic::Channel(b"c"), Topic::Channel(b"c")]).wait().unwrap();
        assert_eq!(backend.run(cmd::publish(b"c", b"last")).wait().unwrap(), 1);
        assert_eq!(subscription.next().wait().unwrap(), heard("c", None, b"last"));
        drop(subscription);
        let watch = Stopwatch::start();
        while backend.run(cmd::publish(b"c", b"late")).wait().unwrap() != 0 {
            assert!(watch.elapsed() < Duration::from_secs(5), "it still listens");
        }
    }
    in_real_time!(body);
}

#[test]
fn a_message_wakes_who_waits_in_another_thread() {
    fn body<B: Backend>(backend: &B) {
        let mut subscription = backend.subscribe(&[Topic::Channel(b"a")]).wait().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let all: Vec<Bytes> =
                    (0..100).map(|_| subscription.next().wait().unwrap().payload).collect();
                all
            });
            for n in 0..100_u8 {
                if n % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                backend.run(cmd::publish(b"a", &[n])).wait().unwrap();
            }
            let all = waiting.join().unwrap();
            assert!(all.iter().enumerate().all(|(n, payload)| **payload == [n as u8]));
        });
    }
    in_real_time!(body);
}

#[test]
fn a_subscription_whose_connection_is_lost_says_that_messages_may_be_missing() {
    fn body<B: Backend>(backend: &B) {
        let mut subscription = backend.subscribe(&[Topic::Channel(b"a")]).wait().unwrap();
        backend.run(cmd::publish(b"a", b"1")).wait().unwrap();
        let kill = Cmd::<i64>::new(&stockroom::commands::connection::CLIENT_KILL);
        assert_eq!(backend.run(kill.arg("TYPE").arg("pubsub")).wait().unwrap(), 1);
        // What has arrived is given first; on a server it may have been lost, too.
        let mut next = subscription.next().wait();
        if next.is_ok() {
            next = subscription.next().wait();
        }
        assert_eq!(next.unwrap_err().kind(), ErrorKind::Unknown);
        assert_eq!(subscription.next().wait().unwrap_err().kind(), ErrorKind::Unknown);
        // Nobody would hear what is published to a topic that comes now.
        let more = subscription.subscribe(&[Topic::Channel(b"b")]).wait();
        assert_eq!(more.unwrap_err().kind(), ErrorKind::NotSent);
    }
    in_real_time!(body);
}

#[test]
fn to_subscribe_on_a_shared_connection_is_refused() {
    fn body<B: Backend>(backend: &B) {
        let subscribe = Cmd::<()>::new(&stockroom::commands::pubsub::SUBSCRIBE).arg("a");
        let error = backend.run(subscribe.clone()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let mut session = backend.session().wait().unwrap();
        assert_eq!(session.run(subscribe).wait().unwrap_err().kind(), ErrorKind::Invalid);
    }
    in_real_time!(body);
}

#[test]
fn a_session_waits_for_a_key_longer_than_for_any_reply() {
    fn body<B: Backend>(backend: &B) {
        let mut session = backend.session().wait().unwrap();
        let watch = Stopwatch::start();
        let patience = Some(Duration::from_millis(400));
        let none = session.run(cmd::blpop::<Bytes>([&b"a"[..], b"b"], patience)).wait();
        assert_eq!(none.unwrap(), None);
        assert!(watch.elapsed() >= Duration::from_millis(400));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let first = session.run(cmd::blpop::<String>([&b"a"[..], b"b"], None)).wait();
                let moved =
                    session.run(cmd::blmove::<String>(b"a", false, b"c", true, None)).wait();
                let lowest = session.run(cmd::bzpopmin::<String>([&b"z"[..]], None)).wait();
                let highest = session.run(cmd::bzpopmax::<String>([&b"z"[..]], None)).wait();
                (first, moved, lowest, highest)
            });
            std::thread::sleep(Duration::from_millis(300));
            backend.run(cmd::rpush(b"b", ["x"])).wait().unwrap();
            backend.run(cmd::rpush(b"a", ["y", "z"])).wait().unwrap();
            backend
                .atomic((cmd::zadd(b"z", 1.0, b"low"), cmd::zadd(b"z", 2.5, b"high")))
                .wait()
                .unwrap();
            let (first, moved, lowest, highest) = waiting.join().unwrap();
            assert_eq!(first.unwrap(), Some(("b".into(), "x".to_string())));
            assert_eq!(moved.unwrap(), Some("z".to_string()));
            assert_eq!(lowest.unwrap(), Some(("z".into(), "low".to_string(), 1.0)));
            assert_eq!(highest.unwrap(), Some(("z".into(), "high".to_string(), 2.5)));
        });
        let refused = backend.run(cmd::blpop::<Bytes>([&b"a"[..]], None)).wait().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        let mut session = backend.session().wait().unwrap();
        let refused = session.commit(cmd::blpop::<Bytes>([&b"a"[..]], None)).wait().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
    }
    in_real_time!(body);
}

#[test]
fn a_wait_in_memory_that_is_dropped_loses_nothing() {
    let memory = Memory::new();
    let mut session = memory.session().wait().unwrap();
    let mut waiting = Box::pin(session.run(cmd::blpop::<Bytes>([&b"a"[..]], None)));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    memory.run(cmd::rpush(b"a", ["x"])).wait().unwrap();
    drop(waiting);
    assert_eq!(memory.run(cmd::llen(b"a")).wait().unwrap(), 1);
    assert_eq!(session.run(cmd::lpop::<Bytes>(b"a")).wait().unwrap(), Some("x".into()));
}
