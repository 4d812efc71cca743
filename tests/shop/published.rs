//! The tests that the published articles come with, in our own words: login cookies, cart cookies,
//! cached requests.

use stockroom::Error;
use stockroom::backend::{Backend, Wait};
use stockroom::shop::{Cart, Keys, PageCache, Served, Sessions};

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
