//! Messages over TCP: among replies, to blocked and silent clients, and to slow ones.

use std::time::Duration;

use stockroom::resp::Value;
use stockroom::server::Limits;

use super::{Running, eventually, until_blocked};

#[test]
fn messages_come_between_the_replies() {
    let running = Running::new();
    let (mut one, mut other) = (running.connect(), running.connect());
    one.send(b"PING\r\nSUBSCRIBE a b\r\nPING\r\n");
    let told = |kind: &str, name: &str, n| {
        Value::Array(vec![Value::bulk(kind), Value::bulk(name), Value::Int(n)])
    };
    assert_eq!(one.read().value, Value::simple("PONG"));
    assert_eq!(one.read().value, told("subscribe", "a", 1));
    assert_eq!(one.read().value, told("subscribe", "b", 2));
    assert_eq!(one.read().value, Value::bulks(["pong", ""]));
    assert_eq!(other.call(&["PUBLISH", "a", "1"]).value, Value::Int(1));
    assert_eq!(one.read().value, Value::bulks(["message", "a", "1"]));
    // Many at once, and a reply among them.
    for n in 0..1_000 {
        other.request(&["PUBLISH", "b", &n.to_string()]);
    }
    one.request(&["UNSUBSCRIBE", "a"]);
    let mut next = 0;
    let mut replies = 0;
    while next < 1_000 || replies == 0 {
        match one.read().value {
            value if value == told("unsubscribe", "a", 1) => replies += 1,
            value => {
                assert_eq!(value, Value::bulks(["message", "b", &next.to_string()]));
                next += 1;
            }
        }
    }
    drop(one);
    (0..1_000).for_each(|_| drop(other.read()));
    eventually("it has left", || running.server().clients() == 1);
    assert_eq!(other.call(&["PUBLISH", "b", "x"]).value, Value::Int(0));
}

#[test]
fn a_blocked_or_silent_client_hears_messages_too() {
    let running = Running::new();
    let (mut one, mut other) = (running.connect(), running.connect());
    one.call(&["HELLO", "3"]);
    one.call(&["SUBSCRIBE", "a"]);
    let message =
        |text: &str| Value::Push(vec!["message", "a", text].into_iter().map(Value::bulk).collect());
    one.request(&["BLPOP", "k", "0"]);
    until_blocked(&mut other, 1);
    other.call(&["PUBLISH", "a", "1"]);
    assert_eq!(one.read().value, message("1"));
    other.call(&["RPUSH", "k", "x"]);
    assert_eq!(one.read().value, Value::bulks(["k", "x"]));
    one.request(&["CLIENT", "REPLY", "OFF"]);
    one.request(&["SUBSCRIBE", "b"]);
    let told = Value::Push(vec![Value::bulk("subscribe"), Value::bulk("b"), Value::Int(2)]);
    assert_eq!(one.read().value, told);
    // So it is in a transaction, of whose reply it gets nothing else.
    for line in [&["MULTI"][..], &["GET", "k"], &["SUBSCRIBE", "b"], &["PING"], &["EXEC"]] {
        one.request(line);
    }
    assert_eq!(one.read().value, told);
    one.request(&["PUBLISH", "a", "own"]);
    assert_eq!(one.read().value, message("own"));
    one.request(&["PING"]);
    other.call(&["PUBLISH", "a", "2"]);
    assert_eq!(one.read().value, message("2"));
    assert_eq!(one.call(&["CLIENT", "REPLY", "ON"]).value, Value::OK);
}

#[test]
fn what_was_published_before_a_blocked_client_was_served_comes_before_its_reply() {
    let running = Running::new();
    let (mut one, mut other) = (running.connect(), running.connect());
    let id = one.call(&["CLIENT", "ID"]).value;
    let Value::Int(id) = id else { panic!("{id:?} is no number") };
    one.call(&["HELLO", "3"]);
    one.call(&["SUBSCRIBE", "a"]);
    let message =
        |text: &str| Value::Push(vec!["message", "a", text].into_iter().map(Value::bulk).collect());
    let served = Value::bulks(["k", "x"]);
    let (m1, m2) = (message("1"), message("2"));
    let unblock = format!("PUBLISH a 1\r\nCLIENT UNBLOCK {id}\r\nPUBLISH a 2\r\n");
    let script = "EVAL \"redis.call('PUBLISH', 'a', 1) redis.call('RPUSH', 'k', 'x') \
                  redis.call('PUBLISH', 'a', 2)\" 0\r\n";
    let cases = [
        // Who waits is served after the transaction or the script.
        ("MULTI\r\nPUBLISH a 1\r\nRPUSH k x\r\nPUBLISH a 2\r\nEXEC\r\n", 5, [&m1, &m2, &served]),
        (script, 1, [&m1, &m2, &served]),
        ("PUBLISH a 1\r\nRPUSH k x\r\nPUBLISH a 2\r\n", 3, [&m1, &served, &m2]),
        (&unblock, 3, [&m1, &Value::Nil, &m2]),
    ];
    for (lines, replies, expected) in cases {
        for _ in 0..20 {
            one.request(&["BLPOP", "k", "0"]);
            until_blocked(&mut other, 1);
            other.send(lines.as_bytes());
            (0..replies).for_each(|_| drop(other.read()));
            for next in expected {
                assert_eq!(one.read().value, *next, "{lines}");
            }
        }
    }
}

#[test]
fn a_client_that_listens_is_not_idle_and_one_that_reads_too_slowly_is_cut_off() {
    let idle = Some(Duration::from_millis(200));
    let running = Running::with(Limits { idle, max_output: 1 << 20, ..Limits::default() });
    let mut quiet = running.connect();
    quiet.call(&["SUBSCRIBE", "a"]);
    std::thread::sleep(Duration::from_millis(400));
    let mut other = running.connect();
    assert_eq!(other.call(&["PUBLISH", "a", "x"]).value, Value::Int(1));
    quiet.read();
    // Nobody reads on: the system's buffers fill, then ours, then the room for messages.
    let text = "x".repeat(1 << 20);
    let mut sent = 0;
    while other.call(&["PUBLISH", "a", &text]).value == Value::Int(1) {
        sent += 1;
        assert!(sent < 200, "it is never cut off");
    }
    assert!(sent >= 32, "{sent}");
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn the_subscriber_of_the_redis_crate_works() -> Result<(), Box<dyn std::error::Error>> {
    use futures_util::StreamExt;
    use stockroom::{Engine, server};
    let listener = server::listen("127.0.0.1:0".parse()?).await?;
    let server = server::spawn(Engine::new(), listener, Limits::default())?;
    let client = redis::Client::open(format!("redis://{}/", server.addr()))?;
    let mut subscriber = client.get_async_pubsub().await?;
    subscriber.subscribe("news").await?;
    subscriber.psubscribe("n*").await?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let heard: i64 =
        redis::cmd("PUBLISH").arg("news").arg("sale").query_async(&mut connection).await?;
    assert_eq!(heard, 2);
    let mut messages = subscriber.on_message();
    for pattern in [None, Some("n*".to_string())] {
        let message = messages.next().await.ok_or("no message")?;
        assert_eq!(message.get_channel_name(), "news");
        assert_eq!(message.get_payload::<String>()?, "sale");
        assert_eq!(message.get_pattern::<Option<String>>()?, pattern);
    }
    Ok(())
}
