//! Scripts: EVAL, EVALSHA, their _RO forms, and SCRIPT.
//!
//! An engine has one Lua interpreter, made when the first script comes. A script runs with every
//! shard locked (exclusively, or shared for the _RO forms), so it is atomic and may touch keys that
//! it has not declared, as in Redis. `redis.call` runs handlers on the locks held, and takes none.
//!
//! The order of locks is shards first, interpreter second, everywhere: a script in EXEC comes to
//! the interpreter with its shards locked, too.
//!
//! Between scripts nothing is left but the cache: the globals are protected, the tables that
//! scripts cannot replace are watched for what they put in, and per-script settings start anew.
//! Scripts stay cached until SCRIPT FLUSH, as in Redis.
//!
//! Not here: what the libraries `cjson`, `cmsgpack`, `struct` and `bit` do (see `lib`).

mod api;
mod cache;
mod call;
mod control;
mod convert;
mod interp;
mod lib;
mod raise;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::{Shared, dispatch};
use crate::commands::args::is;
use crate::commands::{Cx, Flags, Reply, ScriptOp, Spec};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_i64;

use cache::{Cache, ScriptFlags, Sha};
use call::Host;
use control::Control;
use interp::{Compiled, Interp};

/// Scripts of an engine, and what runs them.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    state: Mutex<State>,
    control: Arc<Control>,
    /// Of the cache, for INFO: number of scripts, and bytes.
    cached: AtomicUsize,
    cached_bytes: AtomicUsize,
}

impl Scripts {
    /// The cache and the interpreter. Fails as long as a script has them that has been running too
    /// long.
    fn state(&self, shared: &Shared) -> Result<MutexGuard<'_, State>, WireError> {
        const ASK_EVERY: Duration = Duration::from_millis(10);
        if let Some(state) = self.state.try_lock() {
            return Ok(state);
        }
        while !is_overdue(shared) {
            if let Some(state) = self.state.try_lock_for(ASK_EVERY) {
                return Ok(state);
            }
        }
        Err(dispatch::BUSY)
    }

    /// Notes how large the cache is.
    fn note(&self, state: &State) {
        self.cached.store(state.cache.len(), Ordering::Relaxed);
        self.cached_bytes.store(state.cache.bytes(), Ordering::Relaxed);
        if state.interp.is_none() {
            self.control.set_memory(0);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    cache: Cache,
    interp: Option<Interp>,
}

impl State {
    /// The interpreter, made if there is none.
    fn interp(&mut self, control: &Arc<Control>) -> Result<&Interp, WireError> {
        if self.interp.is_none() {
            self.cache.forget_compiled();
            self.interp = Some(Interp::new(Arc::clone(control)).map_err(|e| broken(&e))?);
        }
        self.interp.as_ref().ok_or(WireError::fixed("ERR no interpreter"))
    }

    /// Puts a script into the cache, if it compiles.
    fn load(&mut self, sha: Sha, source: &[u8], control: &Arc<Control>) -> Result<(), WireError> {
        if self.cache.get(&sha).is_none() {
            let (body, flags) = cache::shebang(source)?;
            let compiled = self.interp(control)?.compile(body)?;
            self.cache.add(sha, source, flags, compiled);
        }
        Ok(())
    }

    /// A script of the cache, compiled again if the interpreter that had compiled it is gone.
    fn script(
        &mut self,
        sha: &Sha,
        control: &Arc<Control>,
    ) -> Result<(Compiled, ScriptFlags), WireError> {
        let script = self.cache.get(sha).ok_or(NOSCRIPT)?;
        if let (Some(compiled), true) = (script.compiled, self.interp.is_some()) {
            return Ok((compiled, script.flags));
        }
        let (source, flags) = (script.source.clone(), script.flags);
        let (body, _) = cache::shebang(&source)?;
        let compiled = self.interp(control)?.compile(body)?;
        self.cache.set_compiled(sha, compiled);
        Ok((compiled, flags))
    }
}

/// The interpreter itself has failed: there was no memory for it.
fn broken(error: &mlua::Error) -> WireError {
    WireError::new(format!("ERR {error}"))
}

/// Runs one of the commands, with the locks of its row held by `cx`.
pub(super) fn run(
    shared: &Shared,
    spec: &Spec,
    op: ScriptOp,
    cx: &mut Cx<'_>,
    argv: &[&[u8]],
) -> Reply {
    let scripts = &shared.scripts;
    match op {
        ScriptOp::Eval => eval(shared, cx, argv, None, spec.is(Flags::READONLY)),
        ScriptOp::Evalsha => {
            let sha = cache::parse(argv[1]).ok_or(NOSCRIPT)?;
            eval(shared, cx, argv, Some(sha), spec.is(Flags::READONLY))
        }
        ScriptOp::Debug => debug(argv),
        ScriptOp::Exists => exists(shared, &argv[2..]),
        ScriptOp::Flush => flush(shared, argv),
        ScriptOp::Kill => scripts.control.kill(),
        ScriptOp::Load => {
            let sha = cache::sha1_hex(argv[2]);
            let mut state = scripts.state(shared)?;
            state.load(sha, argv[2], &scripts.control)?;
            scripts.note(&state);
            Ok(Value::bulk(sha))
        }
    }
}

const NOSCRIPT: WireError = WireError::fixed("NOSCRIPT No matching script. Please use EVAL.");

fn eval(
    shared: &Shared,
    cx: &mut Cx<'_>,
    argv: &[&[u8]],
    sha: Option<Sha>,
    read_only: bool,
) -> Reply {
    let (keys, args) = keys_and_args(argv)?;
    let by_hash = sha.is_some();
    let control = &shared.scripts.control;
    let mut state = shared.scripts.state(shared)?;
    let sha = sha.unwrap_or_else(|| cache::sha1_hex(argv[1]));
    let found = match state.script(&sha, control) {
        Err(error) if error == NOSCRIPT && !by_hash => {
            state.load(sha, argv[1], control)?;
            shared.scripts.note(&state);
            state.script(&sha, control)
        }
        found => found,
    };
    let (compiled, flags) = found?;
    if read_only && flags.declared && !flags.no_writes {
        const TEXT: &str = "ERR Can not execute a script with write flag using *_ro command.";
        return Err(WireError::fixed(TEXT));
    }
    let (db, protocol) = (cx.db.index(), cx.protocol);
    control.start(shared.env.monotonic());
    let host = RefCell::new(Host::new(shared, control, cx, read_only || flags.no_writes));
    let interp = state.interp(control)?;
    let reply = interp.run(compiled, &sha, keys, args, &host);
    control.end(interp.used_memory());
    cx.db.select(db);
    cx.protocol = protocol;
    reply
}

type Words<'w, 'a> = &'w [&'a [u8]];

/// What follows the script: a count, so many keys, and the arguments.
fn keys_and_args<'w, 'a>(argv: Words<'w, 'a>) -> Result<(Words<'w, 'a>, Words<'w, 'a>), WireError> {
    let rest = &argv[3..];
    let count = parse_i64(argv[2]).ok_or(WireError::NOT_INTEGER)?;
    if count > rest.len() as i64 {
        const TEXT: &str = "ERR Number of keys can't be greater than number of args";
        return Err(WireError::fixed(TEXT));
    }
    let count = usize::try_from(count)
        .map_err(|_| WireError::fixed("ERR Number of keys can't be negative"))?;
    Ok(rest.split_at(count))
}

fn debug(argv: &[&[u8]]) -> Reply {
    match argv[2] {
        mode if is(mode, "NO") => Ok(Value::OK),
        mode if is(mode, "YES") || is(mode, "SYNC") => {
            Err(WireError::fixed("ERR there is no debugger for scripts"))
        }
        _ => Err(WireError::fixed("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
    }
}

fn exists(shared: &Shared, shas: &[&[u8]]) -> Reply {
    let state = shared.scripts.state(shared)?;
    let known = |sha: &&[u8]| cache::parse(sha).is_some_and(|sha| state.cache.get(&sha).is_some());
    Ok(Value::Array(shas.iter().map(|sha| Value::from(known(sha))).collect()))
}

fn flush(shared: &Shared, argv: &[&[u8]]) -> Reply {
    match argv {
        [_, _] => {}
        [_, _, mode] if is(mode, "SYNC") || is(mode, "ASYNC") => {}
        _ => return Err(WireError::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    let mut state = shared.scripts.state(shared)?;
    let old = std::mem::take(&mut *state);
    shared.scripts.note(&state);
    drop(state);
    drop(old);
    Ok(Value::OK)
}

/// Whether a script has been running for longer than the setting `busy-reply-threshold` allows; 0
/// allows any time.
#[inline]
pub(super) fn is_overdue(shared: &Shared) -> bool {
    let since = shared.scripts.control.running_since();
    since.is_some_and(|since| {
        let most: u64 = shared.config.value("busy-reply-threshold").parse().unwrap_or_default();
        let ran = shared.env.monotonic().saturating_sub(since);
        most > 0 && ran >= Duration::from_millis(most)
    })
}

/// What INFO says of scripts.
#[derive(Debug)]
pub(super) struct Usage {
    /// Bytes that the interpreter uses.
    pub(super) interpreter: usize,
    /// Bytes of the cached scripts.
    pub(super) cached_bytes: usize,
    /// Number of cached scripts.
    pub(super) cached: usize,
}

/// What INFO says. It takes no lock, since a script can ask for it, too.
pub(super) fn usage(shared: &Shared) -> Usage {
    let scripts = &shared.scripts;
    Usage {
        interpreter: scripts.control.memory(),
        cached_bytes: scripts.cached_bytes.load(Ordering::Relaxed),
        cached: scripts.cached.load(Ordering::Relaxed),
    }
}
