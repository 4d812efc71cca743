//! Hashes.

use super::args::{Page, int, int_in, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec, pick};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_i64;
use crate::types::{Hash, LongDouble};

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &HDEL,
    &HEXISTS,
    &HGET,
    &HGETALL,
    &HINCRBY,
    &HINCRBYFLOAT,
    &HKEYS,
    &HLEN,
    &HMGET,
    &HMSET,
    &HRANDFIELD,
    &HSCAN,
    &HSET,
    &HSETNX,
    &HSTRLEN,
    &HVALS,
];

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.or(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST);

/// The key is looked at but nothing of its value is answered.
const LOOKED_AT: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RO)];
const ANSWERED: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))];
const UPDATED: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))];
const CHANGED: &[KeySpec] =
    &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))];

const PAIRS: &[Arg] = &[Arg::Key, Arg::Many(&[Arg::Field, Arg::Str])];

/// `HDEL key field …`
pub const HDEL: Spec = Spec::new(
    "HDEL",
    Run::Data(hdel),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Many(&[Arg::Field])],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::DELETE))])
.acl(Acl::HASH)
.doc(
    "hash",
    "2.0.0",
    "O(N) where N is the number of fields to be removed.",
    "Delete one or more hash fields",
);

/// `HEXISTS key field`
pub const HEXISTS: Spec =
    Spec::new("HEXISTS", Run::Data(hexists), FAST_READ, &[Arg::Key, Arg::Field])
        .keys(LOOKED_AT)
        .acl(Acl::HASH)
        .doc("hash", "2.0.0", "O(1)", "Determine if a hash field exists");

/// `HGET key field`
pub const HGET: Spec = Spec::new("HGET", Run::Data(hget), FAST_READ, &[Arg::Key, Arg::Field])
    .keys(ANSWERED)
    .acl(Acl::HASH)
    .doc("hash", "2.0.0", "O(1)", "Get the value of a hash field");

/// `HGETALL key`
pub const HGETALL: Spec = Spec::new("HGETALL", Run::Data(hgetall), READ, &[Arg::Key])
    .keys(ANSWERED)
    .acl(Acl::HASH)
    .tips(&["nondeterministic_output_order"])
    .doc(
        "hash",
        "2.0.0",
        "O(N) where N is the size of the hash.",
        "Get all the fields and values in a hash",
    );

/// `HINCRBY key field increment`
pub const HINCRBY: Spec =
    Spec::new("HINCRBY", Run::Data(hincrby), FAST_WRITE, &[Arg::Key, Arg::Field, Arg::Int])
        .keys(CHANGED)
        .acl(Acl::HASH)
        .doc(
            "hash",
            "2.0.0",
            "O(1)",
            "Increment the integer value of a hash field by the given number",
        );

/// `HINCRBYFLOAT key field increment`
pub const HINCRBYFLOAT: Spec = Spec::new(
    "HINCRBYFLOAT",
    Run::Data(hincrbyfloat),
    FAST_WRITE,
    &[Arg::Key, Arg::Field, Arg::Float],
)
.keys(CHANGED)
.acl(Acl::HASH)
.doc("hash", "2.6.0", "O(1)", "Increment the float value of a hash field by the given amount");

/// `HKEYS key`
pub const HKEYS: Spec = Spec::new("HKEYS", Run::Data(hkeys), READ, &[Arg::Key])
    .keys(ANSWERED)
    .acl(Acl::HASH)
    .tips(&["nondeterministic_output_order"])
    .doc("hash", "2.0.0", "O(N) where N is the size of the hash.", "Get all the fields in a hash");

/// `HLEN key`
pub const HLEN: Spec = Spec::new("HLEN", Run::Data(hlen), FAST_READ, &[Arg::Key])
    .keys(LOOKED_AT)
    .acl(Acl::HASH)
    .doc("hash", "2.0.0", "O(1)", "Get the number of fields in a hash");

/// `HMGET key field …`
pub const HMGET: Spec =
    Spec::new("HMGET", Run::Data(hmget), FAST_READ, &[Arg::Key, Arg::Many(&[Arg::Field])])
        .keys(ANSWERED)
        .acl(Acl::HASH)
        .doc(
            "hash",
            "2.0.0",
            "O(N) where N is the number of fields being requested.",
            "Get the values of all the given hash fields",
        );

/// `HMSET key field value …`
pub const HMSET: Spec =
    Spec::new("HMSET", Run::Data(hmset), FAST_WRITE, PAIRS).keys(UPDATED).acl(Acl::HASH).doc(
        "hash",
        "2.0.0",
        "O(N) where N is the number of fields being set.",
        "Set multiple hash fields to multiple values",
    );

/// `HRANDFIELD key [count [WITHVALUES]]`
pub const HRANDFIELD: Spec = Spec::new(
    "HRANDFIELD",
    Run::Data(hrandfield),
    READ,
    &[Arg::Key, Arg::Opt(&[Arg::Count, Arg::Opt(&[Arg::Tok("WITHVALUES")])])],
)
.keys(ANSWERED)
.acl(Acl::HASH)
.tips(&["nondeterministic_output"])
.doc(
    "hash",
    "6.2.0",
    "O(N) where N is the number of fields returned",
    "Get one or multiple random fields from a hash",
);

/// `HSCAN key cursor [MATCH pattern] [COUNT count]`
pub const HSCAN: Spec = Spec::new(
    "HSCAN",
    Run::Data(hscan),
    READ,
    &[
        Arg::Key,
        Arg::Cursor,
        Arg::Opt(&[Arg::Tok("MATCH"), Arg::Pattern]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
    ],
)
.keys(ANSWERED)
.acl(Acl::HASH)
.tips(&["nondeterministic_output"])
.doc(
    "hash",
    "2.8.0",
    "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
     cursor to return back to 0. N is the number of elements inside the collection..",
    "Incrementally iterate hash fields and associated values",
);

/// `HSET key field value …`
pub const HSET: Spec =
    Spec::new("HSET", Run::Data(hset), FAST_WRITE, PAIRS).keys(UPDATED).acl(Acl::HASH).doc(
        "hash",
        "2.0.0",
        "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the \
         command is called with multiple field/value pairs.",
        "Set the string value of a hash field",
    );

/// `HSETNX key field value`
pub const HSETNX: Spec =
    Spec::new("HSETNX", Run::Data(hsetnx), FAST_WRITE, &[Arg::Key, Arg::Field, Arg::Str])
        .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::INSERT))])
        .acl(Acl::HASH)
        .doc(
            "hash",
            "2.0.0",
            "O(1)",
            "Set the value of a hash field, only if the field does not exist",
        );

/// `HSTRLEN key field`
pub const HSTRLEN: Spec =
    Spec::new("HSTRLEN", Run::Data(hstrlen), FAST_READ, &[Arg::Key, Arg::Field])
        .keys(LOOKED_AT)
        .acl(Acl::HASH)
        .doc("hash", "3.2.0", "O(1)", "Get the length of the value of a hash field");

/// `HVALS key`
pub const HVALS: Spec = Spec::new("HVALS", Run::Data(hvals), READ, &[Arg::Key])
    .keys(ANSWERED)
    .acl(Acl::HASH)
    .tips(&["nondeterministic_output_order"])
    .doc("hash", "2.0.0", "O(N) where N is the size of the hash.", "Get all the values in a hash");

fn hdel(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let removed = cx.db.update::<Hash, _>(argv[1], |hash, _| {
        let removed = argv[2..].iter().filter(|field| hash.remove(field)).count();
        (removed, removed > 0)
    })?;
    Ok(removed.unwrap_or(0).into())
}

fn hexists(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Hash>(argv[1])?.is_some_and(|hash| hash.contains(argv[2])).into())
}

fn hget(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let hash = cx.db.read::<Hash>(argv[1])?;
    Ok(hash.and_then(|hash| hash.get_bytes(argv[2])).map_or(Value::Nil, Value::Bulk))
}

fn hgetall(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let hash = cx.db.read::<Hash>(argv[1])?;
    Ok(Value::Map(pairs(hash).map(|(f, v)| (Value::bulk(f), Value::bulk(v))).collect()))
}

fn hincrby(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    const OVERFLOW: WireError = WireError::fixed("ERR increment or decrement would overflow");
    const NO_INTEGER: WireError = WireError::fixed("ERR hash value is not an integer");
    let increment = int(argv[3])?;
    cx.db.upsert::<Hash, Reply>(argv[1], |hash, limits| {
        let (mut sum, mut text) = (0, itoa::Buffer::new());
        let done = hash.update(argv[2], limits, |old| {
            let old = old.map_or(Ok(0), |v| parse_i64(v).ok_or(NO_INTEGER))?;
            sum = old.checked_add(increment).ok_or(OVERFLOW)?;
            Ok(text.format(sum))
        });
        let changed = done.is_ok();
        (done.map(|()| sum.into()), changed)
    })?
}

fn hincrbyfloat(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    const NOT_FINITE: WireError = WireError::fixed("ERR value is NaN or Infinity");
    const OVERFLOW: WireError = WireError::fixed("ERR increment would produce NaN or Infinity");
    const NO_FLOAT: WireError = WireError::fixed("ERR hash value is not a float");
    let increment = LongDouble::parse(argv[3]).ok_or(WireError::NOT_FLOAT)?;
    if !increment.is_finite() {
        return Err(NOT_FINITE);
    }
    cx.db.upsert::<Hash, Reply>(argv[1], |hash, limits| {
        let old = hash.get(argv[2]);
        let old = old.map_or(Ok(LongDouble::ZERO), |v| LongDouble::parse(v).ok_or(NO_FLOAT));
        match old.and_then(|old| old.checked_add(increment).ok_or(OVERFLOW)) {
            Ok(sum) => {
                let sum = sum.to_string();
                hash.insert(argv[2], sum.as_bytes(), limits);
                (Ok(Value::bulk(sum)), true)
            }
            Err(error) => (Err(error), false),
        }
    })?
}

fn hkeys(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(Value::bulks(pairs(cx.db.read::<Hash>(argv[1])?).map(|(field, _)| field)))
}

fn hlen(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Hash>(argv[1])?.map_or(0, Hash::len).into())
}

fn hmget(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let hash = cx.db.read::<Hash>(argv[1])?;
    let value = |field: &&[u8]| hash.and_then(|hash| hash.get_bytes(field));
    let values = argv[2..].iter().map(|field| value(field).map_or(Value::Nil, Value::Bulk));
    Ok(Value::Array(values.collect()))
}

fn hmset(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    put_pairs(cx, argv, &HMSET).map(|_| Value::OK)
}

fn hrandfield(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let Some(count) = argv.get(2) else {
        let Some(hash) = cx.db.read::<Hash>(argv[1])? else { return Ok(Value::Nil) };
        let field = hash.nth(pick::one(cx.env, hash.len()));
        return Ok(Value::bulk_or_nil(field.map(|(field, _)| field)));
    };
    let count = int_in(count, -i64::MAX..=i64::MAX)?;
    let with_values = match argv[3..] {
        [] => false,
        [word] if is(word, "WITHVALUES") => true,
        _ => return Err(WireError::SYNTAX),
    };
    if with_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(WireError::OUT_OF_RANGE);
    }
    let Some(hash) = cx.db.read::<Hash>(argv[1])? else { return Ok(Value::Array(Vec::new())) };
    let picked = random_fields(cx, hash, count)?;
    Ok(Value::Array(if !with_values {
        picked.into_iter().map(|(field, _)| Value::bulk(field)).collect()
    } else if cx.is_resp3() {
        picked.into_iter().map(|(field, value)| Value::bulks([field, value])).collect()
    } else {
        picked.into_iter().flat_map(|(f, v)| [Value::bulk(f), Value::bulk(v)]).collect()
    }))
}

fn hscan(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let cursor = Page::cursor(argv[2])?;
    let Some(hash) = cx.db.read::<Hash>(argv[1])? else { return Page::reply(0, Vec::new()) };
    let page = Page::options(cursor, &argv[3..], false)?;
    let mut found = Vec::new();
    let next = hash.scan(page.cursor, page.count, &mut |field, value| {
        if page.wants(field) {
            found.extend([Value::bulk(field), Value::bulk(value)]);
        }
    });
    Page::reply(next, found)
}

fn hset(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    put_pairs(cx, argv, &HSET).map(Value::from)
}

fn hsetnx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let set = cx.db.upsert::<Hash, _>(argv[1], |hash, limits| {
        let set = !hash.contains(argv[2]) && hash.insert(argv[2], argv[3], limits);
        (set, set)
    })?;
    Ok(set.into())
}

fn hstrlen(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let hash = cx.db.read::<Hash>(argv[1])?;
    Ok(hash.and_then(|hash| hash.get(argv[2])).map_or(0, <[u8]>::len).into())
}

fn hvals(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(Value::bulks(pairs(cx.db.read::<Hash>(argv[1])?).map(|(_, value)| value)))
}

/// A field and its value.
type Pair<'h> = (&'h [u8], &'h [u8]);

/// The fields and values of a hash that may be missing.
fn pairs(hash: Option<&Hash>) -> impl Iterator<Item = Pair<'_>> {
    hash.into_iter().flat_map(Hash::iter)
}

/// Sets the pairs of a command line and says how many fields are new.
fn put_pairs(cx: &mut Cx<'_>, argv: &[&[u8]], spec: &Spec) -> Result<usize, WireError> {
    if !argv.len().is_multiple_of(2) {
        return Err(spec.arity_error());
    }
    cx.db.upsert::<Hash, _>(argv[1], |hash, limits| {
        let pairs = argv[2..].chunks_exact(2);
        (pairs.filter(|pair| hash.insert(pair[0], pair[1], limits)).count(), true)
    })
}

/// `count` random fields with their values: distinct, or when `count` is negative with repetition.
fn random_fields<'h>(cx: &Cx<'_>, hash: &'h Hash, count: i64) -> Result<Vec<Pair<'h>>, WireError> {
    let len = hash.len();
    if count >= 0 && count.unsigned_abs() >= len as u64 {
        return Ok(hash.iter().collect());
    }
    // Packed, one position costs as much as all: they are laid out first.
    let packed = hash.encoding() == "listpack";
    let laid_out: Vec<_> = if packed { hash.iter().collect() } else { Vec::new() };
    let mut picks = if count < 0 {
        pick::repeated(cx.env, count.unsigned_abs(), len)?
    } else {
        pick::distinct(cx.env, count as usize, len)
    };
    if packed && count > 0 {
        // Redis 7.0 walks a packed hash once, and so answers its fields in their order.
        picks.sort_unstable();
    }
    let field = |pos: usize| if packed { laid_out.get(pos).copied() } else { hash.nth(pos) };
    let fields: Vec<_> = picks.into_iter().filter_map(field).collect();
    if count < 0 {
        pick::fit(fields.iter().map(|(field, value)| field.len() + value.len()))?;
    }
    Ok(fields)
}
