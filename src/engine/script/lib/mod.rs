//! The libraries that Redis gives its scripts beside Lua's own: `cjson` 2.1.0, `cmsgpack` 0.4.0,
//! `struct` and `bit`.
//!
//! Each file has a function `open` that puts its table into the globals; the interpreter calls them
//! before it protects the globals. A function that fails as a C function of Lua would (a bad
//! argument, say) fails with `super::raise::text`, which puts the caller's place in front.
//!
//! The true libraries are C functions that keep what they work on in their [`STACK`] slots of Lua's
//! stack and fail when those are used up. That can be seen, so the slots are counted here, too.
//! Nothing here calls itself to the depth of its input: that is bounded, but a thread's stack may
//! be small.

mod args;
mod bit;
mod json;
mod msgpack;
mod pack;
#[cfg(test)]
mod tests;

use mlua::Lua;

/// The slots of Lua's stack that a C function may use.
const STACK: usize = 8_000;

/// How many strings, tables and the like are held from outside of Lua at most: about 8,000 is all
/// that is possible, and the arguments count.
const HELD: usize = 7_000;

/// How many values a function returns at most, since a few slots are not ours.
const RESULTS: usize = 7_950;

/// How many bytes a function makes at most, as the interpreter may not have more.
const OUTPUT: usize = if cfg!(test) { 16 << 20 } else { 512 << 20 };

/// Opens all of them.
pub(super) fn open_all(lua: &Lua) -> mlua::Result<()> {
    bit::open(lua)?;
    json::open(lua)?;
    msgpack::open(lua)?;
    pack::open(lua)
}

/// Fails when `made` bytes are too many.
fn check_output(made: usize) -> mlua::Result<()> {
    if made > OUTPUT {
        return Err(mlua::Error::MemoryError("not enough memory".to_string()));
    }
    Ok(())
}
