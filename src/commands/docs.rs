//! What COMMAND DOCS says of a command: its documentation, and its arguments as the grammar has
//! them.

use super::introspect::statuses;
use super::{Arg, Spec};
use crate::resp::Value;

/// The documentation of a command.
pub(super) fn document(spec: &'static Spec) -> Value {
    let mut fields = vec![
        text("summary", spec.summary),
        text("since", spec.since),
        text("group", spec.group),
        text("complexity", spec.complexity),
    ];
    let mut keys = 0;
    let arguments = describe_all(spec.args, &mut keys);
    if !arguments.is_empty() && spec.subs.is_empty() {
        fields.push((Value::bulk("arguments"), arguments_value(&arguments)));
    }
    if !spec.subs.is_empty() {
        let sub = |sub: &&'static Spec| (Value::bulk(sub.lower_name()), document(sub));
        fields.push((Value::bulk("subcommands"), Value::Map(spec.subs.iter().map(sub).collect())));
    }
    Value::Map(fields)
}

/// An argument, as COMMAND DOCS describes one.
struct Described {
    name: String,
    kind: &'static str,
    key_spec: Option<usize>,
    token: Option<&'static str>,
    optional: bool,
    multiple: bool,
    parts: Vec<Described>,
}

impl Described {
    fn new(name: impl Into<String>, kind: &'static str) -> Self {
        Self {
            name: name.into(),
            kind,
            key_spec: None,
            token: None,
            optional: false,
            multiple: false,
            parts: Vec::new(),
        }
    }

    fn of_parts(kind: &'static str, parts: Vec<Self>) -> Self {
        let name = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("_");
        Self { parts, ..Self::new(name, kind) }
    }

    fn value(&self) -> Value {
        let mut fields = vec![text("name", &self.name), text("type", self.kind)];
        if let Some(index) = self.key_spec {
            fields.push((Value::bulk("key_spec_index"), index.into()));
        }
        if let Some(token) = self.token {
            fields.push(text("token", token));
        }
        let flags = [(self.optional, "optional"), (self.multiple, "multiple")];
        if self.optional || self.multiple {
            let set = flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name);
            fields.push((Value::bulk("flags"), statuses(set)));
        }
        if !self.parts.is_empty() {
            fields.push((Value::bulk("arguments"), arguments_value(&self.parts)));
        }
        Value::Map(fields)
    }
}

fn text(name: &str, text: &str) -> (Value, Value) {
    (Value::bulk(name), Value::bulk(text))
}

fn arguments_value(arguments: &[Described]) -> Value {
    Value::Array(arguments.iter().map(Described::value).collect())
}

fn describe_all(args: &[Arg], keys: &mut usize) -> Vec<Described> {
    args.iter().flat_map(|arg| describe(arg, keys)).collect()
}

/// Describes one piece of a grammar, usually as one argument.
fn describe(arg: &Arg, keys: &mut usize) -> Vec<Described> {
    let one = match *arg {
        Arg::Key => key(keys),
        Arg::NumKeys => {
            let counted = Described { multiple: true, ..key(keys) };
            return vec![Described::new("numkeys", "integer"), counted];
        }
        Arg::Tok(token) => {
            let named = Described::new(token.to_ascii_lowercase(), "pure-token");
            Described { token: Some(token), ..named }
        }
        Arg::Opt(parts) => Described { optional: true, ..together(describe_all(parts, keys)) },
        Arg::Many(parts) => Described { multiple: true, ..together(describe_all(parts, keys)) },
        Arg::Seq(parts) => together(describe_all(parts, keys)),
        Arg::One(choices) => {
            let at = *keys;
            let choice = |choice: &Arg| {
                *keys = at;
                together(describe(choice, keys))
            };
            Described::of_parts("oneof", choices.iter().map(choice).collect())
        }
        Arg::Str => Described::new("value", "string"),
        Arg::Field => Described::new("field", "string"),
        Arg::Member => Described::new("member", "string"),
        Arg::Int => Described::new("integer", "integer"),
        Arg::Index => Described::new("index", "integer"),
        Arg::Count => Described::new("count", "integer"),
        Arg::Float => Described::new("number", "double"),
        Arg::Db => Described::new("db", "integer"),
        Arg::Secs => Described::new("seconds", "integer"),
        Arg::Millis => Described::new("milliseconds", "integer"),
        Arg::Timeout => Described::new("timeout", "double"),
        Arg::AtSecs => Described::new("unix-time-seconds", "unix-time"),
        Arg::AtMillis => Described::new("unix-time-milliseconds", "unix-time"),
        Arg::Score => Described::new("score", "string"),
        Arg::Lex => Described::new("bound", "string"),
        Arg::Channel => Described::new("channel", "string"),
        Arg::Pattern => Described::new("pattern", "pattern"),
        Arg::Cursor => Described::new("cursor", "integer"),
    };
    vec![one]
}

fn key(keys: &mut usize) -> Described {
    let key_spec = Some(*keys);
    *keys += 1;
    Described { key_spec, ..Described::new("key", "key") }
}

/// Several arguments as one. A word before them is their token.
fn together(mut parts: Vec<Described>) -> Described {
    if let [first, rest @ ..] = &mut parts[..]
        && first.kind == "pure-token"
        && !first.optional
        && let [second] = rest
        && second.token.is_none()
    {
        let token = first.token;
        return Described { token, ..parts.remove(1) };
    }
    if parts.len() == 1 { parts.remove(0) } else { Described::of_parts("block", parts) }
}
