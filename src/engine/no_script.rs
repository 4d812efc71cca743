//! What stands for scripts where the feature `lua` is off: an error that says so.

use super::Shared;
use crate::commands::{Cx, Reply, ScriptOp, Spec};
use crate::error::WireError;

pub(super) fn run(_: &Shared, _: &Spec, _: ScriptOp, _: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Err(WireError::fixed("ERR scripts need the feature 'lua', without which this was built"))
}
