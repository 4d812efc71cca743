//! Errors on their way from the host into a script.
//!
//! A function of the host fails with an [`mlua::Error`], which reaches Lua as an opaque object.
//! Wherever a script can see an error (`pcall`, `xpcall`, `coroutine.resume`), the prelude asks
//! [`surface`] for what the script is to see instead: the table or the text that Redis has there.

use std::fmt;

use mlua::{Lua, Value};

/// What a host function fails with.
#[derive(Clone, Debug)]
enum Raised {
    /// As `redis.call` fails: a table whose `err` is the text of an error reply.
    Reply(Vec<u8>),
    /// As functions of Lua's own libraries fail: a text.
    Text(Vec<u8>),
    /// SCRIPT KILL. No script can catch it.
    Killed,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(text) | Self::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Killed => f.write_str(KILLED),
        }
    }
}

impl std::error::Error for Raised {}

const KILLED: &str = "ERR Script killed by user with SCRIPT KILL...";

/// Fails as `redis.call` does, with the text of an error reply.
pub(super) fn reply(text: impl Into<Vec<u8>>) -> mlua::Error {
    mlua::Error::external(Raised::Reply(text.into()))
}

/// Fails as Lua's own functions do: the text, behind the place from which the running function was
/// called.
pub(super) fn text(lua: &Lua, text: impl AsRef<[u8]>) -> mlua::Error {
    let place = lua.inspect_stack(1, |frame| {
        let line = frame.current_line()?;
        Some(format!("{}:{line}: ", frame.source().short_src?))
    });
    let place = place.flatten().unwrap_or_default();
    unplaced([place.as_bytes(), text.as_ref()].concat())
}

/// Fails as Lua itself does while a function runs that is not written in Lua: with the text alone.
pub(super) fn unplaced(text: impl Into<Vec<u8>>) -> mlua::Error {
    mlua::Error::external(Raised::Text(text.into()))
}

/// Fails as a function of Lua's does that got a bad argument; the first has number 1. One that was
/// called as a method does not count the object.
pub(super) fn bad_argument(lua: &Lua, index: usize, problem: impl AsRef<[u8]>) -> mlua::Error {
    let name = name_at(lua, 0).unwrap_or_else(|| NAMELESS.to_string());
    let method = lua.inspect_stack(0, |frame| frame.names().name_what == Some("method"));
    let about = match index {
        1 if method == Some(true) => format!("calling '{name}' on bad self ("),
        2.. if method == Some(true) => format!("bad argument #{} to '{name}' (", index - 1),
        _ => format!("bad argument #{index} to '{name}' ("),
    };
    text(lua, [about.as_bytes(), problem.as_ref(), b")"].concat())
}

/// Fails as a function of Lua's does that wanted another type; without a value, there was none.
pub(super) fn bad_type(
    lua: &Lua,
    index: usize,
    expected: &str,
    got: Option<&Value>,
) -> mlua::Error {
    let got = got.map_or("no value", type_name);
    bad_argument(lua, index, format!("{expected} expected, got {got}"))
}

/// What Lua calls the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) | Value::Error(_) | Value::Other(_) => "userdata",
        Value::Integer(_) => "number",
        value => value.type_name(),
    }
}

/// What Lua calls a function that was called from C.
pub(super) const NAMELESS: &str = "?";

/// How the function at that level of the stack was called, where its caller's code says. In the
/// prelude `callee` is what `pcall` calls, as if from C.
pub(super) fn name_at(lua: &Lua, level: usize) -> Option<String> {
    let name =
        lua.inspect_stack(level, |frame| Some(frame.names().name?.into_owned())).flatten()?;
    Some(if name == "callee" { NAMELESS.to_string() } else { name })
}

/// Stops the script for good.
pub(super) fn killed() -> mlua::Error {
    mlua::Error::external(Raised::Killed)
}

/// What a script is to see of an error, and whether it must not see it at all but end.
pub(super) fn surface(lua: &Lua, error: Value) -> mlua::Result<(Value, bool)> {
    let Value::Error(error) = &error else { return Ok((error, false)) };
    match find(error) {
        Some(Raised::Reply(text)) => Ok((as_table(lua, text)?, false)),
        Some(Raised::Text(text)) => Ok((Value::String(lua.create_string(text)?), false)),
        Some(Raised::Killed) => Ok((as_table(lua, KILLED.as_bytes())?, true)),
        None => Ok((Value::String(lua.create_string(plain(error))?), false)),
    }
}

/// A table as `redis.pcall` returns one for an error.
pub(super) fn as_table(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let text = lua.create_string(text)?;
    let fields =
        [("err", Value::String(text)), ("ignore_error_stats_update", Value::Boolean(true))];
    lua.create_table_from(fields).map(Value::Table)
}

fn find(error: &mlua::Error) -> Option<&Raised> {
    match error {
        mlua::Error::CallbackError { cause, .. } => find(cause),
        mlua::Error::ExternalError(error) => error.downcast_ref(),
        _ => None,
    }
}

fn plain(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => plain(cause),
        mlua::Error::MemoryError(_) => "not enough memory".to_string(),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    }
}
