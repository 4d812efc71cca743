//! The report as text: one line per fact, then a table per list.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

use super::{Distinct, Report, count, date_time, decimal, duration, grouped, percent, printable};
use crate::replay::trace::Tally;

/// The widest item or message that is shown.
const WIDEST: usize = 50;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = Facts(Vec::new());
        facts.add("events", self.events());
        if let (Some(start), Some(end)) = (self.trace.start, self.trace.end) {
            facts.add("from", format!("{} to {} UTC", date_time(start), date_time(end)));
        }
        facts.add("visitors", self.visitors.to_string());
        facts.add("items", self.items.to_string());
        facts.add("sessions", format!("{} held", grouped(self.sessions)));
        facts.add("pages", self.pages());
        if self.pages.failed > 0 {
            let failed = grouped(self.pages.failed);
            facts.add("failed", format!("{failed} answered with an error in the log"));
        }
        if let Some(rows) = self.rows {
            let (hits, loads) = (grouped(rows.hits), grouped(rows.loads));
            let (held, rate) = (grouped(rows.held), percent(rows.hit_rate()));
            let read = format!("{hits} from the cache, {loads} loaded, {held} held");
            facts.add("item rows", format!("{read}; hit rate {rate}"));
        }
        if self.kinds.transactions > 0 {
            let (c, rate) = (self.conversion, percent(self.conversion.rate()));
            let (looked, bought) = (grouped(c.looked), grouped(c.bought));
            facts.add("conversion", format!("{rate}: {bought} of {looked} who looked bought"));
        }
        if let Some(carts) = &self.carts {
            let items: Vec<String> =
                carts.last_items.iter().take(5).map(|item| printable(item, 12)).collect();
            let (visitors, last) = (grouped(carts.visitors), printable(&carts.last_visitor, 20));
            let items = items.join(", ");
            facts.add("carts", format!("of {visitors} visitors; the last, {last}: {items}"));
        }
        if let Some(s) = self.sale {
            let (sold, units) = (count(s.sold, "unit"), grouped(s.units));
            facts.add("flash sale", format!("{sold} sold of {units} of each of {} items", s.items));
            let (out, again) = (grouped(s.sold_out), count(s.repeated, "repeated order"));
            facts.add("", format!("{out} sold out, {again}"));
        }
        if let Some(m) = self.maintenance {
            let (sessions, times) =
                (count(m.sessions_dropped, "session"), count(m.rescales, "time"));
            let samples = count(m.samples_dropped, "counter sample");
            let done = format!("{sessions} and {samples} dropped, popularity halved {times}");
            facts.add("maintenance", done);
            if self.rows.is_some() {
                let refreshed = count(m.rows_refreshed, "item row");
                let dropped = grouped(m.rows_dropped);
                facts.add("", format!("{refreshed} loaded again, {dropped} dropped"));
            }
        }
        facts.add("commands", self.calls());
        facts.add("elapsed", self.speed());
        facts.add_trouble(&self.trace);
        write!(f, "{}\n{facts}", self.backend)?;
        let tables = [self.viewed(), self.slices(), self.measured(), self.messages()];
        for table in tables.into_iter().flatten() {
            write!(f, "\n{table}\n")?;
        }
        self.malformed(f)
    }
}

impl fmt::Display for Distinct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.or_more { "more than " } else { "" };
        write!(f, "{more}{}", grouped(self.count))
    }
}

impl Report {
    fn events(&self) -> String {
        let k = self.kinds;
        let kinds = [
            (k.views, count(k.views, "view")),
            (k.add_to_cart, format!("{} into the cart", grouped(k.add_to_cart))),
            (k.transactions, format!("{} bought", grouped(k.transactions))),
            (k.hits, count(k.hits, "hit")),
        ];
        let named: Vec<String> =
            kinds.into_iter().filter(|(n, _)| *n > 0).map(|(_, named)| named).collect();
        let total = grouped(self.trace.events);
        if named.is_empty() { total } else { format!("{total}: {}", named.join(", ")) }
    }

    fn pages(&self) -> String {
        let p = self.pages;
        format!(
            "{} from the cache, {} rendered and cached, {} not cacheable; hit rate {}",
            grouped(p.hits),
            grouped(p.misses),
            grouped(p.uncacheable),
            percent(p.hit_rate())
        )
    }

    fn calls(&self) -> String {
        format!("{} in {}", grouped(self.commands), count(self.round_trips, "round trip"))
    }

    fn speed(&self) -> String {
        let rate = count(self.events_per_second().round() as u64, "event");
        format!("{}, {rate} a second", duration(self.elapsed))
    }

    fn viewed(&self) -> Option<Table> {
        let bought = self.kinds.transactions > 0;
        let views = if self.maintenance.is_some() { "views, halved every 5 min" } else { "views" };
        let header = ["most viewed", views, "bought by"];
        let mut table = if bought { table(&header, &[1, 2]) } else { table(&header[..2], &[1]) };
        for v in &self.most_viewed {
            let row = [printable(&v.item, WIDEST), decimal(v.views)];
            let share = bought.then(|| percent(v.conversion.rate()));
            table.add_row(row.into_iter().chain(share));
        }
        (!self.most_viewed.is_empty()).then_some(table)
    }

    fn slices(&self) -> Option<Table> {
        let mut table = table(&["busiest", "counter", "from (UTC)", "count"], &[3]);
        for s in &self.busiest {
            let name = span(s.precision_s);
            let count = grouped(s.count.unsigned_abs());
            table.add_row([name, s.counter.to_owned(), date_time(s.start), count]);
        }
        (!self.busiest.is_empty()).then_some(table)
    }

    fn measured(&self) -> Option<Table> {
        let header = ["measured", "hour (UTC)", "values", "mean", "deviation", "least", "most"];
        let mut table = table(&header, &[2, 3, 4, 5, 6]);
        for m in &self.statistics {
            let s = &m.summary;
            let deviation = s.standard_deviation().map_or_else(|| "-".to_owned(), decimal);
            let name = format!("{} {}", m.context, m.kind);
            let numbers = [decimal(s.mean()), deviation, decimal(s.min), decimal(s.max)];
            let row = [name, date_time(s.hour), grouped(s.count)];
            table.add_row(row.into_iter().chain(numbers));
        }
        (!self.statistics.is_empty()).then_some(table)
    }

    fn messages(&self) -> Option<Table> {
        let mut table = table(&["common log", "hour (UTC)", "message", "count"], &[3]);
        for l in &self.common_log {
            let message = printable(&l.message, WIDEST);
            table.add_row([l.severity.clone(), date_time(l.hour), message, grouped(l.count)]);
        }
        (!self.common_log.is_empty()).then_some(table)
    }

    fn malformed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.trace.first_malformed;
        if shown.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nmalformed lines")?;
        for m in shown {
            writeln!(f, "  {m}")?;
        }
        match self.trace.malformed - shown.len() as u64 {
            0 => Ok(()),
            more => writeln!(f, "  and {} more", grouped(more)),
        }
    }
}

/// A slice's length in words.
fn span(seconds: u64) -> String {
    match seconds {
        60 => "minute".to_owned(),
        3_600 => "hour".to_owned(),
        86_400 => "day".to_owned(),
        s if s % 3_600 == 0 => format!("{} hours", s / 3_600),
        s if s % 60 == 0 => format!("{} minutes", s / 60),
        s => format!("{s} s"),
    }
}

fn table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    for &column in numbers {
        if let Some(c) = table.column_mut(column) {
            c.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Lines of a name and a fact, the facts below each other.
struct Facts(Vec<(&'static str, String)>);

impl Facts {
    fn add(&mut self, name: &'static str, fact: String) {
        self.0.push((name, fact));
    }

    /// What was not as it should be in the trace.
    fn add_trouble(&mut self, t: &Tally) {
        if t.late > 0 {
            let (late, by) = (count(t.late, "event"), duration(t.latest_by));
            self.add("late", format!("{late}, by up to {by}, counted at the latest time seen"));
        }
        if t.malformed > 0 {
            let (bad, lines) = (grouped(t.malformed), count(t.lines, "line"));
            self.add("malformed", format!("{bad} of {lines}"));
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, fact) in &self.0 {
            writeln!(f, "  {name:<12} {fact}")?;
        }
        Ok(())
    }
}
