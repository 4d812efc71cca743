//! Strings.

use super::{Arg, Cmd};
use crate::commands::string;

/// `GET key`: the value, if there is one.
pub fn get<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&string::GET).arg(key)
}

/// `SET key value`.
pub fn set<'a>(key: &'a [u8], value: impl Into<Arg<'a>>) -> Cmd<'a, ()> {
    Cmd::new(&string::SET).arg(key).arg(value)
}
