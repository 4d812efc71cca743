//! The commands that belong to the session or to the whole engine, by topic.
//!
//! They run with the locks that their row asks for and take no others, since inside EXEC the locks
//! of the whole queue are held.

mod client;
mod config;
mod connection;
mod info;
mod pubsub;

use super::Session;
use crate::commands::{Cx, Reply, SessionOp};
use crate::db::Topic;
use crate::resp::Value;

/// The Redis whose behaviour this is.
const VERSION: &str = "7.0.15";

/// Runs one.
pub(super) fn run(session: &mut Session, op: SessionOp, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    match op {
        SessionOp::Auth => connection::auth(argv),
        SessionOp::ClientCaching => client::caching(),
        SessionOp::ClientGetname => Ok(client::getname(session)),
        SessionOp::ClientGetredir => Ok(Value::Int(-1)),
        SessionOp::ClientId => Ok(Value::Int(session.id() as i64)),
        SessionOp::ClientInfo => Ok(client::info(session, cx)),
        SessionOp::ClientKill => client::kill(session, cx, argv),
        SessionOp::ClientList => client::list(session, cx, argv),
        SessionOp::ClientNoEvict => client::no_evict(session, argv),
        SessionOp::ClientPause => client::pause(argv),
        SessionOp::ClientReply => client::reply(session, argv),
        SessionOp::ClientSetname => client::setname(session, argv[2]),
        SessionOp::ClientTracking => client::tracking(session, argv),
        SessionOp::ClientTrackinginfo => Ok(client::trackinginfo()),
        SessionOp::ClientUnblock => client::unblock(session, cx, argv),
        SessionOp::ClientUnpause => Ok(Value::OK),
        SessionOp::ConfigGet => Ok(config::get(session, argv)),
        SessionOp::ConfigResetstat => Ok(config::resetstat(session)),
        SessionOp::ConfigRewrite => config::rewrite(),
        SessionOp::ConfigSet => config::set(session, argv),
        SessionOp::Discard => session.discard(),
        SessionOp::Exec => session.exec(),
        SessionOp::Hello => connection::hello(session, argv),
        SessionOp::Info => Ok(info::info(session, cx, argv)),
        SessionOp::Multi => session.multi(),
        SessionOp::Psubscribe => Ok(pubsub::subscribe(session, Topic::Pattern, argv)),
        SessionOp::Punsubscribe => Ok(pubsub::unsubscribe(session, Topic::Pattern, argv)),
        SessionOp::Quit => Ok(connection::quit(session)),
        SessionOp::Reset => Ok(connection::reset(session)),
        SessionOp::Select => connection::select(session, argv),
        SessionOp::Ssubscribe => Ok(pubsub::subscribe(session, Topic::Shard, argv)),
        SessionOp::Subscribe => Ok(pubsub::subscribe(session, Topic::Channel, argv)),
        SessionOp::Sunsubscribe => Ok(pubsub::unsubscribe(session, Topic::Shard, argv)),
        SessionOp::Unsubscribe => Ok(pubsub::unsubscribe(session, Topic::Channel, argv)),
        SessionOp::Unwatch => {
            session.unwatch_all();
            Ok(Value::OK)
        }
        SessionOp::Watch => session.watch(&argv[1..]),
    }
}
