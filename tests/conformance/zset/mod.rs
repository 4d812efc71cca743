//! Sorted sets.
//!
//! Bodies run on sets of both forms where the form could show: a few members, and more than 128.

mod combine;
mod range;
mod read;
mod write;

use crate::support::{Pair, argv};

/// A key of each form with members `m000` …, scores halves from -5 on; every fifth score is the
/// same as the next.
fn both_forms(c: &Pair) -> [&'static str; 2] {
    for (key, count) in [("small", 20), ("large", 300)] {
        let mut line = argv!["ZADD", key];
        for n in 0..count {
            let score = f64::from(if n % 5 == 0 { n + 1 } else { n }) / 2.0 - 5.0;
            line.extend(argv![score, format!("m{n:03}")]);
        }
        c.same(&line);
    }
    c.check("OBJECT ENCODING small", b"$8\r\nlistpack\r\n");
    c.check("OBJECT ENCODING large", b"$8\r\nskiplist\r\n");
    ["small", "large"]
}

/// Sends each line for each key, which stands for `@` in it.
fn each(c: &Pair, keys: &[&str], lines: &str) {
    for key in keys {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            c.same(line.replace('@', key));
        }
    }
}

/// Sends each line.
fn all(c: &Pair, lines: &str) {
    each(c, &[""], lines);
}
