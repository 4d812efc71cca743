//! Recent contacts: order, number, suggestions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{CONTACTS_KEPT, Contacts, Keys, MAX_ID};
use stockroom::{Bytes, ErrorKind};

use crate::bed::{assert_invalid, each_backend, hostile_ids};
use crate::interpose::{Fate, Interposed, Step};

fn contacts<B: Backend>(backend: &B) -> Contacts<B> {
    Contacts::new(backend.clone(), Keys::new())
}

each_backend! {
    fn newest_comes_first_once_and_a_hundred_are_kept(backend, _clock) {
        let contacts = contacts(backend);
        assert!(contacts.list(b"ada").wait().unwrap().is_empty());
        for n in 0..150 {
            contacts.add(b"ada", format!("friend {n}").as_bytes()).wait().unwrap();
        }
        let list = contacts.list(b"ada").wait().unwrap();
        assert_eq!(list.len(), CONTACTS_KEPT);
        let newest: Vec<Bytes> = (50..150).rev().map(|n| format!("friend {n}").into()).collect();
        assert_eq!(list, newest);
        let before = backend.stats();
        contacts.add(b"ada", b"friend 70").wait().unwrap();
        let after = backend.stats();
        assert_eq!(after.round_trips - before.round_trips, 1);
        assert_eq!(after.commands - before.commands, 3);
        let list = contacts.list(b"ada").wait().unwrap();
        assert_eq!((list.len(), &list[0], &list[1]), (100, &newest[79], &newest[0]));
        assert!(contacts.list(b"bob").wait().unwrap().is_empty());
    }
}

each_backend! {
    fn removed_contact_is_gone(backend, _clock) {
        let contacts = contacts(backend);
        for name in [b"x", b"y", b"z"] {
            contacts.add(b"ada", name).wait().unwrap();
        }
        assert!(contacts.remove(b"ada", b"y").wait().unwrap());
        assert!(!contacts.remove(b"ada", b"y").wait().unwrap());
        assert_eq!(contacts.list(b"ada").wait().unwrap(), ["z", "x"]);
        assert!(contacts.clear(b"ada").wait().unwrap());
        assert!(!contacts.clear(b"ada").wait().unwrap());
        assert!(!backend.run(cmd::exists(b"contacts:ada")).wait().unwrap());
    }
}

each_backend! {
    fn suggestions_ignore_case_in_any_script_and_keep_the_order(backend, _clock) {
        let contacts = contacts(backend);
        let names = ["Ärger", "ärmel", "STRASSE", "Straße", "Οδυσσεύς", "İnci", "inga", "Ёж"];
        for name in names {
            contacts.add(b"ada", name.as_bytes()).wait().unwrap();
        }
        let suggest = |prefix: &str| {
            let found = contacts.suggest(b"ada", prefix.as_bytes()).wait().unwrap();
            let text = |b: &Bytes| String::from_utf8(b.to_vec()).unwrap();
            found.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(suggest("ÄR"), ["ärmel", "Ärger"]);
        assert_eq!(suggest("strass"), ["Straße", "STRASSE"]);
        assert_eq!(suggest("STRAß"), ["Straße", "STRASSE"]);
        assert_eq!(suggest("ΟΔΥΣ"), ["Οδυσσεύς"]);
        assert_eq!(suggest("IN"), ["inga", "İnci"]);
        assert_eq!(suggest("ёЖ"), ["Ёж"]);
        assert_eq!(suggest("a"), [""; 0]);
        let newest_first: Vec<&str> = names.into_iter().rev().collect();
        assert_eq!(suggest(""), newest_first);
    }
}

each_backend! {
    fn contacts_of_any_bytes_are_contacts(backend, _clock) {
        let (contacts, ids) = (contacts(backend), hostile_ids());
        for user in &ids {
            for contact in &ids {
                contacts.add(user, contact).wait().unwrap();
            }
        }
        let newest: Vec<&[u8]> = ids.iter().rev().map(|id| &**id).collect();
        for user in &ids {
            assert_eq!(contacts.list(user).wait().unwrap(), newest);
            let found = contacts.suggest(user, b"\xff").wait().unwrap();
            assert_eq!(found, [&b"\xff\xfe"[..]]);
        }
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let contacts = contacts(backend);
        let huge = vec![b'x'; MAX_ID + 1];
        for id in [&b""[..], &huge] {
            assert_invalid(contacts.add(id, b"x").wait(), "user");
            assert_invalid(contacts.add(b"ada", id).wait(), "contact");
            assert_invalid(contacts.remove(id, b"x").wait(), "user");
            assert_invalid(contacts.remove(b"ada", id).wait(), "contact");
            assert_invalid(contacts.list(id).wait(), "user");
            assert_invalid(contacts.clear(id).wait(), "user");
            assert_invalid(contacts.suggest(id, b"x").wait(), "user");
        }
        assert_invalid(contacts.suggest(b"ada", &huge).wait(), "prefix");
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn adding_can_be_repeated_after_a_lost_reply(backend, _clock) {
        let lose = AtomicBool::new(true);
        let hook = move |_: &Step| {
            if lose.swap(false, Ordering::SeqCst) { Fate::LoseReply } else { Fate::Pass }
        };
        let lossy = contacts(&Interposed::new(backend.clone(), hook));
        let error = lossy.add(b"ada", b"bob").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        lossy.add(b"ada", b"bob").wait().unwrap();
        assert_eq!(lossy.list(b"ada").wait().unwrap(), ["bob"]);
    }
}

each_backend! {
    fn list_is_never_too_long_nor_holds_a_contact_twice_whoever_adds(backend, _clock) {
        let contacts = contacts(backend);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4_u32)
                .map(|thread| {
                    let contacts = &contacts;
                    scope.spawn(move || {
                        for n in 0..300 {
                            let name = format!("{}", (n * (thread + 7)) % 130);
                            contacts.add(b"ada", name.as_bytes()).wait().unwrap();
                            if n % 10 == 0 {
                                contacts.remove(b"ada", name.as_bytes()).wait().unwrap();
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    // All there is, not only what the feature shows.
                    let all: Vec<Bytes> =
                        backend.run(cmd::lrange(b"contacts:ada", 0, -1)).wait().unwrap();
                    assert!(all.len() <= CONTACTS_KEPT);
                    let mut once = all.clone();
                    once.sort();
                    once.dedup();
                    assert_eq!(once.len(), all.len());
                }
            });
            let ends: Vec<_> = writers.into_iter().map(ScopedJoinHandle::join).collect();
            done.store(true, Ordering::SeqCst);
            ends.into_iter().for_each(|end| end.unwrap());
        });
    }
}
