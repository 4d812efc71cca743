//! [`ScoreBound`] and [`LexBound`]: the ends of a range by score or by member.
//!
//! A bound is a cut between elements, not an element: it lies just before or just after a value.
//! So one type serves both ends of a range, inclusive or exclusive, and a range is what lies
//! between two cuts. How bounds are spelled on the wire (`(5`, `[a`, `-inf`, `+`) is not known
//! here.

use std::ops::Range;

/// A cut in the order of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreBound {
    /// Just before all elements of this score.
    Before(f64),
    /// Just after all elements of this score.
    After(f64),
}

impl ScoreBound {
    /// The lower end of a range that starts at `score`.
    pub const fn min(score: f64, exclusive: bool) -> Self {
        if exclusive { Self::After(score) } else { Self::Before(score) }
    }

    /// The upper end of a range that stops at `score`.
    pub const fn max(score: f64, exclusive: bool) -> Self {
        if exclusive { Self::Before(score) } else { Self::After(score) }
    }

    /// Whether an element with `score` lies below the cut.
    #[inline]
    pub fn is_above(self, score: f64) -> bool {
        match self {
            Self::Before(cut) => score < cut,
            Self::After(cut) => score <= cut,
        }
    }
}

/// A cut in the order of members, for sorted sets whose elements all have the same score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexBound<'a> {
    /// Before every member: `-`.
    First,
    /// Just before this member.
    Before(&'a [u8]),
    /// Just after this member.
    After(&'a [u8]),
    /// After every member: `+`.
    Last,
}

impl<'a> LexBound<'a> {
    /// The lower end of a range that starts at `member`.
    pub const fn min(member: &'a [u8], exclusive: bool) -> Self {
        if exclusive { Self::After(member) } else { Self::Before(member) }
    }

    /// The upper end of a range that stops at `member`.
    pub const fn max(member: &'a [u8], exclusive: bool) -> Self {
        if exclusive { Self::Before(member) } else { Self::After(member) }
    }

    /// Whether `member` lies below the cut.
    #[inline]
    pub fn is_above(self, member: &[u8]) -> bool {
        match self {
            Self::First => false,
            Self::Before(cut) => member < cut,
            Self::After(cut) => member <= cut,
            Self::Last => true,
        }
    }

    /// Whether no member whatever can lie between `self` and `max`.
    pub fn leaves_nothing_below(self, max: LexBound<'_>) -> bool {
        match (self, max) {
            (Self::Last, _) | (_, LexBound::First) => true,
            (Self::First, _) | (_, LexBound::Last) => false,
            (Self::Before(a), LexBound::After(b)) => a > b,
            (Self::Before(a) | Self::After(a), LexBound::Before(b) | LexBound::After(b)) => a >= b,
        }
    }
}

/// The positions between two ranks; empty when they are the wrong way round.
pub(super) fn between(start: usize, end: usize) -> Range<usize> {
    start..end.max(start)
}
