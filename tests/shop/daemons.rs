//! The loops: on threads and as tasks, through lost connections.

use std::time::Duration;

use stockroom::Stopwatch;
use stockroom::backend::{Backend, Wait};
use stockroom::shop::daemon::{Report, Running};
use stockroom::shop::{Daemon, Keys, Popularity, Sessions};

use crate::bed::each_backend;

fn until(daemon: &Running, done: impl Fn(&Report) -> bool) {
    let watch = Stopwatch::start();
    while !done(&daemon.control().report()) {
        assert!(watch.elapsed() < Duration::from_secs(20), "{:?}", daemon.control().report());
        std::thread::sleep(Duration::from_millis(1));
    }
}

each_backend! {
    fn all_loops_run_side_by_side_and_stop_when_told(backend, clock) {
        let sessions = Sessions::new(backend.clone(), Keys::new()).with_limit(10);
        for n in 0..500_u32 {
            sessions.touch(&n.to_be_bytes(), b"user", Some(b"item")).wait().unwrap();
        }
        let popularity = Popularity::new(backend.clone(), Keys::new());
        let daemons = [
            Daemon::new("sessions", backend.clone(), sessions.cleaner()).start().unwrap(),
            Daemon::new("popularity", backend.clone(), popularity.rescaler()).start().unwrap(),
        ];
        until(&daemons[0], |stats| stats.done == 490);
        until(&daemons[1], |stats| stats.rounds >= 1);
        // Each may still be on its way to its rest, so the time is moved until all have seen it.
        let watch = Stopwatch::start();
        while daemons[1..].iter().any(|daemon| daemon.control().report().done == 0) {
            assert!(watch.elapsed() < Duration::from_secs(20));
            clock.advance_secs(301);
            std::thread::sleep(Duration::from_millis(1));
        }
        for daemon in daemons {
            let report = daemon.stop();
            assert_eq!(report.errors, 0, "{report:?}");
        }
        assert_eq!(sessions.count().wait().unwrap(), 10);
    }
}

#[cfg(feature = "redis")]
#[test]
fn loop_survives_a_lost_connection() {
    use stockroom::backend::{Redis, RedisConfig};

    let Some(server) = crate::support::real_redis(crate::bed::START) else { return };
    // On the machine's clock: its rests are real.
    let url = format!("redis://{}", server.addr());
    let backend = Redis::lazy(&url, RedisConfig::default()).unwrap();
    let sessions = Sessions::new(backend.clone(), Keys::new()).with_limit(1);
    let daemon = Daemon::new("sessions", backend, sessions.cleaner()).start().unwrap();
    until(&daemon, |stats| stats.rounds >= 1);
    let mut wire = server.connect();
    for n in 0..3_u8 {
        wire.call(&["CLIENT", "KILL", "TYPE", "normal"]);
        sessions.touch(&[n, 0], b"user", None).wait().unwrap_or_default();
        sessions.touch(&[n, 0], b"user", None).wait().unwrap();
        sessions.touch(&[n, 1], b"user", None).wait().unwrap();
        let done = daemon.control().report().done;
        until(&daemon, |stats| stats.done > done);
    }
    assert_eq!(daemon.stop().errors_in_a_row, 0);
    assert_eq!(sessions.count().wait().unwrap(), 1);
}
