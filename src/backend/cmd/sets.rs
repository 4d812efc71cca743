//! Sets.

use super::{Arg, Cmd};
use crate::commands::set;

/// `SADD key member …`: how many are new.
/// None at all is refused by the server.
pub fn sadd<'a, M: Into<Arg<'a>>>(
    key: &'a [u8],
    members: impl IntoIterator<Item = M>,
) -> Cmd<'a, u64> {
    Cmd::new(&set::SADD).arg(key).args(members)
}

/// `SREM key member …`: how many were there.
/// None at all is refused by the server.
pub fn srem<'a, M: Into<Arg<'a>>>(
    key: &'a [u8],
    members: impl IntoIterator<Item = M>,
) -> Cmd<'a, u64> {
    Cmd::new(&set::SREM).arg(key).args(members)
}

/// `SCARD key`.
pub fn scard(key: &[u8]) -> Cmd<'_, u64> {
    Cmd::new(&set::SCARD).arg(key)
}

/// `SISMEMBER key member`.
pub fn sismember<'a>(key: &'a [u8], member: &'a [u8]) -> Cmd<'a, bool> {
    Cmd::new(&set::SISMEMBER).arg(key).arg(member)
}

/// `SMEMBERS key`: in the server's order.
pub fn smembers<T>(key: &[u8]) -> Cmd<'_, Vec<T>> {
    Cmd::new(&set::SMEMBERS).arg(key)
}

/// `SINTER key …`: the members that all have.
/// None at all is refused by the server.
pub fn sinter<'a, T>(keys: impl IntoIterator<Item = &'a [u8]>) -> Cmd<'a, Vec<T>> {
    Cmd::new(&set::SINTER).args(keys)
}

/// `SINTERCARD 2 a b`: how many members both have.
pub fn sintercard<'a>(a: &'a [u8], b: &'a [u8]) -> Cmd<'a, u64> {
    Cmd::new(&set::SINTERCARD).arg(2).arg(a).arg(b)
}

/// `SPOP key`: a random member, removed.
pub fn spop<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&set::SPOP).arg(key)
}

/// `SRANDMEMBER key`: a random member.
pub fn srandmember<T>(key: &[u8]) -> Cmd<'_, Option<T>> {
    Cmd::new(&set::SRANDMEMBER).arg(key)
}

/// `SSCAN key cursor COUNT count`: the next cursor, 0 at the end, and a page of the set.
pub fn sscan<T>(key: &[u8], cursor: u64, count: u64) -> Cmd<'_, (u64, Vec<T>)> {
    Cmd::new(&set::SSCAN).arg(key).arg(cursor).arg("COUNT").arg(count)
}
