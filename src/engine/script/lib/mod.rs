//! The libraries that Redis gives its scripts beside Lua's own.
//!
//! Each file has a function `open` that puts its table into the globals; the interpreter calls them
//! before it protects the globals. A function that fails as a C function of Lua would (a bad
//! argument, say) fails with `super::raise::text`, which puts the caller's place in front.

use mlua::Lua;

/// Opens all of them.
pub(super) fn open_all(_lua: &Lua) -> mlua::Result<()> {
    Ok(())
}
