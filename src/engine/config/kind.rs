//! [`Kind`]: which values a parameter takes, and how they read back.

use std::fmt::Write;

use crate::types::number::{parse_f64, parse_i64};

/// The kind of a parameter's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `yes` or `no`.
    Bool,
    /// An integer between these.
    Int(i64, i64),
    /// A number of bytes between these, with an optional unit.
    Memory(u64, u64),
    /// A number of bytes or, with a percent sign, a share of the memory.
    MemoryOrPercent,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// Some of these words; the first stands for none.
    Words(&'static [&'static str]),
    /// Any text.
    Text,
    /// Only the empty text: what would follow from another is not there, and to accept a password
    /// and not ask for it would be a lie.
    Empty,
    /// Pairs of seconds and changes.
    Save,
    /// Classes of keyspace events.
    Events,
    /// Per class of client: a hard limit, a soft limit and seconds.
    BufferLimits,
    /// Three scores for the kernel.
    OomScores,
    /// Percentiles.
    Percentiles,
    /// The name of a host.
    Hostname,
}

/// The reason why a value is refused.
type Refusal = String;

impl Kind {
    /// Reads a value: how it will read back from now on. `old` is what it replaces.
    pub(super) fn read(self, value: &[u8], old: &str) -> Result<String, Refusal> {
        let text = String::from_utf8_lossy(value);
        match self {
            Self::Bool => word(&text, &["yes", "no"])
                .ok_or_else(|| "argument must be 'yes' or 'no'".to_string()),
            Self::Int(least, most) => int(value, least, most),
            Self::Memory(least, most) => memory_between(value, least, most),
            Self::MemoryOrPercent => memory_or_percent(value),
            Self::Enum(words) => word(&text, words).ok_or_else(|| one_of(words)),
            Self::Words(words) => some_of(&text, words),
            Self::Text => Ok(text.into_owned()),
            Self::Empty if value.is_empty() => Ok(String::new()),
            Self::Empty => Err("passwords are not supported".to_string()),
            Self::Save => save(&text),
            Self::Events => events(value),
            Self::BufferLimits => buffer_limits(&text, old),
            Self::OomScores => oom_scores(&text),
            Self::Percentiles => percentiles(&text),
            Self::Hostname => hostname(&text),
        }
    }
}

fn word(text: &str, words: &[&str]) -> Option<String> {
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).map(|word| (*word).to_string())
}

fn one_of(words: &[&str]) -> Refusal {
    format!("argument(s) must be one of the following: {}", words.join(", "))
}

fn some_of(text: &str, words: &[&str]) -> Result<String, Refusal> {
    let chosen: Vec<String> = text.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let is_chosen = |word: &str| chosen.iter().any(|c| c == word);
    if chosen.is_empty() || chosen.iter().any(|c| !words.contains(&c.as_str())) {
        return Err(one_of(words));
    }
    if is_chosen("save") && is_chosen("nosave") {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_string());
    }
    let kept: Vec<&str> = words[1..].iter().copied().filter(|word| is_chosen(word)).collect();
    Ok(if kept.is_empty() { words[0].to_string() } else { kept.join(" ") })
}

fn int(value: &[u8], least: i64, most: i64) -> Result<String, Refusal> {
    let n = parse_i64(value)
        .ok_or_else(|| "argument couldn't be parsed into an integer".to_string())?;
    if n < least || n > most {
        return Err(format!("argument must be between {least} and {most} inclusive"));
    }
    Ok(n.to_string())
}

/// A number of bytes with an optional unit. As C's `strtoull`, a number that is too large stands
/// for the largest, and the unit's product wraps.
fn memory(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, unit) = value.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1_000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let digit = |n: u64, b: &u8| n.saturating_mul(10).saturating_add(u64::from(b - b'0'));
    Some(number.iter().fold(0, digit).wrapping_mul(unit))
}

fn memory_between(value: &[u8], least: u64, most: u64) -> Result<String, Refusal> {
    let bytes = memory(value).ok_or_else(|| "argument must be a memory value".to_string())?;
    if bytes < least || bytes > most {
        return Err(format!("argument must be between {least} and {most} inclusive"));
    }
    Ok(bytes.to_string())
}

fn memory_or_percent(value: &[u8]) -> Result<String, Refusal> {
    let refused = || "argument must be a memory or percent value".to_string();
    match value.strip_suffix(b"%") {
        Some(number) => match parse_i64(number).filter(|n| *n >= 0).ok_or_else(refused)? {
            n @ 0..=100 => Ok(format!("{n}%")),
            _ => Err("percentage argument must be less or equal to 100".to_string()),
        },
        None => memory(value).map(|bytes| bytes.to_string()).ok_or_else(refused),
    }
}

fn save(text: &str) -> Result<String, Refusal> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let numbers: Option<Vec<i64>> =
        text.split(' ').map(|word| parse_i64(word.as_bytes())).collect();
    let fits = |n: &[i64]| {
        n.len().is_multiple_of(2) && n.chunks(2).all(|pair| pair[0] >= 1 && pair[1] >= 0)
    };
    if numbers.is_some_and(|n| fits(&n)) {
        Ok(text.to_string())
    } else {
        Err("Invalid save parameters".to_string())
    }
}

fn events(value: &[u8]) -> Result<String, Refusal> {
    const CLASSES: &[u8] = b"g$lshzxetd";
    if !value.iter().all(|b| b"AKEmn".contains(b) || CLASSES.contains(b)) {
        return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_string());
    }
    let has = |b: u8| value.contains(&b);
    let mut text = String::new();
    if has(b'A') || CLASSES.iter().all(|b| has(*b)) {
        text.push('A');
    } else {
        text.extend(CLASSES.iter().chain(b"n").filter(|b| has(**b)).map(|b| char::from(*b)));
    }
    text.extend(b"KEm".iter().filter(|b| has(**b)).map(|b| char::from(*b)));
    Ok(text)
}

fn buffer_limits(text: &str, old: &str) -> Result<String, Refusal> {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".to_string());
    }
    let mut limits: Vec<String> = old.split(' ').map(str::to_string).collect();
    for limit in words.chunks(4) {
        let class = match limit[0].to_ascii_lowercase().as_str() {
            "normal" => 0,
            "slave" | "replica" => 1,
            "pubsub" => 2,
            _ => {
                let refused = "Invalid client class specified in buffer limit configuration.";
                return Err(refused.to_string());
            }
        };
        let seconds = parse_i64(limit[3].as_bytes()).and_then(|n| u64::try_from(n).ok());
        let sizes = [limit[1], limit[2]].map(|size| memory(size.as_bytes()));
        let numbers = [sizes[0], sizes[1], seconds];
        if numbers.iter().any(Option::is_none) {
            let refused =
                "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            return Err(refused.to_string());
        }
        for (at, number) in (class * 4 + 1..).zip(numbers.into_iter().flatten()) {
            limits[at] = number.to_string();
        }
    }
    Ok(limits.join(" "))
}

fn oom_scores(text: &str) -> Result<String, Refusal> {
    let words: Vec<&str> = text.split(' ').collect();
    if words.len() != 3 {
        return Err("wrong number of arguments".to_string());
    }
    let fits = |word: &&str| parse_i64(word.as_bytes()).is_some_and(|n| n.abs() <= 2000);
    if words.iter().all(fits) {
        Ok(text.to_string())
    } else {
        let refused = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        Err(refused.to_string())
    }
}

fn percentiles(text: &str) -> Result<String, Refusal> {
    let mut read = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let Some(n) = parse_f64(word.as_bytes()) else {
            return Err("Invalid latency-tracking-info-percentiles parameters".to_string());
        };
        if !(0.0..=100.0).contains(&n) {
            let refused =
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            return Err(refused.to_string());
        }
        let digits = format!("{n:.6}");
        let separator = if read.is_empty() { "" } else { " " };
        let _ = write!(read, "{separator}{}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    Ok(read)
}

fn hostname(text: &str) -> Result<String, Refusal> {
    if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') {
        Ok(text.to_string())
    } else {
        let refused = "Hostnames may only contain alphanumeric characters, hyphens or dots";
        Err(refused.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_units_of_a_thousand_and_of_1024() {
        let read = |text: &str| memory(text.as_bytes());
        assert_eq!(read("100"), Some(100));
        assert_eq!(read("1k"), Some(1_000));
        assert_eq!(read("1Kb"), Some(1_024));
        assert_eq!(read("3gb"), Some(3 << 30));
        assert_eq!(read(""), Some(0));
        assert_eq!(read("99999999999999999999kb"), Some(18_446_744_073_709_550_592));
        for bad in ["x", "-1", "1.5gb", "10%", "1 kb"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn event_classes_read_back_in_redis_order() {
        let read = |text: &str| events(text.as_bytes());
        assert_eq!(read("KEA").as_deref(), Ok("AKE"));
        assert_eq!(read("g$lshzxetd").as_deref(), Ok("A"));
        assert_eq!(read("mnKEdtexzhsl").as_deref(), Ok("lshzxetdnKEm"));
        assert_eq!(read("").as_deref(), Ok(""));
        assert!(read("q").is_err());
    }

    #[test]
    fn buffer_limits_change_only_the_classes_named() {
        let old = "normal 0 0 0 slave 1 2 3 pubsub 4 5 6";
        let new = buffer_limits("replica 1kb 0 9", old);
        assert_eq!(new.as_deref(), Ok("normal 0 0 0 slave 1024 0 9 pubsub 4 5 6"));
        assert!(buffer_limits("normal 1 2", old).is_err());
        assert!(buffer_limits("other 1 2 3", old).is_err());
    }
}
