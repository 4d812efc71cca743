//! Which part of a URL names an item.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::shop::{MAX_ID, url};

/// Which part of a URL names the item that a request of an access log is about.
///
/// ```
/// use stockroom::replay::ItemFrom;
///
/// let path = ItemFrom::Path;
/// assert_eq!(path.item(b"http://shop/cups/7?ref=mail").as_deref(), Some(&b"/cups/7"[..]));
/// let query: ItemFrom = "query:id".parse()?;
/// assert_eq!(query.item(b"/show?id=7").as_deref(), Some(&b"7"[..]));
/// assert_eq!(query.item(b"/show?ref=mail"), None);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ItemFrom {
    /// The path, as it is written.
    #[default]
    Path,
    /// The value of this parameter of the query, decoded; the last one that is not empty.
    Query(String),
}

impl ItemFrom {
    /// The item that `url` names; `None` when it names none, or one that no shop could store.
    pub fn item<'u>(&self, url: &'u [u8]) -> Option<Cow<'u, [u8]>> {
        let item = match self {
            Self::Path => Cow::Borrowed(path(url)),
            Self::Query(name) => url::query(url)
                .filter(|(n, value)| **n == *name.as_bytes() && !value.is_empty())
                .last()
                .map(|(_, value)| value)?,
        };
        (1..=MAX_ID).contains(&item.len()).then_some(item)
    }
}

/// The path of an absolute URL or of a path with what follows it; `/` when an absolute URL ends
/// after its host.
pub(super) fn path(url: &[u8]) -> &[u8] {
    let mut rest = url;
    if !url.starts_with(b"/")
        && let Some(at) = url.windows(3).position(|w| w == b"://")
    {
        let after = url.get(at + 3..).unwrap_or_default();
        rest = after.iter().position(|b| b"/?#".contains(b)).map_or(b"", |at| &after[at..]);
    }
    let end = rest.iter().position(|b| b"?#".contains(b)).unwrap_or(rest.len());
    match &rest[..end] {
        [] if !url.is_empty() => b"/",
        path => path,
    }
}

impl FromStr for ItemFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "path" => Ok(Self::Path),
            None if text == "query" => Ok(Self::Query("item".to_owned())),
            Some(("query", name)) if !name.is_empty() => Ok(Self::Query(name.to_owned())),
            _ => Err("expected path, query or query:NAME".to_owned()),
        }
    }
}

impl fmt::Display for ItemFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Query(name) => write!(f, "query:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_end_where_the_query_or_fragment_begins() {
        let paths = [
            (&b"/a/b?c=/d"[..], &b"/a/b"[..]),
            (b"/a#b?c", b"/a"),
            (b"/", b"/"),
            (b"http://h", b"/"),
            (b"https://h:1/x://y", b"/x://y"),
            (b"HTTP://h?q", b"/"),
            (b"/go?to=http://h/p", b"/go"),
            (b"", b""),
        ];
        for (url, expected) in paths {
            assert_eq!(path(url).escape_ascii().to_string(), expected.escape_ascii().to_string());
        }
    }

    #[test]
    fn the_last_named_parameter_counts() {
        let query: ItemFrom = "query".parse().unwrap();
        assert_eq!(query.item(b"/?item=a&item=%62&item=").as_deref(), Some(&b"b"[..]));
        assert_eq!(query.item(b"/?items=1&_=2"), None);
        assert_eq!(query.to_string().parse::<ItemFrom>(), Ok(query));
    }

    #[test]
    fn items_too_long_for_a_shop_are_none() {
        assert_eq!(ItemFrom::Path.item(&vec![b'/'; MAX_ID + 1]), None);
        assert!(ItemFrom::Path.item(&vec![b'/'; MAX_ID]).is_some());
        assert_eq!(ItemFrom::Path.item(b""), None);
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["", "PATH", "query:", "item", "path:x"] {
            assert!(word.parse::<ItemFrom>().is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_url_is_read(url in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (ItemFrom::Path.item(&url), ItemFrom::Query("item".into()).item(&url));
        }
    }
}
