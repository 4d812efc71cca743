//! [`Script`]: a Lua script that runs on the server as one step, sent by its hash.

use std::fmt;
use std::sync::OnceLock;

use sha1::{Digest, Sha1};

use super::arg::Arg;
use super::cmd::Cmd;
use super::from_value::FromValue;
use crate::commands::scripting;
use crate::error::Result;
use crate::resp::Value;

/// A Lua script: nobody sees a part of what it does.
///
/// It is sent by its hash, and once in full to a server that does not know it yet.
///
/// ```
/// use stockroom::backend::{Backend, Memory, Script, Wait};
///
/// /// Adds to a number unless it would pass a limit; says whether it did.
/// static ADD_BELOW: Script = Script::new("
///     local sum = tonumber(redis.call('GET', KEYS[1]) or 0) + ARGV[1]
///     if sum > tonumber(ARGV[2]) then return 0 end
///     redis.call('SET', KEYS[1], sum)
///     return 1
/// ");
///
/// # #[cfg(feature = "lua")] {
/// let memory = Memory::new();
/// let add = |n: i64| memory.script::<bool>(&ADD_BELOW, &[b"n"], &[n.into(), 5.into()]).wait();
/// assert_eq!((add(4)?, add(4)?, add(1)?), (true, false, true));
/// # }
/// # Ok::<(), stockroom::Error>(())
/// ```
pub struct Script {
    source: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    /// A script of this text.
    pub const fn new(source: &'static str) -> Self {
        Self { source, sha1: OnceLock::new() }
    }

    /// The text.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The SHA-1 of the text in hexadecimal digits: what servers know it by.
    pub fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| {
            Sha1::digest(self.source).iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// The call by hash, which a server that does not know the script refuses: `NOSCRIPT`.
    /// Its reply comes as it is: a type may be one that takes an error for a value.
    pub(super) fn by_hash<'a>(&'a self, keys: &[&'a [u8]], args: &[Arg<'a>]) -> Cmd<'a, Value> {
        call(Cmd::new(&scripting::EVALSHA).arg(self.sha1()), keys, args)
    }

    /// The call in full, which also makes the script known.
    pub(super) fn in_full<'a, T>(&'a self, keys: &[&'a [u8]], args: &[Arg<'a>]) -> Cmd<'a, T> {
        call(Cmd::new(&scripting::EVAL).arg(self.source), keys, args)
    }
}

fn call<'a, T>(cmd: Cmd<'a, T>, keys: &[&'a [u8]], args: &[Arg<'a>]) -> Cmd<'a, T> {
    cmd.arg(keys.len()).args(keys.iter().copied()).args(args.iter().cloned())
}

/// The reply to a call by hash as its type; `None`: the server does not know the script, and has
/// run nothing of it.
pub(super) fn read_if_known<T: FromValue>(reply: Value) -> Option<Result<T>> {
    let is_unknown = matches!(&reply, Value::Error(error) if error.code() == b"NOSCRIPT");
    (!is_unknown).then(|| Cmd::new(&scripting::EVALSHA).read(reply))
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({})", self.sha1())
    }
}
