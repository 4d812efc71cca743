//! The connection: who speaks, in which protocol, to which database. Most of it is the session's
//! own business, which the engine runs.

use super::args::help;
use super::{Acl, Arg, Cx, Flags, Reply, Run, SessionOp, Spec};
use crate::resp::Value;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[&AUTH, &CLIENT, &ECHO, &HELLO, &PING, &QUIT, &RESET, &SELECT];

/// A kind of client.
const TYPE: &[Arg] = &[
    Arg::Tok("TYPE"),
    Arg::One(&[Arg::Tok("NORMAL"), Arg::Tok("MASTER"), Arg::Tok("REPLICA"), Arg::Tok("PUBSUB")]),
];
const ON_OFF: Arg = Arg::One(&[Arg::Tok("ON"), Arg::Tok("OFF")]);
const KILL: Arg = Arg::One(&[
    Arg::Str,
    Arg::Many(&[Arg::One(&[
        Arg::Seq(&[Arg::Tok("ID"), Arg::Int]),
        Arg::Seq(TYPE),
        Arg::Seq(&[Arg::Tok("USER"), Arg::Str]),
        Arg::Seq(&[Arg::Tok("ADDR"), Arg::Str]),
        Arg::Seq(&[Arg::Tok("LADDR"), Arg::Str]),
        Arg::Seq(&[Arg::Tok("SKIPME"), Arg::One(&[Arg::Tok("YES"), Arg::Tok("NO")])]),
    ])]),
]);

/// `AUTH [username] password`
pub const AUTH: Spec = Spec::new(
    "AUTH",
    Run::Session(SessionOp::Auth),
    Flags::NOSCRIPT
        .or(Flags::LOADING)
        .or(Flags::STALE)
        .or(Flags::FAST)
        .or(Flags::NO_AUTH)
        .or(Flags::ALLOW_BUSY),
    &[Arg::Opt(&[Arg::Str]), Arg::Str],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "1.0.0",
    "O(N) where N is the number of passwords defined for the user",
    "Authenticate to the server",
);

/// `CLIENT subcommand`
pub const CLIENT: Spec = Spec::container(
    "CLIENT",
    &[
        &CLIENT_CACHING,
        &CLIENT_GETNAME,
        &CLIENT_GETREDIR,
        &CLIENT_HELP,
        &CLIENT_ID,
        &CLIENT_INFO,
        &CLIENT_KILL,
        &CLIENT_LIST,
        &CLIENT_NO_EVICT,
        &CLIENT_PAUSE,
        &CLIENT_REPLY,
        &CLIENT_SETNAME,
        &CLIENT_TRACKING,
        &CLIENT_TRACKINGINFO,
        &CLIENT_UNBLOCK,
        &CLIENT_UNPAUSE,
    ],
)
.doc("connection", "2.4.0", "Depends on subcommand.", "A container for client connection commands");

/// `CLIENT CACHING YES | NO`
pub const CLIENT_CACHING: Spec = Spec::new(
    "CLIENT|CACHING",
    Run::Session(SessionOp::ClientCaching),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[Arg::One(&[Arg::Tok("YES"), Arg::Tok("NO")])],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "6.0.0",
    "O(1)",
    "Instruct the server about tracking or not keys in the next request",
);

/// `CLIENT GETNAME`
pub const CLIENT_GETNAME: Spec = Spec::new(
    "CLIENT|GETNAME",
    Run::Session(SessionOp::ClientGetname),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.doc("connection", "2.6.9", "O(1)", "Get the current connection name");

/// `CLIENT GETREDIR`
pub const CLIENT_GETREDIR: Spec = Spec::new(
    "CLIENT|GETREDIR",
    Run::Session(SessionOp::ClientGetredir),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.doc("connection", "6.0.0", "O(1)", "Get tracking notifications redirection client ID if any");

/// `CLIENT HELP`
pub const CLIENT_HELP: Spec =
    Spec::new("CLIENT|HELP", Run::Plain(client_help), Flags::LOADING.or(Flags::STALE), &[])
        .acl(Acl::CONNECTION)
        .doc("connection", "5.0.0", "O(1)", "Show helpful text about the different subcommands");

/// `CLIENT ID`
pub const CLIENT_ID: Spec = Spec::new(
    "CLIENT|ID",
    Run::Session(SessionOp::ClientId),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.doc("connection", "5.0.0", "O(1)", "Returns the client ID for the current connection");

/// `CLIENT INFO`
pub const CLIENT_INFO: Spec = Spec::new(
    "CLIENT|INFO",
    Run::Session(SessionOp::ClientInfo),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.tips(&["nondeterministic_output"])
.doc("connection", "6.2.0", "O(1)", "Returns information about the current client connection.");

/// `CLIENT KILL addr | [ID id] [TYPE type] [ADDR addr] [LADDR addr] [USER name] [SKIPME YES | NO]`
pub const CLIENT_KILL: Spec = Spec::new(
    "CLIENT|KILL",
    Run::Session(SessionOp::ClientKill),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[KILL],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "2.4.0",
    "O(N) where N is the number of client connections",
    "Kill the connection of a client",
);

/// `CLIENT LIST [TYPE type] [ID id …]`
pub const CLIENT_LIST: Spec = Spec::new(
    "CLIENT|LIST",
    Run::Session(SessionOp::ClientList),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Opt(TYPE), Arg::Opt(&[Arg::Tok("ID"), Arg::Many(&[Arg::Int])])],
)
.acl(Acl::CONNECTION)
.tips(&["nondeterministic_output"])
.doc(
    "connection",
    "2.4.0",
    "O(N) where N is the number of client connections",
    "Get the list of client connections",
);

/// `CLIENT NO-EVICT ON | OFF`
pub const CLIENT_NO_EVICT: Spec = Spec::new(
    "CLIENT|NO-EVICT",
    Run::Session(SessionOp::ClientNoEvict),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[ON_OFF],
)
.acl(Acl::CONNECTION)
.doc("connection", "7.0.0", "O(1)", "Set client eviction mode for the current connection");

/// `CLIENT PAUSE milliseconds [WRITE | ALL]`
pub const CLIENT_PAUSE: Spec = Spec::new(
    "CLIENT|PAUSE",
    Run::Session(SessionOp::ClientPause),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Count, Arg::Opt(&[Arg::One(&[Arg::Tok("WRITE"), Arg::Tok("ALL")])])],
)
.acl(Acl::CONNECTION)
.doc("connection", "2.9.50", "O(1)", "Stop processing commands from clients for some time");

/// `CLIENT REPLY ON | OFF | SKIP`
pub const CLIENT_REPLY: Spec = Spec::new(
    "CLIENT|REPLY",
    Run::Session(SessionOp::ClientReply),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[Arg::One(&[Arg::Tok("ON"), Arg::Tok("OFF"), Arg::Tok("SKIP")])],
)
.acl(Acl::CONNECTION)
.doc("connection", "3.2.0", "O(1)", "Instruct the server whether to reply to commands");

/// `CLIENT SETNAME name`
pub const CLIENT_SETNAME: Spec = Spec::new(
    "CLIENT|SETNAME",
    Run::Session(SessionOp::ClientSetname),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Str],
)
.acl(Acl::CONNECTION)
.doc("connection", "2.6.9", "O(1)", "Set the current connection name");

/// `CLIENT TRACKING ON | OFF [option …]`
pub const CLIENT_TRACKING: Spec = Spec::new(
    "CLIENT|TRACKING",
    Run::Session(SessionOp::ClientTracking),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[
        ON_OFF,
        Arg::Opt(&[Arg::Tok("REDIRECT"), Arg::Int]),
        Arg::Opt(&[Arg::Many(&[Arg::Tok("PREFIX"), Arg::Str])]),
        Arg::Opt(&[Arg::Tok("BCAST")]),
        Arg::Opt(&[Arg::Tok("OPTIN")]),
        Arg::Opt(&[Arg::Tok("OPTOUT")]),
        Arg::Opt(&[Arg::Tok("NOLOOP")]),
    ],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "6.0.0",
    "O(1). Some options may introduce additional complexity.",
    "Enable or disable server assisted client side caching support",
);

/// `CLIENT TRACKINGINFO`
pub const CLIENT_TRACKINGINFO: Spec = Spec::new(
    "CLIENT|TRACKINGINFO",
    Run::Session(SessionOp::ClientTrackinginfo),
    Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "6.2.0",
    "O(1)",
    "Return information about server assisted client side caching for the current \
         connection",
);

/// `CLIENT UNBLOCK id [TIMEOUT | ERROR]`
pub const CLIENT_UNBLOCK: Spec = Spec::new(
    "CLIENT|UNBLOCK",
    Run::Session(SessionOp::ClientUnblock),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[Arg::Int, Arg::Opt(&[Arg::One(&[Arg::Tok("TIMEOUT"), Arg::Tok("ERROR")])])],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "5.0.0",
    "O(log N) where N is the number of client connections",
    "Unblock a client blocked in a blocking command from a different connection",
);

/// `CLIENT UNPAUSE`
pub const CLIENT_UNPAUSE: Spec = Spec::new(
    "CLIENT|UNPAUSE",
    Run::Session(SessionOp::ClientUnpause),
    Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE),
    &[],
)
.acl(Acl::CONNECTION)
.doc(
    "connection",
    "6.2.0",
    "O(N) Where N is the number of paused clients",
    "Resume processing of clients that were paused",
);

/// `ECHO message`
pub const ECHO: Spec = Spec::new(
    "ECHO",
    Run::Plain(echo),
    Flags::LOADING.or(Flags::STALE).or(Flags::FAST),
    &[Arg::Str],
)
.acl(Acl::CONNECTION)
.doc("connection", "1.0.0", "O(1)", "Echo the given string");

/// `HELLO [version [AUTH username password] [SETNAME name]]`
pub const HELLO: Spec = Spec::new(
    "HELLO",
    Run::Session(SessionOp::Hello),
    Flags::NOSCRIPT
        .or(Flags::LOADING)
        .or(Flags::STALE)
        .or(Flags::FAST)
        .or(Flags::NO_AUTH)
        .or(Flags::ALLOW_BUSY),
    &[Arg::Opt(&[
        Arg::Int,
        Arg::Opt(&[Arg::Tok("AUTH"), Arg::Str, Arg::Str]),
        Arg::Opt(&[Arg::Tok("SETNAME"), Arg::Str]),
    ])],
)
.acl(Acl::CONNECTION)
.doc("connection", "6.0.0", "O(1)", "Handshake with Redis");

/// `PING [message]`
pub const PING: Spec = Spec::new("PING", Run::Plain(ping), Flags::FAST, &[Arg::Opt(&[Arg::Str])])
    .acl(Acl::CONNECTION)
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .doc("connection", "1.0.0", "O(1)", "Ping the server");

/// `QUIT`
pub const QUIT: Spec = Spec::new(
    "QUIT",
    Run::Session(SessionOp::Quit),
    Flags::NOSCRIPT
        .or(Flags::LOADING)
        .or(Flags::STALE)
        .or(Flags::FAST)
        .or(Flags::NO_AUTH)
        .or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::CONNECTION)
.arity_as(-1)
.doc("connection", "1.0.0", "O(1)", "Close the connection");

/// `RESET`
pub const RESET: Spec = Spec::new(
    "RESET",
    Run::Session(SessionOp::Reset),
    Flags::NOSCRIPT
        .or(Flags::LOADING)
        .or(Flags::STALE)
        .or(Flags::FAST)
        .or(Flags::NO_AUTH)
        .or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::CONNECTION)
.doc("connection", "6.2.0", "O(1)", "Reset the connection");

/// `SELECT db`
pub const SELECT: Spec = Spec::new(
    "SELECT",
    Run::Session(SessionOp::Select),
    Flags::LOADING.or(Flags::STALE).or(Flags::FAST),
    &[Arg::Db],
)
.acl(Acl::CONNECTION)
.doc("connection", "1.0.0", "O(1)", "Change the selected database for the current connection");

fn client_help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    help(
        "CLIENT",
        &[
            "CACHING (YES|NO)",
            "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
            "GETREDIR",
            "    Return the client ID we are redirecting to when tracking is enabled.",
            "GETNAME",
            "    Return the name of the current connection.",
            "ID",
            "    Return the ID of the current connection.",
            "INFO",
            "    Return information about the current client connection.",
            "KILL <ip:port>",
            "    Kill connection made from <ip:port>.",
            "KILL <option> <value> [<option> <value> [...]]",
            "    Kill connections. Options are:",
            "    * ADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made from the specified address",
            "    * LADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made to specified local address",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Kill connections by type.",
            "    * USER <username>",
            "      Kill connections authenticated by <username>.",
            "    * SKIPME (YES|NO)",
            "      Skip killing current connection (default: yes).",
            "LIST [options ...]",
            "    Return information about client connections. Options:",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Return clients of specified type.",
            "UNPAUSE",
            "    Stop the current client pause, resuming traffic.",
            "PAUSE <timeout> [WRITE|ALL]",
            "    Suspend all, or just write, clients for <timeout> milliseconds.",
            "REPLY (ON|OFF|SKIP)",
            "    Control the replies sent to the current connection.",
            "SETNAME <name>",
            "    Assign the name <name> to the current connection.",
            "UNBLOCK <clientid> [TIMEOUT|ERROR]",
            "    Unblock the specified blocked client.",
            "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
            "         [OPTIN] [OPTOUT] [NOLOOP]",
            "    Control server assisted client side caching.",
            "TRACKINGINFO",
            "    Report tracking status for the current connection.",
            "NO-EVICT (ON|OFF)",
            "    Protect current client connection from eviction.",
        ],
    )
}

fn echo(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(Value::bulk(argv[1]))
}

fn ping(_: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    match argv {
        [_] => Ok(Value::simple("PONG")),
        [_, message] => Ok(Value::bulk(message)),
        _ => Err(PING.arity_error()),
    }
}
