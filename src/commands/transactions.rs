//! Transactions. The engine runs them, since they belong to the session; here are their rows.

use super::{Acl, Arg, Flags, KeyFlags, KeySpec, Run, SessionOp, Spec};

/// The rows of this family.
pub const ROWS: &[&Spec] = &[&DISCARD, &EXEC, &MULTI, &UNWATCH, &WATCH];

/// `DISCARD`
pub const DISCARD: Spec = Spec::new(
    "DISCARD",
    Run::Session(SessionOp::Discard),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::FAST).or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::TRANSACTION)
.doc(
    "transactions",
    "2.0.0",
    "O(N), when N is the number of queued commands",
    "Discard all commands issued after MULTI",
);

/// `EXEC`
pub const EXEC: Spec = Spec::new(
    "EXEC",
    Run::Session(SessionOp::Exec),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::SKIP_SLOWLOG),
    &[],
)
.acl(Acl::TRANSACTION)
.doc(
    "transactions",
    "1.2.0",
    "Depends on commands in the transaction",
    "Execute all commands issued after MULTI",
);

/// `MULTI`
pub const MULTI: Spec = Spec::new(
    "MULTI",
    Run::Session(SessionOp::Multi),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::FAST).or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::TRANSACTION)
.doc("transactions", "1.2.0", "O(1)", "Mark the start of a transaction block");

/// `UNWATCH`
pub const UNWATCH: Spec = Spec::new(
    "UNWATCH",
    Run::Session(SessionOp::Unwatch),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::FAST).or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::TRANSACTION)
.doc("transactions", "2.2.0", "O(1)", "Forget about all watched keys");

/// `WATCH key …`
pub const WATCH: Spec = Spec::new(
    "WATCH",
    Run::Session(SessionOp::Watch),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::FAST).or(Flags::ALLOW_BUSY),
    &[Arg::Many(&[Arg::Key])],
)
.keys(&[KeySpec::range(1, -1, 1, KeyFlags::RO)])
.acl(Acl::TRANSACTION)
.doc(
    "transactions",
    "2.2.0",
    "O(1) for every key.",
    "Watch the given keys to determine execution of the MULTI/EXEC block",
);
