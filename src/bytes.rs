//! [`Bytes`]: the binary-safe string of every key, member, field, value and reply.
//!
//! Why not `Vec<u8>`: a shop holds tens of millions of short strings, and most replies are short
//! too. Up to 22 bytes live inside the value itself, without an allocation; longer ones take
//! exactly their length; from 512 bytes on they are shared, so that reading a page from a cache
//! copies a pointer and not the page.
//!
//! Invariants: 24 bytes in size; equality, order and hash are those of the byte slice; never
//! changed in place.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

const INLINE: usize = 22;
const SHARE_FROM: usize = 512;

/// An immutable, binary-safe string.
///
/// ```
/// use stockroom::Bytes;
/// let b = Bytes::from("user:1");
/// assert_eq!(&*b, b"user:1");
/// assert_eq!(format!("{b:?}"), "\"user:1\"");
/// ```
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, buf: [u8; INLINE] },
    Boxed(Box<[u8]>),
    Shared(Arc<[u8]>),
}

const _: () = assert!(size_of::<Bytes>() == 24);

impl Bytes {
    /// The empty string.
    pub const EMPTY: Self = Self(Repr::Inline { len: 0, buf: [0; INLINE] });

    /// Copies a slice.
    pub fn copy_from(slice: &[u8]) -> Self {
        if slice.len() <= INLINE {
            let mut buf = [0; INLINE];
            buf[..slice.len()].copy_from_slice(slice);
            Self(Repr::Inline { len: slice.len() as u8, buf })
        } else if slice.len() < SHARE_FROM {
            Self(Repr::Boxed(slice.into()))
        } else {
            Self(Repr::Shared(slice.into()))
        }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, buf } => &buf[..usize::from(*len)],
            Repr::Boxed(b) => b,
            Repr::Shared(b) => b,
        }
    }

    /// The bytes as text, with what is not UTF-8 replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(self).into_owned()
    }

    /// The bytes as a vector of their own.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Boxed(b) => b.into_vec(),
            _ => self.as_slice().to_vec(),
        }
    }

    /// Bytes on the heap that belong to this string alone or that it shares.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Boxed(b) => b.len(),
            Repr::Shared(b) => b.len() + 16,
        }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for Bytes {
    fn from(slice: &[u8]) -> Self {
        Self::copy_from(slice)
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(slice: &[u8; N]) -> Self {
        Self::copy_from(slice)
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self::copy_from(text.as_bytes())
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(vec: Vec<u8>) -> Self {
        if vec.len() > INLINE && vec.len() < SHARE_FROM {
            Self(Repr::Boxed(vec.into_boxed_slice()))
        } else {
            Self::copy_from(&vec)
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl PartialEq<[u8]> for Bytes {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_slice() == other
    }
}

impl PartialEq<&[u8]> for Bytes {
    fn eq(&self, other: &&[u8]) -> bool {
        self.as_slice() == *other
    }
}

impl PartialEq<&str> for Bytes {
    fn eq(&self, other: &&str) -> bool {
        self.as_slice() == other.as_bytes()
    }
}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_slice().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_round_trips_at_the_borders_of_the_three_forms() {
        for len in [0, 1, 21, 22, 23, 511, 512, 513, 4096] {
            let raw: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            for b in [Bytes::copy_from(&raw), Bytes::from(raw.clone())] {
                assert_eq!(b.as_slice(), &raw[..]);
                assert_eq!(b.clone().into_vec(), raw);
                assert_eq!(b.cmp(&Bytes::copy_from(&raw)), Ordering::Equal);
            }
        }
    }

    #[test]
    fn large_strings_are_shared_by_clones() {
        let a = Bytes::from(vec![7; 600]);
        assert!(std::ptr::eq(a.as_slice(), a.clone().as_slice()));
    }
}
