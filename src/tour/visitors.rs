//! The part of the tour that follows a visitor: what is kept for somebody who looks and buys.

use std::time::Duration;

use super::guide::{Guide, counted, list, or_nobody};
use crate::backend::Backend;
use crate::shop::{
    Cart, Columns, PageCache, Popularity, Purchases, RowCache, RowOutcome, RowStep, Served,
    Sessions,
};
use crate::{Bytes, Error, Result};

pub(super) async fn sessions<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Who is logged in, and what each visitor looked at last. The browser keeps only a \
         token, in a cookie; all else is here, so any web server can answer any visitor. A \
         cleaner drops the sessions that were not used for longest, so that ten million are \
         kept and no more.",
    );
    let sessions = Sessions::new(g.backend(), g.keys());
    sessions.touch(b"t1", b"ada", Some(b"cup")).await?;
    g.call(r#"sessions.touch("t1", "ada", Some("cup"))"#, "noted: she is here, and saw a cup");
    sessions.touch(b"t1", b"ada", Some(b"teapot")).await?;
    g.call(r#"sessions.touch("t1", "ada", Some("teapot"))"#, "noted");
    let user = sessions.check(b"t1").await?;
    g.call(r#"sessions.check("t1")"#, or_nobody(user.as_ref()));
    let user = sessions.check(b"t2").await?;
    g.call(r#"sessions.check("t2")"#, or_nobody(user.as_ref()));
    let items = sessions.recently_viewed(b"t1").await?;
    g.call(r#"sessions.recently_viewed("t1")"#, list(&items));
    let cleaned = sessions.clean_step().await?;
    let answer = format!("{} dropped, {} left", cleaned.removed, cleaned.left);
    g.call("sessions.clean_step()", answer);
    Ok(())
}

pub(super) async fn cart<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "What a visitor wants to buy. It belongs to the session's token, so it works before \
         anybody logs in, and goes when the session does.",
    );
    let cart = Cart::new(g.backend(), g.keys());
    cart.set(b"t1", b"teapot", 1).await?;
    g.call(r#"cart.set("t1", "teapot", 1)"#, "set");
    g.call(r#"cart.add("t1", "cup", 2)"#, cart.add(b"t1", b"cup", 2).await?);
    g.call(r#"cart.add("t1", "cup", 2)"#, cart.add(b"t1", b"cup", 2).await?);
    cart.set(b"t1", b"teapot", 0).await?;
    g.call(r#"cart.set("t1", "teapot", 0)"#, "none of it any more: it leaves the cart");
    g.call(r#"cart.items("t1")"#, counted(&cart.items(b"t1").await?));
    Ok(())
}

pub(super) async fn page_cache<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Rendered pages of popular items, for five minutes each. Most visitors look at the \
         same few items, so most pages need not be rendered again. Only a page whose URL names \
         one of the 10,000 most viewed items is kept; and when many ask for one at once, it is \
         rendered once.",
    );
    let sessions = Sessions::new(g.backend(), g.keys());
    let pages = PageCache::new(g.backend(), g.keys());
    sessions.touch(b"t1", b"ada", Some(b"teapot")).await?;
    g.call(r#"sessions.touch("t1", "ada", Some("teapot"))"#, "noted: the teapot is popular");
    let render = || async { Ok::<_, Error>(Bytes::from("<h1>A teapot</h1>")) };
    for url in ["/?item=teapot", "/?item=teapot", "/about"] {
        let page = pages.fetch(url.as_bytes(), render).await?;
        let how = match page.served {
            Served::Hit | Served::Shared => "from the cache, nothing was rendered",
            Served::Rendered => "rendered, and kept",
            Served::Unstored => "rendered, but it could not be kept",
            Served::Uncacheable => "rendered; such a page is not kept",
        };
        g.call(&format!(r#"pages.fetch("{url}", render)"#), how);
    }
    Ok(())
}

pub(super) async fn row_cache<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "Rows of the database as JSON, each loaded again at a pace of its own: a stock every \
         few seconds, a description every hour. Pages read the copies and leave the database \
         alone. Daemons do the loading, as many as you like: each row that is due is loaded by \
         one.",
    );
    let rows = RowCache::new(g.backend(), g.keys());
    let database = |_row: Bytes| async {
        let columns = [("name", "Teapot".into()), ("stock", 7.into())];
        Ok(Some(columns.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()))
            as Result<Option<Columns>>
    };
    rows.schedule(b"teapot", Duration::from_secs(5)).await?;
    g.call(r#"rows.schedule("teapot", 5 s)"#, "due now, and every 5 s from then on");
    for _ in 0..2 {
        let step = match rows.refresh_step(&database).await? {
            RowStep::Row { outcome: RowOutcome::Cached, .. } => "the teapot is loaded",
            RowStep::Idle(Some(_)) => "nothing to do: no row is due",
            _ => "nothing was loaded",
        };
        g.call("rows.refresh_step(database)", step);
    }
    let copy = rows.get(b"teapot").await?.unwrap_or_default();
    g.call(r#"rows.get("teapot")"#, list(&[copy]));
    Ok(())
}

pub(super) async fn popularity<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "What is viewed most. Every five minutes all numbers are halved and all but the best \
         20,000 items dropped, in one step: what rises today can pass what was popular last \
         year. The numbers are kept negative, so that the most viewed item has rank 0.",
    );
    let sessions = Sessions::new(g.backend(), g.keys());
    let popularity = Popularity::new(g.backend(), g.keys());
    for (token, item) in [("t1", "cup"), ("t1", "teapot"), ("t2", "teapot")] {
        sessions.touch(token.as_bytes(), b"ada", Some(item.as_bytes())).await?;
        g.call(&format!(r#"sessions.touch("{token}", "ada", Some("{item}"))"#), "viewed once more");
    }
    g.call("popularity.top(10)", counted(&popularity.top(10).await?));
    let rank = popularity.rank(b"cup").await?;
    let rank = rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    g.call(r#"popularity.rank("cup")"#, format!("{rank}, where 0 is the best"));
    let left = popularity.rescale(1).await?;
    g.call("popularity.rescale(1)", format!("halved, {left} items left"));
    g.call("popularity.top(10)", counted(&popularity.top(10).await?));
    Ok(())
}

pub(super) async fn purchases<B: Backend>(g: &mut Guide<'_, B>) -> Result<()> {
    g.say(
        "What was bought: which share of those who looked at an item bought it, and what they \
         bought with it. The cart becomes an order in one step, under an id of yours: sent \
         again after a lost reply, it counts once.",
    );
    let cart = Cart::new(g.backend(), g.keys());
    let purchases = Purchases::new(g.backend(), g.keys());
    for token in ["t1", "t2"] {
        purchases.look(token.as_bytes(), b"teapot").await?;
        g.call(&format!(r#"purchases.look("{token}", "teapot")"#), "noted");
    }
    cart.set(b"t1", b"teapot", 1).await?;
    g.call(r#"cart.set("t1", "teapot", 1)"#, "set");
    cart.set(b"t1", b"cup", 4).await?;
    g.call(r#"cart.set("t1", "cup", 4)"#, "set");
    for _ in 0..2 {
        let order = purchases.purchase(b"t1", b"order 1").await?;
        let bought = counted(&order.items);
        let again = if order.repeated { ": made before, counted once" } else { " bought" };
        g.call(r#"purchases.purchase("t1", "order 1")"#, format!("{bought}{again}"));
    }
    let left = cart.items(b"t1").await?;
    g.call(r#"cart.items("t1")"#, counted(&left));
    let asked = purchases.conversion(b"teapot").await?;
    let answer = format!("{} of {} who looked bought it", asked.buyers, asked.lookers);
    g.call(r#"purchases.conversion("teapot")"#, answer);
    let also = purchases.also_bought(b"teapot", 5).await?;
    let also: Vec<Bytes> = also.into_iter().map(|(item, _)| item).collect();
    g.call(r#"purchases.also_bought("teapot", 5)"#, list(&also));
    Ok(())
}
