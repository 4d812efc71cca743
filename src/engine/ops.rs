//! The commands that belong to the session or to the whole engine.

use super::Session;
use crate::commands::{Cx, Reply, SessionOp};
use crate::error::WireError;
use crate::resp::Value;

/// Runs one. `cx` holds the locks that the command's row asks for.
pub(super) fn run(session: &mut Session, op: SessionOp, _cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    match op {
        SessionOp::Multi => session.multi(),
        SessionOp::Exec => session.exec(),
        SessionOp::Discard => session.discard(),
        SessionOp::Watch => session.watch(&argv[1..]),
        SessionOp::Unwatch => {
            session.unwatch_all();
            Ok(Value::OK)
        }
        _ => Err(WireError::fixed("ERR not yet")),
    }
}
