//! COMMAND and its subcommands: the table of commands, read out.
//!
//! Everything here follows from the rows. Redis keeps more documentation of arguments by hand; ours
//! is made from the grammar, so its names of arguments are plainer.

use super::args::is;
use super::docs::document;
use super::{Begin, Cx, Find, Flags, KeyFlags, KeySpec, Reply, Spec, all, lookup};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::glob::glob_match;

/// `COMMAND`, and `COMMAND INFO` without names.
pub(super) fn command(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Ok(Value::Array(all().map(describe).collect()))
}

/// `COMMAND COUNT`
pub(super) fn count(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Ok(all().count().into())
}

/// `COMMAND INFO [name …]`
pub(super) fn info(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    if argv.len() == 2 {
        return command(cx, argv);
    }
    let one = |name: &&[u8]| named(name).map_or(Value::Nil, describe);
    Ok(Value::Array(argv[2..].iter().map(one).collect()))
}

/// `COMMAND DOCS [name …]`
pub(super) fn docs(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let pair = |spec: &'static Spec| (Value::bulk(spec.lower_name()), document(spec));
    Ok(Value::Map(if argv.len() == 2 {
        all().map(pair).collect()
    } else {
        argv[2..].iter().filter_map(|name| named(name)).map(pair).collect()
    }))
}

/// `COMMAND LIST [FILTERBY …]`
pub(super) fn list(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let names = |wanted: &dyn Fn(&Spec) -> bool| {
        let rows = all().flat_map(|spec| std::iter::once(spec).chain(spec.subs.iter().copied()));
        Ok(Value::bulks(rows.filter(|spec| wanted(spec)).map(Spec::lower_name)))
    };
    match argv {
        [_, _] => names(&|_| true),
        [_, _, by, what, value] if is(by, "FILTERBY") => match what {
            // No module is ever loaded.
            what if is(what, "MODULE") => Ok(Value::Array(Vec::new())),
            what if is(what, "ACLCAT") => names(&|spec| is_in(spec, value)),
            what if is(what, "PATTERN") => {
                names(&|spec| glob_match(value, spec.lower_name().as_bytes(), true))
            }
            _ => Err(WireError::SYNTAX),
        },
        _ => Err(WireError::SYNTAX),
    }
}

/// `COMMAND GETKEYS command argument …`
pub(super) fn getkeys(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let line = &argv[2..];
    Ok(Value::bulks(keys_of(line)?.into_iter().map(|(at, _)| line[at])))
}

/// `COMMAND GETKEYSANDFLAGS command argument …`
pub(super) fn getkeysandflags(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let line = &argv[2..];
    let pair = |(at, flags): (usize, KeyFlags)| {
        Value::Array(vec![Value::bulk(line[at]), statuses(flags.names())])
    };
    Ok(Value::Array(keys_of(line)?.into_iter().map(pair).collect()))
}

/// The row of a command or, with a bar, of a subcommand.
fn named(name: &[u8]) -> Option<&'static Spec> {
    let mut words = name.split(|&b| b == b'|');
    let spec = lookup(words.next()?)?;
    match (words.next(), words.next()) {
        (None, _) => Some(spec),
        (Some(sub), None) => spec.sub(sub),
        (Some(_), Some(_)) => None,
    }
}

/// Whether a command is in the category of this name.
fn is_in(spec: &Spec, category: &[u8]) -> bool {
    let named = |name: &str| is(category, &name[1..]);
    spec.categories().names().any(named)
}

/// The positions of the keys in a whole command line, with what is done to each.
fn keys_of(line: &[&[u8]]) -> Result<Vec<(usize, KeyFlags)>, WireError> {
    const UNKNOWN: WireError = WireError::fixed("ERR Invalid command specified");
    let mut spec = lookup(line[0]).ok_or(UNKNOWN)?;
    if !spec.subs.is_empty() {
        spec = line.get(1).and_then(|sub| spec.sub(sub)).ok_or(UNKNOWN)?;
    }
    if spec.keys.iter().all(|keys| keys.flags.has(KeyFlags::NOT_KEY)) {
        return Err(WireError::fixed("ERR The command has no key arguments"));
    }
    if !spec.accepts(line.len()) {
        const LENGTH: &str = "ERR Invalid number of arguments specified for command";
        return Err(WireError::fixed(LENGTH));
    }
    match spec.key_positions(line) {
        Some(found) => {
            Ok(found.into_iter().map(|(at, flags)| (at, exactly(spec, line, flags))).collect())
        }
        None if spec.is(Flags::NO_MANDATORY_KEYS) => Ok(Vec::new()),
        None => Err(WireError::fixed("ERR Invalid arguments specified for command")),
    }
}

/// What is done to a key where it depends on the other arguments.
fn exactly(spec: &Spec, line: &[&[u8]], flags: KeyFlags) -> KeyFlags {
    match spec.name {
        "SET" if line[3..].iter().any(|option| is(option, "GET")) => {
            KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE)
        }
        "SET" => KeyFlags::OW.or(KeyFlags::UPDATE),
        _ => flags,
    }
}

/// Flags that Redis has and does not show.
const HIDDEN: &[&str] = &["may_replicate"];

/// What COMMAND INFO says of a command.
fn describe(spec: &'static Spec) -> Value {
    let (first, last, step) = spec.key_range();
    Value::Array(vec![
        Value::bulk(spec.lower_name()),
        Value::Int(spec.arity().into()),
        statuses(spec.flags().names().filter(|name| !HIDDEN.contains(name))),
        Value::Int(first.into()),
        Value::Int(last.into()),
        Value::Int(step.into()),
        statuses(spec.categories().names()),
        Value::Set(spec.tips.iter().map(Value::bulk).collect()),
        Value::Set(spec.keys.iter().map(describe_keys).collect()),
        subcommands(spec),
    ])
}

/// Redis sends a set when there are none, and otherwise an array.
fn subcommands(spec: &'static Spec) -> Value {
    if spec.subs.is_empty() {
        return Value::Set(Vec::new());
    }
    Value::Array(spec.subs.iter().copied().map(describe).collect())
}

fn describe_keys(keys: &KeySpec) -> Value {
    let begin = match keys.begin {
        Begin::Index(index) => searched("index", vec![number("index", index)]),
        Begin::Keyword(word, from) => searched(
            "keyword",
            vec![(Value::bulk("keyword"), Value::bulk(word)), number("startfrom", from)],
        ),
        Begin::Unknown => searched("unknown", Vec::new()),
    };
    let find = match keys.find {
        Find::Range { last, step, limit } => searched(
            "range",
            vec![number("lastkey", last), number("keystep", step), number("limit", limit)],
        ),
        Find::KeyNum { count, first, step } => searched(
            "keynum",
            vec![number("keynumidx", count), number("firstkey", first), number("keystep", step)],
        ),
        Find::Unknown => searched("unknown", Vec::new()),
    };
    let mut fields = Vec::new();
    if !keys.notes.is_empty() {
        fields.push((Value::bulk("notes"), Value::bulk(keys.notes)));
    }
    fields.push((Value::bulk("flags"), statuses(keys.flags.names())));
    fields.push((Value::bulk("begin_search"), begin));
    fields.push((Value::bulk("find_keys"), find));
    Value::Map(fields)
}

fn searched(kind: &str, spec: Vec<(Value, Value)>) -> Value {
    Value::Map(vec![
        (Value::bulk("type"), Value::bulk(kind)),
        (Value::bulk("spec"), Value::Map(spec)),
    ])
}

fn number(name: &str, n: i32) -> (Value, Value) {
    (Value::bulk(name), Value::Int(n.into()))
}

/// A set of words.
pub(super) fn statuses(words: impl Iterator<Item = &'static str>) -> Value {
    Value::Set(words.map(Value::simple).collect())
}
