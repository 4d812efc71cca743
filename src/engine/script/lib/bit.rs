//! `bit`: operations on 32 bits.
//!
//! A number is reduced to 32 bits by adding 2^52 + 2^51: the low half of the sum is its integer
//! part, rounded to even, modulo 2^32. Far beyond 2^51 that means little, and the same. Results are
//! signed.

use mlua::{Lua, MultiValue};

use super::args::Args;

/// An operation on one word, and on two.
type Unary = (&'static str, fn(u32) -> u32);
type Binary = (&'static str, fn(u32, u32) -> u32);

pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    let table = lua.create_table()?;
    let one: [Unary; 3] = [("tobit", |a| a), ("bnot", |a| !a), ("bswap", u32::swap_bytes)];
    for (name, f) in one {
        let call =
            move |lua: &Lua, args: MultiValue| bits(Args::new(lua, &args), 1).map(|a| f(a) as i32);
        table.raw_set(name, lua.create_function(call)?)?;
    }
    let many: [Binary; 3] = [("band", |a, b| a & b), ("bor", |a, b| a | b), ("bxor", |a, b| a ^ b)];
    for (name, f) in many {
        let call = move |lua: &Lua, args: MultiValue| {
            let args = Args::new(lua, &args);
            // The first, then the others from the last: so is the first bad one found.
            let others = (2..=args.len()).rev();
            let result = others.fold(bits(args, 1), |a, at| Ok(f(a?, bits(args, at)?)));
            result.map(|a| a as i32)
        };
        table.raw_set(name, lua.create_function(call)?)?;
    }
    let shifts: [Binary; 5] = [
        ("lshift", |a, n| a << n),
        ("rshift", |a, n| a >> n),
        ("arshift", |a, n| (a as i32 >> n) as u32),
        ("rol", u32::rotate_left),
        ("ror", u32::rotate_right),
    ];
    for (name, f) in shifts {
        let call = move |lua: &Lua, args: MultiValue| {
            let args = Args::new(lua, &args);
            Ok(f(bits(args, 1)?, bits(args, 2)? & 31) as i32)
        };
        table.raw_set(name, lua.create_function(call)?)?;
    }
    let hex = |lua: &Lua, args: MultiValue| to_hex(Args::new(lua, &args));
    table.raw_set("tohex", lua.create_function(hex)?)?;
    lua.globals().raw_set("bit", table)
}

fn bits(args: Args<'_>, index: usize) -> mlua::Result<u32> {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    Ok((args.number(index)? + SHIFT).to_bits() as u32)
}

/// So many of the last hexadecimal digits; in capitals if that number is negative.
fn to_hex(args: Args<'_>) -> mlua::Result<String> {
    let value = bits(args, 1)?;
    let digits = if args.get(2).is_none() { 8 } else { bits(args, 2)? as i32 };
    let text = if digits < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    let kept = digits.unsigned_abs().min(8) as usize;
    Ok(text[8 - kept..].to_string())
}
