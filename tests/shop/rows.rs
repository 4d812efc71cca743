//! What tests of the row cache share: a database, and acting between two steps of a daemon.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{Columns, Keys, RowCache, RowOutcome, RowSource, RowStep};
use stockroom::{Bytes, Error, ErrorKind, Result};

use crate::interpose::{Fate, Interposed, Step};

/// Rows of one column, and what has been asked of it.
#[derive(Clone, Default)]
pub(crate) struct Database(pub(crate) Arc<Mutex<Tables>>);

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) stock: BTreeMap<Bytes, u64>,
    pub(crate) loads: BTreeMap<Bytes, u32>,
    pub(crate) down: bool,
    /// Told of every load.
    pub(crate) probe: Option<Probe>,
}

impl Database {
    pub(crate) fn of(rows: &[&[u8]]) -> Self {
        let database = Self::default();
        rows.iter().for_each(|row| database.put(row, 1));
        database
    }

    pub(crate) fn put(&self, row: &[u8], stock: u64) {
        self.0.lock().stock.insert(row.into(), stock);
    }

    pub(crate) fn remove(&self, row: &[u8]) {
        self.0.lock().stock.remove(row);
    }

    pub(crate) fn loads(&self, row: &[u8]) -> u32 {
        self.0.lock().loads.get(row).copied().unwrap_or(0)
    }
}

impl RowSource for Database {
    async fn load(&self, row: &[u8]) -> Result<Option<Columns>> {
        let (found, probe) = {
            let mut tables = self.0.lock();
            *tables.loads.entry(row.into()).or_default() += 1;
            if tables.down {
                return Err(Error::new(ErrorKind::Callback, "the database is down"));
            }
            let columns = |stock: &u64| [("stock".to_owned(), (*stock).into())];
            let found = tables.stock.get(row).map(|stock| columns(stock).into_iter().collect());
            (found, tables.probe.clone())
        };
        // What happens now happens between the database's answer and its arrival.
        if let Some(probe) = probe {
            probe.tick();
        }
        Ok(found)
    }
}

/// Does something before the step with a certain number, and counts the steps.
#[derive(Clone)]
pub(crate) struct Probe {
    pub(crate) steps: Arc<AtomicU32>,
    at: u32,
    act: Arc<dyn Fn() + Send + Sync>,
}

impl Probe {
    pub(crate) fn new(at: u32, act: impl Fn() + Send + Sync + 'static) -> Self {
        Self { steps: Arc::default(), at, act: Arc::new(act) }
    }

    fn tick(&self) {
        if self.steps.fetch_add(1, Ordering::SeqCst) == self.at {
            (self.act)();
        }
    }

    /// A backend whose steps are counted, and a database whose loads are steps too.
    pub(crate) fn between<B: Backend>(
        &self,
        backend: &B,
        database: &Database,
    ) -> (Rows<B>, Database) {
        let probe = self.clone();
        let hook = move |_: &Step| {
            probe.tick();
            Fate::Pass
        };
        let rows = RowCache::new(Interposed::new(backend.clone(), hook), Keys::new());
        let watched = Database::default();
        let tables = database.0.lock();
        *watched.0.lock() =
            Tables { stock: tables.stock.clone(), probe: Some(self.clone()), ..Tables::default() };
        (rows, watched)
    }
}

pub(crate) type Rows<B> = RowCache<Interposed<B>>;

/// Steps of a refresh: the range; session, look and commit of the claim; the load; session, look
/// and commit of the copy.
pub(crate) const STEPS: u32 = 8;

pub(crate) fn cache<B: Backend>(backend: &B) -> RowCache<B> {
    RowCache::new(backend.clone(), Keys::new())
}

pub(crate) fn stock(n: u64) -> Option<Bytes> {
    Some(format!(r#"{{"stock":{n}}}"#).into())
}

/// Refreshes all that is due; says when the next row is.
pub(crate) fn drain<B: Backend>(
    rows: &RowCache<B>,
    source: &Database,
) -> Option<stockroom::Timestamp> {
    for _ in 0..10_000 {
        if let RowStep::Idle(next) = rows.refresh_step(source).wait().unwrap() {
            return next;
        }
    }
    panic!("there is always something due");
}

pub(crate) fn outcome(step: RowStep) -> RowOutcome {
    match step {
        RowStep::Row { outcome, .. } => outcome,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn all_keys<B: Backend>(backend: &B) -> Vec<Bytes> {
    let mut keys = backend.run(cmd::scan(0, 100_000)).wait().unwrap().1;
    keys.sort();
    keys
}
