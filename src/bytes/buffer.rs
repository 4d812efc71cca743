//! [`Buffer`]: a string in the making.
//!
//! Names of keys and members of a few parts are made by the dozen for each call of the shop. A
//! buffer takes its first bytes without an allocation, and a clone of it is a move of fixed size.
//!
//! Invariant: equality and order are those of the bytes. Not for strings that are kept: those are
//! [`Bytes`](super::Bytes).

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

/// A string that grows, up to `N` bytes (at most 255) without an allocation.
#[derive(Clone)]
pub(crate) struct Buffer<const N: usize>(Repr<N>);

#[derive(Clone)]
enum Repr<const N: usize> {
    Inline { len: u8, buf: [u8; N] },
    Heap(Vec<u8>),
}

impl<const N: usize> Buffer<N> {
    /// Nothing yet.
    #[inline]
    pub(crate) fn new() -> Self {
        const { assert!(N <= u8::MAX as usize) };
        Self(Repr::Inline { len: 0, buf: [0; N] })
    }

    /// Adds bytes at the end.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        if let Repr::Inline { len, buf } = &mut self.0 {
            let start = usize::from(*len);
            if let Some(room) = buf.get_mut(start..start + bytes.len()) {
                room.copy_from_slice(bytes);
                *len += bytes.len() as u8;
                return;
            }
        }
        self.spill(bytes);
    }

    /// Adds a byte at the end.
    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    #[cold]
    fn spill(&mut self, bytes: &[u8]) {
        if let Repr::Heap(heap) = &mut self.0 {
            return heap.extend_from_slice(bytes);
        }
        let mut heap = Vec::with_capacity(2 * (self.len() + bytes.len()));
        heap.extend_from_slice(self);
        heap.extend_from_slice(bytes);
        self.0 = Repr::Heap(heap);
    }
}

impl<const N: usize> Deref for Buffer<N> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, buf } => &buf[..usize::from(*len)],
            Repr::Heap(heap) => heap,
        }
    }
}

impl<const N: usize> PartialEq for Buffer<N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize> Eq for Buffer<N> {}

impl<const N: usize> PartialOrd for Buffer<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for Buffer<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

impl<const N: usize> fmt::Debug for Buffer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_in_order_whatever_their_number() {
        for piece in 1..12 {
            let (mut buffer, mut expected) = (Buffer::<30>::new(), Vec::new());
            for byte in 0..60 {
                let bytes = vec![byte; piece];
                buffer.extend(&bytes);
                expected.extend_from_slice(&bytes);
                assert_eq!(*buffer, expected[..]);
                let mut longer = buffer.clone();
                longer.push(b'x');
                assert!(buffer < longer && buffer != longer);
            }
        }
    }

    #[test]
    fn a_buffer_is_no_larger_than_it_must_be() {
        assert_eq!((size_of::<Buffer<62>>(), size_of::<Buffer<38>>()), (64, 40));
    }
}
