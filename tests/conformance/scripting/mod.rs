//! Scripts: EVAL and its kin, and SCRIPT, each script on the engine and on a real server.

mod busy;
mod calls;
mod commands;
mod convert;
mod differences;
mod errors;
mod libs;
mod sandbox;

use std::fmt::Write;

use crate::support::{Pair, argv};

/// Runs each script, with no keys and no arguments, and reports all whose replies are not the same
/// bytes.
#[track_caller]
fn same(c: &Pair, scripts: &[&str]) {
    let mut differences = String::new();
    for script in scripts {
        let (ours, real) = c.both(argv!["EVAL", *script, 0]);
        if let Some(real) = real.filter(|real| real.bytes != ours.bytes) {
            let (ours, real) = (ours.bytes.escape_ascii(), real.bytes.escape_ascii());
            let _ = write!(differences, "\n  {script}\n    engine: {ours}\n      real: {real}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
