//! Sorted sets.

use super::{Arg, Cmd};
use crate::backend::Score;
use crate::commands::zset;

/// An end of a range of scores.
#[derive(Clone, Debug)]
pub enum Edge {
    /// Below every score.
    Least,
    /// This score and beyond.
    At(Score),
    /// Beyond this score, itself excluded.
    Past(Score),
    /// Above every score.
    Greatest,
}

impl From<Edge> for Arg<'_> {
    fn from(edge: Edge) -> Self {
        match edge {
            Edge::Least => "-inf".into(),
            Edge::At(score) => score.into(),
            Edge::Past(score) => {
                let mut text = b"(".to_vec();
                text.extend_from_slice(&Self::from(score));
                text.into()
            }
            Edge::Greatest => "+inf".into(),
        }
    }
}

/// `ZADD key score member`: whether the member is new.
pub fn zadd<'a>(
    key: &'a [u8],
    score: impl Into<Score>,
    member: impl Into<Arg<'a>>,
) -> Cmd<'a, bool> {
    Cmd::three(&zset::ZADD, key.into(), score.into().into(), member.into())
}

/// `ZADD key score member …`: how many are new.
/// None at all is refused by the server.
pub fn zadd_all<'a, S: Into<Score>>(
    key: &'a [u8],
    members: impl IntoIterator<Item = (S, &'a [u8])>,
) -> Cmd<'a, u64> {
    let pairs = members.into_iter().map(|(score, member)| (score.into(), member));
    Cmd::new(&zset::ZADD).arg(key).pairs(pairs)
}

/// `ZADD key XX score member`: gives a new score to a member that is there.
pub fn zadd_existing<'a>(
    key: &'a [u8],
    score: impl Into<Score>,
    member: impl Into<Arg<'a>>,
) -> Cmd<'a, ()> {
    Cmd::new(&zset::ZADD).arg(key).arg("XX").arg(score.into()).arg(member)
}

/// `ZADD key LT score member`: adds the member, or lowers its score to this.
pub fn zadd_least<'a>(
    key: &'a [u8],
    score: impl Into<Score>,
    member: impl Into<Arg<'a>>,
) -> Cmd<'a, ()> {
    Cmd::new(&zset::ZADD).arg(key).arg("LT").arg(score.into()).arg(member)
}

/// `ZADD key GT score member`: adds the member, or raises its score to this.
pub fn zadd_greatest<'a>(
    key: &'a [u8],
    score: impl Into<Score>,
    member: impl Into<Arg<'a>>,
) -> Cmd<'a, ()> {
    Cmd::new(&zset::ZADD).arg(key).arg("GT").arg(score.into()).arg(member)
}

/// `ZREM key member …`: how many were there.
/// None at all is refused by the server.
pub fn zrem<'a, M: Into<Arg<'a>>>(
    key: &'a [u8],
    members: impl IntoIterator<Item = M>,
) -> Cmd<'a, u64> {
    Cmd::new(&zset::ZREM).arg(key).args(members)
}

/// `ZINCRBY key by member`: the new score.
pub fn zincrby<'a>(key: &'a [u8], by: impl Into<Score>, member: &'a [u8]) -> Cmd<'a, f64> {
    Cmd::three(&zset::ZINCRBY, key.into(), by.into().into(), member.into())
}

/// `ZCARD key`.
pub fn zcard(key: &[u8]) -> Cmd<'_, u64> {
    Cmd::new(&zset::ZCARD).arg(key)
}

/// `ZCOUNT key from to`: how many have a score in the range.
pub fn zcount(key: &[u8], from: Edge, to: Edge) -> Cmd<'_, u64> {
    Cmd::new(&zset::ZCOUNT).arg(key).arg(from).arg(to)
}

/// `ZSCORE key member`: the score, if it is a member.
pub fn zscore<'a>(key: &'a [u8], member: &'a [u8]) -> Cmd<'a, Option<f64>> {
    Cmd::new(&zset::ZSCORE).arg(key).arg(member)
}

/// `ZMSCORE key member …`: the scores, in order.
/// None at all is refused by the server.
pub fn zmscore<'a, M: Into<Arg<'a>>>(
    key: &'a [u8],
    members: impl IntoIterator<Item = M>,
) -> Cmd<'a, Vec<Option<f64>>> {
    Cmd::new(&zset::ZMSCORE).arg(key).args(members)
}

/// `ZRANK key member`: how many come before it, if it is a member.
pub fn zrank<'a>(key: &'a [u8], member: &'a [u8]) -> Cmd<'a, Option<u64>> {
    Cmd::new(&zset::ZRANK).arg(key).arg(member)
}

/// `ZRANGE key first last`: by rank, both inclusive, negative from the end.
pub fn zrange<T>(key: &[u8], first: i64, last: i64) -> Cmd<'_, Vec<T>> {
    Cmd::new(&zset::ZRANGE).arg(key).arg(first).arg(last)
}

/// `ZRANGE key first last WITHSCORES`.
pub fn zrange_withscores<T>(key: &[u8], first: i64, last: i64) -> Cmd<'_, Vec<(T, f64)>> {
    zrange::<T>(key, first, last).arg("WITHSCORES").reply_as()
}

/// `ZRANGE key first last REV`: by rank from the greatest score.
pub fn zrange_rev<T>(key: &[u8], first: i64, last: i64) -> Cmd<'_, Vec<T>> {
    zrange::<T>(key, first, last).arg("REV")
}

/// `ZRANGE key first last REV WITHSCORES`.
pub fn zrange_rev_withscores<T>(key: &[u8], first: i64, last: i64) -> Cmd<'_, Vec<(T, f64)>> {
    zrange_rev::<T>(key, first, last).arg("WITHSCORES").reply_as()
}

/// `ZRANGE key from to BYSCORE LIMIT 0 most WITHSCORES`.
pub fn zrange_byscore<T>(key: &[u8], from: Edge, to: Edge, most: i64) -> Cmd<'_, Vec<(T, f64)>> {
    let range = Cmd::new(&zset::ZRANGE).arg(key).arg(from).arg(to).arg("BYSCORE");
    range.arg("LIMIT").arg(0).arg(most).arg("WITHSCORES")
}

/// `ZRANGE key from to BYLEX LIMIT 0 most`: members of equal score by their bytes. An end is `-`,
/// `+`, or a member after `[` (inclusive) or `(` (exclusive).
pub fn zrange_bylex<'a, T>(
    key: &'a [u8],
    from: impl Into<Arg<'a>>,
    to: impl Into<Arg<'a>>,
    most: i64,
) -> Cmd<'a, Vec<T>> {
    let range = Cmd::new(&zset::ZRANGE).arg(key).arg(from).arg(to).arg("BYLEX");
    range.arg("LIMIT").arg(0).arg(most)
}

/// `ZREMRANGEBYRANK key first last`: how many were removed.
pub fn zremrangebyrank(key: &[u8], first: i64, last: i64) -> Cmd<'_, u64> {
    Cmd::three(&zset::ZREMRANGEBYRANK, key.into(), first.into(), last.into())
}

/// `ZREMRANGEBYSCORE key from to`: how many were removed.
pub fn zremrangebyscore(key: &[u8], from: Edge, to: Edge) -> Cmd<'_, u64> {
    Cmd::new(&zset::ZREMRANGEBYSCORE).arg(key).arg(from).arg(to)
}

/// `ZPOPMIN key count`: the members of the least scores, removed.
pub fn zpopmin<T>(key: &[u8], count: u64) -> Cmd<'_, Vec<(T, f64)>> {
    Cmd::new(&zset::ZPOPMIN).arg(key).arg(count)
}

/// `ZINTERSTORE into 1 from WEIGHTS weight`: the set with every score multiplied; its size.
pub fn zscale<'a>(into: &'a [u8], from: &'a [u8], weight: f64) -> Cmd<'a, u64> {
    Cmd::new(&zset::ZINTERSTORE).arg(into).arg(1).arg(from).arg("WEIGHTS").arg(weight)
}

/// `ZSCAN key cursor COUNT count`: the next cursor, 0 at the end, and a page of the set.
pub fn zscan<T>(key: &[u8], cursor: u64, count: u64) -> Cmd<'_, (u64, Vec<(T, f64)>)> {
    Cmd::new(&zset::ZSCAN).arg(key).arg(cursor).arg("COUNT").arg(count)
}
