//! Sets of integers in one allocation, as Redis's intset.
//!
//! Layout: a byte with the width of a number (2, 4 or 8) and the numbers in ascending order, little
//! endian, all of that width. The width grows when a number needs it and never shrinks. An empty
//! buffer is an empty set.

use std::cmp::Ordering;
use std::mem;

use crate::types::packed;

/// Number of integers.
pub(super) fn len(buf: &[u8]) -> usize {
    buf.split_first().map_or(0, |(&width, body)| body.len() / usize::from(width.max(2)))
}

/// The `n`th integer in ascending order.
pub(super) fn nth(buf: &[u8], n: usize) -> Option<i64> {
    let (&width, body) = buf.split_first()?;
    let body = body.get(n * usize::from(width)..)?;
    match width {
        2 => body.first_chunk().map(|b| i64::from(i16::from_le_bytes(*b))),
        4 => body.first_chunk().map(|b| i64::from(i32::from_le_bytes(*b))),
        _ => body.first_chunk().map(|b| i64::from_le_bytes(*b)),
    }
}

/// The position of an integer, or the one where it would be.
pub(super) fn search(buf: &[u8], int: i64) -> Result<usize, usize> {
    let (mut low, mut high) = (0, len(buf));
    while low < high {
        let middle = usize::midpoint(low, high);
        match nth(buf, middle).map_or(Ordering::Greater, |found| found.cmp(&int)) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// Adds an integer and returns whether it is new.
pub(super) fn insert(buf: &mut Box<[u8]>, int: i64) -> bool {
    let Err(pos) = search(buf, int) else { return false };
    let needed = width_of(int);
    match buf.first() {
        None => *buf = Box::new([needed]),
        Some(&width) if width < needed => widen(buf, needed),
        Some(_) => {}
    }
    let width = usize::from(buf[0]);
    let at = 1 + pos * width;
    packed::resize(buf, at..at, width);
    buf[at..at + width].copy_from_slice(&int.to_le_bytes()[..width]);
    true
}

/// Removes the integer at a position.
pub(super) fn remove(buf: &mut Box<[u8]>, pos: usize) {
    let width = buf.first().map_or(0, |&width| usize::from(width));
    if buf.len() == 1 + width {
        *buf = Box::default();
    } else {
        packed::resize(buf, 1 + pos * width..1 + (pos + 1) * width, 0);
    }
}

fn width_of(int: i64) -> u8 {
    if i16::try_from(int).is_ok() {
        2
    } else if i32::try_from(int).is_ok() {
        4
    } else {
        8
    }
}

fn widen(buf: &mut Box<[u8]>, width: u8) {
    let old = mem::take(buf);
    let mut wide = Vec::with_capacity(1 + len(&old) * usize::from(width));
    wide.push(width);
    for n in 0..len(&old) {
        let int = nth(&old, n).unwrap_or_default();
        wide.extend_from_slice(&int.to_le_bytes()[..usize::from(width)]);
    }
    *buf = wide.into_boxed_slice();
}

/// Panics if an invariant does not hold.
pub(super) fn check_invariants(buf: &[u8]) {
    if let Some((width, body)) = buf.split_first() {
        assert!(matches!(width, 2 | 4 | 8), "width {width}");
        assert!(!body.is_empty(), "an empty set has an allocation");
        assert!(body.len().is_multiple_of(usize::from(*width)), "half a number");
    }
    let ints: Vec<_> = (0..len(buf)).map(|n| nth(buf, n)).collect();
    assert!(ints.is_sorted_by(|a, b| a < b), "integers are not ascending");
}
