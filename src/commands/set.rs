//! Sets.

use super::args::{Page, int_in, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec, pick};
use crate::bytes::Bytes;
use crate::db::{Expire, Kind};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_i64;
use crate::types::{Limits, Member, Set};

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &SADD,
    &SCARD,
    &SDIFF,
    &SDIFFSTORE,
    &SINTER,
    &SINTERCARD,
    &SINTERSTORE,
    &SISMEMBER,
    &SMEMBERS,
    &SMISMEMBER,
    &SMOVE,
    &SPOP,
    &SRANDMEMBER,
    &SREM,
    &SSCAN,
    &SUNION,
    &SUNIONSTORE,
];

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.or(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);

const ACCESS: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
/// The key is looked at but nothing of its value is answered.
const LOOKED_AT: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RO)];
const ANSWERED: &[KeySpec] = &[KeySpec::at(1, ACCESS)];
const ALL_ANSWERED: &[KeySpec] = &[KeySpec::range(1, -1, 1, ACCESS)];
const STORED: &[KeySpec] =
    &[KeySpec::at(1, KeyFlags::OW.or(KeyFlags::UPDATE)), KeySpec::range(2, -1, 1, ACCESS)];

const MEMBERS: &[Arg] = &[Arg::Key, Arg::Many(&[Arg::Member])];
const MEMBER: &[Arg] = &[Arg::Key, Arg::Member];
const KEYS: &[Arg] = &[Arg::Many(&[Arg::Key])];
const INTO: &[Arg] = &[Arg::Key, Arg::Many(&[Arg::Key])];

const IN_TOTAL: &str = "O(N) where N is the total number of elements in all given sets.";
const OF_SMALLEST: &str = "O(N*M) worst case where N is the cardinality of the smallest set and M \
                           is the number of sets.";

/// `SADD key member …`
pub const SADD: Spec = Spec::new("SADD", Run::Data(sadd), FAST_WRITE.or(Flags::DENYOOM), MEMBERS)
    .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::INSERT))])
    .acl(Acl::SET)
    .doc(
        "set",
        "1.0.0",
        "O(1) for each element added, so O(N) to add N elements when the command is called \
             with multiple arguments.",
        "Add one or more members to a set",
    );

/// `SCARD key`
pub const SCARD: Spec = Spec::new("SCARD", Run::Data(scard), FAST_READ, &[Arg::Key])
    .keys(LOOKED_AT)
    .acl(Acl::SET)
    .doc("set", "1.0.0", "O(1)", "Get the number of members in a set");

/// `SDIFF key …`
pub const SDIFF: Spec = Spec::new("SDIFF", Run::Data(sdiff), READ, KEYS)
    .keys(ALL_ANSWERED)
    .acl(Acl::SET)
    .tips(&["nondeterministic_output_order"])
    .doc("set", "1.0.0", IN_TOTAL, "Subtract multiple sets");

/// `SDIFFSTORE destination key …`
pub const SDIFFSTORE: Spec = Spec::new("SDIFFSTORE", Run::Data(sdiffstore), STORE, INTO)
    .keys(STORED)
    .acl(Acl::SET)
    .doc("set", "1.0.0", IN_TOTAL, "Subtract multiple sets and store the resulting set in a key");

/// `SINTER key …`
pub const SINTER: Spec = Spec::new("SINTER", Run::Data(sinter), READ, KEYS)
    .keys(ALL_ANSWERED)
    .acl(Acl::SET)
    .tips(&["nondeterministic_output_order"])
    .doc("set", "1.0.0", OF_SMALLEST, "Intersect multiple sets");

/// `SINTERCARD numkeys key … [LIMIT limit]`
pub const SINTERCARD: Spec = Spec::new(
    "SINTERCARD",
    Run::Data(sintercard),
    READ,
    &[Arg::NumKeys, Arg::Opt(&[Arg::Tok("LIMIT"), Arg::Count])],
)
.keys(&[KeySpec::counted(1, ACCESS)])
.acl(Acl::SET)
.doc(
    "set",
    "7.0.0",
    OF_SMALLEST,
    "Intersect multiple sets and return the cardinality of the result",
);

/// `SINTERSTORE destination key …`
pub const SINTERSTORE: Spec = Spec::new("SINTERSTORE", Run::Data(sinterstore), STORE, INTO)
    .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE)), KeySpec::range(2, -1, 1, ACCESS)])
    .acl(Acl::SET)
    .doc(
        "set",
        "1.0.0",
        OF_SMALLEST,
        "Intersect multiple sets and store the resulting set in a key",
    );

/// `SISMEMBER key member`
pub const SISMEMBER: Spec = Spec::new("SISMEMBER", Run::Data(sismember), FAST_READ, MEMBER)
    .keys(LOOKED_AT)
    .acl(Acl::SET)
    .doc("set", "1.0.0", "O(1)", "Determine if a given value is a member of a set");

/// `SMEMBERS key`
pub const SMEMBERS: Spec = Spec::new("SMEMBERS", Run::Data(smembers), READ, &[Arg::Key])
    .keys(ANSWERED)
    .acl(Acl::SET)
    .tips(&["nondeterministic_output_order"])
    .doc("set", "1.0.0", "O(N) where N is the set cardinality.", "Get all the members in a set");

/// `SMISMEMBER key member …`
pub const SMISMEMBER: Spec = Spec::new("SMISMEMBER", Run::Data(smismember), FAST_READ, MEMBERS)
    .keys(ANSWERED)
    .acl(Acl::SET)
    .doc(
        "set",
        "6.2.0",
        "O(N) where N is the number of elements being checked for membership",
        "Returns the membership associated with the given elements for a set",
    );

/// `SMOVE source destination member`
pub const SMOVE: Spec =
    Spec::new("SMOVE", Run::Data(smove), FAST_WRITE, &[Arg::Key, Arg::Key, Arg::Member])
        .keys(&[
            KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::at(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ])
        .acl(Acl::SET)
        .doc("set", "1.0.0", "O(1)", "Move a member from one set to another");

/// `SPOP key [count]`
pub const SPOP: Spec =
    Spec::new("SPOP", Run::Data(spop), FAST_WRITE, &[Arg::Key, Arg::Opt(&[Arg::Count])])
        .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))])
        .acl(Acl::SET)
        .tips(&["nondeterministic_output"])
        .doc(
            "set",
            "1.0.0",
            "Without the count argument O(1), otherwise O(N) where N is the value of the passed \
             count.",
            "Remove and return one or multiple random members from a set",
        );

/// `SRANDMEMBER key [count]`
pub const SRANDMEMBER: Spec =
    Spec::new("SRANDMEMBER", Run::Data(srandmember), READ, &[Arg::Key, Arg::Opt(&[Arg::Count])])
        .keys(ANSWERED)
        .acl(Acl::SET)
        .tips(&["nondeterministic_output"])
        .doc(
            "set",
            "1.0.0",
            "Without the count argument O(1), otherwise O(N) where N is the absolute value of the \
             passed count.",
            "Get one or multiple random members from a set",
        );

/// `SREM key member …`
pub const SREM: Spec = Spec::new("SREM", Run::Data(srem), FAST_WRITE, MEMBERS)
    .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::DELETE))])
    .acl(Acl::SET)
    .doc(
        "set",
        "1.0.0",
        "O(N) where N is the number of members to be removed.",
        "Remove one or more members from a set",
    );

/// `SSCAN key cursor [MATCH pattern] [COUNT count]`
pub const SSCAN: Spec = Spec::new(
    "SSCAN",
    Run::Data(sscan),
    READ,
    &[
        Arg::Key,
        Arg::Cursor,
        Arg::Opt(&[Arg::Tok("MATCH"), Arg::Pattern]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
    ],
)
.keys(ANSWERED)
.acl(Acl::SET)
.tips(&["nondeterministic_output"])
.doc(
    "set",
    "2.8.0",
    "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
     cursor to return back to 0. N is the number of elements inside the collection..",
    "Incrementally iterate Set elements",
);

/// `SUNION key …`
pub const SUNION: Spec = Spec::new("SUNION", Run::Data(sunion), READ, KEYS)
    .keys(ALL_ANSWERED)
    .acl(Acl::SET)
    .tips(&["nondeterministic_output_order"])
    .doc("set", "1.0.0", IN_TOTAL, "Add multiple sets");

/// `SUNIONSTORE destination key …`
pub const SUNIONSTORE: Spec = Spec::new("SUNIONSTORE", Run::Data(sunionstore), STORE, INTO)
    .keys(STORED)
    .acl(Acl::SET)
    .doc("set", "1.0.0", IN_TOTAL, "Add multiple sets and store the resulting set in a key");

fn sadd(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let added = cx.db.upsert::<Set, _>(argv[1], |set, limits| {
        let added = argv[2..].iter().filter(|member| set.insert(member, limits)).count();
        (added, added > 0)
    })?;
    Ok(added.into())
}

fn scard(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Set>(argv[1])?.map_or(0, Set::len).into())
}

fn sdiff(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(members(&difference(&read_all(cx, &argv[1..])?, &cx.db.limits())))
}

fn sdiffstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let result = difference(&read_all(cx, &argv[2..])?, &cx.db.limits());
    Ok(store(cx, argv[1], result))
}

fn sinter(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let mut common = Vec::new();
    intersect(&read_all(cx, &argv[1..])?, |member| {
        common.push(Value::Bulk(member.into_bytes()));
        true
    });
    Ok(Value::Set(common))
}

fn sintercard(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    const NUMKEYS: WireError = WireError::fixed("ERR numkeys should be greater than 0");
    const TOO_MANY: WireError =
        WireError::fixed("ERR Number of keys can't be greater than number of args");
    const LIMIT: WireError = WireError::fixed("ERR LIMIT can't be negative");
    let numkeys = parse_i64(argv[1]).filter(|n| *n > 0).ok_or(NUMKEYS)? as usize;
    if numkeys > argv.len() - 2 {
        return Err(TOO_MANY);
    }
    let (keys, mut options) = argv[2..].split_at(numkeys);
    let mut limit = 0;
    while let [word, rest @ ..] = options {
        let [value, rest @ ..] = rest else { return Err(WireError::SYNTAX) };
        if !is(word, "LIMIT") {
            return Err(WireError::SYNTAX);
        }
        limit = parse_i64(value).filter(|n| *n >= 0).ok_or(LIMIT)?;
        options = rest;
    }
    let mut count = 0;
    intersect(&read_all(cx, keys)?, |_| {
        count += 1;
        count != limit
    });
    Ok(count.into())
}

fn sinterstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (mut common, limits) = (Set::default(), cx.db.limits());
    intersect(&read_all(cx, &argv[2..])?, |member| {
        common.insert(&member, &limits);
        true
    });
    Ok(store(cx, argv[1], common))
}

fn sismember(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Set>(argv[1])?.is_some_and(|set| set.contains(argv[2])).into())
}

fn smembers(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Set>(argv[1])?.map_or_else(|| Value::Set(Vec::new()), members))
}

fn smismember(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let set = cx.db.read::<Set>(argv[1])?;
    let contained = |member: &&[u8]| Value::from(set.is_some_and(|set| set.contains(member)));
    Ok(Value::Array(argv[2..].iter().map(contained).collect()))
}

fn smove(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let [_, source, destination, member] = argv else { return Err(WireError::SYNTAX) };
    let Some(from) = cx.db.get(source) else { return Ok(false.into()) };
    let from = Set::of(from).ok_or(WireError::WRONGTYPE)?;
    cx.db.read::<Set>(destination)?;
    if source == destination || !from.contains(member) {
        return Ok(from.contains(member).into());
    }
    cx.db.update::<Set, _>(source, |set, _| ((), set.remove(member)))?;
    cx.db.upsert::<Set, _>(destination, |set, limits| ((), set.insert(member, limits)))?;
    Ok(true.into())
}

fn spop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    const RANGE: WireError = WireError::fixed("ERR value is out of range, must be positive");
    let env = cx.env;
    let take = |set: &mut Set| set.remove_nth(pick::one(env, set.len()));
    let count = match argv[2..] {
        [] => {
            let popped = cx.db.update::<Set, _>(argv[1], |set, _| (take(set), true))?;
            return Ok(popped.flatten().map_or(Value::Nil, Value::Bulk));
        }
        [count] => parse_i64(count).filter(|n| *n >= 0).ok_or(RANGE)?,
        _ => return Err(WireError::SYNTAX),
    };
    let popped = cx.db.update::<Set, _>(argv[1], |set, _| {
        let popped: Vec<Bytes> = if count as u64 >= set.len() as u64 {
            std::mem::take(set).iter().map(Member::into_bytes).collect()
        } else {
            (0..count).filter_map(|_| take(set)).collect()
        };
        let changed = !popped.is_empty();
        (popped, changed)
    })?;
    Ok(Value::Set(popped.unwrap_or_default().into_iter().map(Value::Bulk).collect()))
}

fn srandmember(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let count = match argv[2..] {
        [] => None,
        [count] => Some(int_in(count, -i64::MAX..=i64::MAX)?),
        _ => return Err(WireError::SYNTAX),
    };
    let set = cx.db.read::<Set>(argv[1])?;
    let Some(count) = count else {
        let member = set.and_then(|set| set.nth(pick::one(cx.env, set.len())));
        return Ok(Value::bulk_or_nil(member));
    };
    let Some(set) = set else { return Ok(Value::Array(Vec::new())) };
    if count >= 0 && count.unsigned_abs() >= set.len() as u64 {
        return Ok(Value::bulks(set));
    }
    let picks = if count < 0 {
        pick::repeated(cx.env, count.unsigned_abs(), set.len())?
    } else {
        pick::distinct(cx.env, count as usize, set.len())
    };
    let members = || picks.iter().filter_map(|pos| set.nth(*pos));
    if count < 0 {
        pick::fit(members().map(|member| member.len()))?;
    }
    Ok(Value::bulks(members()))
}

fn srem(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let removed = cx.db.update::<Set, _>(argv[1], |set, _| {
        let removed = argv[2..].iter().filter(|member| set.remove(member)).count();
        (removed, removed > 0)
    })?;
    Ok(removed.unwrap_or(0).into())
}

fn sscan(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let cursor = Page::cursor(argv[2])?;
    let Some(set) = cx.db.read::<Set>(argv[1])? else { return Page::reply(0, Vec::new()) };
    let page = Page::options(cursor, &argv[3..], false)?;
    let mut found = Vec::new();
    let next = set.scan(page.cursor, page.count, &mut |member| {
        if page.wants(member) {
            found.push(Value::bulk(member));
        }
    });
    Page::reply(next, found)
}

fn sunion(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(members(&union(&read_all(cx, &argv[1..])?, &cx.db.limits())))
}

fn sunionstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let result = union(&read_all(cx, &argv[2..])?, &cx.db.limits());
    Ok(store(cx, argv[1], result))
}

fn members(set: &Set) -> Value {
    Value::Set(set.iter().map(|member| Value::Bulk(member.into_bytes())).collect())
}

/// The sets under some keys; all are checked before any is used.
fn read_all<'c>(cx: &'c Cx<'_>, keys: &[&[u8]]) -> Result<Vec<Option<&'c Set>>, WireError> {
    keys.iter().map(|key| cx.db.read::<Set>(key)).collect()
}

/// Puts a result under a key, whatever was there; an empty one removes it. Answers its size.
fn store(cx: &mut Cx<'_>, key: &[u8], result: Set) -> Value {
    let len = result.len();
    if len == 0 {
        cx.db.delete(key);
    } else {
        cx.db.set(key, result.wrap(), Expire::Clear);
    }
    len.into()
}

/// Calls `found` with each member that all sets have, until it answers false.
fn intersect<'s>(sets: &[Option<&'s Set>], mut found: impl FnMut(Member<'s>) -> bool) {
    let Some(mut sets) = sets.iter().copied().collect::<Option<Vec<&Set>>>() else { return };
    sets.sort_by_key(|set| set.len());
    let Some((smallest, others)) = sets.split_first() else { return };
    for member in *smallest {
        if others.iter().all(|set| set.contains(&member)) && !found(member) {
            return;
        }
    }
}

fn union(sets: &[Option<&Set>], limits: &Limits) -> Set {
    let mut result = Set::default();
    for member in sets.iter().flatten().copied().flatten() {
        result.insert(&member, limits);
    }
    result
}

/// The members of the first set that no other has.
///
/// Two ways, chosen as Redis 7.0 does: the choice shows, because a result from which members were
/// taken away keeps the form that it had grown into.
fn difference(sets: &[Option<&Set>], limits: &Limits) -> Set {
    let mut result = Set::default();
    let Some((Some(first), others)) = sets.split_first() else { return result };
    let others: Vec<&Set> = others.iter().copied().flatten().collect();
    let by_lookup = first.len() * (others.len() + 1) / 2;
    let by_removal = first.len() + others.iter().map(|set| set.len()).sum::<usize>();
    if by_lookup <= by_removal {
        for member in *first {
            if !others.iter().any(|set| set.contains(&member)) {
                result.insert(&member, limits);
            }
        }
        return result;
    }
    for member in *first {
        result.insert(&member, limits);
    }
    for member in others.into_iter().flatten() {
        result.remove(&member);
        if result.is_empty() {
            break;
        }
    }
    result
}
