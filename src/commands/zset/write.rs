//! Elements added, rescored and removed.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, STORE, Spec, bounds, int, is, row};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_f64;
use crate::types::{Limits, Zset};

const REMOVED: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::DELETE))];

const RANGE_COST: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M \
    the number of elements removed by the operation.";

/// `ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]`
pub const ZADD: Spec = row(
    "ZADD",
    Run::Data(zadd),
    STORE.or(Flags::FAST),
    &[
        Arg::Key,
        Arg::Opt(&[Arg::One(&[Arg::Tok("NX"), Arg::Tok("XX")])]),
        Arg::Opt(&[Arg::One(&[Arg::Tok("GT"), Arg::Tok("LT")])]),
        Arg::Opt(&[Arg::Tok("CH")]),
        Arg::Opt(&[Arg::Tok("INCR")]),
        Arg::Many(&[Arg::Float, Arg::Member]),
    ],
    &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
)
.doc(
    "sorted-set",
    "1.2.0",
    "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
    "Add one or more members to a sorted set, or update its score if it already exists",
);

/// `ZINCRBY key increment member`
pub const ZINCRBY: Spec = row(
    "ZINCRBY",
    Run::Data(zincrby),
    STORE.or(Flags::FAST),
    &[Arg::Key, Arg::Float, Arg::Member],
    &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
)
.doc(
    "sorted-set",
    "1.2.0",
    "O(log(N)) where N is the number of elements in the sorted set.",
    "Increment the score of a member in a sorted set",
);

/// `ZREM key member [member ...]`
pub const ZREM: Spec = row(
    "ZREM",
    Run::Data(zrem),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Many(&[Arg::Member])],
    REMOVED,
)
.doc(
    "sorted-set",
    "1.2.0",
    "O(M*log(N)) with N being the number of elements in the sorted set and M the number of \
     elements to be removed.",
    "Remove one or more members from a sorted set",
);

/// `ZREMRANGEBYLEX key min max`
pub const ZREMRANGEBYLEX: Spec = row(
    "ZREMRANGEBYLEX",
    Run::Data(zremrangebylex),
    Flags::WRITE,
    &[Arg::Key, Arg::Lex, Arg::Lex],
    REMOVED,
)
.doc(
    "sorted-set",
    "2.8.9",
    RANGE_COST,
    "Remove all members in a sorted set between the given lexicographical range",
);

/// `ZREMRANGEBYRANK key start stop`
pub const ZREMRANGEBYRANK: Spec = row(
    "ZREMRANGEBYRANK",
    Run::Data(zremrangebyrank),
    Flags::WRITE,
    &[Arg::Key, Arg::Index, Arg::Index],
    REMOVED,
)
.doc(
    "sorted-set",
    "2.0.0",
    RANGE_COST,
    "Remove all members in a sorted set within the given indexes",
);

/// `ZREMRANGEBYSCORE key min max`
pub const ZREMRANGEBYSCORE: Spec = row(
    "ZREMRANGEBYSCORE",
    Run::Data(zremrangebyscore),
    Flags::WRITE,
    &[Arg::Key, Arg::Score, Arg::Score],
    REMOVED,
)
.doc(
    "sorted-set",
    "1.2.0",
    RANGE_COST,
    "Remove all members in a sorted set within the given scores",
);

fn zadd(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    add(cx, argv, Options::default())
}

fn zincrby(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    add(cx, argv, Options { incr: true, ..Options::default() })
}

fn zrem(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let removed = cx.db.update(argv[1], |zset: &mut Zset, _| {
        let removed = argv[2..].iter().filter(|member| zset.remove(member).is_some()).count();
        (removed, removed > 0)
    })?;
    Ok(removed.unwrap_or(0).into())
}

fn zremrangebylex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (min, max) = bounds::lex(argv[2], argv[3])?;
    remove(cx, argv[1], |zset| zset.lex_range(min, max, false))
}

fn zremrangebyrank(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (start, stop) = (int(argv[2])?, int(argv[3])?);
    remove(cx, argv[1], |zset| super::range::ranks(zset.len(), start, stop))
}

fn zremrangebyscore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (min, max) = bounds::scores(argv[2], argv[3])?;
    remove(cx, argv[1], |zset| zset.score_range(min, max))
}

/// Removes the elements that `select` chooses, and answers how many.
fn remove(cx: &mut Cx<'_>, key: &[u8], select: impl FnOnce(&Zset) -> Range<usize>) -> Reply {
    let removed = cx.db.update(key, |zset: &mut Zset, _| {
        let range = select(zset);
        let removed = zset.remove_range(range);
        (removed, removed > 0)
    })?;
    Ok(removed.unwrap_or(0).into())
}

/// The options of ZADD. Those of ZINCRBY, too: it reads the same, though no line of its length
/// with an option in it is right.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option that may be given")]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    ch: bool,
    incr: bool,
}

impl Options {
    /// Takes the options off the front of `args`.
    fn take(&mut self, args: &mut &[&[u8]]) {
        while let [option, rest @ ..] = *args {
            let flag = match option.first() {
                Some(b'n' | b'N') if is(option, "NX") => &mut self.nx,
                Some(b'x' | b'X') if is(option, "XX") => &mut self.xx,
                Some(b'g' | b'G') if is(option, "GT") => &mut self.gt,
                Some(b'l' | b'L') if is(option, "LT") => &mut self.lt,
                Some(b'c' | b'C') if is(option, "CH") => &mut self.ch,
                Some(b'i' | b'I') if is(option, "INCR") => &mut self.incr,
                _ => return,
            };
            *flag = true;
            *args = rest;
        }
    }

    fn check(self, pairs: &[&[u8]]) -> Result<(), WireError> {
        if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
            return Err(WireError::SYNTAX);
        }
        let error = if self.nx && self.xx {
            "ERR XX and NX options at the same time are not compatible"
        } else if self.nx && (self.gt || self.lt) || self.gt && self.lt {
            "ERR GT, LT, and/or NX options at the same time are not compatible"
        } else if self.incr && pairs.len() > 2 {
            "ERR INCR option supports a single increment-element pair"
        } else {
            return Ok(());
        };
        Err(WireError::fixed(error))
    }
}

/// What became of the elements given to ZADD.
#[derive(Default)]
struct Tally {
    added: usize,
    updated: usize,
    /// The score of the last element, unless an option left it alone.
    score: Option<f64>,
    /// An increment gave no number.
    is_nan: bool,
}

impl Tally {
    fn add(&mut self, zset: &mut Zset, member: &[u8], score: f64, by: Options, limits: &Limits) {
        zset.insert_with(member, limits, |old| {
            self.score = self.decide(old, score, by);
            self.score
        });
    }

    fn decide(&mut self, old: Option<f64>, score: f64, by: Options) -> Option<f64> {
        let Some(old) = old else {
            self.added += usize::from(!by.xx);
            return (!by.xx).then_some(score);
        };
        let new = if by.incr { old + score } else { score };
        self.is_nan = new.is_nan() && !by.nx;
        if by.nx || self.is_nan || by.gt && new <= old || by.lt && new >= old {
            return None;
        }
        self.updated += usize::from(new != old);
        Some(new)
    }

    fn changed(&self) -> usize {
        self.added + self.updated
    }
}

fn add(cx: &mut Cx<'_>, argv: &[&[u8]], mut options: Options) -> Reply {
    let mut pairs = &argv[2..];
    options.take(&mut pairs);
    options.check(pairs)?;
    let mut scores = SmallVec::<[f64; 8]>::new();
    for pair in pairs.chunks_exact(2) {
        scores.push(parse_f64(pair[0]).ok_or(WireError::NOT_FLOAT)?);
    }
    let change = |zset: &mut Zset, limits: &Limits| {
        let mut tally = Tally::default();
        for (pair, &score) in pairs.chunks_exact(2).zip(&scores) {
            tally.add(zset, pair[1], score, options, limits);
        }
        let changed = tally.changed() > 0;
        (tally, changed)
    };
    let tally = if options.xx {
        cx.db.update(argv[1], change)?.unwrap_or_default()
    } else {
        cx.db.upsert(argv[1], change)?
    };
    if tally.is_nan {
        return Err(WireError::fixed("ERR resulting score is not a number (NaN)"));
    }
    Ok(if options.incr {
        tally.score.map_or(Value::Nil, Value::Double)
    } else {
        (if options.ch { tally.changed() } else { tally.added }).into()
    })
}
