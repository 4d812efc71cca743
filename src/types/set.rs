//! [`Set`]: distinct members.
//!
//! Redis 7.0 knows two forms, told apart by `OBJECT ENCODING`. As long as all members are integers
//! and not more than [`Limits::set_intset_entries`], the set is an `intset`: sorted integers in
//! one allocation. After that it is a `hashtable`, and stays one. What is called so here has two
//! layouts of its own, since a table costs several allocations and most sets are small: a run of
//! packed entries while that is short, and then a [`Dense`] table. They look the same from
//! outside: both number their members and are scanned downwards, so that even a scan in progress
//! is not disturbed by the change.
//!
//! Invariants: `Small` is empty, or starts with a byte that tells what follows: a width of 2, 4
//! or 8 and [`ints`], or 0 and at least one packed entry. Removing from packed entries keeps the
//! order of the others: positions only ever become lower, as a scan needs it.

mod ints;
#[cfg(test)]
mod tests;

use std::ops::Deref;

use super::dense::{self, Dense, scan_page};
use super::limits::Limits;
use super::number;
use super::packed::{self, Entries};
use crate::bytes::{Bytes, same};

/// First byte of a packed run of strings.
const STRINGS: u8 = 0;
/// Up to this many strings stay packed,
const MAX_PACKED: usize = 16;
/// in up to this many bytes.
const MAX_PACKED_BYTES: usize = 512;

/// Distinct members.
///
/// ```
/// use stockroom::types::{Limits, Set};
/// let mut set = Set::default();
/// assert!(set.insert(b"7", &Limits::default()));
/// assert_eq!(set.encoding(), "intset");
/// assert!(set.insert(b"seven", &Limits::default()));
/// assert!(set.contains(b"7"));
/// assert_eq!(set.encoding(), "hashtable");
/// ```
#[derive(Clone, Debug)]
pub struct Set(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Small(Box<[u8]>),
    Table(Box<Dense<Bytes>>),
}

const _: () = assert!(size_of::<Set>() == 16);

/// A member of a [`Set`]: bytes in the set, or an integer's text.
#[derive(Clone, Debug)]
pub enum Member<'a> {
    /// Bytes that lie in the set.
    Slice(&'a [u8]),
    /// A string of its own; an integer needs no allocation.
    Owned(Bytes),
}

impl Member<'_> {
    /// The member as a string of its own.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Slice(bytes) => bytes.into(),
            Self::Owned(bytes) => bytes,
        }
    }

    fn integer(int: i64) -> Self {
        Self::Owned(Bytes::from(int.to_string()))
    }
}

impl Deref for Member<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Slice(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Member<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Set {
    fn default() -> Self {
        Self(Repr::Small(Box::default()))
    }
}

impl Set {
    /// Number of members. O(1).
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => Entries::new(buf, 1).count(),
            Repr::Small(buf) => ints::len(buf),
            Repr::Table(table) => table.len(),
        }
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the form in use, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match &self.0 {
            Repr::Small(buf) if !holds_strings(buf) => "intset",
            _ => "hashtable",
        }
    }

    /// Whether this is a member. O(1); integers: O(log n).
    pub fn contains(&self, member: &[u8]) -> bool {
        self.position(member).is_some()
    }

    /// Adds a member and returns whether it is new. O(1); integers: O(n).
    pub fn insert(&mut self, member: &[u8], limits: &Limits) -> bool {
        if let Repr::Small(buf) = &mut self.0 {
            if holds_strings(buf) {
                return self.insert_string(member);
            }
            let Some(int) = number::parse_i64(member) else {
                self.leave_integers();
                return self.insert_string(member);
            };
            let new = ints::insert(buf, int);
            // As in Redis, the limit can be set no higher than to 2^30.
            if new && ints::len(buf) > limits.set_intset_entries.min(1 << 30) {
                self.leave_integers();
            }
            return new;
        }
        self.insert_string(member)
    }

    /// Removes a member and returns whether it was there. O(1); integers: O(n).
    pub fn remove(&mut self, member: &[u8]) -> bool {
        self.position(member).is_some_and(|pos| self.remove_nth(pos).is_some())
    }

    /// Removes and returns the member at a position below `len`. O(1); integers: O(n).
    pub fn remove_nth(&mut self, n: usize) -> Option<Bytes> {
        let member = match &mut self.0 {
            Repr::Table(table) => return table.swap_remove(n),
            Repr::Small(_) => self.nth(n)?.into_bytes(),
        };
        if let Repr::Small(buf) = &mut self.0 {
            if holds_strings(buf) {
                let mut entries = Entries::new(buf, 1);
                entries.by_ref().take(n).for_each(drop);
                let start = entries.offset();
                packed::splice(buf, start..start + packed::entry_size(member.len()), &[]);
                if buf.len() == 1 {
                    *buf = Box::default();
                }
            } else {
                ints::remove(buf, n);
            }
        }
        Some(member)
    }

    /// The members: integers ascending, else in no order to rely on.
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => IterRepr::Strings(Entries::new(buf, 1)),
            Repr::Small(buf) => IterRepr::Ints(buf, 0),
            Repr::Table(table) => IterRepr::Table(table.iter()),
        })
    }

    /// The member at a position below `len`, for fair random picks. O(1).
    pub fn nth(&self, n: usize) -> Option<Member<'_>> {
        match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => {
                Entries::new(buf, 1).nth(n).map(Member::Slice)
            }
            Repr::Small(buf) => ints::nth(buf, n).map(Member::integer),
            Repr::Table(table) => table.get(n).map(|member| Member::Slice(member)),
        }
    }

    /// Calls `f` with the members of one page and returns the next cursor; 0 starts and ends. A
    /// set of integers is one page, as in Redis. A member that stays from the first page to the
    /// last is met at least once. O(count); integers: O(n).
    pub fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> u64 {
        match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => {
                let members: Vec<&[u8]> = Entries::new(buf, 1).collect();
                let page = scan_page(cursor, count, members.len());
                members[page.clone()].iter().rev().for_each(|member| f(member));
                page.start as u64
            }
            Repr::Small(_) => {
                self.iter().for_each(|member| f(&member));
                0
            }
            Repr::Table(table) => table.scan(cursor, count, &mut |member| f(member)),
        }
    }

    /// Bytes on the heap. O(n); small: O(1).
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Small(buf) => buf.len(),
            Repr::Table(table) => size_of_val(&**table) + table.heap_size(Bytes::heap_size),
        }
    }

    /// Panics with the reason if an invariant does not hold.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => {
                let members: Vec<&[u8]> = Entries::new(buf, 1).collect();
                assert!((1..=MAX_PACKED).contains(&members.len()), "{} packed", members.len());
                assert!(buf.len() <= MAX_PACKED_BYTES, "{} bytes packed", buf.len());
                for (i, member) in members.iter().enumerate() {
                    assert!(!members[..i].contains(member), "member {i} is there twice");
                }
            }
            Repr::Small(buf) => ints::check_invariants(buf),
            Repr::Table(table) => table.check_invariants(),
        }
    }

    fn position(&self, member: &[u8]) -> Option<usize> {
        match &self.0 {
            Repr::Small(buf) if holds_strings(buf) => {
                Entries::new(buf, 1).position(|entry| same(entry, member))
            }
            Repr::Small(buf) => ints::search(buf, number::parse_i64(member)?).ok(),
            Repr::Table(table) => table.find(member),
        }
    }

    /// Inserts into a set that is no longer one of integers.
    fn insert_string(&mut self, member: &[u8]) -> bool {
        if self.position(member).is_some() {
            return false;
        }
        let len = self.len();
        match &mut self.0 {
            Repr::Table(table) => table.push(member.into()),
            Repr::Small(buf) => {
                let end = buf.len();
                let bytes = end.saturating_add(packed::entry_size(member.len()));
                if len < MAX_PACKED && bytes <= MAX_PACKED_BYTES {
                    packed::splice(buf, end..end, &[member]);
                } else {
                    let mut table = Dense::default();
                    Entries::new(buf, 1).chain([member]).for_each(|m| table.push(m.into()));
                    self.0 = Repr::Table(Box::new(table));
                }
            }
        }
        true
    }

    /// Turns a set of integers into one of strings; an empty one as well.
    fn leave_integers(&mut self) {
        let ints = std::mem::take(self);
        self.0 = Repr::Small(Box::new([STRINGS]));
        for int in &ints {
            self.insert_string(&int);
        }
    }
}

/// Iterates over the members of a [`Set`].
#[derive(Clone, Debug)]
pub struct Iter<'a>(IterRepr<'a>);

#[derive(Clone, Debug)]
enum IterRepr<'a> {
    Ints(&'a [u8], usize),
    Strings(Entries<'a>),
    Table(dense::Iter<'a, Bytes>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        match &mut self.0 {
            IterRepr::Ints(buf, n) => {
                let int = ints::nth(buf, *n)?;
                *n += 1;
                Some(Member::integer(int))
            }
            IterRepr::Strings(entries) => entries.next().map(Member::Slice),
            IterRepr::Table(members) => members.next().map(|member| Member::Slice(member)),
        }
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = Member<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Whether a small set holds packed strings rather than integers.
fn holds_strings(buf: &[u8]) -> bool {
    buf.first() == Some(&STRINGS)
}
