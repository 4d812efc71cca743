//! The README's first example, as it stands there: rustdoc does not run it, because it is a test
//! itself.

use std::time::Duration;
use stockroom::{Engine, Env, Timestamp, resp::Value};

#[test]
fn a_session_lives_for_half_an_hour() {
    let env = Env::manual(Timestamp::from_secs(1_700_000_000), 42);
    let mut redis = Engine::with_env(env.clone()).session();
    redis.call(&[b"SET", b"session:7", b"ada", b"EX", b"1800"]);
    env.advance(Duration::from_secs(1801));
    assert_eq!(redis.call(&[b"GET", b"session:7"]), Value::Nil);
}

#[test]
fn the_readme_shows_that_test_and_no_other_that_nobody_runs() {
    let readme = include_str!("../README.md");
    let blocks = readme.split("```rust").skip(1).filter_map(|rest| rest.split("```").next());
    let tests: Vec<&str> = blocks.filter(|block| block.contains("#[test]")).collect();
    let [shown] = tests[..] else { panic!("{} blocks hold tests", tests.len()) };
    assert!(include_str!("readme.rs").contains(shown.trim()), "README.md shows\n{shown}");
}
