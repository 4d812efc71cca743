//! The content of one key on both sides, in pieces of bounded size.

use crate::backend::{Backend, Cmd, cmd};
use crate::commands::set;
use crate::replay::report::{count, grouped, printable};
use crate::{Bytes, Result};

/// Elements compared in one round trip.
const PIECE: i64 = 1_000;

/// How much of an element is shown.
const SHOWN: usize = 60;

/// What differs between the contents of a key that is of type `kind` on both sides.
pub(super) async fn difference<M: Backend, R: Backend>(
    memory: &M,
    redis: &R,
    key: &[u8],
    kind: &str,
) -> Result<Option<String>> {
    match kind {
        "string" => strings(memory, redis, key).await,
        "list" => lists(memory, redis, key).await,
        "hash" => hashes(memory, redis, key).await,
        "set" => sets(memory, redis, key).await,
        "zset" => zsets(memory, redis, key).await,
        other => Ok(Some(format!("of type {other}, which cannot be compared"))),
    }
}

fn show(bytes: &Bytes) -> String {
    printable(bytes, SHOWN)
}

fn lengths(m: u64, r: u64) -> Option<String> {
    (m != r).then(|| format!("{} in memory, {} on Redis", count(m, "element"), grouped(r)))
}

async fn strings<M: Backend, R: Backend>(m: &M, r: &R, key: &[u8]) -> Result<Option<String>> {
    let here: Option<Bytes> = m.run(cmd::get(key)).await?;
    let there: Option<Bytes> = r.run(cmd::get(key)).await?;
    let show = |value: &Option<Bytes>| value.as_ref().map_or_else(|| "nothing".into(), show);
    Ok((here != there).then(|| format!("{} in memory, {} on Redis", show(&here), show(&there))))
}

async fn lists<M: Backend, R: Backend>(m: &M, r: &R, key: &[u8]) -> Result<Option<String>> {
    let mut at = 0;
    loop {
        let piece = || (cmd::llen(key), cmd::lrange::<Bytes>(key, at, at + PIECE - 1));
        let ((m_len, here), (r_len, there)) =
            (m.pipeline(piece()).await?, r.pipeline(piece()).await?);
        if let Some(i) = here.iter().zip(&there).position(|(a, b)| a != b) {
            let (a, b) = (show(&here[i]), show(&there[i]));
            return Ok(Some(format!("element {}: {a} in memory, {b} on Redis", at + i as i64)));
        }
        at += PIECE;
        if m_len != r_len || at >= m_len as i64 {
            return Ok(lengths(m_len, r_len));
        }
    }
}

async fn zsets<M: Backend, R: Backend>(m: &M, r: &R, key: &[u8]) -> Result<Option<String>> {
    let mut at = 0;
    loop {
        let piece = || (cmd::zcard(key), cmd::zrange_withscores::<Bytes>(key, at, at + PIECE - 1));
        let ((m_len, here), (r_len, there)) =
            (m.pipeline(piece()).await?, r.pipeline(piece()).await?);
        // By their bits: the two zeros and the text of a score must be equal too.
        let same =
            |(a, b): (&(Bytes, f64), &(Bytes, f64))| a.0 == b.0 && a.1.to_bits() == b.1.to_bits();
        if let Some(i) = here.iter().zip(&there).position(|pair| !same(pair)) {
            let show = |(member, score): &(Bytes, f64)| format!("{} {score:?}", show(member));
            let (a, b) = (show(&here[i]), show(&there[i]));
            return Ok(Some(format!("rank {}: {a} in memory, {b} on Redis", at + i as i64)));
        }
        at += PIECE;
        if m_len != r_len || at >= m_len as i64 {
            return Ok(lengths(m_len, r_len));
        }
    }
}

/// Equal when memory's fields are all on Redis with the same values, and there are as many.
async fn hashes<M: Backend, R: Backend>(m: &M, r: &R, key: &[u8]) -> Result<Option<String>> {
    let mut cursor = 0;
    loop {
        let page = (cmd::hlen(key), cmd::hscan::<Bytes>(key, cursor, PIECE as u64));
        let (m_len, (next, here)) = m.pipeline(page).await?;
        let fields = here.iter().map(|(field, _)| &**field);
        let ask = (!here.is_empty()).then(|| cmd::hmget::<Bytes>(key, fields));
        let (r_len, there) = r.pipeline((cmd::hlen(key), ask)).await?;
        for ((field, a), b) in here.iter().zip(there.unwrap_or_default()) {
            if b.as_ref() != Some(a) {
                let (field, a) = (show(field), show(a));
                let b = b.as_ref().map_or_else(|| "missing".into(), show);
                return Ok(Some(format!("field {field}: {a} in memory, {b} on Redis")));
            }
        }
        cursor = next;
        if m_len != r_len || cursor == 0 {
            return Ok(lengths(m_len, r_len));
        }
    }
}

/// Equal when memory's members are all on Redis, and there are as many.
async fn sets<M: Backend, R: Backend>(m: &M, r: &R, key: &[u8]) -> Result<Option<String>> {
    let mut cursor = 0;
    loop {
        let page = (cmd::scard(key), cmd::sscan::<Bytes>(key, cursor, PIECE as u64));
        let (m_len, (next, here)) = m.pipeline(page).await?;
        let ask = (!here.is_empty()).then(|| {
            Cmd::<Vec<bool>>::new(&set::SMISMEMBER).arg(key).args(here.iter().map(|b| &**b))
        });
        let (r_len, there) = r.pipeline((cmd::scard(key), ask)).await?;
        let missing = there.unwrap_or_default().iter().position(|held| !held);
        if let Some(member) = missing.and_then(|i| here.get(i)) {
            return Ok(Some(format!("member {} in memory, missing on Redis", show(member))));
        }
        cursor = next;
        if m_len != r_len || cursor == 0 {
            return Ok(lengths(m_len, r_len));
        }
    }
}
