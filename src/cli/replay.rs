//! `stockroom replay`: real traffic through the shop, on the engine, on a real Redis, or on both.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::progress::Bar;
use super::{Failure, number, runtime};
use crate::backend::{Backend, Cmd, Memory, Redis, RedisConfig};
use crate::commands::server;
use crate::replay::compare::{Comparison, compare};
use crate::replay::report::{Report, count, grouped};
use crate::replay::trace::Trace;
use crate::replay::{FeatureSet, ItemFrom, Options, replay};
use crate::shop::DEFAULT_LIMIT;
use crate::shop::flash_sale::MAX_UNITS;
use crate::{Env, Timestamp};

/// How many expired keys the engine removes before it looks at its clock again.
const EXPIRE_AT_ONCE: usize = 1_000;

/// Replay real traffic through the shop and report what it did
///
/// A FILE is an events CSV (timestamp,visitorid,event,itemid,transactionid; milliseconds; view,
/// addtocart and transaction) or an access log in Apache's or nginx's combined format, plain or
/// gzip; - is standard input.
///
/// Time is the trace's time: sessions, caches, counters and the shop's daemons all follow it. One
/// exception: on a real Redis the TTLs of cached pages run by the server's clock, so that these
/// outlive the trace and the hit rate is higher there, with fewer commands. So do the TTLs of the
/// orders that --stock keeps for a week.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)] // To refuse them by their range.
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
    /// Leave out the session cleaner, the popularity rescale, the counter cleaner and the row
    /// daemon
    #[arg(long)]
    no_maintenance: bool,
    /// How many sessions the session cleaner leaves
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = number)]
    sessions_limit: u64,
    /// The namespace of all keys
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Which part of an access log's URL names the item: path, query (its parameter item) or
    /// query:NAME
    #[arg(long, value_name = "PART", default_value_t)]
    item_from: ItemFrom,
    /// Which features are fed: all, or core, which leaves out row cache, statistics and contacts
    #[arg(long, value_name = "SET", default_value_t)]
    features: FeatureSet,
    /// Guard purchases by a flash sale: there are N units of each item, which are sold once each;
    /// the order is the transaction, and one that comes again counts once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_UNITS))]
    stock: Option<u64>,
    /// Stop at the first malformed line
    #[arg(long)]
    strict: bool,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.stock.is_some() && !cfg!(feature = "lua") && !args.backend.contains("://") {
        return Err(Failure::new(
            "--stock runs scripts, which this build has on a real Redis only",
        ));
    }
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
        other if !other.contains("://") => return Err(no_backend(other)),
        url => {
            let env = Env::manual(Timestamp::EPOCH, 0);
            let redis = connect("--backend", url, env.clone()).await?;
            if args.flush {
                empty(&redis).await?;
            }
            on_redis(args, url, &redis, &env).await?
        }
    };
    note_empty(&report);
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
    let env = Env::manual(Timestamp::EPOCH, 0);
    let redis = connect("--compare", url, env.clone()).await?;
    let keys = redis.run(Cmd::<u64>::new(&server::DBSIZE)).await.map_err(Failure::new)?;
    match keys {
        0 => {}
        _ if args.flush => empty(&redis).await?,
        n => {
            let shown = without_password(url);
            return Err(Failure::new(format!(
                "{shown} is not empty ({}): --flush empties it",
                count(n, "key")
            )));
        }
    }
    let (here, memory) = on_memory(args).await?;
    note_empty(&here);
    let there = on_redis(args, url, &redis, &env).await?;
    let comparison = compare(&memory, &redis).await.map_err(Failure::new)?;
    let ratio = there.elapsed.as_secs_f64() / here.elapsed.as_secs_f64().max(1e-9);
    let mut out = io::stdout().lock();
    if args.json {
        print(&mut out, &both_as_json(&here, &there, &comparison, ratio))?;
    } else {
        write!(out, "{here}\n{there}\n{comparison}")?;
        let [m, r] = [&here, &there].map(|report| grouped(report.commands));
        writeln!(out, "in memory {ratio:.1} times as fast, with {m} commands; {r} on Redis")?;
    }
    Ok(ExitCode::from(u8::from(comparison.differences > 0)))
}

/// Says which files were read for nothing.
fn note_empty(report: &Report) {
    for file in &report.trace.without_events {
        eprintln!("stockroom: no events in {file}");
    }
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
        features: args.features,
        stock: args.stock,
    };
    let bar = Bar::start(name, &args.files, trace.progress());
    let report = replay(backend, env, trace, &options, now_and_then).await;
    bar.end();
    report.map_err(Failure::new)
}

/// What to say of a `--backend` that is none.
pub(super) fn no_backend(other: &str) -> Failure {
    let expected = "memory, redis://HOST:PORT/DB or unix:///PATH";
    Failure::new(format!("invalid --backend {other}: expected {expected}"))
}

/// A backend for the URL that `option` names, on this clock, if somebody answers there.
pub(super) async fn connect(option: &str, url: &str, env: Env) -> Result<Redis, Failure> {
    let config = RedisConfig { env, ..RedisConfig::default() };
    let named = |e| Failure::new(format!("{option}: {e}"));
    let redis = Redis::lazy(url, config).map_err(named)?;
    let shown = without_password(url);
    let reached = redis.run(Cmd::<u64>::new(&server::DBSIZE)).await;
    reached.map_err(|e| Failure::new(format!("cannot use {shown}: {e}")))?;
    Ok(redis)
}

async fn empty(redis: &Redis) -> Result<(), Failure> {
    redis.run(Cmd::<()>::new(&server::FLUSHDB)).await.map_err(Failure::new)
}

/// A URL for people to read: without user and password.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    if let Some((path, query)) = rest.split_once('?').filter(|_| rest.starts_with('/')) {
        // A socket's URL has them in its query.
        let secret = |part: &&str| !part.starts_with("user=") && !part.starts_with("pass=");
        let kept: Vec<&str> = query.split('&').filter(secret).collect();
        let mark = if kept.is_empty() { "" } else { "?" };
        return format!("{scheme}://{path}{mark}{}", kept.join("&"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
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
            ("unix:///run/r.sock?db=1&user=u&pass=secret", "unix:///run/r.sock?db=1"),
            ("unix:///run/r.sock?pass=secret", "unix:///run/r.sock"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
