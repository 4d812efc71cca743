//! The libraries that Redis gives to scripts beside Lua's own: `cjson`, `cmsgpack`, `struct` and
//! `bit`.

use mlua::{Lua, Result};

/// Makes the libraries known as globals.
#[expect(clippy::unnecessary_wraps, reason = "the libraries will fail where memory is short")]
pub(super) fn open_all(_lua: &Lua) -> Result<()> {
    Ok(())
}
