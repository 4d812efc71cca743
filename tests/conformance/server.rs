//! The server: COMMAND, CONFIG, DBSIZE, FLUSHALL, FLUSHDB, INFO, SWAPDB, TIME.

use std::time::Duration;

use stockroom::resp::Value;
use stockroom::{Engine, Env, Timestamp};

use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn flushing_empties_one_database_or_all() {
    side_by_side(|c| {
        let fill = || {
            for db in [0, 1, 2] {
                c.run(argv!["SELECT", db]);
                c.run("SET a 1");
            }
        };
        for how in ["FLUSHDB", "FLUSHDB ASYNC", "flushdb sync", "FLUSHALL", "FLUSHALL ASYNC"] {
            fill();
            c.same("SELECT 1");
            c.same(how);
            for db in [0, 1, 2] {
                c.run(argv!["SELECT", db]);
                c.same("DBSIZE");
            }
        }
        fill();
        for wrong in
            ["FLUSHDB x", "FLUSHALL x", "FLUSHDB ASYNC SYNC", "FLUSHALL SYNC x", "DBSIZE x"]
        {
            c.same(wrong);
            c.same("DBSIZE");
        }
    });
}

#[test]
fn dbsize_does_not_count_what_has_expired() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("SET b 1");
        c.run("PEXPIRE a 10");
        c.check("DBSIZE", b":2\r\n");
        c.advance(11);
        // A real server may count a dead key until it meets it.
        c.same("EXISTS a");
        c.check("DBSIZE", b":1\r\n");
    });
}

#[test]
fn swapdb_exchanges_two_databases_for_everybody() {
    side_by_side(|c| {
        c.run("SET a zero");
        c.run("PEXPIRE a 5000");
        c.on(1).run("SELECT 1");
        c.on(1).run("SET a one");
        c.same("SWAPDB 0 1");
        c.same("GET a");
        c.same("PTTL a");
        c.on(1).same("GET a");
        c.on(1).same("PTTL a");
        c.same("SWAPDB 0 9");
        c.same("GET a");
        c.same("DBSIZE");
        c.same("SWAPDB 9 9");
        for wrong in [
            "0 x",
            "x 0",
            "x y",
            "0 99",
            "99 0",
            "-1 0",
            "0 -1",
            "99999999999 0",
            "0 99999999999",
            "2147483647 0",
            "'' 0",
            "0",
            "0 1 2",
        ] {
            c.same(format!("SWAPDB {wrong}"));
        }
    });
}

#[test]
fn time_is_the_clock_in_seconds_and_microseconds() {
    side_by_side(|c| {
        c.same("TIME");
        c.advance(1_999);
        c.same("TIME");
        c.same("TIME x");
    });
}

#[test]
fn config_get_reads_names_and_patterns() {
    in_both_protocols(|c| {
        for patterns in [
            "maxmemory",
            "MaxMemory",
            "maxmemory maxmemory MAXMEMORY",
            "nosuch",
            "max*",
            "MAXMEM*",
            "[tm]imeout maxmem?ry",
            "*-max-*",
            "*ziplist* *listpack*",
            "save",
            "appendonly",
            "hz",
            "databases",
            "notify-keyspace-events",
            "*slave*",
            "lua-time-limit busy-*",
            "client-output-buffer-limit",
            "requirepass",
            "proto-max-bulk-len",
            "lfu-* slowlog-*",
        ] {
            c.same_pairs(format!("CONFIG GET {patterns}"));
        }
        c.same("CONFIG GET");
        c.same("CONFIG");
        c.same("CONFIG nosuch");
        c.same("CONFIG HELP");
        c.same("CONFIG HELP x");
    });
}

#[test]
fn defaults_are_those_of_a_real_server() {
    side_by_side(|c| {
        // Where the server is and what it was started with.
        const OWN: [&str; 5] = ["bind", "daemonize", "dir", "pidfile", "port"];
        let project = |reply: Value| {
            let Value::Array(items) = reply else { panic!("{reply:?} is no array") };
            let own = |name: &Value| OWN.map(Value::bulk).contains(name);
            let mut pairs: Vec<String> = items
                .chunks(2)
                .filter(|pair| !own(&pair[0]))
                .map(|pair| format!("{pair:?}"))
                .collect();
            pairs.sort();
            Value::bulks(pairs)
        };
        c.same_after("CONFIG GET *", project);
    });
}

#[test]
fn config_set_reports_the_first_thing_wrong() {
    side_by_side(|c| {
        for wrong in [
            "nosuch 1",
            "NoSuch 1",
            "maxmemory",
            "nosuch",
            "",
            "maxmemory 1mb timeout",
            "maxmemory 100mb maxmemory 5",
            "maxmemory 100mb nosuch 5",
            "nosuch 5 maxmemory x",
            "maxmemory x timeout y",
            "timeout y maxmemory x",
            "databases 17",
            "daemonize no",
            "dir /tmp",
            "dbfilename x",
            "databases 17 nosuch 1",
            "nosuch 1 databases 17",
            "maxmemory x databases 17",
            "rdbchecksum no",
        ] {
            c.same(format!("CONFIG SET {wrong}"));
        }
        c.same("CONFIG GET maxmemory");
    });
}

#[test]
fn every_kind_of_value_has_its_errors_and_its_canonical_form() {
    side_by_side(|c| {
        let try_each = |name: &str, values: &[&str]| {
            for value in values {
                c.same(argv!["CONFIG", "SET", name, *value]);
                c.same(argv!["CONFIG", "GET", name]);
            }
        };
        let integers =
            ["5", "x", "", "-1", "01", " 1", "1kb", "2147483648", "99999999999999999999", "0"];
        try_each("timeout", &integers);
        try_each("slowlog-log-slower-than", &["-2", "-1", "0", "x"]);
        try_each("hash-max-listpack-entries", &["x", "-1", "7", "512"]);
        try_each("list-max-listpack-size", &["x", "0", "-5", "99999999999", "-2"]);
        try_each("maxclients", &["0", "4294967296", "10000"]);
        try_each("hz", &["0", "1000", "-1", "10"]);
        let sizes = [
            "1",
            "1k",
            "1Kb",
            "2m",
            "2mb",
            "3g",
            "3GB",
            "",
            "kb",
            "1.5gb",
            "-1",
            "10%",
            "x",
            "1 kb",
            "99999999999999999999kb",
            "0",
        ];
        try_each("maxmemory", &sizes);
        try_each("proto-max-bulk-len", &["1", "1mb", "x", "512mb"]);
        try_each("maxmemory-clients", &["10%", "101%", "x%", "-1%", "x", "1gb", "0"]);
        try_each("appendonly", &["maybe", "", "no", "NO"]);
        try_each("maxmemory-policy", &["nosuch", "", "ALLKEYS-LRU", "noeviction"]);
        try_each("appendfsync", &["x", "Always", "everysec"]);
        try_each("shutdown-on-sigint", &["x", "", "now save", "save nosave", "default"]);
        let saves = ["60 1 300 10", "1", "0 1", "1 -1", " 1  2 ", "x y", "1\t2", ""];
        try_each("save", &saves);
        let events = ["KEA", "x", "q", "g$lshzxetd", "mnKEdtexzhsl", "An", "Em", ""];
        try_each("notify-keyspace-events", &events);
        try_each("cluster-announce-hostname", &["a b", "a.b-c", ""]);
        let limits = [
            "x",
            "normal 1kb 2 3",
            "nosuch 1 2 3",
            "normal x 2 3",
            "normal 1 2 x",
            "normal 1 2 -3",
            "Replica 1 2 3 pubsub 4 5 6",
            "",
            "normal 0 0 0",
        ];
        try_each("client-output-buffer-limit", &limits);
        try_each("oom-score-adj-values", &["1 2", "1 2 x", "1 2 3000", "1 2 3"]);
        let percentiles = ["x", "101", "-1", "1.5 99.123456789", "", "50 99 99.9"];
        try_each("latency-tracking-info-percentiles", &percentiles);
        try_each("MASTERUSER", &["x y", ""]);
    });
}

#[test]
fn config_set_takes_several_parameters_and_aliases() {
    side_by_side(|c| {
        c.same("CONFIG SET maxmemory 100mb timeout 5 hash-max-ziplist-entries 7");
        c.same_pairs("CONFIG GET maxmemory timeout hash-max-*-entries");
        c.same("CONFIG SET hash-max-ziplist-entries 8 hash-max-listpack-entries 9");
        c.same_pairs("CONFIG GET hash-max-*-entries");
        c.same("CONFIG SET lua-time-limit 7");
        c.same_pairs("CONFIG GET busy-reply-threshold lua-time-limit");
        c.same("CONFIG RESETSTAT");
        c.same("CONFIG RESETSTAT x");
        c.same("CONFIG REWRITE");
    });
}

#[test]
fn thresholds_that_are_set_decide_on_encodings() {
    side_by_side(|c| {
        c.same("CONFIG SET set-max-intset-entries 2");
        c.run("SADD s 1 2 3");
        c.same("OBJECT ENCODING s");
        c.same("CONFIG SET hash-max-listpack-value 3");
        c.run("HSET h f abcd");
        c.same("OBJECT ENCODING h");
    });
}

#[test]
fn used_memory_follows_what_is_stored() {
    // On the engine alone: it is an estimate, and of other structures than a real server has.
    let mut session = Engine::new().session();
    let mut used = |fill: usize| {
        for n in 0..fill {
            session.call(&[b"SET", format!("key:{n}").as_bytes(), &[b'x'; 1000]]);
        }
        let text = text_of(&session.call(&[b"INFO", b"memory"]));
        let line = text.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|number| number.parse::<usize>().ok()).expect("used_memory is a number")
    };
    assert_eq!(used(0), 0);
    let full = used(2_000);
    assert!((2_000_000..2_600_000).contains(&full), "{full}");
    session.call(&[b"FLUSHALL"]);
    let text = text_of(&session.call(&[b"INFO", b"memory"]));
    assert!(text.contains("\r\nused_memory:0\r\nused_memory_human:0B\r\n"), "{text}");
}

#[test]
fn commands_are_counted_when_they_are_run() {
    side_by_side(|c| {
        c.on(1).same("PING");
        let steps = [
            &["PING"][..],
            &["MULTI", "SET a 1", "DISCARD"],
            &["MULTI", "SET a 1", "GET a", "LPUSH a x", "EXEC"],
            &["MULTI", "GET", "SET a 1", "EXEC"],
            &["MULTI", "MULTI", "WATCH a", "EXEC"],
            &["WATCH a", "SET a 2", "MULTI", "GET a", "EXEC"],
            &["GET"],
            &["NOSUCH"],
            &["EXEC"],
            &["LPUSH a x"],
            &["CONFIG GET"],
            &["CONFIG nosuch"],
            &["CONFIG RESETSTAT", "OBJECT ENCODING a"],
            &["MULTI", "CONFIG RESETSTAT", "GET a", "EXEC"],
        ];
        let counted = |reply: Value| {
            let text = text_of(&reply);
            let mut lines = text.lines();
            Value::bulk(lines.find(|l| l.starts_with("total_commands")).unwrap_or_default())
        };
        c.run("CONFIG RESETSTAT");
        for lines in steps {
            lines.iter().for_each(|line| drop(c.on(1).run(*line)));
            c.same_after("INFO stats", counted);
        }
        let counts = c.run("INFO stats");
        assert_eq!(counted(counts), Value::bulk("total_commands_processed:4"));
    });
}

#[test]
fn resetstat_counts_from_zero_again() {
    let env = Env::manual(Timestamp::EPOCH, 1);
    let mut session = Engine::with_env(env.clone()).session();
    let mut call = |line: &str| {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        session.call(&argv)
    };
    let counts = |reply: &Value| {
        let text = text_of(reply);
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the field");
            line.trim_start_matches(':').parse::<u64>().expect("a number")
        };
        let fields = ["total_connections_received", "total_commands_processed", "expired_keys"];
        fields.map(count)
    };
    call("SET a 1 PX 10");
    env.advance(Duration::from_millis(11));
    call("SET a 2");
    assert_eq!(counts(&call("INFO stats")), [1, 2, 1]);
    call("CONFIG RESETSTAT");
    assert_eq!(counts(&call("INFO stats")), [0, 1, 0]);
}

#[test]
fn command_answers_for_names_it_knows() {
    in_both_protocols(|c| {
        c.same("COMMAND INFO nosuch");
        c.same("COMMAND INFO client|");
        c.same("COMMAND INFO client|nosuch get|nosuch 'client id'");
        c.same("COMMAND DOCS nosuch");
        c.same("COMMAND HELP");
        c.same("COMMAND nosuch");
        c.same("COMMAND COUNT x");
        for wrong in ["FILTERBY nosuch x", "FILTERBY PATTERN", "x", "FILTERBY MODULE x y"] {
            c.same(format!("COMMAND LIST {wrong}"));
        }
        c.same("COMMAND LIST FILTERBY MODULE x");
        c.same("COMMAND LIST FILTERBY ACLCAT nosuch");
        c.same("COMMAND LIST FILTERBY ACLCAT @transaction");
        c.same_set("COMMAND LIST FILTERBY ACLCAT Transaction");
        c.same_set("COMMAND LIST FILTERBY PATTERN CLIENT|I*");
        c.same_set("COMMAND LIST FILTERBY PATTERN config*");
        c.same("COMMAND LIST FILTERBY PATTERN nosuch*");
    });
}

#[test]
fn command_getkeys_finds_keys_and_what_is_done_to_them() {
    in_both_protocols(|c| {
        for line in [
            "get a",
            "GET",
            "get a b",
            "ping x",
            "nosuch a",
            "client id",
            "client nosuch",
            "client id x",
            "object encoding x",
            "object x",
            "watch a b",
            "rename a b",
            "del a b c",
            "copy a b DB 3",
            "set a 1",
            "set a 1 GET",
            "set a 1 ex get",
            "set a 1 get\\x00",
            "expire a 1 nx",
            "move a 1",
            "unlink a",
            "touch a a",
            "scan 0",
            "exec x",
        ] {
            c.same(format!("COMMAND GETKEYS {line}"));
            c.same(format!("COMMAND GETKEYSANDFLAGS {line}"));
        }
    });
}

#[test]
fn info_has_the_fields_that_clients_read() {
    side_by_side(|c| {
        c.run("SET a 1");
        c.run("SET b 1");
        c.run("PEXPIRE b 5000");
        c.run("SELECT 3");
        c.run("SET a 1");
        // A real server measures the mean TTL only as it looks for dead keys.
        c.same_after("INFO keyspace", |reply| Value::bulk(untimed(&text_of(&reply))));
        c.same_after("INFO Keyspace cluster", |reply| Value::bulk(untimed(&text_of(&reply))));
        c.same("INFO cluster modules");
        c.same("INFO nosuch");
        c.same("INFO MODULES nosuch");
        for section in ["server", "clients", "memory", "persistence", "stats", "replication"] {
            c.same_after(argv!["INFO", section], |reply| told(&reply));
        }
        for all in ["INFO", "INFO default", "INFO default nosuch", "INFO all", "INFO everything"] {
            c.same_after(all, |reply| sections(&reply));
        }
    });
    side_by_side(|c| {
        c.hello3();
        c.same("INFO keyspace");
        c.same("INFO nosuch");
    });
}

fn text_of(reply: &Value) -> String {
    match reply {
        Value::Bulk(text) | Value::Verbatim(_, text) => text.to_text(),
        other => panic!("{other:?} is no text"),
    }
}

/// The keyspace section without the mean TTL of databases that have one.
fn untimed(text: &str) -> String {
    let cut = |line: &str| match line.split_once(",avg_ttl=") {
        Some((rest, _)) => format!("{rest}\r\n"),
        None => format!("{line}\r\n"),
    };
    text.split_terminator("\r\n").map(cut).collect()
}

/// The fields of INFO that must be equal, of those that are there on both sides.
fn told(reply: &Value) -> Value {
    const EQUAL: [&str; 26] = [
        "redis_version",
        "redis_mode",
        "hz",
        "configured_hz",
        "connected_clients",
        "maxclients",
        "blocked_clients",
        "tracking_clients",
        "maxmemory",
        "maxmemory_human",
        "maxmemory_policy",
        "loading",
        "async_loading",
        "rdb_bgsave_in_progress",
        "aof_enabled",
        "expired_keys",
        "evicted_keys",
        "role",
        "connected_slaves",
        "master_failover_state",
        "master_replid2",
        "master_repl_offset",
        "second_repl_offset",
        "arch_bits",
        "server_time_usec",
        "lru_clock",
    ];
    let text = text_of(reply);
    let wanted = |line: &&str| line.split(':').next().is_some_and(|name| EQUAL.contains(&name));
    Value::bulks(text.lines().filter(wanted))
}

/// The sections of INFO.
fn sections(reply: &Value) -> Value {
    Value::bulks(text_of(reply).lines().filter(|line| line.starts_with('#')))
}
