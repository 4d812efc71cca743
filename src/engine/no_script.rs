//! What stands for scripts where the feature `lua` is off: an error that says so.

use super::Shared;
use crate::commands::{Cx, Reply, ScriptOp, Spec};
use crate::error::WireError;

/// What INFO says of scripts.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) interpreter: usize,
    pub(super) cached_bytes: usize,
    pub(super) cached: usize,
}

pub(super) fn usage(_: &Shared) -> Usage {
    Usage::default()
}

/// Whether a script has been running too long.
pub(super) fn is_overdue(_: &Shared) -> bool {
    false
}

pub(super) fn run(_: &Shared, _: &Spec, _: ScriptOp, _: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Err(WireError::fixed("ERR scripts need the feature 'lua', without which this was built"))
}
