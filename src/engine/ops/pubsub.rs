//! SUBSCRIBE, UNSUBSCRIBE and their kin for patterns and shard channels.

use super::super::Session;
use crate::bytes::Bytes;
use crate::db::{Listener, Topic};
use crate::resp::Value;

pub(super) fn subscribe(session: &mut Session, topic: Topic, argv: &[&[u8]]) -> Value {
    let kind = match topic {
        Topic::Channel => "subscribe",
        Topic::Pattern => "psubscribe",
        Topic::Shard => "ssubscribe",
    };
    let listener = session.client.listener_or_new();
    let mut replies = Vec::with_capacity(argv.len());
    for name in argv.iter().skip(1) {
        let before = session.shared.keyspace.subscribe(listener, topic, name);
        session.client.belongs_before_reply(before);
        replies.push(told(kind, Value::bulk(name), subscriptions(listener, topic)));
    }
    several(replies)
}

pub(super) fn unsubscribe(session: &mut Session, topic: Topic, argv: &[&[u8]]) -> Value {
    let kind = match topic {
        Topic::Channel => "unsubscribe",
        Topic::Pattern => "punsubscribe",
        Topic::Shard => "sunsubscribe",
    };
    let listener = session.client.listener_or_new();
    let names: Vec<Bytes> = match argv {
        [_] => listener.names(topic),
        [_, names @ ..] => names.iter().map(|name| Bytes::copy_from(name)).collect(),
        [] => Vec::new(),
    };
    if names.is_empty() {
        return told(kind, Value::Nil, subscriptions(listener, topic));
    }
    let end = |name: Bytes| {
        session.shared.keyspace.unsubscribe(listener, topic, &name);
        told(kind, Value::Bulk(name), subscriptions(listener, topic))
    };
    several(names.into_iter().map(end).collect())
}

/// The number that a reply states: shard channels are counted apart.
fn subscriptions(listener: &Listener, topic: Topic) -> usize {
    match topic {
        Topic::Shard => listener.count(Topic::Shard),
        Topic::Channel | Topic::Pattern => listener.channels_and_patterns(),
    }
}

fn told(kind: &str, name: Value, count: usize) -> Value {
    Value::Push(vec![Value::bulk(kind), name, count.into()])
}

fn several(mut replies: Vec<Value>) -> Value {
    match replies.pop() {
        Some(only) if replies.is_empty() => only,
        last => {
            replies.extend(last);
            Value::Several(replies)
        }
    }
}
