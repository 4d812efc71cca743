//! A tour of the shop: each feature once, in plain words, with the keys that it leaves.
//!
//! A newcomer's first look, on any backend. Each feature runs in a namespace of its own,
//! `tour.NAME/`, so that it finds nothing that is not its own, shows all that it leaves, and can be
//! cleaned up. Nothing waits for time to pass, and all ids are given: on a manual clock the text is
//! always the same, and on a real Redis only its times differ.
//!
//! It is no test: the answers that it shows are those that the backend gives.

mod guide;
mod logs;
mod turns;
mod visitors;

use std::fmt;
use std::str::FromStr;

use self::guide::Guide;
use crate::backend::{Backend, cmd};
use crate::{Bytes, Result};

/// Keys looked at, or deleted, in one round trip.
const PAGE: u64 = 1_000;

/// A feature of the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the feature of that name")]
pub enum Feature {
    Sessions,
    Cart,
    PageCache,
    RowCache,
    Popularity,
    Purchases,
    RecentLog,
    CommonLog,
    Counters,
    Statistics,
    Contacts,
    AddressBook,
    Lock,
    FairLock,
    Semaphore,
    FlashSale,
    DelayedQueue,
    ExpiryQueue,
}

impl Feature {
    /// All, in the order of the tour.
    pub const ALL: [Self; 18] = [
        Self::Sessions,
        Self::Cart,
        Self::PageCache,
        Self::RowCache,
        Self::Popularity,
        Self::Purchases,
        Self::RecentLog,
        Self::CommonLog,
        Self::Counters,
        Self::Statistics,
        Self::Contacts,
        Self::AddressBook,
        Self::Lock,
        Self::FairLock,
        Self::Semaphore,
        Self::FlashSale,
        Self::DelayedQueue,
        Self::ExpiryQueue,
    ];

    /// Its name, as it is read and written: `page-cache`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Cart => "cart",
            Self::PageCache => "page-cache",
            Self::RowCache => "row-cache",
            Self::Popularity => "popularity",
            Self::Purchases => "purchases",
            Self::RecentLog => "recent-log",
            Self::CommonLog => "common-log",
            Self::Counters => "counters",
            Self::Statistics => "statistics",
            Self::Contacts => "contacts",
            Self::AddressBook => "address-book",
            Self::Lock => "lock",
            Self::FairLock => "fair-lock",
            Self::Semaphore => "semaphore",
            Self::FlashSale => "flash-sale",
            Self::DelayedQueue => "delayed-queue",
            Self::ExpiryQueue => "expiry-queue",
        }
    }

    fn namespace(self) -> String {
        format!("tour.{}", self.name())
    }

    /// What all keys of its part of the tour begin with.
    fn prefix(self) -> String {
        self.namespace() + "/"
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Feature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|feature| feature.name() == text);
        named.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Runs a feature once and tells what it did; `tick` is called after each call of it, for a clock
/// that does not run by itself.
///
/// Its keys stay; see [`clean`]. It begins with none, or tells of what it finds.
pub async fn show<B: Backend>(
    backend: &B,
    feature: Feature,
    tick: &mut dyn FnMut(),
) -> Result<String> {
    let mut guide = Guide::new(backend, feature, tick);
    let g = &mut guide;
    match feature {
        Feature::Sessions => visitors::sessions(g).await?,
        Feature::Cart => visitors::cart(g).await?,
        Feature::PageCache => visitors::page_cache(g).await?,
        Feature::RowCache => visitors::row_cache(g).await?,
        Feature::Popularity => visitors::popularity(g).await?,
        Feature::Purchases => visitors::purchases(g).await?,
        Feature::RecentLog => logs::recent_log(g).await?,
        Feature::CommonLog => logs::common_log(g).await?,
        Feature::Counters => logs::counters(g).await?,
        Feature::Statistics => logs::statistics(g).await?,
        Feature::Contacts => logs::contacts(g).await?,
        Feature::AddressBook => logs::address_book(g).await?,
        Feature::Lock => turns::lock(g).await?,
        Feature::FairLock => turns::fair_lock(g).await?,
        Feature::Semaphore => turns::semaphore(g).await?,
        Feature::FlashSale => turns::flash_sale(g).await?,
        Feature::DelayedQueue => turns::delayed_queue(g).await?,
        Feature::ExpiryQueue => turns::expiry_queue(g).await?,
    }
    let left = keys_of(backend, &[feature]).await?;
    guide.keys_left(&left).await?;
    Ok(guide.told())
}

/// The keys in these features' part of the tour, sorted. SCAN: O(all keys of the database).
pub async fn keys_of<B: Backend>(backend: &B, features: &[Feature]) -> Result<Vec<Bytes>> {
    let prefixes: Vec<String> = features.iter().map(|feature| feature.prefix()).collect();
    let mut found = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, keys): (u64, Vec<Bytes>) = backend.run(cmd::scan(cursor, PAGE)).await?;
        let is_ours = |key: &Bytes| prefixes.iter().any(|p| key.starts_with(p.as_bytes()));
        found.extend(keys.into_iter().filter(is_ours));
        cursor = next;
        if cursor == 0 {
            found.sort_unstable();
            // SCAN may return a key twice.
            found.dedup();
            return Ok(found);
        }
    }
}

/// Deletes all keys in these features' part of the tour; says how many there were.
pub async fn clean<B: Backend>(backend: &B, features: &[Feature]) -> Result<u64> {
    let mut deleted = 0;
    for keys in keys_of(backend, features).await?.chunks(PAGE as usize) {
        deleted += backend.run(cmd::del(keys.iter().map(|key| &**key))).await?;
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Memory, Wait};

    #[test]
    fn features_are_read_by_the_names_that_they_are_shown_with() {
        for feature in Feature::ALL {
            assert_eq!(feature.to_string().parse(), Ok(feature));
        }
        let error = "carts".parse::<Feature>().unwrap_err();
        assert!(error.starts_with("expected one of sessions, cart, page-cache, "), "{error}");
    }

    #[test]
    fn only_keys_of_the_named_features_are_found_and_deleted() {
        let memory = Memory::new();
        let names = ["tour.lock/a", "tour.lock/b", "tour.cart/a", "tour.de.france", "tour.lock"];
        for name in names {
            memory.run(cmd::set(name.as_bytes(), b"1")).wait().unwrap();
        }
        let two = [Feature::Lock, Feature::FairLock];
        assert_eq!(keys_of(&memory, &two).wait().unwrap(), ["tour.lock/a", "tour.lock/b"]);
        assert_eq!(clean(&memory, &two).wait().unwrap(), 2);
        assert_eq!(clean(&memory, &two).wait().unwrap(), 0);
        for name in &names[2..] {
            assert!(memory.run(cmd::exists(name.as_bytes())).wait().unwrap(), "{name}");
        }
    }
}
