//! Lines of an access log in Apache's common and combined formats, which nginx's `combined` shares.
//!
//! ```text
//! host ident user [time] "request" status bytes "referer" "user agent"
//! ```
//!
//! The common format ends after `bytes`. What follows the user agent (some servers add fields) is
//! ignored. Inside quotes a backslash escapes what follows, so a quote sent by a client cannot end
//! a field; `\xHH` and the C escapes are turned back into the bytes they stand for. A request line
//! that is none (`-`, or the first bytes of a TLS handshake) is a hit without a URL, not a
//! malformed line. A field that is missing, or a quote that does not end, makes the line malformed.

use std::borrow::Cow;

use super::event::{Hit, session_id};
use super::{Reason, date};
use crate::shop::LARGEST_STEP;
use crate::{Bytes, Timestamp};

/// The largest size of an answer that is believed: what the counters take at once, 1 TB.
const MAX_BYTES: u64 = LARGEST_STEP;

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Result<Hit, Reason> {
    let (host, rest) = word(line).filter(|(w, _)| !w.is_empty()).ok_or("no host and time stamp")?;
    let (time, rest) = find_time(rest)?;
    let (request, rest) = quoted(rest).ok_or("the request is not a quoted string")?;
    let (status, rest) = field(rest).ok_or("no status after the request")?;
    let status = parse_status(status).ok_or("the status is not a number of three digits")?;
    let (size, rest) = field(rest).ok_or("no size after the status")?;
    let bytes = parse_size(size).ok_or("the size is neither a number of bytes nor -")?;
    let agent = if rest.trim_ascii().is_empty() { &b"-"[..] } else { find_agent(rest)? };
    let (method, url) = split_request(&unescape(request)).unwrap_or_default();
    Ok(Hit { time, session: session_id(host, agent), method, url, status, bytes })
}

/// Up to the next space, and what follows the space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&b| b == b' ')?;
    Some((&text[..at], &text[at + 1..]))
}

/// Past one space, up to the next space or the end; `None` when that is empty.
fn field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" ")?;
    let at = text.iter().position(|&b| b == b' ').unwrap_or(text.len());
    (at > 0).then(|| text.split_at(at))
}

/// The time stamp and what follows it and a space. User names may hold spaces and brackets, so
/// the first bracketed text that is a time is taken.
fn find_time(text: &[u8]) -> Result<(Timestamp, &[u8]), Reason> {
    let mut seen = false;
    for (at, _) in text.iter().enumerate().filter(|&(_, &b)| b == b'[') {
        let Some(after) = text.get(at + 1 + date::LEN..) else { break };
        let Some(after) = after.strip_prefix(b"] ") else { continue };
        seen = true;
        if let Some(time) = date::parse(&text[at + 1..at + 1 + date::LEN]) {
            return Ok((time, after));
        }
    }
    Err(if seen { "the time stamp names no real time" } else { "no [time stamp] after the user" })
}

/// The inside of a quoted string, escapes kept, and what follows the closing quote.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some((&text[..at], &text[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The user agent: the second quoted string of ` "referer" "user agent"`, when there are quotes.
fn find_agent(text: &[u8]) -> Result<&[u8], Reason> {
    let Some(text) = text.strip_prefix(b" ").filter(|t| t.first() == Some(&b'"')) else {
        return Err("neither the end nor a quoted referer after the size");
    };
    let (_, text) = quoted(text).ok_or("the referer's quote does not end")?;
    let text = text.strip_prefix(b" ").ok_or("no user agent after the referer")?;
    Ok(quoted(text).ok_or("the user agent is missing or its quote does not end")?.0)
}

fn parse_status(text: &[u8]) -> Option<u16> {
    if text == b"-" {
        return Some(0);
    }
    let digits = text.len() == 3 && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0')))
}

fn parse_size(text: &[u8]) -> Option<u64> {
    if text == b"-" {
        return Some(0);
    }
    text.iter().try_fold(0_u64, |n, b| {
        let n = b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0'))?;
        (n <= MAX_BYTES).then_some(n)
    })
}

/// Turns the escapes of Apache (`\"`, `\\`, `\n`, `\xHH`, …) and nginx (`\xHH`) into bytes. A
/// backslash before anything else stands for itself.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&b, after)) = rest.split_first() {
        let (byte, used) = if b == b'\\' { escape(after) } else { (b, 0) };
        out.push(byte);
        rest = &after[used..];
    }
    Cow::Owned(out)
}

/// What the text after a backslash stands for, and how many bytes of it are used.
fn escape(after: &[u8]) -> (u8, usize) {
    match after {
        [c @ (b'"' | b'\\'), ..] => (*c, 1),
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'r', ..] => (b'\r', 1),
        [b'b', ..] => (0x08, 1),
        [b'v', ..] => (0x0b, 1),
        [b'f', ..] => (0x0c, 1),
        [b'x', high, low, ..] => match (hex(*high), hex(*low)) {
            (Some(h), Some(l)) => (h << 4 | l, 3),
            _ => (b'\\', 0),
        },
        _ => (b'\\', 0),
    }
}

fn hex(b: u8) -> Option<u8> {
    (b as char).to_digit(16).map(|d| d as u8)
}

/// Method and URL of `METHOD URL PROTOCOL`, or of HTTP/0.9's `METHOD URL`. `None` when it is
/// neither, or the URL is neither a path nor absolute (`*`, or `host:443` of CONNECT).
fn split_request(request: &[u8]) -> Option<(Bytes, Bytes)> {
    let (method, rest) = word(request)?;
    let known =
        !method.is_empty() && method.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-');
    // A client that does not escape spaces sends a URL with spaces in it.
    let url = match rest.iter().rposition(|&b| b == b' ') {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => &rest[..at],
        _ => rest,
    };
    let lower = url.get(..8).map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    let absolute = lower.starts_with(b"http://") || lower.starts_with(b"https://");
    (known && (url.starts_with(b"/") || absolute)).then(|| (method.into(), url.into()))
}

#[cfg(test)]
mod tests;
