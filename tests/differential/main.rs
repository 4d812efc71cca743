//! The engine against a real redis-server: random command lines from the table's grammar, on two to
//! four interleaved connections, under one clock that both follow to the millisecond. Every reply
//! must be the same, and so must all that is stored at the end.
//!
//! A failure is shrunk to a short list of steps and printed, with the seed that repeats it. Without
//! a redis-server the comparison is skipped, loudly; the offline properties still run.

#[path = "../support/mod.rs"]
mod support;

mod equal;
mod peers;
mod steps;

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use stockroom::commands::{self, Flags};
use stockroom::resp::Value;
use stockroom::{Engine, Env, WireError};

use crate::support::OurSide;
use peers::Peers;
use steps::{Step, Steps};

/// How many random commands are compared; `STOCKROOM_DIFF_COMMANDS` sets another number.
const COMMANDS: u64 = 200_000;

fn commands_wanted() -> u64 {
    std::env::var("STOCKROOM_DIFF_COMMANDS").map_or(COMMANDS, |n| {
        n.parse().unwrap_or_else(|_| panic!("STOCKROOM_DIFF_COMMANDS={n}: expected a number"))
    })
}

/// What all choices follow from: `STOCKROOM_DIFF_SEED`, or another number in each run.
fn seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| match std::env::var("STOCKROOM_DIFF_SEED") {
        Ok(n) => n.parse().unwrap_or_else(|_| panic!("STOCKROOM_DIFF_SEED={n}: expected a number")),
        Err(_) => Env::system().below(u64::MAX),
    });
    *SEED
}

fn config(cases: u32) -> Config {
    // Shown only when the test fails.
    println!("STOCKROOM_DIFF_SEED={} repeats this run", seed());
    Config {
        cases,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed()),
        ..Config::default()
    }
}

/// Does a list of steps on both sides, as far as they agree: how many commands that were, and the
/// first difference.
fn compare(peers: &mut Peers, list: &[Step]) -> (u64, Result<(), String>) {
    peers.reset();
    let mut sent = 0;
    for step in list {
        if !peers.can_do(step) {
            continue;
        }
        sent += u64::from(matches!(step, Step::Call { .. }));
        if let Err(why) = peers.step(step) {
            return (sent, Err(why));
        }
    }
    (sent, peers.compare_keys())
}

/// The shortest list found for which `compare` finds a difference, and that difference.
type Found = Option<(String, Vec<Step>)>;

/// Compares random lists until so many commands have been sent: how many that were, and what was
/// found.
fn search(
    lists: &impl Strategy<Value = Steps>,
    wanted: u64,
    compare: impl FnMut(&[Step]) -> (u64, Result<(), String>),
) -> (u64, Found) {
    let (sent, failed) = (Cell::new(0), Cell::new(false));
    let compare = RefCell::new(compare);
    let result = TestRunner::new(config(u32::MAX)).run(lists, |Steps(list)| {
        // Once a list has failed, shorter ones are tried, however many.
        if !failed.get() && sent.get() >= wanted {
            return Err(TestCaseError::reject("enough"));
        }
        let (done, compared) = compare.borrow_mut()(&list);
        if !failed.get() {
            sent.set(sent.get() + done);
            failed.set(compared.is_err());
        }
        compared.map_err(TestCaseError::fail)
    });
    match result {
        Err(TestError::Fail(why, Steps(list))) => (sent.get(), Some((why.to_string(), list))),
        // Rejecting is how the runner is stopped once enough has been sent.
        _ => (sent.get(), None),
    }
}

#[test]
fn random_commands_get_the_same_replies_and_leave_the_same_keys() {
    compare_random(&steps::lists(), commands_wanted());
}

/// A tenth as many, but about those who wait, on few keys.
#[test]
fn those_who_wait_are_served_alike() {
    compare_random(&steps::lists_of_waiting(), commands_wanted() / 10);
}

/// As many as those about who waits.
#[test]
fn those_who_listen_hear_the_same() {
    compare_random(&steps::lists_of_messages(), commands_wanted() / 10);
}

fn compare_random(lists: &impl Strategy<Value = Steps>, wanted: u64) {
    let Some(mut peers) = Peers::start() else { return };
    let (sent, found) = search(lists, wanted, |list| compare(&mut peers, list));
    if let Some((why, list)) = found {
        let lines: Vec<String> = list.iter().map(|step| format!("  {step:?}")).collect();
        let steps = lines.join("\n");
        panic!("{why}\nafter these steps (STOCKROOM_DIFF_SEED={}):\n{steps}", seed());
    }
    assert!(sent >= wanted, "only {sent} commands were compared");
    eprintln!("compared {sent} random commands with redis-server: no difference");
}

#[test]
fn a_difference_is_shrunk_however_late_it_is_found_and_the_seed_repeats_it() {
    let four_fail = |list: &[Step]| {
        let long = if list.len() < 4 { Ok(()) } else { Err("four steps".to_string()) };
        (list.len() as u64, long)
    };
    let (_, found) = search(&steps::lists(), 1, four_fail);
    let (why, list) = found.expect("most lists are longer");
    assert!(why.contains("four steps"), "{why}");
    assert_eq!(list.len(), 4);
    let again = search(&steps::lists(), 1, four_fail).1.map(|(_, list)| format!("{list:?}"));
    assert_eq!(again, Some(format!("{list:?}")));
    assert_eq!(
        search(&steps::lists(), 500, |list| (list.len() as u64, Ok(()))).1.map(|(why, _)| why),
        None
    );
}

proptest! {
    #![proptest_config(config(150))]

    /// Whatever is sent, the engine answers without a panic and stays sound.
    #[test]
    fn no_command_line_breaks_the_engine(
        Steps(list) in steps::lists(),
        Steps(messages) in steps::lists_of_messages(),
        noise in steps::noise(),
    ) {
        let engine = Engine::with_env(peers::start_env());
        let client = |_| OurSide::Idle(engine.session());
        let mut clients: Vec<_> = (0..steps::CONNECTIONS).map(client).collect();
        for step in list.iter().chain(&messages).chain(&noise) {
            match step {
                Step::Call { connection, line } => {
                    let client = &mut clients[*connection];
                    if client.is_blocked() {
                        client.reply();
                    } else {
                        client.begin(line);
                    }
                }
                Step::Wait { millis } => {
                    engine.env().advance(std::time::Duration::from_millis(*millis));
                }
            }
        }
        engine.check_invariants();
        drop(clients);
        assert_eq!(engine.waiting_entries(), 0);
    }

    /// What a transaction answers and leaves is what its commands answer and leave one by one.
    #[test]
    fn a_transaction_does_what_its_commands_do(Steps(list) in steps::lists()) {
        let (together, apart) =
            (Engine::with_env(peers::start_env()), Engine::with_env(peers::start_env()));
        let (mut a, mut b) = (together.session(), apart.session());
        a.call(&[b"MULTI"]);
        let mut replies = Vec::new();
        for line in steps::plain_lines(&list) {
            let argv: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(a.call(&argv), Value::simple("QUEUED"), "{:?}", line);
            // Alone it might wait, as no command of a transaction does.
            let spec = commands::lookup(&line[0]).filter(|spec| spec.is(Flags::BLOCKING));
            replies.push(spec.map_or_else(|| b.call(&argv), |spec| apart.run(spec, &argv)));
        }
        prop_assert_eq!(a.call(&[b"EXEC"]), Value::Array(replies));
        prop_assert_eq!(peers::dump(&mut a), peers::dump(&mut b));
    }

    /// A line that is refused while it is queued keeps all the others from being run.
    #[test]
    fn a_refused_line_aborts_its_transaction(
        Steps(list) in steps::lists(),
        at in any::<prop::sample::Index>(),
        refused in prop::sample::select(vec!["GET", "NOSUCH", "ZADD", "WATCH", "OBJECT"]),
    ) {
        let mut session = Engine::with_env(peers::start_env()).session();
        let before = peers::dump(&mut session);
        session.call(&[b"MULTI"]);
        let short = vec![refused.as_bytes().to_vec()];
        let mut lines: Vec<_> = steps::plain_lines(&list).collect();
        lines.insert(at.index(lines.len() + 1), &short);
        for line in lines {
            let argv: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(session.call(&argv).is_error(), *line == short, "{:?}", line);
        }
        let text = "EXECABORT Transaction discarded because of previous errors.";
        prop_assert_eq!(session.call(&[b"EXEC"]), Value::Error(WireError::fixed(text)));
        prop_assert_eq!(peers::dump(&mut session), before);
    }
}
