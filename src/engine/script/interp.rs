//! [`Interp`]: the Lua interpreter of an engine.
//!
//! Stock Lua 5.1, as in Redis, with a limit of memory, a hook that looks now and then whether the
//! script has been killed, and a prelude (`prelude.lua`) that protects the globals. Compiled
//! scripts stay inside, in slots.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mlua::{
    Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value as LuaValue, VmState,
};

use super::cache::Sha;
use super::call::Host;
use super::control::Control;
use super::{api, convert, lib, raise};
use crate::commands::Reply;
use crate::error::WireError;

/// What the interpreter may allocate while a script runs: one that asks for more gets an error.
const MEMORY: usize = 512 << 20;
/// Instructions between two looks at SCRIPT KILL.
const LOOK_EVERY: u32 = 50_000;

/// A script that the interpreter has compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compiled {
    /// Where it is.
    slot: u32,
    /// Whether protected tables must be looked at after it has run.
    checked: bool,
}

/// Whether a script can call `table.insert`, the one function that puts something into a protected
/// table past its metatable: only by the name `table`, by a walk over `_G`, or by code it loads.
fn may_reach_table(source: &[u8]) -> bool {
    let has = |word: &[u8]| source.windows(word.len()).any(|part| part == word);
    has(b"table") || has(b"_G") || has(b"load")
}

#[derive(Debug)]
pub(super) struct Interp {
    lua: Lua,
    compile: Function,
    run: Function,
    fields: convert::Fields,
}

impl Interp {
    pub(super) fn new(control: Arc<Control>) -> mlua::Result<Self> {
        let libs = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libs, LuaOptions::new())?;
        lib::open_all(&lua)?;
        let host = api::open(&lua, &control)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
        let (compile, run) = prelude.call((host,))?;
        let triggers = HookTriggers::new().every_nth_instruction(LOOK_EVERY);
        lua.set_global_hook(triggers, move |_, _| {
            if control.is_killed() { Err(raise::killed()) } else { Ok(VmState::Continue) }
        })?;
        let fields = convert::Fields::new(&lua)?;
        Ok(Self { lua, compile, run, fields })
    }

    /// Compiles a script.
    pub(super) fn compile(&self, source: &[u8]) -> Result<Compiled, WireError> {
        let code = self.lua.create_string(source).map_err(|e| failed(&e))?;
        let (slot, problem): (Option<u32>, Option<mlua::String>) =
            self.compile.call(code).map_err(|e| failed(&e))?;
        let compiled = slot.map(|slot| Compiled { slot, checked: may_reach_table(source) });
        compiled.ok_or_else(|| {
            let mut text = b"ERR Error compiling script (new function): ".to_vec();
            problem.iter().for_each(|problem| text.extend_from_slice(&problem.as_bytes()));
            WireError::new(text)
        })
    }

    /// Runs a compiled script.
    pub(super) fn run(
        &self,
        Compiled { slot, checked }: Compiled,
        sha: &Sha,
        keys: &[&[u8]],
        args: &[&[u8]],
        host: &RefCell<Host<'_, '_>>,
    ) -> Reply {
        let run = || {
            self.lua.scope(|scope| {
                let call = scope.create_function(|lua, args: MultiValue| {
                    without_limit(lua, || host.borrow_mut().call(lua, &args))
                })?;
                let (keys, args) = (self.words(keys)?, self.words(args)?);
                self.lua.set_memory_limit(MEMORY)?;
                self.run.call::<Returned>((slot, checked, call, keys, args))
            })
        };
        // The library panics when a call has more arguments than its stack holds: about 7,900.
        let outcome = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(mlua::Error::runtime("too many values at once")));
        let _ = self.lua.set_memory_limit(0);
        match outcome {
            Ok((true, value, ..)) => {
                let script_protocol = host.borrow().script_protocol();
                convert::to_reply(&value, script_protocol, &self.fields)
            }
            Ok((false, text, source, line)) => Err(uncaught(sha, &text, &source, &line)),
            Err(error) => Err(failed(&error)),
        }
    }

    fn words(&self, words: &[&[u8]]) -> mlua::Result<Table> {
        self.lua.create_sequence_from(words.iter().map(|word| convert::text(word)))
    }

    pub(super) fn used_memory(&self) -> usize {
        self.lua.used_memory()
    }
}

/// What the prelude answers of a run: whether it ended well; its result, or the text of its error;
/// and where that was.
type Returned = (bool, LuaValue, LuaValue, LuaValue);

/// Does work of the host without a limit of memory: below a limit, each step of it would cost a
/// protected call of its own. What it allocates counts as soon as the script goes on.
fn without_limit<R>(lua: &Lua, work: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    lua.set_memory_limit(0)?;
    let done = work();
    lua.set_memory_limit(MEMORY)?;
    done
}

/// The error reply for an error that a script did not catch.
fn uncaught(sha: &Sha, text: &LuaValue, source: &LuaValue, line: &LuaValue) -> WireError {
    let Some(mut reply) = convert::text_of(text) else {
        // The handler of errors was not called or failed itself, and Lua says why.
        let why = convert::text_of(source).unwrap_or_else(|| b"execution failure".to_vec());
        return WireError::new([&b"ERR Error running script "[..], sha, b", ", &why].concat());
    };
    if let (Some(source), Some(line)) = (convert::text_of(source), convert::text_of(line)) {
        reply.extend_from_slice(b" script: ");
        reply.extend_from_slice(sha);
        reply.extend_from_slice(b", on ");
        reply.extend_from_slice(&source);
        reply.push(b':');
        reply.extend_from_slice(&line);
        reply.push(b'.');
    }
    WireError::new(reply)
}

/// The interpreter itself has failed: it has no memory left.
fn failed(error: &mlua::Error) -> WireError {
    WireError::new(format!("ERR {error}"))
}
