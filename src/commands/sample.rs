//! Random calls from a row's grammar, for property tests and fuzzing.
//!
//! Every decision goes through `choose(n)`, which answers a number below `n`, so a list of small
//! numbers *is* the call: a property test shrinks it, a fuzzer mutates it. The first choice is
//! always the plainest one. Pools are small, so that calls meet each other's keys and members, and
//! hold the values at which behaviour changes; now and then a word is dropped, doubled or spoiled.

use super::spec::{Arg, Spec};

/// A source of decisions: a number below its argument.
pub type Choose<'a> = dyn FnMut(usize) -> usize + 'a;

const MEMBERS: &[&str] =
    &["a", "b", "c", "1", "2", "d", "e", "-7", "10", "", "B", "ab", "x\0y\u{ff}"];
const VALUES: &[&str] = &[
    "v",
    "10",
    "",
    "3.5",
    "abc",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1e5",
    " 1",
    "01",
    "0.1",
    "+5",
    "inf",
];
const INTS: &[&str] = &[
    "1",
    "2",
    "-1",
    "0",
    "3",
    "10",
    "-5",
    "9223372036854775807",
    "-9223372036854775808",
    "x",
    "1.0",
    "",
];
const INDEXES: &[&str] = &["0", "1", "-1", "2", "-2", "3", "5", "-4", "100", "-100", "x"];
const COUNTS: &[&str] = &["1", "2", "3", "0", "10", "-1", "-2", "100", "x"];
const FLOATS: &[&str] = &[
    "1",
    "2",
    "0",
    "1.5",
    "-1",
    "0.1",
    "3",
    "-0",
    "1e20",
    "1e-7",
    "inf",
    "-inf",
    "nan",
    "0x10",
    "123456789012345678",
    "x",
    "",
];
const SCORES: &[&str] =
    &["-inf", "+inf", "1", "(1", "2", "(2.5", "0", "-1", "(inf", "1e20", "x", "(", ""];
const LEXES: &[&str] = &["-", "+", "[a", "(a", "[c", "(d", "[", "(", "[1", "a", ""];
const PATTERNS: &[&str] = &["*", "?1", "[a-c]*", "s*", "[^z]?", "\\a", "a", "[", ""];
const CHANNELS: &[&str] = &["a", "b", "s1", "z2", "[", ""];
const SECS: &[&str] = &["100", "1", "2", "0", "-1", "9223372036854775807", "9223372036854775", "x"];
const MILLIS: &[&str] = &["1500", "1", "1000", "0", "-1", "100000", "9223372036854775807", "x"];
const TIMEOUTS: &[&str] = &["0.5", "1", "0.001", "3", "0.1", "2.5", "0", "-1", "x", "1e300"];

/// The moment around which sampled absolute times lie, in seconds since the epoch. A clock that
/// starts here meets them.
pub const EPOCH_SECS: i64 = 1_700_000_000;

/// A random call of `spec`, its name included.
pub fn sample(spec: &Spec, choose: &mut Choose<'_>) -> Vec<Vec<u8>> {
    let mut line: Vec<Vec<u8>> = spec.name.split('|').map(|w| w.as_bytes().to_vec()).collect();
    let words = line.len();
    // The plainest choice, 0, is an unspoiled call.
    let spoil = choose(24);
    sequence(spec, spec.args, choose, &mut line);
    match spoil {
        21 if line.len() > words => {
            let at = words + choose(line.len() - words);
            line.remove(at);
        }
        22 if line.len() > words => {
            let at = words + choose(line.len() - words);
            line.insert(at, line[at].clone());
        }
        23 if line.len() > words => {
            let at = words + choose(line.len() - words);
            line[at] = VALUES[choose(VALUES.len())].as_bytes().to_vec();
        }
        _ => {}
    }
    line
}

fn sequence(spec: &Spec, args: &[Arg], choose: &mut Choose<'_>, line: &mut Vec<Vec<u8>>) {
    for arg in args {
        one(spec, arg, choose, line);
    }
}

fn one(spec: &Spec, arg: &Arg, choose: &mut Choose<'_>, line: &mut Vec<Vec<u8>>) {
    let pool = match arg {
        Arg::Key => return line.push(key(spec, choose)),
        Arg::Opt(inner) => {
            if choose(3) == 1 {
                sequence(spec, inner, choose, line);
            }
            return;
        }
        Arg::One(choices) => {
            return one(spec, &choices[choose(choices.len())], choose, line);
        }
        Arg::Seq(inner) => return sequence(spec, inner, choose, line),
        Arg::Many(inner) => {
            // Seldom many, so that packed collections outgrow their form now and then.
            let times = match choose(16) {
                n @ 0..=12 => 1 + n % 4,
                13 | 14 => 20,
                _ => 70,
            };
            return (0..times).for_each(|_| sequence(spec, inner, choose, line));
        }
        Arg::NumKeys => {
            let n = 1 + choose(3);
            let stated = if choose(16) == 15 { choose(5) } else { n };
            line.push(stated.to_string().into_bytes());
            return (0..n).for_each(|_| line.push(key(spec, choose)));
        }
        Arg::Tok(word) => return line.push(word.as_bytes().to_vec()),
        Arg::Db => &["0", "1", "2", "16", "-1", "x"],
        Arg::Member | Arg::Field => return line.push(text(MEMBERS, choose)),
        Arg::Str => return line.push(text(VALUES, choose)),
        Arg::AtSecs => return line.push((EPOCH_SECS + 50 - choose(60) as i64).to_string().into()),
        Arg::AtMillis => {
            let ms = EPOCH_SECS * 1000 + 3_000 - choose(60) as i64 * 100;
            return line.push(ms.to_string().into());
        }
        Arg::Int => INTS,
        Arg::Index => INDEXES,
        Arg::Count => COUNTS,
        Arg::Float => FLOATS,
        Arg::Secs => SECS,
        Arg::Millis => MILLIS,
        Arg::Timeout => TIMEOUTS,
        Arg::Score => SCORES,
        Arg::Lex => LEXES,
        Arg::Channel => CHANNELS,
        Arg::Pattern => PATTERNS,
        // Whole iterations only: where a page ends is not promised.
        Arg::Cursor => &["0"],
    };
    line.push(pool[choose(pool.len())].as_bytes().to_vec());
}

/// A word of the pool, a number, or one too long for a packed collection.
fn text(pool: &[&str], choose: &mut Choose<'_>) -> Vec<u8> {
    match choose(12) {
        9 | 10 => format!("m{}", choose(200)).into_bytes(),
        11 => match choose(8) {
            7 => vec![b'L'; 70],
            _ => choose(200).to_string().into_bytes(),
        },
        _ => pool[choose(pool.len())].as_bytes().to_vec(),
    }
}

/// A key: most often one of the command's own group, so that types fit.
fn key(spec: &Spec, choose: &mut Choose<'_>) -> Vec<u8> {
    const GROUPS: [(&str, char); 5] =
        [("string", 's'), ("list", 'l'), ("hash", 'h'), ("set", 'u'), ("sorted-set", 'z')];
    let own = GROUPS.iter().find(|(group, _)| *group == spec.group).map(|(_, letter)| *letter);
    let letter = match (own, choose(10)) {
        (Some(letter), 0..=8) => letter,
        _ => GROUPS[choose(GROUPS.len())].1,
    };
    format!("{letter}{}", 1 + choose(3)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    #[test]
    fn the_plainest_choices_give_a_valid_call_of_every_command() {
        for spec in commands::all() {
            let line = sample(spec, &mut |_| 0);
            assert!(spec.accepts(line.len()), "{} {line:?}", spec.name);
        }
    }
}
