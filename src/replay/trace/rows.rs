//! Rows of an events CSV: `timestamp,visitorid,event,itemid,transactionid`.
//!
//! A record is one line. CSV lets a quoted field run over line breaks, but then one stray quote
//! swallows the rest of the file; here a quote that is still open at the end of its line makes
//! that line malformed and no other. Rows without a quote are split at their commas, the others
//! are left to the `csv` crate.

use super::event::{Action, ShopEvent};
use super::{Reason, date};
use crate::shop::MAX_ID;
use crate::{Bytes, Timestamp};

/// The first line of such a file.
pub const HEADER: &str = "timestamp,visitorid,event,itemid,transactionid";

const COLUMNS: usize = 5;

/// Whether a line is the header, quoted or not, in any case.
pub(super) fn is_header(line: &[u8]) -> bool {
    if line.len() > 4 * HEADER.len() {
        return false;
    }
    let bare: Vec<u8> = line.iter().copied().filter(|b| !matches!(b, b'"' | b' ')).collect();
    bare.eq_ignore_ascii_case(HEADER.as_bytes())
}

/// Reads one row.
pub(super) fn parse(line: &[u8]) -> Result<ShopEvent, Reason> {
    if line.contains(&b'"') {
        return quoted(line);
    }
    let mut fields = [&b""[..]; COLUMNS];
    let mut count = 0;
    for field in line.split(|&b| b == b',') {
        *fields.get_mut(count).ok_or(TOO_MANY)? = field;
        count += 1;
    }
    row(fields, count)
}

const TOO_MANY: Reason = "more than 5 columns";

fn quoted(line: &[u8]) -> Result<ShopEvent, Reason> {
    if line.iter().fold(false, |open, &b| open ^ (b == b'"')) {
        return Err("a quoted field does not end on its line");
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(line.len())
        .from_reader(line);
    let mut record = csv::ByteRecord::new();
    match reader.read_byte_record(&mut record) {
        Ok(true) => {}
        _ => return Err("not a CSV record"),
    }
    if record.len() > COLUMNS {
        return Err(TOO_MANY);
    }
    let fields = std::array::from_fn(|i| record.get(i).unwrap_or_default());
    row(fields, record.len())
}

fn row(fields: [&[u8]; COLUMNS], count: usize) -> Result<ShopEvent, Reason> {
    // The last column may be left off together with its comma.
    if count < COLUMNS - 1 {
        return Err("fewer than 5 columns");
    }
    let [time, visitor, event, item, transaction] = fields.map(<[u8]>::trim_ascii);
    let time = millis(time).ok_or("the timestamp is not in milliseconds from 1970 to 9999")?;
    if [visitor, item, transaction].iter().any(|id| id.len() > MAX_ID) {
        return Err("an id is longer than 4,096 bytes");
    }
    if visitor.is_empty() {
        return Err("the visitorid is empty");
    }
    if item.is_empty() {
        return Err("the itemid is empty");
    }
    let action = match event {
        b"view" => Action::View,
        b"addtocart" => Action::AddToCart,
        b"transaction" => Action::Purchase { transaction: Bytes::from(transaction) },
        _ => return Err("the event is none of view, addtocart and transaction"),
    };
    Ok(ShopEvent { time, visitor: Bytes::from(visitor), item: Bytes::from(item), action })
}

fn millis(text: &[u8]) -> Option<Timestamp> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    let ms = text
        .iter()
        .try_fold(0_i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))?;
    (ms <= date::MAX_MS).then(|| Timestamp::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(line: &str) -> Reason {
        parse(line.as_bytes()).unwrap_err()
    }

    #[test]
    fn the_three_events_are_read() {
        let view = parse(b"1451779207112,617,view,35789,").unwrap();
        assert_eq!(view.time, Timestamp::from_millis(1_451_779_207_112));
        assert_eq!((&*view.visitor, &*view.item), (&b"617"[..], &b"35789"[..]));
        assert_eq!(view.action, Action::View);
        assert_eq!(parse(b"1,a,addtocart,b").unwrap().action, Action::AddToCart);
        let bought = parse(b"1,a,transaction,b,77").unwrap().action;
        assert_eq!(bought, Action::Purchase { transaction: Bytes::from("77") });
        let bought = parse(b"1,a,transaction,b,").unwrap().action;
        assert_eq!(bought, Action::Purchase { transaction: Bytes::EMPTY });
    }

    #[test]
    fn quoted_fields_may_hold_commas_and_quotes() {
        let e = parse(br#""5","a,b",view,"say ""hi""","""#.strip_suffix(b"\"").unwrap());
        assert!(e.is_err());
        let e = parse(br#""5","a,b",view,"say ""hi""","#).unwrap();
        assert_eq!((&*e.visitor, &*e.item), (&b"a,b"[..], &b"say \"hi\""[..]));
        assert_eq!(parse(b"1,\xff\xfe,view,\x00,").unwrap().item, Bytes::from(&b"\0"[..]));
    }

    #[test]
    fn what_is_wrong_with_a_row_is_named() {
        assert_eq!(reason("1,a,view"), "fewer than 5 columns");
        assert_eq!(reason("1,a,view,b,,"), TOO_MANY);
        assert_eq!(reason("\"1\",a,view,b,,"), TOO_MANY);
        assert_eq!(reason("1,\"a,view,b,"), "a quoted field does not end on its line");
        assert!(reason("x,a,view,b,").starts_with("the timestamp"));
        assert!(reason("-1,a,view,b,").starts_with("the timestamp"));
        assert!(reason("1.5,a,view,b,").starts_with("the timestamp"));
        assert!(reason("253402300800000,a,view,b,").starts_with("the timestamp"));
        assert!(reason("99999999999999999999,a,view,b,").starts_with("the timestamp"));
        assert!(reason("1, ,view,b,").starts_with("the visitorid"));
        assert!(reason("1,a,view,,").starts_with("the itemid"));
        let long = "x".repeat(MAX_ID + 1);
        assert!(reason(&format!("1,{long},view,b,")).starts_with("an id"));
        assert!(reason("1,a,View,b,").starts_with("the event"));
    }

    #[test]
    fn the_header_is_known_quoted_and_in_any_case() {
        assert!(is_header(HEADER.as_bytes()));
        assert!(is_header(br#""timestamp","visitorid","event","itemid","transactionid""#));
        assert!(is_header(b"Timestamp,VisitorID,Event,ItemID,TransactionID"));
        assert!(!is_header(b"timestamp,visitorid,event,itemid"));
        assert!(!is_header(b""));
    }

    proptest! {
        #[test]
        fn splitting_by_hand_agrees_with_the_csv_crate(
            line in "[0-9]{1,3},[a-c]{0,2},(view|x),[a-c]{0,2}(,[0-9]?){0,3}",
        ) {
            prop_assert_eq!(parse(line.as_bytes()).ok(), quoted(line.as_bytes()).ok());
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            line in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b',')], 0..60),
        ) {
            let _ = parse(&line);
            let _ = is_header(&line);
        }
    }
}
