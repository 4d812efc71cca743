//! Address book: members of groups, and suggestions by a range of the set.

use stockroom::Bytes;
use stockroom::backend::{Backend, Wait, cmd};
use stockroom::shop::{AddressBook, Keys, MAX_ID, SUGGESTED};

use crate::bed::{assert_invalid, each_backend, hostile_ids};

fn book<B: Backend>(backend: &B) -> AddressBook<B> {
    AddressBook::new(backend.clone(), Keys::new())
}

each_backend! {
    fn suggestions_are_the_names_with_that_beginning_in_order(backend, _clock) {
        let book = book(backend);
        let names = ["jeff", "Jenny", "JACK", "jennifer", "Jenny", "jenny", "Zoë", "ßtern", "j"];
        let new = names.map(|name| book.join(b"guild", name.as_bytes()).wait().unwrap());
        assert_eq!(new.iter().filter(|new| !**new).count(), 1);
        assert_eq!(book.members(b"guild").wait().unwrap(), 8);
        let suggest = |prefix: &str, limit| {
            let found = book.suggest(b"guild", prefix.as_bytes(), limit).wait().unwrap();
            let text = |b: &Bytes| String::from_utf8(b.to_vec()).unwrap();
            found.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(suggest("JE", 10), ["jeff", "jennifer", "Jenny", "jenny"]);
        assert_eq!(suggest("je", 2), ["jeff", "jennifer"]);
        assert_eq!(suggest("je", 0), [""; 0]);
        assert_eq!(suggest("jenny", 9), ["Jenny", "jenny"]);
        assert_eq!(suggest("ZOË", 9), ["Zoë"]);
        assert_eq!(suggest("SS", 9), ["ßtern"]);
        assert_eq!(suggest("x", 9), [""; 0]);
        assert_eq!(suggest("", SUGGESTED).len(), 8);
        assert_eq!(suggest("J", 1), ["j"]);
        assert!(book.leave(b"guild", b"Jenny").wait().unwrap());
        assert!(!book.leave(b"guild", b"Jenny").wait().unwrap());
        assert_eq!(suggest("jenny", 9), ["jenny"]);
        assert!(book.suggest(b"other", b"j", 9).wait().unwrap().is_empty());
        assert!(book.disband(b"guild").wait().unwrap());
        assert!(!backend.run(cmd::exists(b"members:guild")).wait().unwrap());
    }
}

each_backend! {
    fn a_large_group_is_read_in_one_round_trip_of_what_is_suggested(backend, _clock) {
        let book = book(backend);
        for n in 0..2_000_u32 {
            book.join(b"guild", format!("Name {:04}", n * 37 % 2_000).as_bytes()).wait().unwrap();
        }
        let before = backend.stats();
        let found = book.suggest(b"guild", b"nAmE 12", 1_000).wait().unwrap();
        assert_eq!(backend.stats().commands - before.commands, 1);
        let expected: Vec<Bytes> = (1_200..1_300).map(|n| format!("Name {n}").into()).collect();
        assert_eq!(found, expected);
    }
}

each_backend! {
    fn names_of_any_bytes_are_found_by_their_own_beginning(backend, _clock) {
        let (book, mut ids) = (book(backend), hostile_ids());
        let more = [&b"\0\0"[..], b"\x01", b"\x01\x01", b"\0\x01", b"\xff", b"\xff\xff", b"a\0b"];
        ids.extend(more.iter().map(|id| id.to_vec()));
        for group in [&b":"[..], b"{"] {
            for name in &ids {
                assert!(book.join(group, name).wait().unwrap(), "{name:?}");
            }
        }
        for name in &ids {
            let found = book.suggest(b":", name, 99).wait().unwrap();
            assert!(found.iter().any(|other| **other == **name), "{name:?}");
            // None holds a letter whose case could be another.
            assert!(found.iter().all(|other| other.starts_with(name)), "{name:?} {found:?}");
        }
        for name in &ids {
            assert!(book.leave(b":", name).wait().unwrap());
        }
        assert_eq!(book.members(b"{").wait().unwrap(), ids.len() as u64);
    }
}

each_backend! {
    fn bad_input_is_refused_before_anything_is_sent(backend, _clock) {
        let book = book(backend);
        let huge = vec![b'x'; MAX_ID + 1];
        for id in [&b""[..], &huge] {
            assert_invalid(book.join(id, b"x").wait(), "group");
            assert_invalid(book.join(b"g", id).wait(), "name");
            assert_invalid(book.leave(id, b"x").wait(), "group");
            assert_invalid(book.leave(b"g", id).wait(), "name");
            assert_invalid(book.suggest(id, b"x", 1).wait(), "group");
            assert_invalid(book.members(id).wait(), "group");
            assert_invalid(book.disband(id).wait(), "group");
        }
        assert_invalid(book.suggest(b"g", &huge, 1).wait(), "prefix");
        assert_invalid(book.suggest(b"g", b"x", SUGGESTED + 1).wait(), "limit");
        assert_eq!(backend.stats().commands, 0);
    }
}

each_backend! {
    fn foreign_member_is_shown_as_it_is(backend, _clock) {
        let book = book(backend);
        backend.run(cmd::zadd(b"members:guild", 0, b"jeff")).wait().unwrap();
        assert_eq!(book.suggest(b"guild", b"je", 9).wait().unwrap(), ["jeff"]);
    }
}
