//! [`End`]: where an element is taken from or put to.

/// An end of a list, or of a sorted set in the order of its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The left of a list, the least of a sorted set.
    First,
    /// The right of a list, the greatest of a sorted set.
    Last,
}
