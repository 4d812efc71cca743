//! The parameters: name, default, and what CONFIG SET may make of each.
//!
//! Names, defaults, forms and bounds are those of a redis-server 7.0.15 started without a
//! configuration file, `--save ''` and no port. What a parameter does is said where it is used;
//! most of them do nothing in an engine that has no disk, no replicas and no cluster.

use super::kind::Kind;

/// A parameter of the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) form: Form,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// One that can be set to values of this kind.
    Of(Kind),
    /// One that is decided at the start.
    Fixed,
    /// One that can be set only by who started the server.
    Protected,
    /// Another name for that one.
    Alias(&'static str),
}

const fn set(name: &'static str, default: &'static str, kind: Kind) -> Parameter {
    Parameter { name, default, form: Form::Of(kind) }
}

const fn fixed(name: &'static str, default: &'static str) -> Parameter {
    Parameter { name, default, form: Form::Fixed }
}

const fn protected(name: &'static str, default: &'static str) -> Parameter {
    Parameter { name, default, form: Form::Protected }
}

const fn alias(name: &'static str, of: &'static str) -> Parameter {
    Parameter { name, default: "", form: Form::Alias(of) }
}

const I32: i64 = i32::MAX as i64;
const U32: i64 = u32::MAX as i64;
const I64: i64 = i64::MAX;
/// The largest signed size.
const SIZE: u64 = i64::MAX as u64;

const ACL_PUBSUB_DEFAULT: &[&str] = &["allchannels", "resetchannels"];
const APPENDFSYNC: &[&str] = &["everysec", "always", "no"];
const CLUSTER_PREFERRED_ENDPOINT_TYPE: &[&str] = &["ip", "hostname", "unknown-endpoint"];
const LOGLEVEL: &[&str] = &["debug", "verbose", "notice", "warning"];
const MAXMEMORY_POLICY: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];
const OOM_SCORE_ADJ: &[&str] = &["no", "yes", "relative", "absolute"];
const PROPAGATION_ERROR_BEHAVIOR: &[&str] = &["ignore", "panic", "panic-on-replicas"];
const REPL_DISKLESS_LOAD: &[&str] = &["disabled", "on-empty-db", "swapdb"];
const SANITIZE_DUMP_PAYLOAD: &[&str] = &["no", "yes", "clients"];
const SHUTDOWN: &[&str] = &["default", "save", "nosave", "now", "force"];
const TLS_AUTH_CLIENTS: &[&str] = &["no", "yes", "optional"];

/// All of them, by name.
pub(super) const PARAMETERS: &[Parameter] = &[
    set("acl-pubsub-default", "resetchannels", Kind::Enum(ACL_PUBSUB_DEFAULT)),
    fixed("aclfile", ""),
    set("acllog-max-len", "128", Kind::Int(0, I64)),
    set("active-defrag-cycle-max", "25", Kind::Int(1, 99)),
    set("active-defrag-cycle-min", "1", Kind::Int(1, 99)),
    set("active-defrag-ignore-bytes", "104857600", Kind::Memory(1, SIZE)),
    set("active-defrag-max-scan-fields", "1000", Kind::Int(1, I64)),
    set("active-defrag-threshold-lower", "10", Kind::Int(0, 1000)),
    set("active-defrag-threshold-upper", "100", Kind::Int(0, 1000)),
    set("active-expire-effort", "1", Kind::Int(1, 10)),
    set("activedefrag", "no", Kind::Bool),
    set("activerehashing", "yes", Kind::Bool),
    fixed("always-show-logo", "no"),
    set("aof-disable-auto-gc", "no", Kind::Bool),
    set("aof-load-truncated", "yes", Kind::Bool),
    set("aof-rewrite-incremental-fsync", "yes", Kind::Bool),
    set("aof-timestamp-enabled", "no", Kind::Bool),
    set("aof-use-rdb-preamble", "yes", Kind::Bool),
    fixed("aof_rewrite_cpulist", ""),
    fixed("appenddirname", "appendonlydir"),
    fixed("appendfilename", "appendonly.aof"),
    set("appendfsync", "everysec", Kind::Enum(APPENDFSYNC)),
    set("appendonly", "no", Kind::Bool),
    set("auto-aof-rewrite-min-size", "67108864", Kind::Memory(0, SIZE)),
    set("auto-aof-rewrite-percentage", "100", Kind::Int(0, I32)),
    fixed("bgsave_cpulist", ""),
    fixed("bind", "* -::*"),
    set("bind-source-addr", "", Kind::Text),
    fixed("bio_cpulist", ""),
    set("busy-reply-threshold", "5000", Kind::Int(0, I64)),
    set(
        "client-output-buffer-limit",
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        Kind::BufferLimits,
    ),
    set("client-query-buffer-limit", "1073741824", Kind::Memory(1_048_576, SIZE)),
    set("cluster-allow-pubsubshard-when-down", "yes", Kind::Bool),
    set("cluster-allow-reads-when-down", "no", Kind::Bool),
    set("cluster-allow-replica-migration", "yes", Kind::Bool),
    set("cluster-announce-bus-port", "0", Kind::Int(0, 65_535)),
    set("cluster-announce-hostname", "", Kind::Hostname),
    set("cluster-announce-ip", "", Kind::Text),
    set("cluster-announce-port", "0", Kind::Int(0, 65_535)),
    set("cluster-announce-tls-port", "0", Kind::Int(0, 65_535)),
    fixed("cluster-config-file", "nodes.conf"),
    fixed("cluster-enabled", "no"),
    set("cluster-link-sendbuf-limit", "0", Kind::Memory(0, u64::MAX)),
    set("cluster-migration-barrier", "1", Kind::Int(0, I32)),
    set("cluster-node-timeout", "15000", Kind::Int(0, I64)),
    fixed("cluster-port", "0"),
    set("cluster-preferred-endpoint-type", "ip", Kind::Enum(CLUSTER_PREFERRED_ENDPOINT_TYPE)),
    set("cluster-replica-no-failover", "no", Kind::Bool),
    set("cluster-replica-validity-factor", "10", Kind::Int(0, I32)),
    set("cluster-require-full-coverage", "yes", Kind::Bool),
    alias("cluster-slave-no-failover", "cluster-replica-no-failover"),
    alias("cluster-slave-validity-factor", "cluster-replica-validity-factor"),
    set("crash-log-enabled", "yes", Kind::Bool),
    set("crash-memcheck-enabled", "yes", Kind::Bool),
    fixed("daemonize", "no"),
    fixed("databases", "16"),
    protected("dbfilename", "dump.rdb"),
    protected("dir", "/"),
    fixed("disable-thp", "yes"),
    set("dynamic-hz", "yes", Kind::Bool),
    fixed("enable-debug-command", "no"),
    fixed("enable-module-command", "no"),
    fixed("enable-protected-configs", "no"),
    set("hash-max-listpack-entries", "512", Kind::Int(0, I64)),
    set("hash-max-listpack-value", "64", Kind::Memory(0, SIZE)),
    alias("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    alias("hash-max-ziplist-value", "hash-max-listpack-value"),
    set("hll-sparse-max-bytes", "3000", Kind::Memory(0, SIZE)),
    set("hz", "10", Kind::Int(0, I32)),
    set("ignore-warnings", "", Kind::Text),
    fixed("io-threads", "1"),
    fixed("io-threads-do-reads", "no"),
    set("jemalloc-bg-thread", "yes", Kind::Bool),
    set("latency-monitor-threshold", "0", Kind::Int(0, I64)),
    set("latency-tracking", "yes", Kind::Bool),
    set("latency-tracking-info-percentiles", "50 99 99.9", Kind::Percentiles),
    set("lazyfree-lazy-eviction", "no", Kind::Bool),
    set("lazyfree-lazy-expire", "no", Kind::Bool),
    set("lazyfree-lazy-server-del", "no", Kind::Bool),
    set("lazyfree-lazy-user-del", "no", Kind::Bool),
    set("lazyfree-lazy-user-flush", "no", Kind::Bool),
    set("lfu-decay-time", "1", Kind::Int(0, I32)),
    set("lfu-log-factor", "10", Kind::Int(0, I32)),
    set("list-compress-depth", "0", Kind::Int(0, I32)),
    set("list-max-listpack-size", "-2", Kind::Int(-I32 - 1, I32)),
    alias("list-max-ziplist-size", "list-max-listpack-size"),
    fixed("logfile", ""),
    set("loglevel", "notice", Kind::Enum(LOGLEVEL)),
    alias("lua-time-limit", "busy-reply-threshold"),
    set("masterauth", "", Kind::Text),
    set("masteruser", "", Kind::Text),
    set("maxclients", "10000", Kind::Int(1, U32)),
    set("maxmemory", "0", Kind::Memory(0, u64::MAX)),
    set("maxmemory-clients", "0", Kind::MemoryOrPercent),
    set("maxmemory-eviction-tenacity", "10", Kind::Int(0, 100)),
    set("maxmemory-policy", "noeviction", Kind::Enum(MAXMEMORY_POLICY)),
    set("maxmemory-samples", "5", Kind::Int(1, I32)),
    set("min-replicas-max-lag", "10", Kind::Int(0, I32)),
    set("min-replicas-to-write", "0", Kind::Int(0, I32)),
    alias("min-slaves-max-lag", "min-replicas-max-lag"),
    alias("min-slaves-to-write", "min-replicas-to-write"),
    set("no-appendfsync-on-rewrite", "no", Kind::Bool),
    set("notify-keyspace-events", "", Kind::Events),
    set("oom-score-adj", "no", Kind::Enum(OOM_SCORE_ADJ)),
    set("oom-score-adj-values", "0 200 800", Kind::OomScores),
    fixed("pidfile", ""),
    fixed("port", "0"),
    set("proc-title-template", "{title} {listen-addr} {server-mode}", Kind::Text),
    set("propagation-error-behavior", "ignore", Kind::Enum(PROPAGATION_ERROR_BEHAVIOR)),
    set("protected-mode", "yes", Kind::Bool),
    set("proto-max-bulk-len", "536870912", Kind::Memory(1_048_576, SIZE)),
    set("rdb-del-sync-files", "no", Kind::Bool),
    set("rdb-save-incremental-fsync", "yes", Kind::Bool),
    fixed("rdbchecksum", "yes"),
    set("rdbcompression", "yes", Kind::Bool),
    set("repl-backlog-size", "1048576", Kind::Memory(1, SIZE)),
    set("repl-backlog-ttl", "3600", Kind::Int(0, I64)),
    set("repl-disable-tcp-nodelay", "no", Kind::Bool),
    set("repl-diskless-load", "disabled", Kind::Enum(REPL_DISKLESS_LOAD)),
    set("repl-diskless-sync", "yes", Kind::Bool),
    set("repl-diskless-sync-delay", "5", Kind::Int(0, I32)),
    set("repl-diskless-sync-max-replicas", "0", Kind::Int(0, I32)),
    set("repl-ping-replica-period", "10", Kind::Int(1, I32)),
    alias("repl-ping-slave-period", "repl-ping-replica-period"),
    set("repl-timeout", "60", Kind::Int(1, I32)),
    set("replica-announce-ip", "", Kind::Text),
    set("replica-announce-port", "0", Kind::Int(0, 65_535)),
    set("replica-announced", "yes", Kind::Bool),
    set("replica-ignore-disk-write-errors", "no", Kind::Bool),
    set("replica-ignore-maxmemory", "yes", Kind::Bool),
    set("replica-lazy-flush", "no", Kind::Bool),
    set("replica-priority", "100", Kind::Int(0, I32)),
    set("replica-read-only", "yes", Kind::Bool),
    set("replica-serve-stale-data", "yes", Kind::Bool),
    fixed("replicaof", ""),
    set("requirepass", "", Kind::Empty),
    set("sanitize-dump-payload", "no", Kind::Enum(SANITIZE_DUMP_PAYLOAD)),
    set("save", "", Kind::Save),
    fixed("server_cpulist", ""),
    set("set-max-intset-entries", "512", Kind::Int(0, I64)),
    fixed("set-proc-title", "yes"),
    set("shutdown-on-sigint", "default", Kind::Words(SHUTDOWN)),
    set("shutdown-on-sigterm", "default", Kind::Words(SHUTDOWN)),
    set("shutdown-timeout", "10", Kind::Int(0, I32)),
    alias("slave-announce-ip", "replica-announce-ip"),
    alias("slave-announce-port", "replica-announce-port"),
    alias("slave-ignore-maxmemory", "replica-ignore-maxmemory"),
    alias("slave-lazy-flush", "replica-lazy-flush"),
    alias("slave-priority", "replica-priority"),
    alias("slave-read-only", "replica-read-only"),
    alias("slave-serve-stale-data", "replica-serve-stale-data"),
    alias("slaveof", "replicaof"),
    set("slowlog-log-slower-than", "10000", Kind::Int(-1, I64)),
    set("slowlog-max-len", "128", Kind::Int(0, I64)),
    fixed("socket-mark-id", "0"),
    set("stop-writes-on-bgsave-error", "yes", Kind::Bool),
    set("stream-node-max-bytes", "4096", Kind::Memory(0, SIZE)),
    set("stream-node-max-entries", "100", Kind::Int(0, I64)),
    fixed("supervised", "no"),
    fixed("syslog-enabled", "no"),
    fixed("syslog-facility", "local0"),
    fixed("syslog-ident", "redis"),
    fixed("tcp-backlog", "511"),
    set("tcp-keepalive", "300", Kind::Int(0, I32)),
    set("timeout", "0", Kind::Int(0, I32)),
    set("tls-auth-clients", "yes", Kind::Enum(TLS_AUTH_CLIENTS)),
    set("tls-ca-cert-dir", "", Kind::Text),
    set("tls-ca-cert-file", "", Kind::Text),
    set("tls-cert-file", "", Kind::Text),
    set("tls-ciphers", "", Kind::Text),
    set("tls-ciphersuites", "", Kind::Text),
    set("tls-client-cert-file", "", Kind::Text),
    set("tls-client-key-file", "", Kind::Text),
    set("tls-client-key-file-pass", "", Kind::Text),
    set("tls-cluster", "no", Kind::Bool),
    set("tls-dh-params-file", "", Kind::Text),
    set("tls-key-file", "", Kind::Text),
    set("tls-key-file-pass", "", Kind::Text),
    fixed("tls-port", "0"),
    set("tls-prefer-server-ciphers", "no", Kind::Bool),
    set("tls-protocols", "", Kind::Text),
    set("tls-replication", "no", Kind::Bool),
    set("tls-session-cache-size", "20480", Kind::Int(0, I32)),
    set("tls-session-cache-timeout", "300", Kind::Int(0, I32)),
    set("tls-session-caching", "yes", Kind::Bool),
    set("tracking-table-max-keys", "1000000", Kind::Int(0, I64)),
    fixed("unixsocket", ""),
    fixed("unixsocketperm", "0"),
    set("zset-max-listpack-entries", "128", Kind::Int(0, I64)),
    set("zset-max-listpack-value", "64", Kind::Memory(0, SIZE)),
    alias("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    alias("zset-max-ziplist-value", "zset-max-listpack-value"),
];
