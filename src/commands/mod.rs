//! The commands: one file per family, its table rows first, its handlers in the same order, its
//! helpers last; and the table of all rows.
//!
//! A command is its argument list plus a reference to its row, not a variant of an enum: Redis
//! queues bad arguments inside MULTI and reports them at EXEC, which a queue of parsed commands
//! could not.

pub(crate) mod args;
pub mod blocking;
pub mod connection;
mod cx;
mod docs;
pub mod expiry;
mod flags;
pub mod generic;
pub mod hash;
mod introspect;
mod keys;
pub mod list;
mod pick;
pub mod pubsub;
pub mod sample;
pub mod scripting;
pub mod server;
pub mod set;
mod spec;
pub mod string;
pub mod transactions;
pub mod zset;

use std::sync::LazyLock;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

pub use cx::Cx;
pub(crate) use cx::Waits;
pub use flags::{Acl, Flags, KeyFlags};
pub use keys::{Begin, Find, KeySpec};
pub use spec::{Arg, Handler, Reply, Run, ScriptOp, SessionOp, Spec};

use crate::error::WireError;

/// The rows of every family.
const FAMILIES: &[&[&Spec]] = &[
    blocking::ROWS,
    connection::ROWS,
    expiry::ROWS,
    generic::ROWS,
    hash::ROWS,
    list::ROWS,
    pubsub::ROWS,
    scripting::ROWS,
    server::ROWS,
    set::ROWS,
    string::ROWS,
    transactions::ROWS,
    zset::ROWS,
];

/// The longest name that is looked up; no command has a longer one.
const LONGEST_NAME: usize = 32;

static BY_NAME: LazyLock<HashMap<&'static [u8], &'static Spec, FixedState>> =
    LazyLock::new(|| all().map(|spec| (spec.name.as_bytes(), spec)).collect());

/// All rows, family by family.
pub fn all() -> impl Iterator<Item = &'static Spec> {
    FAMILIES.iter().flat_map(|rows| rows.iter().copied())
}

/// The row of a command, by its name in any case.
pub fn lookup(name: &[u8]) -> Option<&'static Spec> {
    let mut upper = [0; LONGEST_NAME];
    let upper = upper.get_mut(..name.len())?;
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    BY_NAME.get(&*upper).copied()
}

/// The row that a command line calls, its length checked. Fails as Redis does.
pub fn resolve(argv: &[&[u8]]) -> Result<&'static Spec, WireError> {
    let spec = find(argv)?;
    if spec.accepts(argv.len()) { Ok(spec) } else { Err(spec.arity_error()) }
}

/// The row that a command line calls, whatever its length. Fails as Redis does.
pub fn find(argv: &[&[u8]]) -> Result<&'static Spec, WireError> {
    let name = argv.first().copied().unwrap_or_default();
    let mut spec = lookup(name).ok_or_else(|| unknown_command(argv))?;
    if !spec.subs.is_empty() && argv.len() > 1 {
        spec = spec.sub(argv[1]).ok_or_else(|| unknown_subcommand(spec, argv[1]))?;
    }
    Ok(spec)
}

fn unknown_command(argv: &[&[u8]]) -> WireError {
    let name = argv.first().copied().unwrap_or_default();
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(printed(name, 128));
    text.extend_from_slice(b"', with args beginning with: ");
    let start = text.len();
    for arg in argv.iter().skip(1) {
        let used = text.len() - start;
        if used >= 128 {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(printed(arg, 128 - used));
        text.extend_from_slice(b"' ");
    }
    WireError::new(text)
}

fn unknown_subcommand(container: &Spec, sub: &[u8]) -> WireError {
    let mut text = b"ERR unknown subcommand '".to_vec();
    text.extend_from_slice(printed(sub, 128));
    text.extend_from_slice(format!("'. Try {} HELP.", container.name).as_bytes());
    WireError::new(text)
}

/// What C's `%.*s` prints: up to `most` bytes, and nothing from a zero byte on.
fn printed(text: &[u8], most: usize) -> &[u8] {
    let text = &text[..text.len().min(most)];
    text.split(|&b| b == 0).next().unwrap_or_default()
}
