//! Publish and subscribe.
//!
//! PUBLISH and PUBSUB need no session and are handled here. To subscribe changes what a connection
//! is, so the engine's sessions do that; here are the rows.
//!
//! Names are listed in order, where Redis lists them in that of a hash table.

use super::args::{self, wrong_usage};
use super::{Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, SessionOp, Spec};
use crate::db::Topic;
use crate::resp::Value;
use crate::types::glob::glob_match;

/// The rows of this family.
pub const ROWS: &[&Spec] = &[
    &PSUBSCRIBE,
    &PUBLISH,
    &PUBSUB,
    &PUNSUBSCRIBE,
    &SPUBLISH,
    &SSUBSCRIBE,
    &SUBSCRIBE,
    &SUNSUBSCRIBE,
    &UNSUBSCRIBE,
];

const ASKS: Flags = Flags::PUBSUB.or(Flags::LOADING).or(Flags::STALE);
const SENDS: Flags = ASKS.or(Flags::FAST).or(Flags::MAY_REPLICATE);
const LISTENS: Flags = ASKS.or(Flags::NOSCRIPT);

const SHARD_CHANNEL: &[KeySpec] = &[KeySpec::at(1, KeyFlags::NOT_KEY)];
const SHARD_CHANNELS: &[KeySpec] = &[KeySpec::range(1, -1, 1, KeyFlags::NOT_KEY)];

const SOME: &[Arg] = &[Arg::Many(&[Arg::Channel])];
const SOME_PATTERNS: &[Arg] = &[Arg::Many(&[Arg::Pattern])];
const ANY: &[Arg] = &[Arg::Opt(&[Arg::Many(&[Arg::Channel])])];
const ANY_PATTERNS: &[Arg] = &[Arg::Opt(&[Arg::Many(&[Arg::Pattern])])];

/// `PSUBSCRIBE pattern …`
pub const PSUBSCRIBE: Spec =
    Spec::new("PSUBSCRIBE", Run::Session(SessionOp::Psubscribe), LISTENS, SOME_PATTERNS).doc(
        "pubsub",
        "2.0.0",
        "O(N) where N is the number of patterns the client is already subscribed to.",
        "Listen for messages published to channels matching the given patterns",
    );

/// `PUBLISH channel message`
pub const PUBLISH: Spec =
    Spec::new("PUBLISH", Run::Plain(publish), SENDS, &[Arg::Channel, Arg::Str]).doc(
        "pubsub",
        "2.0.0",
        "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the \
         total number of subscribed patterns (by any client).",
        "Post a message to a channel",
    );

/// `PUBSUB subcommand`
pub const PUBSUB: Spec = Spec::container(
    "PUBSUB",
    &[
        &PUBSUB_CHANNELS,
        &PUBSUB_HELP,
        &PUBSUB_NUMPAT,
        &PUBSUB_NUMSUB,
        &PUBSUB_SHARDCHANNELS,
        &PUBSUB_SHARDNUMSUB,
    ],
)
.doc("pubsub", "2.8.0", "Depends on subcommand.", "A container for Pub/Sub commands");

/// `PUBSUB CHANNELS [pattern]`
pub const PUBSUB_CHANNELS: Spec =
    Spec::new("PUBSUB|CHANNELS", Run::Plain(channels), ASKS, &[Arg::Opt(&[Arg::Pattern])])
        .arity_as(-2)
        .doc(
            "pubsub",
            "2.8.0",
            "O(N) where N is the number of active channels, and assuming constant time pattern \
             matching (relatively short channels and patterns)",
            "List active channels",
        );

/// `PUBSUB HELP`
pub const PUBSUB_HELP: Spec = Spec::new(
    "PUBSUB|HELP",
    Run::Plain(help),
    Flags::LOADING.or(Flags::STALE),
    &[],
)
.doc("pubsub", "6.2.0", "O(1)", "Show helpful text about the different subcommands");

/// `PUBSUB NUMPAT`
pub const PUBSUB_NUMPAT: Spec = Spec::new("PUBSUB|NUMPAT", Run::Plain(numpat), ASKS, &[]).doc(
    "pubsub",
    "2.8.0",
    "O(1)",
    "Get the count of unique patterns pattern subscriptions",
);

/// `PUBSUB NUMSUB [channel …]`
pub const PUBSUB_NUMSUB: Spec = Spec::new("PUBSUB|NUMSUB", Run::Plain(numsub), ASKS, ANY).doc(
    "pubsub",
    "2.8.0",
    "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
    "Get the count of subscribers for channels",
);

/// `PUBSUB SHARDCHANNELS [pattern]`
pub const PUBSUB_SHARDCHANNELS: Spec = Spec::new(
    "PUBSUB|SHARDCHANNELS",
    Run::Plain(shardchannels),
    ASKS,
    &[Arg::Opt(&[Arg::Pattern])],
)
.arity_as(-2)
.doc(
    "pubsub",
    "7.0.0",
    "O(N) where N is the number of active shard channels, and assuming constant time pattern \
     matching (relatively short shard channels).",
    "List active shard channels",
);

/// `PUBSUB SHARDNUMSUB [shardchannel …]`
pub const PUBSUB_SHARDNUMSUB: Spec =
    Spec::new("PUBSUB|SHARDNUMSUB", Run::Plain(shardnumsub), ASKS, ANY).doc(
        "pubsub",
        "7.0.0",
        "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
        "Get the count of subscribers for shard channels",
    );

/// `PUNSUBSCRIBE [pattern …]`
pub const PUNSUBSCRIBE: Spec =
    Spec::new("PUNSUBSCRIBE", Run::Session(SessionOp::Punsubscribe), LISTENS, ANY_PATTERNS).doc(
        "pubsub",
        "2.0.0",
        "O(N+M) where N is the number of patterns the client is already subscribed and M is the \
         number of total patterns subscribed in the system (by any client).",
        "Stop listening for messages posted to channels matching the given patterns",
    );

/// `SPUBLISH shardchannel message`
pub const SPUBLISH: Spec =
    Spec::new("SPUBLISH", Run::Plain(spublish), SENDS, &[Arg::Channel, Arg::Str])
        .keys(SHARD_CHANNEL)
        .doc(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of clients subscribed to the receiving shard channel.",
            "Post a message to a shard channel",
        );

/// `SSUBSCRIBE shardchannel …`
pub const SSUBSCRIBE: Spec =
    Spec::new("SSUBSCRIBE", Run::Session(SessionOp::Ssubscribe), LISTENS, SOME)
        .keys(SHARD_CHANNELS)
        .doc(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of shard channels to subscribe to.",
            "Listen for messages published to the given shard channels",
        );

/// `SUBSCRIBE channel …`
pub const SUBSCRIBE: Spec =
    Spec::new("SUBSCRIBE", Run::Session(SessionOp::Subscribe), LISTENS, SOME).doc(
        "pubsub",
        "2.0.0",
        "O(N) where N is the number of channels to subscribe to.",
        "Listen for messages published to the given channels",
    );

/// `SUNSUBSCRIBE [shardchannel …]`
pub const SUNSUBSCRIBE: Spec =
    Spec::new("SUNSUBSCRIBE", Run::Session(SessionOp::Sunsubscribe), LISTENS, ANY)
        .keys(SHARD_CHANNELS)
        .doc(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of clients already subscribed to a shard channel.",
            "Stop listening for messages posted to the given shard channels",
        );

/// `UNSUBSCRIBE [channel …]`
pub const UNSUBSCRIBE: Spec =
    Spec::new("UNSUBSCRIBE", Run::Session(SessionOp::Unsubscribe), LISTENS, ANY).doc(
        "pubsub",
        "2.0.0",
        "O(N) where N is the number of clients already subscribed to a channel.",
        "Stop listening for messages posted to the given channels",
    );

fn publish(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.publish(Topic::Channel, argv[1], argv[2]).into())
}

fn spublish(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    Ok(cx.db.publish(Topic::Shard, argv[1], argv[2]).into())
}

fn channels(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    names(cx, Topic::Channel, argv)
}

fn shardchannels(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    names(cx, Topic::Shard, argv)
}

fn names(cx: &mut Cx<'_>, topic: Topic, argv: &[&[u8]]) -> Reply {
    let pattern = match argv {
        [_, _] => None,
        [_, _, pattern] => Some(*pattern),
        _ => return Err(wrong_usage("PUBSUB", argv[1])),
    };
    let mut names = cx.db.topic_names(topic);
    names.retain(|name| pattern.is_none_or(|pattern| glob_match(pattern, name, false)));
    Ok(Value::Array(names.into_iter().map(Value::Bulk).collect()))
}

fn help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    args::help(
        "PUBSUB",
        &[
            "CHANNELS [<pattern>]",
            "    Return the currently active channels matching a <pattern> (default: '*').",
            "NUMPAT",
            "    Return number of subscriptions to patterns.",
            "NUMSUB [<channel> ...]",
            "    Return the number of subscribers for the specified channels, excluding",
            "    pattern subscriptions(default: no channels).",
            "SHARDCHANNELS [<pattern>]",
            "    Return the currently active shard level channels matching a <pattern> (default: \
             '*').",
            "SHARDNUMSUB [<shardchannel> ...]",
            "    Return the number of subscribers for the specified shard level channel(s)",
        ],
    )
}

fn numpat(cx: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    Ok(cx.db.topics(Topic::Pattern).into())
}

fn numsub(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    counts(cx, Topic::Channel, argv)
}

fn shardnumsub(cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    counts(cx, Topic::Shard, argv)
}

fn counts(cx: &mut Cx<'_>, topic: Topic, argv: &[&[u8]]) -> Reply {
    let count = |name: &&[u8]| [Value::bulk(name), cx.db.listeners(topic, name).into()];
    Ok(Value::Array(argv[2..].iter().flat_map(count).collect()))
}
