//! Strings counted with: INCR and its kin.

use super::super::args::int;
use super::{Acl, Arg, Cx, Flags, Handler, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::bytes::Bytes;
use crate::db::{Expire, Kind};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Str;
use crate::types::number::{IncrError, incr_by_float};

/// Reads and changes one key.
const KEYS: &[KeySpec] = &[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))];

/// `DECR key`
pub const DECR: Spec = row("DECR", decr, &[Arg::Key]).doc(
    "string",
    "1.0.0",
    "O(1)",
    "Decrement the integer value of a key by one",
);

/// `DECRBY key decrement`
pub const DECRBY: Spec = row("DECRBY", decrby, &[Arg::Key, Arg::Int]).doc(
    "string",
    "1.0.0",
    "O(1)",
    "Decrement the integer value of a key by the given number",
);

/// `INCR key`
pub const INCR: Spec = row("INCR", incr, &[Arg::Key]).doc(
    "string",
    "1.0.0",
    "O(1)",
    "Increment the integer value of a key by one",
);

/// `INCRBY key increment`
pub const INCRBY: Spec = row("INCRBY", incrby, &[Arg::Key, Arg::Int]).doc(
    "string",
    "1.0.0",
    "O(1)",
    "Increment the integer value of a key by the given amount",
);

/// `INCRBYFLOAT key increment`
pub const INCRBYFLOAT: Spec = row("INCRBYFLOAT", incrbyfloat, &[Arg::Key, Arg::Float]).doc(
    "string",
    "2.6.0",
    "O(1)",
    "Increment the float value of a key by the given amount",
);

const fn row(name: &'static str, handler: Handler, args: &'static [Arg]) -> Spec {
    let flags = Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST);
    Spec::new(name, Run::Data(handler), flags, args).keys(KEYS).acl(Acl::STRING)
}

fn decr(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    add(cx, argv[1], -1)
}

fn decrby(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let amount =
        int(argv[2])?.checked_neg().ok_or(WireError::fixed("ERR decrement would overflow"))?;
    add(cx, argv[1], amount)
}

fn incr(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    add(cx, argv[1], 1)
}

fn incrby(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    add(cx, argv[1], int(argv[2])?)
}

fn incrbyfloat(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let (key, amount) = (argv[1], argv[2]);
    let sum = cx.db.update::<Str, _>(key, |s, _| {
        let sum = s.with_slice(|value| incr_by_float(value, amount)).map(Bytes::from);
        if let Ok(sum) = &sum {
            *s = Str::from_text(sum.clone());
        }
        let changed = sum.is_ok();
        (sum, changed)
    })?;
    if let Some(sum) = sum {
        return Ok(Value::Bulk(sum.map_err(refusal)?));
    }
    let sum = Bytes::from(incr_by_float(b"0", amount).map_err(refusal)?);
    cx.db.set(key, Str::from_text(sum.clone()).wrap(), Expire::Clear);
    Ok(Value::Bulk(sum))
}

fn refusal(error: IncrError) -> WireError {
    match error {
        IncrError::NotFloat => WireError::NOT_FLOAT,
        IncrError::NotFinite => WireError::fixed("ERR increment would produce NaN or Infinity"),
    }
}

/// Adds to the number under a key, of which a missing one is 0.
fn add(cx: &mut Cx<'_>, key: &[u8], amount: i64) -> Reply {
    let sum = cx.db.update::<Str, _>(key, |s, _| {
        let sum = sum_of(s, amount);
        if let Ok(sum) = sum {
            *s = Str::from(sum);
        }
        let changed = sum.is_ok();
        (sum, changed)
    })?;
    if let Some(sum) = sum {
        return Ok(sum?.into());
    }
    cx.db.set(key, Str::from(amount).wrap(), Expire::Clear);
    Ok(amount.into())
}

fn sum_of(s: &Str, amount: i64) -> Result<i64, WireError> {
    let value = s.as_i64().ok_or(WireError::NOT_INTEGER)?;
    value.checked_add(amount).ok_or(WireError::fixed("ERR increment or decrement would overflow"))
}
