//! The commands that wait: they pop from the first of their keys that holds something, or wait
//! until one does.
//!
//! Who waits is served as in Redis 7.0: after the command, transaction or script that makes a key
//! hold something, and before anybody else's; keys in the order in which they came into being, the
//! clients of a key in the order in which they began to wait. What a client pushes as it is served
//! (`BLMOVE`) makes its key ready behind those that are ready already. A key that holds another
//! type in the end leaves its clients waiting. Inside a transaction or a script the commands do not
//! wait.
//!
//! Not here: who waits and in which order (`db`), and how a session waits (the engine).

use super::list::{self, end};
use super::{Acl, Arg, Cx, Flags, Handler, KeyFlags, KeySpec, Reply, Run, Spec, zset};
use crate::bytes::Bytes;
use crate::db::{Awaited, Waiter, Want};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::{End, List, LongDouble, Zset};

/// The rows of this family.
pub const ROWS: &[&Spec] =
    &[&BLMOVE, &BLMPOP, &BLPOP, &BRPOP, &BRPOPLPUSH, &BZMPOP, &BZPOPMAX, &BZPOPMIN];

const POPPED: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);
/// All words but the first and the last.
const BETWEEN: &[KeySpec] = &[KeySpec::range(1, -2, 1, POPPED)];
const COUNTED: &[KeySpec] = &[KeySpec::counted(2, POPPED)];
const MOVED: &[KeySpec] =
    &[KeySpec::at(1, POPPED), KeySpec::at(2, KeyFlags::RW.or(KeyFlags::INSERT))];

const WAITS: Flags = Flags::WRITE.or(Flags::BLOCKING);
const WAITS_ALONE: Flags = WAITS.or(Flags::NOSCRIPT);

const EITHER_END: Arg = Arg::One(&[Arg::Tok("LEFT"), Arg::Tok("RIGHT")]);
const MOST: Arg = Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]);
const KEYS: &[Arg] = &[Arg::Many(&[Arg::Key]), Arg::Timeout];

const fn row(name: &'static str, handler: Handler, flags: Flags, args: &'static [Arg]) -> Spec {
    Spec::new(name, Run::Data(handler), flags, args)
}

/// `BLMOVE source destination LEFT | RIGHT LEFT | RIGHT timeout`
pub const BLMOVE: Spec = row(
    "BLMOVE",
    blmove,
    WAITS_ALONE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Key, EITHER_END, EITHER_END, Arg::Timeout],
)
.keys(MOVED)
.acl(Acl::LIST)
.doc(
    "list",
    "6.2.0",
    "O(1)",
    "Pop an element from a list, push it to another list and return it; or block until one is \
     available",
);

/// `BLMPOP timeout numkeys key [key ...] LEFT | RIGHT [COUNT count]`
pub const BLMPOP: Spec =
    row("BLMPOP", blmpop, WAITS, &[Arg::Timeout, Arg::NumKeys, EITHER_END, MOST])
        .keys(COUNTED)
        .acl(Acl::LIST)
        .doc(
            "list",
            "7.0.0",
            "O(N+M) where N is the number of provided keys and M is the number of elements \
             returned.",
            "Pop elements from a list, or block until one is available",
        );

/// `BLPOP key [key ...] timeout`
pub const BLPOP: Spec = row("BLPOP", blpop, WAITS_ALONE, KEYS).keys(BETWEEN).acl(Acl::LIST).doc(
    "list",
    "2.0.0",
    "O(N) where N is the number of provided keys.",
    "Remove and get the first element in a list, or block until one is available",
);

/// `BRPOP key [key ...] timeout`
pub const BRPOP: Spec = row("BRPOP", brpop, WAITS_ALONE, KEYS).keys(BETWEEN).acl(Acl::LIST).doc(
    "list",
    "2.0.0",
    "O(N) where N is the number of provided keys.",
    "Remove and get the last element in a list, or block until one is available",
);

/// `BRPOPLPUSH source destination timeout`
pub const BRPOPLPUSH: Spec = row(
    "BRPOPLPUSH",
    brpoplpush,
    WAITS_ALONE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Key, Arg::Timeout],
)
.keys(MOVED)
.acl(Acl::LIST)
.doc(
    "list",
    "2.2.0",
    "O(1)",
    "Pop an element from a list, push it to another list and return it; or block until one is \
     available",
);

/// `BZMPOP timeout numkeys key [key ...] MIN | MAX [COUNT count]`
pub const BZMPOP: Spec = row(
    "BZMPOP",
    bzmpop,
    WAITS,
    &[Arg::Timeout, Arg::NumKeys, Arg::One(&[Arg::Tok("MIN"), Arg::Tok("MAX")]), MOST],
)
.keys(COUNTED)
.acl(Acl::SORTEDSET)
.doc(
    "sorted-set",
    "7.0.0",
    "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in \
     the sorted set, and M being the number of elements popped.",
    "Remove and return members with scores in a sorted set or block until one is available",
);

/// `BZPOPMAX key [key ...] timeout`
pub const BZPOPMAX: Spec = row("BZPOPMAX", bzpopmax, WAITS_ALONE.or(Flags::FAST), KEYS)
    .keys(BETWEEN)
    .acl(Acl::SORTEDSET)
    .doc(
        "sorted-set",
        "5.0.0",
        "O(log(N)) with N being the number of elements in the sorted set.",
        "Remove and return the member with the highest score from one or more sorted sets, or \
         block until one is available",
    );

/// `BZPOPMIN key [key ...] timeout`
pub const BZPOPMIN: Spec = row("BZPOPMIN", bzpopmin, WAITS_ALONE.or(Flags::FAST), KEYS)
    .keys(BETWEEN)
    .acl(Acl::SORTEDSET)
    .doc(
        "sorted-set",
        "5.0.0",
        "O(log(N)) with N being the number of elements in the sorted set.",
        "Remove and return the member with the lowest score from one or more sorted sets, or \
         block until one is available",
    );

fn blmove(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (from, to) = (end(argv[3])?, end(argv[4])?);
    transfer(cx, argv, from, to)
}

fn blmpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let list::Multi { keys, end, count } = list::Multi::parse(&argv[2..])?;
    let deadline_ms = deadline_ms(cx, argv[1])?;
    pop_or_wait(cx, keys, Want::Elements(end, count), deadline_ms)
}

fn blpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, Want::Element(End::First))
}

fn brpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, Want::Element(End::Last))
}

fn brpoplpush(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    transfer(cx, argv, End::Last, End::First)
}

fn bzmpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let zset::Multi { keys, end, count } = zset::Multi::parse(&argv[2..])?;
    let deadline_ms = deadline_ms(cx, argv[1])?;
    pop_or_wait(cx, keys, Want::Members(end, count), deadline_ms)
}

fn bzpopmax(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, Want::Member(End::Last))
}

fn bzpopmin(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop(cx, argv, Want::Member(End::First))
}

/// Keys and, last, the timeout.
fn pop(cx: &mut Cx<'_>, argv: &[&[u8]], want: Want) -> Reply {
    let [_, keys @ .., timeout] = argv else { return Err(WireError::SYNTAX) };
    let deadline_ms = deadline_ms(cx, timeout)?;
    pop_or_wait(cx, keys, want, deadline_ms)
}

/// Source, destination and, last, the timeout.
fn transfer(cx: &mut Cx<'_>, argv: &[&[u8]], from: End, to: End) -> Reply {
    let [_, source, target, .., timeout] = argv else { return Err(WireError::SYNTAX) };
    let deadline_ms = deadline_ms(cx, timeout)?;
    let want = Want::Move { from, target: Bytes::copy_from(target), to };
    pop_or_wait(cx, &[source], want, deadline_ms)
}

fn pop_or_wait(cx: &mut Cx<'_>, keys: &[&[u8]], want: Want, deadline_ms: Option<i64>) -> Reply {
    for key in keys {
        if let Some(reply) = take(cx, key, &want)? {
            return Ok(reply);
        }
    }
    let otherwise = if let Want::Move { .. } = want { Value::Nil } else { Value::NilArray };
    cx.wait_for(keys, want, deadline_ms, otherwise)
}

/// When a timeout is over: the last millisecond that is waited. `None`: never.
fn deadline_ms(cx: &Cx<'_>, timeout: &[u8]) -> Result<Option<i64>, WireError> {
    const NO_FLOAT: WireError = WireError::fixed("ERR timeout is not a float or out of range");
    let seconds = LongDouble::parse(timeout).ok_or(NO_FLOAT)?;
    match seconds.thousandfold_ceiling() {
        ..0 => Err(WireError::fixed("ERR timeout is negative")),
        0 => Ok(None),
        ms => Ok(Some(cx.now_ms().saturating_add(ms))),
    }
}

/// Takes from a key what is wanted, and answers it as the command does. `None`: no such key.
fn take(cx: &mut Cx<'_>, key: &[u8], want: &Want) -> Result<Option<Value>, WireError> {
    match want {
        Want::Element(end) => {
            let element = list::pop_one(cx, key, *end)?;
            Ok(element.map(|element| Value::Array(vec![Value::bulk(key), Value::Bulk(element)])))
        }
        Want::Elements(end, count) => list::pop_with_key(cx, key, *end, *count),
        Want::Move { from, target, to } => {
            if cx.db.read::<List>(key)?.is_none() {
                return Ok(None);
            }
            list::transfer(cx, key, target, *from, *to).map(Some)
        }
        Want::Member(end) => zset::pop_with_key(cx, key, *end, 1, false),
        Want::Members(end, count) => zset::pop_with_key(cx, key, *end, *count, true),
    }
}

/// Serves those who wait for what has become ready.
pub(super) fn serve(cx: &mut Cx<'_>) {
    let selected = cx.db.index();
    while let Some((db, key)) = cx.db.next_ready() {
        cx.db.select(db);
        let mut last = None;
        while let Some(awaited) = cx.db.peek(&key).and_then(Awaited::of) {
            let Some(waiter) = cx.db.claim(&key, awaited, last.as_deref()) else { break };
            let reply = take(cx, &key, waiter.want());
            cx.db.serve(&waiter, reply.map_or_else(Value::Error, |r| r.unwrap_or(Value::Nil)));
            last = Some(waiter);
        }
    }
    cx.db.select(selected);
}

/// Puts back where it came from what a waiter was given that never read its reply, so that nothing
/// is lost with it. What it has moved to another list stays there, and so does what the key was
/// given meanwhile: a value of another type, or a score of the same member.
pub(crate) fn give_back(cx: &mut Cx<'_>, waiter: &Waiter, reply: Value) {
    let Value::Array(items) = reply else { return };
    let [Value::Bulk(key), popped @ ..] = items.as_slice() else { return };
    cx.db.select(waiter.db());
    // Where the key holds another type by now, whoever put that there has overwritten the rest.
    let _ = match (waiter.want(), popped) {
        (Want::Element(end), elements) => give_back_elements(cx, key, *end, elements),
        (Want::Elements(end, _), [Value::Array(elements)]) => {
            give_back_elements(cx, key, *end, elements)
        }
        (Want::Member(_), [member, score]) => give_back_members(cx, key, [(member, score)]),
        (Want::Members(..), [Value::Array(pairs)]) => {
            let pairs = pairs.iter().filter_map(|pair| match pair {
                Value::Array(pair) => pair.split_first().zip(pair.get(1)),
                _ => None,
            });
            give_back_members(cx, key, pairs.map(|((member, _), score)| (member, score)))
        }
        _ => Ok(()),
    };
}

fn give_back_elements(
    cx: &mut Cx<'_>,
    key: &[u8],
    end: End,
    elements: &[Value],
) -> Result<(), WireError> {
    cx.db.upsert::<List, _>(key, |list, _| {
        for element in elements.iter().rev() {
            if let Value::Bulk(element) = element {
                list::put(list, end, element);
            }
        }
        ((), true)
    })
}

fn give_back_members<'v>(
    cx: &mut Cx<'_>,
    key: &[u8],
    members: impl IntoIterator<Item = (&'v Value, &'v Value)>,
) -> Result<(), WireError> {
    cx.db.upsert::<Zset, _>(key, |zset, limits| {
        for pair in members {
            if let (Value::Bulk(member), Value::Double(score)) = pair
                && zset.score(member).is_none()
            {
                zset.insert(member, *score, limits);
            }
        }
        ((), true)
    })
}
