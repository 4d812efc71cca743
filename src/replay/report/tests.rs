//! Tests of the report: names in JSON, numbers in text.

use super::*;
use crate::replay::trace::Trace;

fn report() -> Report {
    let csv =
        "timestamp,visitorid,event,itemid,transactionid\n5000,a,view,i,\n1000,a,view,i,\nbad\n";
    let mut trace = Trace::from_bytes("day.csv", csv.as_bytes().to_vec());
    assert_eq!(trace.by_ref().filter_map(Result::ok).count(), 2);
    Report {
        backend: "memory".into(),
        trace: trace.tally().clone(),
        kinds: Kinds { views: 2, transactions: 1, ..Kinds::default() },
        visitors: Distinct { count: 1_000, or_more: false },
        items: Distinct { count: 7, or_more: true },
        sessions: 1,
        pages: Pages { hits: 1, misses: 2, uncacheable: 0, failed: 3 },
        most_viewed: vec![Viewed {
            item: Bytes::from(&b"i\xff"[..]),
            views: 2.0,
            conversion: Conversion { looked: 8, bought: 1 },
        }],
        conversion: Conversion { looked: 4, bought: 1 },
        busiest: vec![Slice {
            counter: "views",
            precision_s: 3600,
            start: Timestamp::EPOCH,
            count: 2,
        }],
        common_log: vec![Logged {
            severity: "error".into(),
            hour: Timestamp::EPOCH,
            message: "500 /".into(),
            count: 3,
        }],
        rows: Some(Rows { hits: 1_500, loads: 500, held: 7 }),
        statistics: vec![Measured {
            context: "answer",
            kind: "bytes",
            summary: Summary {
                hour: Timestamp::EPOCH,
                count: 2,
                sum: 12.0,
                sum_of_squares: 80.0,
                min: 4.0,
                max: 8.0,
            },
        }],
        carts: Some(Carts {
            visitors: 3,
            last_visitor: "ada".into(),
            last_items: vec!["cup".into(), Bytes::from(&b"\xfe"[..])],
        }),
        sale: Some(Sale {
            units: 2,
            items: Distinct { count: 40, or_more: false },
            sold: 57,
            sold_out: 26,
            repeated: 1,
        }),
        maintenance: Some(Upkeep { rescales: 288, rows_refreshed: 9, ..Upkeep::default() }),
        commands: 20,
        round_trips: 6,
        elapsed: Duration::from_millis(4),
        ..Report::default()
    }
}

#[test]
fn json_has_its_documented_fields() {
    let json = report().to_json();
    assert_eq!(json["events"]["total"], 2);
    assert_eq!(json["trace"]["malformed"], 1);
    assert_eq!(json["trace"]["first_malformed"][0]["line"], 4);
    assert_eq!((&json["trace"]["late"], &json["trace"]["latest_by_ms"]), (&1.into(), &4000.into()));
    assert_eq!(json["page_cache"]["hit_rate"], 1.0 / 3.0);
    assert_eq!(json["most_viewed"][0]["item"], "i\\xff");
    assert_eq!(json["most_viewed"][0]["conversion"]["rate"], 0.125);
    assert_eq!(json["busiest"][0]["precision_s"], 3600);
    assert_eq!(json["common_log"][0]["message"], "500 /");
    assert_eq!((&json["row_cache"]["loads"], &json["row_cache"]["rows"]), (&500.into(), &7.into()));
    assert_eq!(json["row_cache"]["hit_rate"], 0.75);
    let measured = &json["statistics"][0];
    assert_eq!((&measured["kind"], &measured["mean"]), (&"bytes".into(), &6.0.into()));
    assert_eq!(measured["standard_deviation"], 8.0_f64.sqrt());
    assert_eq!(json["recent_carts"]["last_items"][1], "\\xfe");
    assert_eq!(json["flash_sale"]["units_per_item"], 2);
    let sale = &json["flash_sale"];
    assert_eq!((&sale["sold"], &sale["sold_out"]), (&57.into(), &26.into()));
    assert_eq!((&sale["repeated"], &sale["items"]), (&1.into(), &40.into()));
    assert_eq!(json["maintenance"]["rescales"], 288);
    assert_eq!(json["maintenance"]["rows_refreshed"], 9);
    assert_eq!(json["events_per_second"], 500.0);
    assert_eq!(Report::default().to_json()["page_cache"]["hit_rate"], serde_json::Value::Null);
}

#[test]
fn text_names_every_number() {
    let text = report().to_string();
    for part in [
        "memory\n",
        "events       2: 2 views, 1 bought\n",
        "from         1970-01-01 00:00:05 to 1970-01-01 00:00:05 UTC",
        "visitors     1,000\n",
        "items        more than 7\n",
        "0 not cacheable; hit rate 33.3 %",
        "failed       3 answered with an error in the log\n",
        "25.0 %: 1 of 4 who looked bought",
        "popularity halved 288 times",
        "1,500 from the cache, 500 loaded, 7 held; hit rate 75.0 %",
        "of 3 visitors; the last, ada: cup, \\xfe",
        "9 item rows loaded again, 0 dropped",
        "57 units sold of 2 of each of 40 items",
        "26 sold out, 1 repeated order\n",
        "answer bytes",
        "2.828",
        "20 in 6 round trips",
        "4.00 ms, 500 events a second",
        "1 event, by up to 4.00 s",
        "1 of 4 lines",
        "i\\xff",
        "12.5 %",
        "500 /",
        "day.csv:4: fewer than 5 columns: bad",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 120), "{text}");
}

#[test]
fn an_empty_report_prints_without_tables() {
    let text = Report::default().to_string();
    assert!(text.contains("events       0\n") && !text.contains("most viewed"), "{text}");
}

#[test]
fn one_of_a_kind_is_named_in_the_singular() {
    let kinds = Kinds { views: 1, hits: 1, ..Kinds::default() };
    let maintenance = Some(Upkeep {
        sessions_dropped: 1,
        rescales: 1,
        samples_dropped: 1,
        counter_passes: 1,
        ..Upkeep::default()
    });
    let report = Report { kinds, maintenance, commands: 1, round_trips: 1, ..Report::default() };
    let text = report.to_string();
    for part in [
        "0: 1 view, 1 hit\n",
        "1 session and 1 counter sample dropped, popularity halved 1 time\n",
        "1 in 1 round trip\n",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}
