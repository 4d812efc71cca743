//! Replies as Lua values, and Lua values as replies, as Redis 7.0 converts them.

use mlua::{Lua, Result, Table, Value as Lv};

use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::{Protocol, Value};
use crate::types::number::{format_f64, parse_i64};

/// How deep a table may be nested in a reply; Redis is bound by the stack of its interpreter.
const MAX_DEPTH: usize = 128;

/// A reply as the Lua value that `redis.call` gives.
pub(super) fn to_lua(lua: &Lua, reply: &Value, protocol: Protocol) -> Result<Lv> {
    let resp3 = protocol == Protocol::Resp3;
    Ok(match reply {
        Value::Nil | Value::NilArray if resp3 => Lv::Nil,
        Value::Nil | Value::NilArray => Lv::Boolean(false),
        Value::Int(n) => Lv::Number(*n as f64),
        Value::Bulk(bytes) => Lv::String(lua.create_string(&**bytes)?),
        Value::Simple(text) => tagged(lua, "ok", text.as_bytes())?,
        Value::Error(error) => tagged(lua, "err", error.as_bytes())?,
        Value::Double(x) if resp3 => {
            let table = lua.create_table()?;
            table.raw_set("double", *x)?;
            Lv::Table(table)
        }
        Value::Double(x) => Lv::String(lua.create_string(format_f64(*x))?),
        Value::Bool(yes) if resp3 => Lv::Boolean(*yes),
        Value::Bool(yes) => Lv::Number(f64::from(u8::from(*yes))),
        Value::Set(items) if resp3 => {
            let set = lua.create_table()?;
            for item in items {
                set.raw_set(to_lua(lua, item, protocol)?, true)?;
            }
            wrapped(lua, "set", set)?
        }
        Value::Array(items) | Value::Push(items) | Value::Set(items) => list(lua, items, protocol)?,
        Value::Map(pairs) if resp3 => {
            let map = lua.create_table()?;
            for (key, value) in pairs {
                map.raw_set(to_lua(lua, key, protocol)?, to_lua(lua, value, protocol)?)?;
            }
            wrapped(lua, "map", map)?
        }
        Value::Map(pairs) => {
            let flat = lua.create_table_with_capacity(pairs.len() * 2, 0)?;
            for (at, item) in pairs.iter().flat_map(|(key, value)| [key, value]).enumerate() {
                flat.raw_set(at + 1, to_lua(lua, item, protocol)?)?;
            }
            Lv::Table(flat)
        }
        Value::Verbatim(format, text) if resp3 => {
            let inner = lua.create_table()?;
            inner.raw_set("format", lua.create_string(format)?)?;
            inner.raw_set("string", lua.create_string(&**text)?)?;
            wrapped(lua, "verbatim_string", inner)?
        }
        Value::BigNumber(digits) if resp3 => tagged(lua, "big_number", digits)?,
        Value::Verbatim(_, text) | Value::BigNumber(text) => {
            Lv::String(lua.create_string(&**text)?)
        }
    })
}

fn list(lua: &Lua, items: &[Value], protocol: Protocol) -> Result<Lv> {
    let table = lua.create_table_with_capacity(items.len(), 0)?;
    for (at, item) in items.iter().enumerate() {
        table.raw_set(at + 1, to_lua(lua, item, protocol)?)?;
    }
    Ok(Lv::Table(table))
}

/// `{name = text}`
pub(super) fn tagged(lua: &Lua, name: &str, text: &[u8]) -> Result<Lv> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, lua.create_string(text)?)?;
    Ok(Lv::Table(table))
}

fn wrapped(lua: &Lua, name: &str, inner: Table) -> Result<Lv> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, inner)?;
    Ok(Lv::Table(table))
}

/// What a script returns, as the reply to its caller.
pub(super) fn to_reply(value: &Lv, script: Protocol) -> Value {
    convert(value, script, 0)
}

fn convert(value: &Lv, script: Protocol, depth: usize) -> Value {
    match value {
        Lv::Boolean(yes) if script == Protocol::Resp3 => Value::Bool(*yes),
        Lv::Boolean(true) => Value::Int(1),
        Lv::Integer(n) => Value::Int(*n),
        Lv::Number(x) => Value::Int(truncated(*x)),
        Lv::String(text) => Value::bulk(text.as_bytes()),
        Lv::Table(_) if depth >= MAX_DEPTH => {
            Value::Error(WireError::fixed("ERR reached lua stack limit"))
        }
        Lv::Table(table) => from_table(table, script, depth),
        _ => Value::Nil,
    }
}

/// As C converts a double to an integer on the machines that Redis runs on.
fn truncated(x: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&x) { x as i64 } else { i64::MIN }
}

fn from_table(table: &Table, script: Protocol, depth: usize) -> Value {
    let field = |name: &str| table.raw_get::<Lv>(name).unwrap_or(Lv::Nil);
    if let Lv::String(text) = field("err") {
        return Value::Error(error_text(&text.as_bytes()));
    }
    if let Lv::String(text) = field("ok") {
        let text = text.to_string_lossy().replace(['\r', '\n'], " ");
        return Value::Simple(text.into());
    }
    if let Lv::Number(x) = field("double") {
        return Value::Double(x);
    }
    if let Lv::Table(map) = field("map") {
        let pairs = map.pairs::<Lv, Lv>().flatten();
        let pair =
            |(k, v): (Lv, Lv)| (convert(&k, script, depth + 1), convert(&v, script, depth + 1));
        return Value::Map(pairs.map(pair).collect());
    }
    if let Lv::Table(set) = field("set") {
        let items = set.pairs::<Lv, Lv>().flatten();
        return Value::Set(items.map(|(item, _)| convert(&item, script, depth + 1)).collect());
    }
    if let Lv::String(digits) = field("big_number") {
        let digits: Vec<u8> = digits.as_bytes().to_vec();
        return Value::BigNumber(Bytes::from(digits));
    }
    if let Lv::Table(text) = field("verbatim_string") {
        let get = |name| text.raw_get::<mlua::String>(name);
        if let (Ok(format), Ok(text)) = (get("format"), get("string")) {
            let format = <[u8; 3]>::try_from(&*format.as_bytes()).unwrap_or(*b"txt");
            return Value::Verbatim(format, Bytes::copy_from(&text.as_bytes()));
        }
    }
    let mut items = Vec::new();
    loop {
        match table.raw_get::<Lv>(items.len() + 1) {
            Ok(Lv::Nil) | Err(_) => return Value::Array(items),
            Ok(item) => items.push(convert(&item, script, depth + 1)),
        }
    }
}

/// The text of an error that a script made; a leading dash is Redis's own mark.
fn error_text(text: &[u8]) -> WireError {
    WireError::new(text.strip_prefix(b"-").unwrap_or(text))
}

/// An argument of `redis.call` as the server reads it.
pub(super) fn argument(value: &Lv) -> Option<Bytes> {
    match value {
        Lv::String(text) => Some(Bytes::copy_from(&text.as_bytes())),
        Lv::Integer(n) => Some(Bytes::copy_from(itoa::Buffer::new().format(*n).as_bytes())),
        Lv::Number(x) => Some(Bytes::copy_from(format_f64(*x).as_bytes())),
        _ => None,
    }
}

/// An integer from Lua, whatever it is written as.
pub(super) fn integer(value: &Lv) -> Option<i64> {
    match value {
        Lv::Integer(n) => Some(*n),
        Lv::Number(x) => Some(truncated(*x)),
        Lv::String(text) => parse_i64(&text.as_bytes()),
        _ => None,
    }
}
