//! [`KeySpec`]: where a command's keys stand in its arguments, in the terms of Redis 7.0.

use smallvec::SmallVec;

use super::flags::KeyFlags;
use crate::types::number::parse_i64;

/// Where a search for keys begins.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    /// At this word.
    Index(i32),
    /// After this word, searched from a position (negative: backwards from the end).
    Keyword(&'static str, i32),
    /// Cannot be told.
    Unknown,
}

/// Which words from there on are keys.
#[derive(Clone, Copy, Debug)]
pub enum Find {
    /// Every `step`th word up to `last` (relative to the beginning; negative: to the end of the
    /// line). `limit` above 1: only that fraction of what is left.
    Range {
        /// The last key, relative to the beginning, or from the end of the line when negative.
        last: i32,
        /// Words from one key to the next.
        step: i32,
        /// Above 1: keys are only the first of so many parts of what is left.
        limit: i32,
    },
    /// As many as the word at `count` says, from `first` on, every `step`th.
    KeyNum {
        /// The word that says how many, relative to the beginning.
        count: i32,
        /// The first key, relative to the beginning.
        first: i32,
        /// Words from one key to the next.
        step: i32,
    },
    /// Cannot be told.
    Unknown,
}

/// Where some of a command's keys stand and what is done with them.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Where the search begins.
    pub begin: Begin,
    /// Which words are keys.
    pub find: Find,
    /// What is done with them.
    pub flags: KeyFlags,
    /// A remark that COMMAND INFO shows.
    pub notes: &'static str,
}

impl KeySpec {
    /// One key, at a fixed word.
    pub const fn at(index: i32, flags: KeyFlags) -> Self {
        Self::range(index, 0, 1, flags)
    }

    /// Keys from word `first` on, every `step`th, up to `last` relative to it (negative: counted
    /// from the end of the line).
    pub const fn range(first: i32, last: i32, step: i32, flags: KeyFlags) -> Self {
        let find = Find::Range { last, step, limit: 0 };
        Self { begin: Begin::Index(first), find, flags, notes: "" }
    }

    /// A count of keys at word `index`, and the keys behind it.
    pub const fn counted(index: i32, flags: KeyFlags) -> Self {
        let find = Find::KeyNum { count: 0, first: 1, step: 1 };
        Self { begin: Begin::Index(index), find, flags, notes: "" }
    }

    /// With a remark.
    #[must_use]
    pub const fn notes(mut self, notes: &'static str) -> Self {
        self.notes = notes;
        self
    }

    /// The first word, the last (negative: from the end) and the step, where these say it all.
    fn range_of(&self) -> Option<(i32, i32, i32)> {
        match (self.begin, self.find) {
            (Begin::Index(first), Find::Range { last, step, .. }) => {
                Some((first, if last < 0 { last } else { first + last }, step))
            }
            _ => None,
        }
    }

    /// The specs that a first, a last and a step can say together: a single one, or those that
    /// follow each other word by word.
    fn in_range(specs: &[Self]) -> impl Iterator<Item = (i32, i32, i32)> {
        let mut end = 0;
        specs.iter().filter_map(move |spec| {
            let (first, last, step) = spec.range_of()?;
            if specs.len() > 1 && (step != 1 || (end != 0 && end != first - 1)) {
                return None;
            }
            // As unsigned, so that the end of the line is the largest.
            end = if last as u32 > end as u32 { last } else { end };
            Some((first, last, step))
        })
    }

    /// Whether clients cannot find all keys by a first, a last and a step.
    pub fn are_movable(specs: &[Self]) -> bool {
        Self::in_range(specs).count() < specs.len()
            || specs.iter().any(|spec| spec.flags.has(KeyFlags::INCOMPLETE))
    }

    /// A first, a last and a step for what they can say; zeros for nothing.
    pub fn as_range(specs: &[Self]) -> (i32, i32, i32) {
        let join = |a: (i32, i32, i32), b: (i32, i32, i32)| {
            (a.0.min(b.0), if b.1 as u32 > a.1 as u32 { b.1 } else { a.1 }, a.2)
        };
        Self::in_range(specs).reduce(join).unwrap_or_default()
    }

    /// The word that is the key, when it is always one and the same.
    #[inline]
    pub fn fixed(&self) -> Option<usize> {
        match (self.begin, self.find) {
            (Begin::Index(at), Find::Range { last: 0, .. }) => usize::try_from(at).ok(),
            _ => None,
        }
    }

    /// Adds the positions of the keys in `argv`, and says whether they are found as specified, and
    /// so what is done with them. `None` when they cannot be told.
    pub(super) fn find(
        &self,
        argv: &[&[u8]],
        found: &mut SmallVec<[(usize, KeyFlags); 4]>,
    ) -> Option<bool> {
        let words = argv.len();
        let begin = match self.begin {
            Begin::Index(index) => index as usize,
            Begin::Keyword(word, from) => match keyword(argv, word, from) {
                Some(at) => at + 1,
                None => return Some(true),
            },
            Begin::Unknown => return None,
        };
        let mut exact = true;
        let (first, last, step) = match self.find {
            Find::Range { last, step, limit } => {
                let last = if last >= 0 {
                    begin + last as usize
                } else if limit <= 1 {
                    words.checked_sub(last.unsigned_abs() as usize)?
                } else {
                    begin + (words.checked_sub(begin)? / limit as usize).checked_sub(1)?
                };
                (begin, last, step as usize)
            }
            Find::KeyNum { count, first, step } => {
                let number = argv.get(begin + count as usize)?;
                let number = parse_i64(number).unwrap_or_else(|| {
                    exact = false;
                    leading_number(number)
                });
                let number = usize::try_from(number).ok().filter(|n| *n > 0 && *n < words)?;
                let first = begin + first as usize;
                (first, first + (number - 1) * step as usize, step as usize)
            }
            Find::Unknown => return None,
        };
        if last >= words {
            return None;
        }
        found.extend((first..=last).step_by(step).map(|at| (at, self.flags)));
        Some(exact)
    }
}

/// What C's `atoi` reads: Redis finds keys by it where the number is no proper one, though the
/// command itself refuses it.
fn leading_number(word: &[u8]) -> i64 {
    let word = word.trim_ascii_start();
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    };
    let digits = digits.iter().take_while(|b| b.is_ascii_digit());
    let number = digits.fold(0_i64, |n, b| n.saturating_mul(10).saturating_add((b - b'0').into()));
    if negative { -number } else { number }
}

fn keyword(argv: &[&[u8]], word: &str, from: i32) -> Option<usize> {
    let is = |&at: &usize| argv[at].eq_ignore_ascii_case(word.as_bytes());
    if from >= 0 {
        (from as usize..argv.len()).find(is)
    } else {
        let start = argv.len().checked_sub(from.unsigned_abs() as usize)?;
        (0..=start).rev().find(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(spec: KeySpec, line: &str) -> Option<Vec<usize>> {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let mut found = SmallVec::new();
        spec.find(&argv, &mut found)?;
        Some(found.iter().map(|(at, _)| *at).collect())
    }

    #[test]
    fn keys_are_found_where_redis_finds_them() {
        let rw = KeyFlags::RW;
        assert_eq!(positions(KeySpec::at(1, rw), "GET a"), Some(vec![1]));
        assert_eq!(positions(KeySpec::range(1, -1, 2, rw), "MSET a 1 b 2"), Some(vec![1, 3]));
        assert_eq!(positions(KeySpec::counted(2, rw), "ZUNIONSTORE d 2 a b"), Some(vec![3, 4]));
        assert_eq!(positions(KeySpec::counted(1, rw), "SINTERCARD 3 a b"), None);
        assert_eq!(positions(KeySpec::counted(1, rw), "SINTERCARD x a b"), None);
        assert_eq!(positions(KeySpec::counted(1, rw), "SINTERCARD 02x a b"), Some(vec![2, 3]));
        assert_eq!(positions(KeySpec::counted(1, rw), "SINTERCARD 0 a b"), None);
        let streams = KeySpec {
            begin: Begin::Keyword("STREAMS", 1),
            find: Find::Range { last: -1, step: 1, limit: 2 },
            flags: KeyFlags::RO,
            notes: "",
        };
        assert_eq!(positions(streams, "XREAD COUNT 1 streams a b 0 0"), Some(vec![4, 5]));
        assert_eq!(positions(streams, "XREAD COUNT 1"), Some(vec![]));
    }
}
