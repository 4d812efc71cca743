//! Strings.

use std::time::Duration;

use super::keys::millis;
use super::{Arg, Cmd};
use crate::commands::string;

/// `GET key`: the value, if there is one.
pub fn get<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&string::GET).arg(key)
}

/// `MGET key …`: the values, in order.
/// None at all is refused by the server.
pub fn mget<'a, T>(keys: impl IntoIterator<Item = &'a [u8]>) -> Cmd<'a, Vec<Option<T>>> {
    Cmd::new(&string::MGET).args(keys)
}

/// `SET key value`.
pub fn set<'a>(key: &'a [u8], value: impl Into<Arg<'a>>) -> Cmd<'a, ()> {
    Cmd::new(&string::SET).arg(key).arg(value)
}

/// `SET key value PX ttl`.
pub fn set_for<'a>(key: &'a [u8], value: impl Into<Arg<'a>>, ttl: Duration) -> Cmd<'a, ()> {
    set(key, value).arg("PX").arg(millis(ttl))
}

/// `SET key value NX`: whether there was none and now is.
pub fn set_new<'a>(key: &'a [u8], value: impl Into<Arg<'a>>) -> Cmd<'a, bool> {
    set(key, value).arg("NX").reply_as()
}

/// `INCRBY key by`: the new value. Refused on overflow.
pub fn incrby(key: &[u8], by: i64) -> Cmd<'_, i64> {
    Cmd::new(&string::INCRBY).arg(key).arg(by)
}

/// `APPEND key value`: the new length.
pub fn append<'a>(key: &'a [u8], value: &'a [u8]) -> Cmd<'a, u64> {
    Cmd::new(&string::APPEND).arg(key).arg(value)
}

/// `STRLEN key`.
pub fn strlen(key: &[u8]) -> Cmd<'_, u64> {
    Cmd::new(&string::STRLEN).arg(key)
}
