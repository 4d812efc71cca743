//! `cjson`: JSON from Lua values and back.
//!
//! Each table of functions, the global one and what `cjson.new` makes, has settings of its own. As
//! in Redis they outlive the script that changed them, until SCRIPT FLUSH.

mod decode;
mod encode;
mod number;

use std::sync::Arc;

use mlua::{Function, Lua, MultiValue, Table, Value};
use parking_lot::Mutex;

use super::args::{Args, c_string};
use decode::Decoder;
use encode::Encoder;

/// What is written for a number that is infinite or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invalid {
    Refused,
    Written,
    Null,
}

/// The settings. All integers are from 0 to `i32::MAX`.
#[derive(Clone, Copy, Debug)]
struct Config {
    encode_invalid_numbers: Invalid,
    decode_invalid_numbers: bool,
    encode_keep_buffer: bool,
    encode_max_depth: i32,
    decode_max_depth: i32,
    /// Digits of a number, 1 to 14.
    encode_number_precision: i32,
    /// Whether too sparse an array is written as an object, else refused.
    sparse_convert: bool,
    /// Too sparse has more than so many places for an element; 0: none is too sparse.
    sparse_ratio: i32,
    /// None is too sparse up to so many places.
    sparse_safe: i32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            encode_invalid_numbers: Invalid::Refused,
            decode_invalid_numbers: true,
            encode_keep_buffer: true,
            encode_max_depth: 1_000,
            decode_max_depth: 1_000,
            encode_number_precision: 14,
            sparse_convert: false,
            sparse_ratio: 2,
            sparse_safe: 10,
        }
    }
}

type Shared = Arc<Mutex<Config>>;

pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    let next: Function = lua.globals().raw_get("next")?;
    lua.globals().raw_set("cjson", instance(lua, &next)?)
}

/// A table of the functions, with settings of its own.
fn instance(lua: &Lua, next: &Function) -> mlua::Result<Table> {
    let config = Shared::default();
    let table = lua.create_table()?;
    let settings: [(&str, Setting); 7] = [
        ("encode_sparse_array", sparse_array),
        ("encode_max_depth", |args, config| depth(args, &mut config.encode_max_depth)),
        ("decode_max_depth", |args, config| depth(args, &mut config.decode_max_depth)),
        ("encode_number_precision", |args, config| {
            at_most(args, 1)?;
            integer_option(args, 1, &mut config.encode_number_precision, 1, 14).map(one)
        }),
        ("encode_keep_buffer", |args, config| switch(args, &mut config.encode_keep_buffer)),
        ("encode_invalid_numbers", invalid_numbers),
        ("decode_invalid_numbers", |args, config| switch(args, &mut config.decode_invalid_numbers)),
    ];
    for (name, setting) in settings {
        let config = Arc::clone(&config);
        let call =
            move |lua: &Lua, args: MultiValue| setting(Args::new(lua, &args), &mut config.lock());
        table.raw_set(name, lua.create_function(call)?)?;
    }
    let (settings, walk) = (Arc::clone(&config), next.clone());
    let encode = move |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        let value = only(args)?;
        let config = *settings.lock();
        lua.create_string(Encoder::new(args, &walk, &config).encode(value)?)
    };
    table.raw_set("encode", lua.create_function(encode)?)?;
    let decode = move |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        only(args)?;
        let text = args.string(1)?;
        let config = *config.lock();
        Decoder::new(args, &config, &text.as_bytes()).decode()
    };
    table.raw_set("decode", lua.create_function(decode)?)?;
    let next = next.clone();
    let new = lua.create_function(move |lua: &Lua, _: MultiValue| instance(lua, &next))?;
    table.raw_set("new", new)?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    Ok(table)
}

/// Changes a setting if there are arguments, and says what it is.
type Setting = fn(Args<'_>, &mut Config) -> mlua::Result<MultiValue>;

fn one(value: Value) -> MultiValue {
    MultiValue::from_iter([value])
}

fn only(args: Args<'_>) -> mlua::Result<&Value> {
    let value = args.get(1).filter(|_| args.len() == 1);
    value.ok_or_else(|| args.bad(1, "expected 1 argument"))
}

fn at_most(args: Args<'_>, count: usize) -> mlua::Result<()> {
    if args.len() > count {
        return Err(args.bad(count + 1, "found too many arguments"));
    }
    Ok(())
}

fn depth(args: Args<'_>, setting: &mut i32) -> mlua::Result<MultiValue> {
    at_most(args, 1)?;
    integer_option(args, 1, setting, 1, i32::MAX).map(one)
}

fn switch(args: Args<'_>, setting: &mut bool) -> mlua::Result<MultiValue> {
    at_most(args, 1)?;
    bool_option(args, 1, setting).map(one)
}

fn sparse_array(args: Args<'_>, config: &mut Config) -> mlua::Result<MultiValue> {
    at_most(args, 3)?;
    Ok(MultiValue::from_iter([
        bool_option(args, 1, &mut config.sparse_convert)?,
        integer_option(args, 2, &mut config.sparse_ratio, 0, i32::MAX)?,
        integer_option(args, 3, &mut config.sparse_safe, 0, i32::MAX)?,
    ]))
}

fn invalid_numbers(args: Args<'_>, config: &mut Config) -> mlua::Result<MultiValue> {
    at_most(args, 1)?;
    let setting = &mut config.encode_invalid_numbers;
    if args.given(1).is_some() {
        *setting = match choice(args, 1, &["off", "on", "null"])? {
            0 => Invalid::Refused,
            1 => Invalid::Written,
            _ => Invalid::Null,
        };
    }
    Ok(one(match setting {
        Invalid::Null => Value::String(args.lua.create_string("null")?),
        other => Value::Boolean(*other == Invalid::Written),
    }))
}

/// Blames the first argument even if it is not the first that is bad, as the original does.
fn integer_option(
    args: Args<'_>,
    index: usize,
    setting: &mut i32,
    least: i32,
    most: i32,
) -> mlua::Result<Value> {
    if args.given(index).is_some() {
        let value = args.integer(index)? as i32;
        if !(least..=most).contains(&value) {
            return Err(args.bad(1, format!("expected integer between {least} and {most}")));
        }
        *setting = value;
    }
    Ok(Value::Number(f64::from(*setting)))
}

fn bool_option(args: Args<'_>, index: usize, setting: &mut bool) -> mlua::Result<Value> {
    if args.given(index).is_some() {
        *setting = choice(args, index, &["off", "on"])? == 1;
    }
    Ok(Value::Boolean(*setting))
}

/// Which of the options it is; `false` and `true` are the first two.
fn choice(args: Args<'_>, index: usize, options: &[&str]) -> mlua::Result<usize> {
    if let Some(Value::Boolean(on)) = args.get(index) {
        return Ok(usize::from(*on));
    }
    let text = args.string(index)?;
    let text = text.as_bytes();
    let text = c_string(&text);
    let found = options.iter().position(|option| option.as_bytes() == text);
    found.ok_or_else(|| args.bad(index, [b"invalid option '", text, b"'"].concat()))
}
