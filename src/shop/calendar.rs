//! The calendar: days as dates and back, and times as the published logs write them, in UTC.
//!
//! Dates are those of the proleptic Gregorian calendar. Two written forms: C's `asctime`, which
//! starts a line of the recent log, and an ISO hour, which names the hours of the common log. Every
//! [`Timestamp`] can be written; what is read must be exactly what writing gives, so each time has
//! one spelling.

use crate::env::Timestamp;

pub(crate) const DAY: i64 = 86_400;
pub(crate) const HOUR: i64 = 3_600;

/// Days of the Gregorian calendar's cycle of 400 years.
const ERA: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

pub(crate) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time as `asctime` writes it: `Tue Nov 14 22:13:20 2023`.
pub(super) fn asctime(at: Timestamp) -> String {
    let (days, second) = (at.as_secs().div_euclid(DAY), at.as_secs().rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[month as usize - 1];
    let (hour, minute, second) = (second / HOUR, second / 60 % 60, second % 60);
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year:04}")
}

/// The time that a line starts with, and what follows after a space.
pub(super) fn parse_asctime(line: &[u8]) -> Option<(Timestamp, &[u8])> {
    /// Where the year starts.
    const YEAR: usize = "Tue Nov 14 22:13:20 ".len();
    let end = YEAR + line.get(YEAR..)?.iter().position(|&b| b == b' ')?;
    let stamp = std::str::from_utf8(line.get(..end)?).ok()?;
    let month = MONTHS.iter().position(|name| stamp.get(4..7) == Some(*name))? as i64 + 1;
    let number = |from, to| stamp.get(from..to)?.trim_start().parse::<i64>().ok();
    let days = days(number(YEAR, end)?, month, number(8, 10)?)?;
    let second = number(11, 13)? * HOUR + number(14, 16)? * 60 + number(17, 19)?;
    let at = Timestamp::from_secs(days.checked_mul(DAY)?.checked_add(second)?);
    (asctime(at) == stamp).then_some((at, line.get(end + 1..)?))
}

/// The start of the hour of `at`.
pub(super) fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_secs(at.as_secs().div_euclid(HOUR).saturating_mul(HOUR))
}

/// An hour as the common log names it: `2023-11-14T22:00:00`.
pub(super) fn iso_hour(hour: Timestamp) -> String {
    let (days, second) = (hour.as_secs().div_euclid(DAY), hour.as_secs().rem_euclid(DAY));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:00:00", second / HOUR)
}

/// Reads what [`iso_hour`] writes.
pub(super) fn parse_iso_hour(text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let at = text.len().checked_sub("-11-14T22:00:00".len())?;
    let number = |from, to| text.get(from..to)?.parse::<i64>().ok();
    let days = days(number(0, at)?, number(at + 1, at + 3)?, number(at + 4, at + 6)?)?;
    let second = number(at + 7, at + 9)?.checked_mul(HOUR)?;
    let hour = Timestamp::from_secs(days.checked_mul(DAY)?.checked_add(second)?);
    (iso_hour(hour) == text).then_some(hour)
}

/// Year, month and day of a number of days since 1970.
///
/// Years are counted from the first of March, so that a leap day is the last of its year and 153
/// days are always five months.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The number of days since 1970 of a date, if a [`Timestamp`] can be anywhere near it. A day or
/// month that does not exist gives some other day.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    /// No timestamp is further away.
    const YEARS: i64 = 400_000;
    if !(-YEARS..=YEARS).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(secs: i64) -> String {
        asctime(Timestamp::from_secs(secs))
    }

    #[test]
    fn known_times() {
        // As `date -u -d @N '+%a %b %e %T %Y'` writes them.
        assert_eq!(at(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(at(-1), "Wed Dec 31 23:59:59 1969");
        assert_eq!(at(740_618_465), "Sun Jun 20 23:21:05 1993");
        assert_eq!(at(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(at(951_868_800), "Wed Mar  1 00:00:00 2000");
        assert_eq!(at(4_107_542_399), "Sun Feb 28 23:59:59 2100");
        assert_eq!(at(4_107_542_400), "Mon Mar  1 00:00:00 2100");
        let hour = hour_of(Timestamp::from_secs(951_786_001));
        assert_eq!(iso_hour(hour), "2000-02-29T01:00:00");
        assert_eq!(hour_of(Timestamp::from_micros(-1)), Timestamp::from_secs(-HOUR));
    }

    #[test]
    fn every_day_of_a_cycle_follows_the_day_before() {
        let mut before = civil(-ERA);
        for day in 1 - ERA..=ERA {
            let (y, m, d) = civil(day);
            let next_day = (y, m, d) == (before.0, before.1, before.2 + 1);
            let next_month = d == 1 && m == before.1 % 12 + 1 && before.2 >= 28;
            assert!(next_day || next_month, "{before:?} {:?}", (y, m, d));
            assert_eq!(days(y, m, d), Some(day));
            before = (y, m, d);
        }
    }

    #[test]
    fn nothing_but_what_is_written_is_read() {
        for line in [
            "",
            "Tue Nov 14 22:13:20 2023",
            "Mon Nov 14 22:13:20 2023 x",
            "Tue Nov 31 22:13:20 2023 x",
            "Tue Nov 14 22:13:60 2023 x",
            "Tue Nov 14 22:13:2\u{e9} 2023 x",
            "Thu Jan 01 00:00:00 1970 x",
            "Thu Jan  1 00:00:00 9999999999999999999 x",
        ] {
            assert_eq!(parse_asctime(line.as_bytes()), None, "{line:?}");
        }
        for text in ["", "2023-11-14T22:30:00", "2023-11-14 22:00:00", "1699999200", "é-11-14T22"]
        {
            assert_eq!(parse_iso_hour(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse_iso_hour(b"2023-02-30T00:00:00"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(us: i64, rest: Vec<u8>) {
            let second = Timestamp::from_secs(Timestamp::from_micros(us).as_secs());
            // The very first second cannot be told in microseconds.
            prop_assume!(second.as_micros() % 1_000_000 == 0);
            let mut line = asctime(second).into_bytes();
            line.push(b' ');
            line.extend_from_slice(&rest);
            prop_assert_eq!(parse_asctime(&line), Some((second, &rest[..])));
            let hour = hour_of(second);
            prop_assume!(hour.as_micros() % 1_000_000 == 0);
            prop_assert_eq!(parse_iso_hour(iso_hour(hour).as_bytes()), Some(hour));
        }

        #[test]
        fn no_text_is_too_strange_to_be_refused(line: Vec<u8>) {
            let _ = (parse_asctime(&line), parse_iso_hour(&line));
        }
    }
}
