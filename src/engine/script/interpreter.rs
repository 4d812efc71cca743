//! [`Interpreter`]: Lua 5.1, the cache of scripts, and the running of one.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use mlua::{
    ChunkMode, Error as LuaError, Function, IntoLuaMulti, Lua, LuaOptions, MultiValue,
    Result as LuaResult, StdLib, Table, Value as Lv,
};
use smallvec::SmallVec;

use super::super::{Session, Shared, ops};
use super::convert::{argument, integer, tagged, to_lua, to_reply};
use super::{Sha, lib, sha1_hex};
use crate::bytes::Bytes;
use crate::commands::{self, Cx, Flags, Reply, Run};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

/// What a script's memory may grow to; beyond that it fails.
const MEMORY_LIMIT: usize = 512 << 20;

const NAME: &str = "@user_script";

/// One Lua, and the scripts it knows.
pub(super) struct Interpreter {
    lua: Lua,
    scripts: HashMap<Sha, Function, FixedState>,
    /// The globals behind their read-only face.
    globals: Table,
    /// The library `redis` behind its read-only face.
    redis: Table,
    /// Runs a script and catches its errors.
    run: Function,
}

/// An error that a Redis function raises in a script.
#[derive(Debug)]
struct Raised(WireError);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Raised {}

fn raised(error: WireError) -> LuaError {
    LuaError::external(Raised(error))
}

/// What a script is running on.
struct Running<'a, 'k> {
    shared: &'a Shared,
    cx: &'a mut Cx<'k>,
    /// The client on whose behalf commands run that need one; made when one does.
    session: Option<Session>,
    readonly: bool,
    /// How replies reach the script.
    protocol: Protocol,
}

impl Interpreter {
    pub(super) fn new() -> Result<Self, WireError> {
        Self::make().map_err(|error| {
            WireError::new(format!("ERR cannot start the Lua interpreter: {error}"))
        })
    }

    fn make() -> LuaResult<Self> {
        let libs = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libs, LuaOptions::new().catch_rust_panics(false))?;
        lua.set_memory_limit(MEMORY_LIMIT)?;
        let redis = library(&lua)?;
        lua.globals().raw_set("redis", &redis)?;
        lib::open_all(&lua)?;
        let explain = lua.create_function(|lua, error: Lv| explain(lua, error))?;
        let place = lua.create_function(place)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
        let (globals, face, run): (Table, Table, Function) = prelude.call((explain, place))?;
        lua.set_globals(face)?;
        Ok(Self { lua, scripts: HashMap::default(), globals, redis, run })
    }

    pub(super) fn has(&self, sha: &Sha) -> bool {
        self.scripts.contains_key(sha)
    }

    /// Compiles a script and keeps it under its hash.
    pub(super) fn load(&mut self, text: &[u8]) -> Result<Sha, WireError> {
        let sha = sha1_hex(text);
        if !self.has(&sha) {
            let chunk = self.lua.load(text).set_name(NAME).set_mode(ChunkMode::Text);
            let script = chunk.into_function().map_err(|error| {
                let text = message(&error);
                WireError::new([b"ERR Error compiling script (new function): ", &*text].concat())
            })?;
            self.scripts.insert(sha, script);
        }
        Ok(sha)
    }

    /// Runs a script that is known.
    pub(super) fn eval(
        &mut self,
        shared: &Shared,
        cx: &mut Cx<'_>,
        sha: &Sha,
        keys: &[&[u8]],
        args: &[&[u8]],
        readonly: bool,
    ) -> Reply {
        let Some(script) = self.scripts.get(sha) else { return Ok(Value::Nil) };
        let (db, protocol) = (cx.db.index(), cx.protocol);
        cx.protocol = Protocol::Resp2;
        let running = Running { shared, cx, session: None, readonly, protocol: Protocol::Resp2 };
        let running = RefCell::new(running);
        let reply = self.run(script, &running, keys, args);
        let cx = running.into_inner().cx;
        cx.db.select(db);
        cx.protocol = protocol;
        match reply {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(located(&error, sha)),
            Err(error) => Err(WireError::new([b"ERR ", &*message(&error)].concat())),
        }
    }

    /// Runs `script`; the inner error is the table that it failed with.
    fn run(
        &self,
        script: &Function,
        running: &RefCell<Running<'_, '_>>,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> LuaResult<Result<Value, Table>> {
        self.globals.raw_set("KEYS", self.strings(keys)?)?;
        self.globals.raw_set("ARGV", self.strings(args)?)?;
        self.lua.scope(|scope| {
            let call = |lua: &Lua, words: MultiValue| call(lua, running, &words, true);
            let pcall = |lua: &Lua, words: MultiValue| call_protected(lua, running, &words);
            let setresp = |_: &Lua, version: MultiValue| set_resp(running, &version);
            self.redis.raw_set("call", scope.create_function(call)?)?;
            self.redis.raw_set("pcall", scope.create_function(pcall)?)?;
            self.redis.raw_set("setresp", scope.create_function(setresp)?)?;
            let (ok, result): (bool, Lv) = self.run.call(script)?;
            let protocol = running.borrow().protocol;
            Ok(match result {
                Lv::Table(error) if !ok => Err(error),
                result => Ok(to_reply(&result, protocol)),
            })
        })
    }

    fn strings(&self, items: &[&[u8]]) -> LuaResult<Table> {
        let table = self.lua.create_table_with_capacity(items.len(), 0)?;
        for (at, item) in items.iter().enumerate() {
            table.raw_set(at + 1, self.lua.create_string(item)?)?;
        }
        Ok(table)
    }
}

/// What is at a level of the stack, counted from the caller: `what`, source and line.
fn place(lua: &Lua, level: usize) -> LuaResult<MultiValue> {
    let found = lua.inspect_stack(level + 1, |debug| {
        let source = debug.source();
        let text = source.source.map(Cow::into_owned).unwrap_or_default();
        (source.what.to_owned(), text, debug.current_line())
    });
    let Some((what, source, line)) = found else { return Ok(MultiValue::new()) };
    let line = line.map_or(-1.0, |line| line as f64);
    (what, source, line).into_lua_multi(lua)
}

/// The library `redis`, but for what needs a running script.
fn library(lua: &Lua) -> LuaResult<Table> {
    let redis = lua.create_table()?;
    redis.raw_set(
        "sha1hex",
        lua.create_function(|lua, words: MultiValue| {
            match words.iter().next().filter(|_| words.len() == 1) {
                Some(word) => {
                    let text = argument(word).unwrap_or_default();
                    lua.create_string(sha1_hex(&text))
                }
                None => Err(raised(WireError::fixed("ERR wrong number of arguments"))),
            }
        })?,
    )?;
    redis
        .raw_set("error_reply", lua.create_function(|lua, words| reply_of(lua, "err", &words))?)?;
    redis
        .raw_set("status_reply", lua.create_function(|lua, words| reply_of(lua, "ok", &words))?)?;
    redis.raw_set("log", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    redis.raw_set("replicate_commands", lua.create_function(|_, _: MultiValue| Ok(true))?)?;
    redis.raw_set("set_repl", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    redis.raw_set("breakpoint", lua.create_function(|_, _: MultiValue| Ok(false))?)?;
    redis.raw_set("debug", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    redis.raw_set("REDIS_VERSION", "7.0.15")?;
    redis.raw_set("REDIS_VERSION_NUM", 0x0007_000f)?;
    let constants = [
        ("LOG_DEBUG", 0),
        ("LOG_VERBOSE", 1),
        ("LOG_NOTICE", 2),
        ("LOG_WARNING", 3),
        ("REPL_NONE", 0),
        ("REPL_AOF", 1),
        ("REPL_SLAVE", 2),
        ("REPL_REPLICA", 2),
        ("REPL_ALL", 3),
    ];
    for (name, value) in constants {
        redis.raw_set(name, value)?;
    }
    Ok(redis)
}

/// `redis.error_reply` and `redis.status_reply`.
fn reply_of(lua: &Lua, name: &str, words: &MultiValue) -> LuaResult<Lv> {
    match words.iter().next() {
        Some(Lv::String(text)) if words.len() == 1 => {
            let text = text.as_bytes();
            let text = text.strip_prefix(b"-").unwrap_or(&text);
            tagged(lua, name, text)
        }
        _ => tagged(lua, "err", b"ERR wrong number or type of arguments"),
    }
}

/// `redis.setresp`
fn set_resp(running: &RefCell<Running<'_, '_>>, words: &MultiValue) -> LuaResult<()> {
    let version = words.iter().next().filter(|_| words.len() == 1);
    let Some(version) = version else {
        let error = "ERR redis.setresp() requires one argument.";
        return Err(raised(WireError::fixed(error)));
    };
    let protocol = match integer(version) {
        Some(2) => Protocol::Resp2,
        Some(3) => Protocol::Resp3,
        _ => return Err(raised(WireError::fixed("ERR RESP version must be 2 or 3."))),
    };
    let mut running = running.borrow_mut();
    running.protocol = protocol;
    running.cx.protocol = protocol;
    Ok(())
}

/// `redis.pcall`
fn call_protected(
    lua: &Lua,
    running: &RefCell<Running<'_, '_>>,
    words: &MultiValue,
) -> LuaResult<Lv> {
    call(lua, running, words, false)
}

/// Runs a command of a script. An error is raised, or given as a table.
fn call(
    lua: &Lua,
    running: &RefCell<Running<'_, '_>>,
    words: &MultiValue,
    raise: bool,
) -> LuaResult<Lv> {
    let mut running = running.borrow_mut();
    let reply: Value = running.command(words).into();
    match reply {
        Value::Error(error) if raise => Err(raised(error)),
        reply => to_lua(lua, &reply, running.protocol),
    }
}

impl Running<'_, '_> {
    fn command(&mut self, words: &MultiValue) -> Reply {
        if words.is_empty() {
            return Err(WireError::fixed(
                "ERR Please specify at least one argument for this redis lib call",
            ));
        }
        let words: Option<SmallVec<[Bytes; 8]>> = words.iter().map(argument).collect();
        let words = words.ok_or(WireError::fixed(
            "ERR Lua redis lib command arguments must be strings or integers",
        ))?;
        let argv: SmallVec<[&[u8]; 8]> = words.iter().map(|word| &**word).collect();
        let unknown = WireError::fixed("ERR Unknown Redis command called from script");
        let mut spec = commands::lookup(argv[0]).ok_or(unknown.clone())?;
        if !spec.subs.is_empty() && argv.len() > 1 {
            spec = spec.sub(argv[1]).ok_or(unknown)?;
        }
        if !spec.accepts(argv.len()) {
            return Err(WireError::fixed(
                "ERR Wrong number of args calling Redis command from script",
            ));
        }
        if spec.is(Flags::NOSCRIPT) {
            return Err(WireError::fixed("ERR This Redis command is not allowed from script"));
        }
        if self.readonly && spec.is(Flags::WRITE) {
            return Err(WireError::fixed(
                "ERR Write commands are not allowed from read-only scripts.",
            ));
        }
        match spec.run {
            Run::Data(handler) | Run::Plain(handler) => handler(self.cx, &argv),
            Run::Session(op) | Run::Server(op) => {
                let (shared, db) = (self.shared, self.cx.db.index());
                if self.session.is_none() {
                    self.session = shared.script_session();
                }
                let Some(session) = &mut self.session else { return Err(spec.arity_error()) };
                session.db = db;
                let reply = ops::run(session, op, self.cx, &argv);
                self.cx.db.select(session.db);
                reply
            }
            Run::Script(_) | Run::Container => Err(spec.arity_error()),
        }
    }
}

/// An error that Rust has raised, as the table that scripts know.
fn explain(lua: &Lua, error: Lv) -> LuaResult<Lv> {
    match error {
        Lv::Error(error) => match raised_in(&error) {
            Some(wire) => tagged(lua, "err", wire.as_bytes()),
            None => tagged(lua, "err", &[b"ERR ", &*message(&error)].concat()),
        },
        other => Ok(other),
    }
}

fn raised_in(error: &LuaError) -> Option<&WireError> {
    match error {
        LuaError::CallbackError { cause, .. } => raised_in(cause),
        LuaError::ExternalError(inner) => Some(&inner.downcast_ref::<Raised>()?.0),
        _ => None,
    }
}

/// What Lua itself would say.
fn message(error: &LuaError) -> Vec<u8> {
    match error {
        LuaError::SyntaxError { message, .. }
        | LuaError::RuntimeError(message)
        | LuaError::MemoryError(message) => message.clone().into_bytes(),
        LuaError::CallbackError { cause, .. } => message(cause),
        LuaError::ExternalError(inner) => Arc::clone(inner).to_string().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

/// The error of a script as its caller reads it.
fn located(error: &Table, sha: &Sha) -> WireError {
    let text = |name: &str| error.raw_get::<Lv>(name).ok().as_ref().and_then(argument);
    let mut reply = text("err").map_or(b"ERR unknown error".to_vec(), Bytes::into_vec);
    if let Some(rest) = reply.strip_prefix(b"-") {
        reply = rest.to_vec();
    }
    if let (Some(source), Some(line)) = (text("source"), text("line")) {
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
