//! Are two stores equal? Every key's type and content, side by side.
//!
//! Both sides are walked with SCAN, a page at a time, and large collections in pieces, so the
//! comparison takes bounded memory. It is meant for stores that nobody writes to meanwhile.
//!
//! Keys with a time to live are apart: on the engine they end in the trace's time, on a real
//! server by the server's own clock, so either side may hold some that the other has not, and
//! none of it is a difference. After a replay these are cached pages, and the orders of a sale.

mod content;

use std::fmt;

use serde_json::{Value, json};

use super::report::{count, grouped, printable};
use crate::backend::{Backend, cmd};
use crate::{Bytes, Result};

/// How many differences are kept to be shown.
pub const DIFFERENCES_KEPT: usize = 20;

/// Keys looked at in one round trip.
const PAGE: u64 = 500;

/// The outcome of a comparison of the engine with a real Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Keys without a time to live that at least one side holds.
    pub keys: u64,
    /// How many of them differ.
    pub differences: u64,
    /// The first [`DIFFERENCES_KEPT`] differences.
    pub first: Vec<Difference>,
    /// Keys with a time to live.
    pub timed: Timed,
}

/// Keys with a time to live; see the module's documentation for why they are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// Held by both sides with equal content.
    pub equal: u64,
    /// Held by both sides with different content or type, or timed on one side only.
    pub different: u64,
    /// Held by the engine only.
    pub memory_only: u64,
    /// Held by Redis only.
    pub redis_only: u64,
}

/// A key that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: Bytes,
    /// What differs, in words.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.key, 80), self.what)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = count(self.keys, "key");
        match self.differences {
            0 => writeln!(f, "no difference in {keys}")?,
            1 => writeln!(f, "1 of {keys} differs")?,
            n => writeln!(f, "{} of {keys} differ", grouped(n))?,
        }
        for difference in &self.first {
            writeln!(f, "  {difference}")?;
        }
        let shown = self.first.len() as u64;
        if self.differences > shown {
            writeln!(f, "  and {} more", grouped(self.differences - shown))?;
        }
        self.timed.fmt(f)
    }
}

impl fmt::Display for Timed {
    /// A sentence for each kind that there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WHY: &str = "TTL runs by the server's clock, not the trace's";
        let only = |n: u64, side: &str| {
            let (are, their) = if n == 1 { ("is", "its") } else { ("are", "their") };
            format!("{} {are} left {side} only: {their}", count(n, "timed key"))
        };
        if self.redis_only > 0 {
            writeln!(f, "{} {WHY}", only(self.redis_only, "on Redis"))?;
        }
        if self.memory_only > 0 {
            writeln!(f, "{} {WHY} on Redis", only(self.memory_only, "in memory"))?;
        }
        if self.equal + self.different > 0 {
            let (keys, n) = (count(self.equal + self.different, "timed key"), self.different);
            writeln!(f, "{keys} on both sides, {} different", grouped(n))?;
        }
        Ok(())
    }
}

impl Comparison {
    /// The comparison as one JSON object.
    pub fn to_json(&self) -> Value {
        let difference =
            |d: &Difference| json!({ "key": printable(&d.key, usize::MAX), "what": d.what });
        json!({
            "keys": self.keys,
            "differences": self.differences,
            "first_differences": self.first.iter().map(difference).collect::<Vec<_>>(),
            "with_ttl": {
                "equal": self.timed.equal,
                "different": self.timed.different,
                "memory_only": self.timed.memory_only,
                "redis_only": self.timed.redis_only,
            },
        })
    }

    fn note(&mut self, key: &Bytes, what: String) {
        self.differences += 1;
        if self.first.len() < DIFFERENCES_KEPT {
            self.first.push(Difference { key: key.clone(), what });
        }
    }
}

/// A key as one side sees it.
struct Seen {
    kind: String,
    timed: bool,
}

impl Seen {
    fn exists(&self) -> bool {
        self.kind != "none"
    }
}

/// Compares everything that both sides hold in their databases.
pub async fn compare<M: Backend, R: Backend>(memory: &M, redis: &R) -> Result<Comparison> {
    let mut found = Comparison::default();
    let mut cursor = 0;
    loop {
        let (next, keys) = memory.run(cmd::scan(cursor, PAGE)).await?;
        let (here, there) = (look(memory, &keys).await?, look(redis, &keys).await?);
        for (key, (m, r)) in keys.iter().zip(here.iter().zip(&there)) {
            one_key(memory, redis, key, m, r, &mut found).await?;
        }
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    loop {
        let (next, keys) = redis.run(cmd::scan(cursor, PAGE)).await?;
        let (here, there) = (look(memory, &keys).await?, look(redis, &keys).await?);
        for (key, (m, r)) in keys.iter().zip(here.iter().zip(&there)) {
            match (m.exists(), r.exists(), r.timed) {
                (false, true, true) => found.timed.redis_only += 1,
                (false, true, false) => {
                    found.keys += 1;
                    found.note(key, format!("{} on Redis, missing in memory", r.kind));
                }
                _ => {}
            }
        }
        cursor = next;
        if cursor == 0 {
            return Ok(found);
        }
    }
}

async fn look<B: Backend>(backend: &B, keys: &[Bytes]) -> Result<Vec<Seen>> {
    let ask: Vec<_> = keys.iter().map(|key| (cmd::type_of(key), cmd::pttl(key))).collect();
    let seen = backend.pipeline(ask).await?;
    Ok(seen.into_iter().map(|(kind, pttl)| Seen { kind, timed: pttl >= 0 }).collect())
}

/// Compares a key that memory's SCAN returned.
async fn one_key<M: Backend, R: Backend>(
    memory: &M,
    redis: &R,
    key: &Bytes,
    m: &Seen,
    r: &Seen,
    found: &mut Comparison,
) -> Result<()> {
    if !m.exists() {
        // Its time has come since.
        return Ok(());
    }
    let what = if !r.exists() {
        Some(format!("{} in memory, missing on Redis", m.kind))
    } else if m.kind != r.kind {
        Some(format!("{} in memory, {} on Redis", m.kind, r.kind))
    } else {
        content::difference(memory, redis, key, &m.kind).await?
    };
    if m.timed || r.timed {
        match what {
            None if m.timed == r.timed => found.timed.equal += 1,
            Some(_) if !r.exists() => found.timed.memory_only += 1,
            _ => found.timed.different += 1,
        }
        return Ok(());
    }
    found.keys += 1;
    if let Some(what) = what {
        found.note(key, what);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
