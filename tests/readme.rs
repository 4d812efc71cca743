//! The README's examples that are tests themselves, as they stand there: rustdoc does not run them.

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

#[cfg(all(feature = "redis", feature = "server"))]
#[tokio::test]
async fn a_client_loses_its_session() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Duration;
    use stockroom::{Engine, Env, Timestamp, server};
    let env = Env::manual(Timestamp::from_secs(1_700_000_000), 42);
    let listener = server::listen("127.0.0.1:0".parse()?).await?; // port 0: any that is free
    let engine = Engine::with_env(env.clone());
    let server = server::spawn(engine, listener, server::Limits::default())?;

    let client = redis::Client::open(format!("redis://{}", server.addr()))?;
    let mut redis = client.get_multiplexed_async_connection().await?;
    redis::cmd("SETEX").arg("session:7").arg(1800).arg("ada").exec_async(&mut redis).await?;
    env.advance(Duration::from_secs(1801));
    let found: Option<String> = redis::cmd("GET").arg("session:7").query_async(&mut redis).await?;
    assert_eq!(found, None);
    Ok(())
}

#[test]
fn the_readme_shows_these_tests_and_no_others_that_nobody_runs() {
    let readme = include_str!("../README.md");
    let blocks = readme.split("```rust").skip(1).filter_map(|rest| rest.split("```").next());
    let is_test = |block: &&str| block.contains("#[test]") || block.contains("#[tokio::test]");
    let tests: Vec<&str> = blocks.filter(is_test).collect();
    assert_eq!(tests.len(), 2, "{tests:?}");
    for shown in tests {
        assert!(include_str!("readme.rs").contains(shown.trim()), "README.md shows\n{shown}");
    }
}
