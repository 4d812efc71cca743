//! Elements read by range: of ranks, of scores or of members, from either end, or stored elsewhere.

use std::ops::Range;

use super::{
    ANSWERED, Arg, Cx, KeySpec, OVERWRITTEN, READ, Reply, Run, STORE, Spec, WITHSCORES, bounds,
    elements, int, is, row, store,
};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Zset;
use crate::types::zset::{LexBound, ScoreBound};

const KEY: &[KeySpec] = &[KeySpec::at(1, ANSWERED)];

const LIMIT: Arg = Arg::Opt(&[Arg::Tok("LIMIT"), Arg::Index, Arg::Count]);
const REV: Arg = Arg::Opt(&[Arg::Tok("REV")]);
const BY_RANK: Arg = Arg::Seq(&[Arg::Index, Arg::Index, REV]);
const BY_SCORE: Arg = Arg::Seq(&[Arg::Score, Arg::Score, Arg::Tok("BYSCORE"), REV, LIMIT]);
const BY_LEX: Arg = Arg::Seq(&[Arg::Lex, Arg::Lex, Arg::Tok("BYLEX"), REV, LIMIT]);

const COST: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M the \
    number of elements returned.";
const COST_WITH_LIMIT: &str = "O(log(N)+M) with N being the number of elements in the sorted set \
    and M the number of elements being returned. If M is constant (e.g. always asking for the \
    first 10 elements with LIMIT), you can consider it O(log(N)).";

/// `ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]`
pub const ZRANGE: Spec = row(
    "ZRANGE",
    Run::Data(zrange),
    READ,
    &[Arg::Key, Arg::One(&[BY_RANK, BY_SCORE, BY_LEX]), WITHSCORES],
    KEY,
)
.doc("sorted-set", "1.2.0", COST, "Return a range of members in a sorted set");

/// `ZRANGEBYLEX key min max [LIMIT offset count]`
pub const ZRANGEBYLEX: Spec =
    row("ZRANGEBYLEX", Run::Data(zrangebylex), READ, &[Arg::Key, Arg::Lex, Arg::Lex, LIMIT], KEY)
        .doc(
            "sorted-set",
            "2.8.9",
            COST_WITH_LIMIT,
            "Return a range of members in a sorted set, by lexicographical range",
        );

/// `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]`
pub const ZRANGEBYSCORE: Spec = row(
    "ZRANGEBYSCORE",
    Run::Data(zrangebyscore),
    READ,
    &[Arg::Key, Arg::Score, Arg::Score, WITHSCORES, LIMIT],
    KEY,
)
.doc("sorted-set", "1.0.5", COST_WITH_LIMIT, "Return a range of members in a sorted set, by score");

/// `ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]`
pub const ZRANGESTORE: Spec = row(
    "ZRANGESTORE",
    Run::Data(zrangestore),
    STORE,
    &[Arg::Key, Arg::Key, Arg::One(&[BY_RANK, BY_SCORE, BY_LEX])],
    &[KeySpec::at(1, OVERWRITTEN), KeySpec::at(2, ANSWERED)],
)
.doc(
    "sorted-set",
    "6.2.0",
    "O(log(N)+M) with N being the number of elements in the sorted set and M the number of \
     elements stored into the destination key.",
    "Store a range of members from sorted set into another key",
);

/// `ZREVRANGE key start stop [WITHSCORES]`
pub const ZREVRANGE: Spec = row(
    "ZREVRANGE",
    Run::Data(zrevrange),
    READ,
    &[Arg::Key, Arg::Index, Arg::Index, WITHSCORES],
    KEY,
)
.doc(
    "sorted-set",
    "1.2.0",
    COST,
    "Return a range of members in a sorted set, by index, with scores ordered from high to low",
);

/// `ZREVRANGEBYLEX key max min [LIMIT offset count]`
pub const ZREVRANGEBYLEX: Spec = row(
    "ZREVRANGEBYLEX",
    Run::Data(zrevrangebylex),
    READ,
    &[Arg::Key, Arg::Lex, Arg::Lex, LIMIT],
    KEY,
)
.doc(
    "sorted-set",
    "2.8.9",
    COST_WITH_LIMIT,
    "Return a range of members in a sorted set, by lexicographical range, ordered from higher to \
     lower strings.",
);

/// `ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]`
pub const ZREVRANGEBYSCORE: Spec = row(
    "ZREVRANGEBYSCORE",
    Run::Data(zrevrangebyscore),
    READ,
    &[Arg::Key, Arg::Score, Arg::Score, WITHSCORES, LIMIT],
    KEY,
)
.doc(
    "sorted-set",
    "2.2.0",
    COST_WITH_LIMIT,
    "Return a range of members in a sorted set, by score, with scores ordered from high to low",
);

fn zrange(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, None, None)
}

fn zrangebylex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, Some(By::Lex), Some(false))
}

fn zrangebyscore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, Some(By::Score), Some(false))
}

fn zrangestore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let query = Query::parse(&argv[2..], true, None, None)?;
    let limits = cx.db.limits();
    let Some(source) = cx.db.read::<Zset>(argv[2])? else {
        return Ok(store(cx, argv[1], Zset::new()));
    };
    let selected = source.iter_range(query.select(source));
    let result = if matches!(query.range, Wanted::Ranks(..))
        && selected.len() > limits.zset_listpack_entries
    {
        let selected: Vec<_> = selected.collect();
        Zset::from_sorted(&selected, &limits)
    } else {
        // As Redis, which does not know the size before: one after the other, in the order asked
        // for. What a packed set forgets about a negative zero stays forgotten.
        let mut result = Zset::new();
        let mut insert = |(member, score)| {
            result.insert(member, score, &limits);
        };
        if query.reverse {
            selected.rev().for_each(&mut insert);
        } else {
            selected.for_each(&mut insert);
        }
        result
    };
    Ok(store(cx, argv[1], result))
}

fn zrevrange(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, Some(By::Rank), Some(true))
}

fn zrevrangebylex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, Some(By::Lex), Some(true))
}

fn zrevrangebyscore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, Some(By::Score), Some(true))
}

fn answer(cx: &mut Cx<'_>, argv: &[&[u8]], by: Option<By>, reverse: Option<bool>) -> Reply {
    let query = Query::parse(&argv[1..], false, by, reverse)?;
    let Some(zset) = cx.db.read::<Zset>(argv[1])? else { return Ok(Value::Array(Vec::new())) };
    let selected = zset.iter_range(query.select(zset));
    Ok(if query.reverse {
        elements(cx, selected.rev(), query.with_scores)
    } else {
        elements(cx, selected, query.with_scores)
    })
}

/// The positions between two indexes that may count from the end, both inclusive, as far as they
/// exist.
pub(super) fn ranks(len: usize, start: i64, stop: i64) -> Range<usize> {
    let from_start = |index: i64| if index < 0 { index.saturating_add(len as i64) } else { index };
    let (start, stop) = (from_start(start).max(0), from_start(stop).min(len as i64 - 1));
    if start > stop { 0..0 } else { start as usize..stop as usize + 1 }
}

/// What the ends of a range are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Lex,
}

/// A range, its ends in ascending order.
enum Wanted<'a> {
    Ranks(i64, i64),
    Scores(ScoreBound, ScoreBound),
    Lex(LexBound<'a>, LexBound<'a>),
}

/// What a command of the ZRANGE family asks for.
struct Query<'a> {
    range: Wanted<'a>,
    reverse: bool,
    with_scores: bool,
    offset: i64,
    /// Negative: no limit.
    limit: i64,
}

impl<'a> Query<'a> {
    /// Reads key, ends and options. What the command's name does not settle, options may, once.
    fn parse(
        args: &[&'a [u8]],
        stores: bool,
        mut by: Option<By>,
        mut reverse: Option<bool>,
    ) -> Result<Self, WireError> {
        let [_, first, second, options @ ..] = args else { return Err(WireError::SYNTAX) };
        let (mut with_scores, mut offset, mut limit) = (false, 0, -1);
        let mut rest = options;
        while let [option, tail @ ..] = rest {
            rest = tail;
            if !stores && is(option, "WITHSCORES") {
                with_scores = true;
            } else if let [skip, most, tail @ ..] = tail
                && is(option, "LIMIT")
            {
                (offset, limit, rest) = (int(skip)?, int(most)?, tail);
            } else if reverse.is_none() && is(option, "REV") {
                reverse = Some(true);
            } else if by.is_none() && is(option, "BYLEX") {
                by = Some(By::Lex);
            } else if by.is_none() && is(option, "BYSCORE") {
                by = Some(By::Score);
            } else {
                return Err(WireError::SYNTAX);
            }
        }
        let (by, reverse) = (by.unwrap_or(By::Rank), reverse.unwrap_or(false));
        if limit != -1 && by == By::Rank {
            return Err(WireError::fixed(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or \
                 BYLEX",
            ));
        }
        if with_scores && by == By::Lex {
            return Err(WireError::fixed(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        let range = Wanted::parse(by, reverse, first, second)?;
        Ok(Self { range, reverse, with_scores, offset, limit })
    }

    /// The ranks of the elements asked for.
    fn select(&self, zset: &Zset) -> Range<usize> {
        let len = zset.len();
        let found = match self.range {
            Wanted::Ranks(start, stop) => {
                let range = ranks(len, start, stop);
                // Ranks count from the end that the reply starts from.
                return if self.reverse { len - range.end..len - range.start } else { range };
            }
            Wanted::Scores(min, max) => zset.score_range(min, max),
            Wanted::Lex(min, max) => zset.lex_range(min, max, self.reverse),
        };
        let Ok(skip) = usize::try_from(self.offset) else { return 0..0 };
        let skip = skip.min(found.len());
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX).min(found.len() - skip);
        if self.reverse {
            found.end - skip - most..found.end - skip
        } else {
            found.start + skip..found.start + skip + most
        }
    }
}

impl<'a> Wanted<'a> {
    fn parse(by: By, reverse: bool, first: &'a [u8], second: &'a [u8]) -> Result<Self, WireError> {
        let (min, max) = if reverse { (second, first) } else { (first, second) };
        Ok(match by {
            By::Rank => Self::Ranks(int(first)?, int(second)?),
            By::Score => {
                let (min, max) = bounds::scores(min, max)?;
                Self::Scores(min, max)
            }
            By::Lex => {
                let (min, max) = bounds::lex(min, max)?;
                Self::Lex(min, max)
            }
        })
    }
}
