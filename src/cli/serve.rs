//! `stockroom serve`: the engine as a server.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use super::{Failure, interrupted, runtime};
use crate::{Engine, server};

/// Serve an empty engine over TCP, for redis-cli and any Redis client
///
/// It prints its address when it is ready, and runs until it is interrupted. Nothing is kept.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)] // To refuse them by their range.
pub(super) struct Args {
    /// The port to listen on; 0 takes a free one
    #[arg(long, short, default_value_t = 6379)]
    port: u16,
    /// The address to listen on. There are no passwords: others than the loopback address let
    /// everybody in who can reach them
    #[arg(long, short, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let addr = SocketAddr::new(args.bind, args.port);
    runtime(tokio::runtime::Builder::new_multi_thread())?.block_on(async {
        let failed = |e: io::Error| Failure::new(format!("cannot listen on {addr}: {e}"));
        let listener = server::listen(addr).await.map_err(failed)?;
        let server = server::spawn(Engine::new(), listener, server::Limits::default());
        let server = server.map_err(failed)?;
        let mut out = io::stdout();
        writeln!(out, "listening on {}", server.addr())?;
        out.flush()?;
        interrupted().await.map_err(Failure::new)?;
        server.stop().await;
        Ok(ExitCode::SUCCESS)
    })
}
