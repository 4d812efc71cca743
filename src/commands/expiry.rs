//! Times to live.
//!
//! A deadline is a point in time in milliseconds; a key lives through the millisecond of its
//! deadline, and a deadline that is set in the past, or at this very moment, removes the key.

use super::args::{int, is};
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::error::WireError;
use crate::resp::Value;

/// The rows of this family.
pub const ROWS: &[&Spec] =
    &[&EXPIRE, &EXPIREAT, &EXPIRETIME, &PERSIST, &PEXPIRE, &PEXPIREAT, &PEXPIRETIME, &PTTL, &TTL];

/// When a deadline is to be set.
const WHEN: Arg =
    Arg::Opt(&[Arg::One(&[Arg::Tok("NX"), Arg::Tok("XX"), Arg::Tok("GT"), Arg::Tok("LT")])]);

/// `EXPIRE key seconds [NX | XX | GT | LT]`
pub const EXPIRE: Spec = Spec::new(
    "EXPIRE",
    Run::Data(expire),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Secs, WHEN],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
.acl(Acl::KEYSPACE)
.doc("generic", "1.0.0", "O(1)", "Set a key's time to live in seconds");

/// `EXPIREAT key time [NX | XX | GT | LT]`
pub const EXPIREAT: Spec = Spec::new(
    "EXPIREAT",
    Run::Data(expireat),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::AtSecs, WHEN],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
.acl(Acl::KEYSPACE)
.doc("generic", "1.2.0", "O(1)", "Set the expiration for a key as a UNIX timestamp");

/// `EXPIRETIME key`
pub const EXPIRETIME: Spec =
    Spec::new("EXPIRETIME", Run::Data(expiretime), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::KEYSPACE)
        .doc("generic", "7.0.0", "O(1)", "Get the expiration Unix timestamp for a key");

/// `PERSIST key`
pub const PERSIST: Spec =
    Spec::new("PERSIST", Run::Data(persist), Flags::WRITE.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
        .acl(Acl::KEYSPACE)
        .doc("generic", "2.2.0", "O(1)", "Remove the expiration from a key");

/// `PEXPIRE key milliseconds [NX | XX | GT | LT]`
pub const PEXPIRE: Spec = Spec::new(
    "PEXPIRE",
    Run::Data(pexpire),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::Millis, WHEN],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
.acl(Acl::KEYSPACE)
.doc("generic", "2.6.0", "O(1)", "Set a key's time to live in milliseconds");

/// `PEXPIREAT key time [NX | XX | GT | LT]`
pub const PEXPIREAT: Spec = Spec::new(
    "PEXPIREAT",
    Run::Data(pexpireat),
    Flags::WRITE.or(Flags::FAST),
    &[Arg::Key, Arg::AtMillis, WHEN],
)
.keys(&[KeySpec::at(1, KeyFlags::RW.or(KeyFlags::UPDATE))])
.acl(Acl::KEYSPACE)
.doc(
    "generic",
    "2.6.0",
    "O(1)",
    "Set the expiration for a key as a UNIX timestamp specified in milliseconds",
);

/// `PEXPIRETIME key`
pub const PEXPIRETIME: Spec =
    Spec::new("PEXPIRETIME", Run::Data(pexpiretime), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::KEYSPACE)
        .doc(
            "generic",
            "7.0.0",
            "O(1)",
            "Get the expiration Unix timestamp for a key in milliseconds",
        );

/// `PTTL key`
pub const PTTL: Spec =
    Spec::new("PTTL", Run::Data(pttl), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc("generic", "2.6.0", "O(1)", "Get the time to live for a key in milliseconds");

/// `TTL key`
pub const TTL: Spec =
    Spec::new("TTL", Run::Data(ttl), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .doc("generic", "1.0.0", "O(1)", "Get the time to live for a key in seconds");

fn expire(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    set_deadline(cx, argv, SECOND, cx.now_ms())
}

fn expireat(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    set_deadline(cx, argv, SECOND, 0)
}

fn expiretime(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    tell_deadline(cx, argv[1], rounded_secs)
}

fn persist(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let key = argv[1];
    let had_deadline = cx.db.deadline(key).flatten().is_some();
    if had_deadline {
        cx.db.set_deadline(key, None);
    }
    Ok(had_deadline.into())
}

fn pexpire(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    set_deadline(cx, argv, MILLISECOND, cx.now_ms())
}

fn pexpireat(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    set_deadline(cx, argv, MILLISECOND, 0)
}

fn pexpiretime(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    tell_deadline(cx, argv[1], |deadline_ms| deadline_ms)
}

fn pttl(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let now_ms = cx.now_ms();
    tell_deadline(cx, argv[1], |deadline_ms| deadline_ms.saturating_sub(now_ms).max(0))
}

fn ttl(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let now_ms = cx.now_ms();
    let left = |deadline_ms: i64| rounded_secs(deadline_ms.saturating_sub(now_ms).max(0));
    tell_deadline(cx, argv[1], left)
}

/// Milliseconds in the unit of an argument.
const SECOND: i64 = 1000;
const MILLISECOND: i64 = 1;

/// The options of EXPIRE and its like.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent words")]
struct When {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl When {
    fn parse(options: &[&[u8]]) -> Result<Self, WireError> {
        let mut when = Self::default();
        for option in options {
            let flag = match option {
                o if is(o, "NX") => &mut when.nx,
                o if is(o, "XX") => &mut when.xx,
                o if is(o, "GT") => &mut when.gt,
                o if is(o, "LT") => &mut when.lt,
                _ => return Err(unsupported(option)),
            };
            *flag = true;
        }
        if when.nx && (when.xx || when.gt || when.lt) {
            return Err(WireError::fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if when.gt && when.lt {
            return Err(WireError::fixed(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(when)
    }

    /// Whether the deadline may be changed from `old`. None counts as infinitely late.
    fn allows(&self, old: Option<i64>, new: i64) -> bool {
        match old {
            None => !self.xx && !self.gt,
            Some(old) => !self.nx && (!self.gt || new > old) && (!self.lt || new < old),
        }
    }
}

fn unsupported(option: &[u8]) -> WireError {
    let mut text = b"ERR Unsupported option ".to_vec();
    text.extend(option.iter().take_while(|&&b| b != 0));
    WireError::new(text)
}

/// The deadline as an argument states it: in a unit, counted from `base_ms`.
fn deadline(argv: &[&[u8]], unit: i64, base_ms: i64) -> Result<i64, WireError> {
    let stated = int(argv[2])?;
    let deadline = stated.checked_mul(unit).and_then(|ms| ms.checked_add(base_ms));
    deadline.ok_or_else(|| {
        let name = String::from_utf8_lossy(argv[0]).to_ascii_lowercase();
        WireError::new(format!("ERR invalid expire time in '{name}' command"))
    })
}

fn set_deadline(cx: &mut Cx<'_>, argv: &[&[u8]], unit: i64, base_ms: i64) -> Reply {
    let key = argv[1];
    let when = When::parse(&argv[3..])?;
    let new = deadline(argv, unit, base_ms)?;
    let Some(old) = cx.db.deadline(key) else { return Ok(Value::Int(0)) };
    if !when.allows(old, new) {
        return Ok(Value::Int(0));
    }
    if new <= cx.now_ms() {
        cx.db.delete(key);
    } else {
        cx.db.set_deadline(key, Some(new));
    }
    Ok(Value::Int(1))
}

fn tell_deadline(cx: &Cx<'_>, key: &[u8], tell: impl FnOnce(i64) -> i64) -> Reply {
    Ok(Value::Int(match cx.db.deadline(key) {
        None => -2,
        Some(None) => -1,
        Some(Some(deadline_ms)) => tell(deadline_ms),
    }))
}

/// Milliseconds in seconds, rounded half up.
fn rounded_secs(ms: i64) -> i64 {
    ((i128::from(ms) + 500) / 1000) as i64
}
