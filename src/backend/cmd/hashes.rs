//! Hashes.

use super::{Arg, Cmd};
use crate::bytes::Bytes;
use crate::commands::hash;

/// `HSET key field value`: whether the field is new.
pub fn hset<'a>(key: &'a [u8], field: &'a [u8], value: impl Into<Arg<'a>>) -> Cmd<'a, bool> {
    Cmd::three(&hash::HSET, key.into(), field.into(), value.into())
}

/// `HSET key field value …`: how many fields are new.
/// None at all is refused by the server.
pub fn hset_all<'a, V: Into<Arg<'a>>>(
    key: &'a [u8],
    fields: impl IntoIterator<Item = (&'a [u8], V)>,
) -> Cmd<'a, i64> {
    Cmd::new(&hash::HSET).arg(key).pairs(fields)
}

/// `HSETNX key field value`: whether the field was missing and is now set.
pub fn hsetnx<'a>(key: &'a [u8], field: &'a [u8], value: impl Into<Arg<'a>>) -> Cmd<'a, bool> {
    Cmd::new(&hash::HSETNX).arg(key).arg(field).arg(value)
}

/// `HGET key field`: the value, if there is one.
pub fn hget<'a, T>(key: &'a [u8], field: &'a [u8]) -> Cmd<'a, Option<T>> {
    Cmd::new(&hash::HGET).arg(key).arg(field)
}

/// `HMGET key field …`: the values, in order.
/// None at all is refused by the server.
pub fn hmget<'a, T>(
    key: &'a [u8],
    fields: impl IntoIterator<Item = &'a [u8]>,
) -> Cmd<'a, Vec<Option<T>>> {
    Cmd::new(&hash::HMGET).arg(key).args(fields)
}

/// `HGETALL key`: fields and values, in the server's order.
pub fn hgetall<V>(key: &[u8]) -> Cmd<'_, Vec<(Bytes, V)>> {
    Cmd::new(&hash::HGETALL).arg(key)
}

/// `HKEYS key`: the fields, in the server's order.
pub fn hkeys<T>(key: &[u8]) -> Cmd<'_, Vec<T>> {
    Cmd::new(&hash::HKEYS).arg(key)
}

/// `HVALS key`: the values, in the server's order.
pub fn hvals<T>(key: &[u8]) -> Cmd<'_, Vec<T>> {
    Cmd::new(&hash::HVALS).arg(key)
}

/// `HLEN key`.
pub fn hlen(key: &[u8]) -> Cmd<'_, u64> {
    Cmd::new(&hash::HLEN).arg(key)
}

/// `HEXISTS key field`.
pub fn hexists<'a>(key: &'a [u8], field: &'a [u8]) -> Cmd<'a, bool> {
    Cmd::new(&hash::HEXISTS).arg(key).arg(field)
}

/// `HDEL key field …`: how many were there.
/// None at all is refused by the server.
pub fn hdel<'a>(key: &'a [u8], fields: impl IntoIterator<Item = &'a [u8]>) -> Cmd<'a, u64> {
    Cmd::new(&hash::HDEL).arg(key).args(fields)
}

/// `HINCRBY key field by`: the new value. Refused on overflow.
pub fn hincrby<'a>(key: &'a [u8], field: impl Into<Arg<'a>>, by: i64) -> Cmd<'a, i64> {
    Cmd::three(&hash::HINCRBY, key.into(), field.into(), by.into())
}

/// `HINCRBYFLOAT key field by`: the new value.
pub fn hincrbyfloat<'a>(key: &'a [u8], field: impl Into<Arg<'a>>, by: f64) -> Cmd<'a, f64> {
    Cmd::new(&hash::HINCRBYFLOAT).arg(key).arg(field).arg(by)
}

/// `HSCAN key cursor COUNT count`: the next cursor, 0 at the end, and a page of the hash.
pub fn hscan<V>(key: &[u8], cursor: u64, count: u64) -> Cmd<'_, (u64, Vec<(Bytes, V)>)> {
    Cmd::new(&hash::HSCAN).arg(key).arg(cursor).arg("COUNT").arg(count)
}
