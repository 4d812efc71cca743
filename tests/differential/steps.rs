//! Random lists of steps: command lines from the table's grammar on several connections, and the
//! passing of time.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use stockroom::commands::{self, Run, SessionOp, Spec, sample};

use super::equal::is_ordered;

/// Connections that a list may use.
pub(crate) const CONNECTIONS: usize = 4;

/// One step of a list.
#[derive(Clone)]
pub(crate) enum Step {
    /// A command line on a connection.
    Call { connection: usize, line: Vec<Vec<u8>> },
    /// Time passes.
    Wait { millis: u64 },
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { connection, line } => {
                write!(f, "[{connection}]")?;
                line.iter().try_for_each(|word| write!(f, " \"{}\"", word.escape_ascii()))
            }
            Self::Wait { millis } => write!(f, "    {millis} ms pass"),
        }
    }
}

/// A list of steps.
#[derive(Clone, Debug)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

/// Random lists of steps.
pub(crate) fn lists() -> impl Strategy<Value = Steps> {
    let step = (0..24_usize, 0..CONNECTIONS, any::<u16>(), vec(any::<u8>(), 0..40));
    vec(step, 1..120).prop_map(|raw| {
        let rows = rows();
        Steps(
            raw.into_iter()
                .map(|(kind, connection, row, choices)| match kind {
                    0..=20 => {
                        let step = call(connection, rows[usize::from(row) % rows.len()], &choices);
                        if kind < 3 && cfg!(feature = "lua") { scripted(step, row) } else { step }
                    }
                    21 | 22 => call(connection, transactional(usize::from(row)), &choices),
                    _ => Step::Wait { millis: [1, 3, 100, 999, 1000, 5000][usize::from(row) % 6] },
                })
                .collect(),
        )
    })
}

/// Random lists of steps about commands that wait, on few keys.
pub(crate) fn lists_of_waiting() -> impl Strategy<Value = Steps> {
    const OTHERS: &[&str] = &[
        "RPUSH",
        "LPUSH",
        "RPUSH",
        "LPUSH",
        "ZADD",
        "ZADD",
        "ZINCRBY",
        "LMOVE",
        "RPOPLPUSH",
        "DEL",
        "RENAME",
        "RENAMENX",
        "COPY",
        "LPOP",
        "RPOP",
        "LMPOP",
        "ZPOPMIN",
        "ZMPOP",
        "SET",
        "SADD",
        "LTRIM",
        "ZUNIONSTORE",
        "ZRANGESTORE",
        "ZDIFFSTORE",
        "PEXPIRE",
        "EXPIRE",
        "MOVE",
        "LINSERT",
        "LPUSHX",
        "FLUSHDB",
        "SWAPDB",
        "ZREM",
        "LREM",
        "LLEN",
    ];
    let step = (0..20_usize, 0..CONNECTIONS, any::<u16>(), vec(any::<u8>(), 0..40));
    vec(step, 1..80).prop_map(|raw| {
        let steps = raw.into_iter().map(|(kind, connection, row, choices)| {
            let row = usize::from(row);
            let waiting = commands::blocking::ROWS;
            let spec = match kind {
                0..=7 => waiting[row % waiting.len()],
                8..=14 => commands::lookup(OTHERS[row % OTHERS.len()].as_bytes()).expect("a row"),
                15 | 16 => transactional(row),
                17 if cfg!(feature = "lua") => return pushing(connection, row),
                17 | 18 => commands::lookup(b"RPUSH").expect("a row"),
                _ => return Step::Wait { millis: [1, 2, 99, 500, 1000, 2500][row % 6] },
            };
            call(connection, spec, &choices)
        });
        Steps(steps.collect())
    })
}

/// Random lists of steps about who listens to what.
pub(crate) fn lists_of_messages() -> impl Strategy<Value = Steps> {
    const OTHERS: &[&str] = &["SET", "GET", "PING", "UNWATCH", "RESET", "QUIT x"];
    let step = (0..24_usize, 0..CONNECTIONS, any::<u16>(), vec(any::<u8>(), 0..12));
    vec(step, 1..80).prop_map(|raw| {
        let steps = raw.into_iter().map(|(kind, connection, row, choices)| {
            let row = usize::from(row);
            let listening: Vec<&Spec> = commands::pubsub::ROWS
                .iter()
                .flat_map(
                    |spec| if spec.subs.is_empty() { vec![*spec] } else { spec.subs.to_vec() },
                )
                .collect();
            let spec = match kind {
                0..=9 => listening[row % listening.len()],
                10..=15 => {
                    commands::lookup(["PUBLISH", "SPUBLISH"][row % 2].as_bytes()).expect("a row")
                }
                16 | 17 => transactional(row),
                18 | 19 if cfg!(feature = "lua") => return publishing(connection, row),
                _ => match commands::lookup(OTHERS[row % OTHERS.len()].as_bytes()) {
                    Some(spec) => spec,
                    None => return Step::Wait { millis: 1 },
                },
            };
            call(connection, spec, &choices)
        });
        Steps(steps.collect())
    })
}

/// A script that publishes.
fn publishing(connection: usize, choice: usize) -> Step {
    const SCRIPTS: [&str; 3] = [
        "return redis.call('PUBLISH', 'a', 'm')",
        "redis.call('SPUBLISH', 'b', '1') redis.call('PUBLISH', 'b', '2') \
         return redis.call('PUBLISH', 's1', '3')",
        "return redis.pcall('SUBSCRIBE', 'a')",
    ];
    let name = ["EVAL", "EVAL_RO"][choice / 3 % 2];
    let words = [name, SCRIPTS[choice % 3], "0"];
    Step::Call { connection, line: words.map(|word| word.as_bytes().to_vec()).to_vec() }
}

/// A script that makes several keys, and maybe takes some away again.
fn pushing(connection: usize, choice: usize) -> Step {
    const SCRIPTS: [&str; 4] = [
        "redis.call('RPUSH', 'l2', 'a', 'b') redis.call('RPUSH', 'l1', 'c') return 1",
        "redis.call('LPUSH', 'l1', 'a') redis.call('RPUSH', 'l3', 'b') \
         redis.call('RPUSH', 'l1', 'c', 'd') return redis.call('LLEN', 'l1')",
        "redis.call('ZADD', 'z1', 1, 'a') redis.call('RPUSH', 'l3', 'b') \
         return redis.call('DEL', 'z1')",
        "redis.call('DEL', 'l1', 'z2') redis.call('ZADD', 'l1', 2, 'a') \
         redis.call('RPUSH', 'z2', 'b') return redis.call('BLMPOP', 0, 1, 'z2', 'LEFT')",
    ];
    let words = ["EVAL", SCRIPTS[choice % SCRIPTS.len()], "0"];
    Step::Call { connection, line: words.map(|word| word.as_bytes().to_vec()).to_vec() }
}

/// Lines of arbitrary words, and of commands with arbitrary words.
pub(crate) fn noise() -> impl Strategy<Value = Vec<Step>> {
    let word = prop_oneof![
        vec(any::<u8>(), 0..12),
        any::<i64>().prop_map(|n| n.to_string().into_bytes()),
        (0..commands::all().count()).prop_map(name),
    ];
    let line =
        (0..CONNECTIONS, any::<u16>(), vec(word, 0..8)).prop_map(|(connection, row, rest)| {
            let mut line = vec![name(usize::from(row) % commands::all().count())];
            line.extend(rest);
            Step::Call { connection, line }
        });
    vec(line, 0..80)
}

fn name(n: usize) -> Vec<u8> {
    let name = commands::all().nth(n).map_or("PING", |spec| spec.name);
    name.split('|').next().unwrap_or(name).as_bytes().to_vec()
}

/// The lines of a list that are neither transactions nor bound to a connection, and have a length
/// that their commands accept: those that a transaction takes.
pub(crate) fn plain_lines(list: &[Step]) -> impl Iterator<Item = &Vec<Vec<u8>>> {
    list.iter().filter_map(|step| match step {
        Step::Call { line, .. } => {
            let spec = commands::lookup(&line[0])?;
            (matches!(spec.run, Run::Data(_)) && spec.accepts(line.len())).then_some(line)
        }
        Step::Wait { .. } => None,
    })
}

fn call(connection: usize, spec: &Spec, choices: &[u8]) -> Step {
    let mut next = choices.iter();
    let mut choose = |n: usize| next.next().map_or(0, |&c| usize::from(c) % n.max(1));
    let mut line = sample::sample(spec, &mut choose);
    whole_results_only(spec, &mut line);
    lexicographic_apart(spec, &mut line);
    Step::Call { connection, line }
}

/// The same command, called by a script in one of several ways.
fn scripted(step: Step, choice: u16) -> Step {
    let Step::Call { connection, line } = step else { return step };
    let calls = [
        ("EVAL", "return redis.call(unpack(ARGV))"),
        ("EVAL", "return redis.pcall(unpack(ARGV))"),
        ("EVAL", "redis.setresp(3) return redis.call(unpack(ARGV))"),
        ("EVAL_RO", "return redis.call(unpack(ARGV))"),
        ("EVAL", "local ok, reply = pcall(redis.call, unpack(ARGV)) return {tostring(ok), reply}"),
        (
            "EVAL",
            "local reply = redis.call(unpack(ARGV)) return {type(reply), reply, \
             redis.call('DEL', 'k')}",
        ),
    ];
    // The last ones put the reply into another, where its order must be settled.
    let most = if is_ordered(&line) { calls.len() } else { 4 };
    let (name, script) = calls[usize::from(choice) % most];
    let mut words: Vec<Vec<u8>> = [name, script, "0"].map(|w| w.as_bytes().to_vec()).to_vec();
    words.extend(line);
    Step::Call { connection, line: words }
}

/// SPOP would take different members on the two sides, and a page of a scan ends in different
/// places: both are asked for everything.
fn whole_results_only(spec: &Spec, line: &mut Vec<Vec<u8>>) {
    if spec.name == "SPOP" && line.len() == 2 {
        line.push(b"1000".to_vec());
    }
    if spec.name == "SPOP" && line.len() == 3 && line[2].first().is_some_and(u8::is_ascii_digit) {
        line[2] = b"1000".to_vec();
    }
    if spec.name.ends_with("SCAN") {
        let cursor = if spec.name == "SCAN" { 1 } else { 2 };
        if let Some(cursor) = line.get_mut(cursor)
            && cursor.iter().any(u8::is_ascii_digit)
        {
            *cursor = b"0".to_vec();
        }
        // The last COUNT counts.
        line.extend([b"COUNT".to_vec(), b"100000".to_vec()]);
    }
}

/// What a range by member answers when scores differ depends, in a skip list, on the random heights
/// of its nodes. So such commands get keys of their own, which only see scores of 0: every ZADD of
/// a single element goes there.
fn lexicographic_apart(spec: &Spec, line: &mut [Vec<u8>]) {
    let by_lex = line.iter().any(|word| word.eq_ignore_ascii_case(b"BYLEX"));
    let key = match (spec.name, &mut *line) {
        ("ZRANGESTORE", [_, _, source, ..]) if by_lex => source,
        ("ZADD", [_, key, score, _]) => {
            *score = b"0".to_vec();
            key
        }
        (name, [_, key, ..]) if by_lex && name != "ZRANGESTORE" || name.contains("LEX") => key,
        _ => return,
    };
    if let Some(letter) = key.first_mut() {
        *letter = b'x';
    }
}

fn transactional(n: usize) -> &'static Spec {
    let names = ["MULTI", "EXEC", "MULTI", "EXEC", "WATCH", "DISCARD", "UNWATCH", "SELECT"];
    commands::lookup(names[n % names.len()].as_bytes()).expect("the row exists")
}

/// The rows whose replies follow from what was sent before.
fn rows() -> Vec<&'static Spec> {
    commands::all()
        .flat_map(|spec| if spec.subs.is_empty() { vec![spec] } else { spec.subs.to_vec() })
        .filter(|spec| is_compared(spec))
        .collect()
}

fn is_compared(spec: &Spec) -> bool {
    // About the process, not the data; random without a way to force the choice; or, like idle
    // times, by a clock that a real server reads only ten times a second. DBSIZE counts dead keys
    // there until they are met; it is compared with the keys, when none is left.
    const APART: [&str; 6] =
        ["RANDOMKEY", "OBJECT|REFCOUNT", "OBJECT|FREQ", "OBJECT|IDLETIME", "TIME", "DBSIZE"];
    let on_data = matches!(spec.run, Run::Data(_) | Run::Plain(_));
    let about_keys = matches!(spec.run, Run::Session(SessionOp::Select | SessionOp::Unwatch));
    (on_data || about_keys)
        && !APART.contains(&spec.name)
        && !spec.name.starts_with("COMMAND")
        && !spec.name.ends_with("|HELP")
}
