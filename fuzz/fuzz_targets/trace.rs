//! Arbitrary bytes as a trace: events CSV, access log, gzip or none of them.
//!
//! The first byte of the input chooses what stands before the rest: nothing, the header of an
//! events CSV, or a good line of an access log.
//! Checked: no panic; every line is an event, malformed or skipped; time never goes back; the same
//! bytes read twice give the same events; nothing follows an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stockroom::replay::trace::{Event, HEADER, MALFORMED_KEPT, Tally, Trace};

const LOG_LINE: &str = r#"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "UA""#;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let before = match choice % 3 {
        0 => String::new(),
        1 => format!("{HEADER}\n"),
        _ => format!("{LOG_LINE}\n"),
    };
    let content = [before.as_bytes(), rest].concat();

    let (events, failed, tally) = read(&content);
    assert_eq!(tally.lines, tally.events + tally.malformed + tally.skipped);
    assert_eq!(tally.events, events.len() as u64);
    assert!(tally.first_malformed.len() as u64 <= tally.malformed.min(MALFORMED_KEPT as u64));
    assert!(events.windows(2).all(|pair| pair[0].time() <= pair[1].time()));
    assert_eq!((events, failed, tally), read(&content));
});

fn read(content: &[u8]) -> (Vec<Event>, bool, Tally) {
    let mut trace = Trace::from_bytes("fuzz", content.to_vec());
    let mut events = Vec::new();
    let mut failed = false;
    for next in trace.by_ref() {
        assert!(!failed, "nothing follows an error");
        match next {
            Ok(event) => events.push(event),
            Err(_) => failed = true,
        }
    }
    (events, failed, trace.tally().clone())
}
