//! [`Guide`]: what a feature of the tour tells, line by line, at most 100 columns wide.

use std::fmt::Display;
use std::time::Duration;

use super::Feature;
use crate::backend::{Backend, cmd};
use crate::replay::report::printable;
use crate::shop::Keys;
use crate::{Bytes, Result};

/// How wide the text is, and its tables at most.
const TEXT: usize = 88;
const TABLE: usize = 100;

/// How many elements of a collection are read to be shown.
const SHOWN: i64 = 20;

/// Tells what a feature does.
pub(super) struct Guide<'t, B> {
    backend: B,
    feature: Feature,
    tick: &'t mut dyn FnMut(),
    out: String,
}

/// A key, as it is shown.
struct Row {
    name: String,
    kind: String,
    ttl: String,
    content: String,
}

impl<'t, B: Backend> Guide<'t, B> {
    pub(super) fn new(backend: &B, feature: Feature, tick: &'t mut dyn FnMut()) -> Self {
        Self { backend: backend.clone(), feature, tick, out: format!("{feature}\n") }
    }

    /// The backend that a feature runs on.
    pub(super) fn backend(&self) -> B {
        self.backend.clone()
    }

    /// The names of its keys.
    pub(super) fn keys(&self) -> Keys {
        Keys::in_namespace(self.feature.namespace())
    }

    /// Adds a paragraph.
    pub(super) fn say(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > TEXT - 2 {
                self.line(&format!("  {line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&format!("  {line}"));
        self.line("");
    }

    /// Adds a call and its answer.
    pub(super) fn call(&mut self, call: &str, answer: impl Display) {
        self.line(&format!("  > {call}"));
        self.line(&format!("    {answer}"));
        (self.tick)();
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// What all its keys begin with.
    fn prefix(&self) -> String {
        self.feature.prefix()
    }

    /// Adds a table of these keys.
    pub(super) async fn keys_left(&mut self, keys: &[Bytes]) -> Result<()> {
        let mut rows = Vec::with_capacity(keys.len());
        for key in keys {
            rows.extend(self.row(key).await?);
        }
        let widest = |column: fn(&Row) -> &str, least: usize| {
            rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0).max(least)
        };
        let under = format!("under {}", self.prefix());
        let (names, ttls) = (widest(|row| &row.name, under.len()), widest(|row| &row.ttl, 3));
        let rest = TABLE.saturating_sub(2 + names + 2 + 6 + 2 + ttls + 2 + 1);
        let mut lines = vec![format!("  {:<names$}  type    {:<ttls$}  content", under, "TTL")];
        for Row { name, kind, ttl, content } in &rows {
            let content = printable(content.as_bytes(), rest);
            lines.push(format!("  {name:<names$}  {kind:<6}  {ttl:<ttls$}  {content}"));
        }
        self.line("");
        for line in lines {
            self.line(&line);
        }
        Ok(())
    }

    /// `None`: the key has ended meanwhile.
    async fn row(&self, key: &[u8]) -> Result<Option<Row>> {
        let ask = (cmd::type_of(key), cmd::pttl(key));
        let (kind, pttl): (String, i64) = self.backend.pipeline(ask).await?;
        let pairs = |pairs: Vec<(String, String)>| {
            let pairs: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k} = {v}")).collect();
            pairs.join(", ")
        };
        let run = &self.backend;
        let content = match kind.as_str() {
            "none" => return Ok(None),
            "string" => shown(&run.run(cmd::get::<Bytes>(key)).await?.unwrap_or_default()),
            "list" => list(&run.run(cmd::lrange::<Bytes>(key, 0, SHOWN)).await?),
            "set" => {
                let mut members = run.run(cmd::smembers::<Bytes>(key)).await?;
                members.sort_unstable();
                list(&members)
            }
            "hash" => {
                let mut fields = run.run(cmd::hgetall::<Bytes>(key)).await?;
                fields.sort_unstable();
                pairs(fields.iter().map(|(k, v)| (shown(k), shown(v))).collect())
            }
            _ => {
                let members = cmd::zrange_withscores::<Bytes>(key, 0, SHOWN);
                let members = run.run(members).await?;
                pairs(members.iter().map(|(m, score)| (shown(m), score.to_string())).collect())
            }
        };
        let name = key.strip_prefix(self.prefix().as_bytes()).unwrap_or(key);
        let name = printable(name, usize::MAX);
        Ok(Some(Row { name, kind, ttl: ttl(pttl), content }))
    }

    /// All that was told.
    pub(super) fn told(self) -> String {
        self.out
    }
}

fn shown(bytes: &[u8]) -> String {
    printable(bytes, TABLE)
}

/// Elements one after the other.
pub(super) fn list(elements: &[Bytes]) -> String {
    let elements: Vec<String> = elements.iter().map(|element| shown(element)).collect();
    if elements.is_empty() { "nothing".to_owned() } else { elements.join(", ") }
}

/// What is counted, with its number.
pub(super) fn counted<N: Display>(pairs: &[(Bytes, N)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(what, n)| format!("{n} {}", shown(what))).collect();
    if pairs.is_empty() { "nothing".to_owned() } else { pairs.join(", ") }
}

/// Text that may be missing.
pub(super) fn or_nobody(text: Option<&Bytes>) -> String {
    text.map_or_else(|| "nobody".to_owned(), |text| shown(text))
}

pub(super) fn yes(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// A time to live in milliseconds.
fn ttl(pttl: i64) -> String {
    let Ok(ms) = u64::try_from(pttl) else { return "-".to_owned() };
    length(Duration::from_millis(ms))
}

/// The shorter a time, the more exactly.
fn length(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1_000);
    let of = |unit: u128| (seconds + unit / 2) / unit;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", of(60)),
        7_200..=172_799 => format!("{} h", of(3_600)),
        _ => format!("{} days", of(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_as_far_as_they_are_long() {
        let shown = [1, 10_000, 9_001, 299_500, 3_599_000, 7_200_000, 604_799_000]
            .map(|ms| length(Duration::from_millis(ms)));
        assert_eq!(shown, ["1 s", "10 s", "10 s", "5 min", "60 min", "2 h", "7 days"]);
        assert_eq!(ttl(-1), "-");
    }
}
