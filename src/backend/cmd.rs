//! [`Cmd`]: a command with the type of its reply, and typed constructors for the common ones.
//!
//! A command is a reference to its row of the table and its arguments, borrowed where possible:
//! making one neither copies nor looks a name up. What has no constructor here is made by
//! [`Cmd::new`]:
//!
//! ```
//! use stockroom::backend::{Backend, Cmd, Memory, Wait};
//! use stockroom::commands::string;
//!
//! let strlen = Cmd::<i64>::new(&string::STRLEN).arg("greeting");
//! assert_eq!(Memory::new().run(strlen).wait()?, 0);
//! # Ok::<(), stockroom::Error>(())
//! ```
//!
//! Of an iterator without elements a constructor makes a command that is too short. The server
//! refuses it ([`Refused`](crate::ErrorKind::Refused)), and with it the transaction it is in; in a
//! pipeline the others stand. An `Option` of the command leaves it out.
//!
//! Those that wait for a key (`blpop` and its kin) run on a [`Session`](super::Session) only.
//!
//! Not here: commands that change the state of a connection. Those that the shop needs are methods
//! of [`Session`](super::Session) and [`Subscription`](super::Subscription); a shared connection
//! refuses the others.

mod blocking;
mod channels;
mod hashes;
mod keys;
mod lists;
mod sets;
mod strings;
mod zsets;

use std::fmt;
use std::marker::PhantomData;

use smallvec::SmallVec;

pub use blocking::*;
pub use channels::*;
pub use hashes::*;
pub use keys::*;
pub use lists::*;
pub use sets::*;
pub use strings::*;
pub use zsets::*;

use super::arg::Arg;
use super::from_value::FromValue;
use crate::commands::{Flags, Run, ScriptOp, Spec};
use crate::error::{ErrorKind, Result};
use crate::resp::Value;

/// A command whose reply is a `T`.
pub struct Cmd<'a, T> {
    spec: &'static Spec,
    args: SmallVec<[Arg<'a>; 4]>,
    reply: PhantomData<fn() -> T>,
}

impl<'a, T> Cmd<'a, T> {
    /// A call of the command of this row, without arguments so far.
    #[inline]
    pub fn new(spec: &'static Spec) -> Self {
        Self { spec, args: SmallVec::new(), reply: PhantomData }
    }

    /// A call with three arguments, as those that write one element have.
    #[inline]
    fn three(spec: &'static Spec, a: Arg<'a>, b: Arg<'a>, c: Arg<'a>) -> Self {
        let args = SmallVec::from_buf_and_len([a, b, c, Arg::from("")], 3);
        Self { spec, args, reply: PhantomData }
    }

    /// Adds an argument.
    #[inline]
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg<'a>>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<Arg<'a>>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds two arguments for each pair.
    #[must_use]
    fn pairs<A: Into<Arg<'a>>, B: Into<Arg<'a>>>(
        mut self,
        pairs: impl IntoIterator<Item = (A, B)>,
    ) -> Self {
        let pairs = pairs.into_iter();
        self.args.reserve(2 * pairs.size_hint().0);
        for (a, b) in pairs {
            self.args.push(a.into());
            self.args.push(b.into());
        }
        self
    }

    /// The reply as its type. What a script did before it failed stands: its error is no refusal.
    #[inline]
    pub(super) fn read(&self, reply: Value) -> Result<T>
    where
        T: FromValue,
    {
        T::from_value(reply).map_err(|error| match error.kind() {
            ErrorKind::Refused if self.may_have_begun() && error.code() != Some("NOSCRIPT") => {
                error.with_kind(ErrorKind::Partly)
            }
            _ => error,
        })
    }

    /// Whether it may have changed something although it was answered with an error.
    fn may_have_begun(&self) -> bool {
        matches!(self.spec.run, Run::Script(ScriptOp::Eval | ScriptOp::Evalsha))
            && !self.spec.is(Flags::READONLY)
    }

    /// The same command, its reply read as another type.
    pub fn reply_as<U>(self) -> Cmd<'a, U> {
        Cmd { spec: self.spec, args: self.args, reply: PhantomData }
    }

    /// The row.
    #[inline]
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// The arguments, without the command's name.
    #[inline]
    pub fn arguments(&self) -> &[Arg<'a>] {
        &self.args
    }
}

impl<T> Clone for Cmd<'_, T> {
    fn clone(&self) -> Self {
        Self { spec: self.spec, args: self.args.clone(), reply: PhantomData }
    }
}

impl<T> fmt::Debug for Cmd<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_as_it_is_sent() {
        let cmd: Cmd<'_, ()> = set(b"a\0b", b"1");
        assert_eq!(format!("{cmd:?}"), r#"SET "a\x00b" "1""#);
    }
}
