//! Arbitrary bytes, in arbitrary pieces, for both decoders of RESP.
//!
//! The first byte of the input says how many split sizes follow it; the rest is what arrives.
//! Checked: no panic; the pieces do not matter; what was decoded encodes to bytes that decode to
//! the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stockroom::resp::{
    Protocol, ReplyDecoder, ReplyError, ReplyLimits, RequestDecoder, RequestError, RequestLimits,
    Value, encode, encode_request,
};

type Requests = (Vec<Vec<Vec<u8>>>, Option<RequestError>);
type Replies = (Vec<Value>, Option<ReplyError>);

fuzz_target!(|input: &[u8]| {
    let Some((&sizes, rest)) = input.split_first() else { return };
    let Some((sizes, bytes)) = rest.split_at_checked(usize::from(sizes % 16)) else { return };
    let pieces = split(bytes, sizes);

    let limits = RequestLimits { max_request: 4096, ..RequestLimits::default() };
    let requests = decode_requests(limits, &pieces);
    assert_eq!(requests, decode_requests(limits, &[bytes]));
    requests_round_trip(&requests.0);

    let limits = ReplyLimits { max_depth: 8, max_bytes: 4096 };
    let replies = decode_replies(limits, &pieces);
    // As text, because not-a-number does not equal itself.
    assert_eq!(format!("{replies:?}"), format!("{:?}", decode_replies(limits, &[bytes])));
    for reply in &replies.0 {
        reply_is_stable(reply);
    }
});

/// `bytes` in pieces of the given sizes, over and over; one piece if there are no sizes.
fn split<'a>(mut bytes: &'a [u8], sizes: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for &size in sizes.iter().cycle() {
        if bytes.is_empty() {
            return pieces;
        }
        let (piece, rest) = bytes.split_at(bytes.len().min(usize::from(size).max(1)));
        pieces.push(piece);
        bytes = rest;
    }
    vec![bytes]
}

fn decode_requests(limits: RequestLimits, pieces: &[&[u8]]) -> Requests {
    let mut decoder = RequestDecoder::new(limits);
    let mut requests = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_request() {
                Ok(Some(request)) => requests.push(request.iter().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(error) => return (requests, Some(error)),
            }
        }
    }
    (requests, None)
}

fn decode_replies(limits: ReplyLimits, pieces: &[&[u8]]) -> Replies {
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

fn requests_round_trip(requests: &[Vec<Vec<u8>>]) {
    let mut bytes = Vec::new();
    for request in requests {
        encode_request(request, &mut bytes);
    }
    let (again, error) = decode_requests(RequestLimits::default(), &[&bytes]);
    assert_eq!((again.as_slice(), error), (requests, None));
}

/// Encoding, decoding and encoding again gives the same bytes, in either protocol.
fn reply_is_stable(reply: &Value) {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut once = Vec::new();
        encode(reply, protocol, &mut once);
        let (again, error) = decode_replies(ReplyLimits::default(), &[&once]);
        assert_eq!(error, None);
        let [again] = &again[..] else { panic!("one reply became {}", again.len()) };
        let mut twice = Vec::new();
        encode(again, protocol, &mut twice);
        assert_eq!(once.escape_ascii().to_string(), twice.escape_ascii().to_string());
    }
}
