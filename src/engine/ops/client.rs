//! CLIENT and its subcommands.
//!
//! In a process nothing is ever paused or evicted, so those commands check their arguments and
//! answer. Tracking is refused: to accept it and send no invalidation would leave a client's cache
//! stale for ever.

use std::sync::Arc;

use super::super::client::Client;
use super::super::session::Wanted;
use super::super::{Session, Shared};
use crate::commands::args::{int, is, wrong_usage};
use crate::commands::{Cx, Reply};
use crate::error::WireError;
use crate::resp::Value;
use crate::types::number::parse_i64;

pub(super) fn caching() -> Reply {
    Err(WireError::fixed(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or \
         OPTOUT mode enabled",
    ))
}

pub(super) fn getname(session: &Session) -> Value {
    let name = session.client.name();
    if name.is_empty() { Value::Nil } else { Value::Bulk(name) }
}

pub(super) fn info(session: &Session, cx: &mut Cx<'_>) -> Value {
    cx.db.time_out();
    Value::Verbatim(*b"txt", session.client.line(cx.now).as_slice().into())
}

/// Which clients to end.
#[derive(Default)]
struct Filter<'a> {
    id: Option<u64>,
    peer: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    class: Option<Class>,
    skip_me: bool,
}

impl<'a> Filter<'a> {
    fn parse(mut options: &[&'a [u8]]) -> Result<Self, WireError> {
        let mut filter = Self { skip_me: true, ..Self::default() };
        while let [option, value, rest @ ..] = options {
            if is(option, "ID") {
                let id = parse_i64(value).and_then(|id| u64::try_from(id).ok());
                let positive = id.filter(|id| *id > 0);
                let refused = WireError::fixed("ERR client-id should be greater than 0");
                filter.id = Some(positive.ok_or(refused)?);
            } else if is(option, "TYPE") {
                filter.class = Some(Class::parse(value)?);
            } else if is(option, "ADDR") {
                filter.peer = Some(value);
            } else if is(option, "LADDR") {
                filter.local = Some(value);
            } else if is(option, "USER") {
                if *value != b"default" {
                    return Err(quoted("ERR No such user '", value));
                }
            } else if is(option, "SKIPME") && (is(value, "YES") || is(value, "NO")) {
                filter.skip_me = is(value, "YES");
            } else {
                return Err(WireError::SYNTAX);
            }
            options = rest;
        }
        if options.is_empty() { Ok(filter) } else { Err(WireError::SYNTAX) }
    }

    fn takes(&self, client: &Client, own: u64) -> bool {
        self.id.is_none_or(|id| id == client.id)
            && self.peer.is_none_or(|peer| client.is_at(peer))
            && self.local.is_none_or(|local| client.is_connected_to(local))
            && self.class.is_none_or(|class| class == Class::of(client))
            && !(self.skip_me && client.id == own)
    }
}

pub(super) fn kill(session: &Session, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    if let [_, _, peer] = argv {
        let filter = Filter { peer: Some(peer), ..Filter::default() };
        return match kill_all(session, cx, &filter) {
            0 => Err(WireError::fixed("ERR No such client")),
            _ => Ok(Value::OK),
        };
    }
    let filter = Filter::parse(&argv[2..])?;
    Ok(kill_all(session, cx, &filter).into())
}

fn kill_all(session: &Session, cx: &mut Cx<'_>, filter: &Filter<'_>) -> usize {
    let mut clients = session.shared.clients();
    clients.retain(|client| filter.takes(client, session.id()));
    for client in &clients {
        client.kill(&mut cx.db);
        // Nobody shall see another that is gone; who kills itself is still to be answered.
        if client.id != session.id() {
            session.shared.leave(client);
        }
    }
    clients.len()
}

pub(super) fn list(session: &Session, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    cx.db.time_out();
    let shared = &session.shared;
    let clients = match argv {
        [_, _] => shared.clients(),
        [_, _, option, class] if is(option, "TYPE") => {
            let class = Class::parse(class)?;
            let mut clients = shared.clients();
            clients.retain(|client| class == Class::of(client));
            clients
        }
        [_, _, option, ids @ ..] if is(option, "ID") && !ids.is_empty() => {
            let mut found = Vec::new();
            for id in ids {
                let id = parse_i64(id).ok_or(WireError::fixed("ERR Invalid client ID"))?;
                found.extend(shared.clients.get(&(id as u64)).map(|client| client.clone()));
            }
            found
        }
        _ => return Err(WireError::SYNTAX),
    };
    let lines: Vec<u8> = clients.iter().flat_map(|client| client.line(cx.now)).collect();
    Ok(Value::Verbatim(*b"txt", lines.as_slice().into()))
}

pub(super) fn no_evict(session: &Session, argv: &[&[u8]]) -> Reply {
    session.client.set_no_evict(on_or_off(argv[2])?);
    Ok(Value::OK)
}

pub(super) fn pause(argv: &[&[u8]]) -> Reply {
    match argv {
        [_, _, _] => {}
        [_, _, _, mode] if is(mode, "WRITE") || is(mode, "ALL") => {}
        [_, _, _, _] => {
            return Err(WireError::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL"));
        }
        _ => return Err(wrong_usage("CLIENT", argv[1])),
    }
    match parse_i64(argv[2]) {
        Some(0..) => Ok(Value::OK),
        Some(_) => Err(WireError::fixed("ERR timeout is negative")),
        None => Err(WireError::fixed("ERR timeout is not an integer or out of range")),
    }
}

pub(super) fn reply(session: &mut Session, argv: &[&[u8]]) -> Reply {
    session.wanted = match argv[2] {
        mode if is(mode, "ON") => Wanted::On,
        mode if is(mode, "OFF") => Wanted::Off,
        mode if is(mode, "SKIP") && session.wanted == Wanted::Off => Wanted::Off,
        mode if is(mode, "SKIP") => Wanted::SkipNext,
        _ => return Err(WireError::SYNTAX),
    };
    Ok(Value::OK)
}

pub(super) fn setname(session: &Session, name: &[u8]) -> Reply {
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err(WireError::fixed(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ));
    }
    session.client.set_name(name);
    Ok(Value::OK)
}

/// The options of CLIENT TRACKING.
#[derive(Default)]
struct Tracking<'a> {
    broadcast: bool,
    opt_in: bool,
    opt_out: bool,
    prefixes: Vec<&'a [u8]>,
}

impl<'a> Tracking<'a> {
    fn parse(shared: &Shared, mut options: &[&'a [u8]]) -> Result<Self, WireError> {
        let mut tracking = Self::default();
        let mut redirected = false;
        while let [option, rest @ ..] = options {
            options = rest;
            if is(option, "REDIRECT") && !rest.is_empty() {
                if redirected {
                    return Err(WireError::fixed(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                let id = int(rest[0])?;
                if !shared.clients.contains_key(&(id as u64)) {
                    return Err(WireError::fixed(
                        "ERR The client ID you want redirect to does not exist",
                    ));
                }
                redirected = true;
                options = &rest[1..];
            } else if is(option, "PREFIX") && !rest.is_empty() {
                tracking.prefixes.push(rest[0]);
                options = &rest[1..];
            } else if is(option, "BCAST") {
                tracking.broadcast = true;
            } else if is(option, "OPTIN") {
                tracking.opt_in = true;
            } else if is(option, "OPTOUT") {
                tracking.opt_out = true;
            } else if !is(option, "NOLOOP") {
                return Err(WireError::SYNTAX);
            }
        }
        Ok(tracking)
    }

    fn check(&self) -> Result<(), WireError> {
        if !self.broadcast && !self.prefixes.is_empty() {
            const REFUSED: &str = "ERR PREFIX option requires BCAST mode to be enabled";
            return Err(WireError::fixed(REFUSED));
        }
        if self.broadcast && (self.opt_in || self.opt_out) {
            const REFUSED: &str = "ERR OPTIN and OPTOUT are not compatible with BCAST";
            return Err(WireError::fixed(REFUSED));
        }
        if self.opt_in && self.opt_out {
            const REFUSED: &str = "ERR You can't specify both OPTIN mode and OPTOUT mode";
            return Err(WireError::fixed(REFUSED));
        }
        for (at, one) in self.prefixes.iter().enumerate() {
            let overlaps = |other: &&&[u8]| one.starts_with(other) || other.starts_with(one);
            if let Some(other) = self.prefixes[at + 1..].iter().find(overlaps) {
                let mut text = b"ERR Prefix '".to_vec();
                text.extend_from_slice(one);
                text.extend_from_slice(b"' overlaps with another provided prefix '");
                text.extend_from_slice(other);
                text.extend_from_slice(b"'. Prefixes for a single client must not overlap.");
                return Err(WireError::new(text));
            }
        }
        Ok(())
    }
}

pub(super) fn tracking(session: &Session, argv: &[&[u8]]) -> Reply {
    let tracking = Tracking::parse(&session.shared, &argv[3..])?;
    if on_or_off(argv[2])? {
        tracking.check()?;
        return Err(WireError::fixed("ERR client tracking is not supported"));
    }
    Ok(Value::OK)
}

pub(super) fn trackinginfo() -> Value {
    Value::Map(vec![
        (Value::bulk("flags"), Value::Set(vec![Value::bulk("off")])),
        (Value::bulk("redirect"), Value::Int(-1)),
        (Value::bulk("prefixes"), Value::Array(Vec::new())),
    ])
}

pub(super) fn unblock(session: &Session, cx: &mut Cx<'_>, argv: &[&[u8]]) -> Reply {
    const UNBLOCKED: WireError = WireError::fixed("UNBLOCKED client unblocked via CLIENT UNBLOCK");
    let reply = match argv {
        [_, _, _] => Value::NilArray,
        [_, _, _, reason] if is(reason, "TIMEOUT") => Value::NilArray,
        [_, _, _, reason] if is(reason, "ERROR") => Value::Error(UNBLOCKED),
        [_, _, _, _] => {
            const REFUSED: &str = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR";
            return Err(WireError::fixed(REFUSED));
        }
        _ => return Err(wrong_usage("CLIENT", argv[1])),
    };
    let id = int(argv[2])?;
    cx.db.time_out();
    let client = session.shared.clients.get(&(id as u64)).map(|client| Arc::clone(&client));
    Ok(i64::from(client.is_some_and(|client| client.unblock(&mut cx.db, reply))).into())
}

/// A class of clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Normal,
    Pubsub,
    /// One that there is none of here.
    Other,
}

impl Class {
    fn of(client: &Client) -> Self {
        if client.listens() { Self::Pubsub } else { Self::Normal }
    }

    fn parse(name: &[u8]) -> Result<Self, WireError> {
        match name {
            name if is(name, "normal") => Ok(Self::Normal),
            name if is(name, "pubsub") => Ok(Self::Pubsub),
            name if ["slave", "replica", "master"].iter().any(|n| is(name, n)) => Ok(Self::Other),
            _ => Err(quoted("ERR Unknown client type '", name)),
        }
    }
}

fn on_or_off(word: &[u8]) -> Result<bool, WireError> {
    match word {
        word if is(word, "ON") => Ok(true),
        word if is(word, "OFF") => Ok(false),
        _ => Err(WireError::SYNTAX),
    }
}

/// An error that ends with what was given, in quotes.
fn quoted(text: &str, given: &[u8]) -> WireError {
    let mut text = text.as_bytes().to_vec();
    text.extend(given.iter().take_while(|&&b| b != 0));
    text.push(b'\'');
    WireError::new(text)
}
