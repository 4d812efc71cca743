//! What a replay counts by itself: kinds of events, distinct ids, pages.

use foldhash::{fast, quality};
use hashbrown::HashSet;
use std::hash::BuildHasher;

use super::item::ItemFrom;
use super::report::{Conversion, Distinct, Kinds, Pages, Report};
use super::trace::{Action, Event};
use crate::shop::Served;

impl Distinct {
    /// The largest number that is counted exactly: some 16 million, in up to 300 MB.
    pub const MOST: u64 = 1 << 24;
}

/// A set of 64-bit fingerprints of ids, in bounded memory. Two of 16 million ids share one with a
/// probability of 8 in a million, which would make the count one too small.
pub(super) struct Seen {
    fingerprints: HashSet<u64, fast::FixedState>,
    overflow: bool,
}

/// A fingerprint of an id, the same in every process.
pub(super) fn fingerprint(id: &[u8]) -> u64 {
    quality::FixedState::with_seed(0x5eed).hash_one(id)
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { fingerprints: HashSet::with_hasher(fast::FixedState::default()), overflow: false }
    }

    /// Notes an id; whether it is the first time.
    pub(super) fn note(&mut self, id: &[u8]) -> bool {
        let fingerprint = fingerprint(id);
        if self.fingerprints.len() as u64 >= Distinct::MOST {
            self.overflow |= !self.fingerprints.contains(&fingerprint);
            return false;
        }
        self.fingerprints.insert(fingerprint)
    }

    fn holds(&self, id: &[u8]) -> bool {
        self.fingerprints.contains(&fingerprint(id))
    }

    pub(super) fn count(&self) -> Distinct {
        Distinct { count: self.fingerprints.len() as u64, or_more: self.overflow }
    }
}

/// The counts so far.
pub(super) struct Tally {
    pub(super) events: u64,
    pub(super) pages: Pages,
    kinds: Kinds,
    bytes: u64,
    visitors: Seen,
    items: Seen,
    lookers: Seen,
    buyers: Seen,
    /// Visitors who looked and bought, in either order.
    converted: u64,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            events: 0,
            pages: Pages::default(),
            kinds: Kinds::default(),
            bytes: 0,
            visitors: Seen::new(),
            items: Seen::new(),
            lookers: Seen::new(),
            buyers: Seen::new(),
            converted: 0,
        }
    }

    pub(super) fn note(&mut self, event: &Event, item_from: &ItemFrom) {
        self.events += 1;
        let visitor = event.visitor();
        self.visitors.note(visitor);
        match event {
            Event::Shop(event) => match event.action {
                Action::View => {
                    self.kinds.views += 1;
                    self.look(visitor, &event.item);
                }
                Action::AddToCart => self.kinds.add_to_cart += 1,
                Action::Purchase { .. } => {
                    self.kinds.transactions += 1;
                    let first = self.buyers.note(visitor);
                    self.converted += u64::from(first && self.lookers.holds(visitor));
                }
            },
            Event::Hit(hit) => {
                self.kinds.hits += 1;
                self.bytes = self.bytes.saturating_add(hit.bytes);
                if let Some(item) = item_from.item(&hit.url) {
                    self.look(visitor, &item);
                }
            }
        }
    }

    fn look(&mut self, visitor: &[u8], item: &[u8]) {
        self.items.note(item);
        let first = self.lookers.note(visitor);
        self.converted += u64::from(first && self.buyers.holds(visitor));
    }

    /// A report with these counts and nothing else.
    pub(super) fn report(&self) -> Report {
        let looked = self.lookers.count().count;
        Report {
            kinds: self.kinds,
            bytes_served: self.bytes,
            visitors: self.visitors.count(),
            items: self.items.count(),
            pages: self.pages,
            conversion: Conversion { looked, bought: self.converted },
            ..Report::default()
        }
    }
}

impl Pages {
    /// Counts a request; `None` when rendering failed.
    pub(super) fn note(&mut self, served: Option<Served>) {
        *match served {
            Some(Served::Hit | Served::Shared) => &mut self.hits,
            Some(Served::Rendered | Served::Unstored) => &mut self.misses,
            Some(Served::Uncacheable) => &mut self.uncacheable,
            None => &mut self.failed,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::trace::{HEADER, Trace};

    fn tally(rows: &str) -> Report {
        let mut tally = Tally::new();
        for event in Trace::from_bytes("t", format!("{HEADER}\n{rows}").into_bytes()) {
            tally.note(&event.unwrap(), &ItemFrom::Path);
        }
        tally.report()
    }

    #[test]
    fn ids_count_once() {
        let mut seen = Seen::new();
        assert!(seen.note(b"a") && seen.note(b"") && !seen.note(b"a"));
        assert_eq!(seen.count(), Distinct { count: 2, or_more: false });
    }

    #[test]
    fn who_looked_and_bought_in_either_order_is_converted_once() {
        let report = tally(
            "1,a,view,i,\n2,a,transaction,i,1\n3,a,transaction,j,1\n4,b,transaction,i,2\n\
             5,b,view,j,\n6,b,view,i,\n7,c,view,i,\n8,d,transaction,i,3\n9,e,addtocart,i,\n",
        );
        assert_eq!(report.conversion, Conversion { looked: 3, bought: 2 });
        assert_eq!((report.visitors.count, report.items.count), (5, 2));
        let kinds = Kinds { views: 4, add_to_cart: 1, transactions: 4, hits: 0 };
        assert_eq!(report.kinds, kinds);
    }
}
