//! Lists.

use super::{Arg, Cmd};
use crate::commands::list;

/// `LPUSH key element …`: the new length.
/// None at all is refused by the server.
pub fn lpush<'a, E: Into<Arg<'a>>>(
    key: &'a [u8],
    elements: impl IntoIterator<Item = E>,
) -> Cmd<'a, u64> {
    Cmd::new(&list::LPUSH).arg(key).args(elements)
}

/// `RPUSH key element …`: the new length.
/// None at all is refused by the server.
pub fn rpush<'a, E: Into<Arg<'a>>>(
    key: &'a [u8],
    elements: impl IntoIterator<Item = E>,
) -> Cmd<'a, u64> {
    Cmd::new(&list::RPUSH).arg(key).args(elements)
}

/// `LPOP key`: the first element, if there is one.
pub fn lpop<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&list::LPOP).arg(key)
}

/// `RPOP key`: the last element, if there is one.
pub fn rpop<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&list::RPOP).arg(key)
}

/// `LLEN key`.
pub fn llen(key: &[u8]) -> Cmd<'_, u64> {
    Cmd::new(&list::LLEN).arg(key)
}

/// `LRANGE key first last`: both inclusive, negative from the end.
pub fn lrange<T>(key: &[u8], first: i64, last: i64) -> Cmd<'_, Vec<T>> {
    Cmd::new(&list::LRANGE).arg(key).arg(first).arg(last)
}

/// `LINDEX key index`: the element there, if there is one.
pub fn lindex<T>(key: &[u8], index: i64) -> Cmd<'_, Option<T>> {
    Cmd::new(&list::LINDEX).arg(key).arg(index)
}

/// `LTRIM key first last`: keeps only these.
pub fn ltrim(key: &[u8], first: i64, last: i64) -> Cmd<'_, ()> {
    Cmd::new(&list::LTRIM).arg(key).arg(first).arg(last)
}

/// `LREM key count element`: removes the first `count` equal elements, all for 0, the last ones
/// for a negative count; says how many.
pub fn lrem<'a>(key: &'a [u8], count: i64, element: &'a [u8]) -> Cmd<'a, u64> {
    Cmd::new(&list::LREM).arg(key).arg(count).arg(element)
}
