//! The query of a URL, as far as the page cache must understand it.
//!
//! Absolute URLs and those with a path only are read alike; nothing is refused.

use std::borrow::Cow;

/// What the query of `url` says: its items in order, names and values decoded.
pub(crate) fn query(url: &[u8]) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
    let url = before_fragment(url);
    let start = url.iter().position(|&b| b == b'?').map_or(url.len(), |at| at + 1);
    let pieces = url.get(start..).unwrap_or_default().split(|&b| b == b'&');
    pieces.filter(|piece| !piece.is_empty()).map(|piece| {
        let mut halves = piece.splitn(2, |&b| b == b'=');
        let (name, value) = (halves.next(), halves.next());
        (decode(name.unwrap_or_default()), decode(value.unwrap_or_default()))
    })
}

/// `url` without its fragment, which no server sees.
pub(super) fn before_fragment(url: &[u8]) -> &[u8] {
    url.split(|&b| b == b'#').next().unwrap_or_default()
}

/// Undoes percent-encoding and plus signs. What is no valid escape stays as it is.
fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|&b| matches!(b, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let escape = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(h, l)| h << 4 | l),
            _ => None,
        };
        decoded.push(match (first, escape) {
            (_, Some(byte)) => byte,
            (b'+', _) => b' ',
            _ => *first,
        });
        rest = if escape.is_some() { &tail[2..] } else { tail };
    }
    Cow::Owned(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|d| d as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Vec<(String, String)> {
        let text = |b: Cow<'_, [u8]>| String::from_utf8_lossy(&b).into_owned();
        query(url.as_bytes()).map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn queries_of_all_kinds_of_urls() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read("/?item=1"), [pair("item", "1")]);
        assert_eq!(read("http://shop.example/p?item=1#x?y=2"), [pair("item", "1")]);
        assert_eq!(read("?a=b=c&d&=e&&"), [pair("a", "b=c"), pair("d", ""), pair("", "e")]);
        assert_eq!(read("/?q=a%20b+c%zz%4"), [pair("q", "a b c%zz%4")]);
        assert_eq!(read("/?%69tem=%3A"), [pair("item", ":")]);
        assert_eq!(read("/path"), []);
        assert_eq!(read(""), []);
        assert_eq!(read("/#?item=1"), []);
    }
}
