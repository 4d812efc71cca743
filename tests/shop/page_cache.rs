//! Page cache: what is cached, for how long, and one render when many miss together.

use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use stockroom::backend::{Backend, Wait};
use stockroom::shop::{Keys, PageCache, Served, Sessions};
use stockroom::{Bytes, Error, ErrorKind, Result};

use crate::bed::{assert_invalid, each_backend};
use crate::interpose::{Fate, Interposed, Step};

fn page(text: &str) -> Ready<Result<Bytes>> {
    ready(Ok(text.into()))
}

fn view<B: Backend>(backend: &B, item: &[u8]) {
    Sessions::new(backend.clone(), Keys::new()).touch(b"t", b"user", Some(item)).wait().unwrap();
}

each_backend! {
    fn page_is_kept_for_five_minutes(backend, clock) {
        view(backend, b"a");
        let cache = PageCache::new(backend.clone(), Keys::new());
        let url = b"/?item=a";
        assert_eq!(cache.fetch(url, || page("1")).wait().unwrap().served, Served::Rendered);
        clock.advance_secs(300);
        assert_eq!(cache.fetch(url, || page("2")).wait().unwrap().body, "1");
        clock.advance(Duration::from_millis(1));
        assert_eq!(cache.fetch(url, || page("3")).wait().unwrap().body, "3");
        assert!(cache.forget(url).wait().unwrap());
        assert_eq!(cache.fetch(url, || page("4")).wait().unwrap().body, "4");
    }
}

each_backend! {
    fn empty_page_is_a_hit_like_any_other(backend, _clock) {
        view(backend, b"a");
        let cache = PageCache::new(backend.clone(), Keys::new());
        cache.fetch(b"/?item=a", || page("")).wait().unwrap();
        let again = cache.fetch(b"/?item=a", || page("no")).wait().unwrap();
        assert_eq!((again.body, again.served), (Bytes::EMPTY, Served::Hit));
    }
}

each_backend! {
    fn hit_is_one_round_trip(backend, _clock) {
        view(backend, b"a");
        let cache = PageCache::new(backend.clone(), Keys::new());
        cache.fetch(b"/?item=a", || page("x")).wait().unwrap();
        let before = backend.stats().round_trips;
        cache.fetch(b"/?item=a", || page("x")).wait().unwrap();
        assert_eq!(backend.stats().round_trips, before + 1);
    }
}

each_backend! {
    fn failing_render_caches_nothing_and_its_error_is_the_answer(backend, _clock) {
        #[derive(Debug, PartialEq)]
        struct OutOfPaper;
        impl From<Error> for OutOfPaper {
            fn from(_: Error) -> Self {
                Self
            }
        }
        view(backend, b"a");
        let cache = PageCache::new(backend.clone(), Keys::new());
        let failed = cache.fetch(b"/?item=a", || async { Err(OutOfPaper) }).wait();
        assert_eq!(failed, Err(OutOfPaper));
        let page = cache.fetch(b"/?item=a", || page("x")).wait().unwrap();
        assert_eq!(page.served, Served::Rendered);
    }
}

each_backend! {
    fn page_that_cannot_be_stored_is_served_all_the_same(backend, _clock) {
        view(backend, b"a");
        for fate in [Fate::NotSent, Fate::LoseReply, Fate::Refuse("OOM command not allowed")] {
            let hook = move |step: &Step| match step {
                Step::Send(names) if names[..] == ["SET"] => fate,
                _ => Fate::Pass,
            };
            let cache = PageCache::new(Interposed::new(backend.clone(), hook), Keys::new());
            let page = cache.fetch(b"/?item=a", || page("x")).wait().unwrap();
            assert_eq!((page.body, page.served), ("x".into(), Served::Unstored));
            let stored = cache.forget(b"/?item=a").wait().unwrap();
            assert_eq!(stored, fate == Fate::LoseReply);
        }
    }
}

each_backend! {
    fn look_into_the_cache_that_fails_renders_nothing(backend, _clock) {
        view(backend, b"a");
        for (lost, names) in [(1, vec!["GET", "ZRANK"]), (2, vec!["GET"])] {
            let hook = move |step: &Step| match step {
                Step::Send(sent) if *sent == names => Fate::LoseReply,
                _ => Fate::Pass,
            };
            let cache = PageCache::new(Interposed::new(backend.clone(), hook), Keys::new());
            let never = || async { panic!("rendered although look {lost} failed") };
            let error: Error = cache.fetch(b"/?item=a", never).wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
        }
    }
}

each_backend! {
    fn only_pages_of_popular_items_are_cached(backend, _clock) {
        for item in [&b"a"[..], b"a", b"b"] {
            view(backend, item);
        }
        let cache = PageCache::new(backend.clone(), Keys::new()).with_ranks(1);
        let served = |url: &[u8]| cache.fetch(url, || page("x")).wait().unwrap().served;
        assert_eq!(served(b"/?item=a"), Served::Rendered);
        assert_eq!(served(b"/?item=b"), Served::Uncacheable);
        assert_eq!(served(b"/?item=never-viewed"), Served::Uncacheable);
        // An item that has lost its rank is no longer served from the cache.
        view(backend, b"b");
        view(backend, b"b");
        assert_eq!(served(b"/?item=a"), Served::Uncacheable);
    }
}

each_backend! {
    fn urls_without_meaning_are_rendered_and_harmless(backend, _clock) {
        let cache = PageCache::new(backend.clone(), Keys::new());
        for url in [&b""[..], b"?", b"\xff\0", b"http://", b"?item", b"?item=%", b"#?item=a"] {
            let served = cache.fetch(url, || page("x")).wait().unwrap().served;
            assert_eq!(served, Served::Uncacheable);
        }
        let huge = [b"/?item=a&x=".to_vec(), vec![b'x'; 100_000]].concat();
        let served = cache.fetch(&huge, || page("x")).wait().unwrap().served;
        assert_eq!(served, Served::Uncacheable);
        for ttl in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
            let cache = PageCache::new(backend.clone(), Keys::new());
            assert_invalid(cache.with_ttl(ttl).map(|_| ()), "time to live");
        }
    }
}

each_backend! {
    fn many_that_miss_together_render_once(backend, _clock) {
        view(backend, b"a");
        let cache = PageCache::new(backend.clone(), Keys::new());
        let renders = AtomicU32::new(0);
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    let render = || async {
                        renders.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(20));
                        page("x").await
                    };
                    let page = cache.fetch(b"/?item=a", render).wait().unwrap();
                    assert_eq!(page.body, "x");
                });
            }
        });
        assert_eq!(renders.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn when_the_rendering_call_is_dropped_or_fails_another_takes_over() {
    let (memory, _env) = crate::bed::memory();
    view(&memory, b"a");
    let cache = PageCache::new(memory, Keys::new());
    let mut cx = Context::from_waker(Waker::noop());
    let url = b"/?item=a";
    let mut leader = Box::pin(cache.fetch(url, || async {
        std::future::pending::<()>().await;
        page("never").await
    }));
    let mut failing =
        pin!(cache.fetch(url, || async { Err(Error::new(ErrorKind::Callback, "no")) }));
    let mut third = pin!(cache.fetch(url, || page("third")));
    assert!(leader.as_mut().poll(&mut cx).is_pending());
    assert!(failing.as_mut().poll(&mut cx).is_pending());
    assert!(third.as_mut().poll(&mut cx).is_pending());
    drop(leader);
    let Poll::Ready(Err(error)) = failing.as_mut().poll(&mut cx) else { panic!("it leads now") };
    assert_eq!(error.kind(), ErrorKind::Callback);
    let Poll::Ready(Ok(page)) = third.as_mut().poll(&mut cx) else { panic!("it leads now") };
    assert_eq!((page.body, page.served), ("third".into(), Served::Rendered));
}
