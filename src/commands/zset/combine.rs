//! Unions, intersections and differences of sorted sets and sets.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use hashbrown::hash_table::{Entry, HashTable};
use smallvec::SmallVec;

use super::{
    ANSWERED, Arg, Cx, Flags, KeySpec, OVERWRITTEN, READ, Reply, Run, STORE, Spec, WITHSCORES,
    elements, int, is, row, store,
};
use crate::bytes::Bytes;
use crate::db::{Db, Object};
use crate::error::WireError;
use crate::types::number::parse_f64;
use crate::types::{Member, Set, Zset};

const READS: &[KeySpec] = &[KeySpec::counted(1, ANSWERED)];
const STORES: &[KeySpec] = &[KeySpec::at(1, OVERWRITTEN), KeySpec::counted(2, ANSWERED)];

const WEIGHTS: Arg = Arg::Opt(&[Arg::Tok("WEIGHTS"), Arg::Many(&[Arg::Float])]);
const AGGREGATE: Arg = Arg::Opt(&[
    Arg::Tok("AGGREGATE"),
    Arg::One(&[Arg::Tok("SUM"), Arg::Tok("MIN"), Arg::Tok("MAX")]),
]);

const DIFF_COST: &str = "O(L + (N-K)log(N)) worst case where L is the total number of elements in \
    all the sets, N is the size of the first set, and K is the size of the result set.";
const INTER_COST: &str = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted \
    set, K being the number of input sorted sets and M being the number of elements in the \
    resulting sorted set.";

/// A row of this file.
const fn combined(
    name: &'static str,
    run: Run,
    args: &'static [Arg],
    since: &'static str,
    complexity: &'static str,
    summary: &'static str,
) -> Spec {
    let stores = matches!(args[0], Arg::Key);
    let (flags, keys): (Flags, _) = if stores { (STORE, STORES) } else { (READ, READS) };
    row(name, run, flags, args, keys).doc("sorted-set", since, complexity, summary)
}

/// `ZDIFF numkeys key [key ...] [WITHSCORES]`
pub const ZDIFF: Spec = combined(
    "ZDIFF",
    Run::Data(zdiff),
    &[Arg::NumKeys, WITHSCORES],
    "6.2.0",
    DIFF_COST,
    "Subtract multiple sorted sets",
);

/// `ZDIFFSTORE destination numkeys key [key ...]`
pub const ZDIFFSTORE: Spec = combined(
    "ZDIFFSTORE",
    Run::Data(zdiffstore),
    &[Arg::Key, Arg::NumKeys],
    "6.2.0",
    DIFF_COST,
    "Subtract multiple sorted sets and store the resulting sorted set in a new key",
);

/// `ZINTER numkeys key [key ...] [WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]`
pub const ZINTER: Spec = combined(
    "ZINTER",
    Run::Data(zinter),
    &[Arg::NumKeys, WEIGHTS, AGGREGATE, WITHSCORES],
    "6.2.0",
    INTER_COST,
    "Intersect multiple sorted sets",
);

/// `ZINTERCARD numkeys key [key ...] [LIMIT limit]`
pub const ZINTERCARD: Spec = combined(
    "ZINTERCARD",
    Run::Data(zintercard),
    &[Arg::NumKeys, Arg::Opt(&[Arg::Tok("LIMIT"), Arg::Count])],
    "7.0.0",
    "O(N*K) worst case with N being the smallest input sorted set, K being the number of input \
     sorted sets.",
    "Intersect multiple sorted sets and return the cardinality of the result",
);

/// `ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX]`
pub const ZINTERSTORE: Spec = combined(
    "ZINTERSTORE",
    Run::Data(zinterstore),
    &[Arg::Key, Arg::NumKeys, WEIGHTS, AGGREGATE],
    "2.0.0",
    INTER_COST,
    "Intersect multiple sorted sets and store the resulting sorted set in a new key",
);

/// `ZUNION numkeys key [key ...] [WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]`
pub const ZUNION: Spec = combined(
    "ZUNION",
    Run::Data(zunion),
    &[Arg::NumKeys, WEIGHTS, AGGREGATE, WITHSCORES],
    "6.2.0",
    "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the \
     number of elements in the resulting sorted set.",
    "Add multiple sorted sets",
);

/// `ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX]`
pub const ZUNIONSTORE: Spec = combined(
    "ZUNIONSTORE",
    Run::Data(zunionstore),
    &[Arg::Key, Arg::NumKeys, WEIGHTS, AGGREGATE],
    "2.0.0",
    "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the \
     number of elements in the resulting sorted set.",
    "Add multiple sorted sets and store the resulting sorted set in a new key",
);

fn zdiff(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, &ZDIFF, diff)
}

fn zdiffstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    put(cx, argv, &ZDIFFSTORE, diff)
}

fn zinter(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, &ZINTER, inter)
}

fn zintercard(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let plan = Plan::parse(&cx.db, &argv[1..], &ZINTERCARD)?;
    let most = if plan.limit == 0 { usize::MAX } else { plan.limit };
    let Some((first, others)) = plan.by_size() else { return Ok(0_usize.into()) };
    let in_all = |(member, _): &(Member<'_>, f64)| {
        others.iter().all(|(source, _)| source.score(member).is_some())
    };
    Ok(first.0.iter().filter(in_all).take(most).count().into())
}

fn zinterstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    put(cx, argv, &ZINTERSTORE, inter)
}

fn zunion(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    answer(cx, argv, &ZUNION, union)
}

fn zunionstore(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    put(cx, argv, &ZUNIONSTORE, union)
}

/// The elements of a result, in no particular order.
type Elements<'a> = Vec<(Member<'a>, f64)>;

/// What combines sources into a result.
type Combine = for<'a> fn(&Plan<'a>) -> Elements<'a>;

fn answer(cx: &mut Cx<'_>, argv: &[&[u8]], spec: &Spec, combine: Combine) -> Reply {
    let plan = Plan::parse(&cx.db, &argv[1..], spec)?;
    let result = in_order(combine(&plan));
    let result = result.iter().map(|(member, score)| (&**member, *score));
    Ok(elements(cx, result, plan.with_scores))
}

fn put(cx: &mut Cx<'_>, argv: &[&[u8]], spec: &Spec, combine: Combine) -> Reply {
    let plan = Plan::parse(&cx.db, &argv[2..], spec)?;
    let result = Zset::from_sorted(&in_order(combine(&plan)), &cx.db.limits());
    drop(plan);
    Ok(store(cx, argv[1], result))
}

fn in_order(mut elements: Elements<'_>) -> Elements<'_> {
    elements.sort_unstable_by(|(m, s), (n, t)| {
        s.partial_cmp(t).unwrap_or(Ordering::Equal).then_with(|| m.cmp(n))
    });
    elements
}

fn diff<'a>(plan: &Plan<'a>) -> Elements<'a> {
    let Some(((first, _), others)) = plan.sources.split_first() else { return Vec::new() };
    // Redis's estimate: either look each element up in all others, or all others' in this one.
    let lookups = first.len() * plan.sources.len() / 2;
    let walk: usize = plan.sources.iter().map(|(source, _)| source.len()).sum();
    if lookups <= walk {
        let in_none = |(member, _): &(Member<'_>, f64)| {
            others.iter().all(|(source, _)| source.score(member).is_none())
        };
        return first.iter().filter(in_none).collect();
    }
    let mut gone = HashSet::<Bytes, FixedState>::default();
    for (member, _) in others.iter().flat_map(|(source, _)| source.iter()) {
        if first.score(&member).is_some() {
            gone.insert(member.into_bytes());
        }
    }
    first.iter().filter(|(member, _)| !gone.contains(&**member)).collect()
}

fn inter<'a>(plan: &Plan<'a>) -> Elements<'a> {
    let Some(((first, weight), others)) = plan.by_size() else { return Vec::new() };
    first
        .iter()
        .filter_map(|(member, score)| {
            let mut sum = number_or_zero(weight * score);
            for (source, weight) in &others {
                sum = plan.aggregate.add(sum, weight * source.score(&member)?);
            }
            Some((member, sum))
        })
        .collect()
}

fn union<'a>(plan: &Plan<'a>) -> Elements<'a> {
    let hasher = FixedState::default();
    let mut elements: Elements<'_> = Vec::new();
    let mut index = HashTable::<usize>::new();
    for (source, weight) in plan.sources_by_size() {
        for (member, score) in source.iter() {
            let score = number_or_zero(weight * score);
            let hash = hasher.hash_one(&*member);
            let is_it = |&i: &usize| *elements[i].0 == *member;
            match index.entry(hash, is_it, |&i| hasher.hash_one(&*elements[i].0)) {
                Entry::Occupied(entry) => {
                    let so_far = &mut elements[*entry.get()].1;
                    *so_far = plan.aggregate.add(*so_far, score);
                }
                Entry::Vacant(entry) => {
                    entry.insert(elements.len());
                    elements.push((member, score));
                }
            }
        }
    }
    elements
}

/// A set or sorted set to combine; the members of a set have the score 1.
#[derive(Clone, Copy)]
enum Source<'a> {
    Missing,
    Zset(&'a Zset),
    Set(&'a Set),
}

impl<'a> Source<'a> {
    fn of(object: Option<&'a Object>) -> Result<Self, WireError> {
        match object {
            None => Ok(Self::Missing),
            Some(Object::Zset(zset)) => Ok(Self::Zset(zset)),
            Some(Object::Set(set)) => Ok(Self::Set(set)),
            Some(_) => Err(WireError::WRONGTYPE),
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Missing => 0,
            Self::Zset(zset) => zset.len(),
            Self::Set(set) => set.len(),
        }
    }

    fn score(self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Missing => None,
            Self::Zset(zset) => zset.score(member),
            Self::Set(set) => set.contains(member).then_some(1.0),
        }
    }

    fn iter(self) -> impl Iterator<Item = (Member<'a>, f64)> {
        let (zset, set) = match self {
            Self::Missing => (None, None),
            Self::Zset(zset) => (Some(zset), None),
            Self::Set(set) => (None, Some(set)),
        };
        let scored = zset.into_iter().flat_map(Zset::iter);
        let plain = set.into_iter().flat_map(Set::iter);
        scored.map(|(m, s)| (Member::Slice(m), s)).chain(plain.map(|m| (m, 1.0)))
    }
}

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    /// Adds a score to those before it. Infinities that cancel out count as 0.
    fn add(self, so_far: f64, score: f64) -> f64 {
        match self {
            Self::Sum => number_or_zero(so_far + score),
            Self::Min if score < so_far => score,
            Self::Max if score > so_far => score,
            Self::Min | Self::Max => so_far,
        }
    }
}

fn number_or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// Sources with their weights.
type Weighted<'a> = SmallVec<[(Source<'a>, f64); 4]>;

/// What is to be combined, and how.
struct Plan<'a> {
    sources: Weighted<'a>,
    aggregate: Aggregate,
    with_scores: bool,
    /// ZINTERCARD counts no further; 0: no limit.
    limit: usize,
}

impl<'a> Plan<'a> {
    /// Reads all from the number of keys on. As in Redis the sources are looked up before the
    /// options are looked at.
    fn parse(db: &'a Db<'_>, args: &[&[u8]], spec: &Spec) -> Result<Self, WireError> {
        let [number, rest @ ..] = args else { return Err(WireError::SYNTAX) };
        let number = int(number)?;
        if number < 1 {
            let name = spec.lower_name();
            let text = format!("ERR at least 1 input key is needed for '{name}' command");
            return Err(WireError::new(text));
        }
        let Some((keys, options)) = rest.split_at_checked(number as usize) else {
            return Err(WireError::SYNTAX);
        };
        let mut sources = SmallVec::new();
        for key in keys {
            sources.push((Source::of(db.get(key))?, 1.0));
        }
        let mut plan = Self { sources, aggregate: Aggregate::Sum, with_scores: false, limit: 0 };
        plan.options(options, spec)?;
        Ok(plan)
    }

    /// Reads the options that the command's grammar has.
    fn options(&mut self, mut options: &[&[u8]], spec: &Spec) -> Result<(), WireError> {
        let takes = |option: &[u8], word: &str| {
            let named = |arg: &Arg| matches!(arg, Arg::Opt([Arg::Tok(w), ..]) if *w == word);
            is(option, word) && spec.args.iter().any(named)
        };
        while let [option, rest @ ..] = options {
            options = rest;
            if takes(option, "WEIGHTS") && rest.len() >= self.sources.len() {
                for ((_, weight), text) in self.sources.iter_mut().zip(rest) {
                    const ERROR: WireError = WireError::fixed("ERR weight value is not a float");
                    *weight = parse_f64(text).ok_or(ERROR)?;
                }
                options = &rest[self.sources.len()..];
            } else if takes(option, "AGGREGATE")
                && let [how, rest @ ..] = rest
            {
                self.aggregate = match () {
                    () if is(how, "SUM") => Aggregate::Sum,
                    () if is(how, "MIN") => Aggregate::Min,
                    () if is(how, "MAX") => Aggregate::Max,
                    () => return Err(WireError::SYNTAX),
                };
                options = rest;
            } else if takes(option, "WITHSCORES") {
                self.with_scores = true;
            } else if takes(option, "LIMIT")
                && let [limit, rest @ ..] = rest
            {
                const ERROR: WireError = WireError::fixed("ERR LIMIT can't be negative");
                let limit = int(limit).ok().and_then(|n| usize::try_from(n).ok());
                (self.limit, options) = (limit.ok_or(ERROR)?, rest);
            } else {
                return Err(WireError::SYNTAX);
            }
        }
        Ok(())
    }

    /// The sources, the smallest first. The order shows: sums of floats depend on it, and of equal
    /// sizes the one named first comes first.
    fn sources_by_size(&self) -> Weighted<'a> {
        let mut sources = self.sources.clone();
        sources.sort_by_key(|(source, _)| source.len());
        sources
    }

    /// The smallest source and the others, unless that is empty.
    fn by_size(&self) -> Option<((Source<'a>, f64), Weighted<'a>)> {
        let mut sources = self.sources_by_size();
        (sources.first()?.0.len() > 0).then(|| (sources.remove(0), sources))
    }
}
