//! `stockroom tour`: each feature of the shop once, in plain words, with the keys that it leaves.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use super::replay::{connect, no_backend, without_password};
use super::{Failure, interrupted, runtime};
use crate::backend::{Backend, Memory};
use crate::replay::report::count;
use crate::tour::{self, Feature};
use crate::{Env, Timestamp};

/// When the tour in memory begins: 2026-01-05 09:00 UTC.
const START: Timestamp = Timestamp::from_secs(1_767_603_600);

/// How far the clock goes on with each call.
const TICK: Duration = Duration::from_millis(1);

/// Take a tour of the shop: each feature once, what it is for, and the keys that it leaves
///
/// In memory the text is always the same. On a real Redis only the times differ; all keys are
/// under tour.FEATURE/, and are deleted again at the end. When there are such keys already nothing
/// is done.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Where the shop runs: memory, or a Redis as `redis://HOST:PORT/DB` or `unix:///PATH?db=N`
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    backend: String,
    /// Show only this feature; can be given more than once
    #[arg(long, value_name = "NAME")]
    feature: Vec<Feature>,
    /// Leave the keys on the Redis, to look at them
    #[arg(long)]
    keep: bool,
    /// First delete what an earlier tour has left of these features
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let features = match args.feature.as_slice() {
        [] => &Feature::ALL[..],
        named => named,
    };
    let runtime = runtime(tokio::runtime::Builder::new_current_thread())?;
    runtime.block_on(async {
        match args.backend.as_str() {
            "memory" => in_memory(args, features).await,
            other if !other.contains("://") => Err(no_backend(other)),
            url => on_redis(args, url, features).await,
        }
    })
}

async fn in_memory(args: &Args, features: &[Feature]) -> Result<ExitCode, Failure> {
    if args.keep || args.replace {
        let option = if args.keep { "--keep" } else { "--replace" };
        return Err(Failure::new(format!("{option} needs a Redis: in memory nothing is left")));
    }
    if !cfg!(feature = "lua") {
        return Err(Failure::new("the tour runs scripts, which this build has on a Redis only"));
    }
    let env = Env::manual(START, 0);
    let memory = Memory::with_env(env.clone());
    guide("in memory", &memory, features, &mut || env.advance(TICK)).await?;
    Ok(ExitCode::SUCCESS)
}

async fn on_redis(args: &Args, url: &str, features: &[Feature]) -> Result<ExitCode, Failure> {
    let (redis, shown) = (connect("--backend", url, Env::system()).await?, without_password(url));
    if args.replace {
        tour::clean(&redis, features).await.map_err(Failure::new)?;
    }
    let found = tour::keys_of(&redis, features).await.map_err(Failure::new)?;
    if let Some(first) = found.first() {
        let (keys, first) = (count(found.len() as u64, "key"), first.escape_ascii());
        let why =
            format!("{shown} holds {keys} of a tour, {first} for one: --replace deletes them");
        return Err(Failure::new(why));
    }
    let (mut by_itself, place) = (|| {}, format!("on {shown}"));
    let shown_to_the_end = tokio::select! {
        done = guide(&place, &redis, features, &mut by_itself) => done,
        pressed = interrupted() => Err(match pressed {
            Ok(()) => Failure::new("interrupted"),
            Err(error) => Failure::new(error),
        }),
    };
    if args.keep {
        shown_to_the_end?;
        return Ok(ExitCode::SUCCESS);
    }
    // Whatever has happened.
    let cleaned = tour::clean(&redis, features).await;
    shown_to_the_end?;
    let deleted = count(cleaned.map_err(Failure::new)?, "key");
    writeln!(io::stdout(), "{deleted} deleted again; --keep leaves them to be looked at")?;
    Ok(ExitCode::SUCCESS)
}

async fn guide<B: Backend>(
    place: &str,
    backend: &B,
    features: &[Feature],
    tick: &mut dyn FnMut(),
) -> Result<(), Failure> {
    let mut out = io::stdout();
    writeln!(
        out,
        "What each feature of the shop is for, calls of it with their answers, and the keys"
    )?;
    writeln!(out, "that it leaves; {place}.\n")?;
    for feature in features {
        let told = tour::show(backend, *feature, tick).await.map_err(Failure::new)?;
        writeln!(out, "{told}")?;
        out.flush()?;
    }
    Ok(())
}
