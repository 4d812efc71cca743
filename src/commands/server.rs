//! The server: the size and the end of databases, its time, its settings, and what it says of
//! itself. What needs the whole engine is run there.

use super::args::{database_at, help, int32, is};
use super::{Acl, Arg, Cx, Flags, Reply, Run, SessionOp, Spec, introspect};
use crate::error::WireError;
use crate::resp::Value;

/// The rows of this family.
pub const ROWS: &[&Spec] =
    &[&COMMAND, &CONFIG, &DBSIZE, &FLUSHALL, &FLUSHDB, &INFO, &SWAPDB, &TIME];

/// Names of commands.
const NAMES: Arg = Arg::Opt(&[Arg::Many(&[Arg::Str])]);
/// A whole command line.
const LINE: &[Arg] = &[Arg::Str, Arg::Many(&[Arg::Str])];
/// How to flush. It makes no difference here: either way it is done when the reply comes.
const HOW: Arg = Arg::Opt(&[Arg::One(&[Arg::Tok("ASYNC"), Arg::Tok("SYNC")])]);
const FILTER: Arg = Arg::Opt(&[
    Arg::Tok("FILTERBY"),
    Arg::One(&[
        Arg::Seq(&[Arg::Tok("MODULE"), Arg::Str]),
        Arg::Seq(&[Arg::Tok("ACLCAT"), Arg::Str]),
        Arg::Seq(&[Arg::Tok("PATTERN"), Arg::Pattern]),
    ]),
]);

/// `COMMAND`
pub const COMMAND: Spec =
    Spec::new("COMMAND", Run::Plain(introspect::command), Flags::LOADING.or(Flags::STALE), &[])
        .arity_as(-1)
        .subs(&[
            &COMMAND_COUNT,
            &COMMAND_DOCS,
            &COMMAND_GETKEYS,
            &COMMAND_GETKEYSANDFLAGS,
            &COMMAND_HELP,
            &COMMAND_INFO,
            &COMMAND_LIST,
        ])
        .acl(Acl::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .doc(
            "server",
            "2.8.13",
            "O(N) where N is the total number of Redis commands",
            "Get array of Redis command details",
        );

/// `COMMAND COUNT`
pub const COMMAND_COUNT: Spec =
    Spec::new("COMMAND|COUNT", Run::Plain(introspect::count), Flags::LOADING.or(Flags::STALE), &[])
        .acl(Acl::CONNECTION)
        .doc("server", "2.8.13", "O(1)", "Get total number of Redis commands");

/// `COMMAND DOCS [name …]`
pub const COMMAND_DOCS: Spec = Spec::new(
    "COMMAND|DOCS",
    Run::Plain(introspect::docs),
    Flags::LOADING.or(Flags::STALE),
    &[NAMES],
)
.acl(Acl::CONNECTION)
.tips(&["nondeterministic_output_order"])
.doc(
    "server",
    "7.0.0",
    "O(N) where N is the number of commands to look up",
    "Get array of specific Redis command documentation",
);

/// `COMMAND GETKEYS command argument …`
pub const COMMAND_GETKEYS: Spec = Spec::new(
    "COMMAND|GETKEYS",
    Run::Plain(introspect::getkeys),
    Flags::LOADING.or(Flags::STALE),
    LINE,
)
.acl(Acl::CONNECTION)
.doc(
    "server",
    "2.8.13",
    "O(N) where N is the number of arguments to the command",
    "Extract keys given a full Redis command",
);

/// `COMMAND GETKEYSANDFLAGS command argument …`
pub const COMMAND_GETKEYSANDFLAGS: Spec = Spec::new(
    "COMMAND|GETKEYSANDFLAGS",
    Run::Plain(introspect::getkeysandflags),
    Flags::LOADING.or(Flags::STALE),
    LINE,
)
.acl(Acl::CONNECTION)
.doc(
    "server",
    "7.0.0",
    "O(N) where N is the number of arguments to the command",
    "Extract keys and access flags given a full Redis command",
);

/// `COMMAND HELP`
pub const COMMAND_HELP: Spec =
    Spec::new("COMMAND|HELP", Run::Plain(command_help), Flags::LOADING.or(Flags::STALE), &[])
        .acl(Acl::CONNECTION)
        .doc("server", "5.0.0", "O(1)", "Show helpful text about the different subcommands");

/// `COMMAND INFO [name …]`
pub const COMMAND_INFO: Spec = Spec::new(
    "COMMAND|INFO",
    Run::Plain(introspect::info),
    Flags::LOADING.or(Flags::STALE),
    &[NAMES],
)
.acl(Acl::CONNECTION)
.tips(&["nondeterministic_output_order"])
.doc(
    "server",
    "2.8.13",
    "O(N) where N is the number of commands to look up",
    "Get array of specific Redis command details, or all when no argument is given.",
);

/// `COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]`
pub const COMMAND_LIST: Spec = Spec::new(
    "COMMAND|LIST",
    Run::Plain(introspect::list),
    Flags::LOADING.or(Flags::STALE),
    &[FILTER],
)
.acl(Acl::CONNECTION)
.tips(&["nondeterministic_output_order"])
.doc(
    "server",
    "7.0.0",
    "O(N) where N is the total number of Redis commands",
    "Get an array of Redis command names",
);

/// `CONFIG subcommand`
pub const CONFIG: Spec = Spec::container(
    "CONFIG",
    &[&CONFIG_GET, &CONFIG_HELP, &CONFIG_RESETSTAT, &CONFIG_REWRITE, &CONFIG_SET],
)
.doc("server", "2.0.0", "Depends on subcommand.", "A container for server configuration commands");

/// `CONFIG GET pattern …`
pub const CONFIG_GET: Spec = Spec::new(
    "CONFIG|GET",
    Run::Session(SessionOp::ConfigGet),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Many(&[Arg::Pattern])],
)
.doc(
    "server",
    "2.0.0",
    "O(N) when N is the number of configuration parameters provided",
    "Get the values of configuration parameters",
);

/// `CONFIG HELP`
pub const CONFIG_HELP: Spec = Spec::new(
    "CONFIG|HELP",
    Run::Plain(config_help),
    Flags::LOADING.or(Flags::STALE),
    &[],
)
.doc("server", "5.0.0", "O(1)", "Show helpful text about the different subcommands");

/// `CONFIG RESETSTAT`
pub const CONFIG_RESETSTAT: Spec = Spec::new(
    "CONFIG|RESETSTAT",
    Run::Session(SessionOp::ConfigResetstat),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.doc("server", "2.0.0", "O(1)", "Reset the stats returned by INFO");

/// `CONFIG REWRITE`
pub const CONFIG_REWRITE: Spec = Spec::new(
    "CONFIG|REWRITE",
    Run::Session(SessionOp::ConfigRewrite),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.doc("server", "2.8.0", "O(1)", "Rewrite the configuration file with the in memory configuration");

/// `CONFIG SET parameter value …`
pub const CONFIG_SET: Spec = Spec::new(
    "CONFIG|SET",
    Run::Session(SessionOp::ConfigSet),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Many(&[Arg::Str, Arg::Str])],
)
.tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
.doc(
    "server",
    "2.0.0",
    "O(N) when N is the number of configuration parameters provided",
    "Set configuration parameters to the given values",
);

/// `DBSIZE`
pub const DBSIZE: Spec =
    Spec::new("DBSIZE", Run::Data(dbsize), Flags::READONLY.or(Flags::FAST), &[])
        .acl(Acl::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"])
        .doc("server", "1.0.0", "O(1)", "Return the number of keys in the selected database");

/// `FLUSHALL [ASYNC | SYNC]`
pub const FLUSHALL: Spec = Spec::new("FLUSHALL", Run::Data(flushall), Flags::WRITE, &[HOW])
    .acl(Acl::KEYSPACE.or(Acl::DANGEROUS))
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .doc(
        "server",
        "1.0.0",
        "O(N) where N is the total number of keys in all databases",
        "Remove all keys from all databases",
    );

/// `FLUSHDB [ASYNC | SYNC]`
pub const FLUSHDB: Spec = Spec::new("FLUSHDB", Run::Data(flushdb), Flags::WRITE, &[HOW])
    .acl(Acl::KEYSPACE.or(Acl::DANGEROUS))
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .doc(
        "server",
        "1.0.0",
        "O(N) where N is the number of keys in the selected database",
        "Remove all keys from the current database",
    );

/// `INFO [section …]`
pub const INFO: Spec = Spec::new(
    "INFO",
    Run::Server(SessionOp::Info),
    Flags::LOADING.or(Flags::STALE),
    &[Arg::Opt(&[Arg::Many(&[Arg::Str])])],
)
.acl(Acl::DANGEROUS)
.tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
.doc("server", "1.0.0", "O(1)", "Get information and statistics about the server");

/// `SWAPDB first second`
pub const SWAPDB: Spec =
    Spec::new("SWAPDB", Run::Data(swapdb), Flags::WRITE.or(Flags::FAST), &[Arg::Db, Arg::Db])
        .acl(Acl::KEYSPACE.or(Acl::DANGEROUS))
        .doc(
            "server",
            "4.0.0",
            "O(N) where N is the count of clients watching or blocking on keys from both \
         databases.",
            "Swaps two Redis databases",
        );

/// `TIME`
pub const TIME: Spec =
    Spec::new("TIME", Run::Plain(time), Flags::LOADING.or(Flags::STALE).or(Flags::FAST), &[])
        .tips(&["nondeterministic_output"])
        .doc("server", "2.6.0", "O(1)", "Return the current server time");

fn command_help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    help(
        "COMMAND",
        &[
            "(no subcommand)",
            "    Return details about all Redis commands.",
            "COUNT",
            "    Return the total number of commands in this Redis server.",
            "LIST",
            "    Return a list of all commands in this Redis server.",
            "INFO [<command-name> ...]",
            "    Return details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
            "DOCS [<command-name> ...]",
            "    Return documentation details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
            "GETKEYS <full-command>",
            "    Return the keys from a full Redis command.",
            "GETKEYSANDFLAGS <full-command>",
            "    Return the keys and the access flags from a full Redis command.",
        ],
    )
}

fn config_help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    help(
        "CONFIG",
        &[
            "GET <pattern>",
            "    Return parameters matching the glob-like <pattern> and their values.",
            "SET <directive> <value>",
            "    Set the configuration <directive> to <value>.",
            "RESETSTAT",
            "    Reset statistics reported by the INFO command.",
            "REWRITE",
            "    Rewrite the configuration file.",
        ],
    )
}

fn dbsize(cx: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Ok(cx.db.len().into())
}

fn flushall(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    check_how(argv)?;
    cx.db.flush_all();
    Ok(Value::OK)
}

fn flushdb(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    check_how(argv)?;
    cx.db.flush();
    Ok(Value::OK)
}

fn swapdb(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    let first = int32(argv[1]).map_err(|_| WireError::fixed("ERR invalid first DB index"))?;
    let second = int32(argv[2]).map_err(|_| WireError::fixed("ERR invalid second DB index"))?;
    let (first, second) = (database_at(first)?, database_at(second)?);
    cx.db.swap(first, second);
    Ok(Value::OK)
}

fn time(cx: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    let us = cx.now.as_micros();
    let parts = [us.div_euclid(1_000_000), us.rem_euclid(1_000_000)];
    Ok(Value::bulks(parts.map(|part| part.to_string())))
}

fn check_how(argv: &[&[u8]]) -> Result<(), WireError> {
    match argv {
        [_] => Ok(()),
        [_, how] if is(how, "ASYNC") || is(how, "SYNC") => Ok(()),
        _ => Err(WireError::SYNTAX),
    }
}
