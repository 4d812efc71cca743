//! [`View`]: what a transaction under WATCH has read, and what it is going to write.
//!
//! A twin works on it as a script works on the server: what it writes it reads again. In the end
//! the commands it has called go out as one transaction.

use stockroom::Bytes;
use stockroom::backend::{Arg, Cmd, FromValue, Session, cmd};
use stockroom::commands::{self, Spec, hash, server, string, zset};
use stockroom::resp::Value;

/// The type that a key has for a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Hash,
    Zset,
    /// A key of the caller's: only whether it is there.
    Foreign,
}

#[derive(Clone, Debug)]
enum Content {
    Text(Option<Bytes>),
    /// In the order in which the server shows it.
    Hash(Vec<(Bytes, Bytes)>),
    /// In the order of scores, then of bytes.
    Zset(Vec<(Bytes, i64)>),
    Foreign(bool),
}

#[derive(Clone, Debug)]
struct Entry {
    key: Bytes,
    content: Content,
    /// As PTTL says it.
    left: i64,
}

/// The keys of a script, by their index.
#[derive(Debug)]
pub(super) struct View {
    entries: Vec<Entry>,
    /// The server's time, in milliseconds.
    pub(super) now: i64,
    writes: Vec<Cmd<'static, Value>>,
}

fn owned(word: &[u8]) -> Arg<'static> {
    Bytes::copy_from(word).into()
}

impl View {
    /// Watches the keys and reads all there is in them.
    pub(super) async fn read<S: Session>(
        session: &mut S,
        keys: &[&[u8]],
        kind: fn(usize) -> Kind,
    ) -> stockroom::Result<Self> {
        let reads: Vec<_> = keys
            .iter()
            .enumerate()
            .map(|(at, key)| {
                let all = match kind(at) {
                    Kind::Text => cmd::get::<Bytes>(key).reply_as::<Value>(),
                    Kind::Hash => cmd::hgetall::<Bytes>(key).reply_as(),
                    Kind::Zset => cmd::zrange_withscores::<Bytes>(key, 0, -1).reply_as(),
                    Kind::Foreign => cmd::exists(key).reply_as(),
                };
                (all, cmd::pttl(key))
            })
            .collect();
        let time = Cmd::<(i64, i64)>::new(&server::TIME);
        let ((secs, micros), read) = session.watch_and(keys, (time, reads)).await?;
        let entry = |(at, (value, left)): (usize, (Value, i64))| {
            let content = match kind(at) {
                Kind::Text => Content::Text(FromValue::from_value(value)?),
                Kind::Hash => Content::Hash(FromValue::from_value(value)?),
                Kind::Zset => {
                    let all = Vec::<(Bytes, f64)>::from_value(value)?;
                    Content::Zset(all.into_iter().map(|(m, score)| (m, score as i64)).collect())
                }
                Kind::Foreign => Content::Foreign(FromValue::from_value(value)?),
            };
            Ok(Entry { key: Bytes::from(keys[at]), content, left })
        };
        let entries = read.into_iter().enumerate().map(entry).collect::<stockroom::Result<_>>()?;
        Ok(Self { entries, now: secs * 1_000 + micros / 1_000, writes: Vec::new() })
    }

    /// What it has called, in order.
    pub(super) fn into_writes(self) -> Vec<Cmd<'static, Value>> {
        self.writes
    }

    fn write(
        &mut self,
        spec: &'static Spec,
        at: usize,
        args: impl IntoIterator<Item = Arg<'static>>,
    ) {
        let key = owned(&self.entries[at].key);
        self.writes.push(Cmd::new(spec).arg(key).args(args));
        // What has lost its last element is gone, and its time to live with it.
        let entry = &mut self.entries[at];
        let gone = match &entry.content {
            Content::Text(value) => value.is_none(),
            Content::Hash(fields) => fields.is_empty(),
            Content::Zset(members) => members.is_empty(),
            Content::Foreign(there) => !there,
        };
        entry.left = match (gone, entry.left) {
            (true, _) => -2,
            (false, -2) => -1,
            (false, left) => left,
        };
    }

    /// A command of the caller's, as the last one.
    pub(super) fn call(&mut self, line: &[Bytes]) {
        let spec = commands::lookup(&line[0]).expect("a command");
        self.writes.push(Cmd::new(spec).args(line[1..].iter().map(|word| owned(word))));
    }

    pub(super) fn get(&self, at: usize) -> Option<Bytes> {
        match &self.entries[at].content {
            Content::Text(value) => value.clone(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn number(&self, at: usize) -> i64 {
        self.get(at).map_or(0, |value| number(&value))
    }

    pub(super) fn set_for(&mut self, at: usize, value: &[u8], ms: i64) {
        self.entries[at].content = Content::Text(Some(value.into()));
        self.write(&string::SET, at, [owned(value), "PX".into(), ms.into()]);
        self.entries[at].left = ms;
    }

    pub(super) fn incr(&mut self, at: usize, by: i64) -> i64 {
        let sum = self.number(at) + by;
        self.entries[at].content = Content::Text(Some(sum.to_string().into()));
        self.write(&string::INCRBY, at, [by.into()]);
        sum
    }

    /// Deletes a key; says whether it was there.
    pub(super) fn del(&mut self, at: usize) -> bool {
        let there = self.entries[at].left != -2;
        match &mut self.entries[at].content {
            Content::Text(value) => *value = None,
            Content::Hash(fields) => fields.clear(),
            Content::Zset(members) => members.clear(),
            Content::Foreign(there) => *there = false,
        }
        self.write(&commands::generic::DEL, at, []);
        there
    }

    /// As PTTL.
    pub(super) fn left(&self, at: usize) -> i64 {
        self.entries[at].left
    }

    pub(super) fn expire(&mut self, at: usize, ms: i64) -> bool {
        self.write(&commands::expiry::PEXPIRE, at, [ms.into()]);
        let there = self.left(at) != -2;
        if there {
            self.entries[at].left = ms;
        }
        there
    }

    /// Lets a key live for so long at least.
    pub(super) fn keep(&mut self, at: usize, ms: i64) {
        if self.left(at) < ms {
            self.expire(at, ms);
        }
    }

    fn fields(&mut self, at: usize) -> &mut Vec<(Bytes, Bytes)> {
        match &mut self.entries[at].content {
            Content::Hash(fields) => fields,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn hgetall(&mut self, at: usize) -> Vec<(Bytes, Bytes)> {
        self.fields(at).clone()
    }

    pub(super) fn hget(&mut self, at: usize, field: &[u8]) -> Option<Bytes> {
        self.fields(at).iter().find(|(name, _)| *name == field).map(|(_, value)| value.clone())
    }

    pub(super) fn hset(&mut self, at: usize, field: &[u8], value: &[u8]) {
        let fields = self.fields(at);
        match fields.iter_mut().find(|(name, _)| *name == field) {
            Some((_, old)) => *old = value.into(),
            None => fields.push((field.into(), value.into())),
        }
        self.write(&hash::HSET, at, [owned(field), owned(value)]);
    }

    pub(super) fn hincr(&mut self, at: usize, field: &[u8], by: i64) -> i64 {
        let sum = self.hget(at, field).map_or(0, |value| number(&value)) + by;
        self.hset(at, field, sum.to_string().as_bytes());
        sum
    }

    pub(super) fn hdel(&mut self, at: usize, field: &[u8]) -> bool {
        let fields = self.fields(at);
        let before = fields.len();
        fields.retain(|(name, _)| *name != field);
        let there = fields.len() < before;
        self.write(&hash::HDEL, at, [owned(field)]);
        there
    }

    fn members(&mut self, at: usize) -> &mut Vec<(Bytes, i64)> {
        match &mut self.entries[at].content {
            Content::Zset(members) => members,
            other => panic!("{other:?}"),
        }
    }

    /// All members with their scores, in order.
    pub(super) fn zrange(&mut self, at: usize) -> Vec<(Bytes, i64)> {
        self.members(at).clone()
    }

    /// Those whose time is over.
    pub(super) fn before_now(&mut self, at: usize) -> Vec<(Bytes, i64)> {
        let now = self.now;
        self.members(at).iter().filter(|(_, score)| *score < now).cloned().collect()
    }

    pub(super) fn zcard(&mut self, at: usize) -> i64 {
        self.members(at).len() as i64
    }

    pub(super) fn zscore(&mut self, at: usize, member: &[u8]) -> Option<i64> {
        self.members(at).iter().find(|(name, _)| *name == member).map(|(_, score)| *score)
    }

    pub(super) fn zadd(&mut self, at: usize, score: i64, member: &[u8]) {
        let members = self.members(at);
        members.retain(|(name, _)| *name != member);
        members.push((member.into(), score));
        members.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        self.write(&zset::ZADD, at, [score.into(), owned(member)]);
    }

    pub(super) fn zrem(&mut self, at: usize, member: &[u8]) -> bool {
        let members = self.members(at);
        let before = members.len();
        members.retain(|(name, _)| *name != member);
        let there = members.len() < before;
        self.write(&zset::ZREM, at, [owned(member)]);
        there
    }
}

/// A number as a script's argument or a value has it.
pub(super) fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a number")
}
