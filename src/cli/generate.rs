//! `stockroom generate`: writes a made-up day of a shop.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, number};
use crate::Timestamp;
use crate::replay::generate::Day;

/// Write a made-up day of a shop as an events CSV
///
/// The same options give the same file everywhere. Without any they give examples/day.csv.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)] // To refuse them by their range.
pub(super) struct Args {
    /// Decides everything that is random
    #[arg(long, default_value_t = Day::default().seed, value_parser = number)]
    seed: u64,
    /// How many visitors come
    #[arg(long, default_value_t = Day::default().visitors)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=5_000_000))]
    visitors: u32,
    /// How many items the shop has
    #[arg(long, default_value_t = Day::default().items)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=5_000_000))]
    items: u32,
    /// When the day begins, in seconds since 1970
    #[arg(long, default_value_t = Day::default().start.as_secs())]
    #[arg(value_parser = clap::value_parser!(i64).range(0..=253_402_000_000))]
    start: i64,
    /// Where to write; standard output by default
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let &Args { seed, visitors, items, start, .. } = args;
    let day = Day { seed, visitors, items, start: Timestamp::from_secs(start) };
    match &args.output {
        None => day.write(io::stdout().lock())?,
        Some(path) => {
            let named =
                |e: io::Error| Failure::new(format!("cannot write {}: {e}", path.display()));
            let mut out = BufWriter::new(File::create(path).map_err(named)?);
            day.write(&mut out).and_then(|()| out.flush()).map_err(named)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
