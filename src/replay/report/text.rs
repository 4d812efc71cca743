//! The report as text: one line per fact, then a table per list.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

use super::{Distinct, Report, date_time, decimal, duration, grouped, percent, printable};
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
        if self.kinds.transactions > 0 {
            let (c, rate) = (self.conversion, percent(self.conversion.rate()));
            let (looked, bought) = (grouped(c.looked), grouped(c.bought));
            facts.add("conversion", format!("{rate}: {bought} of {looked} who looked bought"));
        }
        if let Some(m) = self.maintenance {
            let (dropped, rescales) = (grouped(m.sessions_dropped), grouped(m.rescales));
            let samples = grouped(m.samples_dropped);
            let done = format!("{dropped} sessions and {samples} counter samples dropped");
            facts.add("maintenance", format!("{done}, popularity halved {rescales} times"));
        }
        facts.add("commands", self.calls());
        facts.add("elapsed", self.speed());
        facts.add_trouble(&self.trace);
        write!(f, "{}\n{facts}", self.backend)?;
        for table in [self.viewed(), self.slices(), self.messages()].into_iter().flatten() {
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
            (k.views, "views"),
            (k.add_to_cart, "into the cart"),
            (k.transactions, "bought"),
            (k.hits, "hits"),
        ];
        let named: Vec<String> = kinds
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, name)| format!("{} {name}", grouped(*n)))
            .collect();
        let total = grouped(self.trace.events);
        if named.is_empty() { total } else { format!("{total}: {}", named.join(", ")) }
    }

    fn pages(&self) -> String {
        let p = self.pages;
        let failed = match p.failed {
            0 => String::new(),
            n => format!(", {} failed", grouped(n)),
        };
        format!(
            "{} from the cache, {} rendered and cached, {} not cacheable{failed}; hit rate {}",
            grouped(p.hits),
            grouped(p.misses),
            grouped(p.uncacheable),
            percent(p.hit_rate())
        )
    }

    fn calls(&self) -> String {
        format!("{} in {} round trips", grouped(self.commands), grouped(self.round_trips))
    }

    fn speed(&self) -> String {
        let rate = grouped(self.events_per_second().round() as u64);
        format!("{}, {rate} events a second", duration(self.elapsed))
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
            let (late, by) = (grouped(t.late), duration(t.latest_by));
            self.add(
                "late",
                format!("{late} events, by up to {by}, count at the latest time seen"),
            );
        }
        if t.malformed > 0 {
            let (bad, lines) = (grouped(t.malformed), grouped(t.lines));
            self.add("malformed", format!("{bad} of {lines} lines"));
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
