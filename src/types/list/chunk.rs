//! [`Chunk`]: some elements of a list, packed into one buffer with room at both ends.
//!
//! An entry is its length, its bytes, and its length again with the bytes of the number reversed,
//! so that a chunk can be walked from either end; below 128 bytes a length takes one byte. Pushing
//! moves nothing as long as there is room on that side, and what popping leaves free serves the
//! other side later.
//!
//! Invariants: whole entries, `count` of them, lie in `buf[start..end]`; `start` is at least
//! [`HEADER`], so that a list of one chunk can keep the three numbers in the buffer itself.

use std::ops::Range;

use crate::bytes::Bytes;

/// Entries of a chunk take at most this many bytes, unless it is one entry alone.
pub(super) const LIMIT: usize = 8192;

/// Bytes at the beginning of a buffer for `start`, `end` and `count`, used by [`Chunk::pack`].
const HEADER: usize = 6;

/// The first buffer of a chunk of many.
const FIRST_ROOM: usize = 1024;

#[derive(Clone, Debug)]
pub(super) struct Chunk {
    buf: Box<[u8]>,
    start: usize,
    end: usize,
    count: usize,
}

impl Chunk {
    /// Empty, without a buffer.
    pub(super) fn new() -> Self {
        Self { buf: Box::default(), start: HEADER, end: HEADER, count: 0 }
    }

    /// Empty, for an element that is not pushed yet, and with room for others, since a chunk that
    /// stands beside others is likely to fill.
    pub(super) fn beside(element: &[u8]) -> Self {
        let room = if entry_size(element.len()) < FIRST_ROOM { FIRST_ROOM } else { 0 };
        Self { buf: vec![0; room].into_boxed_slice(), ..Self::new() }
    }

    /// The chunk in a buffer that [`pack`](Self::pack) made.
    pub(super) fn unpack(buf: Box<[u8]>) -> Self {
        let [start, end, count] = header(&buf);
        Self { buf, start, end, count }
    }

    /// The chunk in its buffer alone; empty for an empty chunk. `Err` when the numbers do not fit.
    pub(super) fn pack(mut self) -> Result<Box<[u8]>, Self> {
        if self.count == 0 {
            return Ok(Box::default());
        }
        if self.buf.len() > usize::from(u16::MAX) {
            return Err(self);
        }
        for (place, n) in self.buf.chunks_exact_mut(2).zip([self.start, self.end, self.count]) {
            place.copy_from_slice(&(n as u16).to_ne_bytes());
        }
        Ok(self.buf)
    }

    /// Number of elements.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the entries.
    pub(super) fn used(&self) -> usize {
        self.end - self.start
    }

    /// Bytes of the buffer.
    pub(super) fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// The entries.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries(self.buf.get(self.start..self.end).unwrap_or_default())
    }

    /// Whether an element of `len` bytes may join.
    pub(super) fn fits(&self, len: usize) -> bool {
        self.count == 0 || self.used() + entry_size(len) <= LIMIT
    }

    /// Whether the element at `index` may be replaced by one of `len` bytes.
    pub(super) fn fits_at(&self, index: usize, len: usize) -> bool {
        let old = self.range(index..index + 1).len();
        self.count == 1 || self.used() - old + entry_size(len) <= LIMIT
    }

    pub(super) fn push_back(&mut self, element: &[u8]) {
        let size = entry_size(element.len());
        self.reserve_back(size);
        write_entry(&mut self.buf[self.end..self.end + size], element);
        self.end += size;
        self.count += 1;
    }

    pub(super) fn push_front(&mut self, element: &[u8]) {
        let size = entry_size(element.len());
        self.reserve_front(size);
        write_entry(&mut self.buf[self.start - size..self.start], element);
        self.start -= size;
        self.count += 1;
    }

    pub(super) fn pop_front(&mut self) -> Option<Bytes> {
        let mut entries = self.entries();
        let element = Bytes::copy_from(entries.next()?);
        self.start = self.end - entries.0.len();
        self.count -= 1;
        Some(element)
    }

    pub(super) fn pop_back(&mut self) -> Option<Bytes> {
        let mut entries = self.entries();
        let element = Bytes::copy_from(entries.next_back()?);
        self.end = self.start + entries.0.len();
        self.count -= 1;
        Some(element)
    }

    /// Puts an element in front of the one at `index`, which may be the number of elements.
    pub(super) fn insert(&mut self, index: usize, element: &[u8]) {
        let at = self.entries().offset_of(index, self.count);
        self.splice(at..at, element);
        self.count += 1;
    }

    pub(super) fn replace(&mut self, index: usize, element: &[u8]) {
        let at = self.range(index..index + 1);
        self.splice(at, element);
    }

    /// Puts an entry in place of those in a range of bytes, counted from the first entry.
    fn splice(&mut self, at: Range<usize>, element: &[u8]) {
        let size = entry_size(element.len());
        self.reserve_back(size.saturating_sub(at.len()));
        let at = self.start + at.start..self.start + at.end;
        let end = self.end + size - at.len();
        self.buf.copy_within(at.end..self.end, at.start + size);
        write_entry(&mut self.buf[at.start..at.start + size], element);
        self.end = end;
    }

    /// Removes the elements in a range of positions.
    pub(super) fn remove(&mut self, positions: Range<usize>) {
        let at = self.range(positions.clone());
        let (before, after) = (at.start, self.used() - at.end);
        let at = self.start + at.start..self.start + at.end;
        if before <= after {
            self.buf.copy_within(self.start..at.start, at.end - before);
            self.start = at.end - before;
        } else {
            self.buf.copy_within(at.end..self.end, at.start);
            self.end = at.start + after;
        }
        self.count -= positions.len();
        self.shrink();
    }

    /// Removes the first `most` elements equal to `element`, or the last with `from_tail`; answers
    /// how many it removed.
    pub(super) fn remove_equal(&mut self, element: &[u8], most: usize, from_tail: bool) -> usize {
        let equal = self.entries().filter(|e| *e == element).count();
        let removed = equal.min(most);
        if removed == 0 {
            return 0;
        }
        let skipped = if from_tail { equal - removed } else { 0 };
        let (mut seen, mut from, mut to) = (0, self.start, self.start);
        while seen < skipped + removed {
            let mut rest = Entries(&self.buf[from..self.end]);
            let equal = rest.next() == Some(element);
            let next = self.end - rest.0.len();
            seen += usize::from(equal);
            if !equal || seen <= skipped {
                self.buf.copy_within(from..next, to);
                to += next - from;
            }
            from = next;
        }
        self.buf.copy_within(from..self.end, to);
        self.end -= from - to;
        self.count -= removed;
        self.shrink();
        removed
    }

    /// Cuts off the elements from `index` on.
    pub(super) fn split_off(&mut self, index: usize) -> Self {
        let at = self.start + self.entries().offset_of(index, self.count);
        let mut behind = Self::new();
        behind.append_bytes(&self.buf[at..self.end], self.count - index);
        self.end = at;
        self.count = index;
        behind
    }

    /// Moves all elements of `other` behind its own.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.append_bytes(other.entries().0, other.count);
        *other = Self::new();
    }

    fn append_bytes(&mut self, entries: &[u8], count: usize) {
        self.reserve_back(entries.len());
        self.buf[self.end..self.end + entries.len()].copy_from_slice(entries);
        self.end += entries.len();
        self.count += count;
    }

    /// The bytes of the elements in a range of positions, counted from the first entry.
    fn range(&self, positions: Range<usize>) -> Range<usize> {
        let entries = self.entries();
        let start = entries.offset_of(positions.start, self.count);
        if positions.len() == self.count - positions.start {
            return start..self.used();
        }
        if positions.len() > self.count - positions.end {
            return start..entries.offset_of(positions.end, self.count);
        }
        let mut rest = Entries(&entries.0[start..]);
        for _ in 0..positions.len() {
            rest.next();
        }
        start..self.used() - rest.0.len()
    }

    fn reserve_back(&mut self, extra: usize) {
        if self.buf.len().saturating_sub(self.end) >= extra {
            return;
        }
        let used = self.used();
        if self.start > HEADER {
            self.buf.copy_within(self.start..self.end, HEADER);
        }
        // Moving pays when it makes room for more than this one.
        if self.start - HEADER < extra.max(used / 8) {
            let mut buf = std::mem::take(&mut self.buf).into_vec();
            let size = roomy(used + extra).max(buf.len());
            buf.reserve_exact(size - buf.len());
            buf.resize(size, 0);
            self.buf = buf.into_boxed_slice();
        }
        (self.start, self.end) = (HEADER, HEADER + used);
    }

    fn reserve_front(&mut self, extra: usize) {
        if self.start - HEADER >= extra {
            return;
        }
        let (used, size) = (self.used(), self.buf.len());
        if size.saturating_sub(self.end) >= extra.max(used / 8) {
            self.buf.copy_within(self.start..self.end, size - used);
        } else {
            let size = roomy(used + extra).max(size);
            let mut buf = vec![0; size];
            buf[size - used..].copy_from_slice(self.entries().0);
            self.buf = buf.into_boxed_slice();
        }
        self.end = self.buf.len();
        self.start = self.end - used;
    }

    /// Gives memory back when less than a quarter of it is in use.
    pub(super) fn shrink(&mut self) {
        let (used, size) = (self.used(), self.buf.len());
        if size > 64 && used < size / 4 {
            let mut small = Self { buf: vec![0; roomy(used)].into_boxed_slice(), ..Self::new() };
            small.append_bytes(self.entries().0, self.count);
            *self = small;
        }
    }

    /// Panics when an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        assert!(self.start >= HEADER && self.start <= self.end, "entries in the header");
        assert!(self.end <= self.buf.len() || self.count == 0, "entries behind the buffer");
        assert!(self.used() <= LIMIT || self.count == 1, "an overfull chunk");
        assert_eq!(self.entries().count(), self.count, "the count forwards");
        assert_eq!(self.entries().rev().count(), self.count, "the count backwards");
    }
}

fn header(buf: &[u8]) -> [usize; 3] {
    let mut numbers = [HEADER, HEADER, 0];
    for (n, bytes) in numbers.iter_mut().zip(buf.as_chunks::<2>().0) {
        *n = usize::from(u16::from_ne_bytes(*bytes));
    }
    numbers
}

/// The entries in a packed buffer, and their number, without taking the buffer apart.
pub(super) fn packed(buf: &[u8]) -> (Entries<'_>, usize) {
    let [start, end, count] = header(buf);
    (Entries(buf.get(start..end).unwrap_or_default()), count)
}

/// Size of a buffer for entries of `used` bytes: with room for more, but no more than a full chunk
/// can use.
fn roomy(used: usize) -> usize {
    let room = if used < LIMIT { (used / 4).min(LIMIT - used) } else { 0 };
    (HEADER + used + room).next_multiple_of(16)
}

/// Bytes of a length in front of or behind an element.
fn length_size(len: usize) -> usize {
    ((usize::BITS - (len | 1).leading_zeros()) as usize).div_ceil(7)
}

/// Bytes that an element of `len` bytes takes.
fn entry_size(len: usize) -> usize {
    len + 2 * length_size(len)
}

/// Fills `place`, which is just as long as the entry.
fn write_entry(place: &mut [u8], element: &[u8]) {
    let size = length_size(element.len());
    let (mut rest, last) = (element.len(), place.len() - 1);
    for at in 0..size {
        let more = if at + 1 < size { 0x80 } else { 0 };
        let byte = (rest & 0x7f) as u8 | more;
        (place[at], place[last - at]) = (byte, byte);
        rest >>= 7;
    }
    place[size..size + element.len()].copy_from_slice(element);
}

/// Reads a length from its bytes in order.
#[inline]
fn read_length<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    let (mut len, mut shift) = (0, 0);
    for byte in bytes {
        len |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    len
}

/// Entries that lie one after the other, taken from either end.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries<'a>(&'a [u8]);

impl Entries<'_> {
    /// Where the entry at `index` of `count` begins, found from the nearer end.
    fn offset_of(&self, index: usize, count: usize) -> usize {
        let mut rest = self.clone();
        if index <= count / 2 {
            for _ in 0..index {
                rest.next();
            }
            self.0.len() - rest.0.len()
        } else {
            for _ in index..count {
                rest.next_back();
            }
            rest.0.len()
        }
    }

    /// Those in front of the entry at `index` of `count`, and those from it on.
    pub(super) fn split(&self, index: usize, count: usize) -> (Self, Self) {
        let (before, from) = self.0.split_at(self.offset_of(index, count));
        (Self(before), Self(from))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let first = *self.0.first()?;
        let (mut len, mut size) = (usize::from(first), 1);
        if first >= 0x80 {
            len = read_length(self.0.iter());
            size = length_size(len);
        }
        let element = self.0.get(size..size + len)?;
        self.0 = self.0.get(len + 2 * size..)?;
        Some(element)
    }
}

impl DoubleEndedIterator for Entries<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let len = read_length(self.0.iter().rev());
        let size = length_size(len);
        let end = self.0.len().checked_sub(size)?;
        let element = self.0.get(end.checked_sub(len)?..end)?;
        self.0 = self.0.get(..end - len - size)?;
        Some(element)
    }
}
