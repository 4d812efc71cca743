//! Writing replies and requests.
//!
//! Invariant: whatever the value, what is written is one well-formed reply, or the several of a
//! [`Value::Several`]. A line break in a
//! status or an error, which would end it early, becomes a space, as in Redis.

use super::{Protocol, Value, decimal, double};

/// Appends `value` to `out`, as `protocol` spells it.
///
/// In RESP2 a map becomes a flat array, a set or push an array, a double, verbatim text or big
/// number a bulk string, and a truth value 1 or 0.
///
/// ```
/// use stockroom::resp::{Protocol, Value, encode};
/// let reply = Value::Map(vec![(Value::bulk("pi"), Value::Double(3.14))]);
/// let mut out = Vec::new();
/// encode(&reply, Protocol::Resp3, &mut out);
/// assert_eq!(out, b"%1\r\n$2\r\npi\r\n,3.1400000000000001\r\n");
/// out.clear();
/// encode(&reply, Protocol::Resp2, &mut out);
/// assert_eq!(out, b"*2\r\n$2\r\npi\r\n$18\r\n3.1400000000000001\r\n");
/// ```
pub fn encode(value: &Value, protocol: Protocol, out: &mut Vec<u8>) {
    let resp3 = protocol == Protocol::Resp3;
    match value {
        Value::Nil | Value::NilArray if resp3 => out.extend_from_slice(b"_\r\n"),
        Value::Nil => out.extend_from_slice(b"$-1\r\n"),
        Value::NilArray => out.extend_from_slice(b"*-1\r\n"),
        Value::Simple(text) => line(out, b'+', text.as_bytes()),
        Value::Error(error) => line(out, b'-', error.as_bytes()),
        Value::Bulk(bytes) => bulk(out, bytes),
        Value::Int(n) => header(out, b':', *n),
        Value::Double(n) => push_double(out, *n, resp3),
        Value::Bool(yes) if resp3 => {
            out.extend_from_slice(if *yes { b"#t\r\n" } else { b"#f\r\n" });
        }
        Value::Bool(yes) => header(out, b':', i64::from(*yes)),
        Value::Array(items) => aggregate(out, b'*', items, protocol),
        Value::Set(items) => aggregate(out, if resp3 { b'~' } else { b'*' }, items, protocol),
        Value::Push(items) => aggregate(out, if resp3 { b'>' } else { b'*' }, items, protocol),
        Value::Several(replies) => replies.iter().for_each(|reply| encode(reply, protocol, out)),
        Value::Map(pairs) => map(out, pairs, protocol),
        Value::Verbatim(format, text) if resp3 => {
            header(out, b'=', text.len() as i64 + 4);
            out.extend_from_slice(format);
            out.push(b':');
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
        }
        Value::BigNumber(digits) if resp3 => line(out, b'(', digits),
        Value::Verbatim(_, text) | Value::BigNumber(text) => bulk(out, text),
    }
}

/// How many bytes [`encode`] appends for `value`, without doing so; for a double, the most it can
/// be. O(parts of the value).
///
/// ```
/// use stockroom::resp::{Protocol, Value, encoded_len};
/// assert_eq!(encoded_len(&Value::bulks(["a", "bc"]), Protocol::Resp2), 19);
/// ```
pub fn encoded_len(value: &Value, protocol: Protocol) -> usize {
    let resp3 = protocol == Protocol::Resp3;
    let all = |items: &[Value]| items.iter().map(|item| encoded_len(item, protocol)).sum::<usize>();
    match value {
        Value::Nil | Value::NilArray if resp3 => 3,
        Value::Nil | Value::NilArray => 5,
        Value::Simple(text) => 3 + text.len(),
        Value::Error(error) => 3 + error.as_bytes().len(),
        Value::Bulk(bytes) => bulk_len(bytes.len()),
        Value::Int(n) => header_len(*n),
        Value::Double(_) if resp3 => 3 + LONGEST_DOUBLE,
        Value::Double(_) => bulk_len(LONGEST_DOUBLE),
        Value::Bool(_) => 4,
        Value::Array(items) | Value::Set(items) | Value::Push(items) => {
            header_len(items.len() as i64) + all(items)
        }
        Value::Several(replies) => all(replies),
        Value::Map(pairs) => {
            let count = if resp3 { pairs.len() } else { pairs.len() * 2 };
            let pair =
                |(k, v): &(Value, Value)| encoded_len(k, protocol) + encoded_len(v, protocol);
            header_len(count as i64) + pairs.iter().map(pair).sum::<usize>()
        }
        Value::Verbatim(_, text) if resp3 => bulk_len(text.len() + 4),
        Value::BigNumber(digits) if resp3 => 3 + digits.len(),
        Value::Verbatim(_, text) | Value::BigNumber(text) => bulk_len(text.len()),
    }
}

/// `-1.7976931348623157e+308`.
const LONGEST_DOUBLE: usize = 24;

fn header_len(n: i64) -> usize {
    let digits = n.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    3 + usize::from(n < 0) + digits
}

fn bulk_len(len: usize) -> usize {
    header_len(len as i64) + len + 2
}

/// Appends a request as every server reads it: an array of bulk strings.
///
/// ```
/// let mut out = Vec::new();
/// stockroom::resp::encode_request(&["GET", "k"], &mut out);
/// assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
/// ```
pub fn encode_request<A: AsRef<[u8]>>(args: &[A], out: &mut Vec<u8>) {
    header(out, b'*', args.len() as i64);
    for arg in args {
        bulk(out, arg.as_ref());
    }
}

fn header(out: &mut Vec<u8>, kind: u8, n: i64) {
    out.push(kind);
    decimal::push(out, n);
    out.extend_from_slice(b"\r\n");
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len() as i64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend(text.iter().map(|&b| if matches!(b, b'\r' | b'\n') { b' ' } else { b }));
    out.extend_from_slice(b"\r\n");
}

fn push_double(out: &mut Vec<u8>, n: f64, resp3: bool) {
    if resp3 {
        out.push(b',');
        double::push_f64(out, n);
        out.extend_from_slice(b"\r\n");
    } else {
        bulk(out, double::format_f64(n).as_bytes());
    }
}

fn aggregate(out: &mut Vec<u8>, kind: u8, items: &[Value], protocol: Protocol) {
    header(out, kind, items.len() as i64);
    for item in items {
        encode(item, protocol, out);
    }
}

fn map(out: &mut Vec<u8>, pairs: &[(Value, Value)], protocol: Protocol) {
    match protocol {
        Protocol::Resp2 => header(out, b'*', pairs.len() as i64 * 2),
        Protocol::Resp3 => header(out, b'%', pairs.len() as i64),
    }
    for (key, value) in pairs {
        encode(key, protocol, out);
        encode(value, protocol, out);
    }
}
