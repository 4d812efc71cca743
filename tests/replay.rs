//! `stockroom replay` as its users see it: formats, bad input, exit codes, the report's numbers,
//! and the comparison with a real Redis.

#![cfg(feature = "cli")]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use stockroom::Timestamp;

const HEADER: &str = "timestamp,visitorid,event,itemid,transactionid\n";

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockroom"));
    command.arg("replay").args(args).stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn report(args: &[&str]) -> Value {
    let out = run(&[args, &["--json"]].concat());
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("the report is JSON")
}

/// Exit code and message of a run that fails.
fn failure(args: &[&str]) -> (Option<i32>, String) {
    let out = run(args);
    assert!(out.stdout.is_empty(), "no half a report: {}", text(&out.stdout));
    (out.status.code(), text(&out.stderr))
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, content).expect("it can be written");
        path.display().to_string()
    }
}

fn day() -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    top.join("examples/day.csv").display().to_string()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn log_line(host: &str, second: u32, url: &str, status: u16) -> String {
    let time = format!("[17/May/2015:10:{:02}:{:02} +0000]", second / 60, second % 60);
    format!("{host} - - {time} \"GET {url} HTTP/1.1\" {status} 100 \"-\" \"UA\"\n")
}

#[test]
fn the_example_is_reported_with_all_its_numbers() {
    let json = report(&[&day(), "--no-maintenance"]);
    let events = &json["events"];
    assert_eq!((&events["total"], &events["view"]), (&2213.into(), &1960.into()));
    assert_eq!((&events["addtocart"], &events["transaction"]), (&170.into(), &83.into()));
    assert_eq!((&json["visitors"], &json["sessions"]), (&400.into(), &400.into()));
    assert_eq!((&json["items"], &json["trace"]["malformed"]), (&143.into(), &0.into()));
    let views = |i: usize| json["most_viewed"][i]["views"].as_f64().expect("a number");
    assert_eq!(json["most_viewed"][0]["item"], "4242");
    assert!((0..9).all(|i| views(i) >= views(i + 1)));
    let pages = ["hits", "misses", "uncacheable"].map(|k| json["page_cache"][k].as_u64().unwrap());
    assert_eq!(pages.iter().sum::<u64>(), 1960);
    assert_eq!((&json["conversion"]["looked"], &json["maintenance"]), (&400.into(), &Value::Null));
    let busiest = json["busiest"].as_array().unwrap().iter().find(|s| s["precision_s"] == 86_400);
    assert_eq!(busiest.expect("the busiest day")["count"], 1898);
    assert!(json["commands"].as_u64() > json["round_trips"].as_u64());
    assert!(report(&[&day()])["maintenance"]["rescales"].as_u64() > Some(300));
}

#[test]
fn the_readme_shows_what_the_example_prints() {
    let readme = include_str!("../README.md");
    let sample = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let printed = text(&run(&[&day()]).stdout);
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    for line in sample.expect("a sample").lines() {
        assert!(printed.contains(&line), "{line:?} is not in\n{}", printed.join("\n"));
    }
}

#[test]
fn rows_statistics_and_contacts_are_fed_and_reported_unless_left_out() {
    let json = report(&[&day(), "--no-maintenance"]);
    let rows = &json["row_cache"];
    // Nobody drops a row: each item's is loaded once.
    assert_eq!(
        (&rows["loads"], &rows["hits"], &rows["rows"]),
        (&143.into(), &1817.into(), &143.into())
    );
    assert_eq!(json["recent_carts"]["visitors"], 117);
    assert_eq!(json["recent_carts"]["last_items"][0], "91242");
    let pause = &json["statistics"][0];
    assert_eq!((&pause["context"], &pause["kind"]), (&"visitor".into(), &"pause_s".into()));
    let number = |name: &str| pause[name].as_f64().expect("a number");
    assert!(number("min") <= number("mean") && number("mean") <= number("max"));
    assert!(number("standard_deviation") > 0.0 && number("max") <= 1800.0);
    let core = report(&[&day(), "--no-maintenance", "--features", "core"]);
    assert_eq!((&core["row_cache"], &core["recent_carts"]), (&Value::Null, &Value::Null));
    assert_eq!(core["statistics"], Value::Array(Vec::new()));
    assert!(core["round_trips"].as_u64() < json["round_trips"].as_u64());
    for part in ["events", "visitors", "items", "page_cache", "most_viewed", "busiest"] {
        assert_eq!(core[part], json[part], "{part}");
    }
}

#[test]
fn the_row_daemon_loads_rows_again_and_drops_those_that_nobody_views() {
    let files = Files::new();
    let minute = |minute: u64, visitor: &str, item: &str| {
        format!("{},{visitor},view,{item},\n", 1_700_000_000_000 + minute * 60_000)
    };
    // `a` is viewed again before the hour is over, and after it; `b` is not.
    let rows =
        [minute(0, "v", "a"), minute(10, "v", "b"), minute(50, "v", "a"), minute(65, "w", "a")];
    let trace = files.write("t", format!("{HEADER}{}", rows.concat()));
    let json = report(&[&trace]);
    let (rows, done) = (&json["row_cache"], &json["maintenance"]);
    assert_eq!((&rows["loads"], &rows["hits"], &rows["rows"]), (&2.into(), &2.into(), &2.into()));
    assert_eq!((&done["rows_refreshed"], &done["rows_dropped"]), (&1.into(), &0.into()));
    // Two days later nobody has viewed either for long.
    let late = files.write("late", format!("{HEADER}{}", minute(3_000, "x", "c")));
    let json = report(&[&trace, &late]);
    let (rows, done) = (&json["row_cache"], &json["maintenance"]);
    assert_eq!((&rows["loads"], &rows["rows"]), (&3.into(), &1.into()));
    assert_eq!((&done["rows_refreshed"], &done["rows_dropped"]), (&2.into(), &2.into()));
}

#[test]
fn a_stock_guards_purchases_and_an_order_that_comes_again_counts_once() {
    let files = Files::new();
    let trace = files.write(
        "t",
        // 1 buys, sends it again after another order, and finds the rest too few; 2 takes it.
        format!(
            "{HEADER}0,c,view,cup,\n1,a,view,cup,\n2,a,addtocart,cup,\n3,a,transaction,cup,1\n\
             4,b,transaction,pot,2\n5,a,transaction,cup,1\n6,a,addtocart,cup,\n\
             7,a,transaction,cup,3\n7,a,transaction,cup,3\n8,b,transaction,cup,4\n\
             9,c,transaction,cup,5\n9,c,transaction,jug,5\n"
        ),
    );
    let guarded = report(&[&trace, "--stock", "2"]);
    let sale = &guarded["flash_sale"];
    assert_eq!((&sale["units_per_item"], &sale["items"]), (&2.into(), &3.into()));
    assert_eq!((&sale["sold"], &sale["sold_out"]), (&4.into(), &3.into()));
    assert_eq!(sale["repeated"], 1);
    let shown = text(&run(&[&trace, "--stock", "2"]).stdout);
    assert!(shown.contains("  flash sale   4 units sold of 2 of each of 3 items\n"), "{shown}");
    assert!(shown.contains("               3 sold out, 1 repeated order\n"), "{shown}");
    let free = report(&[&trace]);
    assert_eq!(free["flash_sale"], Value::Null);
    // Who finds it sold out has not bought it.
    let rate = |json: &Value| json["most_viewed"][0]["conversion"]["bought"].clone();
    assert_eq!((rate(&free), rate(&guarded)), (2.into(), 1.into()));
    let day = report(&[&day(), "--stock", "1", "--no-maintenance"]);
    let sale = &day["flash_sale"];
    // One of each is sold, since each row of the example is one unit.
    assert_eq!(sale["sold"], sale["items"]);
    let rows = sale["sold"].as_u64().zip(sale["sold_out"].as_u64()).map(|(s, o)| s + o);
    assert_eq!(rows, Some(83));
}

#[test]
fn gzip_plain_and_several_files_are_read() {
    let files = Files::new();
    let plain = files.write("a.txt", format!("{HEADER}1000,a,view,i,\n"));
    let packed = files.write("b", gzip(log_line("h", 0, "/x", 200).as_bytes()));
    let json = report(&[&plain, &packed]);
    assert_eq!((&json["events"]["view"], &json["events"]["hit"]), (&1.into(), &1.into()));
    assert_eq!(json["bytes_served"], 100);
}

#[test]
fn standard_input_is_a_file() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stockroom"))
        .args(["replay", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let input = format!("{HEADER}1000,a,view,i,\n");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    let json: Value = serde_json::from_slice(&out.stdout).expect("the report is JSON");
    assert_eq!(json["events"]["total"], 1);
}

#[test]
fn an_access_log_gives_items_errors_and_bytes() {
    let files = Files::new();
    let lines = [
        log_line("h1", 5, "/a?item=7", 200),
        log_line("h1", 3, "/a", 200),
        log_line("h2", 9, "/gone", 404),
        log_line("h2", 9, "/a", 503),
    ];
    let log = files.write("log", lines.concat());
    let json = report(&[&log, "--no-maintenance"]);
    assert_eq!((&json["visitors"], &json["items"]), (&2.into(), &2.into()));
    assert_eq!((&json["trace"]["late"], &json["bytes_served"]), (&1.into(), &400.into()));
    assert_eq!(json["most_viewed"][0]["item"], "/a");
    let logged: Vec<_> = json["common_log"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&logged[0]["severity"], &logged[0]["message"]),
        (&"error".into(), &"503 /a".into())
    );
    assert_eq!(logged[1]["message"], "404 /gone");
    let shown = text(&run(&[&log]).stdout);
    assert!(shown.contains("failed       2 answered with an error in the log\n"), "{shown}");
    let measured = &json["statistics"];
    // The late line counts at the latest time seen.
    assert_eq!((&measured[0]["count"], &measured[0]["max"]), (&2.into(), &0.0.into()));
    assert_eq!((&measured[1]["kind"], &measured[1]["count"]), (&"bytes".into(), &4.into()));
    assert_eq!(
        (&measured[1]["mean"], &measured[1]["standard_deviation"]),
        (&100.0.into(), &0.0.into())
    );
    assert_eq!((&json["row_cache"]["loads"], &json["row_cache"]["rows"]), (&1.into(), &1.into()));
    let json = report(&[&log, "--item-from", "query"]);
    assert_eq!((&json["items"], &json["most_viewed"][0]["item"]), (&1.into(), &"7".into()));
}

#[test]
fn malformed_lines_are_counted_and_strict_stops_at_the_first() {
    let files = Files::new();
    let bad = files
        .write("bad.csv", format!("{HEADER}1,a,view,i,\nnonsense\n2,a,view,\"i,\n3,a,view,i,\n"));
    let json = report(&[&bad]);
    assert_eq!((&json["events"]["total"], &json["trace"]["malformed"]), (&2.into(), &2.into()));
    let first = &json["trace"]["first_malformed"];
    assert_eq!((&first[0]["line"], &first[1]["line"]), (&3.into(), &4.into()));
    let (code, message) = failure(&[&bad, "--strict"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("bad.csv:3: fewer than 5 columns"), "{message}");
}

#[test]
fn bad_input_and_bad_options_exit_with_2_and_say_why() {
    let files = Files::new();
    let packed = gzip(&std::fs::read(day()).expect("the example is there"));
    let cut = files.write("cut.gz", &packed[..packed.len() / 2]);
    let noise = files.write("noise", "no trace at all\n");
    let other = files.write("other.csv", "user,item\n1,2\n");
    let binary = files.write("zip", b"PK\x03\x04\x14\0");
    let day = day();
    for (args, why) in [
        (vec!["/nonexistent/trace"], "/nonexistent/trace"),
        (vec![cut.as_str()], "the gzip file is cut short"),
        (vec![noise.as_str()], "neither an access log nor an events CSV"),
        (
            vec![other.as_str()],
            "other.csv:1: the columns are user,item, expected timestamp,visitor",
        ),
        (vec![other.as_str(), "--strict"], "other.csv:1: the columns are user,item, expected"),
        (vec![binary.as_str()], "zip looks binary, expected an access log or an events CSV"),
        (vec![], "FILE"),
        (
            vec![&day, "--backend", "http://x"],
            "--backend: invalid Redis URL http://x: expected redis",
        ),
        (
            vec![&day, "--compare", "http://u@x"],
            "--compare: invalid Redis URL http://u@x: expected",
        ),
        (
            vec![&day, "--compare", "http://u:p@x"],
            "--compare: invalid Redis URL (hidden): expected",
        ),
        (vec![&day, "--backend", "rediss://x"], "unix:///path, as TLS is not supported"),
        (vec![&day, "--backend", "nonsense"], "invalid --backend nonsense: expected memory, redis"),
        (vec![&day, "--backend", "redis://127.0.0.1:1"], "cannot use redis://127.0.0.1:1"),
        (vec![&day, "--flush"], "--flush needs a Redis"),
        (vec![&day, "--stock", "0"], "0 is not in 1..=1000000000"),
        (vec![&day, "--stock", "few"], "invalid digit"),
        (vec![&day, "--features", "most"], "expected all or core"),
        (vec![&day, "--item-from", "fragment"], "expected path, query or query:NAME"),
        (vec!["-", "--compare", "redis://127.0.0.1:1"], "standard input"),
    ] {
        let (code, message) = failure(&args);
        assert_eq!(code, Some(2), "{args:?}");
        assert!(message.contains(why), "{args:?}: {message}");
    }
}

#[test]
fn files_without_an_event_are_named_on_standard_error() {
    let files = Files::new();
    let (empty, bare) = (files.write("empty", ""), files.write("bare", HEADER));
    let full = files.write("full", format!("{HEADER}1,a,view,i,\n"));
    let out = run(&[&empty, &full, &bare]);
    let expected = format!("stockroom: no events in {empty}\nstockroom: no events in {bare}\n");
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(0), expected));
    assert!(text(&out.stdout).contains("events       1: 1 view\n"), "{}", text(&out.stdout));
    assert_eq!(report(&[&empty])["trace"]["without_events"][0], empty.as_str());
    assert_eq!(text(&run(&["-"]).stderr), "stockroom: no events in standard input\n");
}

#[test]
fn the_session_limit_is_kept_by_maintenance() {
    let files = Files::new();
    let rows: Vec<String> = (0..50).map(|i| format!("{},v{i},view,i,\n", i * 2_000)).collect();
    let trace = files.write("t", format!("{HEADER}{}", rows.concat()));
    let json = report(&[&trace, "--sessions-limit", "10"]);
    assert_eq!((&json["visitors"], &json["sessions"]), (&50.into(), &11.into()));
    assert_eq!(json["maintenance"]["sessions_dropped"], 39);
}

#[test]
fn the_engine_and_a_real_redis_hold_the_same_afterwards() {
    let Some(redis) = support::real_redis(Timestamp::from_secs(1_700_000_000)) else { return };
    let url = format!("redis://{}", redis.addr());
    let files = Files::new();
    let lines: Vec<String> = (0..600)
        .map(|i| {
            let (host, url) = (format!("h{}", i % 7), format!("/p{}?item={}", i % 13, i % 5));
            log_line(&host, i * 6 % 3_000, &url, [200, 304, 404, 500][i as usize % 4])
        })
        .collect();
    let log = files.write("log", lines.concat());
    let rows = std::fs::read_to_string(day()).expect("the example is there");
    let morning: Vec<&str> = rows.split_inclusive('\n').take(300).collect();
    let morning = files.write("morning.csv", morning.concat());
    for trace in [&morning, &log] {
        for maintenance in [&["--no-maintenance", "--stock", "1"][..], &["--sessions-limit", "100"]]
        {
            let options = ["--compare", url.as_str(), "--flush", "--namespace", "n"];
            let json = report(&[&[trace.as_str()], &options[..], maintenance].concat());
            let found = &json["comparison"];
            assert_eq!(found["differences"], 0, "{trace} {maintenance:?}: {found}");
            assert!(found["keys"].as_u64() > Some(10));
            let core = ["events", "visitors", "items", "sessions", "most_viewed", "common_log"];
            let more = ["row_cache", "statistics", "recent_carts", "flash_sale", "maintenance"];
            for part in core.into_iter().chain(more) {
                assert_eq!(json["memory"][part], json["redis"][part], "{part}");
            }
            assert!(json["speed_ratio"].as_f64() > Some(0.0));
        }
    }
    let out = run(&[&morning, "--compare", &url, "--flush", "--no-maintenance"]);
    let shown = text(&out.stdout);
    let left = "timed keys are left on Redis only: their TTL runs by the server's clock, not";
    assert!(shown.contains(left), "{shown}");
    let last = shown.lines().last().expect("the ratio");
    assert!(last.contains("times as fast, with ") && last.ends_with(" on Redis"), "{shown}");
    for report in shown.split("\nredis://") {
        let (_, sent) = report.split_once("commands     ").expect("their number");
        let (sent, _) = sent.split_once(" in ").expect("in round trips");
        assert!(last.contains(&format!(" {sent}")), "{sent} commands: {last}");
    }
    // What the last run left is in the way, unless it may go.
    let (code, message) = failure(&[&day(), "--compare", &url]);
    assert_eq!(code, Some(2));
    assert!(message.contains("is not empty"), "{message}");
    let json = report(&[&day(), "--no-maintenance", "--backend", &url, "--flush"]);
    assert_eq!((&json["backend"], &json["visitors"]), (&url.as_str().into(), &400.into()));
}
