//! INFO: the fields that clients and tools read, under Redis's names.
//!
//! Only what is true of an engine in a process is said. Fields about files, replicas, sockets and
//! allocators that it does not have are left out or say so; `used_memory` is an estimate.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use super::super::{Session, Shared, script};
use super::VERSION;
use crate::commands::Cx;
use crate::commands::args::is;
use crate::db::DATABASES;
use crate::db::Topic;
use crate::resp::Value;

/// A section: its name, whether plain INFO shows it, and what writes it.
type Section = (&'static str, bool, fn(&mut String, &Shared, &mut Cx<'_>));

const SECTIONS: &[Section] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, nothing),
    ("Modules", true, nothing),
    ("Commandstats", false, nothing),
    ("Errorstats", true, nothing),
    ("Latencystats", false, nothing),
    ("Cluster", true, cluster),
    ("Keyspace", true, keyspace),
];

pub(super) fn info(session: &Session, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Value {
    let asked = &argv[1..];
    let all = asked.iter().any(|name| is(name, "all") || is(name, "everything"));
    let default = asked.is_empty() || asked.iter().any(|name| is(name, "default"));
    let mut text = String::new();
    for (name, is_default, write) in SECTIONS {
        if all || (default && *is_default) || asked.iter().any(|asked| is(asked, name)) {
            let separator = if text.is_empty() { "" } else { "\r\n" };
            let _ = write!(text, "{separator}# {name}\r\n");
            write(&mut text, &session.shared, cx);
        }
    }
    cx.db.select(session.db);
    Value::Verbatim(*b"txt", text.as_bytes().into())
}

/// Adds a field.
fn field(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "{name}:{value}\r\n");
}

fn nothing(_: &mut String, _: &Shared, _: &mut Cx<'_>) {}

fn server(text: &mut String, shared: &Shared, cx: &mut Cx<'_>) {
    let uptime = cx.now.since(shared.started).as_secs();
    let hz = shared.config.value("hz");
    field(text, "redis_version", VERSION);
    field(text, "redis_git_sha1", "00000000");
    field(text, "redis_git_dirty", 0);
    field(text, "redis_build_id", "0");
    field(text, "redis_mode", "standalone");
    field(text, "os", std::env::consts::OS);
    field(text, "arch_bits", usize::BITS);
    field(text, "run_id", &shared.run_id);
    field(text, "tcp_port", shared.config.value("port"));
    field(text, "server_time_usec", cx.now.as_micros());
    field(text, "uptime_in_seconds", uptime);
    field(text, "uptime_in_days", uptime / 86_400);
    field(text, "hz", &hz);
    field(text, "configured_hz", &hz);
    field(text, "lru_clock", cx.now.as_secs() & 0xff_ffff);
    field(text, "executable", "");
    field(text, "config_file", "");
    field(text, "io_threads_active", 0);
}

fn clients(text: &mut String, shared: &Shared, cx: &mut Cx<'_>) {
    cx.db.time_out();
    field(text, "connected_clients", shared.clients.len());
    field(text, "cluster_connections", 0);
    match shared.stats.max_clients.load(Ordering::Relaxed) {
        0 => field(text, "maxclients", shared.config.value("maxclients")),
        most => field(text, "maxclients", most),
    }
    field(text, "blocked_clients", shared.keyspace.blocked());
    field(text, "tracking_clients", 0);
    field(text, "clients_in_timeout_table", shared.keyspace.blocked_with_deadline());
}

fn memory(text: &mut String, shared: &Shared, cx: &mut Cx<'_>) {
    let used: usize = (0..DATABASES)
        .map(|index| {
            cx.db.select(index);
            cx.db.memory()
        })
        .sum();
    let most: u64 = shared.config.value("maxmemory").parse().unwrap_or_default();
    field(text, "used_memory", used);
    field(text, "used_memory_human", human(used as u64));
    field(text, "used_memory_dataset", used);
    let scripts = script::usage(shared);
    field(text, "used_memory_lua", scripts.interpreter);
    field(text, "used_memory_vm_eval", scripts.interpreter);
    field(text, "used_memory_lua_human", human(scripts.interpreter as u64));
    field(text, "used_memory_scripts_eval", scripts.cached_bytes);
    field(text, "number_of_cached_scripts", scripts.cached);
    field(text, "number_of_functions", 0);
    field(text, "number_of_libraries", 0);
    field(text, "used_memory_vm_functions", 0);
    field(text, "used_memory_vm_total", scripts.interpreter);
    field(text, "used_memory_vm_total_human", human(scripts.interpreter as u64));
    field(text, "used_memory_functions", 0);
    field(text, "used_memory_scripts", scripts.cached_bytes);
    field(text, "used_memory_scripts_human", human(scripts.cached_bytes as u64));
    field(text, "maxmemory", most);
    field(text, "maxmemory_human", human(most));
    field(text, "maxmemory_policy", shared.config.value("maxmemory-policy"));
}

fn persistence(text: &mut String, _: &Shared, _: &mut Cx<'_>) {
    field(text, "loading", 0);
    field(text, "async_loading", 0);
    field(text, "rdb_bgsave_in_progress", 0);
    field(text, "aof_enabled", 0);
    field(text, "aof_rewrite_in_progress", 0);
    field(text, "aof_rewrite_scheduled", 0);
}

fn stats(text: &mut String, shared: &Shared, _: &mut Cx<'_>) {
    field(text, "total_connections_received", shared.sessions());
    field(text, "total_commands_processed", shared.commands());
    field(text, "rejected_connections", shared.stats.rejected.load(Ordering::Relaxed));
    field(text, "sync_full", 0);
    field(text, "expired_keys", shared.keyspace.expired());
    field(text, "evicted_keys", 0);
    field(text, "evicted_clients", 0);
    field(text, "pubsub_channels", shared.keyspace.topics(Topic::Channel));
    field(text, "pubsub_patterns", shared.keyspace.topics(Topic::Pattern));
    field(text, "pubsubshard_channels", shared.keyspace.topics(Topic::Shard));
    field(text, "latest_fork_usec", 0);
    field(text, "total_forks", 0);
}

fn replication(text: &mut String, shared: &Shared, _: &mut Cx<'_>) {
    field(text, "role", "master");
    field(text, "connected_slaves", 0);
    field(text, "master_failover_state", "no-failover");
    field(text, "master_replid", &shared.run_id);
    field(text, "master_replid2", "0".repeat(40));
    field(text, "master_repl_offset", 0);
    field(text, "second_repl_offset", -1);
    field(text, "repl_backlog_active", 0);
}

fn cluster(text: &mut String, _: &Shared, _: &mut Cx<'_>) {
    field(text, "cluster_enabled", 0);
}

fn keyspace(text: &mut String, _: &Shared, cx: &mut Cx<'_>) {
    for index in 0..DATABASES {
        cx.db.select(index);
        let stats = cx.db.stats();
        if stats.keys > 0 {
            let (keys, expires, ttl) = (stats.keys, stats.expires, stats.average_ttl_ms);
            let numbers = format!("keys={keys},expires={expires},avg_ttl={ttl}");
            field(text, &format!("db{index}"), numbers);
        }
    }
}

/// A number of bytes as people read it.
fn human(bytes: u64) -> String {
    let bytes_f64 = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.2}K", bytes_f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", bytes_f64 / 1_048_576.0),
        _ => format!("{:.2}G", bytes_f64 / 1_073_741_824.0),
    }
}
