//! A made-up day of a shop, as an events CSV: what `examples/day.csv` is made of.
//!
//! Visitors arrive with the rhythm of a day, look at a few items, of which some are far more
//! popular than others (the item of rank r is picked in proportion to 1/(r + 3)), come back to
//! what they saw, put some into the cart, and some buy what is in it. All of it follows from the
//! seed, in integers only, so the same [`Day`] is the same file on every machine and in every
//! version.

use std::io;

use super::trace::HEADER;
use crate::{Env, Timestamp};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// How many visitors arrive in each hour, relative to the other hours.
const RHYTHM: [u64; 24] =
    [6, 4, 2, 1, 1, 2, 5, 10, 16, 20, 22, 25, 28, 24, 20, 20, 22, 26, 32, 40, 46, 42, 28, 14];

/// The recipe of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Decides everything that is random.
    pub seed: u64,
    /// How many visitors come.
    pub visitors: u32,
    /// How many items the shop has; at least 1.
    pub items: u32,
    /// When the day begins.
    pub start: Timestamp,
}

impl Default for Day {
    /// The day of `examples/day.csv`: 29 November 2024, in UTC.
    fn default() -> Self {
        Self { seed: 7, visitors: 400, items: 150, start: Timestamp::from_secs(1_732_838_400) }
    }
}

/// One row, ordered by time and then by the order in which it was made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    ms: u64,
    order: usize,
    visitor: u32,
    event: &'static str,
    item: u32,
    transaction: Option<u32>,
}

impl Day {
    /// Writes the day, header first, sorted by time. Takes O(events) memory.
    pub fn write(&self, out: impl io::Write) -> io::Result<()> {
        let mut day = Making::new(*self);
        for visitor in 0..self.visitors {
            day.visit(visitor);
        }
        let mut rows = day.rows;
        rows.sort_unstable();
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(HEADER.split(',')).map_err(plain)?;
        let start = self.start.as_millis();
        for row in &rows {
            csv.write_record([
                start.saturating_add(row.ms as i64).to_string(),
                // Ids that are not simply counted up, as in a real shop.
                scatter(row.visitor, 1_000_003).to_string(),
                row.event.to_owned(),
                scatter(row.item, 99_991).to_string(),
                row.transaction.map(|t| t.to_string()).unwrap_or_default(),
            ])
            .map_err(plain)?;
        }
        csv.flush()
    }
}

/// The error of the writer itself, so that its kind can be seen.
fn plain(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Maps the numbers below the prime `modulus` one to one onto themselves; larger ones are kept.
fn scatter(n: u32, modulus: u32) -> u32 {
    let mixed = (u64::from(n) * 7_919 + 4_242) % u64::from(modulus);
    if n < modulus { mixed as u32 } else { n }
}

/// A day in the making.
struct Making {
    env: Env,
    /// For each rank, the sum of the weights up to it.
    popularity: Vec<u64>,
    rows: Vec<Row>,
    transactions: u32,
}

impl Making {
    fn new(day: Day) -> Self {
        let weight = |rank: u32| 1_000_000_000 / (u64::from(rank) + 3);
        let popularity = (0..day.items.max(1))
            .scan(0, |sum, rank| {
                *sum += weight(rank);
                Some(*sum)
            })
            .collect();
        let env = Env::manual(day.start, day.seed);
        Self { env, popularity, rows: Vec::new(), transactions: 0 }
    }

    /// Whether something that happens in `percent` of the cases does.
    fn chance(&self, percent: u64) -> bool {
        self.env.below(100) < percent
    }

    /// One visitor's day: one stay, or a second one some hours later.
    fn visit(&mut self, visitor: u32) {
        let mut cart = Vec::new();
        let leaves = self.stay(visitor, self.arrival(), &mut cart);
        if self.chance(12) {
            self.stay(visitor, leaves + HOUR_MS + self.env.below(5 * HOUR_MS), &mut cart);
        }
    }

    fn arrival(&self) -> u64 {
        let mut pick = self.env.below(RHYTHM.iter().sum());
        let hour = RHYTHM.iter().position(|&weight| {
            let here = pick < weight;
            pick = pick.saturating_sub(weight);
            here
        });
        hour.unwrap_or(0) as u64 * HOUR_MS + self.env.below(HOUR_MS)
    }

    fn item(&self) -> u32 {
        let pick = self.env.below(self.popularity.last().copied().unwrap_or(1));
        self.popularity.partition_point(|&sum| sum <= pick) as u32
    }

    /// Views until the visitor has seen enough, then perhaps buys; returns the time at the end.
    fn stay(&mut self, visitor: u32, mut ms: u64, cart: &mut Vec<u32>) -> u64 {
        let mut seen = Vec::new();
        loop {
            let again = !seen.is_empty() && self.chance(20);
            let item =
                if again { seen[self.env.below(seen.len() as u64) as usize] } else { self.item() };
            seen.push(item);
            self.row(ms, visitor, "view", item, None);
            ms += 4_000 + self.env.below(90_000);
            if self.chance(9) {
                cart.push(item);
                self.row(ms, visitor, "addtocart", item, None);
                ms += 2_000 + self.env.below(30_000);
            }
            if self.chance(24) {
                break;
            }
        }
        if !cart.is_empty() && self.chance(45) {
            self.transactions += 1;
            ms += MINUTE_MS + self.env.below(3 * MINUTE_MS);
            let transaction = self.transactions;
            for item in cart.drain(..) {
                self.row(ms, visitor, "transaction", item, Some(transaction));
            }
        }
        ms
    }

    fn row(
        &mut self,
        ms: u64,
        visitor: u32,
        event: &'static str,
        item: u32,
        transaction: Option<u32>,
    ) {
        let order = self.rows.len();
        self.rows.push(Row { ms, order, visitor, event, item, transaction });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::trace::{Action, Event, Trace};

    fn written(day: Day) -> Vec<u8> {
        let mut out = Vec::new();
        day.write(&mut out).unwrap();
        out
    }

    #[test]
    fn the_example_is_what_the_generator_writes() {
        let committed = include_bytes!("../../examples/day.csv");
        assert!(written(Day::default()) == committed, "generate examples/day.csv anew");
    }

    #[test]
    fn the_seed_decides_the_day() {
        let other = Day { seed: 8, ..Day::default() };
        assert_ne!(written(other), written(Day::default()));
        assert_eq!(written(other), written(other));
    }

    #[test]
    fn a_day_is_a_clean_sorted_trace_with_every_kind_of_event() {
        let mut trace = Trace::from_bytes("day", written(Day::default())).strict(true);
        let mut kinds = [0; 3];
        for event in &mut trace {
            let Ok(Event::Shop(event)) = event else { panic!("{event:?}") };
            kinds[match event.action {
                Action::View => 0,
                Action::AddToCart => 1,
                Action::Purchase { transaction } => {
                    assert!(!transaction.is_empty());
                    2
                }
            }] += 1;
        }
        let [views, carts, purchases] = kinds;
        assert!(views > 5 * carts && carts > purchases && purchases > 20, "{kinds:?}");
        assert_eq!(trace.tally().late, 0);
    }

    #[test]
    fn a_shop_without_visitors_or_with_one_item_has_a_day_too() {
        let empty = written(Day { visitors: 0, items: 0, ..Day::default() });
        assert_eq!(empty, format!("{HEADER}\n").into_bytes());
        assert!(!written(Day { visitors: 3, items: 0, ..Day::default() }).is_empty());
    }

    #[test]
    fn scattered_ids_stay_distinct() {
        let mut ids: Vec<u32> = (0..200_000).map(|n| scatter(n, 99_991)).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|w| w[0] != w[1]));
    }
}
