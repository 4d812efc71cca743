//! Elements counted, looked up by member, picked at random and scanned.

use super::{
    ANSWERED, Arg, Cx, FAST_READ, KeyFlags, KeySpec, Page, READ, Reply, Run, Spec, bounds, int_in,
    is, pick, row,
};
use crate::error::WireError;
use crate::resp::Value;
use crate::resp::double::format_f64;
use crate::types::Zset;

const KEY: &[KeySpec] = &[KeySpec::at(1, ANSWERED)];

/// `ZCARD key`
pub const ZCARD: Spec =
    row("ZCARD", Run::Data(zcard), FAST_READ, &[Arg::Key], &[KeySpec::at(1, KeyFlags::RO)]).doc(
        "sorted-set",
        "1.2.0",
        "O(1)",
        "Get the number of members in a sorted set",
    );

/// `ZCOUNT key min max`
pub const ZCOUNT: Spec =
    row("ZCOUNT", Run::Data(zcount), FAST_READ, &[Arg::Key, Arg::Score, Arg::Score], KEY).doc(
        "sorted-set",
        "2.0.0",
        "O(log(N)) with N being the number of elements in the sorted set.",
        "Count the members in a sorted set with scores within the given values",
    );

/// `ZLEXCOUNT key min max`
pub const ZLEXCOUNT: Spec =
    row("ZLEXCOUNT", Run::Data(zlexcount), FAST_READ, &[Arg::Key, Arg::Lex, Arg::Lex], KEY).doc(
        "sorted-set",
        "2.8.9",
        "O(log(N)) with N being the number of elements in the sorted set.",
        "Count the number of members in a sorted set between a given lexicographical range",
    );

/// `ZMSCORE key member [member ...]`
pub const ZMSCORE: Spec =
    row("ZMSCORE", Run::Data(zmscore), FAST_READ, &[Arg::Key, Arg::Many(&[Arg::Member])], KEY).doc(
        "sorted-set",
        "6.2.0",
        "O(N) where N is the number of members being requested.",
        "Get the score associated with the given members in a sorted set",
    );

/// `ZRANDMEMBER key [count [WITHSCORES]]`
pub const ZRANDMEMBER: Spec = row(
    "ZRANDMEMBER",
    Run::Data(zrandmember),
    READ,
    &[Arg::Key, Arg::Opt(&[Arg::Count, super::WITHSCORES])],
    KEY,
)
.tips(&["nondeterministic_output"])
.doc(
    "sorted-set",
    "6.2.0",
    "O(N) where N is the number of elements returned",
    "Get one or multiple random elements from a sorted set",
);

/// `ZRANK key member`
pub const ZRANK: Spec = row("ZRANK", Run::Data(zrank), FAST_READ, &[Arg::Key, Arg::Member], KEY)
    .doc("sorted-set", "2.0.0", "O(log(N))", "Determine the index of a member in a sorted set");

/// `ZREVRANK key member`
pub const ZREVRANK: Spec =
    row("ZREVRANK", Run::Data(zrevrank), FAST_READ, &[Arg::Key, Arg::Member], KEY).doc(
        "sorted-set",
        "2.0.0",
        "O(log(N))",
        "Determine the index of a member in a sorted set, with scores ordered from high to low",
    );

/// `ZSCAN key cursor [MATCH pattern] [COUNT count]`
pub const ZSCAN: Spec = row(
    "ZSCAN",
    Run::Data(zscan),
    READ,
    &[
        Arg::Key,
        Arg::Cursor,
        Arg::Opt(&[Arg::Tok("MATCH"), Arg::Pattern]),
        Arg::Opt(&[Arg::Tok("COUNT"), Arg::Count]),
    ],
    KEY,
)
.tips(&["nondeterministic_output"])
.doc(
    "sorted-set",
    "2.8.0",
    "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
     cursor to return back to 0. N is the number of elements inside the collection..",
    "Incrementally iterate sorted sets elements and associated scores",
);

/// `ZSCORE key member`
pub const ZSCORE: Spec = row("ZSCORE", Run::Data(zscore), FAST_READ, &[Arg::Key, Arg::Member], KEY)
    .doc(
        "sorted-set",
        "1.2.0",
        "O(1)",
        "Get the score associated with the given member in a sorted set",
    );

fn zcard(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Zset>(argv[1])?.map_or(0, Zset::len).into())
}

fn zcount(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (min, max) = bounds::scores(argv[2], argv[3])?;
    let zset = cx.db.read::<Zset>(argv[1])?;
    Ok(zset.map_or(0, |zset| zset.score_range(min, max).len()).into())
}

fn zlexcount(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (min, max) = bounds::lex(argv[2], argv[3])?;
    let zset = cx.db.read::<Zset>(argv[1])?;
    Ok(zset.map_or(0, |zset| zset.lex_range(min, max, false).len()).into())
}

fn zmscore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let zset = cx.db.read::<Zset>(argv[1])?;
    let score = |member: &&[u8]| zset?.score(member);
    let reply = |member| score(member).map_or(Value::Nil, Value::Double);
    Ok(Value::Array(argv[2..].iter().map(reply).collect()))
}

fn zrandmember(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let [_, key, options @ ..] = argv else { return Err(WireError::SYNTAX) };
    let Some((count, options)) = options.split_first() else {
        let zset = cx.db.read::<Zset>(key)?;
        let picked = zset.and_then(|zset| zset.nth(pick::one(cx.env, zset.len())));
        return Ok(Value::bulk_or_nil(picked.map(|(member, _)| member)));
    };
    let count = int_in(count, -i64::MAX..=i64::MAX)?;
    let with_scores = match options {
        [] => false,
        [option] if is(option, "WITHSCORES") => true,
        _ => return Err(WireError::SYNTAX),
    };
    if with_scores && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(WireError::OUT_OF_RANGE);
    }
    let Some(zset) = cx.db.read::<Zset>(key)? else { return Ok(Value::Array(Vec::new())) };
    let len = zset.len();
    if count >= len as i64 {
        // Redis walks the set backwards to return all of it.
        return Ok(super::elements(cx, zset.iter().rev(), with_scores));
    }
    let ranks = if count < 0 {
        pick::repeated(cx.env, count.unsigned_abs(), len)?
    } else {
        pick::distinct(cx.env, count as usize, len)
    };
    let picked: Vec<_> = ranks.into_iter().filter_map(|rank| zset.nth(rank)).collect();
    if count < 0 {
        pick::fit(picked.iter().map(|(member, _)| member.len()))?;
    }
    Ok(super::elements(cx, picked.into_iter(), with_scores))
}

fn zrank(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let zset = cx.db.read::<Zset>(argv[1])?;
    Ok(zset.and_then(|zset| zset.rank(argv[2])).map_or(Value::Nil, Value::from))
}

fn zrevrank(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let zset = cx.db.read::<Zset>(argv[1])?;
    let rank = zset.and_then(|zset| Some(zset.len() - 1 - zset.rank(argv[2])?));
    Ok(rank.map_or(Value::Nil, Value::from))
}

fn zscan(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let cursor = Page::cursor(argv[2])?;
    let Some(zset) = cx.db.read::<Zset>(argv[1])? else { return Page::reply(0, Vec::new()) };
    let page = Page::options(cursor, &argv[3..], false)?;
    let mut found = Vec::new();
    let next = zset.scan(page.cursor, page.count, &mut |member, score| {
        if page.wants(member) {
            found.extend([Value::bulk(member), scanned_score(zset, score)]);
        }
    });
    Page::reply(next, found)
}

fn zscore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let zset = cx.db.read::<Zset>(argv[1])?;
    Ok(zset.and_then(|zset| zset.score(argv[2])).map_or(Value::Nil, Value::Double))
}

/// A score as ZSCAN spells it: a string also in RESP3, and a whole number with all its digits in a
/// listpack, which keeps it as an integer.
fn scanned_score(zset: &Zset, score: f64) -> Value {
    const MOST: f64 = (i64::MAX / 2) as f64;
    let whole = zset.is_packed() && score.abs() <= MOST && score.fract() == 0.0;
    Value::bulk(if whole { (score as i64).to_string() } else { format_f64(score) })
}
