//! [`Host`]: `redis.call` and `redis.pcall` of a running script.
//!
//! They run handlers on the locks that the script's command holds. What belongs to a session runs
//! on one that is the script's own and ends with it: a SELECT in a script changes nothing outside.

use mlua::{BorrowedBytes, Either, LightUserData, Lua, MultiValue, Value as LuaValue};
use smallvec::SmallVec;

use super::control::Control;
use super::convert::Returned;
use super::{convert, raise};
use crate::commands::{Cx, Flags, Run, Spec, lookup};
use crate::engine::{Shared, ops};
use crate::error::WireError;
use crate::resp::double::push_f64;
use crate::resp::{Protocol, Value};

/// What a running script works on.
pub(super) struct Host<'c, 'k> {
    shared: &'c Shared,
    control: &'c Control,
    cx: &'c mut Cx<'k>,
    /// The database that the script has selected.
    db: usize,
    read_only: bool,
}

/// A word of a command: a string of the script, or the text of a number.
pub(super) enum Word<'a> {
    Text(BorrowedBytes<'a>),
    Number(SmallVec<[u8; 32]>),
}

impl AsRef<[u8]> for Word<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Number(text) => text,
        }
    }
}

/// Why a call was not run, or what it answered.
type Called = Result<Value, WireError>;

impl<'c, 'k> Host<'c, 'k> {
    pub(super) fn new(
        shared: &'c Shared,
        control: &'c Control,
        cx: &'c mut Cx<'k>,
        read_only: bool,
    ) -> Self {
        let db = cx.db.index();
        Self { shared, control, cx, db, read_only }
    }

    /// The protocol that the script has asked for.
    pub(super) fn script_protocol(&self) -> Protocol {
        self.control.protocol()
    }

    /// `redis.call`: an error ends the script, or goes to its nearest `pcall`. With the mark of
    /// [`quietly`] in front it is `redis.pcall`: an error is a table.
    pub(super) fn call(&mut self, lua: &Lua, args: &MultiValue) -> mlua::Result<Returned> {
        let quiet = args.front() == Some(&quietly());
        let called = self.invoke(args.iter().skip(usize::from(quiet)));
        if self.control.is_killed() {
            return Err(raise::killed());
        }
        match called {
            Ok(Value::Error(error)) | Err(error) if quiet => {
                Ok(Either::Right(raise::as_table(lua, error.as_bytes())?))
            }
            Ok(Value::Error(error)) | Err(error) => Err(raise::reply(error.as_bytes())),
            Ok(value) => convert::returned(lua, value, self.control.protocol()),
        }
    }

    fn invoke<'a>(&mut self, args: impl ExactSizeIterator<Item = &'a LuaValue>) -> Called {
        let words = words(args)?;
        let argv = slices(&words);
        let spec = self.allowed(&argv)?;
        self.cx.protocol = self.control.protocol();
        self.cx.db.select(self.db);
        match spec.run {
            Run::Data(handler) | Run::Plain(handler) => handler(self.cx, &argv),
            Run::Session(op) | Run::Server(op) => {
                let Some(mut session) = self.shared.script_session() else {
                    return Err(NOT_ALLOWED);
                };
                session.db = self.db;
                session.protocol = self.cx.protocol;
                let reply = ops::run(&mut session, op, self.cx, &argv);
                self.db = session.db;
                reply
            }
            Run::Script(_) | Run::Container => Err(NOT_ALLOWED),
        }
    }

    /// The row of a command that a script may call.
    fn allowed(&self, argv: &[&[u8]]) -> Result<&'static Spec, WireError> {
        const UNKNOWN: WireError = WireError::fixed("ERR Unknown Redis command called from script");
        let spec = row(argv).ok_or(UNKNOWN)?;
        if !spec.accepts(argv.len()) {
            const TEXT: &str = "ERR Wrong number of args calling Redis command from script";
            return Err(WireError::fixed(TEXT));
        }
        if spec.is(Flags::NOSCRIPT) {
            return Err(NOT_ALLOWED);
        }
        if self.read_only && (spec.is(Flags::WRITE) || spec.is(Flags::MAY_REPLICATE)) {
            const TEXT: &str = "ERR Write commands are not allowed from read-only scripts.";
            return Err(WireError::fixed(TEXT));
        }
        if spec.is(Flags::WRITE) && !self.control.may_write() {
            // It has been killed: the script does not come to see this.
            return Err(NOT_ALLOWED);
        }
        Ok(spec)
    }
}

const NOT_ALLOWED: WireError =
    WireError::fixed("ERR This Redis command is not allowed from script");

/// What the prelude puts in front of the arguments of `redis.pcall`. No script can make one.
pub(super) fn quietly() -> LuaValue {
    LuaValue::LightUserData(LightUserData(std::ptr::without_provenance_mut(1)))
}

/// The row that a command line of a script calls, whatever its length.
pub(super) fn row(argv: &[&[u8]]) -> Option<&'static Spec> {
    let spec = lookup(argv.first()?)?;
    match argv.get(1) {
        Some(name) if !spec.subs.is_empty() => spec.sub(name),
        _ => Some(spec),
    }
}

/// The words that a script calls a command with.
pub(super) type Words<'a> = SmallVec<[Word<'a>; 8]>;

/// Arguments as words.
pub(super) fn words<'a>(
    args: impl ExactSizeIterator<Item = &'a LuaValue>,
) -> Result<Words<'a>, WireError> {
    const NONE: &str = "ERR Please specify at least one argument for this redis lib call";
    const OTHER: &str = "ERR Lua redis lib command arguments must be strings or integers";
    if args.len() == 0 {
        return Err(WireError::fixed(NONE));
    }
    args.map(word).collect::<Option<_>>().ok_or(WireError::fixed(OTHER))
}

pub(super) fn slices<'w>(words: &'w Words<'_>) -> SmallVec<[&'w [u8]; 8]> {
    words.iter().map(AsRef::as_ref).collect()
}

fn word(value: &LuaValue) -> Option<Word<'_>> {
    match value {
        LuaValue::String(text) => Some(Word::Text(text.as_bytes())),
        LuaValue::Integer(n) => Some(Word::Number(number(*n as f64))),
        LuaValue::Number(x) => Some(Word::Number(number(*x))),
        _ => None,
    }
}

fn number(x: f64) -> SmallVec<[u8; 32]> {
    let mut text = Vec::with_capacity(24);
    push_f64(&mut text, x);
    SmallVec::from_slice(&text)
}
