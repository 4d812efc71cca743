//! [`Bytes`]: the binary-safe string of every key, member, field, value and reply.
//!
//! Why not `Vec<u8>`: a shop holds tens of millions of short strings, and most replies are short
//! too. Up to 22 bytes live inside the value itself, without an allocation; longer ones take
//! exactly their length; from 512 bytes on they are shared, so that reading a page from a cache
//! copies a pointer and not the page.
//!
//! Invariants: 24 bytes in size; equality, order and hash are those of the byte slice; never
//! changed in place.

mod buffer;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use buffer::Buffer;

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
            return Self(Repr::Inline { len: slice.len() as u8, buf: padded(slice) });
        }
        Self::copy_long(slice)
    }

    #[inline(never)]
    fn copy_long(slice: &[u8]) -> Self {
        Self(if slice.len() < SHARE_FROM {
            Repr::Boxed(slice.into())
        } else {
            Repr::Shared(slice.into())
        })
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

/// A short slice with zeros behind it. By words: a call that moves any number of bytes costs more.
#[inline]
fn padded(slice: &[u8]) -> [u8; INLINE] {
    const WORD: usize = size_of::<u64>();
    let (low, middle, high) = match slice.len() {
        len @ 17.. => {
            (word(slice, 0), word(slice, WORD), word(slice, len - WORD) >> (192 - 8 * len))
        }
        len @ 9..=16 => (word(slice, 0), word(slice, len - WORD) >> (128 - 8 * len), 0),
        WORD => (word(slice, 0), 0, 0),
        _ => (short_word(slice), 0, 0),
    };
    let mut buf = [0; INLINE];
    buf[..WORD].copy_from_slice(&low.to_le_bytes());
    buf[WORD..2 * WORD].copy_from_slice(&middle.to_le_bytes());
    buf[2 * WORD..].copy_from_slice(&high.to_le_bytes()[..INLINE - 2 * WORD]);
    buf
}

/// Eight bytes from `at` on, the first the lowest.
#[inline]
fn word(slice: &[u8], at: usize) -> u64 {
    slice.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Fewer than eight bytes with zeros behind them, the first the lowest.
#[inline]
fn short_word(slice: &[u8]) -> u64 {
    match (slice, slice.first_chunk(), slice.last_chunk()) {
        (_, Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            u64::from(first) | u64::from(last) << (8 * slice.len() - 32)
        }
        (&[a, b, c], ..) => u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]),
        (&[a, b], ..) => u64::from_le_bytes([a, b, 0, 0, 0, 0, 0, 0]),
        (&[a], ..) => u64::from(a),
        _ => 0,
    }
}

/// Whether two strings are equal, without a call where they are short or end differently, as most
/// keys, members and fields of one collection do.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    /// Whether two strings of equal length, from `N` to twice that, are equal.
    #[inline]
    fn ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
        a.last_chunk::<N>() == b.last_chunk() && a.first_chunk::<N>() == b.first_chunk()
    }
    match a.len() {
        len if len != b.len() => false,
        0..4 => a.iter().zip(b).all(|(a, b)| a == b),
        4..8 => ends::<4>(a, b),
        8..=16 => ends::<8>(a, b),
        17..=32 => ends::<16>(a, b),
        _ => ends::<16>(a, b) && a == b,
    }
}

/// The first eight bytes as a number whose order is that of the bytes. Of two strings with
/// different prefixes the one with the smaller prefix comes first.
#[inline]
pub(crate) fn prefix(s: &[u8]) -> u64 {
    s.first_chunk().map_or_else(|| short_word(s).swap_bytes(), |first| u64::from_be_bytes(*first))
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
        for len in (0..=23).chain([511, 512, 513, 4096]) {
            let raw: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            for b in [Bytes::copy_from(&raw), Bytes::from(raw.clone())] {
                assert_eq!(b.as_slice(), &raw[..]);
                assert_eq!(b.clone().into_vec(), raw);
                assert_eq!(b.cmp(&Bytes::copy_from(&raw)), Ordering::Equal);
            }
        }
    }

    #[test]
    fn strings_are_the_same_only_if_every_byte_is() {
        let raw: Vec<u8> = (1..=70).collect();
        for len in 0..=raw.len() {
            let (a, mut b) = (&raw[..len], raw[..len].to_vec());
            assert!(same(a, &b));
            assert!(len == 0 || !same(a, &b[1..]));
            for at in 0..len {
                b[at] = 0;
                assert!(!same(a, &b), "byte {at} of {len}");
                b[at] = a[at];
            }
        }
    }

    #[test]
    fn prefixes_order_as_the_strings_do() {
        let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
        for at in 0..10 {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let longest = vec![7; at];
                strings.push([&longest[..], &[byte]].concat());
                strings.push([&longest[..], &[byte, 9]].concat());
            }
        }
        for a in &strings {
            for b in &strings {
                assert!(prefix(a) == prefix(b) || a.cmp(b) == prefix(a).cmp(&prefix(b)));
                assert!(a.get(..8) != b.get(..8) || a.len() < 8 || prefix(a) == prefix(b));
            }
        }
    }

    #[test]
    fn large_strings_are_shared_by_clones() {
        let a = Bytes::from(vec![7; 600]);
        assert!(std::ptr::eq(a.as_slice(), a.clone().as_slice()));
    }
}
