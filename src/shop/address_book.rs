//! Address book: the members of a group, of any number, found by the beginnings of their names.
//!
//! `members:GROUP` is a sorted set in which every score is 0, so that members stand in the order of
//! their bytes. A member is the name with its case taken away (as for
//! [`Contacts`](super::Contacts)), a zero byte, and the name as it is: `ada lovelace\0Ada
//! Lovelace`. All names that begin with a prefix, in whatever case, stand side by side and are one
//! range of the set; nothing but what is suggested is read.
//!
//! Names are any bytes. A zero byte within the first part is written `\x01\x01`, and a byte 1
//! `\x01\x02`, so that the first zero byte of a member always ends it.
//!
//! Invariant: a name is in the set once, whatever the order of changes.
//!
//! Source: the autocomplete for address books of the published articles. Theirs takes names of `a`
//! to `z` alone, and puts two markers into the set to find the range between them, under WATCH; a
//! crash leaves them there as members. ZRANGE BYLEX (Redis 6.2; ZRANGEBYLEX since 2.8.9) needs
//! none.

use super::check::id;
use super::contacts::checked_prefix;
use super::fold::{Folded, fold};
use super::keys::Keys;
use crate::backend::{Arg, Backend, cmd};
use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// The most names that are suggested at once.
pub const SUGGESTED: usize = 1_000;

/// The names of groups; see the module's documentation. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{AddressBook, Keys};
///
/// let book = AddressBook::new(Memory::new(), Keys::new());
/// for name in ["Jeff", "jen", "Jenny", "John"] {
///     book.join(b"guild", name.as_bytes()).wait()?;
/// }
/// assert_eq!(book.suggest(b"guild", b"JE", 10).wait()?, ["Jeff", "jen", "Jenny"]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddressBook<B> {
    backend: B,
    keys: Keys,
}

impl<B: Backend> AddressBook<B> {
    /// Groups under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys }
    }

    /// Adds a name to a group; says whether it is new there. ZADD. O(log members). Can be repeated
    /// after a lost reply.
    pub async fn join(&self, group: &[u8], name: &[u8]) -> Result<bool> {
        id("group", group)?;
        let member = member(id("name", name)?);
        self.backend.run(cmd::zadd(&self.keys.members(group), 0, &member)).await
    }

    /// Takes a name out of a group; says whether it was there. ZREM. O(log members). Can be
    /// repeated after a lost reply.
    pub async fn leave(&self, group: &[u8], name: &[u8]) -> Result<bool> {
        id("group", group)?;
        let member = member(id("name", name)?);
        Ok(self.backend.run(cmd::zrem(&self.keys.members(group), [&member])).await? > 0)
    }

    /// How many names a group has. ZCARD.
    pub async fn members(&self, group: &[u8]) -> Result<u64> {
        id("group", group)?;
        self.backend.run(cmd::zcard(&self.keys.members(group))).await
    }

    /// Up to `limit` names of a group, 1,000 at most, that begin with `prefix` in whatever case, in
    /// the order of their letters without case; any for an empty prefix.
    ///
    /// ZRANGE … BYLEX, one round trip. O(log members + limit).
    pub async fn suggest(&self, group: &[u8], prefix: &[u8], limit: usize) -> Result<Vec<Bytes>> {
        id("group", group)?;
        let begin = folded(checked_prefix(prefix)?);
        if limit > SUGGESTED {
            return Err(Error::invalid("limit", limit, "at most 1000"));
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        let key = self.keys.members(group);
        let from = [b"[", &*begin].concat();
        let range = cmd::zrange_bylex::<Bytes>(&key, from, end(begin), limit as i64);
        let found = self.backend.run(range).await?;
        Ok(found.iter().map(name).collect())
    }

    /// Forgets a group; says whether it had members. DEL.
    pub async fn disband(&self, group: &[u8]) -> Result<bool> {
        id("group", group)?;
        Ok(self.backend.run(cmd::del([&self.keys.members(group)])).await? > 0)
    }
}

/// The part of a member that it is found by.
fn folded(name: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(2 * name.len() + 1);
    for piece in fold(name) {
        match piece {
            Folded::Letter('\0') => found.extend_from_slice(&[1, 1]),
            Folded::Letter('\x01') => found.extend_from_slice(&[1, 2]),
            Folded::Letter(letter) => {
                found.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Folded::Byte(byte) => found.push(byte),
        }
    }
    found
}

fn member(name: &[u8]) -> Vec<u8> {
    let mut member = folded(name);
    member.push(0);
    member.extend_from_slice(name);
    member
}

/// The name of a member; all of it if something else made it.
fn name(member: &Bytes) -> Bytes {
    let zero = member.iter().position(|&b| b == 0);
    zero.and_then(|at| member.get(at + 1..)).map_or_else(|| member.clone(), Bytes::from)
}

/// The end of the range of what begins with these bytes: the least that comes after all of it.
fn end(mut begin: Vec<u8>) -> Arg<'static> {
    while let Some(last) = begin.pop() {
        if last < 0xff {
            begin.push(last + 1);
            return [b"(", &*begin].concat().into();
        }
    }
    "+".into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_read_well_and_names_come_back() {
        assert_eq!(member("Ada Ä".as_bytes()), "ada ä\0Ada Ä".as_bytes());
        assert_eq!(member(b"\x00\x01"), b"\x01\x01\x01\x02\x00\x00\x01");
        assert_eq!(name(&"foreign".into()), "foreign");
    }

    #[test]
    fn ranges_end_after_all_that_begins_so() {
        let text = |begin: &[u8]| end(begin.to_vec()).to_vec();
        assert_eq!(text(b"ab"), b"(ac");
        assert_eq!(text(b"a\xff\xff"), b"(b");
        assert_eq!(text(b"\xff"), b"+");
        assert_eq!(text(b""), b"+");
    }

    proptest! {
        #[test]
        fn a_member_is_in_the_range_exactly_of_its_beginnings(
            who: Vec<u8>,
            prefix: Vec<u8>,
            at in 0..8_usize,
        ) {
            let own = member(&who);
            prop_assert_eq!(name(&Bytes::from(own.clone())), &who[..]);
            let is_in = |prefix: &[u8]| {
                let begin = folded(prefix);
                let end = end(begin.clone());
                own >= begin && (&*end == b"+" || own[..] < end[1..])
            };
            prop_assert_eq!(is_in(&prefix), own.starts_with(&folded(&prefix)));
            prop_assert!(is_in(&who));
            // Whole characters, so that none is cut.
            let text = String::from_utf8_lossy(&who).into_owned();
            let begin: String = text.chars().take(at).collect();
            prop_assert!(member(text.as_bytes()).starts_with(&folded(begin.as_bytes())));
        }
    }
}
