//! Keys whatever their type: DEL, EXISTS, RENAME, SCAN and their like.

use super::args::{Page, database, help, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::bytes::Bytes;
use crate::db::{Expire, Object};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::glob::glob_match;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &COPY, &DEL, &EXISTS, &KEYS, &MOVE, &OBJECT, &RANDOMKEY, &RENAME, &RENAMENX, &SCAN, &TOUCH,
    &TYPE, &UNLINK,
];

/// `COPY source destination [DB n] [REPLACE]`
pub const COPY: Spec = Spec::new(
    "COPY",
    Run::Data(copy),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Key, Arg::Opt(&[Arg::Tok("DB"), Arg::Db]), Arg::Opt(&[Arg::Tok("REPLACE")])],
)
.keys(&[
    KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
    KeySpec::at(2, KeyFlags::OW.or(KeyFlags::UPDATE)),
])
.acl(Acl::KEYSPACE)
.doc(
    "generic",
    "6.2.0",
    "O(N) worst case for collections, where N is the number of nested items. O(1) \
         for string values.",
    "Copy a key",
);

/// `DEL key …`
pub const DEL: Spec = Spec::new("DEL", Run::Data(del), Flags::WRITE, &[Arg::Many(&[Arg::Key])])
    .keys(&[KeySpec::range(1, -1, 1, KeyFlags::RM.or(KeyFlags::DELETE))])
    .acl(Acl::KEYSPACE)
    .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
    .doc(
        "generic",
        "1.0.0",
        "O(N) where N is the number of keys that will be removed. When a key to remove \
         holds a value other than a string, the individual complexity for this key is \
         O(M) where M is the number of elements in the list, set, sorted set or hash. \
         Removing a single key that holds a string value is O(1).",
        "Delete a key",
    );

/// `EXISTS key …`
pub const EXISTS: Spec = Spec::new(
    "EXISTS",
    Run::Data(exists),
    Flags::READONLY.or(Flags::FAST),
    &[Arg::Many(&[Arg::Key])],
)
.keys(&[KeySpec::range(1, -1, 1, KeyFlags::RO)])
.acl(Acl::KEYSPACE)
.tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
.doc(
    "generic",
    "1.0.0",
    "O(N) where N is the number of keys to check.",
    "Determine if a key exists",
);

/// `KEYS pattern`
pub const KEYS: Spec = Spec::new("KEYS", Run::Data(keys), Flags::READONLY, &[Arg::Pattern])
    .acl(Acl::KEYSPACE.or(Acl::DANGEROUS))
    .tips(&["request_policy:all_shards", "nondeterministic_output_order"])
    .doc(
        "generic",
        "1.0.0",
        "O(N) with N being the number of keys in the database, under the assumption \
         that the key names in the database and the given pattern have limited length.",
        "Find all keys matching the given pattern",
    );

/// `MOVE key db`
pub const MOVE: Spec =
    Spec::new("MOVE", Run::Data(move_key), Flags::WRITE.or(Flags::FAST), &[Arg::Key, Arg::Db])
        .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))])
        .acl(Acl::KEYSPACE)
        .doc("generic", "1.0.0", "O(1)", "Move a key to another database");

/// `OBJECT subcommand`
pub const OBJECT: Spec = Spec::container(
    "OBJECT",
    &[&OBJECT_ENCODING, &OBJECT_FREQ, &OBJECT_HELP, &OBJECT_IDLETIME, &OBJECT_REFCOUNT],
)
.doc("generic", "2.2.3", "Depends on subcommand.", "A container for object introspection commands");

/// `OBJECT ENCODING key`
pub const OBJECT_ENCODING: Spec =
    Spec::new("OBJECT|ENCODING", Run::Data(object_encoding), Flags::READONLY, &[Arg::Key])
        .keys(&[KeySpec::at(2, KeyFlags::RO)])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc("generic", "2.2.3", "O(1)", "Inspect the internal encoding of a Redis object");

/// `OBJECT FREQ key`
pub const OBJECT_FREQ: Spec =
    Spec::new("OBJECT|FREQ", Run::Data(object_freq), Flags::READONLY, &[Arg::Key])
        .keys(&[KeySpec::at(2, KeyFlags::RO)])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc(
            "generic",
            "4.0.0",
            "O(1)",
            "Get the logarithmic access frequency counter of a Redis object",
        );

/// `OBJECT HELP`
pub const OBJECT_HELP: Spec =
    Spec::new("OBJECT|HELP", Run::Plain(object_help), Flags::LOADING.or(Flags::STALE), &[])
        .acl(Acl::KEYSPACE)
        .doc("generic", "6.2.0", "O(1)", "Show helpful text about the different subcommands");

/// `OBJECT IDLETIME key`
pub const OBJECT_IDLETIME: Spec =
    Spec::new("OBJECT|IDLETIME", Run::Data(object_idletime), Flags::READONLY, &[Arg::Key])
        .keys(&[KeySpec::at(2, KeyFlags::RO)])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc("generic", "2.2.3", "O(1)", "Get the time since a Redis object was last accessed");

/// `OBJECT REFCOUNT key`
pub const OBJECT_REFCOUNT: Spec =
    Spec::new("OBJECT|REFCOUNT", Run::Data(object_refcount), Flags::READONLY, &[Arg::Key])
        .keys(&[KeySpec::at(2, KeyFlags::RO)])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc("generic", "2.2.3", "O(1)", "Get the number of references to the value of the key");

/// `RANDOMKEY`
pub const RANDOMKEY: Spec = Spec::new("RANDOMKEY", Run::Data(randomkey), Flags::READONLY, &[])
    .acl(Acl::KEYSPACE)
    .tips(&["request_policy:all_shards", "nondeterministic_output"])
    .doc("generic", "1.0.0", "O(1)", "Return a random key from the keyspace");

/// `RENAME key newkey`
pub const RENAME: Spec =
    Spec::new("RENAME", Run::Data(rename), Flags::WRITE, &[Arg::Key, Arg::Key])
        .keys(&[
            KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::at(2, KeyFlags::OW.or(KeyFlags::UPDATE)),
        ])
        .acl(Acl::KEYSPACE)
        .doc("generic", "1.0.0", "O(1)", "Rename a key");

/// `RENAMENX key newkey`
pub const RENAMENX: Spec =
    Spec::new("RENAMENX", Run::Data(renamenx), Flags::WRITE.or(Flags::FAST), &[Arg::Key, Arg::Key])
        .keys(&[
            KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::at(2, KeyFlags::OW.or(KeyFlags::INSERT)),
        ])
        .acl(Acl::KEYSPACE)
        .doc("generic", "1.0.0", "O(1)", "Rename a key, only if the new key does not exist");

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
pub const SCAN: Spec = Spec::new(
    "SCAN",
    Run::Data(scan),
    Flags::READONLY,
    &[
        Arg::Cursor,
        Arg::Opt(&[Arg::Tok("MATCH"), Arg::Pattern]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
        Arg::Opt(&[Arg::Tok("TYPE"), Arg::Str]),
    ],
)
.acl(Acl::KEYSPACE)
.tips(&["nondeterministic_output", "request_policy:special"])
.doc(
    "generic",
    "2.8.0",
    "O(1) for every call. O(N) for a complete iteration, including enough command \
         calls for the cursor to return back to 0. N is the number of elements inside \
         the collection.",
    "Incrementally iterate the keys space",
);

/// `TOUCH key …`
pub const TOUCH: Spec = Spec::new(
    "TOUCH",
    Run::Data(touch),
    Flags::READONLY.or(Flags::FAST),
    &[Arg::Many(&[Arg::Key])],
)
.keys(&[KeySpec::range(1, -1, 1, KeyFlags::RO)])
.acl(Acl::KEYSPACE)
.tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
.doc(
    "generic",
    "3.2.1",
    "O(N) where N is the number of keys that will be touched.",
    "Alters the last access time of a key(s). Returns the number of existing keys \
         specified.",
);

/// `TYPE key`
pub const TYPE: Spec =
    Spec::new("TYPE", Run::Data(type_of), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO)])
        .acl(Acl::KEYSPACE)
        .doc("generic", "1.0.0", "O(1)", "Determine the type stored at key");

/// `UNLINK key …`
pub const UNLINK: Spec =
    Spec::new("UNLINK", Run::Data(del), Flags::WRITE.or(Flags::FAST), &[Arg::Many(&[Arg::Key])])
        .keys(&[KeySpec::range(1, -1, 1, KeyFlags::RM.or(KeyFlags::DELETE))])
        .acl(Acl::KEYSPACE)
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .doc(
            "generic",
            "4.0.0",
            "O(1) for each key removed regardless of its size. Then the command does O(N) \
         work in a different thread in order to reclaim memory, where N is the number \
         of allocations the deleted objects where composed of.",
            "Delete a key asynchronously in another thread. Otherwise it is just as DEL, \
         but non blocking.",
        );

/// Source and destination are the same key.
const SAME: WireError = WireError::fixed("ERR source and destination objects are the same");

fn copy(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (from, to, home) = (argv[1], argv[2], cx.db.index());
    let (mut target, mut replace) = (home, false);
    let mut options = &argv[3..];
    loop {
        options = match options {
            [] => break,
            [word, rest @ ..] if is(word, "REPLACE") => {
                replace = true;
                rest
            }
            [word, db, rest @ ..] if is(word, "DB") => {
                target = database(db)?;
                rest
            }
            _ => return Err(WireError::SYNTAX),
        };
    }
    if from == to && home == target {
        return Err(SAME);
    }
    let Some(object) = cx.db.get(from).cloned() else { return Ok(Value::Int(0)) };
    let expire = cx.db.deadline(from).flatten().map_or(Expire::Clear, Expire::At);
    cx.db.select(target);
    if cx.db.exists(to) {
        if !replace {
            return Ok(Value::Int(0));
        }
        cx.db.delete(to);
    }
    cx.db.set(to, object, expire);
    Ok(Value::Int(1))
}

fn del(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(argv[1..].iter().filter(|key| cx.db.delete(key)).count().into())
}

fn exists(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(argv[1..].iter().filter(|key| cx.db.exists(key)).count().into())
}

fn keys(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let pattern = argv[1];
    let wanted = |key: &&Bytes| pattern == b"*" || glob_match(pattern, key, false);
    let found = cx.db.iter().map(|(key, _)| key).filter(wanted);
    Ok(Value::Array(found.map(|key| Value::Bulk(key.clone())).collect()))
}

fn move_key(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, home) = (argv[1], cx.db.index());
    let target = database(argv[2])?;
    if target == home {
        return Err(SAME);
    }
    cx.db.select(target);
    let taken = cx.db.exists(key);
    cx.db.select(home);
    if taken {
        return Ok(Value::Int(0));
    }
    let Some((object, deadline)) = cx.db.take(key) else { return Ok(Value::Int(0)) };
    cx.db.select(target);
    cx.db.set(key, object, deadline.map_or(Expire::Clear, Expire::At));
    Ok(Value::Int(1))
}

fn object_encoding(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(Value::bulk_or_nil(cx.db.peek(argv[2]).map(Object::encoding)))
}

fn object_freq(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    if cx.db.peek(argv[2]).is_none() {
        return Ok(Value::Nil);
    }
    Err(WireError::fixed(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note \
         that when switching between policies at runtime LRU and LFU data will take some time to \
         adjust.",
    ))
}

fn object_help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    help(
        "OBJECT",
        &[
            "ENCODING <key>",
            "    Return the kind of internal representation used in order to store the value",
            "    associated with a <key>.",
            "FREQ <key>",
            "    Return the access frequency index of the <key>. The returned integer is",
            "    proportional to the logarithm of the recent access frequency of the key.",
            "IDLETIME <key>",
            "    Return the idle time of the <key>, that is the approximated number of",
            "    seconds elapsed since the last access to the key.",
            "REFCOUNT <key>",
            "    Return the number of references of the value associated with the specified",
            "    <key>.",
        ],
    )
}

fn object_idletime(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.idle_secs(argv[2]).map_or(Value::Nil, |secs| Value::Int(secs.into())))
}

/// Redis shares the objects of the integers below 10,000 and answers its largest count for them.
fn object_refcount(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let is_shared = |object: &Object| match object {
        Object::Str(s) if s.encoding() == "int" => {
            s.as_i64().is_some_and(|n| (0..10_000).contains(&n))
        }
        _ => false,
    };
    let count = |object| if is_shared(object) { i64::from(i32::MAX) } else { 1 };
    Ok(cx.db.peek(argv[2]).map_or(Value::Nil, |object| Value::Int(count(object))))
}

fn randomkey(cx: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Ok(cx.db.random_key(cx.env).map_or(Value::Nil, Value::Bulk))
}

fn rename(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (from, to) = (argv[1], argv[2]);
    if !cx.db.exists(from) {
        return Err(WireError::NO_SUCH_KEY);
    }
    if from != to {
        move_value(cx, from, to);
    }
    Ok(Value::OK)
}

fn renamenx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (from, to) = (argv[1], argv[2]);
    if !cx.db.exists(from) {
        return Err(WireError::NO_SUCH_KEY);
    }
    if from == to || cx.db.exists(to) {
        return Ok(Value::Int(0));
    }
    move_value(cx, from, to);
    Ok(Value::Int(1))
}

fn scan(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let cursor = Page::cursor(argv[1])?;
    let page = Page::options(cursor, &argv[2..], true)?;
    let mut found = Vec::new();
    let next = cx.db.scan(page.cursor, page.count, |key, object| {
        if page.wants(key) && page.wants_type(object.type_name()) {
            found.push(Value::Bulk(key.clone()));
        }
    });
    Page::reply(next, found)
}

fn touch(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(argv[1..].iter().filter(|key| cx.db.get(key).is_some()).count().into())
}

fn type_of(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(Value::simple(cx.db.peek(argv[1]).map_or("none", Object::type_name)))
}

/// Moves a value with its deadline to another key, whatever was there.
fn move_value(cx: &mut Cx<'_>, from: &[u8], to: &[u8]) {
    if let Some((object, deadline)) = cx.db.take(from) {
        cx.db.delete(to);
        cx.db.set(to, object, deadline.map_or(Expire::Clear, Expire::At));
    }
}
