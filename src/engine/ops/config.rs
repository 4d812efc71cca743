//! CONFIG GET, SET, RESETSTAT and REWRITE.

use super::super::Session;
use crate::commands::Reply;
use crate::error::WireError;
use crate::resp::Value;

pub(super) fn get(session: &Session, argv: &[&[u8]]) -> Value {
    let pairs = session.shared.config.get(&argv[2..]);
    Value::Map(pairs.into_iter().map(|(n, v)| (Value::bulk(n), Value::bulk(v))).collect())
}

pub(super) fn resetstat(session: &Session) -> Value {
    session.shared.reset_stats();
    Value::OK
}

pub(super) fn rewrite() -> Reply {
    Err(WireError::fixed("ERR The server is running without a config file"))
}

pub(super) fn set(session: &Session, argv: &[&[u8]]) -> Reply {
    let keyspace = &session.shared.keyspace;
    session.shared.config.set(&argv[2..], |limits| keyspace.set_limits(limits))?;
    Ok(Value::OK)
}
