//! The backends: one body on the engine in memory and on a real Redis, and what can go wrong with
//! a real one.

mod support;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

#[cfg(feature = "lua")]
use stockroom::backend::Script;
use stockroom::backend::{Backend, Cmd, Memory, Session, Stats, Wait, cmd};
use stockroom::commands::{Arg, Flags, Run, SessionOp, Spec};
use stockroom::{Bytes, Env, ErrorKind, Result, Timestamp};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

#[path = "backend/waiting.rs"]
mod waiting;

/// Runs `body` on the memory backend and, where there is one, on a real Redis.
macro_rules! on_both {
    ($body:ident) => {{
        $body(&Memory::with_env(Env::manual(START, 1)));
        #[cfg(feature = "redis")]
        if let Some(server) = support::real_redis(START) {
            $body(&real::backend(&server, |_| ()));
        }
    }};
}

fn get(key: &[u8]) -> Cmd<'_, Option<Bytes>> {
    cmd::get(key)
}

#[test]
fn commands_pipelines_and_transactions_answer_their_types() {
    fn body<B: Backend>(backend: &B) {
        backend.run(cmd::set(b"a\0\r\n", b"\xff\0")).wait().unwrap();
        let raw = backend.run(get(b"a\0\r\n")).wait().unwrap();
        assert_eq!(raw.as_deref(), Some(&b"\xff\0"[..]));
        let (a, none) = backend.pipeline((get(b"a\0\r\n"), get(b"b"))).wait().unwrap();
        assert_eq!((a.is_some(), none), (true, None));
        let done = backend.atomic((cmd::set(b"n", 41), cmd::get::<i64>(b"n"))).wait().unwrap();
        assert_eq!(done, ((), Some(41)));
        let many: Vec<_> = (0..100).map(|_| cmd::get::<i64>(b"n")).collect();
        assert_eq!(backend.atomic(many).wait().unwrap(), vec![Some(41); 100]);
        backend.pipeline(()).wait().unwrap();
        backend.atomic(Vec::<Cmd<'_, ()>>::new()).wait().unwrap();
        assert_eq!(backend.stats(), Stats { commands: 106, round_trips: 5 });
    }
    on_both!(body);
}

#[test]
fn error_reply_is_a_refusal_with_its_code() {
    fn body<B: Backend>(backend: &B) {
        backend.run(cmd::set(b"s", b"text")).wait().unwrap();
        let wrong = Cmd::<i64>::new(&stockroom::commands::list::LPUSH).arg("s").arg("x");
        let error = backend.run(wrong.clone()).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("WRONGTYPE")));
        assert!(error.is_definite());
        for error in [
            backend.pipeline(wrong.clone()).wait().unwrap_err(),
            backend.atomic(wrong.clone()).wait().unwrap_err(),
            backend.session().wait().unwrap().run(wrong.clone()).wait().unwrap_err(),
            backend.session().wait().unwrap().commit(wrong.clone()).wait().unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("WRONGTYPE")));
        }
    }
    on_both!(body);
}

#[test]
fn command_without_elements_is_refused_by_the_server() {
    fn body<B: Backend>(backend: &B) {
        let none = || std::iter::empty::<&[u8]>();
        let pairs = || std::iter::empty::<(&[u8], i64)>();
        let k = b"k";
        for cmd in [
            cmd::del(none()).reply_as(),
            cmd::unlink(none()).reply_as(),
            cmd::mget::<Bytes>(none()).reply_as(),
            cmd::lpush(k, none()).reply_as(),
            cmd::rpush(k, none()).reply_as(),
            cmd::sadd(k, none()).reply_as(),
            cmd::srem(k, none()).reply_as(),
            cmd::sinter::<Bytes>(none()).reply_as(),
            cmd::hset_all(k, pairs()).reply_as(),
            cmd::hmget::<Bytes>(k, none()).reply_as(),
            cmd::hdel(k, none()).reply_as(),
            cmd::zadd_all(k, pairs().map(|(member, score)| (score, member))).reply_as(),
            cmd::zrem(k, none()).reply_as(),
            cmd::zmscore(k, none()).reply_as::<()>(),
        ] {
            let error = backend.run(cmd).wait().unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("ERR")));
            assert!(error.to_string().contains("wrong number of arguments"), "{error}");
        }
    }
    on_both!(body);
}

#[test]
fn what_an_error_reply_left_standing_of_a_batch_is_partly_done() {
    fn body<B: Backend>(backend: &B) {
        backend.run(cmd::set(b"s", b"text")).wait().unwrap();
        let wrong = || Cmd::<i64>::new(&stockroom::commands::list::LPUSH).arg("s").arg("x");
        let batch = |n| (cmd::set(b"a", n), wrong(), cmd::set(b"b", n));
        let session = || backend.session().wait().unwrap();
        for (n, result) in [
            (1, backend.pipeline(batch(1)).wait().map(drop)),
            (2, backend.atomic(batch(2)).wait().map(drop)),
            (3, session().watch_and(&[b"w"], batch(3)).wait().map(drop)),
            (4, session().commit(batch(4)).wait().map(drop)),
        ] {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("WRONGTYPE")), "{n}");
            assert!(!error.is_definite() && !error.is_unknown());
        }
        let both = backend.pipeline((cmd::get(b"a"), cmd::get(b"b"))).wait().unwrap();
        assert_eq!(both, (Some(4_i64), Some(4_i64)));
        // The replies of the others can be asked for; each then speaks for itself.
        let batch = (get(b"a"), wrong().reply_as::<Result<i64>>(), get(b"b"));
        let (a, refused, b) = backend.pipeline(batch).wait().unwrap();
        assert_eq!((a, b), (Some(Bytes::from("4")), Some(Bytes::from("4"))));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Refused);
    }
    on_both!(body);
}

#[cfg(feature = "lua")]
#[test]
fn what_a_script_did_before_it_failed_is_partly_done() {
    use stockroom::backend::Script;
    static FAILS: Script =
        Script::new("redis.call('SET', KEYS[1], 'x') return redis.call('LPUSH', KEYS[1], 'x')");
    fn body<B: Backend>(backend: &B) {
        // The first is sent in full, the second by its hash.
        for _ in 0..2 {
            let error = backend.script::<i64>(&FAILS, &[b"k"], &[]).wait().unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("WRONGTYPE")));
        }
        assert_eq!(backend.run(get(b"k")).wait().unwrap(), Some(Bytes::from("x")));
        // Nothing of a script that the server does not know has been run.
        let unknown = Cmd::<i64>::new(&stockroom::commands::scripting::EVALSHA);
        let unknown = unknown.arg("0123456789012345678901234567890123456789").arg(0);
        assert_eq!(backend.run(unknown).wait().unwrap_err().kind(), ErrorKind::Refused);
    }
    on_both!(body);
}

#[test]
fn line_of_the_wrong_length_refuses_its_transaction_whole() {
    fn body<B: Backend>(backend: &B) {
        let short = || Cmd::<()>::new(&stockroom::commands::string::SET).arg("a");
        let error = backend.atomic((cmd::set(b"b", b"1"), short())).wait().unwrap_err();
        assert_eq!(error.to_string(), "ERR wrong number of arguments for 'set' command");
        assert!(error.kind() == ErrorKind::Refused && error.is_definite());
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"x"]).wait().unwrap();
        let error = session.commit((cmd::set(b"b", b"1"), short())).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("ERR")));
        assert_eq!(session.run(get(b"b")).wait().unwrap(), None);
        // The session is as good as new.
        assert_eq!(session.commit(cmd::set(b"b", b"1")).wait().unwrap(), Some(()));
    }
    on_both!(body);
}

#[test]
fn commit_does_nothing_once_a_watched_key_has_changed() {
    fn body<B: Backend>(backend: &B) {
        let mut session = backend.session().wait().unwrap();
        let stock = session.watch_and(&[b"stock", b"other"], get(b"stock")).wait().unwrap();
        assert_eq!(stock, None);
        backend.run(cmd::set(b"other", b"1")).wait().unwrap();
        assert_eq!(session.commit(cmd::set(b"stock", b"9")).wait().unwrap(), None);
        assert_eq!(backend.run(get(b"stock")).wait().unwrap(), None);
        // Its watches ended with it.
        assert_eq!(session.commit(cmd::set(b"stock", b"9")).wait().unwrap(), Some(()));
        session.watch(&[b"stock"]).wait().unwrap();
        assert_eq!(session.commit(get(b"stock")).wait().unwrap(), Some(Some(Bytes::from("9"))));
    }
    on_both!(body);
}

#[test]
fn watches_left_behind_do_not_reach_the_next_session() {
    fn body<B: Backend>(backend: &B) {
        let mut first = backend.session().wait().unwrap();
        first.watch(&[b"k"]).wait().unwrap();
        drop(first);
        let mut second = backend.session().wait().unwrap();
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
        assert_eq!(second.commit(cmd::set(b"k", b"2")).wait().unwrap(), Some(()));
    }
    on_both!(body);
}

#[test]
fn watches_end_with_a_commit_whatever_becomes_of_it() {
    fn body<B: Backend>(backend: &B) {
        let mut session = backend.session().wait().unwrap();
        for (n, (bad, kind)) in [
            (select(), ErrorKind::Invalid),
            (Cmd::new(&stockroom::commands::string::SET).arg("a"), ErrorKind::Refused),
            (Cmd::new(&stockroom::commands::list::LPUSH).arg("k").arg("x"), ErrorKind::Refused),
        ]
        .into_iter()
        .enumerate()
        {
            backend.run(cmd::set(b"k", b"0")).wait().unwrap();
            session.watch(&[b"k"]).wait().unwrap();
            assert_eq!(session.commit(bad).wait().unwrap_err().kind(), kind);
            backend.run(cmd::set(b"k", n)).wait().unwrap();
            let k = session.commit(cmd::get::<u64>(b"k")).wait().unwrap();
            assert_eq!(k, Some(Some(n as u64)));
        }
    }
    on_both!(body);
}

#[test]
fn empty_commit_asks_whether_the_watched_keys_have_changed() {
    fn body<B: Backend>(backend: &B) {
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"k"]).wait().unwrap();
        assert_eq!(session.commit(()).wait().unwrap(), Some(()));
        session.watch(&[b"k"]).wait().unwrap();
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
        assert_eq!(session.commit(()).wait().unwrap(), None);
        assert_eq!(backend.stats(), Stats { commands: 3, round_trips: 5 });
    }
    on_both!(body);
}

/// A command that changes the connection.
#[cfg(feature = "lua")]
#[test]
fn script_is_sent_by_its_hash_and_in_full_only_to_who_does_not_know_it() {
    static ADD: Script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    static OTHER: Script = Script::new("return redis.error_reply('MINE x')");
    fn body<B: Backend>(backend: &B) {
        let add = |n: i64| backend.script::<i64>(&ADD, &[b"n\0"], &[n.into()]).wait();
        assert_eq!(add(5).unwrap(), 5);
        assert_eq!(add(6).unwrap(), 11);
        assert_eq!(backend.stats(), Stats { commands: 3, round_trips: 3 });
        let mut session = backend.session().wait().unwrap();
        assert_eq!(session.script::<i64>(&ADD, &[b"n\0"], &[1.into()]).wait().unwrap(), 12);
        backend.run(cmd::set(b"s", b"text")).wait().unwrap();
        let error = backend.script::<i64>(&ADD, &[b"s"], &[1.into()]).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("ERR")));
        // A reply type that takes an error for a value does not hide that the script is unknown.
        let reply = backend.script::<Result<i64>>(&OTHER, &[], &[]).wait().unwrap();
        assert_eq!(reply.unwrap_err().code(), Some("MINE"));
    }
    on_both!(body);
}

fn select() -> Cmd<'static, ()> {
    static SELECT: Spec =
        Spec::new("SELECT", Run::Session(SessionOp::Select), Flags::NONE, &[Arg::Db]);
    Cmd::new(&SELECT).arg(1)
}

#[test]
fn commands_on_the_connection_itself_are_refused_unsent() {
    fn body<B: Backend>(backend: &B) {
        let mut session = backend.session().wait().unwrap();
        let errors = [
            backend.run(select()).wait().unwrap_err(),
            backend.pipeline((select(),)).wait().unwrap_err(),
            backend.atomic((select(),)).wait().unwrap_err(),
            session.run(select()).wait().unwrap_err(),
            session.commit(select()).wait().unwrap_err(),
        ];
        assert!(errors.iter().all(|e| e.kind() == ErrorKind::Invalid), "{errors:?}");
        assert_eq!(backend.stats().commands, 0);
    }
    on_both!(body);
}

#[test]
fn future_does_nothing_before_it_is_polled_and_no_harm_when_dropped_later() {
    fn body<B: Backend>(backend: &B) {
        drop(backend.run(cmd::set(b"k", b"never")));
        assert_eq!(backend.run(get(b"k")).wait().unwrap(), None);
        for n in 0..50 {
            let mut future = pin!(backend.run(cmd::set(b"k", n)));
            let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        backend.run(cmd::set(b"k", b"last")).wait().unwrap();
        assert_eq!(backend.run(get(b"k")).wait().unwrap(), Some(Bytes::from("last")));
        for _ in 0..50 {
            let mut session = backend.session().wait().unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            let _ = pin!(session.watch(&[b"k"])).as_mut().poll(&mut cx);
            drop(session);
            let mut session = backend.session().wait().unwrap();
            let _ = pin!(session.commit(cmd::set(b"k", b"x"))).as_mut().poll(&mut cx);
        }
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"w"]).wait().unwrap();
        assert_eq!(session.commit(cmd::set(b"k", b"end")).wait().unwrap(), Some(()));
    }
    on_both!(body);
}

#[test]
fn time_and_randomness_come_from_the_environment() {
    fn body<B: Backend>(backend: &B) {
        assert_eq!(backend.now(), START);
        let (mut a, mut b) = ([0; 16], [0; 16]);
        backend.random(&mut a);
        backend.random(&mut b);
        assert_ne!(a, b);
        // A sleep on a manual clock ends when somebody moves it.
        let mut sleep = pin!(backend.sleep(Duration::from_secs(1)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    on_both!(body);
}

#[test]
fn threads_share_a_backend() {
    fn body<B: Backend>(backend: &B) {
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let backend = backend.clone();
                scope.spawn(move || {
                    for n in 0..100 {
                        let key = format!("{thread}:{n}");
                        let key = key.as_bytes();
                        let batch = (cmd::set(key, n), cmd::get::<i64>(key));
                        assert_eq!(backend.atomic(batch).wait().unwrap().1, Some(n));
                    }
                });
            }
        });
    }
    on_both!(body);
}

#[cfg(feature = "redis")]
mod real {
    use std::task::Poll;

    use stockroom::Stopwatch;
    use stockroom::backend::{Redis, RedisConfig};
    use support::{RealRedis, Wire, real_redis, started_redis};

    use super::*;

    // Commands of which the tables need not know.
    static BLPOP: Spec = raw("BLPOP");
    static CLIENT_ID: Spec = raw("CLIENT|ID");
    static LPUSH: Spec = raw("LPUSH");
    static TYPE: Spec = raw("TYPE");

    const fn raw(name: &'static str) -> Spec {
        // How it is run concerns only the engine, where the real row is used instead.
        Spec::new(name, Run::Container, Flags::NONE, &[Arg::Opt(&[Arg::Str])])
    }

    pub(super) fn backend(server: &RealRedis, change: impl FnOnce(&mut RedisConfig)) -> Redis {
        let mut config = RedisConfig { env: Env::manual(START, 1), ..RedisConfig::default() };
        change(&mut config);
        Redis::lazy(&format!("redis://{}", server.addr()), config).unwrap()
    }

    fn client_id() -> Cmd<'static, i64> {
        Cmd::new(&CLIENT_ID)
    }

    /// Waits until `count` clients have done what `marked` looks for in CLIENT LIST.
    fn until(wire: &mut Wire, marked: impl Fn(&str) -> bool) {
        let watch = Stopwatch::start();
        loop {
            let list = wire.call(&["CLIENT", "LIST"]);
            if marked(&String::from_utf8_lossy(&list.bytes)) {
                return;
            }
            assert!(watch.elapsed() < Duration::from_secs(10), "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill(wire: &mut Wire, id: i64) {
        wire.call(&["CLIENT", "KILL", "ID", &id.to_string()]);
    }

    #[test]
    fn connection_killed_between_watch_and_commit_writes_nothing() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |_| ());
        let mut wire = server.connect();
        for told in [true, false] {
            let mut session = backend.session().wait().unwrap();
            let id = session.watch_and(&[b"k"], client_id()).wait().unwrap();
            kill(&mut wire, id);
            if told {
                // Time for the client to see that the connection has gone.
                std::thread::sleep(Duration::from_millis(50));
            }
            let error = session.commit(cmd::set(b"k", b"1")).wait().unwrap_err();
            let kinds = [ErrorKind::NotSent, ErrorKind::Unknown];
            assert!(kinds.contains(&error.kind()), "{error:?}");
            // It does not come back to life, without its watches, for another try.
            let error = session.commit(cmd::set(b"k", b"1")).wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSent);
            assert_eq!(backend.run(get(b"k")).wait().unwrap(), None);
            drop(session);
            let mut session = backend.session().wait().unwrap();
            assert_eq!(session.commit(get(b"k")).wait().unwrap(), Some(None));
        }
    }

    #[test]
    fn commit_that_runs_without_multi_is_done_and_does_not_keep_its_watches() {
        let Some(mut server) = real_redis(START) else { return };
        server.spoil();
        let backend = backend(&server, |_| ());
        let mut wire = server.connect();
        wire.call(&["ACL", "SETUSER", "default", "-multi"]);
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"k"]).wait().unwrap();
        let error = session.commit(cmd::set(b"k", b"1")).wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("NOPERM")));
        assert_eq!(backend.run(get(b"k")).wait().unwrap(), Some(Bytes::from("1")));
        wire.call(&["ACL", "SETUSER", "default", "+multi"]);
        wire.call(&["SET", "k", "2"]);
        let k = session.commit(get(b"k")).wait().unwrap();
        assert_eq!(k, Some(Some(Bytes::from("2"))));
    }

    #[test]
    fn connection_killed_while_a_command_is_pending_leaves_its_outcome_unknown() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |_| ());
        let mut wire = server.connect();
        let id = backend.run(client_id()).wait().unwrap();
        let pending = Cmd::<Option<Bytes>>::new(&BLPOP).arg("queue").arg(0);
        let error = std::thread::scope(|scope| {
            let pending = scope.spawn(|| backend.run(pending).wait().unwrap_err());
            until(&mut wire, |list| list.contains("cmd=blpop"));
            kill(&mut wire, id);
            pending.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert!(error.is_unknown() && !error.is_definite());
        // The next call has a connection again.
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
        assert_ne!(backend.run(client_id()).wait().unwrap(), id);
    }

    #[test]
    fn reply_that_does_not_come_in_time_is_unknown() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |c| c.reply_timeout = Duration::from_millis(50));
        let pending = Cmd::<Option<Bytes>>::new(&BLPOP).arg("queue").arg(0);
        let error = backend.run(pending).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        // Nobody waits behind the blocked connection.
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
    }

    #[test]
    fn connection_lost_while_idle_is_replaced_unnoticed() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |_| ());
        let mut wire = server.connect();
        let id = backend.run(client_id()).wait().unwrap();
        let session = backend.session().wait().unwrap();
        drop(session);
        wire.call(&["CLIENT", "KILL", "TYPE", "normal"]);
        std::thread::sleep(Duration::from_millis(50));
        assert_ne!(backend.run(client_id()).wait().unwrap(), id);
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"k"]).wait().unwrap();
    }

    #[test]
    fn nothing_is_sent_to_a_server_that_is_down() {
        // Nobody listens on a port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("redis://127.0.0.1:{port}");
        let error = Redis::connect(&url).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
        let backend = Redis::lazy(&url, RedisConfig::default()).unwrap();
        let error = backend.run(cmd::set(b"k", b"1")).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
        assert_eq!(backend.session().wait().unwrap_err().kind(), ErrorKind::NotSent);
        let error = Redis::connect("unix:///nowhere/redis.sock").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
    }

    #[test]
    fn nothing_is_sent_once_the_server_has_gone_down() {
        let Some(server) = started_redis(&[]) else { return };
        let url = format!("redis://{}", server.addr());
        let backend = Redis::lazy(&url, RedisConfig::default()).unwrap();
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
        drop(server);
        std::thread::sleep(Duration::from_millis(50));
        let error = backend.run(cmd::set(b"k", b"2")).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
    }

    #[test]
    fn unknown_address_is_refused_without_showing_its_password() {
        for url in
            ["redis//secret@nowhere", "rediss://:secret@localhost", "http:///x?pass=secret", ""]
        {
            let error = Redis::lazy(url, RedisConfig::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn unix_socket_serves_commands_and_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("redis.sock");
        let socket = socket.to_str().unwrap();
        let Some(_server) = started_redis(&["--unixsocket", socket]) else { return };
        let backend = Redis::connect(&format!("unix://{socket}?db=3")).wait().unwrap();
        backend.run(cmd::set(b"k", b"1")).wait().unwrap();
        let mut session = backend.session().wait().unwrap();
        session.watch(&[b"k"]).wait().unwrap();
        let value = session.commit(get(b"k")).wait().unwrap();
        assert_eq!(value, Some(Some(Bytes::from("1"))));
    }

    #[test]
    fn sessions_beyond_the_pool_wait_and_then_give_up_unsent() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |config| {
            config.sessions = 1;
            config.session_wait = Duration::from_millis(30);
        });
        let first = backend.session().wait().unwrap();
        assert_eq!(backend.session().wait().unwrap_err().kind(), ErrorKind::NotSent);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| backend.session().wait().map(drop));
            drop(first);
            waiter.join().unwrap().unwrap();
        });
    }

    #[test]
    fn session_whose_call_was_cancelled_is_of_no_further_use() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |_| ());
        let mut session = backend.session().wait().unwrap();
        {
            let pending = Cmd::<Option<Bytes>>::new(&BLPOP).arg("queue").arg(0);
            let mut pending = pin!(session.run(pending));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(pending.as_mut().poll(&mut cx), Poll::Pending));
        }
        let error = session.watch(&[b"k"]).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
    }

    #[test]
    fn command_unknown_to_the_tables_still_reaches_the_server() {
        let Some(server) = real_redis(START) else { return };
        let backend = backend(&server, |_| ());
        let push = Cmd::<i64>::new(&LPUSH).arg("l").args(["a", "b"]);
        assert_eq!(backend.run(push).wait().unwrap(), 2);
        assert_eq!(backend.run(Cmd::<String>::new(&TYPE).arg("l")).wait().unwrap(), "list");
    }

    #[test]
    fn works_inside_a_runtime_too() {
        let Some(server) = real_redis(START) else { return };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let backend = Redis::connect(&format!("redis://{}", server.addr())).await.unwrap();
            let task = tokio::spawn({
                let backend = backend.clone();
                async move { backend.atomic((cmd::set(b"k", b"1"), get(b"k"))).await }
            });
            assert_eq!(task.await.unwrap().unwrap().1, Some(Bytes::from("1")));
            let mut session = backend.session().await.unwrap();
            session.watch(&[b"k"]).await.unwrap();
        });
    }
}
