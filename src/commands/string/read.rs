//! Strings read: GET and its kin, some of which change the key's life on the way.

use super::super::args::{int, is};
use super::{Acl, Arg, Clock, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec, TIME, value_of};
use crate::bytes::Bytes;
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Str;

const SUBSTRING_COST: &str = "O(N) where N is the length of the returned string. The complexity \
    is ultimately determined by the returned length, but because creating a substring from an \
    existing string is very cheap, it can be considered O(1) for small strings.";

/// `GET key`
pub const GET: Spec =
    Spec::new("GET", Run::Data(get), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::STRING)
        .doc("string", "1.0.0", "O(1)", "Get the value of a key");

/// `GETDEL key`
pub const GETDEL: Spec =
    Spec::new("GETDEL", Run::Data(getdel), Flags::WRITE.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))])
        .acl(Acl::STRING)
        .doc("string", "6.2.0", "O(1)", "Get the value of a key and delete the key");

/// `GETEX key [EX seconds | PX milliseconds | EXAT seconds | PXAT milliseconds | PERSIST]`
pub const GETEX: Spec = Spec::new(
    "GETEX",
    Run::Data(getex),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Opt(&[Arg::One(&[Arg::Tok("PERSIST"), TIME])])],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))
    .notes("RW and UPDATE because it changes the TTL")])
.acl(Acl::STRING)
.doc("string", "6.2.0", "O(1)", "Get the value of a key and optionally set its expiration");

/// `GETRANGE key start end`
pub const GETRANGE: Spec = Spec::new(
    "GETRANGE",
    Run::Data(getrange),
    Flags::READONLY,
    &[Arg::Key, Arg::Index, Arg::Index],
)
.keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
.acl(Acl::STRING)
.doc("string", "2.4.0", SUBSTRING_COST, "Get a substring of the string stored at a key");

/// `MGET key [key ...]`
pub const MGET: Spec =
    Spec::new("MGET", Run::Data(mget), Flags::READONLY.or(Flags::FAST), &[Arg::Many(&[Arg::Key])])
        .keys(&[KeySpec::range(1, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::STRING)
        .tips(&["request_policy:multi_shard"])
        .doc(
            "string",
            "1.0.0",
            "O(N) where N is the number of keys to retrieve.",
            "Get the values of all the given keys",
        );

/// `STRLEN key`
pub const STRLEN: Spec =
    Spec::new("STRLEN", Run::Data(strlen), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO)])
        .acl(Acl::STRING)
        .doc("string", "2.2.0", "O(1)", "Get the length of the value stored in a key");

/// `SUBSTR key start end`: GETRANGE by its old name.
pub const SUBSTR: Spec =
    Spec::new("SUBSTR", Run::Data(getrange), Flags::READONLY, &[Arg::Key, Arg::Index, Arg::Index])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::STRING)
        .doc("string", "1.0.0", SUBSTRING_COST, "Get a substring of the string stored at a key");

fn get(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    value_of(cx, argv[1])
}

fn getdel(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let value = value_of(cx, argv[1])?;
    cx.db.delete(argv[1]);
    Ok(value)
}

fn getex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, mut options) = (argv[1], &argv[2..]);
    let (mut persist, mut time) = (false, None);
    while let [option, rest @ ..] = options {
        match (Clock::named(option), rest) {
            (Some(clock), [value, behind @ ..])
                if !persist && time.is_none_or(|(other, _)| other == clock) =>
            {
                time = Some((clock, *value));
                options = behind;
            }
            (None, _) if is(option, "PERSIST") && time.is_none() => {
                persist = true;
                options = rest;
            }
            _ => return Err(WireError::SYNTAX),
        }
    }
    let Some(value) = cx.db.read::<Str>(key)?.map(Str::to_bytes) else { return Ok(Value::Nil) };
    if let Some((clock, time)) = time {
        let deadline_ms = clock.deadline_ms(cx, time, "getex")?;
        if clock.is_absolute() && deadline_ms <= cx.now_ms() {
            cx.db.delete(key);
        } else {
            cx.db.set_deadline(key, Some(deadline_ms));
        }
    } else if persist && cx.db.deadline(key).flatten().is_some() {
        cx.db.set_deadline(key, None);
    }
    Ok(Value::Bulk(value))
}

fn getrange(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (start, end) = (int(argv[2])?, int(argv[3])?);
    let part = cx
        .db
        .read::<Str>(argv[1])?
        .map(|s| s.with_slice(|text| Bytes::copy_from(substring(text, start, end))));
    Ok(Value::Bulk(part.unwrap_or_default()))
}

/// The bytes from `start` to `end`, both included; negative ones count from the end, and an end
/// before the first byte is the first byte.
fn substring(text: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return &[];
    }
    let len = text.len() as i64;
    let from_front = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at };
    let (start, end) = (from_front(start), from_front(end).min(len - 1));
    if start > end { &[] } else { &text[start as usize..=end as usize] }
}

fn mget(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let value = |key: &&[u8]| value_of(cx, key).unwrap_or(Value::Nil);
    Ok(Value::Array(argv[1..].iter().map(value).collect()))
}

fn strlen(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Str>(argv[1])?.map_or(0, Str::len).into())
}
