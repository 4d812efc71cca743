//! Replies as Lua values, and Lua values as replies: Redis's tables of conversion.

use mlua::{Either, IntoLua, Lua, Table, Value as LuaValue};

use crate::bytes::Bytes;
use crate::commands::Reply;
use crate::error::WireError;
use crate::resp::double::push_f64;
use crate::resp::{Protocol, Value};

/// How deep tables may lie inside each other in a reply. (In Redis about 8,000: what the stack of
/// its interpreter holds.)
const DEPTH: usize = 127;

/// The names of fields that say what a table is.
#[derive(Debug)]
pub(super) struct Fields {
    err: mlua::String,
    ok: mlua::String,
    double: mlua::String,
    map: mlua::String,
    set: mlua::String,
    big_number: mlua::String,
    verbatim: mlua::String,
    format: mlua::String,
    string: mlua::String,
}

impl Fields {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self {
            err: lua.create_string("err")?,
            ok: lua.create_string("ok")?,
            double: lua.create_string("double")?,
            map: lua.create_string("map")?,
            set: lua.create_string("set")?,
            big_number: lua.create_string("big_number")?,
            verbatim: lua.create_string("verbatim_string")?,
            format: lua.create_string("format")?,
            string: lua.create_string("string")?,
        })
    }
}

/// A string on its way to Lua: as it is where it is UTF-8, which saves the binding a handle.
pub(super) type Text<'t> = Either<&'t str, Raw<'t>>;

/// Bytes on their way to Lua.
pub(super) struct Raw<'t>(&'t [u8]);

impl IntoLua for Raw<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        lua.create_string(self.0).map(LuaValue::String)
    }
}

pub(super) fn text(bytes: &[u8]) -> Text<'_> {
    std::str::from_utf8(bytes).map_or(Either::Right(Raw(bytes)), Either::Left)
}

/// A reply on its way to a script that has asked for `protocol`.
struct Item<'v> {
    value: &'v Value,
    protocol: Protocol,
}

impl IntoLua for Item<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        to_lua(lua, self.value, self.protocol)
    }
}

/// What `redis.call` returns: most often a string.
pub(super) type Returned = Either<String, LuaValue>;

/// A reply as a script sees it that has asked for `protocol`.
pub(super) fn returned(lua: &Lua, value: Value, protocol: Protocol) -> mlua::Result<Returned> {
    match value {
        Value::Bulk(bytes) => match String::from_utf8(bytes.into_vec()) {
            Ok(text) => Ok(Either::Left(text)),
            Err(error) => Raw(error.as_bytes()).into_lua(lua).map(Either::Right),
        },
        value => to_lua(lua, &value, protocol).map(Either::Right),
    }
}

fn to_lua(lua: &Lua, value: &Value, protocol: Protocol) -> mlua::Result<LuaValue> {
    let resp3 = protocol == Protocol::Resp3;
    let string = |bytes| Raw(bytes).into_lua(lua);
    match value {
        Value::Nil | Value::NilArray if resp3 => Ok(LuaValue::Nil),
        Value::Nil | Value::NilArray => Ok(LuaValue::Boolean(false)),
        Value::Simple(status) => tagged(lua, "ok", &**status),
        Value::Error(error) => tagged(lua, "err", text(error.as_bytes())),
        Value::Bulk(bytes) => string(bytes),
        Value::Int(n) => Ok(LuaValue::Number(*n as f64)),
        Value::Double(x) if resp3 => tagged(lua, "double", *x),
        Value::Double(x) => {
            let mut text = Vec::with_capacity(24);
            push_f64(&mut text, *x);
            string(&text)
        }
        Value::Bool(yes) if resp3 => Ok(LuaValue::Boolean(*yes)),
        Value::Bool(yes) => Ok(LuaValue::Number(f64::from(*yes))),
        Value::Verbatim(format, content) if resp3 => {
            let parts = [("format", text(format)), ("string", text(content))];
            tagged(lua, "verbatim_string", lua.create_table_from(parts)?)
        }
        Value::BigNumber(digits) if resp3 => tagged(lua, "big_number", text(digits)),
        Value::Verbatim(_, text) | Value::BigNumber(text) => string(text),
        Value::Map(pairs) if resp3 => {
            let pairs = pairs.iter().map(|(k, v)| (item(k, protocol), item(v, protocol)));
            // Their number is hidden, so that the table grows as in Redis: on that depends the
            // order in which it is walked.
            tagged(lua, "map", lua.create_table_from(pairs.filter(|_| true))?)
        }
        Value::Set(items) if resp3 => {
            let members = items.iter().map(|member| (item(member, protocol), true));
            tagged(lua, "set", lua.create_table_from(members.filter(|_| true))?)
        }
        Value::Map(pairs) => {
            let items = pairs.iter().flat_map(|(k, v)| [k, v]);
            list(lua, items.map(|value| item(value, protocol)))
        }
        Value::Array(items) | Value::Set(items) | Value::Push(items) | Value::Several(items) => {
            list(lua, items.iter().map(|value| item(value, protocol)))
        }
    }
}

fn item(value: &Value, protocol: Protocol) -> Either<&str, Item<'_>> {
    match value {
        Value::Bulk(bytes) => {
            std::str::from_utf8(bytes).map_or(Either::Right(Item { value, protocol }), Either::Left)
        }
        value => Either::Right(Item { value, protocol }),
    }
}

fn list(lua: &Lua, items: impl Iterator<Item: IntoLua>) -> mlua::Result<LuaValue> {
    lua.create_sequence_from(items).map(LuaValue::Table)
}

/// A table with one field.
fn tagged(lua: &Lua, name: &str, value: impl IntoLua) -> mlua::Result<LuaValue> {
    lua.create_table_from([(name, value)]).map(LuaValue::Table)
}

/// What a script returns, as a reply. `protocol` is the one that it has asked for.
pub(super) fn to_reply(value: &LuaValue, protocol: Protocol, fields: &Fields) -> Reply {
    let reading = Reading { protocol, fields };
    Ok(reading.read(value, 0).unwrap_or_else(|e| Value::Error(WireError::new(format!("ERR {e}")))))
}

struct Reading<'f> {
    protocol: Protocol,
    fields: &'f Fields,
}

impl Reading<'_> {
    fn read(&self, value: &LuaValue, depth: usize) -> mlua::Result<Value> {
        Ok(match value {
            LuaValue::String(text) => Value::bulk(text.as_bytes()),
            LuaValue::Boolean(yes) if self.protocol == Protocol::Resp3 => Value::Bool(*yes),
            LuaValue::Boolean(true) => Value::Int(1),
            LuaValue::Integer(n) => Value::Int(*n),
            LuaValue::Number(x) => Value::Int(truncate(*x)),
            LuaValue::Table(_) if depth == DEPTH => {
                Value::Error(WireError::fixed("ERR reached lua stack limit"))
            }
            LuaValue::Table(table) => self.table(table, depth + 1)?,
            _ => Value::Nil,
        })
    }

    fn table(&self, table: &Table, depth: usize) -> mlua::Result<Value> {
        let field = |name: &mlua::String| table.raw_get::<LuaValue>(name);
        if let LuaValue::String(text) = field(&self.fields.err)? {
            return Ok(Value::Error(WireError::new(text.as_bytes().to_vec())));
        }
        if let LuaValue::String(text) = field(&self.fields.ok)? {
            let text = text.to_string_lossy().replace(['\r', '\n'], " ");
            return Ok(Value::Simple(text.into()));
        }
        match field(&self.fields.double)? {
            LuaValue::Number(x) => return Ok(Value::Double(x)),
            LuaValue::Integer(n) => return Ok(Value::Double(n as f64)),
            _ => {}
        }
        if let LuaValue::String(digits) = field(&self.fields.big_number)? {
            return Ok(Value::BigNumber(one_line(&digits.as_bytes())));
        }
        if let LuaValue::Table(verbatim) = field(&self.fields.verbatim)?
            && let LuaValue::String(format) = verbatim.raw_get(&self.fields.format)?
            && let LuaValue::String(text) = verbatim.raw_get(&self.fields.string)?
        {
            let mut three = *b"   ";
            three.iter_mut().zip(&*format.as_bytes()).for_each(|(to, from)| *to = *from);
            return Ok(Value::Verbatim(three, Bytes::copy_from(&text.as_bytes())));
        }
        if let LuaValue::Table(map) = field(&self.fields.map)? {
            let mut pairs = Vec::new();
            for pair in map.pairs::<LuaValue, LuaValue>() {
                let (key, value) = pair?;
                pairs.push((self.read(&key, depth)?, self.read(&value, depth)?));
            }
            return Ok(Value::Map(pairs));
        }
        if let LuaValue::Table(set) = field(&self.fields.set)? {
            let mut items = Vec::new();
            for pair in set.pairs::<LuaValue, LuaValue>() {
                items.push(self.read(&pair?.0, depth)?);
            }
            return Ok(Value::Set(items));
        }
        let mut items = Vec::new();
        for at in 1.. {
            match table.raw_get::<LuaValue>(at)? {
                LuaValue::Nil => break,
                item => items.push(self.read(&item, depth)?),
            }
        }
        Ok(Value::Array(items))
    }
}

fn one_line(text: &[u8]) -> Bytes {
    let plain = |&b: &u8| if matches!(b, b'\r' | b'\n') { b' ' } else { b };
    text.iter().map(plain).collect::<Vec<u8>>().into()
}

/// A number without its fraction, as C makes an integer of it on the usual machines.
pub(super) fn truncate(x: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&x) { x as i64 } else { i64::MIN }
}

/// The text of a string or of a whole number.
pub(super) fn text_of(value: &LuaValue) -> Option<Vec<u8>> {
    match value {
        LuaValue::String(text) => Some(text.as_bytes().to_vec()),
        LuaValue::Integer(n) => Some(n.to_string().into_bytes()),
        _ => None,
    }
}
