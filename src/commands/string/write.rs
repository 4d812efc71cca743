//! Strings written: SET and its kin, and changes in place.

use super::super::args::{int, is};
use super::{
    Acl, Arg, Clock, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec, TIME, check_length, value_of,
};
use crate::db::{Expire, Kind};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Str;

/// `APPEND key value`
pub const APPEND: Spec = Spec::new(
    "APPEND",
    Run::Data(append),
    Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
    &[Arg::Key, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::INSERT))])
.acl(Acl::STRING)
.doc(
    "string",
    "2.0.0",
    "O(1). The amortized time complexity is O(1) assuming the appended value is small and the \
     already present value is of any size, since the dynamic string library used by Redis will \
     double the free space available on every reallocation.",
    "Append a value to a key",
);

/// `GETSET key value`
pub const GETSET: Spec = Spec::new(
    "GETSET",
    Run::Data(getset),
    Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
    &[Arg::Key, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))])
.acl(Acl::STRING)
.doc("string", "1.0.0", "O(1)", "Set the string value of a key and return its old value");

/// `MSET key value [key value ...]`
pub const MSET: Spec = Spec::new(
    "MSET",
    Run::Data(mset),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Many(&[Arg::Key, Arg::Str])],
)
.keys(&[KeySpec::range(1, -1, 2, KeyFlags::OW.or(KeyFlags::UPDATE))])
.acl(Acl::STRING)
.tips(&["request_policy:multi_shard", "response_policy:all_succeeded"])
.doc(
    "string",
    "1.0.1",
    "O(N) where N is the number of keys to set.",
    "Set multiple keys to multiple values",
);

/// `MSETNX key value [key value ...]`
pub const MSETNX: Spec = Spec::new(
    "MSETNX",
    Run::Data(msetnx),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Many(&[Arg::Key, Arg::Str])],
)
.keys(&[KeySpec::range(1, -1, 2, KeyFlags::OW.or(KeyFlags::INSERT))])
.acl(Acl::STRING)
.tips(&["request_policy:multi_shard", "response_policy:agg_min"])
.doc(
    "string",
    "1.0.1",
    "O(N) where N is the number of keys to set.",
    "Set multiple keys to multiple values, only if none of the keys exist",
);

/// `PSETEX key milliseconds value`
pub const PSETEX: Spec = Spec::new(
    "PSETEX",
    Run::Data(psetex),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Millis, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::OW.or(KeyFlags::UPDATE))])
.acl(Acl::STRING)
.doc("string", "2.6.0", "O(1)", "Set the value and expiration in milliseconds of a key");

/// `SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT seconds | PXAT milliseconds
/// | KEEPTTL]`
pub const SET: Spec = Spec::new(
    "SET",
    Run::Data(set),
    Flags::WRITE.or(Flags::DENYOOM),
    &[
        Arg::Key,
        Arg::Str,
        Arg::Opt(&[Arg::One(&[Arg::Tok("NX"), Arg::Tok("XX")])]),
        Arg::Opt(&[Arg::Tok("GET")]),
        Arg::Opt(&[Arg::One(&[Arg::Tok("KEEPTTL"), TIME])]),
    ],
)
.keys(&[KeySpec::at(
    1,
    KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE).or(KeyFlags::VARIABLE),
)
.notes("RW and ACCESS due to the optional `GET` argument")])
.acl(Acl::STRING)
.doc("string", "1.0.0", "O(1)", "Set the string value of a key");

/// `SETEX key seconds value`
pub const SETEX: Spec = Spec::new(
    "SETEX",
    Run::Data(setex),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Secs, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::OW.or(KeyFlags::UPDATE))])
.acl(Acl::STRING)
.doc("string", "2.0.0", "O(1)", "Set the value and expiration of a key");

/// `SETNX key value`
pub const SETNX: Spec = Spec::new(
    "SETNX",
    Run::Data(setnx),
    Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
    &[Arg::Key, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::OW.or(KeyFlags::INSERT))])
.acl(Acl::STRING)
.doc("string", "1.0.0", "O(1)", "Set the value of a key, only if the key does not exist");

/// `SETRANGE key offset value`
pub const SETRANGE: Spec = Spec::new(
    "SETRANGE",
    Run::Data(setrange),
    Flags::WRITE.or(Flags::DENYOOM),
    &[Arg::Key, Arg::Index, Arg::Str],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
.acl(Acl::STRING)
.doc(
    "string",
    "2.2.0",
    "O(1), not counting the time taken to copy the new string in place. Usually, this string is \
     very small so the amortized complexity is O(1). Otherwise, complexity is O(M) with M being \
     the length of the value argument.",
    "Overwrite part of a string at key starting at the specified offset",
);

fn append(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, text) = (argv[1], argv[2]);
    let len = cx.db.update::<Str, _>(key, |s, _| match check_length(s.len(), text.len()) {
        Ok(()) => {
            s.append(text);
            (Ok(s.len()), true)
        }
        Err(error) => (Err(error), false),
    })?;
    if let Some(len) = len {
        return Ok(len?.into());
    }
    cx.db.set(key, Str::new(text).wrap(), Expire::Clear);
    Ok(text.len().into())
}

fn getset(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let old = value_of(cx, argv[1])?;
    cx.db.set(argv[1], Str::new(argv[2]).wrap(), Expire::Clear);
    Ok(old)
}

fn mset(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    for [key, value] in pairs(&MSET, argv)? {
        cx.db.set(key, Str::new(value).wrap(), Expire::Clear);
    }
    Ok(Value::OK)
}

fn msetnx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let pairs = pairs(&MSETNX, argv)?;
    if pairs.iter().any(|[key, _]| cx.db.exists(key)) {
        return Ok(false.into());
    }
    for [key, value] in pairs {
        cx.db.set(key, Str::new(value).wrap(), Expire::Clear);
    }
    Ok(true.into())
}

/// The keys and values of MSET and MSETNX.
fn pairs<'p, 'a>(spec: &Spec, argv: &'p [&'a [u8]]) -> Result<&'p [[&'a [u8]; 2]], WireError> {
    match argv[1..].as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => Err(spec.arity_error()),
    }
}

fn psetex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let deadline_ms = Clock::Px.deadline_ms(cx, argv[2], "psetex")?;
    cx.db.set(argv[1], Str::new(argv[3]).wrap(), Expire::At(deadline_ms));
    Ok(Value::OK)
}

fn set(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, value) = (argv[1], argv[2]);
    if argv.len() == 3 {
        cx.db.set(key, Str::new(value).wrap(), Expire::Clear);
        return Ok(Value::OK);
    }
    let options = SetOptions::read(&argv[3..])?;
    let expire = match options.time {
        Some((clock, time)) => Expire::At(clock.deadline_ms(cx, time, "set")?),
        None if options.keep_ttl => Expire::Keep,
        None => Expire::Clear,
    };
    let old = if options.get { Some(value_of(cx, key)?) } else { None };
    let wanted = options.exists.is_none_or(|wanted| cx.db.exists(key) == wanted);
    if wanted {
        cx.db.set(key, Str::new(value).wrap(), expire);
    }
    Ok(old.unwrap_or(if wanted { Value::OK } else { Value::Nil }))
}

/// The options of SET. Each may be repeated; a repeated time counts as it was last said.
#[derive(Default)]
struct SetOptions<'a> {
    /// Only if the key exists (XX), or only if it does not (NX).
    exists: Option<bool>,
    get: bool,
    keep_ttl: bool,
    time: Option<(Clock, &'a [u8])>,
}

impl<'a> SetOptions<'a> {
    fn read(mut words: &[&'a [u8]]) -> Result<Self, WireError> {
        let mut options = Self::default();
        while let [word, rest @ ..] = words {
            words = rest;
            if is(word, "NX") && options.exists != Some(true) {
                options.exists = Some(false);
            } else if is(word, "XX") && options.exists != Some(false) {
                options.exists = Some(true);
            } else if is(word, "GET") {
                options.get = true;
            } else if is(word, "KEEPTTL") && options.time.is_none() {
                options.keep_ttl = true;
            } else {
                let clock = Clock::named(word).filter(|_| !options.keep_ttl);
                let (Some(clock), [time, rest @ ..]) = (clock, rest) else {
                    return Err(WireError::SYNTAX);
                };
                if options.time.is_some_and(|(other, _)| other != clock) {
                    return Err(WireError::SYNTAX);
                }
                options.time = Some((clock, time));
                words = rest;
            }
        }
        Ok(options)
    }
}

fn setex(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let deadline_ms = Clock::Ex.deadline_ms(cx, argv[2], "setex")?;
    cx.db.set(argv[1], Str::new(argv[3]).wrap(), Expire::At(deadline_ms));
    Ok(Value::OK)
}

fn setnx(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let free = !cx.db.exists(argv[1]);
    if free {
        cx.db.set(argv[1], Str::new(argv[2]).wrap(), Expire::Clear);
    }
    Ok(free.into())
}

fn setrange(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, text) = (argv[1], argv[3]);
    let offset = usize::try_from(int(argv[2])?)
        .map_err(|_| WireError::fixed("ERR offset is out of range"))?;
    if text.is_empty() {
        return Ok(cx.db.read::<Str>(key)?.map_or(0, Str::len).into());
    }
    let fits = check_length(offset, text.len());
    if fits.is_err() {
        cx.db.read::<Str>(key)?; // the wrong type is told first
    }
    fits?;
    let len = cx.db.upsert::<Str, _>(key, |s, _| {
        s.set_range(offset, text);
        (s.len(), true)
    })?;
    Ok(len.into())
}
