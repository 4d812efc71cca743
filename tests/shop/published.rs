//! The tests that the published articles come with, in our own words: login cookies, cart cookies,
//! cached requests, cached rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stockroom::backend::{Backend, Wait};
use stockroom::shop::{Cart, Keys, PageCache, RowCache, RowStep, Served, Sessions};
use stockroom::{Bytes, Error};

use crate::bed::each_backend;

fn clean_all<B: Backend>(sessions: &Sessions<B>) {
    while sessions.clean_step().wait().unwrap().more {}
}

each_backend! {
    fn login_cookies(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        let token = b"3a7f8ae9-2e1c-4d0c-9f2a-8f5d3a1b7c60";
        sessions.touch(token, b"username", Some(b"itemX")).wait().unwrap();
        assert_eq!(sessions.check(token).wait().unwrap().unwrap(), "username");
        assert_eq!(sessions.check(b"another").wait().unwrap(), None);
        clean_all(&sessions.clone().with_limit(0));
        assert_eq!(sessions.check(token).wait().unwrap(), None);
        assert_eq!(sessions.count().wait().unwrap(), 0);
        assert!(sessions.recently_viewed(token).wait().unwrap().is_empty());
    }
}

each_backend! {
    fn shopping_cart_cookies(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        let cart = Cart::new(backend.clone(), Keys::new());
        let token = b"3a7f8ae9-2e1c-4d0c-9f2a-8f5d3a1b7c60";
        sessions.touch(token, b"username", Some(b"itemX")).wait().unwrap();
        cart.set(token, b"itemY", 3).wait().unwrap();
        assert_eq!(cart.items(token).wait().unwrap(), [("itemY".into(), 3)]);
        clean_all(&sessions.with_limit(0));
        assert!(cart.items(token).wait().unwrap().is_empty());
    }
}

each_backend! {
    fn cached_requests(backend, _clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new());
        sessions.touch(b"token", b"username", Some(b"itemX")).wait().unwrap();
        let cache = PageCache::new(backend.clone(), Keys::new());
        let url = b"http://test.com/?item=itemX";
        let render = || async { Ok::<_, Error>("content for itemX".into()) };
        let first = cache.fetch(url, render).wait().unwrap();
        assert_eq!(first.served, Served::Rendered);
        let other = || async { Ok::<_, Error>("something else".into()) };
        let second = cache.fetch(url, other).wait().unwrap();
        assert_eq!((second.body, second.served), (first.body, Served::Hit));
        for uncacheable in [&b"http://test.com/"[..], b"http://test.com/?item=itemX&_=1234536"] {
            let page = cache.fetch(uncacheable, other).wait().unwrap();
            assert_eq!((page.body, page.served), ("something else".into(), Served::Uncacheable));
        }
    }
}

each_backend! {
    fn cached_rows(backend, clock) {
        let stock = Arc::new(AtomicU64::new(1));
        let inventory = {
            let stock = Arc::clone(&stock);
            move |row: Bytes| {
                let row = String::from_utf8_lossy(&row).into_owned();
                let n = stock.load(Ordering::SeqCst);
                let columns = [("id".to_owned(), row.into()), ("cached".to_owned(), n.into())];
                async move { Ok::<_, Error>(Some(columns.into_iter().collect())) }
            }
        };
        let rows = RowCache::new(backend.clone(), Keys::new());
        let drain = || {
            let step = || rows.refresh_step(&inventory).wait().unwrap();
            while !matches!(step(), RowStep::Idle(_)) {}
        };
        rows.schedule(b"itemX", Duration::from_secs(5)).wait().unwrap();
        drain();
        let first = rows.get(b"itemX").wait().unwrap().unwrap();
        assert_eq!(first, r#"{"id":"itemX","cached":1}"#);
        stock.store(2, Ordering::SeqCst);
        clock.advance_secs(1);
        drain();
        assert_eq!(rows.get(b"itemX").wait().unwrap(), Some(first));
        clock.advance_secs(5);
        drain();
        let second = rows.get(b"itemX").wait().unwrap().unwrap();
        assert_eq!(second, r#"{"id":"itemX","cached":2}"#);
        rows.schedule_secs(b"itemX", -1.0).wait().unwrap();
        drain();
        assert_eq!(rows.get(b"itemX").wait().unwrap(), None);
    }
}
