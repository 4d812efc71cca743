//! `stockroom replay`: real traffic through the shop, on the engine, on a real Redis, or on both.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::progress::Bar;
use super::{Failure, runtime};
use crate::backend::{Backend, Cmd, Memory, Redis, RedisConfig};
use crate::commands::server;
use crate::replay::compare::{Comparison, compare};
use crate::replay::report::Report;
use crate::replay::trace::Trace;
use crate::replay::{ItemFrom, Options, replay};
use crate::shop::DEFAULT_LIMIT;
use crate::{Env, Timestamp};

/// How many expired keys the engine removes before it looks at its clock again.
const EXPIRE_AT_ONCE: usize = 1_000;

/// Replay real traffic through the shop and report what it did
///
/// A FILE is an events CSV (timestamp,visitorid,event,itemid,transactionid; milliseconds; view,
/// addtocart and transaction) or an access log in Apache's or nginx's combined format, plain or
/// gzip; - is standard input. Time is the trace's time: sessions, caches, counters and the shop's
/// daemons all follow it.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// The traces, replayed in this order
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the shop runs: memory, or a Redis as `redis://HOST:PORT/DB` or `unix:///PATH?db=N`
    #[arg(long, value_name = "BACKEND", default_value = "memory", conflicts_with = "compare")]
    backend: String,
    /// Run on the engine and on this Redis, and compare everything that both hold afterwards;
    /// exit with 1 when something differs
    #[arg(long, value_name = "URL")]
    compare: Option<String>,
    /// Empty the Redis database first
    #[arg(long)]
    flush: bool,
    /// Leave out the session cleaner, the popularity rescale and the counter cleaner
    #[arg(long)]
    no_maintenance: bool,
    /// How many sessions the session cleaner leaves
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    sessions_limit: u64,
    /// The namespace of all keys
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Which part of an access log's URL names the item: path, query (its parameter item) or
    /// query:NAME
    #[arg(long, value_name = "PART", default_value_t)]
    item_from: ItemFrom,
    /// Stop at the first malformed line
    #[arg(long)]
    strict: bool,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    // One thread: each event waits for its replies, and so needs no second one.
    let runtime = runtime(tokio::runtime::Builder::new_current_thread())?;
    match &args.compare {
        Some(url) => runtime.block_on(both(args, url)),
        None => runtime.block_on(one(args)),
    }
}

async fn one(args: &Args) -> Result<ExitCode, Failure> {
    let report = match args.backend.as_str() {
        "memory" if args.flush => return Err(Failure::new("--flush needs a Redis to empty")),
        "memory" => on_memory(args).await?.0,
        other if !other.contains("://") => {
            let expected = "memory, redis://HOST:PORT/DB or unix:///PATH";
            return Err(Failure::new(format!("invalid --backend {other}: expected {expected}")));
        }
        url => {
            let (redis, env) = connect(url).await?;
            if args.flush {
                empty(&redis).await?;
            }
            on_redis(args, url, &redis, &env).await?
        }
    };
    let mut out = io::stdout().lock();
    if args.json {
        print(&mut out, &report.to_json())?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn both(args: &Args, url: &str) -> Result<ExitCode, Failure> {
    if args.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Failure::new(
            "--compare reads its files twice, so standard input cannot be one",
        ));
    }
    let (redis, env) = connect(url).await?;
    let keys = redis.run(Cmd::<u64>::new(&server::DBSIZE)).await.map_err(Failure::new)?;
    match keys {
        0 => {}
        _ if args.flush => empty(&redis).await?,
        n => {
            let shown = without_password(url);
            return Err(Failure::new(format!(
                "{shown} is not empty ({n} keys): --flush empties it"
            )));
        }
    }
    let (here, memory) = on_memory(args).await?;
    let there = on_redis(args, url, &redis, &env).await?;
    let comparison = compare(&memory, &redis).await.map_err(Failure::new)?;
    let ratio = there.elapsed.as_secs_f64() / here.elapsed.as_secs_f64().max(1e-9);
    let mut out = io::stdout().lock();
    if args.json {
        print(&mut out, &both_as_json(&here, &there, &comparison, ratio))?;
    } else {
        write!(out, "{here}\n{there}\n{comparison}")?;
        writeln!(out, "in memory {ratio:.1} times as fast")?;
    }
    Ok(ExitCode::from(u8::from(comparison.differences > 0)))
}

fn both_as_json(here: &Report, there: &Report, comparison: &Comparison, ratio: f64) -> Value {
    json!({
        "memory": here.to_json(),
        "redis": there.to_json(),
        "comparison": comparison.to_json(),
        "speed_ratio": ratio,
    })
}

fn print(out: &mut impl Write, json: &Value) -> io::Result<()> {
    writeln!(out, "{json:#}")
}

async fn on_memory(args: &Args) -> Result<(Report, Memory), Failure> {
    let env = Env::manual(Timestamp::EPOCH, 0);
    let memory = Memory::with_env(env.clone());
    let engine = memory.engine();
    let expire = || while engine.expire(EXPIRE_AT_ONCE) == EXPIRE_AT_ONCE {};
    let mut report = on(args, "memory", &memory, &env, expire).await?;
    report.backend.push_str("memory");
    Ok((report, memory))
}

async fn on_redis(args: &Args, url: &str, redis: &Redis, env: &Env) -> Result<Report, Failure> {
    let shown = without_password(url);
    let mut report = on(args, &shown, redis, env, || {}).await?;
    report.backend = shown;
    Ok(report)
}

async fn on<B: Backend>(
    args: &Args,
    name: &str,
    backend: &B,
    env: &Env,
    now_and_then: impl FnMut(),
) -> Result<Report, Failure> {
    let trace = Trace::open(&args.files).map_err(Failure::new)?.strict(args.strict);
    let options = Options {
        sessions_limit: args.sessions_limit,
        namespace: args.namespace.clone(),
        item_from: args.item_from.clone(),
        maintenance: !args.no_maintenance,
    };
    let bar = Bar::start(name, &args.files, trace.progress());
    let report = replay(backend, env, trace, &options, now_and_then).await;
    bar.end();
    report.map_err(Failure::new)
}

async fn connect(url: &str) -> Result<(Redis, Env), Failure> {
    let env = Env::manual(Timestamp::EPOCH, 0);
    let config = RedisConfig { env: env.clone(), ..RedisConfig::default() };
    let redis = Redis::lazy(url, config).map_err(Failure::new)?;
    let shown = without_password(url);
    let reached = redis.run(Cmd::<u64>::new(&server::DBSIZE)).await;
    reached.map_err(|e| Failure::new(format!("cannot use {shown}: {e}")))?;
    Ok((redis, env))
}

async fn empty(redis: &Redis) -> Result<(), Failure> {
    redis.run(Cmd::<()>::new(&server::FLUSHDB)).await.map_err(Failure::new)
}

/// A URL without user and password.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("redis://h:1/0", "redis://h:1/0"),
            ("redis://user:p@ss@h:1/0", "redis://h:1/0"),
            ("redis://:secret@h", "redis://h"),
            ("unix:///run/a@b.sock?db=1", "unix:///run/a@b.sock?db=1"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
