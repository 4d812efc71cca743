//! Connections: PING, ECHO, SELECT, HELLO, CLIENT, QUIT, RESET.

use stockroom::resp::Value;

use crate::support::{argv, in_both_protocols, side_by_side};

#[test]
fn unknown_commands_are_refused_word_for_word() {
    side_by_side(|c| {
        c.same("NOSUCH");
        c.same("nosuch \"a b\" 'c\\'d' \"\\r\\n\"");
        c.same(argv!["x".repeat(200), "y".repeat(100), "z".repeat(100)]);
        c.same(argv!["a\0b", b"c\0d", b"\xff"]);
        c.same("\"\" a");
    });
}

#[test]
fn ping_and_echo_give_back_what_they_get() {
    in_both_protocols(|c| {
        c.same("PING");
        c.same("PING ''");
        c.same("ping \"a\\r\\nb\"");
        c.same("PING a b");
        c.same("ECHO \"\\x00\\xff\"");
        c.same("ECHO");
        c.same("ECHO a b");
    });
}

#[test]
fn select_takes_sixteen_databases() {
    side_by_side(|c| {
        c.run("SET a zero");
        c.same("SELECT 15");
        c.same("GET a");
        for wrong in ["16", "-1", "x", "''", "1.0", "99999999999", "2147483647", "0 1", ""] {
            c.same(format!("SELECT {wrong}"));
        }
        c.run("SET a fifteen");
        c.on(1).same("GET a");
        c.same("GET a");
    });
}

#[test]
fn auth_without_a_password_lets_only_the_default_user_in() {
    side_by_side(|c| {
        for line in [
            "AUTH x",
            "AUTH user x",
            "AUTH default x",
            "AUTH default ''",
            "AUTH DEFAULT x",
            "AUTH a b c",
            "AUTH",
        ] {
            c.same(line);
        }
    });
}

#[test]
fn hello_checks_version_then_options_from_left_to_right() {
    side_by_side(|c| {
        for wrong in [
            "4",
            "1",
            "0",
            "-1",
            "x",
            "''",
            "2.0",
            "99999999999",
            "99999999999999999999",
            "2 foo",
            "2 SETNAME",
            "2 SETNAME 'a b'",
            "2 AUTH a",
            "2 AUTH user pw",
            "3 foo",
            "x SETNAME y",
            "4 foo",
            "3 SETNAME ok AUTH user pw",
            "2 SETNAME ok foo",
            "2 \"fo\\x00o\"",
        ] {
            c.same(format!("HELLO {wrong}"));
            c.same("CLIENT GETNAME");
        }
        for right in [
            "",
            "2",
            "3",
            "",
            "3 AUTH default x SETNAME me",
            "2 SETNAME a SETNAME b",
            "2 setname ''",
        ] {
            c.same_after(format!("HELLO {right}"), without_id);
            c.same("CLIENT GETNAME");
            c.same("GET nokey");
        }
    });
}

#[test]
fn names_of_clients_have_no_spaces() {
    in_both_protocols(|c| {
        c.same("CLIENT GETNAME");
        for name in ["a", "a b", "", "~!", "a\n", "\u{e9}", "a\u{7f}"] {
            c.same(argv!["CLIENT", "SETNAME", name]);
            c.same("CLIENT GETNAME");
        }
        c.same("CLIENT SETNAME");
        c.same("CLIENT SETNAME a b");
    });
}

#[test]
fn clients_have_ascending_numbers() {
    side_by_side(|c| {
        let id = |connection: usize| match c.on(connection).same_shape("CLIENT ID") {
            Value::Int(id) => id,
            other => panic!("{other:?} is no number"),
        };
        assert!(id(0) < id(1));
        assert!(id(1) < id(2));
        assert_eq!(id(0), id(0));
        c.same("CLIENT ID x");
    });
}

#[test]
fn client_list_has_the_fields_of_redis() {
    in_both_protocols(|c| {
        c.on(1).run("CLIENT SETNAME other");
        c.on(1).run("SELECT 3");
        c.on(1).run("MULTI");
        c.on(1).run("SET a 1");
        c.run("CLIENT SETNAME me");
        c.run("CLIENT NO-EVICT ON");
        c.same_after("CLIENT INFO", lines);
        c.same_after("CLIENT LIST", lines);
        c.same_after("CLIENT LIST TYPE normal", lines);
        for line in [
            "TYPE NoSuch",
            "TYPE master",
            "TYPE slave",
            "TYPE REPLICA",
            "TYPE pubsub",
            "TYPE",
            "TYPE normal x",
            "TYPE nosuch x",
            "ID",
            "ID x",
            "ID 1 x",
            "ID 0",
            "ID 999999",
            "ID -1",
            "nosuch",
            "ID 999999 999999",
        ] {
            c.same(format!("CLIENT LIST {line}"));
        }
        c.same("CLIENT INFO x");
    });
}

#[test]
fn client_kill_ends_whom_it_names() {
    side_by_side(|c| {
        for line in [
            "nosuch",
            "1.2.3.4:5",
            "ID",
            "ID x",
            "ID 0",
            "ID -1",
            "ID 999999",
            "nosuch x",
            "TYPE nosuch",
            "TYPE pubsub",
            "TYPE replica",
            "ADDR 1.2.3.4:5",
            "LADDR x SKIPME nosuch",
            "USER nosuch",
            "USER default ID 999999",
            "SKIPME no ID",
            "SKIPME yes ID 999999",
            "ID 999999 ADDR",
            "ID 99999999999999999999",
            "ID 1 x",
        ] {
            c.same(format!("CLIENT KILL {line}"));
        }
        c.on(1).run("PING");
        c.on(2).run("PING");
        c.check("CLIENT KILL TYPE normal", b":2\r\n");
        c.on(1).closes();
        c.on(2).closes();
        c.on(1).run("WATCH a");
        c.check("CLIENT KILL TYPE normal SKIPME yes USER default", b":1\r\n");
        c.on(1).closes();
        c.check("CLIENT KILL SKIPME no TYPE normal", b":1\r\n");
        c.closes();
    });
}

#[test]
fn the_other_client_commands_check_their_arguments() {
    in_both_protocols(|c| {
        for line in [
            "",
            "HELP",
            "HELP x",
            "nosuch",
            "SETINFO lib-name x",
            "REPLY nosuch",
            "REPLY ON",
            "NO-EVICT nosuch",
            "NO-EVICT on",
            "NO-EVICT off",
            "NO-EVICT",
            "UNPAUSE",
            "UNPAUSE x",
            "UNBLOCK x",
            "UNBLOCK 999999",
            "UNBLOCK 999999 nosuch",
            "UNBLOCK x nosuch",
            "UNBLOCK 999999 timeout",
            "UNBLOCK 999999 ERROR x",
            "UNBLOCK",
            "CACHING yes",
            "CACHING nosuch",
            "CACHING",
            "GETREDIR",
            "GETREDIR x",
            "TRACKINGINFO",
            "TRACKINGINFO x",
            "TRACKING",
            "TRACKING nosuch",
            "TRACKING on nosuch",
            "TRACKING on REDIRECT x",
            "TRACKING on REDIRECT 999999",
            "TRACKING on REDIRECT",
            "TRACKING on PREFIX a",
            "TRACKING on PREFIX",
            "TRACKING on OPTIN OPTOUT",
            "TRACKING on BCAST OPTIN",
            "TRACKING on BCAST PREFIX ab PREFIX x PREFIX a",
            "TRACKING off",
            "TRACKING off BCAST OPTIN",
            "TRACKING nosuch REDIRECT 999999",
            "TRACKING nosuch nosuch",
        ] {
            c.same(format!("CLIENT {line}"));
        }
        for line in
            ["x", "-1", "99999999999999999999", "0 nosuch", "x nosuch", "0 ALL x", "0", "0 all"]
        {
            c.same(format!("CLIENT PAUSE {line}"));
        }
    });
}

#[test]
fn client_reply_says_which_replies_are_wanted() {
    // On the engine alone: what a server does not send cannot be compared reply by reply.
    let mut session = stockroom::Engine::new().session();
    let mut silent = |line: &str| {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        session.call(&argv);
        session.is_silent()
    };
    assert!(!silent("PING"));
    assert!(silent("CLIENT REPLY SKIP"));
    assert!(silent("PING"));
    assert!(!silent("PING"));
    assert!(silent("CLIENT REPLY SKIP"));
    assert!(silent("NOSUCH"));
    assert!(!silent("NOSUCH"));
    assert!(silent("CLIENT REPLY OFF"));
    assert!(silent("PING"));
    assert!(silent("CLIENT REPLY SKIP"));
    assert!(silent("PING"));
    assert!(!silent("CLIENT REPLY ON"));
    assert!(!silent("PING"));
    assert!(silent("CLIENT REPLY OFF"));
    assert!(!silent("RESET"));
}

#[test]
fn reset_makes_a_connection_as_new() {
    side_by_side(|c| {
        c.same("SELECT 3");
        c.same("CLIENT SETNAME me");
        c.hello3();
        c.same("MULTI");
        c.same("RESET");
        c.same("CLIENT GETNAME");
        c.same("GET nokey");
        c.same("EXEC");
        c.same("SET a 1");
        c.on(1).same("GET a");
        c.same("RESET x");
    });
}

#[test]
fn quit_says_ok_and_closes() {
    side_by_side(|c| {
        c.same("QUIT");
        c.closes();
        c.same("quit now please");
        c.closes();
    });
    let mut session = stockroom::Engine::new().session();
    session.call(&[b"QUIT"]);
    assert!(session.call(&[b"PING"]).is_error());
}

/// A reply to HELLO with nothing for the number of the client.
fn without_id(value: Value) -> Value {
    let hide = |pairs: &mut [Value]| {
        if pairs[0] == Value::bulk("id") {
            pairs[1] = Value::Nil;
        }
    };
    match value {
        Value::Map(pairs) => {
            let mut flat: Vec<Value> = pairs.into_iter().flat_map(|(k, v)| [k, v]).collect();
            flat.chunks_mut(2).for_each(hide);
            Value::Map(flat.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        Value::Array(mut flat) => {
            flat.chunks_mut(2).for_each(hide);
            Value::Array(flat)
        }
        other => other,
    }
}

#[test]
fn client_list_shows_how_transactions_and_refused_commands_stand() {
    in_both_protocols(|c| {
        c.on(1).run("CLIENT SETNAME one");
        c.on(1).run("WATCH a b");
        c.same_after("CLIENT LIST", lines_of_one);
        c.run("SET a 1");
        c.same_after("CLIENT LIST", lines_of_one);
        // What is queued once a watched key has changed is not kept, nor counted.
        for line in ["MULTI", "GET a", "GET b"] {
            c.on(1).same(line);
            c.same_after("CLIENT LIST", lines_of_one);
        }
        c.on(1).same("EXEC");
        c.same_after("CLIENT LIST", lines_of_one);
        // Nor what is queued after an error; what came before is.
        for line in ["MULTI", "GET a", "GET", "GET b", "NoSuch", "GET b", "CLIENT NoSuch"] {
            c.on(1).same(line);
            c.same_after("CLIENT LIST", lines_of_one);
        }
        c.run("SET b 2");
        c.on(1).same("EXEC");
        for end in ["UNWATCH", "DISCARD", "RESET"] {
            c.on(1).run("CLIENT SETNAME one");
            c.on(1).run("WATCH a");
            c.run("SET a 1");
            c.on(1).run("MULTI");
            c.same_after("CLIENT LIST", lines_of_one);
            c.on(1).run(end);
            c.same_after("CLIENT LIST", lines_of_one);
            c.on(1).run("DISCARD");
        }
        c.on(1).run("CLIENT SETNAME one");
        for line in ["NoSuch", "GET", "CLIENT NoSuch", "CLIENT", "CLIENT KILL", "''"] {
            c.on(1).same(line);
            c.same_after("CLIENT LIST", lines_of_one);
        }
    });
}

#[test]
fn who_is_killed_is_gone_at_once() {
    side_by_side(|c| {
        (1..=3).for_each(|client| drop(c.on(client).run("CLIENT SETNAME one")));
        c.on(1).run("SUBSCRIBE a");
        c.on(2).run("PSUBSCRIBE *");
        c.same("PUBLISH a 1");
        c.same("CLIENT KILL TYPE pubsub");
        c.same("PUBLISH a 1");
        c.same("PUBSUB NUMSUB a");
        c.same("PUBSUB NUMPAT");
        c.same("CLIENT KILL TYPE pubsub");
        c.same_after("CLIENT LIST", lines_of_one);
    });
}

/// As [`lines`], of those clients whose name is `one`: not those of the tests themselves.
fn lines_of_one(value: Value) -> Value {
    let is_one =
        |line: &Value| matches!(line, Value::Bulk(l) if l.to_text().contains(" name=one "));
    match lines(value) {
        Value::Array(mut lines) => {
            lines.retain(is_one);
            Value::Array(lines)
        }
        Value::Verbatim(kind, text) => {
            let text = text.to_text();
            let lines: Vec<&str> = text.lines().filter(|l| l.contains(" name=one ")).collect();
            Value::Verbatim(kind, lines.join("\n").as_str().into())
        }
        other => other,
    }
}

/// The lines of CLIENT LIST without what is a matter of sockets and memory.
fn lines(value: Value) -> Value {
    const OWN: [&str; 15] = [
        "id",
        "addr",
        "laddr",
        "fd",
        "qbuf",
        "qbuf-free",
        "argv-mem",
        "multi-mem",
        "rbs",
        "rbp",
        "obl",
        "tot-mem",
        "age",
        "idle",
        "omem",
    ];
    let clean = |text: &str| {
        let kept =
            |field: &&str| field.split_once('=').is_none_or(|(name, _)| !OWN.contains(&name));
        let names: Vec<&str> = text.split(' ').map(|f| f.split('=').next().unwrap_or(f)).collect();
        let fields: Vec<&str> = text.split(' ').filter(kept).collect();
        format!("{} {}", names.join(" "), fields.join(" "))
    };
    match value {
        Value::Bulk(text) => Value::bulks(text.to_text().lines().map(clean)),
        Value::Verbatim(kind, text) => {
            let lines: Vec<String> = text.to_text().lines().map(clean).collect();
            Value::Verbatim(kind, lines.join("\n").as_str().into())
        }
        other => other,
    }
}
