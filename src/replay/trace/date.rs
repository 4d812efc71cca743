//! Time stamps of access logs: `17/May/2015:10:05:03 +0000`, the form of Apache's `%t` and nginx's
//! `$time_local`.
//!
//! Dates are those of the proleptic Gregorian calendar from 1970 to 9999 and are checked, leap
//! years included. A leap second (`:60`) is the first second of the next minute, as in POSIX time.

use crate::Timestamp;
use crate::shop::calendar::{self, DAY, HOUR, MONTHS};

/// The length of a time stamp without its brackets.
pub(super) const LEN: usize = 26;

/// The last millisecond of the year 9999: the latest time a trace may name.
pub(super) const MAX_MS: i64 = 253_402_300_799_999;

/// Reads a time stamp of exactly [`LEN`] bytes; `None` when it is none, or names no real time.
pub(super) fn parse(text: &[u8]) -> Option<Timestamp> {
    let t: &[u8; LEN] = text.try_into().ok()?;
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if marks.iter().any(|&(at, mark)| t[at] != mark) {
        return None;
    }
    let month = MONTHS.iter().position(|m| m.as_bytes() == &t[3..6])? as i64 + 1;
    let (day, year) = (digits(&t[..2])?, digits(&t[7..11])?);
    let (hour, minute, second) = (digits(&t[12..14])?, digits(&t[15..17])?, digits(&t[18..20])?);
    let (zone_h, zone_m) = (digits(&t[22..24])?, digits(&t[24..26])?);
    let east = match t[21] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let days = calendar::days(year, month, day)?;
    // A day that does not exist is some other day.
    let real = year >= 1970
        && calendar::civil(days) == (year, month, day)
        && hour <= 23
        && minute <= 59
        && second <= 60
        && zone_h <= 23
        && zone_m <= 59;
    let local = days * DAY + hour * HOUR + minute * 60 + second;
    let utc = local - east * (zone_h * HOUR + zone_m * 60);
    (real && (0..=MAX_MS / 1000).contains(&utc)).then(|| Timestamp::from_secs(utc))
}

/// The number written in decimal digits only.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

/// Year, month, day, hour, minute and second of a time, in UTC.
pub(crate) fn civil(at: Timestamp) -> (i64, i64, i64, i64, i64, i64) {
    let secs = at.as_secs();
    let (days, rest) = (secs.div_euclid(DAY), secs.rem_euclid(DAY));
    let (year, month, day) = calendar::civil(days);
    (year, month, day, rest / HOUR, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secs(text: &str) -> Option<i64> {
        parse(text.as_bytes()).map(Timestamp::as_secs)
    }

    #[test]
    fn known_times_are_read_in_any_zone() {
        assert_eq!(secs("01/Jan/1970:00:00:00 +0000"), Some(0));
        assert_eq!(secs("17/May/2015:10:05:03 +0000"), Some(1_431_857_103));
        assert_eq!(secs("17/May/2015:12:05:03 +0200"), Some(1_431_857_103));
        assert_eq!(secs("17/May/2015:04:35:03 -0530"), Some(1_431_857_103));
        assert_eq!(secs("29/Feb/2000:23:59:59 +0000"), Some(951_868_799));
        assert_eq!(secs("31/Dec/9999:23:59:59 +0000"), Some(MAX_MS / 1000));
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for bad in [
            "29/Feb/2015:00:00:00 +0000",
            "29/Feb/2100:00:00:00 +0000",
            "31/Apr/2015:00:00:00 +0000",
            "00/Jan/2015:00:00:00 +0000",
            "01/Foo/2015:00:00:00 +0000",
            "01/Jan/1969:23:59:59 +0000",
            "01/Jan/1970:00:30:00 +0100",
            "01/Jan/2015:24:00:00 +0000",
            "01/Jan/2015:00:60:00 +0000",
            "01/Jan/2015:00:00:61 +0000",
            "01/Jan/2015:00:00:00 +2400",
            "01/Jan/2015:00:00:00 00000",
            "01/Jan/2015 00:00:00 +0000",
            "1/Jan/2015:00:00:00 +0000",
            " 1/Jan/2015:00:00:00 +0000",
            "",
        ] {
            assert_eq!(secs(bad), None, "{bad}");
        }
        assert_eq!(secs("29/Feb/2400:00:00:00 +0000"), Some(13_574_563_200));
    }

    #[test]
    fn a_leap_second_is_the_next_minutes_first() {
        assert_eq!(secs("30/Jun/2015:23:59:60 +0000"), secs("01/Jul/2015:00:00:00 +0000"));
    }

    proptest! {
        #[test]
        fn every_second_reads_back_what_was_written(
            t in 0..=MAX_MS / 1000,
            zone in -1439_i64..1440,
        ) {
            let local = t + zone * 60;
            prop_assume!((0..=MAX_MS / 1000).contains(&local));
            let (y, mo, d, h, mi, s) = civil(Timestamp::from_secs(local));
            let month = MONTHS[mo as usize - 1];
            let sign = if zone < 0 { '-' } else { '+' };
            let (zh, zm) = (zone.abs() / 60, zone.abs() % 60);
            let text = format!("{d:02}/{month}/{y:04}:{h:02}:{mi:02}:{s:02} {sign}{zh:02}{zm:02}");
            prop_assert_eq!(secs(&text), Some(t));
        }

        #[test]
        fn arbitrary_text_never_panics(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse(&text);
        }
    }
}
