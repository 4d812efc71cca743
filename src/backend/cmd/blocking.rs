//! Commands that wait for a key to hold something. They run on a session of one's own only.
//!
//! The last argument says for how long, to the millisecond and at least for one; `None` is for
//! ever.

use std::time::Duration;

use super::{Arg, Cmd};
use crate::bytes::Bytes;
use crate::commands::{Spec, blocking};

/// Seconds, as the server wants them: 0 is for ever there.
fn timeout(patience: Option<Duration>) -> Arg<'static> {
    let Some(patience) = patience else { return Arg::from(0_i64) };
    let ms = i64::try_from(patience.as_millis()).unwrap_or(MOST_MS).clamp(1, MOST_MS);
    Arg::from(Bytes::from(format!("{}.{:03}", ms / 1_000, ms % 1_000).as_str()))
}

/// The longest wait, a thousand years: the server takes no number without end.
const MOST_MS: i64 = 1_000 * 365 * 86_400 * 1_000;

fn pop<'a, T>(
    spec: &'static Spec,
    keys: impl IntoIterator<Item = impl Into<Arg<'a>>>,
    patience: Option<Duration>,
) -> Cmd<'a, T> {
    Cmd::new(spec).args(keys).arg(timeout(patience))
}

/// `BLPOP key … timeout`: the first element of the first of the lists that has one, with its key.
pub fn blpop<'a, T>(
    keys: impl IntoIterator<Item = impl Into<Arg<'a>>>,
    patience: Option<Duration>,
) -> Cmd<'a, Option<(Bytes, T)>> {
    pop(&blocking::BLPOP, keys, patience)
}

/// `BRPOP key … timeout`: the last element of the first of the lists that has one, with its key.
pub fn brpop<'a, T>(
    keys: impl IntoIterator<Item = impl Into<Arg<'a>>>,
    patience: Option<Duration>,
) -> Cmd<'a, Option<(Bytes, T)>> {
    pop(&blocking::BRPOP, keys, patience)
}

/// `BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout`: moves an element from the left end of
/// a list, or else the right, to an end of another.
pub fn blmove<'a, T>(
    source: &'a [u8],
    from_left: bool,
    destination: &'a [u8],
    to_left: bool,
    patience: Option<Duration>,
) -> Cmd<'a, Option<T>> {
    let end = |left| if left { "LEFT" } else { "RIGHT" };
    let line = Cmd::new(&blocking::BLMOVE).arg(source).arg(destination);
    line.arg(end(from_left)).arg(end(to_left)).arg(timeout(patience))
}

/// `BZPOPMIN key … timeout`: the member with the lowest score of the first of the sorted sets that
/// has one, with its key.
pub fn bzpopmin<'a, T>(
    keys: impl IntoIterator<Item = impl Into<Arg<'a>>>,
    patience: Option<Duration>,
) -> Cmd<'a, Option<(Bytes, T, f64)>> {
    pop(&blocking::BZPOPMIN, keys, patience)
}

/// `BZPOPMAX key … timeout`: as [`bzpopmin`], with the highest score.
pub fn bzpopmax<'a, T>(
    keys: impl IntoIterator<Item = impl Into<Arg<'a>>>,
    patience: Option<Duration>,
) -> Cmd<'a, Option<(Bytes, T, f64)>> {
    pop(&blocking::BZPOPMAX, keys, patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_milliseconds_and_is_never_for_ever_by_accident() {
        let word = |patience| {
            let cmd: Cmd<'_, Option<(Bytes, Bytes)>> = blpop([&b"k"[..]], patience);
            format!("{:?}", cmd.arguments()[1])
        };
        assert_eq!(word(None), r#""0""#);
        assert_eq!(word(Some(Duration::ZERO)), r#""0.001""#);
        assert_eq!(word(Some(Duration::from_nanos(1))), r#""0.001""#);
        assert_eq!(word(Some(Duration::from_millis(1_050))), r#""1.050""#);
        assert_eq!(word(Some(Duration::MAX)), r#""31536000000.000""#);
    }
}
