//! How the ends of ranges are spelled.

use crate::error::WireError;
use crate::types::number::parse_c_f64;
use crate::types::zset::{LexBound, ScoreBound};

/// The range of scores from `min` to `max`: numbers, exclusive behind a `(`.
pub(super) fn scores(min: &[u8], max: &[u8]) -> Result<(ScoreBound, ScoreBound), WireError> {
    let read = |text: &[u8]| match text {
        [b'(', score @ ..] => Some((parse_c_f64(score)?, true)),
        score => Some((parse_c_f64(score)?, false)),
    };
    match (read(min), read(max)) {
        (Some((min, min_open)), Some((max, max_open))) => {
            Ok((ScoreBound::min(min, min_open), ScoreBound::max(max, max_open)))
        }
        _ => Err(WireError::fixed("ERR min or max is not a float")),
    }
}

/// The range of members from `min` to `max`: `-` and `+`, or members behind a `[` or, exclusive,
/// a `(`.
pub(super) fn lex<'a>(
    min: &'a [u8],
    max: &'a [u8],
) -> Result<(LexBound<'a>, LexBound<'a>), WireError> {
    match (lex_end(min, LexBound::min), lex_end(max, LexBound::max)) {
        (Some(min), Some(max)) => Ok((min, max)),
        _ => Err(WireError::fixed("ERR min or max not valid string range item")),
    }
}

fn lex_end<'a>(text: &'a [u8], bound: fn(&'a [u8], bool) -> LexBound<'a>) -> Option<LexBound<'a>> {
    match text {
        // Redis looks at a C string, which ends at a zero byte.
        [b'-'] | [b'-', 0, ..] => Some(LexBound::First),
        [b'+'] | [b'+', 0, ..] => Some(LexBound::Last),
        [b'[', member @ ..] => Some(bound(member, false)),
        [b'(', member @ ..] => Some(bound(member, true)),
        _ => None,
    }
}
