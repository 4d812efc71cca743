//! Requests: the words of Redis, its leniencies, limits, and that the split never matters.

use proptest::prelude::*;

use super::*;

type Decoded = (Vec<Vec<Vec<u8>>>, Option<RequestError>);

/// All requests of `pieces`, and the error that ended them.
fn decode_with<'a>(limits: RequestLimits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
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

fn decode(bytes: &[u8]) -> Decoded {
    decode_with(RequestLimits::default(), [bytes])
}

fn bytewise(limits: RequestLimits, bytes: &[u8]) -> Decoded {
    decode_with(limits, bytes.chunks(1))
}

fn error_text(bytes: &[u8]) -> String {
    let (_, error) = decode(bytes);
    error.and_then(RequestError::to_wire).map_or(String::new(), |wire| wire.to_string())
}

#[test]
fn malformed_requests_are_refused_in_the_words_of_redis() {
    let multibulk = "ERR Protocol error: invalid multibulk length";
    let bulk = "ERR Protocol error: invalid bulk length";
    for (bytes, text) in [
        (&b"*x\r\n"[..], multibulk),
        (b"*\r\n", multibulk),
        (b"*-0\r\n", multibulk),
        (b"*+1\r\n", multibulk),
        (b"*01\r\n", multibulk),
        (b"*2147483648\r\n", multibulk),
        (b"*-9223372036854775809\r\n", multibulk),
        (b"*1\r\n$x\r\n", bulk),
        (b"*1\r\n$-1\r\n", bulk),
        (b"*1\r\n$536870913\r\n", bulk),
        (b"*1\r\nx4\r\n", "ERR Protocol error: expected '$', got 'x'"),
        (b"*1\r\n\r\n", "ERR Protocol error: expected '$', got ' '"),
        (b"*1\r\n\n\r\n", "ERR Protocol error: expected '$', got ' '"),
        (b"\"PING\r\n", "ERR Protocol error: unbalanced quotes in request"),
    ] {
        assert_eq!(error_text(bytes), text, "{}", bytes.escape_ascii());
        assert_eq!(bytewise(RequestLimits::default(), bytes), decode(bytes));
    }
    let (_, error) = decode(b"*1\r\n\xff\r\n");
    let wire = error.and_then(RequestError::to_wire).unwrap();
    assert_eq!(wire.as_bytes(), b"ERR Protocol error: expected '$', got '\xff'");
}

#[test]
fn lines_end_within_65536_bytes() {
    let long = |head: &[u8], n: usize| [head, &vec![b'1'; n]].concat();
    for (head, too_big) in [
        (&b""[..], "ERR Protocol error: too big inline request"),
        (b"*", "ERR Protocol error: too big mbulk count string"),
        (b"*1\r\n$", "ERR Protocol error: too big bulk count string"),
    ] {
        let counted = head.len().min(1);
        assert_eq!(error_text(&long(head, MAX_LINE - counted)), "");
        assert_eq!(error_text(&long(head, MAX_LINE + 1 - counted)), too_big);
    }
    let mut line = long(b"", MAX_LINE);
    line.push(b'\n');
    assert_eq!(decode(&line).0.len(), 1);
    line.insert(0, b'1');
    assert_eq!(bytewise(RequestLimits::default(), &line).1, Some(RequestError::TooBigInline));
    assert_eq!(decode(&line).1, Some(RequestError::TooBigInline));
}

#[test]
fn what_redis_lets_pass_passes() {
    for bytes in [
        &b"*1\rX$4\rXPINGXX"[..],
        b"*-1\r\n*1\r\n$4\r\nPING\r\n",
        b"*0\r\n\r\n\n   \r\n*-9223372036854775808\r\nPING\r\n",
        b"PING\n",
        b"PING\r\r\n",
        b"\x0bPING\r\n",
        b"P\"ING\"\r\n",
    ] {
        assert_eq!(decode(bytes), (vec![vec![b"PING".to_vec()]], None));
        assert_eq!(bytewise(RequestLimits::default(), bytes), decode(bytes));
    }
    for waits in [&b"PI\0NG\r\n"[..], b"*1\r\n\0\r\n", b"*1\r\n$4\r\nPINGa", b"*2147483647\r\n"] {
        assert_eq!(decode(waits), (vec![], None));
    }
}

#[test]
fn requests_before_an_error_are_handed_out_and_none_after() {
    let (requests, error) = decode(b"PING\r\n*x\r\nPING\r\n");
    assert_eq!(requests.len(), 1);
    assert_eq!(error, Some(RequestError::InvalidMultibulkLength));
    let mut decoder = RequestDecoder::default();
    decoder.feed(b"*x\r\n");
    assert!(decoder.next_request().is_err());
    decoder.feed(b"PING\r\n");
    assert!(decoder.next_request().is_err());
}

#[test]
fn a_request_beyond_the_limit_is_refused_without_a_reply() {
    let limits = RequestLimits { max_request: 14, ..RequestLimits::default() };
    let fits = b"*1\r\n$4\r\nPING\r\n";
    assert_eq!(decode_with(limits, [&fits.repeat(3)[..]]).0.len(), 3);
    for bytes in
        [&b"*1\r\n$5\r\nPING_\r\n"[..], b"*1\r\n$4\r\nPINGPINGPING", b"123456789012345\r\n"]
    {
        assert_eq!(decode_with(limits, [bytes]), bytewise(limits, bytes));
    }
    assert_eq!(bytewise(limits, b"*1\r\n$5\r\nPING_\r\n").1, Some(RequestError::TooBigRequest));
    assert!(RequestError::TooBigRequest.to_wire().is_none());
}

#[test]
fn claimed_lengths_allocate_nothing() {
    let mut decoder = RequestDecoder::default();
    decoder.feed(b"*2147483647\r\n$536870912\r\nx");
    assert!(decoder.next_request().unwrap().is_none());
    assert!(decoder.buf.capacity() < 1024 && decoder.args.capacity() < 1024);
    assert_eq!(decoder.pending(), 26);
}

#[test]
fn arguments_read_so_far_count_as_pending() {
    let mut decoder = RequestDecoder::default();
    decoder.feed(b"*2000\r\n");
    for n in 1..2000 {
        decoder.feed(b"$0\r\n\r\n");
        assert!(decoder.next_request().unwrap().is_none());
        assert_eq!(decoder.pending(), 7 + n * (6 + size_of::<(usize, usize)>()));
    }
    decoder.feed(b"$0\r\n\r\n");
    assert_eq!(decoder.next_request().unwrap().unwrap().len(), 2000);
    assert_eq!(decoder.pending(), 0);
}

#[test]
fn an_idle_decoder_gives_back_what_a_large_request_took() {
    let mut decoder = RequestDecoder::default();
    decoder.feed(b"*1\r\n$1000000\r\n");
    decoder.feed(&vec![b'x'; 1_000_000]);
    decoder.feed(b"\r\n");
    assert_eq!(decoder.next_request().unwrap().unwrap().to_argv()[0].len(), 1_000_000);
    assert!(decoder.next_request().unwrap().is_none());
    assert_eq!(decoder.pending(), 0);
    assert!(decoder.buf.capacity() <= KEEP);
}

fn request() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6)
}

/// Bytes that look like the protocol often enough to reach every branch.
fn nearly_resp() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"*1\r\n".to_vec()),
        Just(b"*2\r\n$1\r\na\r\n".to_vec()),
        Just(b"$3\r\nabc\r\n".to_vec()),
        Just(b"PING \"a\\x41".to_vec()),
        Just(b"'\\' ".to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
        "[-*$0-9 \"'\\\\rnx]{0,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn encoded_requests_decode_to_themselves_however_split(
        requests in prop::collection::vec(request(), 1..5),
        size in 1_usize..20,
    ) {
        let mut bytes = Vec::new();
        for request in &requests {
            super::super::encode_request(request, &mut bytes);
        }
        let decoded = decode_with(RequestLimits::default(), bytes.chunks(size));
        prop_assert_eq!(decoded, (requests, None));
    }

    #[test]
    fn the_split_never_matters(bytes in nearly_resp(), max_request in 1_usize..60) {
        for max_request in [max_request, 1 << 30] {
            let limits = RequestLimits { max_request, ..RequestLimits::default() };
            let whole = decode_with(limits, [&bytes[..]]);
            prop_assert_eq!(&bytewise(limits, &bytes), &whole);
            for at in 0..bytes.len() {
                let (head, tail) = bytes.split_at(at);
                prop_assert_eq!(&decode_with(limits, [head, tail]), &whole);
            }
        }
    }
}
