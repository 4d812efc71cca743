//! The command line: `stockroom tour`, `stockroom replay`, `stockroom serve` and `stockroom
//! generate`.
//!
//! Arguments are read and results printed here; the work is done in the modules that carry its
//! name. Results go to standard output, everything else to standard error. The exit code is 0 when
//! all went well, 1 when a comparison found differences, and 2 for a usage error, input that
//! cannot be read or a backend that failed. A reader that closes standard output early, such as
//! `head`, ends the program quietly.

mod generate;
mod progress;
mod replay;
mod serve;
mod tour;

use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Redis without a server: replay traffic through a shop, on the engine or on a real Redis.
#[derive(Parser)]
#[command(name = "stockroom", version, about, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tour(tour::Args),
    Replay(replay::Args),
    Serve(serve::Args),
    Generate(generate::Args),
}

/// What ends a command early.
enum Failure {
    /// Something to tell the user; exit code 2.
    Message(String),
    /// Nobody reads our output any more; exit code 0.
    OutputClosed,
}

impl Failure {
    fn new(message: impl fmt::Display) -> Self {
        Self::Message(message.to_string())
    }
}

impl From<io::Error> for Failure {
    /// For errors of writing to standard output; errors of reading carry their file's name.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Message(format!("cannot write: {error}")),
        }
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Tour(args) => tour::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Generate(args) => generate::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            eprintln!("stockroom: {message}");
            ExitCode::from(2)
        }
    }
}

/// Reads a number for an option, and says which numbers there are when it is none of them.
fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not in 0..={}", u64::MAX))
}

/// Builds an async runtime.
fn runtime(mut builder: tokio::runtime::Builder) -> Result<tokio::runtime::Runtime, Failure> {
    builder.enable_all().build().map_err(|e| Failure::new(format!("cannot start threads: {e}")))
}

/// Ready at the first Ctrl-C, or at SIGTERM.
async fn interrupted() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
