//! [`Str`]: the value of a string key.
//!
//! Three forms, by what is done with the string. A number is kept as one, so that INCR neither
//! reads nor allocates. Text that was set as a whole is a [`Bytes`]: short text needs no allocation
//! and a large page is shared with the replies that read it. Text that APPEND or SETRANGE changed
//! sits in a buffer with room to grow.
//!
//! The forms answer for Redis's encodings: `int`, `embstr` (set, at most 44 bytes) and `raw`
//! (longer, or changed in place).
//!
//! Invariants: 24 bytes in size, with room for an enum around it to use; behind its text a buffer
//! holds only zeros.

use std::fmt;

use super::number::parse_i64;
use crate::bytes::Bytes;

/// The longest text that Redis keeps in one block with its object.
const EMBSTR_MAX: usize = 44;

/// Up to this size a buffer that must grow gets half of its size as room, from there on an eighth.
const GROW_HALF_BELOW: usize = 1 << 20;

/// A binary-safe string that may be a number and may grow.
///
/// ```
/// use stockroom::types::Str;
/// let mut s = Str::new(b"12");
/// assert_eq!((s.as_i64(), s.encoding()), (Some(12), "int"));
/// s.append(b"a");
/// assert_eq!((&*s.to_bytes(), s.encoding()), (&b"12a"[..], "raw"));
/// ```
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    Text(Bytes),
    Buffer(Buffer),
}

const _: () = assert!(size_of::<Str>() == 24);

impl Str {
    /// The empty string.
    pub const EMPTY: Self = Self(Repr::Text(Bytes::EMPTY));

    /// A copy of `text`, kept as a number where it is one in canonical form.
    #[inline]
    pub fn new(text: &[u8]) -> Self {
        match parse_i64(text) {
            Some(n) => Self(Repr::Int(n)),
            None => Self(Repr::Text(Bytes::copy_from(text))),
        }
    }

    /// As [`new`](Self::new), without a copy.
    pub fn from_bytes(text: Bytes) -> Self {
        match parse_i64(&text) {
            Some(n) => Self(Repr::Int(n)),
            None => Self(Repr::Text(text)),
        }
    }

    /// Kept as text even where it is a number, as Redis keeps the result of INCRBYFLOAT.
    pub fn from_text(text: Bytes) -> Self {
        Self(Repr::Text(text))
    }

    /// The number, where the text is one in canonical form.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(n) => Some(*n),
            _ => self.with_slice(parse_i64),
        }
    }

    /// The text. Shared, not copied, when it is long and was set as a whole.
    #[inline]
    pub fn to_bytes(&self) -> Bytes {
        match &self.0 {
            Repr::Text(text) => text.clone(),
            _ => self.with_slice(Bytes::copy_from),
        }
    }

    /// Reads the text in place.
    #[inline]
    pub fn with_slice<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        match &self.0 {
            Repr::Int(n) => read(itoa::Buffer::new().format(*n).as_bytes()),
            Repr::Text(text) => read(text),
            Repr::Buffer(buffer) => read(buffer.text()),
        }
    }

    /// Length of the text in bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Int(n) => itoa::Buffer::new().format(*n).len(),
            Repr::Text(text) => text.len(),
            Repr::Buffer(buffer) => buffer.len(),
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds text at the end; none at all still makes the string `raw`. O(added), amortised.
    pub fn append(&mut self, text: &[u8]) {
        self.write(self.len(), text);
    }

    /// Overwrites from `offset` on, with zeros between the old end and an offset behind it.
    /// Writing nothing changes nothing. O(written), amortised, where the string was changed
    /// before.
    pub fn set_range(&mut self, offset: usize, text: &[u8]) {
        if !text.is_empty() {
            self.write(offset, text);
        }
    }

    fn write(&mut self, offset: usize, text: &[u8]) {
        let end = offset.saturating_add(text.len());
        if let Repr::Buffer(buffer) = &mut self.0 {
            buffer.reserve(end);
            buffer.write(offset, text);
        } else {
            let mut buffer = self.with_slice(|old| Buffer::new(old, end));
            buffer.write(offset, text);
            self.0 = Repr::Buffer(buffer);
        }
    }

    /// The name of the encoding, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match &self.0 {
            Repr::Int(_) => "int",
            Repr::Text(text) if text.len() <= EMBSTR_MAX => "embstr",
            _ => "raw",
        }
    }

    /// Bytes on the heap.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Int(_) => 0,
            Repr::Text(text) => text.heap_size(),
            Repr::Buffer(buffer) => buffer.0.len(),
        }
    }

    /// Panics when an invariant does not hold.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        if let Repr::Buffer(buffer) = &self.0 {
            assert!(buffer.len() + HEADER <= buffer.0.len(), "text longer than its buffer");
            assert!(buffer.0[HEADER + buffer.len()..].iter().all(|b| *b == 0), "room not zero");
        }
    }
}

/// Text with room behind it, in one allocation of which the first bytes tell the text's length.
#[derive(Clone)]
struct Buffer(Box<[u8]>);

/// Bytes of a buffer in front of the text.
const HEADER: usize = size_of::<usize>();

impl Buffer {
    /// A copy of `text` with room for `size`.
    fn new(text: &[u8], size: usize) -> Self {
        let size = size.max(text.len());
        // Zeros that nobody touches cost nothing: neither does a hole of 512 MB, yet.
        let room = if text.is_empty() { 0 } else { Self::room(size) };
        let mut buf = vec![0; HEADER + size + room];
        buf[HEADER..HEADER + text.len()].copy_from_slice(text);
        let mut buffer = Self(buf.into_boxed_slice());
        buffer.set_len(text.len());
        buffer
    }

    /// What a buffer that grows to `size` gets on top: enough that appending is O(added).
    fn room(size: usize) -> usize {
        if size < GROW_HALF_BELOW { size / 2 } else { size / 8 }
    }

    fn len(&self) -> usize {
        let header = self.0.first_chunk::<HEADER>().copied().unwrap_or_default();
        usize::from_ne_bytes(header)
    }

    fn set_len(&mut self, len: usize) {
        if let Some(header) = self.0.first_chunk_mut::<HEADER>() {
            *header = len.to_ne_bytes();
        }
    }

    fn text(&self) -> &[u8] {
        &self.0[HEADER..HEADER + self.len()]
    }

    fn reserve(&mut self, size: usize) {
        if self.0.len() - HEADER < size {
            let mut buf = std::mem::take(&mut self.0).into_vec();
            let whole = HEADER + size + Self::room(size);
            buf.reserve_exact(whole - buf.len());
            buf.resize(whole, 0);
            self.0 = buf.into_boxed_slice();
        }
    }

    /// Overwrites from `offset` on. There must be room.
    fn write(&mut self, offset: usize, text: &[u8]) {
        let end = offset + text.len();
        self.0[HEADER + offset..HEADER + end].copy_from_slice(text);
        self.set_len(self.len().max(end));
    }
}

impl Default for Str {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<i64> for Str {
    fn from(n: i64) -> Self {
        Self(Repr::Int(n))
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.with_slice(|a| other.with_slice(|b| a == b))
    }
}

impl Eq for Str {}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_slice(|text| write!(f, "\"{}\"", text.escape_ascii()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[allow(dead_code, reason = "only its size matters")]
    enum Around {
        Str(Str),
        Boxed(Box<[u8]>),
        Two([usize; 2]),
        Thin(Box<u64>),
    }

    #[test]
    fn an_enum_around_it_takes_no_more_room() {
        assert_eq!(size_of::<Around>(), 24);
        assert_eq!(size_of::<Option<Around>>(), 24);
    }

    #[test]
    fn encodings_are_those_of_the_server() {
        // Checked with OBJECT ENCODING on Redis 7.0.15.
        for (text, encoding) in [
            ("", "embstr"),
            ("0", "int"),
            ("-9223372036854775808", "int"),
            ("9223372036854775808", "embstr"),
            ("007", "embstr"),
            (&"x".repeat(44), "embstr"),
            (&"x".repeat(45), "raw"),
        ] {
            assert_eq!(Str::new(text.as_bytes()).encoding(), encoding, "{text}");
            assert_eq!(Str::from_bytes(Bytes::from(text)).encoding(), encoding, "{text}");
        }
        assert_eq!(Str::from_text(Bytes::from("3")).encoding(), "embstr");
        assert_eq!(Str::from_text(Bytes::from("3")).as_i64(), Some(3));
        let mut s = Str::new(b"1");
        s.set_range(9, b"");
        assert_eq!(s.encoding(), "int");
        s.append(b"");
        assert_eq!((s.encoding(), s.as_i64()), ("raw", Some(1)));
        s.append(b"0");
        assert_eq!((s.encoding(), s.as_i64()), ("raw", Some(10)));
    }

    #[test]
    fn pages_are_shared_until_they_are_changed() {
        let mut s = Str::new(&[7; 4096]);
        let page = s.to_bytes();
        assert!(std::ptr::eq(page.as_slice(), s.to_bytes().as_slice()));
        s.set_range(0, b"x");
        assert_eq!((page[0], s.to_bytes()[0]), (7, b'x'));
    }

    #[test]
    fn appending_reallocates_seldom() {
        let (mut s, mut buffers) = (Str::new(b"log:"), 0);
        let mut room = 0;
        for _ in 0..100_000 {
            s.append(b"0123456789");
            if s.heap_size() != room {
                (room, buffers) = (s.heap_size(), buffers + 1);
            }
        }
        assert_eq!(s.len(), 1_000_004);
        assert!(buffers < 40, "{buffers} buffers");
    }

    #[derive(Clone, Debug)]
    enum Op {
        Append(Vec<u8>),
        SetRange(usize, Vec<u8>),
        Set(Vec<u8>),
    }

    fn op() -> impl Strategy<Value = Op> {
        let text = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            any::<i64>().prop_map(|n| n.to_string().into_bytes()),
        ];
        prop_oneof![
            4 => text.clone().prop_map(Op::Append),
            4 => (0usize..200, text.clone()).prop_map(|(at, text)| Op::SetRange(at, text)),
            1 => text.prop_map(Op::Set),
        ]
    }

    proptest! {
        #[test]
        fn behaves_as_a_vector(ops in proptest::collection::vec(op(), 1..40)) {
            let (mut s, mut model) = (Str::default(), Vec::new());
            for op in ops {
                match op {
                    Op::Append(text) => {
                        s.append(&text);
                        model.extend(text);
                    }
                    Op::SetRange(at, text) => {
                        s.set_range(at, &text);
                        if !text.is_empty() {
                            model.resize(model.len().max(at + text.len()), 0);
                            model[at..at + text.len()].copy_from_slice(&text);
                        }
                    }
                    Op::Set(text) => {
                        s = Str::new(&text);
                        model = text;
                    }
                }
                s.check_invariants();
                prop_assert!(s.to_bytes() == model[..]);
                prop_assert_eq!(s.len(), model.len());
                prop_assert_eq!(s.as_i64(), parse_i64(&model));
            }
        }
    }
}
