//! The engine against a real redis-server: random command lines from the table's grammar, on two to
//! four interleaved connections, under one clock that both follow to the millisecond. Every reply
//! must be the same, and so must all that is stored at the end.
//!
//! A failure is shrunk to a short list of steps and printed. Without a redis-server the comparison
//! is skipped, loudly; the offline property still runs.

#[path = "../support/mod.rs"]
mod support;

mod equal;
mod peers;
mod steps;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use stockroom::Engine;

use peers::Peers;
use steps::{Step, Steps};

/// How many random commands are compared; `STOCKROOM_DIFF_COMMANDS` sets another number.
const COMMANDS: u64 = 200_000;

fn commands_wanted() -> u64 {
    std::env::var("STOCKROOM_DIFF_COMMANDS").map_or(COMMANDS, |n| {
        n.parse().unwrap_or_else(|_| panic!("STOCKROOM_DIFF_COMMANDS={n}: expected a number"))
    })
}

fn config(cases: u32) -> Config {
    Config { cases, max_shrink_iters: 20_000, failure_persistence: None, ..Config::default() }
}

#[test]
fn random_commands_get_the_same_replies_and_leave_the_same_keys() {
    let Some(mut peers) = Peers::start() else { return };
    let wanted = commands_wanted();
    let sent = Cell::new(0);
    let peers = std::cell::RefCell::new(&mut peers);
    let mut runner = TestRunner::new(config(u32::MAX));
    let result = runner.run(&steps::lists(), |Steps(list)| {
        if sent.get() >= wanted {
            return Err(TestCaseError::reject("enough"));
        }
        let mut peers = peers.borrow_mut();
        peers.reset();
        for step in &list {
            if let Step::Call { .. } = step {
                sent.set(sent.get() + 1);
            }
            peers.step(step).map_err(TestCaseError::fail)?;
        }
        peers.compare_keys().map_err(TestCaseError::fail)
    });
    match result {
        Err(proptest::test_runner::TestError::Fail(why, Steps(list))) => {
            let lines: Vec<String> = list.iter().map(|step| format!("  {step:?}")).collect();
            panic!("{why}\nafter these steps:\n{}", lines.join("\n"));
        }
        // Rejecting is how the runner is stopped once enough has been sent.
        _ => assert!(sent.get() >= wanted, "only {} commands were compared", sent.get()),
    }
    eprintln!("compared {} random commands with redis-server: no difference", sent.get());
}

proptest! {
    #![proptest_config(config(150))]

    /// Whatever is sent, the engine answers without a panic and stays sound.
    #[test]
    fn no_command_line_breaks_the_engine(Steps(list) in steps::lists(), noise in steps::noise()) {
        let engine = Engine::with_env(peers::start_env());
        let mut sessions: Vec<_> = (0..steps::CONNECTIONS).map(|_| engine.session()).collect();
        for step in list.iter().chain(&noise) {
            match step {
                Step::Call { connection, line } => {
                    let argv: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
                    sessions[*connection].call(&argv);
                }
                Step::Wait { millis } => {
                    engine.env().advance(std::time::Duration::from_millis(*millis));
                }
            }
        }
        engine.check_invariants();
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
            if a.call(&argv) == stockroom::resp::Value::simple("QUEUED") {
                replies.push(b.call(&argv));
            } else {
                return Ok(()); // refused at queue time: nothing to compare
            }
        }
        prop_assert_eq!(a.call(&[b"EXEC"]), stockroom::resp::Value::Array(replies));
        prop_assert_eq!(peers::dump(&mut a), peers::dump(&mut b));
    }
}
