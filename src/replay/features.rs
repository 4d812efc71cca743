//! The features of the shop that a replay uses, on one backend, and what they have to report.

use super::driver::{LOG, Options};
use super::report::{Conversion, LISTED, Logged, Report, Slice, Viewed};
use crate::backend::Backend;
use crate::shop::{
    Cart, CommonLog, Counters, Keys, PageCache, Popularity, Purchases, Sessions, Severity,
};
use crate::{Result, Timestamp};

/// The slices of which the report shows the busiest.
const SHOWN_PRECISIONS: [u32; 3] = [60, 3_600, 86_400];

/// A shop.
pub(super) struct Features<B> {
    pub(super) sessions: Sessions<B>,
    pub(super) cart: Cart<B>,
    pub(super) pages: PageCache<B>,
    pub(super) popularity: Popularity<B>,
    pub(super) purchases: Purchases<B>,
    pub(super) common: CommonLog<B>,
    pub(super) counters: Counters<B>,
}

impl<B: Backend> Features<B> {
    pub(super) fn new(backend: &B, keys: &Keys, options: &Options) -> Self {
        let (on, under) = (|| backend.clone(), || keys.clone());
        Self {
            sessions: Sessions::new(on(), under()).with_limit(options.sessions_limit),
            cart: Cart::new(on(), under()),
            pages: PageCache::new(on(), under()),
            popularity: Popularity::new(on(), under()),
            purchases: Purchases::new(on(), under()),
            common: CommonLog::new(on(), under()),
            counters: Counters::new(on(), under()),
        }
    }

    /// Adds to a report what only the shop knows.
    pub(super) async fn ask(&self, report: &mut Report) -> Result<()> {
        report.sessions = self.sessions.count().await?;
        for (item, views) in self.popularity.top(LISTED as u64).await? {
            let asked = self.purchases.conversion(&item).await?;
            let conversion = Conversion { looked: asked.lookers, bought: asked.buyers };
            report.most_viewed.push(Viewed { item, views, conversion });
        }
        for (counter, used) in [("views", report.kinds.views), ("hits", report.kinds.hits)] {
            if used > 0 {
                report.busiest.extend(self.busiest(counter).await?);
            }
        }
        for severity in [Severity::ERROR, Severity::WARNING] {
            report.common_log.extend(self.logged(&severity).await?);
        }
        Ok(())
    }

    /// The fullest slice of each length, the earliest of equal ones.
    async fn busiest(&self, counter: &'static str) -> Result<Vec<Slice>> {
        let mut busiest = Vec::new();
        for precision in SHOWN_PRECISIONS {
            let series = self.counters.series(counter.as_bytes(), precision).await?;
            let best = series.into_iter().rev().max_by_key(|(_, count)| *count);
            busiest.extend(best.map(|(start, count)| Slice {
                counter,
                precision_s: u64::from(precision),
                start,
                count,
            }));
        }
        Ok(busiest)
    }

    /// The most frequent messages of the last hour in which there were any.
    async fn logged(&self, severity: &Severity) -> Result<Vec<Logged>> {
        let top = self.common.top(LOG, severity, LISTED).await?;
        let hour = top.start.unwrap_or(Timestamp::EPOCH);
        let severity = severity.as_str().to_owned();
        let logged = |(message, count)| Logged { severity: severity.clone(), hour, message, count };
        Ok(top.messages.into_iter().map(logged).collect())
    }
}
