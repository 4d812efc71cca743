//! [`Hash`]: fields and their values.
//!
//! Two forms, as in Redis 7.0, told apart by `OBJECT ENCODING`. A hash starts as `listpack`: one
//! packed allocation, in order of insertion. Once it has more fields than
//! [`Limits::hash_listpack_entries`] or a longer field or value than
//! [`Limits::hash_listpack_value`] it becomes a `hashtable` and stays one: a [`Dense`] table,
//! where everything but iteration is O(1).
//!
//! Invariants: the packed form is empty, or a count (16 bits, little endian), the size of the last
//! pair (the same; 0 when it is not known) and then that many pairs of entries with distinct
//! fields. The last pair is looked at first: where fields are times, it is the one that counts.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::dense::{self, Dense, Keyed};
use super::limits::Limits;
use super::packed::{self, Entries};
use crate::bytes::{Bytes, same};

/// Bytes in front of the packed pairs: the count, and the size of the last pair.
const HEADER: usize = 4;
/// What the count can say: with more fields a hash is a table, whatever the limits.
const MAX_PACKED_FIELDS: usize = u16::MAX as usize;
/// As `LISTPACK_MAX_SAFETY_LIMIT` in Redis: no packed hash is larger.
const MAX_PACKED_BYTES: usize = 1 << 30;

/// Fields and their values.
///
/// ```
/// use stockroom::types::{Hash, Limits};
/// let mut cart = Hash::default();
/// assert!(cart.insert(b"item:7", b"2", &Limits::default()));
/// assert!(!cart.insert(b"item:7", b"3", &Limits::default()));
/// assert_eq!(cart.get(b"item:7"), Some(&b"3"[..]));
/// assert_eq!(cart.encoding(), "listpack");
/// ```
#[derive(Clone, Debug)]
pub struct Hash(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Packed(Box<[u8]>),
    Table(Box<Dense<Field>>),
}

#[derive(Clone, Debug)]
struct Field {
    name: Bytes,
    value: Bytes,
}

const _: () = assert!(size_of::<Hash>() == 16);

impl Keyed for Field {
    fn key(&self) -> &[u8] {
        &self.name
    }
}

impl Default for Hash {
    fn default() -> Self {
        Self(Repr::Packed(Box::default()))
    }
}

impl Hash {
    /// Number of fields. O(1).
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Packed(buf) => packed_len(buf),
            Repr::Table(table) => table.len(),
        }
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the form in use, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match &self.0 {
            Repr::Packed(_) => "listpack",
            Repr::Table(_) => "hashtable",
        }
    }

    /// The value of a field. O(1); packed: O(n).
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match &self.0 {
            Repr::Packed(buf) => buf.get(find(buf, field)?.value_bytes()),
            Repr::Table(table) => Some(&table.get(table.find(field)?)?.value),
        }
    }

    /// As [`get`](Self::get), as a string of its own; a large value is shared, not copied.
    pub fn get_bytes(&self, field: &[u8]) -> Option<Bytes> {
        match &self.0 {
            Repr::Packed(_) => self.get(field).map(Bytes::copy_from),
            Repr::Table(table) => Some(table.get(table.find(field)?)?.value.clone()),
        }
    }

    /// Whether the field exists. O(1); packed: O(n).
    pub fn contains(&self, field: &[u8]) -> bool {
        match &self.0 {
            Repr::Packed(buf) => find(buf, field).is_some(),
            Repr::Table(table) => table.find(field).is_some(),
        }
    }

    /// Sets a field and returns whether it is new. O(1); packed: O(n).
    pub fn insert(&mut self, field: &[u8], value: &[u8], limits: &Limits) -> bool {
        if let Repr::Packed(buf) = &mut self.0 {
            let longest = field.len().max(value.len());
            let bytes = buf.len().saturating_add(field.len()).saturating_add(value.len());
            if longest > limits.hash_listpack_value || bytes > MAX_PACKED_BYTES {
                self.make_table();
            } else {
                let new = insert_packed(buf, field, value);
                if packed_len(buf) > limits.hash_listpack_entries.min(MAX_PACKED_FIELDS - 1) {
                    self.make_table();
                }
                return new;
            }
        }
        let Repr::Table(table) = &mut self.0 else { return false };
        if let Some(entry) = table.find(field).and_then(|pos| table.get_mut(pos)) {
            entry.value = Bytes::copy_from(value);
            return false;
        }
        table.push(Field { name: Bytes::copy_from(field), value: Bytes::copy_from(value) });
        true
    }

    /// Replaces the value of a field by what `change` makes of it (`None` when there is no such
    /// field), in one look-up where that is possible. An error leaves the hash as it was.
    /// O(1); packed: O(n).
    pub fn update<V: AsRef<[u8]>, E>(
        &mut self,
        field: &[u8],
        limits: &Limits,
        change: impl FnOnce(Option<&[u8]>) -> Result<V, E>,
    ) -> Result<(), E> {
        let buf = match &mut self.0 {
            Repr::Packed(buf) => buf,
            Repr::Table(table) => {
                if let Some(entry) = table.find(field).and_then(|pos| table.get_mut(pos)) {
                    entry.value = Bytes::copy_from(change(Some(&entry.value))?.as_ref());
                } else {
                    let value = Bytes::copy_from(change(None)?.as_ref());
                    table.push(Field { name: Bytes::copy_from(field), value });
                }
                return Ok(());
            }
        };
        let pair = find(buf, field);
        let value = change(pair.as_ref().and_then(|pair| buf.get(pair.value_bytes())))?;
        let value = value.as_ref();
        let fits = field.len().max(value.len()) <= limits.hash_listpack_value
            && packed_len(buf) < limits.hash_listpack_entries.min(MAX_PACKED_FIELDS - 1)
            && buf.len() <= MAX_PACKED_BYTES / 2;
        match pair {
            _ if !fits => {
                self.insert(field, value, limits);
            }
            Some(pair) => set_value(buf, &pair, value),
            None => append(buf, field, value),
        }
        Ok(())
    }

    /// Removes a field and returns whether it was there. O(1); packed: O(n).
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match &mut self.0 {
            Repr::Packed(buf) => {
                let Some(pair) = find(buf, field) else { return false };
                if pair.end == buf.len() {
                    set_last_size(buf, 0);
                }
                packed::splice(buf, pair.start..pair.end, &[]);
                let len = packed_len(buf) - 1;
                set_packed_len(buf, len);
                true
            }
            Repr::Table(table) => table.remove(field).is_some(),
        }
    }

    /// The fields and values: packed in order of insertion, else in no order to rely on.
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Repr::Packed(buf) => IterRepr::Packed(Entries::new(buf, HEADER)),
            Repr::Table(table) => IterRepr::Table(table.iter()),
        })
    }

    /// The field at a position below `len`, for fair random picks. O(1); packed: O(n).
    pub fn nth(&self, n: usize) -> Option<(&[u8], &[u8])> {
        match &self.0 {
            Repr::Packed(_) => self.iter().nth(n),
            Repr::Table(table) => table.get(n).map(|f| (&*f.name, &*f.value)),
        }
    }

    /// Calls `f` with the fields of one page and returns the next cursor; 0 starts and ends. A
    /// packed hash is one page, as in Redis. A field that stays from the first page to the last
    /// is met at least once. O(count); packed: O(n).
    pub fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8], &[u8])) -> u64 {
        match &self.0 {
            Repr::Packed(_) => {
                self.iter().for_each(|(field, value)| f(field, value));
                0
            }
            Repr::Table(table) => table.scan(cursor, count, &mut |e| f(&e.name, &e.value)),
        }
    }

    /// Bytes on the heap. O(n); packed: O(1).
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Packed(buf) => buf.len(),
            Repr::Table(table) => {
                let of_entry = |f: &Field| f.name.heap_size() + f.value.heap_size();
                size_of_val(&**table) + table.heap_size(of_entry)
            }
        }
    }

    /// Panics with the reason if an invariant does not hold.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        match &self.0 {
            Repr::Packed(buf) => {
                let fields: Vec<&[u8]> = self.iter().map(|(field, _)| field).collect();
                assert_eq!(packed_len(buf), fields.len(), "count and fields differ");
                assert_eq!(Entries::new(buf, HEADER).count(), 2 * fields.len(), "half a pair");
                let last = fields.last().map(|field| find(buf, field).map(|p| p.end - p.start));
                let noted = last_size(buf);
                assert!(noted == 0 || last == Some(Some(noted)), "size of the last pair");
                for (i, field) in fields.iter().enumerate() {
                    assert!(!fields[..i].contains(field), "field {i} is there twice");
                }
            }
            Repr::Table(table) => table.check_invariants(),
        }
    }

    fn make_table(&mut self) {
        let mut table = Dense::default();
        for (name, value) in self.iter() {
            table.push(Field { name: name.into(), value: value.into() });
        }
        self.0 = Repr::Table(Box::new(table));
    }
}

/// Iterates over the fields and values of a [`Hash`].
#[derive(Clone, Debug)]
pub struct Iter<'a>(IterRepr<'a>);

#[derive(Clone, Debug)]
enum IterRepr<'a> {
    Packed(Entries<'a>),
    Table(dense::Iter<'a, Field>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Packed(entries) => Some((entries.next()?, entries.next()?)),
            IterRepr::Table(fields) => fields.next().map(|f| (&*f.name, &*f.value)),
        }
    }
}

impl<'a> IntoIterator for &'a Hash {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

fn packed_len(buf: &[u8]) -> usize {
    buf.first_chunk().map_or(0, |count| usize::from(u16::from_le_bytes(*count)))
}

fn set_packed_len(buf: &mut Box<[u8]>, len: usize) {
    if len == 0 {
        *buf = Box::default();
    } else if let Some(count) = buf.first_chunk_mut() {
        *count = (len as u16).to_le_bytes();
    }
}

/// Where a pair lies in the packed form: the offsets of its two entries, of the bytes of its value
/// and of what follows.
struct Pair {
    start: usize,
    value: usize,
    value_len: usize,
    end: usize,
}

impl Pair {
    fn value_bytes(&self) -> Range<usize> {
        self.end - self.value_len..self.end
    }
}

/// Looks at the last pair, then at one after the other; neither values nor, mostly, fields are
/// touched on the way.
fn find(buf: &[u8], field: &[u8]) -> Option<Pair> {
    let last = last_size(buf);
    if last > 0
        && let Some(pair) = find_in(buf, buf.get(buf.len().checked_sub(last)?..)?, field)
    {
        return Some(pair);
    }
    find_in(buf, buf.get(HEADER..)?, field)
}

/// The pair of `field` among those in `pairs`, the end of `buf`.
#[inline]
fn find_in(buf: &[u8], mut pairs: &[u8], field: &[u8]) -> Option<Pair> {
    // Fields of one length, such as times, mostly differ at their ends.
    let tail = field.last_chunk::<8>();
    let may_be = |name: &[u8]| name.len() == field.len() && name.last_chunk() == tail;
    loop {
        let (name, values) = packed::split_first(pairs)?;
        let (value, rest) = packed::split_first(values)?;
        if may_be(name) && same(name, field) {
            return Some(Pair {
                start: buf.len() - pairs.len(),
                value: buf.len() - values.len(),
                value_len: value.len(),
                end: buf.len() - rest.len(),
            });
        }
        pairs = rest;
    }
}

fn insert_packed(buf: &mut Box<[u8]>, field: &[u8], value: &[u8]) -> bool {
    if let Some(pair) = find(buf, field) {
        set_value(buf, &pair, value);
        return false;
    }
    append(buf, field, value);
    true
}

/// Adds a pair at the end, whose field must be new.
fn append(buf: &mut Box<[u8]>, field: &[u8], value: &[u8]) {
    if buf.is_empty() {
        *buf = Box::new([0; HEADER]);
    }
    let (end, len) = (buf.len(), packed_len(buf) + 1);
    packed::splice(buf, end..end, &[field, value]);
    set_packed_len(buf, len);
    set_last_size(buf, buf.len() - end);
}

fn set_value(buf: &mut Box<[u8]>, pair: &Pair, value: &[u8]) {
    let is_last = pair.end == buf.len();
    packed::splice(buf, pair.value..pair.end, &[value]);
    if is_last {
        set_last_size(buf, buf.len() - pair.start);
    }
}

/// The size of the last pair; 0 when it is not known.
#[inline]
fn last_size(buf: &[u8]) -> usize {
    match buf {
        [_, _, low, high, ..] => usize::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    }
}

/// Notes the size of the last pair, unless it takes more than 16 bits.
fn set_last_size(buf: &mut [u8], size: usize) {
    if let Some(place) = buf.get_mut(2..HEADER) {
        place.copy_from_slice(&u16::try_from(size).unwrap_or(0).to_le_bytes());
    }
}
