//! `cmsgpack`: `MessagePack` from Lua values and back.
//!
//! Whole numbers are written as integers, others as floats where nothing is lost, else as doubles.
//! Of nested tables 16 levels are written, and nil for what is deeper. There are no binary and no
//! extension types.

mod decode;
mod encode;

use mlua::{Lua, MultiValue, Value};

use super::STACK;
use super::args::Args;
use decode::Decoder;
use encode::Encoder;

pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    let table = lua.create_table()?;
    let pack = |lua: &Lua, args: MultiValue| pack(Args::new(lua, &args));
    table.raw_set("pack", lua.create_function(pack)?)?;
    let unpack = |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        read(args, None, args.len())
    };
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    let unpack_one = |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        let offset = args.integer_or(2, 0)?;
        read(args, Some(Part { limit: 1, offset }), 1)
    };
    table.raw_set("unpack_one", lua.create_function(unpack_one)?)?;
    let unpack_limit = |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        let limit = args.integer(2)?;
        let offset = args.integer_or(3, 0)?;
        read(args, Some(Part { limit, offset }), 1)
    };
    table.raw_set("unpack_limit", lua.create_function(unpack_limit)?)?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.raw_set("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo")?;
    table.raw_set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    lua.globals().raw_set("cmsgpack", table)
}

fn pack(args: Args<'_>) -> mlua::Result<mlua::String> {
    if args.len() == 0 {
        return Err(args.bad(0, "MessagePack pack needs input."));
    }
    if 2 * args.len() > STACK {
        return Err(args.bad(0, "Too many arguments for MessagePack pack."));
    }
    let mut encoder = Encoder::new(args);
    for index in 1..=args.len() {
        // On the stack lie the arguments, the results so far, and the argument once more.
        encoder.encode(args.get(index).unwrap_or(&Value::Nil), args.len() + index)?;
    }
    args.lua.create_string(encoder.finish())
}

/// What of the input is to be read: so many values, from there on.
struct Part {
    limit: i64,
    offset: i64,
}

/// Reads values, all if there is no part; of a part, where the rest begins comes first, or -1.
/// `slots` of the stack are in use.
fn read(args: Args<'_>, part: Option<Part>, slots: usize) -> mlua::Result<MultiValue> {
    let input = args.string(1)?;
    let input = input.as_bytes();
    let part = part.filter(|part| part.limit != 0 || part.offset != 0);
    let Part { limit, offset } = part.as_ref().unwrap_or(&Part { limit: i64::MAX, offset: 0 });
    let length = input.len();
    if *offset < 0 || *limit < 0 {
        return Err(args.error(format!(
            "Invalid request to unpack with offset of {} and limit of {}.",
            *offset as i32, length as i32
        )));
    }
    let Some(rest) = usize::try_from(*offset).ok().and_then(|offset| input.get(offset..)) else {
        return Err(args.error(format!(
            "Start offset {} greater than input length {}.",
            *offset as i32, length as i32
        )));
    };
    let mut decoder = Decoder::new(args, rest, slots);
    let mut values = decoder.values(*limit as usize)?;
    if part.is_some() {
        decoder.need_slots(1, "in function mp_unpack_full")?;
        let left = decoder.left();
        let next = if left == 0 { -1.0 } else { (length - left) as f64 };
        values.push_front(Value::Number(next));
    }
    Ok(values)
}
