//! Strings: read, written, counted with and compared. Their bits are another family.

mod count;
mod lcs;
mod read;
mod write;

pub use self::count::{DECR, DECRBY, INCR, INCRBY, INCRBYFLOAT};
pub use self::lcs::LCS;
pub use self::read::{GET, GETDEL, GETEX, GETRANGE, MGET, STRLEN, SUBSTR};
pub use self::write::{APPEND, GETSET, MSET, MSETNX, PSETEX, SET, SETEX, SETNX, SETRANGE};

use super::args::{int, is};
use super::{Acl, Arg, Cx, Flags, Handler, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::Str;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &APPEND,
    &DECR,
    &DECRBY,
    &GET,
    &GETDEL,
    &GETEX,
    &GETRANGE,
    &GETSET,
    &INCR,
    &INCRBY,
    &INCRBYFLOAT,
    &LCS,
    &MGET,
    &MSET,
    &MSETNX,
    &PSETEX,
    &SET,
    &SETEX,
    &SETNX,
    &SETRANGE,
    &STRLEN,
    &SUBSTR,
];

/// The longest string, as `proto-max-bulk-len` has it by default.
const LONGEST: usize = 512 * 1024 * 1024;

/// The times that SET and GETEX take.
const TIME: Arg = Arg::One(&[
    Arg::Seq(&[Arg::Tok("EX"), Arg::Secs]),
    Arg::Seq(&[Arg::Tok("PX"), Arg::Millis]),
    Arg::Seq(&[Arg::Tok("EXAT"), Arg::AtSecs]),
    Arg::Seq(&[Arg::Tok("PXAT"), Arg::AtMillis]),
]);

/// Unit and origin of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Ex,
    Px,
    ExAt,
    PxAt,
}

impl Clock {
    /// The clock that an option names.
    fn named(option: &[u8]) -> Option<Self> {
        let clocks =
            [("EX", Self::Ex), ("PX", Self::Px), ("EXAT", Self::ExAt), ("PXAT", Self::PxAt)];
        clocks.into_iter().find(|(word, _)| is(option, word)).map(|(_, clock)| clock)
    }

    fn is_absolute(self) -> bool {
        matches!(self, Self::ExAt | Self::PxAt)
    }

    /// The deadline in milliseconds since the epoch that a time on this clock says. Fails, in the
    /// name of `command`, unless it is positive and in range.
    fn deadline_ms(self, cx: &Cx<'_>, time: &[u8], command: &str) -> Result<i64, WireError> {
        let time = int(time)?;
        let ms = match self {
            Self::Ex | Self::ExAt => time.checked_mul(1000),
            Self::Px | Self::PxAt => Some(time),
        };
        let origin_ms = if self.is_absolute() { 0 } else { cx.now_ms() };
        ms.filter(|ms| *ms > 0).and_then(|ms| ms.checked_add(origin_ms)).ok_or_else(|| {
            WireError::new(format!("ERR invalid expire time in '{command}' command"))
        })
    }
}

/// The string under a key, or nil.
fn value_of(cx: &Cx<'_>, key: &[u8]) -> Reply {
    Ok(cx.db.read::<Str>(key)?.map_or(Value::Nil, |s| Value::Bulk(s.to_bytes())))
}

/// Refuses `added` bytes at `offset` of a string when it would become too long.
fn check_length(offset: usize, added: usize) -> Result<(), WireError> {
    match offset.checked_add(added) {
        Some(len) if len <= LONGEST => Ok(()),
        _ => Err(WireError::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)")),
    }
}
