//! The packed layout of small collections: entries one after the other in a single allocation.
//!
//! An entry is its length (LEB128: one byte below 128) and its bytes. The buffer is exactly as
//! long as what is in it; a change moves what follows and reallocates, which at the sizes that
//! stay packed is cheaper than any structure. In front of the entries the owner may keep a header
//! of its own, so everything here takes the offset where an entry or the run of entries starts.
//!
//! Invariant: from the first entry's offset to the end of the buffer there are whole entries.
//! This module does not know what an entry means: pairs, order and counts are the owner's.

use std::mem;
use std::ops::Range;

/// The entries of a buffer from an offset on.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    buf: &'a [u8],
    at: usize,
}

impl<'a> Entries<'a> {
    /// The entries from offset `at` on.
    pub(crate) fn new(buf: &'a [u8], at: usize) -> Self {
        Self { buf, at }
    }

    /// The offset of the entry that comes next.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let bytes = bytes_at(self.buf, self.at)?;
        self.at = bytes.end;
        self.buf.get(bytes)
    }
}

/// The bytes of the first of these entries, and the entries behind it; `None` if there is none.
#[inline]
pub(crate) fn split_first(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    if let [len @ ..0x80, rest @ ..] = entries {
        return rest.split_at_checked(usize::from(*len));
    }
    let bytes = long_bytes_at(entries, 0)?;
    Some((entries.get(bytes.clone())?, entries.get(bytes.end..)?))
}

/// Where the bytes of the entry at offset `at` lie; `None` at the end of the buffer.
#[inline]
fn bytes_at(buf: &[u8], at: usize) -> Option<Range<usize>> {
    let first = usize::from(*buf.get(at)?);
    if first < 0x80 { Some(at + 1..at + 1 + first) } else { long_bytes_at(buf, at) }
}

/// As [`bytes_at`], for an entry of 128 bytes and more.
#[cold]
fn long_bytes_at(buf: &[u8], at: usize) -> Option<Range<usize>> {
    let (mut len, mut start, mut shift) = (0, at, 0);
    loop {
        let next = *buf.get(start)?;
        len |= usize::from(next & 0x7f) << shift;
        (shift, start) = (shift + 7, start + 1);
        if next & 0x80 == 0 {
            return Some(start..start + len);
        }
    }
}

/// Bytes that an entry of `len` bytes takes.
pub(crate) fn entry_size(len: usize) -> usize {
    let bits = usize::BITS - (len | 1).leading_zeros();
    len + bits.div_ceil(7) as usize
}

/// Puts `entries` in the place of the bytes `cut`, which must be whole entries.
pub(crate) fn splice(buf: &mut Box<[u8]>, cut: Range<usize>, entries: &[&[u8]]) {
    let size: usize = entries.iter().map(|e| entry_size(e.len())).sum();
    if size != cut.len() {
        resize(buf, cut.clone(), size);
    }
    let mut at = cut.start;
    for entry in entries {
        let mut len = entry.len();
        while len >= 0x80 {
            buf[at] = (len as u8) | 0x80;
            (len, at) = (len >> 7, at + 1);
        }
        buf[at] = len as u8;
        at += 1;
        buf[at..at + entry.len()].copy_from_slice(entry);
        at += entry.len();
    }
}

/// Makes the bytes `cut` take `size` bytes, moving what follows. The bytes made are unspecified.
pub(crate) fn resize(buf: &mut Box<[u8]>, cut: Range<usize>, size: usize) {
    let mut vec = mem::take(buf).into_vec();
    let old = vec.len();
    let new = old - cut.len() + size;
    if new > old {
        vec.reserve_exact(new - old);
        vec.resize(new, 0);
    }
    vec.copy_within(cut.end..old, cut.start + size);
    vec.truncate(new);
    *buf = vec.into_boxed_slice();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(buf: &[u8]) -> Vec<&[u8]> {
        Entries::new(buf, 0).collect()
    }

    #[test]
    fn entries_of_every_length_round_trip() {
        for len in [0, 1, 127, 128, 129, 16_383, 16_384, 70_000] {
            let raw: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut buf = Box::default();
            splice(&mut buf, 0..0, &[b"left", &raw, b"right"]);
            assert_eq!(list(&buf), [&b"left"[..], &raw, b"right"]);
            assert_eq!(buf.len(), 5 + entry_size(len) + 6);
        }
    }

    #[test]
    fn splice_grows_shrinks_and_removes_in_the_middle() {
        let mut buf = Box::default();
        splice(&mut buf, 0..0, &[b"a", b"b", b"c"]);
        splice(&mut buf, 2..4, &[&[7; 200]]);
        assert_eq!(list(&buf), [&b"a"[..], &[7; 200], b"c"]);
        splice(&mut buf, 2..204, &[b"x", b""]);
        assert_eq!(list(&buf), [&b"a"[..], b"x", b"", b"c"]);
        splice(&mut buf, 0..5, &[]);
        assert_eq!(list(&buf), [&b"c"[..]]);
    }

    #[test]
    fn a_torn_buffer_ends_the_iteration() {
        assert!(list(&[5, b'a']).is_empty());
        assert!(list(&[0x80]).is_empty());
    }
}
