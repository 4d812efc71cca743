//! The part of the tour about what happens: logs, counts, measurements; and about people's names.

use super::guide::{Guide, counted, list, yes};
use crate::Result;
use crate::backend::Backend;
use crate::shop::{AddressBook, CommonLog, Contacts, Counters, RecentLog, Severity, Statistics};

pub(super) async fn recent_log<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "The last 100 messages of each name and severity, of all servers in one place: what \
         goes on right now.",
    );
    let log = RecentLog::new(g.backend(), g.keys());
    for message in ["card refused", "bank is slow"] {
        log.log(b"shop", &Severity::WARNING, message.as_bytes()).await?;
        g.call(&format!(r#"log.log("shop", WARNING, "{message}")"#), "logged");
    }
    let lines = log.recent(b"shop", &Severity::WARNING, 10).await?;
    let messages: Vec<_> = lines.into_iter().map(|line| line.message).collect();
    g.call(r#"log.recent("shop", WARNING, 10)"#, list(&messages));
    Ok(())
}

pub(super) async fn common_log<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "How often each message came, this hour and the hour before: what goes wrong most. The \
         first message of an hour moves the counts aside, and of many servers that log it at \
         once just one does. Each message goes to the recent log too.",
    );
    let log = CommonLog::new(g.backend(), g.keys());
    for message in ["card refused", "bank is slow", "card refused"] {
        log.log(b"shop", &Severity::WARNING, message.as_bytes()).await?;
        g.call(&format!(r#"log.log("shop", WARNING, "{message}")"#), "counted");
    }
    let top = log.top(b"shop", &Severity::WARNING, 10).await?;
    g.call(r#"log.top("shop", WARNING, 10)"#, counted(&top.messages));
    Ok(())
}

pub(super) async fn counters<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "How often something happened, over time: one call counts in slices of several \
         lengths, from a second to a day unless you say otherwise, in one step. A cleaner \
         keeps the last 120 slices of each length.",
    );
    let counters = Counters::new(g.backend(), g.keys()).with_precisions(&[60, 3_600])?;
    counters.increment(b"orders", 1).await?;
    g.call(r#"counters.increment("orders", 1)"#, "counted, by the minute and by the hour");
    counters.increment(b"orders", 2).await?;
    g.call(r#"counters.increment("orders", 2)"#, "counted");
    let series = counters.series(b"orders", 3_600).await?;
    let sum: i64 = series.iter().map(|(_, count)| count).sum();
    g.call(r#"counters.series("orders", 3600)"#, format!("{sum} in the hours that are kept"));
    Ok(())
}

pub(super) async fn statistics<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Mean, spread and extremes of what you measure, by the hour. Only five numbers are \
         kept, however many values there are.",
    );
    let statistics = Statistics::new(g.backend(), g.keys());
    for value in [120.0, 180.0] {
        let so_far = statistics.record(b"checkout", b"ms", value).await?;
        let call = format!(r#"statistics.record("checkout", "ms", {value}.0)"#);
        g.call(&call, format!("{} so far, {} on the average", so_far.count, so_far.mean));
    }
    if let Some(s) = statistics.summary(b"checkout", b"ms").await? {
        let deviation = s.standard_deviation().unwrap_or_default();
        let answer = format!("mean {}, deviation {deviation:.1}, {} to {}", s.mean(), s.min, s.max);
        g.call(r#"statistics.summary("checkout", "ms")"#, answer);
    }
    Ok(())
}

pub(super) async fn contacts<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Whom a user wrote to last, 100 at most, to complete a name while it is typed. Whoever \
         is written to again moves to the top.",
    );
    let contacts = Contacts::new(g.backend(), g.keys());
    for name in ["Bob", "Eve", "Ben", "Bob"] {
        contacts.add(b"ada", name.as_bytes()).await?;
        g.call(&format!(r#"contacts.add("ada", "{name}")"#), "at the top now");
    }
    g.call(r#"contacts.list("ada")"#, list(&contacts.list(b"ada").await?));
    g.call(r#"contacts.suggest("ada", "b")"#, list(&contacts.suggest(b"ada", b"b").await?));
    Ok(())
}

pub(super) async fn address_book<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "The names of a large group, to complete one while it is typed. The names stand in \
         order, so that those with a prefix are read from where they begin, however many there \
         are.",
    );
    let book = AddressBook::new(g.backend(), g.keys());
    for name in ["anna", "ada", "bob", "ada"] {
        let new = book.join(b"guild", name.as_bytes()).await?;
        let answer = format!("new: {}", yes(new));
        g.call(&format!(r#"book.join("guild", "{name}")"#), answer);
    }
    g.call(r#"book.suggest("guild", "a", 10)"#, list(&book.suggest(b"guild", b"a", 10).await?));
    g.call(r#"book.members("guild")"#, book.members(b"guild").await?);
    Ok(())
}
