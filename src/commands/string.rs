//! Strings.

use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, Spec};
use crate::db::{Expire, Kind};
use crate::resp::Value;
use crate::types::Str;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[&GET, &SET];

/// `GET key`
pub const GET: Spec =
    Spec::new("GET", Run::Data(get), Flags::READONLY.or(Flags::FAST), &[Arg::Key])
        .keys(&[KeySpec::at(1, KeyFlags::RO.or(KeyFlags::ACCESS))])
        .acl(Acl::STRING)
        .doc("string", "1.0.0", "O(1)", "Get the value of a key");

/// `SET key value`
pub const SET: Spec =
    Spec::new("SET", Run::Data(set), Flags::WRITE.or(Flags::DENYOOM), &[Arg::Key, Arg::Str])
        .keys(&[KeySpec::at(
            1,
            KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE).or(KeyFlags::VARIABLE),
        )
        .notes("RW and ACCESS due to the optional `GET` argument")])
        .acl(Acl::STRING)
        .doc("string", "1.0.0", "O(1)", "Set the string value of a key");

fn get(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.read::<Str>(argv[1])?.map_or(Value::Nil, |s| Value::Bulk(s.to_bytes())))
}

fn set(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    cx.db.set(argv[1], Str::new(argv[2]).wrap(), Expire::Clear);
    Ok(Value::OK)
}
