//! [`state`]: all that a backend holds, in a form that can be compared.

use std::collections::BTreeMap;

use stockroom::Bytes;
use stockroom::backend::{Backend, Wait, cmd};

/// What a key holds, and how many milliseconds it has left to live.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) value: Value,
    pub(crate) left_ms: i64,
}

/// A value by its type; hashes and sets in the order of their bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Option<Bytes>),
    List(Vec<Bytes>),
    Hash(Vec<(Bytes, Bytes)>),
    Set(Vec<Bytes>),
    Zset(Vec<(Bytes, f64)>),
}

/// The names of all keys, in order.
pub(crate) fn all_keys<B: Backend>(backend: &B) -> Vec<Bytes> {
    let mut keys = backend.run(cmd::scan(0, 1_000_000)).wait().unwrap().1;
    keys.sort();
    keys.dedup();
    keys
}

/// All keys with what they hold. What has expired is not there.
pub(crate) fn state<B: Backend>(backend: &B) -> BTreeMap<Bytes, Content> {
    let content = |key: Bytes| {
        let left_ms = backend.run(cmd::pttl(&key)).wait().unwrap();
        (left_ms != -2).then(|| {
            let content = Content { value: value(backend, &key), left_ms };
            (key, content)
        })
    };
    all_keys(backend).into_iter().filter_map(content).collect()
}

fn value<B: Backend>(backend: &B, key: &[u8]) -> Value {
    match backend.run(cmd::type_of(key)).wait().unwrap().as_str() {
        "string" => Value::Text(backend.run(cmd::get(key)).wait().unwrap()),
        "list" => Value::List(backend.run(cmd::lrange(key, 0, -1)).wait().unwrap()),
        "hash" => {
            let mut fields = backend.run(cmd::hgetall(key)).wait().unwrap();
            fields.sort();
            Value::Hash(fields)
        }
        "set" => {
            let mut members = backend.run(cmd::smembers(key)).wait().unwrap();
            members.sort();
            Value::Set(members)
        }
        "zset" => Value::Zset(backend.run(cmd::zrange_withscores(key, 0, -1)).wait().unwrap()),
        other => panic!("{other} of {key:?}"),
    }
}
