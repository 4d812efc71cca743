//! Page cache: rendered pages of popular items, for five minutes.
//!
//! `cache:HASH` is a string, the page, with a time to live. HASH is the first 128 bits of the
//! SHA-256 of the URL without its fragment, in hexadecimal: the same in every process and version,
//! and nobody can make two URLs meet. The URL is taken as it is: an absolute one and its path
//! alone are two pages, since two hosts may show different ones.
//!
//! A page may be cached when its query names an item (`item=…`, the last one that is not empty),
//! has no `_` (which marks a dynamic page), and the item's rank in `viewed:` is below 10,000.
//!
//! Source: the request caching of the published articles. Theirs takes an empty page for a miss,
//! and lets everybody render when a popular page expires.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::backoff::unwritten;
use super::check::kept;
use super::flight::{Flights, Lead, Part};
use super::keys::{Key, Keys};
use super::url;
use crate::backend::{Backend, cmd};
use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// How long a page is kept unless told otherwise.
pub const PAGE_TTL: Duration = Duration::from_secs(300);

/// Items of this rank and beyond are not cached unless told otherwise.
const RANKS: u64 = 10_000;

/// The longest URL of which the page is cached, in bytes.
const MAX_URL: usize = 65_536;

/// The cache of rendered pages; see the module's documentation for what is cached.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Keys, PageCache, Served, Sessions};
///
/// let memory = Memory::new();
/// Sessions::new(memory.clone(), Keys::new()).touch(b"t", b"ada", Some(b"teapot")).wait()?;
/// let cache = PageCache::new(memory, Keys::new());
/// let render = || async { Ok::<_, stockroom::Error>("<h1>Teapot</h1>".into()) };
/// let page = cache.fetch(b"/?item=teapot", render).wait()?;
/// assert_eq!(page.served, Served::Rendered);
/// let page = cache.fetch(b"/?item=teapot", render).wait()?;
/// assert_eq!((page.body, page.served), ("<h1>Teapot</h1>".into(), Served::Hit));
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PageCache<B> {
    backend: B,
    keys: Keys,
    viewed: Key,
    flights: Flights,
    ttl: Duration,
    ranks: u64,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The page.
    pub body: Bytes,
    /// Where it came from.
    pub served: Served,
}

/// Where a page came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// From the cache.
    Hit,
    /// Rendered by this call, and now in the cache.
    Rendered,
    /// Rendered by this call; storing it failed, or may have.
    Unstored,
    /// Rendered by another call at the same time.
    Shared,
    /// Rendered by this call; this page is not cached.
    Uncacheable,
}

impl<B: Backend> PageCache<B> {
    /// A cache under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        let viewed = keys.viewed();
        Self { backend, keys, viewed, flights: Flights::default(), ttl: PAGE_TTL, ranks: RANKS }
    }

    /// Sets how long a page is kept. Fails when it is less than a millisecond or more than 366
    /// days.
    pub fn with_ttl(mut self, ttl: Duration) -> Result<Self> {
        self.ttl = kept("time to live", ttl, Duration::from_millis(1))?;
        Ok(self)
    }

    /// Sets of how many of the most viewed items pages are cached.
    #[must_use]
    pub fn with_ranks(mut self, ranks: u64) -> Self {
        self.ranks = ranks;
        self
    }

    /// The page at `url`, from the cache or from `render`.
    ///
    /// A hit is one round trip: GET and ZRANK. A miss is that, another GET once it is this call's
    /// turn to render, and SET with a time to live. When many calls of one process miss together,
    /// one renders and the others wait for its page; when that one fails, or its future is
    /// dropped, another takes over. A failing render caches nothing, and its error is answered.
    /// An empty page is a page. `render` must not fetch the same page itself: it would wait for
    /// itself.
    ///
    /// A page that was rendered is served, also when it could not be stored or the reply to SET
    /// was lost ([`Served::Unstored`]); the next call stores it. Where looking into the cache fails
    /// nothing was rendered, and the error says so: fetching again is harmless.
    pub async fn fetch<F, R, E>(&self, url: &[u8], render: F) -> Result<Page, E>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Bytes, E>> + Send,
        E: From<Error> + Send,
    {
        let Some(item) = cacheable_item(url) else {
            return uncacheable(render).await;
        };
        let key = self.key(url);
        let look = (cmd::get::<Bytes>(&key), cmd::zrank(&self.viewed, &item));
        let (cached, rank) = self.backend.pipeline(look).await.map_err(unwritten)?;
        if rank.is_none_or(|rank| rank >= self.ranks) {
            return uncacheable(render).await;
        }
        if let Some(body) = cached {
            return Ok(Page { body, served: Served::Hit });
        }
        loop {
            match self.flights.join(&key) {
                Part::Lead(lead) => return self.lead(&key, render, lead).await,
                Part::Follow(flight) => {
                    if let Some(body) = flight.result().await {
                        return Ok(Page { body, served: Served::Shared });
                    }
                }
            }
        }
    }

    /// Drops the cached page at `url`; says whether there was one. DEL. O(1). Repeated after a lost
    /// reply it drops what was rendered in between, and may say that there was none.
    pub async fn forget(&self, url: &[u8]) -> Result<bool> {
        Ok(self.backend.run(cmd::del(&[self.key(url)])).await? > 0)
    }

    /// Renders the page, for those who wait too, unless somebody has done so since we looked.
    async fn lead<F, R, E>(&self, key: &Key, render: F, lead: Lead) -> Result<Page, E>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Bytes, E>> + Send,
        E: From<Error> + Send,
    {
        if let Some(body) = self.backend.run(cmd::get::<Bytes>(key)).await.map_err(unwritten)? {
            lead.land(body.clone());
            return Ok(Page { body, served: Served::Hit });
        }
        let body = render().await?;
        let stored = self.backend.run(cmd::set_for(key, &body, self.ttl)).await;
        lead.land(body.clone());
        let served = if stored.is_ok() { Served::Rendered } else { Served::Unstored };
        Ok(Page { body, served })
    }

    fn key(&self, url: &[u8]) -> Key {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut name = [0; 32];
        let digest = Sha256::digest(url::before_fragment(url));
        for (pair, byte) in name.chunks_exact_mut(2).zip(digest) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        self.keys.page(&name)
    }
}

async fn uncacheable<F, R, E>(render: F) -> Result<Page, E>
where
    F: FnOnce() -> R,
    R: Future<Output = Result<Bytes, E>>,
{
    Ok(Page { body: render().await?, served: Served::Uncacheable })
}

/// The item whose page `url` is, if that page may be cached.
fn cacheable_item(url: &[u8]) -> Option<Cow<'_, [u8]>> {
    if url.len() > MAX_URL {
        return None;
    }
    let mut item = None;
    for (name, value) in url::query(url) {
        match &*name {
            b"_" => return None,
            b"item" if !value.is_empty() => item = Some(value),
            _ => {}
        }
    }
    item.filter(|item| item.len() <= super::check::MAX_ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Memory;

    #[test]
    fn the_query_decides_what_may_be_cached() {
        let item = |url: &'static str| cacheable_item(url.as_bytes());
        assert_eq!(item("http://test.com/?item=itemX").as_deref(), Some(&b"itemX"[..]));
        assert_eq!(item("/?item=a&item=b").as_deref(), Some(&b"b"[..]));
        assert_eq!(item("/?item=a&item=").as_deref(), Some(&b"a"[..]));
        assert_eq!(item("/?item=%00%ff").as_deref(), Some(&b"\0\xff"[..]));
        assert_eq!(item("/?item=itemX&_=1234536"), None);
        assert_eq!(item("/?item=itemX&_"), None);
        assert_eq!(item("/?item="), None);
        assert_eq!(item("/?items=1"), None);
        assert_eq!(item("/item=1"), None);
    }

    #[test]
    fn the_hash_never_changes() {
        let cache = PageCache::new(Memory::new(), Keys::new());
        let key = cache.key(b"http://test.com/?item=itemX#top");
        assert_eq!(&*key, &*cache.key(b"http://test.com/?item=itemX"));
        assert_eq!(&*key, b"cache:ea46076612936894194879b2f7c5241e");
        assert_ne!(key, cache.key(b"/?item=itemX"));
    }
}
