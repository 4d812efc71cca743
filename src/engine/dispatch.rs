//! From a row and its arguments to the reply: which locks, which handler.

use super::client::Client;
use super::{Shared, script};
use crate::commands::{Cx, Flags, KeyFlags, Run, ScriptOp, Spec};
use crate::db::{Access, Scope};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

/// Runs a command that needs no session, on behalf of a client if one is known.
#[inline]
pub(super) fn run(
    shared: &Shared,
    spec: &'static Spec,
    argv: &[&[u8]],
    db: usize,
    protocol: Protocol,
    client: Option<&Client>,
) -> Value {
    if !spec.accepts(argv.len()) {
        return Value::Error(spec.arity_error());
    }
    let handler = match spec.run {
        Run::Data(handler) | Run::Plain(handler) => handler,
        Run::Script(op) => return run_script(shared, spec, op, argv, db, protocol, client),
        _ => return Value::Error(needs_session(spec)),
    };
    let mut cx = match context(shared, scope(spec, argv), db, protocol) {
        Ok(cx) => cx,
        Err(busy) => return Value::Error(busy),
    };
    if let Some(client) = client {
        client.is_active(cx.now);
    }
    handler(&mut cx, argv).into()
}

fn run_script(
    shared: &Shared,
    spec: &'static Spec,
    op: ScriptOp,
    argv: &[&[u8]],
    db: usize,
    protocol: Protocol,
    client: Option<&Client>,
) -> Value {
    let mut cx = match context(shared, whole(spec), db, protocol) {
        Ok(cx) => cx,
        Err(busy) => return Value::Error(busy),
    };
    if let Some(client) = client {
        client.is_active(cx.now);
    }
    let reply = script::run(shared, spec, op, &mut cx, argv).into();
    drop(cx);
    shared.release_orphans();
    reply
}

/// Locks `scope` and makes the context of a call. The time is read once the locks are held, so
/// that of two commands on a key the later never has the earlier time. Fails with `BUSY` when a
/// script that has been running too long holds a lock.
#[inline]
pub(super) fn context(
    shared: &Shared,
    scope: Scope,
    db: usize,
    protocol: Protocol,
) -> Result<Cx<'_>, WireError> {
    let locked = shared.keyspace.lock_unless(scope, db, 0, || script::is_overdue(shared));
    let mut db = locked.ok_or(BUSY)?;
    let now = shared.env.now();
    db.set_now(now.as_millis());
    Ok(Cx::new(db, &shared.env, now, protocol))
}

/// What is answered while a script has been running too long.
pub(super) const BUSY: WireError = WireError::fixed(
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
);

/// All shards, as this command needs them; or none.
fn whole(spec: &Spec) -> Scope {
    match spec.run {
        Run::Data(_) if spec.is(Flags::READONLY) => Scope::all(Access::Read),
        Run::Script(ScriptOp::Eval | ScriptOp::Evalsha) => {
            Scope::all(if spec.is(Flags::READONLY) { Access::Read } else { Access::Write })
        }
        Run::Data(_) => Scope::all(Access::Write),
        Run::Server(_) if spec.is(Flags::WRITE) => Scope::all(Access::Write),
        Run::Server(_) => Scope::all(Access::Read),
        _ => Scope::NOTHING,
    }
}

/// What a command line must lock.
#[inline]
pub(super) fn scope(spec: &Spec, argv: &[&[u8]]) -> Scope {
    if spec.keys.is_empty() || !matches!(spec.run, Run::Data(_)) {
        return whole(spec);
    }
    let access = |flags: KeyFlags| {
        if flags.has(KeyFlags::RO) { Access::Read } else { Access::Write }
    };
    // Most commands have one key, at a fixed place.
    if let [only] = spec.keys
        && let Some(key) = only.fixed().and_then(|at| argv.get(at))
    {
        return Scope::of_key(key, access(only.flags));
    }
    let Some(positions) = spec.key_positions(argv) else { return whole(spec) };
    Scope::of(positions.into_iter().map(|(at, flags)| (argv[at], access(flags))))
}

pub(super) fn needs_session(spec: &Spec) -> WireError {
    WireError::new(format!("ERR '{}' needs a session", spec.lower_name()))
}
