//! AUTH, HELLO, QUIT, RESET and SELECT.
//!
//! There is one user, `default`, without a password, as in a Redis server by default: it accepts
//! any.

use super::super::Session;
use super::super::session::Wanted;
use super::client;
use crate::commands::Reply;
use crate::commands::args::{database, is};
use crate::error::WireError;
use crate::resp::{Protocol, Value};
use crate::types::number::parse_i64;

pub(super) fn auth(argv: &[&[u8]]) -> Reply {
    match argv {
        [_, _] => Err(WireError::fixed(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        )),
        [_, user, _] => login(user).map(|()| Value::OK),
        _ => Err(WireError::SYNTAX),
    }
}

fn login(user: &[u8]) -> Result<(), WireError> {
    const WRONG: &str = "WRONGPASS invalid username-password pair or user is disabled.";
    if user == b"default" { Ok(()) } else { Err(WireError::fixed(WRONG)) }
}

pub(super) fn hello(session: &mut Session, argv: &[&[u8]]) -> Reply {
    let protocol = match argv.get(1) {
        Some(version) => version_of(version)?,
        None => session.protocol,
    };
    let mut options = argv.get(2..).unwrap_or_default();
    while let [option, rest @ ..] = options {
        options = match rest {
            [user, _, rest @ ..] if is(option, "AUTH") => {
                login(user)?;
                rest
            }
            [name, rest @ ..] if is(option, "SETNAME") => {
                client::setname(session, name)?;
                rest
            }
            _ => return Err(unknown_option(option)),
        };
    }
    session.protocol = protocol;
    session.client.set_protocol(protocol);
    Ok(Value::Map(vec![
        (Value::bulk("server"), Value::bulk("redis")),
        (Value::bulk("version"), Value::bulk(super::VERSION)),
        (Value::bulk("proto"), Value::Int(if protocol == Protocol::Resp3 { 3 } else { 2 })),
        (Value::bulk("id"), Value::Int(session.id() as i64)),
        (Value::bulk("mode"), Value::bulk("standalone")),
        (Value::bulk("role"), Value::bulk("master")),
        (Value::bulk("modules"), Value::Array(Vec::new())),
    ]))
}

fn version_of(text: &[u8]) -> Result<Protocol, WireError> {
    match parse_i64(text) {
        Some(2) => Ok(Protocol::Resp2),
        Some(3) => Ok(Protocol::Resp3),
        Some(_) => Err(WireError::fixed("NOPROTO unsupported protocol version")),
        None => Err(WireError::fixed("ERR Protocol version is not an integer or out of range")),
    }
}

fn unknown_option(option: &[u8]) -> WireError {
    let mut text = b"ERR Syntax error in HELLO option '".to_vec();
    text.extend(option.iter().take_while(|&&b| b != 0));
    text.push(b'\'');
    WireError::new(text)
}

pub(super) fn quit(session: &mut Session) -> Value {
    session.closing = true;
    Value::OK
}

pub(super) fn reset(session: &mut Session) -> Value {
    session.abandon();
    session.unsubscribe_all();
    session.db = 0;
    session.protocol = Protocol::Resp2;
    session.wanted = Wanted::On;
    session.client.set_db(0);
    session.client.set_protocol(Protocol::Resp2);
    session.client.set_name(b"");
    Value::simple("RESET")
}

pub(super) fn select(session: &mut Session, argv: &[&[u8]]) -> Reply {
    session.db = database(argv[1])?;
    session.client.set_db(session.db);
    Ok(Value::OK)
}
