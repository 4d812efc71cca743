//! What the tests share: a real Redis, a raw client, and the harness that runs one test body on
//! the engine and on real Redis.
//!
//! * [`side_by_side`], [`in_both_protocols`] and [`Pair`]: write the body once, compare replies.
//! * [`RealRedis`]: a redis-server of one's own, gone when the test is.
//! * [`skip`]: saying what was not tested.
//! * [`Wire`]: a client that shows the bytes of replies.
//! * [`compare`]: how equal two replies are.
//!
//! Used by `mod support;`, or with `#[path]` from a test binary in a folder.

#![allow(dead_code, unused_imports, unused_macros, reason = "each test binary uses a part")]
#![allow(clippy::needless_pass_by_value, reason = "calls read better without an ampersand")]

mod clock;
pub(crate) mod compare;
mod ours;
mod pair;
mod real;
mod skip;
mod wire;

pub(crate) use ours::{OurSide, replies_in};
pub(crate) use pair::{Argv, Pair, in_both_protocols, side_by_side};
pub(crate) use real::{RealRedis, real_redis, started_redis};
pub(crate) use skip::{nothing_may_be_skipped, skip};
pub(crate) use wire::{Reply, Wire};

/// Arguments of different types as an argv: `argv!["ZADD", "k", 1.5, b"\xff"]`.
#[allow(unused_macros, reason = "each test binary uses a part")]
macro_rules! argv {
    ($($arg:expr),* $(,)?) => {
        vec![$($crate::support::argument($arg)),*]
    };
}
pub(crate) use argv;

/// What can stand in [`argv!`].
pub(crate) trait Argument {
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! argument {
    ($as:ident: $($type:ty),*) => {
        $(impl Argument for $type {
            fn bytes(&self) -> Vec<u8> {
                argument!(@ $as self)
            }
        })*
    };
    (@ text $self:ident) => { $self.to_string().into_bytes() };
    (@ raw $self:ident) => { $self.to_vec() };
}
argument!(text: &str, String, &String, i32, i64, u32, u64, usize, f64);
argument!(raw: &[u8], Vec<u8>, &Vec<u8>);

impl<const N: usize> Argument for &[u8; N] {
    fn bytes(&self) -> Vec<u8> {
        self.to_vec()
    }
}

pub(crate) fn argument(arg: impl Argument) -> Vec<u8> {
    arg.bytes()
}
