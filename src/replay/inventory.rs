//! [`Inventory`]: what the shop's database would know of its items, made from the trace.
//!
//! The source of the item rows that the row cache keeps: for each item how often it was viewed, put
//! into a cart and sold so far. Nobody needs the row of an item that nobody has viewed for a while,
//! so that such rows leave the cache: for the cache they do not exist.
//!
//! Bounded: of more than [`MOST`] items, those that come later have no rows.

use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::shop::{Columns, RowSource};
use crate::{Bytes, Env, Result, Timestamp};

/// How many items are known at most.
const MOST: usize = 1 << 20;

/// The items. Clones share them.
#[derive(Clone)]
pub(super) struct Inventory {
    items: Arc<Mutex<HashMap<Bytes, Item, FixedState>>>,
    env: Env,
    /// For how long after a view an item has a row.
    wanted: Duration,
}

#[derive(Default)]
struct Item {
    views: u64,
    in_carts: u64,
    sold: u64,
    viewed: Option<Timestamp>,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happened {
    View,
    AddToCart,
    Sale,
}

impl Inventory {
    /// An inventory without items, on this clock.
    pub(super) fn new(env: &Env, wanted: Duration) -> Self {
        Self { items: Arc::default(), env: env.clone(), wanted }
    }

    pub(super) fn note(&self, id: &[u8], happened: Happened) {
        let mut items = self.items.lock();
        if !items.contains_key(id) {
            if items.len() >= MOST {
                return;
            }
            items.insert(id.into(), Item::default());
        }
        let Some(item) = items.get_mut(id) else { return };
        match happened {
            Happened::View => {
                item.views += 1;
                item.viewed = Some(self.env.now());
            }
            Happened::AddToCart => item.in_carts += 1,
            Happened::Sale => item.sold += 1,
        }
    }
}

impl RowSource for Inventory {
    async fn load(&self, row: &[u8]) -> Result<Option<Columns>> {
        let items = self.items.lock();
        let is_wanted =
            |item: &&Item| item.viewed.is_some_and(|at| self.env.now().since(at) < self.wanted);
        let Some(item) = items.get(row).filter(is_wanted) else { return Ok(None) };
        let columns = [
            ("id", String::from_utf8_lossy(row).into()),
            ("views", item.views.into()),
            ("in_carts", item.in_carts.into()),
            ("sold", item.sold.into()),
        ];
        Ok(Some(columns.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Wait;

    #[test]
    fn row_counts_what_happened_and_exists_while_somebody_views_it() {
        let env = Env::manual(Timestamp::from_secs(1_000), 0);
        let inventory = Inventory::new(&env, Duration::from_secs(60));
        let row = |id: &[u8]| inventory.load(id).wait().unwrap();
        assert_eq!(row(b"i"), None);
        inventory.note(b"i", Happened::Sale);
        assert_eq!(row(b"i"), None);
        inventory.note(b"i", Happened::View);
        inventory.note(b"i", Happened::View);
        inventory.note(b"i", Happened::AddToCart);
        inventory.note(b"\xff", Happened::View);
        let json = serde_json::to_string(&row(b"i")).unwrap();
        assert_eq!(json, r#"{"id":"i","views":2,"in_carts":1,"sold":1}"#);
        assert_eq!(row(b"\xff").unwrap()["id"], "\u{fffd}");
        env.advance(Duration::from_millis(59_999));
        assert!(row(b"i").is_some());
        env.advance(Duration::from_millis(1));
        assert_eq!(row(b"i"), None);
        inventory.note(b"i", Happened::View);
        assert_eq!(row(b"i").unwrap()["views"], 3);
    }
}
