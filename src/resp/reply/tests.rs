//! Replies: every type, what is refused, limits, and that the split never matters.

use proptest::prelude::*;

use super::super::{Protocol, encode, encoded_len};
use super::*;

type Decoded = (Vec<Value>, Option<ReplyError>);

fn decode_with<'a>(limits: ReplyLimits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = ReplyDecoder::new(limits);
    let mut replies = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_reply() {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(error) => return (replies, Some(error)),
            }
        }
    }
    (replies, None)
}

fn decode(bytes: &[u8]) -> Decoded {
    decode_with(ReplyLimits::default(), [bytes])
}

fn encoded(value: &Value, protocol: Protocol) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, protocol, &mut out);
    out
}

#[test]
fn every_type_of_both_protocols_is_read() {
    for (bytes, value) in [
        (&b"+OK\r\n"[..], Value::OK),
        (b"+\r\n", Value::simple("")),
        (b"-ERR no\r\n", Value::Error(WireError::fixed("ERR no"))),
        (b"!6\r\nERR no\r\n", Value::Error(WireError::fixed("ERR no"))),
        (b":-7\r\n", Value::Int(-7)),
        (b"$0\r\n\r\n", Value::bulk("")),
        (b"$4\r\n\r\n\r\n\r\n", Value::bulk("\r\n\r\n")),
        (b"$-1\r\n", Value::Nil),
        (b"*-1\r\n", Value::NilArray),
        (b"_\r\n", Value::Nil),
        (b"#t\r\n", Value::Bool(true)),
        (b"#f\r\n", Value::Bool(false)),
        (b",-1.5e-07\r\n", Value::Double(-1.5e-7)),
        (b",inf\r\n", Value::Double(f64::INFINITY)),
        (b"(-123456789012345678901234567890\r\n", {
            Value::BigNumber(Bytes::from("-123456789012345678901234567890"))
        }),
        (b"=5\r\ntxt:x\r\n", Value::Verbatim(*b"txt", "x".into())),
        (b"*0\r\n", Value::Array(vec![])),
        (b"*2\r\n*1\r\n:1\r\n~0\r\n", {
            Value::Array(vec![Value::Array(vec![Value::Int(1)]), Value::Set(vec![])])
        }),
        (b"%1\r\n+a\r\n_\r\n", Value::Map(vec![(Value::simple("a"), Value::Nil)])),
        (b">1\r\n+a\r\n", Value::Push(vec![Value::simple("a")])),
        (b"|1\r\n+ttl\r\n:1\r\n|0\r\n*1\r\n|1\r\n+a\r\n*0\r\n:5\r\n", {
            Value::Array(vec![Value::Int(5)])
        }),
    ] {
        assert_eq!(decode(bytes), (vec![value], None), "{}", bytes.escape_ascii());
    }
}

#[test]
fn what_no_server_writes_is_refused() {
    use ReplyError::{BadEnding, BadVerbatim, Malformed, TooBig, UnknownType};
    for (bytes, error) in [
        (&b"x"[..], UnknownType(b'x')),
        (b"$?\r\n", Malformed),
        (b"$-2\r\n", Malformed),
        (b"*-2\r\n", Malformed),
        (b"*?\r\n", Malformed),
        (b":01\r\n", Malformed),
        (b":9223372036854775808\r\n", Malformed),
        (b",1e\r\n", Malformed),
        (b"#x\r\n", Malformed),
        (b"_x\r\n", Malformed),
        (b"(1.5\r\n", Malformed),
        (b"+a\nb\r\n", BadEnding),
        (b"+a\rb\r\n", BadEnding),
        (b"$1\r\nab\r\n", BadEnding),
        (b"=3\r\ntxt\r\n", BadVerbatim),
        (b"=4\r\ntxt.\r\n", BadVerbatim),
        (b"$9223372036854775807\r\n", TooBig),
        (b"%9223372036854775807\r\n", TooBig),
    ] {
        let decoded = decode(bytes);
        assert_eq!(decoded, (vec![], Some(error)), "{}", bytes.escape_ascii());
        assert_eq!(decode_with(ReplyLimits::default(), bytes.chunks(1)), decoded);
    }
}

#[test]
fn depth_and_size_are_limited() {
    let limits = ReplyLimits { max_depth: 3, max_bytes: 20 };
    let nested = |depth| [b"*1\r\n".repeat(depth), b":1\r\n".to_vec()].concat();
    assert_eq!(decode_with(limits, [&nested(3)[..]]).1, None);
    assert_eq!(decode_with(limits, [&nested(4)[..]]).1, Some(ReplyError::TooDeep));
    for too_big in [&b"$14\r\n"[..], b"*6\r\n", b"%3\r\n", b"+abcdefghijklmnopqrst"] {
        assert_eq!(decode_with(limits, [too_big]).1, Some(ReplyError::TooBig));
        assert_eq!(decode_with(limits, too_big.chunks(1)).1, Some(ReplyError::TooBig));
    }
    assert_eq!(decode_with(limits, [&b"+OK\r\n".repeat(100)[..]]).0.len(), 100);
}

#[test]
fn claimed_counts_allocate_nothing() {
    let mut decoder = ReplyDecoder::default();
    decoder.feed(&b"*300000000\r\n".repeat(100));
    assert_eq!(decoder.next_reply(), Ok(None));
    assert!(decoder.open.iter().all(|open| open.items.capacity() <= 16));
}

#[test]
fn the_bytes_of_each_reply_are_given_with_it() {
    let mut decoder = ReplyDecoder::default();
    decoder.feed(b"+OK\r\n|1\r\n+a\r\n+b\r\n");
    let (value, bytes) = decoder.next_with_bytes().unwrap().unwrap();
    assert_eq!((value, bytes), (Value::OK, &b"+OK\r\n"[..]));
    assert_eq!(decoder.next_with_bytes(), Ok(None));
    decoder.feed(b"$1\r\nx\r\n");
    let (value, bytes) = decoder.next_with_bytes().unwrap().unwrap();
    assert_eq!((value, bytes), (Value::bulk("x"), &b"|1\r\n+a\r\n+b\r\n$1\r\nx\r\n"[..]));
}

#[test]
fn line_breaks_cannot_end_a_reply_early() {
    let status = Value::Simple("a\r\nb".into());
    assert_eq!(encoded(&status, Protocol::Resp2), b"+a  b\r\n");
    let number = Value::BigNumber(Bytes::from("1\r\n2"));
    assert_eq!(encoded(&number, Protocol::Resp3), b"(1  2\r\n");
}

fn value() -> impl Strategy<Value = Value> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..30);
    let double = any::<f64>().prop_filter("comparable", |n| !n.is_nan());
    let leaf = prop_oneof![
        Just(Value::Nil),
        "[^\r\n]{0,9}".prop_map(|text| Value::Simple(text.into())),
        bytes().prop_map(Value::bulk),
        any::<i64>().prop_map(Value::Int),
        double.prop_map(Value::Double),
        any::<bool>().prop_map(Value::Bool),
        (any::<[u8; 3]>(), bytes()).prop_map(|(format, text)| Value::Verbatim(format, text.into())),
        "-?[1-9][0-9]{0,40}".prop_map(|digits| Value::BigNumber(digits.into())),
        bytes().prop_map(|text| Value::Error(WireError::new(text))),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items.clone().prop_map(Value::Array),
            items.clone().prop_map(Value::Set),
            items.prop_map(Value::Push),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
        ]
    })
}

/// Bytes that look like replies often enough to reach every branch.
fn nearly_resp() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\r\n".to_vec()),
        value().prop_map(|value| encoded(&value, Protocol::Resp3)),
        "[-+*$%~>|=!,(#_:]-?[0-9]{0,2}(\r\n)?".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Whether `value` holds a double, whose length is only bounded.
fn has_double(value: &Value) -> bool {
    match value {
        Value::Double(_) => true,
        Value::Array(items) | Value::Set(items) | Value::Push(items) => {
            items.iter().any(has_double)
        }
        Value::Map(pairs) => pairs.iter().any(|(k, v)| has_double(k) || has_double(v)),
        _ => false,
    }
}

#[test]
fn longest_double_is_as_long_as_it_is_taken_for() {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        for n in [-f64::MAX, -f64::MIN_POSITIVE * 1.234_567_890_123_456_7] {
            let longest = Value::Double(n);
            assert_eq!(encoded_len(&longest, protocol), encoded(&longest, protocol).len(), "{n}");
        }
    }
}

proptest! {
    #[test]
    fn length_is_known_before_encoding(value in value()) {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let (said, is) = (encoded_len(&value, protocol), encoded(&value, protocol).len());
            prop_assert!(said == is || (said > is && has_double(&value)), "{said} {is}");
        }
    }

    #[test]
    fn resp3_replies_round_trip_however_split(value in value(), size in 1_usize..20) {
        let bytes = encoded(&value, Protocol::Resp3);
        let decoded = decode_with(ReplyLimits::default(), bytes.chunks(size));
        prop_assert_eq!(decoded, (vec![value], None));
    }

    #[test]
    fn resp2_replies_keep_their_bytes(value in value(), size in 1_usize..20) {
        let bytes = encoded(&value, Protocol::Resp2);
        let (replies, error) = decode_with(ReplyLimits::default(), bytes.chunks(size));
        prop_assert_eq!((replies.len(), error), (1, None));
        prop_assert_eq!(encoded(&replies[0], Protocol::Resp2), bytes);
    }

    #[test]
    fn the_split_never_matters(bytes in nearly_resp(), max_bytes in 1_usize..60) {
        for max_bytes in [max_bytes, 1 << 30] {
            let limits = ReplyLimits { max_bytes, max_depth: 3 };
            let whole = decode_with(limits, [&bytes[..]]);
            // Debug texts, because not-a-number does not equal itself.
            let whole = format!("{whole:?}");
            prop_assert_eq!(&format!("{:?}", decode_with(limits, bytes.chunks(1))), &whole);
            for at in 0..bytes.len() {
                let (head, tail) = bytes.split_at(at);
                prop_assert_eq!(&format!("{:?}", decode_with(limits, [head, tail])), &whole);
            }
        }
    }
}
