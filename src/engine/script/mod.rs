//! Scripts: EVAL and its kin, on one Lua interpreter per engine.
//!
//! A script runs with all shards locked, so it is atomic and may use keys that it does not name,
//! as in Redis. Its commands run on the locks that it holds. What Redis does in C beside the
//! interpreter is here: the cache of scripts by hash, the conversions of replies, the texts of
//! errors, the sandbox.
//!
//! The interpreter is made at the first use. Nothing that a script leaves behind is seen by the
//! next: globals and libraries are read-only, `KEYS` and `ARGV` are set anew.
//!
//! Invariant: the interpreter's lock is taken after those of the shards, never before.

mod convert;
mod interpreter;
mod lib;

use parking_lot::Mutex;
use sha1::{Digest, Sha1};

use super::Shared;
use crate::commands::args::is;
use crate::commands::{Cx, Flags, Reply, ScriptOp, Spec};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_i64;
use interpreter::Interpreter;

const NO_SCRIPT: WireError = WireError::fixed("NOSCRIPT No matching script. Please use EVAL.");

/// The SHA-1 of a script's text, in hexadecimal digits: its name.
type Sha = [u8; 40];

/// The scripts of an engine.
#[derive(Default)]
pub(super) struct Scripts {
    interpreter: Mutex<Option<Interpreter>>,
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripts")
    }
}

impl Scripts {
    fn with<R>(
        &self,
        f: impl FnOnce(&mut Interpreter) -> Result<R, WireError>,
    ) -> Result<R, WireError> {
        let mut interpreter = self.interpreter.lock();
        let made = match interpreter.take() {
            Some(made) => made,
            None => Interpreter::new()?,
        };
        f(interpreter.insert(made))
    }
}

/// Runs a command about scripts, with the locks that [`super::dispatch::whole`] asks for.
pub(super) fn run(
    shared: &Shared,
    spec: &Spec,
    op: ScriptOp,
    cx: &mut Cx<'_>,
    argv: &[&[u8]],
) -> Reply {
    match op {
        ScriptOp::Eval | ScriptOp::Evalsha => eval(shared, spec, op, cx, argv),
        ScriptOp::Load => shared.scripts.with(|i| Ok(Value::bulk(i.load(argv[2])?))),
        ScriptOp::Exists => shared.scripts.with(|i| {
            let known = |sha: &&[u8]| Value::Int(sha_of(sha).is_some_and(|s| i.has(&s)).into());
            Ok(Value::Array(argv[2..].iter().map(known).collect()))
        }),
        ScriptOp::Flush => match argv.get(2..).unwrap_or_default() {
            [] => Ok(flush(shared)),
            [how] if is(how, "SYNC") || is(how, "ASYNC") => Ok(flush(shared)),
            _ => Err(WireError::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
        },
        ScriptOp::Kill => Err(WireError::fixed("NOTBUSY No scripts in execution right now.")),
        ScriptOp::Debug => match argv[2] {
            how if is(how, "NO") || is(how, "YES") || is(how, "SYNC") => Ok(Value::OK),
            _ => Err(WireError::fixed("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
        },
    }
}

fn eval(shared: &Shared, spec: &Spec, op: ScriptOp, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let sha = match op {
        ScriptOp::Evalsha => Some(sha_of(argv[1]).ok_or(NO_SCRIPT)?),
        _ => None,
    };
    let args = &argv[3..];
    let keys = parse_i64(argv[2]).ok_or(WireError::NOT_INTEGER)?;
    if keys > args.len() as i64 {
        return Err(WireError::fixed("ERR Number of keys can't be greater than number of args"));
    }
    let keys = usize::try_from(keys)
        .map_err(|_| WireError::fixed("ERR Number of keys can't be negative"))?;
    let (keys, args) = args.split_at(keys);
    shared.scripts.with(|interpreter| {
        let sha = match sha {
            Some(sha) if interpreter.has(&sha) => sha,
            Some(_) => return Err(NO_SCRIPT),
            None => interpreter.load(argv[1])?,
        };
        interpreter.eval(shared, cx, &sha, keys, args, spec.is(Flags::READONLY))
    })
}

fn flush(shared: &Shared) -> Value {
    *shared.scripts.interpreter.lock() = None;
    Value::OK
}

/// The name in lower case, as which scripts are kept.
fn sha_of(text: &[u8]) -> Option<Sha> {
    let mut sha: Sha = text.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// The SHA-1 of `text` in hexadecimal digits.
fn sha1_hex(text: &[u8]) -> Sha {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 40];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(Sha1::digest(text)) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    hex
}
