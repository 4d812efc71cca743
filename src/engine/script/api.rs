//! The host's functions: those of the table `redis` that do not depend on the running script, and
//! those that only the prelude calls.

#![allow(clippy::needless_pass_by_value, reason = "so `mlua` hands arguments over")]

use std::borrow::Cow;
use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value as LuaValue};

use super::control::Control;
use super::{cache, call, convert, raise};
use crate::resp::Protocol;

/// The table that the prelude gets.
pub(super) fn open(lua: &Lua, control: &Arc<Control>) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.raw_set("surface", lua.create_function(raise::surface)?)?;
    host.raw_set("locate", lua.create_function(locate)?)?;
    host.raw_set("error_text", lua.create_function(error_text)?)?;
    host.raw_set("called_as", lua.create_function(called_as)?)?;
    let state = Arc::clone(control);
    let draw = move |lua: &Lua, args: MultiValue| random(lua, &state, &args);
    host.raw_set("random", lua.create_function(draw)?)?;
    let state = Arc::clone(control);
    let seed = move |lua: &Lua, args: MultiValue| {
        state.seed(int(lua, &args, 0)? as u32);
        Ok(())
    };
    host.raw_set("randomseed", lua.create_function(seed)?)?;
    host.raw_set("quietly", call::quietly())?;
    host.raw_set("redis", redis(lua, control)?)?;
    Ok(host)
}

/// The table `redis` but for what the prelude puts in.
fn redis(lua: &Lua, control: &Arc<Control>) -> mlua::Result<Table> {
    let redis = lua.create_table()?;
    redis.raw_set("REDIS_VERSION", "7.0.15")?;
    redis.raw_set("REDIS_VERSION_NUM", 0x0007_000f)?;
    let levels = ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"];
    for (level, name) in levels.into_iter().enumerate() {
        redis.raw_set(name, level)?;
    }
    let targets = [
        ("REPL_NONE", 0),
        ("REPL_AOF", 1),
        ("REPL_SLAVE", 2),
        ("REPL_REPLICA", 2),
        ("REPL_ALL", 3),
    ];
    for (name, target) in targets {
        redis.raw_set(name, target)?;
    }
    redis.raw_set("sha1hex", lua.create_function(sha1hex)?)?;
    redis.raw_set("log", lua.create_function(log)?)?;
    redis.raw_set("set_repl", lua.create_function(set_repl)?)?;
    redis.raw_set("replicate_commands", lua.create_function(|_, ()| Ok(true))?)?;
    redis.raw_set("breakpoint", lua.create_function(|_, ()| Ok(false))?)?;
    redis.raw_set("debug", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    redis.raw_set("acl_check_cmd", lua.create_function(acl_check_cmd)?)?;
    let control = Arc::clone(control);
    let setresp = move |lua: &Lua, args: MultiValue| setresp(lua, &control, &args);
    redis.raw_set("setresp", lua.create_function(setresp)?)?;
    Ok(redis)
}

/// Where a script has failed: the source and the line of the function that did, or of its caller
/// when it is not written in Lua; and both as they stand before a message. The error handler calls
/// this.
fn locate(lua: &Lua, _: ()) -> mlua::Result<(Option<String>, Option<usize>, Option<String>)> {
    let (mut builtin, mut skipped) = (false, false);
    // Below are this function and the handler.
    for level in 2.. {
        let frame = lua.inspect_stack(level, |frame| {
            let (source, line) = (frame.source(), frame.current_line());
            let name = source.source.map(Cow::into_owned);
            let place = source.short_src.zip(line).map(|(src, line)| format!("{src}:{line}: "));
            (source.what, name, line, place)
        });
        match frame {
            None => break,
            Some((_, Some(name), ..)) if name == "=prelude" => skipped = true,
            Some((_, Some(name), ..)) if name == "=outside" => break,
            // The prelude has called something in order to return.
            Some(("tail", ..)) if skipped => {}
            Some(("C", ..)) if !builtin => builtin = true,
            Some((_, name, line, place)) => return Ok((name, line, place)),
        }
    }
    Ok((None, None, None))
}

/// How the function was called whose helper calls this: by what name, if its caller's code says,
/// or by its own if the caller's frame is gone, since it called in order to return.
fn called_as(lua: &Lua, own: String) -> mlua::Result<String> {
    let name = raise::name_at(lua, 2);
    let gone = lua.inspect_stack(3, |frame| frame.source().what == "tail").unwrap_or_default();
    Ok(name.unwrap_or_else(|| if gone { own } else { raise::NAMELESS.to_string() }))
}

/// `math.random`
fn random(lua: &Lua, control: &Control, args: &MultiValue) -> mlua::Result<f64> {
    const MOST: u32 = i32::MAX as u32;
    let fraction = f64::from(control.random() % MOST) / f64::from(MOST);
    let within = |low: i32, high: i32| {
        // As C computes it: the width of the range may overflow.
        let width = high.wrapping_sub(low).wrapping_add(1);
        (fraction * f64::from(width)).floor() + f64::from(low)
    };
    match args.len() {
        0 => Ok(fraction),
        1 => match int(lua, args, 0)? {
            high if high < 1 => Err(raise::bad_argument(lua, 1, "interval is empty")),
            high => Ok(within(1, high)),
        },
        2 => match (int(lua, args, 0)?, int(lua, args, 1)?) {
            (low, high) if low > high => Err(raise::bad_argument(lua, 2, "interval is empty")),
            (low, high) => Ok(within(low, high)),
        },
        _ => Err(raise::text(lua, "wrong number of arguments")),
    }
}

/// An argument as a C function reads an `int`.
fn int(lua: &Lua, args: &MultiValue, at: usize) -> mlua::Result<i32> {
    let value = args.get(at);
    let number = number(lua, value);
    number.map(to_int).ok_or_else(|| raise::bad_type(lua, at + 1, "number", value))
}

fn to_int(x: f64) -> i32 {
    convert::truncate(x) as i32
}

/// What `redis.error_reply` makes of its text: a code in front, if there is none.
fn error_text(lua: &Lua, text: mlua::String) -> mlua::Result<mlua::String> {
    let bytes = text.as_bytes();
    let text = bytes.strip_prefix(b"-").unwrap_or(&bytes);
    let (code, message) = match text.iter().position(|&b| b == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&b"ERR"[..], text),
    };
    let ends = |b: &u8| matches!(b, b'\r' | b'\n');
    let start = message.iter().position(|b| !ends(b)).unwrap_or(message.len());
    let end = message.iter().rposition(|b| !ends(b)).map_or(start, |last| last + 1);
    lua.create_string([code, b" ", &message[start..end]].concat())
}

fn sha1hex(lua: &Lua, args: MultiValue) -> mlua::Result<mlua::String> {
    if args.len() != 1 {
        return Err(raise::reply("ERR wrong number of arguments"));
    }
    let text = args.front().cloned().and_then(|value| lua.coerce_string(value).ok().flatten());
    let sha = cache::sha1_hex(&text.map(|text| text.as_bytes().to_vec()).unwrap_or_default());
    lua.create_string(sha)
}

/// There is no log to write to; the arguments are checked all the same.
fn log(lua: &Lua, args: MultiValue) -> mlua::Result<()> {
    if args.len() < 2 {
        return Err(raise::reply("ERR redis.log() requires two arguments or more."));
    }
    match number(lua, args.front()).map(to_int) {
        None => Err(raise::reply("ERR First argument must be a number (log level).")),
        Some(0..=3) => Ok(()),
        Some(_) => Err(raise::reply("ERR Invalid debug level.")),
    }
}

/// There are no replicas; the argument is checked all the same.
fn set_repl(lua: &Lua, args: MultiValue) -> mlua::Result<()> {
    if args.len() != 1 {
        return Err(raise::reply("ERR redis.set_repl() requires two arguments."));
    }
    let flags = to_int(number(lua, args.front()).unwrap_or(0.0));
    if flags & !3 != 0 {
        return Err(raise::reply(
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ));
    }
    Ok(())
}

/// There is one user, who may do everything.
fn acl_check_cmd(_: &Lua, args: MultiValue) -> mlua::Result<bool> {
    let words = call::words(args.iter()).map_err(|e| raise::reply(e.as_bytes()))?;
    match call::row(&call::slices(&words)) {
        Some(_) => Ok(true),
        None => Err(raise::reply("ERR Invalid command passed to redis.acl_check_cmd()")),
    }
}

fn setresp(lua: &Lua, control: &Control, args: &MultiValue) -> mlua::Result<()> {
    if args.len() != 1 {
        return Err(raise::reply("ERR redis.setresp() requires one argument."));
    }
    match number(lua, args.front()).map(to_int) {
        Some(2) => control.set_protocol(Protocol::Resp2),
        Some(3) => control.set_protocol(Protocol::Resp3),
        _ => return Err(raise::reply("ERR RESP version must be 2 or 3.")),
    }
    Ok(())
}

/// What Lua takes for a number: also a string that reads as one.
pub(super) fn number(lua: &Lua, value: Option<&LuaValue>) -> Option<f64> {
    lua.coerce_number(value?.clone()).ok().flatten()
}
