//! Tests of the access log parser: both formats, escapes, and a reason for each malformed line.

use super::*;
use proptest::prelude::*;

fn hit(line: &str) -> Hit {
    parse(line.as_bytes()).unwrap_or_else(|why| panic!("{why}: {line}"))
}

fn reason(line: &str) -> Reason {
    parse(line.as_bytes()).unwrap_err()
}

fn request(text: &str) -> (Bytes, Bytes) {
    let h = hit(&format!("h - - [17/May/2015:10:05:03 +0000] \"{text}\" 200 1"));
    (h.method, h.url)
}

fn get(url: &[u8]) -> (Bytes, Bytes) {
    (Bytes::from("GET"), Bytes::from(url))
}

#[test]
fn combined_and_common_lines_are_read() {
    let combined = hit(
        r#"1.2.3.4 - bob [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 404 512 "http://r/" "UA (x)""#,
    );
    assert_eq!(combined.time, Timestamp::from_secs(1_431_857_103));
    assert_eq!((&combined.method, &combined.url), (&"GET".into(), &"/a?b=c".into()));
    assert_eq!((combined.status, combined.bytes), (404, 512));
    assert_eq!(combined.session, session_id(b"1.2.3.4", b"UA (x)"));

    let common = hit(r#"::1 - - [17/May/2015:10:05:03 +0000] "POST /a HTTP/1.0" 304 -"#);
    assert_eq!((common.status, common.bytes), (304, 0));
    assert_eq!(common.session, session_id(b"::1", b"-"));
    assert_eq!(
        hit(r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 200 - "-" "-""#).session,
        common.session,
        "no user agent is the same in both formats"
    );
}

#[test]
fn fields_added_after_the_user_agent_are_ignored() {
    let plain = r#"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "UA""#;
    assert_eq!(hit(plain), hit(&format!("{plain} \"10.0.0.1, 10.0.0.2\" 0.003")));
}

#[test]
fn an_escaped_quote_does_not_end_a_field() {
    let line =
        r#"h - - [17/May/2015:10:05:03 +0000] "GET /\"a\" HTTP/1.1" 200 5 "\"" "say \"hi\" \\""#;
    assert_eq!(hit(line).url, "/\"a\"");
    assert_eq!(hit(line).session, session_id(b"h", br#"say \"hi\" \\"#));
}

#[test]
fn escapes_in_the_request_stand_for_bytes() {
    assert_eq!(request(r"GET /\xe4\xE5\x00 HTTP/1.1"), get(b"/\xe4\xe5\0"));
    assert_eq!(request(r"GET /a\tb\\c\qd\xZZ\x4 HTTP/1.1"), get(b"/a\tb\\c\\qd\\xZZ\\x4"));
}

#[test]
fn requests_that_are_none_are_hits_without_a_url() {
    let none = (Bytes::EMPTY, Bytes::EMPTY);
    for text in
        ["-", "", "GET", r"\x16\x03\x01\x02", "OPTIONS * HTTP/1.0", "CONNECT a:443 HTTP/1.1"]
    {
        assert_eq!(request(text), none, "{text}");
    }
}

#[test]
fn old_absolute_and_spaced_urls_are_understood() {
    assert_eq!(request("GET /old"), get(b"/old"));
    assert_eq!(request("GET HTTPS://h/p?q HTTP/2.0"), get(b"HTTPS://h/p?q"));
    assert_eq!(request("GET /a b c HTTP/1.1"), get(b"/a b c"));
}

#[test]
fn user_names_may_hold_spaces_and_brackets() {
    let h = hit(r#"h - a [b] c [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#);
    assert_eq!(h.time, Timestamp::from_secs(1_431_857_103));
}

#[test]
fn what_is_wrong_with_a_line_is_named() {
    let with = |rest: &str| reason(&format!("h - - [17/May/2015:10:05:03 +0000] {rest}"));
    assert_eq!(reason("garbage"), "no host and time stamp");
    assert_eq!(reason(" - - [17/May/2015:10:05:03 +0000] \"-\" 200 1"), "no host and time stamp");
    assert_eq!(reason("h - - 17/May/2015:10:05:03 +0000 \"-\""), "no [time stamp] after the user");
    let no_time = reason("h - - [31/Feb/2015:10:05:03 +0000] \"-\" 200 1");
    assert_eq!(no_time, "the time stamp names no real time");
    assert_eq!(with("GET / HTTP/1.1 200 1"), "the request is not a quoted string");
    assert_eq!(with("\"GET / HTTP/1.1"), "the request is not a quoted string");
    assert_eq!(with("\"GET / HTTP/1.1\\"), "the request is not a quoted string");
    assert_eq!(with("\"-\""), "no status after the request");
    assert_eq!(with("\"-\" 20 1"), "the status is not a number of three digits");
    assert_eq!(with("\"-\" 200"), "no size after the status");
    assert_eq!(with("\"-\" 200 1k"), "the size is neither a number of bytes nor -");
    assert_eq!(with("\"-\" 200 1000000000001"), "the size is neither a number of bytes nor -");
    assert_eq!(with("\"-\" 200 1 x"), "neither the end nor a quoted referer after the size");
    assert_eq!(with("\"-\" 200 1 \"r"), "the referer's quote does not end");
    assert_eq!(with("\"-\" 200 1 \"r\""), "no user agent after the referer");
    assert_eq!(
        with("\"-\" 200 1 \"r\" \"u"),
        "the user agent is missing or its quote does not end"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(line in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = parse(&line);
        let _ = unescape(&line);
    }

    #[test]
    fn mutilated_lines_never_panic(cut in 0..120_usize, at in 0..120_usize, byte in any::<u8>()) {
        let time = "[17/May/2015:10:05:03 +0000]";
        let line = format!(r#"1.2.3.4 - - {time} "GET /\x41 HTTP/1.1" 200 5 "r\"" "u\\""#);
        let mut line = line.into_bytes();
        if let Some(b) = line.get_mut(at) {
            *b = byte;
        }
        line.truncate(cut);
        let _ = parse(&line);
    }
}
