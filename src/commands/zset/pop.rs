//! Elements taken from either end.

use super::{Arg, Cx, Flags, KeySpec, POPPED, Reply, Run, Spec, int, is, pairs, row};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::Value;
use crate::types::{End, Zset};

const KEY: &[KeySpec] = &[KeySpec::at(1, POPPED)];

const COST: &str = "O(log(N)*M) with N being the number of elements in the sorted set, and M being \
    the number of elements popped.";

/// `ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]`
pub const ZMPOP: Spec = row(
    "ZMPOP",
    Run::Data(zmpop),
    Flags::WRITE,
    &[
        Arg::NumKeys,
        Arg::One(&[Arg::Tok("MIN"), Arg::Tok("MAX")]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
    ],
    &[KeySpec::counted(1, POPPED)],
)
.doc(
    "sorted-set",
    "7.0.0",
    "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in \
     the sorted set, and M being the number of elements popped.",
    "Remove and return members with scores in a sorted set",
);

/// `ZPOPMAX key [count]`
pub const ZPOPMAX: Spec = row(
    "ZPOPMAX",
    Run::Data(zpopmax),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Opt(&[Arg::Count])],
    KEY,
)
.doc(
    "sorted-set",
    "5.0.0",
    COST,
    "Remove and return members with the highest scores in a sorted set",
);

/// `ZPOPMIN key [count]`
pub const ZPOPMIN: Spec = row(
    "ZPOPMIN",
    Run::Data(zpopmin),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Opt(&[Arg::Count])],
    KEY,
)
.doc(
    "sorted-set",
    "5.0.0",
    COST,
    "Remove and return members with the lowest scores in a sorted set",
);

fn zmpop(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let request = Multi::parse(&argv[1..])?;
    for key in request.keys {
        if let Some(popped) = pop_with_key(cx, key, request.end, request.count, true)? {
            return Ok(popped);
        }
    }
    Ok(Value::NilArray)
}

fn zpopmax(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop_one_key(cx, argv, End::Last)
}

fn zpopmin(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    pop_one_key(cx, argv, End::First)
}

fn pop_one_key(cx: &mut Cx<'_>, argv: &[&[u8]], end: End) -> Reply {
    let count = match argv {
        [_, _] => None,
        [_, _, count] => {
            const NEGATIVE: &str = "ERR value is out of range, must be positive";
            let count = int(count).ok().and_then(|n| usize::try_from(n).ok());
            Some(count.ok_or(WireError::fixed(NEGATIVE))?)
        }
        _ => return Err(WireError::SYNTAX),
    };
    let popped = cx.db.update(argv[1], |zset: &mut Zset, _| {
        let popped = pop(zset, end, count.unwrap_or(1));
        let changed = !popped.is_empty();
        (popped, changed)
    })?;
    let popped = popped.unwrap_or_default().into_iter();
    let nested = cx.is_resp3() && count.is_some();
    Ok(pairs(nested, popped.map(|(member, score)| (Value::Bulk(member), score))))
}

/// What ZMPOP asks for.
pub(in crate::commands) struct Multi<'a> {
    pub(in crate::commands) keys: &'a [&'a [u8]],
    pub(in crate::commands) end: End,
    pub(in crate::commands) count: usize,
}

impl<'a> Multi<'a> {
    /// Reads all from the number of keys on.
    pub(in crate::commands) fn parse(args: &'a [&'a [u8]]) -> Result<Self, WireError> {
        let positive = |arg: Option<&&[u8]>, error: &'static str| {
            let n = arg.and_then(|arg| int(arg).ok()).filter(|n| *n > 0);
            n.map(|n| n as usize).ok_or(WireError::fixed(error))
        };
        let keys = positive(args.first(), "ERR numkeys should be greater than 0")?;
        let (keys, rest) =
            args.get(1..).and_then(|args| args.split_at_checked(keys)).ok_or(WireError::SYNTAX)?;
        let (end, options) = match rest {
            [end, options @ ..] if is(end, "MIN") => (End::First, options),
            [end, options @ ..] if is(end, "MAX") => (End::Last, options),
            _ => return Err(WireError::SYNTAX),
        };
        let count = match options {
            [] => 1,
            [option, _, ..] if is(option, "COUNT") => {
                let count = positive(options.get(1), "ERR count should be greater than 0")?;
                if options.len() > 2 {
                    return Err(WireError::SYNTAX);
                }
                count
            }
            _ => return Err(WireError::SYNTAX),
        };
        Ok(Self { keys, end, count })
    }
}

/// Pops up to `count` elements and answers them with their key, in pairs of their own when
/// `nested`; `None` when there is no such key.
pub(in crate::commands) fn pop_with_key(
    cx: &mut Cx<'_>,
    key: &[u8],
    end: End,
    count: usize,
    nested: bool,
) -> Result<Option<Value>, WireError> {
    let popped = cx.db.update(key, |zset: &mut Zset, _| (pop(zset, end, count), true))?;
    let Some(popped) = popped else { return Ok(None) };
    let mut reply = vec![Value::bulk(key)];
    match pairs(nested, popped.into_iter().map(|(m, score)| (Value::Bulk(m), score))) {
        Value::Array(flat) if !nested => reply.extend(flat),
        popped => reply.push(popped),
    }
    Ok(Some(Value::Array(reply)))
}

/// Takes up to `count` elements off one end, the outermost first. O(log n + count).
fn pop(zset: &mut Zset, end: End, count: usize) -> Vec<(Bytes, f64)> {
    let len = zset.len();
    let count = count.min(len);
    if count == 1 {
        let popped = if end == End::First { zset.pop_first() } else { zset.pop_last() };
        return popped.into_iter().collect();
    }
    let range = if end == End::First { 0..count } else { len - count..len };
    let owned = |(member, score): (&[u8], f64)| (Bytes::copy_from(member), score);
    let mut popped: Vec<_> = zset.iter_range(range.clone()).map(owned).collect();
    if end == End::Last {
        popped.reverse();
    }
    zset.remove_range(range);
    popped
}
