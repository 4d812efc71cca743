//! Tests of whole traces: formats, gzip, malformed lines, bounds, time.

use super::*;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::io::Write;

const LOG: &str = "h - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"UA\"\n";

fn csv(rows: &str) -> Vec<u8> {
    format!("{HEADER}\n{rows}").into_bytes()
}

/// All events, the error that ended the trace if one did, and the tally.
fn read(mut trace: Trace) -> (Vec<Event>, Option<TraceError>, Tally) {
    let mut events = Vec::new();
    let mut error = None;
    for next in &mut trace {
        match next {
            Ok(event) => events.push(event),
            Err(e) => error = Some(e),
        }
    }
    let tally = trace.tally().clone();
    assert_eq!(tally.lines, tally.events + tally.malformed + tally.skipped);
    (events, error, tally)
}

fn read_bytes(content: impl Into<Vec<u8>>) -> (Vec<Event>, Option<TraceError>, Tally) {
    read(Trace::from_bytes("t", content.into()))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut w = GzEncoder::new(Vec::new(), Compression::fast());
    w.write_all(text).unwrap();
    w.finish().unwrap()
}

#[test]
fn content_decides_the_format() {
    let (events, error, _) = read_bytes(csv("1,a,view,b,\n"));
    assert!(matches!(events[..], [Event::Shop(_)]) && error.is_none());
    let (events, error, _) = read_bytes(LOG);
    assert!(matches!(events[..], [Event::Hit(_)]) && error.is_none());
    let (events, error, _) = read_bytes(gzip(LOG.as_bytes()));
    assert!(matches!(events[..], [Event::Hit(_)]) && error.is_none());
}

#[test]
fn empty_files_hold_no_events() {
    for content in [&b""[..], b"\n\r\n  \n", b"\xef\xbb\xbf", HEADER.as_bytes(), &csv("")] {
        let (events, error, tally) = read_bytes(content);
        assert_eq!((events.len(), error, tally.malformed), (0, None, 0), "{content:?}");
        assert_eq!(tally.without_events, [Arc::from("t")]);
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_breaks_are_tolerated() {
    let text = format!("\u{feff}{HEADER}\r\n\r\n1,a,view,b,\r\n2,a,view,c,9\r\n");
    let (events, error, tally) = read_bytes(text);
    assert_eq!((events.len(), error, tally.skipped), (2, None, 2));
    let (events, _, _) = read_bytes(format!("\u{feff}{}", LOG.replace('\n', "\r\n")));
    assert!(matches!(&events[..], [Event::Hit(h)] if h.session == session_id(b"h", b"UA")));
}

#[test]
fn a_malformed_line_costs_only_itself() {
    let (events, error, tally) =
        read_bytes(csv("1,a,view,b,\n2,\"a,view,b,\n3,a,view,b,\n\nx\n4,a,view,b,\n"));
    assert_eq!((events.len(), error), (3, None));
    let bad: Vec<_> = tally.first_malformed.iter().map(ToString::to_string).collect();
    assert_eq!(
        bad,
        [
            "t:3: a quoted field does not end on its line: 2,\"a,view,b,",
            "t:6: fewer than 5 columns: x"
        ]
    );
}

#[test]
fn only_the_first_malformed_lines_are_kept() {
    let (events, error, tally) = read_bytes(csv(&"bad\n".repeat(1000)));
    assert_eq!((events.len(), error, tally.malformed), (0, None, 1000));
    assert_eq!(tally.first_malformed.len(), MALFORMED_KEPT);
    assert_eq!(tally.without_events, [Arc::from("t")]);
}

#[test]
fn a_line_without_end_is_malformed_and_not_held() {
    let mut content = csv("1,a,view,b,\n");
    content.extend(vec![b'x'; 3 * MAX_LINE]);
    content.extend_from_slice(b"\n2,a,view,b,");
    let (events, error, tally) = read_bytes(content);
    assert_eq!((events.len(), error, tally.malformed), (2, None, 1));
    assert_eq!(tally.first_malformed[0].reason, "longer than 1 MiB");
    assert!(tally.first_malformed[0].excerpt.len() < 100);
}

#[test]
fn a_file_of_neither_format_is_an_error_that_shows_its_first_line() {
    let (_, error, tally) = read_bytes("\n{\"json\": 1}\n{}\n");
    let text = error.unwrap().to_string();
    assert!(text.starts_with("t is neither an access log nor an events CSV"), "{text}");
    assert!(text.ends_with("line 2: no [time stamp] after the user: {\"json\": 1}"), "{text}");
    assert_eq!(tally.malformed, 2);

    let (_, error, tally) = read_bytes("no log at all\n".repeat(100_000));
    assert!(matches!(error, Some(TraceError::Unrecognised(_))));
    assert!(tally.lines < 200, "given up early: {}", tally.lines);
}

#[test]
fn a_csv_with_other_columns_or_none_is_told_what_is_expected() {
    let error = |content: &str, strict| {
        let trace = Trace::from_bytes("t", content.as_bytes().to_vec()).strict(strict);
        read(trace).1.expect("no trace").to_string()
    };
    for strict in [false, true] {
        let text = error("\nuser,item,when\n1,2,3\n", strict);
        assert_eq!(text, format!("t:2: the columns are user,item,when, expected {HEADER}"));
        let text = error(&HEADER.replace(',', ";"), strict);
        assert!(text.contains("the columns are timestamp;visitorid;event;"), "{text}");
        let text = error("1,a,view,b,\n2,a,view,b,\n", strict);
        let expected = format!("the header is missing, expected {HEADER} before 1,a,view,b,");
        assert_eq!(text, format!("t:1: {expected}"));
    }
}

#[test]
fn binary_files_are_called_that() {
    let utf_16: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for content in [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], b"PK\x03\x04\x14\0", &utf_16] {
        let text = read_bytes(content).1.expect("no trace").to_string();
        assert!(text.starts_with("t looks binary, expected an access log or"), "{text}");
    }
}

#[test]
fn a_log_may_begin_with_garbage() {
    for garbage in ["garbage\n", "a,b\n", "\0\n"] {
        let (events, error, tally) = read_bytes(format!("{}{LOG}", garbage.repeat(50)));
        assert_eq!((events.len(), error, tally.malformed), (1, None, 50), "{garbage:?}");
    }
}

#[test]
fn strict_ends_at_the_first_malformed_line() {
    let content = csv("1,a,view,b,\nbad\n2,a,view,b,\n");
    let (events, error, _) = read(Trace::from_bytes("t", content).strict(true));
    assert_eq!(events.len(), 1);
    assert_eq!(error.unwrap().to_string(), "malformed line t:3: fewer than 5 columns: bad");
}

#[test]
fn a_truncated_gzip_file_is_named_after_its_good_part_was_read() {
    let mut raw = gzip(&csv(&"1,a,view,b,\n".repeat(20_000)));
    raw.truncate(raw.len() - 20);
    let (events, error, _) = read_bytes(raw);
    assert!(!events.is_empty());
    let text = error.unwrap().to_string();
    assert!(text.starts_with("cannot read t on from line "), "{text}");
    assert!(text.ends_with("the gzip file is cut short"), "{text}");
    let (_, error, _) = read_bytes([gzip(LOG.as_bytes()), b"trailing garbage".to_vec()].concat());
    assert!(error.unwrap().to_string().contains("the gzip file is damaged"));
}

#[test]
fn concatenated_gzip_files_repeat_the_header() {
    let raw = [gzip(&csv("1,a,view,b,\n")), gzip(&csv("2,a,view,b,\n"))].concat();
    let (events, error, tally) = read_bytes(raw);
    assert_eq!((events.len(), error, tally.skipped), (2, None, 2));
}

#[test]
fn time_never_goes_back_not_even_between_files() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    std::fs::write(&a, csv("5,v,view,i,\n3,v,view,i,\n9,v,view,i,\n")).unwrap();
    std::fs::write(&b, csv("1,v,view,i,\n12,v,view,i,\n")).unwrap();
    let (events, error, tally) = read(Trace::open(&[a, b]).unwrap());
    let times: Vec<_> = events.iter().map(|e| e.time().as_millis()).collect();
    assert_eq!((times, error), (vec![5, 5, 9, 9, 12], None));
    assert_eq!((tally.late, tally.latest_by), (2, Duration::from_millis(8)));
    assert_eq!(tally.start, Some(Timestamp::from_millis(5)));
    assert_eq!(tally.end, Some(Timestamp::from_millis(12)));
}

#[test]
fn unreadable_files_are_found_before_the_first_event() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good");
    std::fs::write(&good, csv("")).unwrap();
    for (path, why) in
        [(dir.path().join("missing"), "No such file"), (dir.path().into(), "directory")]
    {
        let error = Trace::open(&[good.clone(), path.clone()]).err().unwrap().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains(why), "{error}");
    }
}

#[test]
fn a_gzip_bomb_is_read_in_bounded_pieces() {
    // 8 MiB of zeros in one "line", packed into some 8 KiB.
    let raw = gzip(&vec![0; 8 << 20]);
    let (events, error, tally) = read_bytes(raw);
    assert_eq!((events.len(), tally.lines), (0, 0));
    assert!(matches!(error, Some(TraceError::Binary(m)) if m.reason == "longer than 1 MiB"));
}

proptest! {
    #[test]
    fn any_bytes_give_events_and_malformed_lines_that_add_up(
        content in prop::collection::vec(any::<u8>(), 0..400),
        header in any::<bool>(),
    ) {
        let content = if header { [csv(""), content].concat() } else { content };
        let _ = read_bytes(content);
    }

    #[test]
    fn lines_are_good_or_bad_one_by_one(
        picks in prop::collection::vec((0..4_usize, "[ -~]{0,30}"), 0..40)
    ) {
        let mut content = csv("");
        let (mut good, mut bad, mut blank) = (0, 0, 1);
        for (pick, noise) in picks {
            match pick {
                0 => good += 1,
                1 | 2 => bad += 1,
                _ => blank += 1,
            }
            let line = match pick {
                0 => "7,v,view,i,".to_owned(),
                1 => format!("7,v,buy,{noise}"),
                2 => format!("\"{}", noise.replace('"', "")),
                _ => " ".to_owned(),
            };
            content.extend_from_slice(line.as_bytes());
            content.push(b'\n');
        }
        let (_, error, tally) = read_bytes(content);
        prop_assert_eq!(error, None);
        prop_assert_eq!((tally.events, tally.malformed, tally.skipped), (good, bad, blank));
    }
}

#[cfg(unix)]
#[test]
fn an_endless_first_line_is_refused_at_once() {
    let endless = Input::Path("/dev/zero".into());
    let (events, error, _) = read(Trace::new(VecDeque::from([endless])));
    assert!(events.is_empty());
    assert!(matches!(error, Some(TraceError::Binary(_))), "{error:?}");
}
