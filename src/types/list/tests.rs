//! [`List`] against std's deque, and what it takes.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn elements(list: &List) -> Vec<Vec<u8>> {
    list.iter().map(<[u8]>::to_vec).collect()
}

#[derive(Clone, Debug)]
enum Op {
    PushFront(Vec<u8>),
    PushBack(Vec<u8>),
    PushMany(u16, u16, bool),
    PopFront(u16),
    PopBack(u16),
    Set(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    RemoveEqual(Vec<u8>, usize, bool),
}

fn element() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0u8..4, 0usize..4).prop_map(|(b, n)| vec![b; n]),
        4 => (any::<u8>(), 0usize..300).prop_map(|(b, n)| vec![b; n]),
        1 => (any::<u8>(), 4000usize..9000).prop_map(|(b, n)| vec![b; n]),
        1 => (any::<u8>(), 16_300usize..70_000).prop_map(|(b, n)| vec![b; n]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let at = || any::<proptest::sample::Index>().prop_map(|i| i.index(1 << 20));
    prop_oneof![
        element().prop_map(Op::PushFront),
        element().prop_map(Op::PushBack),
        (0u16..400, 0u16..60, any::<bool>())
            .prop_map(|(n, len, front)| Op::PushMany(n, len, front)),
        (1u16..300).prop_map(Op::PopFront),
        (1u16..300).prop_map(Op::PopBack),
        (at(), element()).prop_map(|(at, e)| Op::Set(at, e)),
        (at(), element()).prop_map(|(at, e)| Op::Insert(at, e)),
        (at(), 0usize..200).prop_map(|(at, n)| Op::Remove(at, n)),
        (element(), 0usize..5, any::<bool>()).prop_map(|(e, n, t)| Op::RemoveEqual(e, n * n, t)),
    ]
}

/// A position up to the length, from any number.
fn place(at: usize, len: usize) -> usize {
    at % (len + 1)
}

fn apply(list: &mut List, model: &mut VecDeque<Vec<u8>>, op: Op) {
    match op {
        Op::PushFront(e) => {
            list.push_front(&e);
            model.push_front(e);
        }
        Op::PushBack(e) => {
            list.push_back(&e);
            model.push_back(e);
        }
        Op::PushMany(n, len, front) => {
            for i in 0..n {
                let e = vec![(i % 7) as u8; usize::from(len)];
                apply(list, model, if front { Op::PushFront(e) } else { Op::PushBack(e) });
            }
        }
        Op::PopFront(n) => (0..n).for_each(|_| {
            assert_eq!(list.pop_front().map(Bytes::into_vec), model.pop_front());
        }),
        Op::PopBack(n) => (0..n).for_each(|_| {
            assert_eq!(list.pop_back().map(Bytes::into_vec), model.pop_back());
        }),
        Op::Set(at, e) => {
            let at = place(at, model.len());
            assert_eq!(list.set(at, &e), at < model.len());
            if let Some(old) = model.get_mut(at) {
                *old = e;
            }
        }
        Op::Insert(at, e) => {
            let at = place(at, model.len());
            list.insert(at, &e);
            model.insert(at, e);
        }
        Op::Remove(at, n) => {
            let at = place(at, model.len());
            let end = (at + n).min(model.len());
            assert_eq!(list.remove_range(at..at + n), end - at);
            model.drain(at..end);
        }
        Op::RemoveEqual(e, most, from_tail) => {
            let mut equal: Vec<usize> = (0..model.len()).filter(|i| model[*i] == e).collect();
            if from_tail {
                equal.reverse();
            }
            equal.truncate(most);
            equal.sort_unstable();
            assert_eq!(list.remove_equal(&e, most, from_tail), equal.len());
            for at in equal.into_iter().rev() {
                model.remove(at);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn behaves_as_a_deque(
        ops in proptest::collection::vec(op(), 1..60),
        probes in proptest::collection::vec((0usize..1 << 20, 0usize..1 << 20), 4),
    ) {
        let (mut list, mut model) = (List::default(), VecDeque::new());
        for op in ops {
            apply(&mut list, &mut model, op);
            list.check_invariants();
            prop_assert_eq!(list.len(), model.len());
        }
        prop_assert!(list.iter().eq(model.iter().map(Vec::as_slice)));
        prop_assert!(list.iter_rev().eq(model.iter().rev().map(Vec::as_slice)));
        for (from, to) in probes {
            let (from, to) = (place(from, model.len()), place(to, model.len()));
            let (from, to) = (from.min(to), from.max(to));
            prop_assert_eq!(list.get(from), model.get(from).map(Vec::as_slice));
            prop_assert!(list.iter_from(from).eq(model.range(from..).map(Vec::as_slice)));
            let range = list.iter_range(from..to);
            prop_assert_eq!(range.len(), to - from);
            prop_assert!(range.clone().eq(model.range(from..to).map(Vec::as_slice)));
            prop_assert!(range.rev().eq(model.range(from..to).rev().map(Vec::as_slice)));
        }
    }
}

#[test]
fn both_ends_of_an_iterator_meet() {
    for n in [0u32, 1, 5, 5000] {
        let mut list = List::default();
        (0..n).for_each(|i| list.push_back(i.to_string().as_bytes()));
        let (mut iter, mut seen) = (list.iter(), 0);
        while iter.next().is_some() {
            seen += 1 + u32::from(iter.next_back().is_some());
        }
        assert_eq!((seen, iter.next(), iter.next_back()), (n, None, None));
    }
}

#[test]
fn a_list_of_few_small_elements_is_one_small_buffer() {
    let mut list = List::default();
    for e in ["item:1", "item:2", "item:3"] {
        list.push_front(e.as_bytes());
    }
    assert!(matches!(list.0, Repr::Small(_)));
    assert!(list.heap_size() <= 48, "{} bytes", list.heap_size());
}

#[test]
fn a_trimmed_log_keeps_its_size() {
    let mut list = List::default();
    for i in 0..20_000 {
        list.push_front(format!("event {i} of a log").as_bytes());
        list.remove_range(100..usize::MAX);
    }
    assert_eq!((list.len(), list.get(99)), (100, Some(&b"event 19900 of a log"[..])));
    assert!(list.heap_size() <= 4096, "{} bytes", list.heap_size());
}

#[test]
fn a_queue_gives_back_what_it_used() {
    let mut list = List::default();
    for i in 0..100_000u32 {
        list.push_back(&i.to_le_bytes());
    }
    assert!(list.heap_size() < 100_000 * 8, "{} bytes", list.heap_size());
    for i in 0..99_990u32 {
        assert_eq!(list.pop_front().as_deref(), Some(&i.to_le_bytes()[..]));
    }
    list.check_invariants();
    assert!(matches!(list.0, Repr::Small(_)));
    assert!(list.heap_size() < 512, "{} bytes", list.heap_size());
}

#[test]
fn removal_from_the_middle_leaves_no_crumbs() {
    let mut list = List::default();
    for i in 0..100_000u32 {
        list.push_back(if i % 100 == 0 { b"kept" } else { b"gone" });
    }
    assert_eq!(list.remove_equal(b"gone", usize::MAX, false), 99_000);
    list.check_invariants();
    assert_eq!(elements(&list), vec![b"kept"; 1000]);
    assert!(list.heap_size() < 20_000, "{} bytes", list.heap_size());
}
