//! Sorted sets: written, read by member, read by range, popped from and combined. Waiting for an
//! element to pop is in `blocking`.

mod bounds;
mod combine;
mod pop;
mod range;
mod read;
mod write;

pub use self::combine::{ZDIFF, ZDIFFSTORE, ZINTER, ZINTERCARD, ZINTERSTORE, ZUNION, ZUNIONSTORE};
pub(super) use self::pop::{Multi, pop_with_key};
pub use self::pop::{ZMPOP, ZPOPMAX, ZPOPMIN};
pub use self::range::{
    ZRANGE, ZRANGEBYLEX, ZRANGEBYSCORE, ZRANGESTORE, ZREVRANGE, ZREVRANGEBYLEX, ZREVRANGEBYSCORE,
};
pub use self::read::{
    ZCARD, ZCOUNT, ZLEXCOUNT, ZMSCORE, ZRANDMEMBER, ZRANK, ZREVRANK, ZSCAN, ZSCORE,
};
pub use self::write::{ZADD, ZINCRBY, ZREM, ZREMRANGEBYLEX, ZREMRANGEBYRANK, ZREMRANGEBYSCORE};

use super::args::{Page, int, int_in, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec, pick};
use crate::db::{Expire, Kind};
use crate::resp::Value;
use crate::types::Zset;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &ZADD,
    &ZCARD,
    &ZCOUNT,
    &ZDIFF,
    &ZDIFFSTORE,
    &ZINCRBY,
    &ZINTER,
    &ZINTERCARD,
    &ZINTERSTORE,
    &ZLEXCOUNT,
    &ZMPOP,
    &ZMSCORE,
    &ZPOPMAX,
    &ZPOPMIN,
    &ZRANDMEMBER,
    &ZRANGE,
    &ZRANGEBYLEX,
    &ZRANGEBYSCORE,
    &ZRANGESTORE,
    &ZRANK,
    &ZREM,
    &ZREMRANGEBYLEX,
    &ZREMRANGEBYRANK,
    &ZREMRANGEBYSCORE,
    &ZREVRANGE,
    &ZREVRANGEBYLEX,
    &ZREVRANGEBYSCORE,
    &ZREVRANK,
    &ZSCAN,
    &ZSCORE,
    &ZUNION,
    &ZUNIONSTORE,
];

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);

const ANSWERED: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const OVERWRITTEN: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);
const POPPED: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);

const WITHSCORES: Arg = Arg::Opt(&[Arg::Tok("WITHSCORES")]);

/// A row of this family.
const fn row(
    name: &'static str,
    run: Run,
    flags: Flags,
    args: &'static [Arg],
    keys: &'static [KeySpec],
) -> Spec {
    Spec::new(name, run, flags, args).keys(keys).acl(Acl::SORTEDSET)
}

/// An array of members or, with scores, what [`pairs`] makes.
fn elements<'a>(
    cx: &Cx<'_>,
    elements: impl ExactSizeIterator<Item = (&'a [u8], f64)>,
    with_scores: bool,
) -> Value {
    if with_scores {
        pairs(cx.is_resp3(), elements.map(|(member, score)| (Value::bulk(member), score)))
    } else {
        Value::Array(elements.map(|(member, _)| Value::bulk(member)).collect())
    }
}

/// An array of members and scores, in pairs of their own when `nested`.
fn pairs(nested: bool, elements: impl ExactSizeIterator<Item = (Value, f64)>) -> Value {
    let pair = |(member, score)| [member, Value::Double(score)];
    if nested {
        return Value::Array(elements.map(|e| Value::Array(pair(e).into())).collect());
    }
    let mut flat = Vec::with_capacity(2 * elements.len());
    flat.extend(elements.flat_map(pair));
    Value::Array(flat)
}

/// Puts a result under a key in place of what is there, or removes that when the result is empty.
/// Answers the result's size.
fn store(cx: &mut Cx<'_>, key: &[u8], result: Zset) -> Value {
    let len = result.len();
    if len == 0 {
        cx.db.delete(key);
    } else {
        cx.db.set(key, result.wrap(), Expire::Clear);
    }
    len.into()
}
