//! [`Args`]: the arguments of a function, read and refused as Lua's C functions do.

use mlua::{Lua, MultiValue, Value};

use super::super::{api, convert, raise};

/// What a function was called with. The first argument has number 1.
#[derive(Clone, Copy)]
pub(super) struct Args<'a> {
    pub(super) lua: &'a Lua,
    values: &'a MultiValue,
}

impl<'a> Args<'a> {
    pub(super) fn new(lua: &'a Lua, values: &'a MultiValue) -> Self {
        Self { lua, values }
    }

    pub(super) fn len(self) -> usize {
        self.values.len()
    }

    /// The argument, if there are so many.
    pub(super) fn get(self, index: usize) -> Option<&'a Value> {
        self.values.get(index.checked_sub(1)?)
    }

    /// The argument unless it is nil or missing.
    pub(super) fn given(self, index: usize) -> Option<&'a Value> {
        self.get(index).filter(|value| !value.is_nil())
    }

    /// A string, or the text of a number.
    pub(super) fn string(self, index: usize) -> mlua::Result<mlua::String> {
        self.string_of(index, self.get(index))
    }

    /// A number, or a string that reads as one.
    pub(super) fn number(self, index: usize) -> mlua::Result<f64> {
        self.number_of(index, self.get(index))
    }

    /// As [`Args::string`], of that value.
    pub(super) fn string_of(
        self,
        index: usize,
        value: Option<&Value>,
    ) -> mlua::Result<mlua::String> {
        let text = match value {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Integer(_) | Value::Number(_)) => {
                value.map(|n| self.lua.coerce_string(n.clone())).transpose()?.flatten()
            }
            _ => None,
        };
        text.ok_or_else(|| raise::bad_type(self.lua, index, "string", value))
    }

    /// As [`Args::number`], of that value.
    pub(super) fn number_of(self, index: usize, value: Option<&Value>) -> mlua::Result<f64> {
        let number = match value {
            Some(&Value::Integer(n)) => Some(n as f64),
            Some(&Value::Number(x)) => Some(x),
            _ => api::number(self.lua, value),
        };
        number.ok_or_else(|| raise::bad_type(self.lua, index, "number", value))
    }

    /// A number, its fraction cut off.
    pub(super) fn integer(self, index: usize) -> mlua::Result<i64> {
        self.number(index).map(convert::truncate)
    }

    /// The same, or `default` if it is nil or missing.
    pub(super) fn integer_or(self, index: usize, default: i64) -> mlua::Result<i64> {
        if self.given(index).is_some() { self.integer(index) } else { Ok(default) }
    }

    /// The error for this argument.
    pub(super) fn bad(self, index: usize, problem: impl AsRef<[u8]>) -> mlua::Error {
        raise::bad_argument(self.lua, index, problem)
    }

    /// An error that is about no argument.
    pub(super) fn error(self, text: impl AsRef<[u8]>) -> mlua::Error {
        raise::text(self.lua, text)
    }
}

/// A text as C reads it: up to a zero byte.
pub(super) fn c_string(text: &[u8]) -> &[u8] {
    text.split(|&b| b == 0).next().unwrap_or_default()
}
