//! An expiry queue to play with: keys that ten workers delete when their time has come.
//!
//! `cargo run --example expiry_queue` runs it in memory; with a URL behind it, on a Redis:
//! `cargo run --example expiry_queue -- redis://127.0.0.1:6379`.

use std::error::Error;
use std::io::{BufRead, stdin};
use std::time::Duration;

use stockroom::backend::{Backend, Memory, Wait, cmd};
use stockroom::shop::{ExpiryQueue, Keys};

const HELP: &str = "add KEY SECONDS · remove KEY · count · quit";

fn converse<B: Backend>(backend: &B) -> Result<(), Box<dyn Error>> {
    let queue = ExpiryQueue::new(backend.clone(), &Keys::in_namespace("example"))?;
    let pool = queue.start()?;
    println!("{HELP}");
    for line in stdin().lock().lines() {
        let line = line?;
        match *line.split_whitespace().collect::<Vec<_>>() {
            ["add", key, seconds] => match seconds.parse() {
                Ok(seconds) => {
                    backend.run(cmd::set(key.as_bytes(), "here")).wait()?;
                    let new = queue.add(key.as_bytes(), Duration::from_secs(seconds)).wait()?;
                    println!("{key} {} in {seconds} s", if new { "ends" } else { "now ends" });
                }
                Err(error) => println!("{seconds}: {error}"),
            },
            ["remove", key] => {
                let was_there = queue.remove(key.as_bytes()).wait()?;
                println!("{key} {}", if was_there { "stays" } else { "was not in the queue" });
            }
            ["count"] => {
                let counts = queue.counts().wait()?;
                let deleted: u64 = pool.reports().iter().map(|report| report.done).sum();
                println!("{} later, {} due, {deleted} deleted", counts.later, counts.due);
            }
            ["quit"] => break,
            [] => {}
            _ => println!("{HELP}"),
        }
    }
    let deleted: u64 = pool.stop().iter().map(|report| report.done).sum();
    println!("{deleted} deleted");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        #[cfg(feature = "redis")]
        Some(url) => converse(&stockroom::backend::Redis::connect(&url).wait()?),
        #[cfg(not(feature = "redis"))]
        Some(_) => Err("a URL needs the feature `redis`".into()),
        None => converse(&Memory::new()),
    }
}
