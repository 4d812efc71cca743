//! Keys of any type: existence, names, times to live.

use std::time::Duration;

use super::{Arg, Cmd};
use crate::bytes::Bytes;
use crate::commands::{expiry, generic};
use crate::env::Timestamp;

/// `DEL key …`: how many were there.
/// None at all is refused by the server.
pub fn del<'a, K: Into<Arg<'a>>>(keys: impl IntoIterator<Item = K>) -> Cmd<'a, u64> {
    Cmd::new(&generic::DEL).args(keys)
}

/// `UNLINK key …`: how many were there.
/// None at all is refused by the server.
pub fn unlink<'a, K: Into<Arg<'a>>>(keys: impl IntoIterator<Item = K>) -> Cmd<'a, u64> {
    Cmd::new(&generic::UNLINK).args(keys)
}

/// `EXISTS key`.
pub fn exists(key: &[u8]) -> Cmd<'_, bool> {
    Cmd::new(&generic::EXISTS).arg(key)
}

/// `TYPE key`: `string`, `hash`, …, or `none`.
pub fn type_of(key: &[u8]) -> Cmd<'_, String> {
    Cmd::new(&generic::TYPE).arg(key)
}

/// `RENAME from to`. Refused when there is no such key.
pub fn rename<'a>(from: &'a [u8], to: &'a [u8]) -> Cmd<'a, ()> {
    Cmd::new(&generic::RENAME).arg(from).arg(to)
}

/// `SCAN cursor COUNT count`: the next cursor, 0 at the end, and a page of the keys.
pub fn scan(cursor: u64, count: u64) -> Cmd<'static, (u64, Vec<Bytes>)> {
    Cmd::new(&generic::SCAN).arg(cursor).arg("COUNT").arg(count)
}

/// `PEXPIRE key ttl`: whether the key exists. A `ttl` of less than a millisecond removes it.
pub fn expire(key: &[u8], ttl: Duration) -> Cmd<'_, bool> {
    Cmd::new(&expiry::PEXPIRE).arg(key).arg(millis(ttl))
}

/// `PEXPIREAT key at`: whether the key exists.
pub fn expire_at(key: &[u8], at: Timestamp) -> Cmd<'_, bool> {
    Cmd::new(&expiry::PEXPIREAT).arg(key).arg(at.as_millis())
}

/// `PTTL key`: milliseconds; -1 without a time to live, -2 without the key.
pub fn pttl(key: &[u8]) -> Cmd<'_, i64> {
    Cmd::new(&expiry::PTTL).arg(key)
}

/// `PERSIST key`: whether it had a time to live.
pub fn persist(key: &[u8]) -> Cmd<'_, bool> {
    Cmd::new(&expiry::PERSIST).arg(key)
}

/// A duration as the server takes it.
pub(super) fn millis(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}
