//! The report as JSON. Times are milliseconds since 1970, durations carry their unit in their name,
//! shares run from 0 to 1 and are `null` when there is nothing to take a share of. Items and
//! messages are text, with `\xHH` for bytes that are not UTF-8.

use serde_json::{Value, json};

use super::{Conversion, Logged, Measured, Report, Slice, Viewed, printable};
use crate::replay::trace::{Malformed, Tally};
use crate::{Bytes, Timestamp};

impl Report {
    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "backend": self.backend,
            "trace": trace(&self.trace),
            "events": {
                "total": self.trace.events,
                "view": self.kinds.views,
                "addtocart": self.kinds.add_to_cart,
                "transaction": self.kinds.transactions,
                "hit": self.kinds.hits,
            },
            "bytes_served": self.bytes_served,
            "visitors": self.visitors.count,
            "visitors_or_more": self.visitors.or_more,
            "items": self.items.count,
            "items_or_more": self.items.or_more,
            "sessions": self.sessions,
            "page_cache": {
                "hits": self.pages.hits,
                "misses": self.pages.misses,
                "uncacheable": self.pages.uncacheable,
                "failed": self.pages.failed,
                "hit_rate": self.pages.hit_rate(),
            },
            "most_viewed": self.most_viewed.iter().map(viewed).collect::<Vec<_>>(),
            "conversion": conversion(self.conversion),
            "busiest": self.busiest.iter().map(slice).collect::<Vec<_>>(),
            "common_log": self.common_log.iter().map(logged).collect::<Vec<_>>(),
            "row_cache": self.rows.map(|r| json!({
                "hits": r.hits,
                "loads": r.loads,
                "hit_rate": r.hit_rate(),
                "rows": r.held,
            })),
            "statistics": self.statistics.iter().map(measured).collect::<Vec<_>>(),
            "recent_carts": self.carts.as_ref().map(|c| json!({
                "visitors": c.visitors,
                "last_visitor": text(&c.last_visitor),
                "last_items": c.last_items.iter().map(text).collect::<Vec<_>>(),
            })),
            "flash_sale": self.sale.map(|s| json!({
                "units_per_item": s.units,
                "items": s.items.count,
                "items_or_more": s.items.or_more,
                "sold": s.sold,
                "sold_out": s.sold_out,
                "repeated": s.repeated,
            })),
            "maintenance": self.maintenance.map(|m| json!({
                "sessions_dropped": m.sessions_dropped,
                "rescales": m.rescales,
                "counter_passes": m.counter_passes,
                "samples_dropped": m.samples_dropped,
                "rows_refreshed": m.rows_refreshed,
                "rows_dropped": m.rows_dropped,
            })),
            "commands": self.commands,
            "round_trips": self.round_trips,
            "elapsed_ms": self.elapsed.as_secs_f64() * 1e3,
            "events_per_second": self.events_per_second(),
        })
    }
}

fn text(bytes: &Bytes) -> String {
    match std::str::from_utf8(bytes) {
        Ok(s) => s.to_owned(),
        Err(_) => printable(bytes, usize::MAX),
    }
}

fn trace(t: &Tally) -> Value {
    json!({
        "lines": t.lines,
        "malformed": t.malformed,
        "skipped": t.skipped,
        "first_malformed": t.first_malformed.iter().map(malformed).collect::<Vec<_>>(),
        "without_events": t.without_events.iter().map(|file| &**file).collect::<Vec<_>>(),
        "late": t.late,
        "latest_by_ms": t.latest_by.as_millis() as u64,
        "start_ms": t.start.map(Timestamp::as_millis),
        "end_ms": t.end.map(Timestamp::as_millis),
    })
}

fn malformed(m: &Malformed) -> Value {
    json!({ "file": &*m.file, "line": m.line, "reason": m.reason, "excerpt": m.excerpt })
}

fn viewed(v: &Viewed) -> Value {
    json!({ "item": text(&v.item), "views": v.views, "conversion": conversion(v.conversion) })
}

fn conversion(c: Conversion) -> Value {
    json!({ "looked": c.looked, "bought": c.bought, "rate": c.rate() })
}

fn slice(s: &Slice) -> Value {
    json!({
        "counter": s.counter,
        "precision_s": s.precision_s,
        "start_ms": s.start.as_millis(),
        "count": s.count,
    })
}

fn measured(m: &Measured) -> Value {
    let s = &m.summary;
    json!({
        "context": m.context,
        "kind": m.kind,
        "hour_ms": s.hour.as_millis(),
        "count": s.count,
        "mean": s.mean(),
        "standard_deviation": s.standard_deviation(),
        "min": s.min,
        "max": s.max,
    })
}

fn logged(l: &Logged) -> Value {
    json!({
        "severity": l.severity,
        "hour_ms": l.hour.as_millis(),
        "message": text(&l.message),
        "count": l.count,
    })
}
