//! Publish and subscribe, beside a real server. Which pattern a message is sent for first, and
//! which name is listed first, is that of a hash table in Redis: those bodies compare in any order.

use stockroom::resp::Value;

use crate::support::{Pair, argv, in_both_protocols, side_by_side};

/// Who may publish while connection 0 listens.
fn publisher(c: &Pair) -> Pair {
    c.on(1)
}

#[test]
fn subscribing_tells_each_channel_with_the_number_of_all() {
    in_both_protocols(|c| {
        for line in ["UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE a b a"] {
            c.same(line);
        }
        for line in [
            "SUBSCRIBE a",
            "SUBSCRIBE a b a",
            "PSUBSCRIBE a* ? a*",
            "SSUBSCRIBE a s",
            "subscribe c",
            "UNSUBSCRIBE a x",
            "PUNSUBSCRIBE ? x",
            "SUNSUBSCRIBE x",
            "SUNSUBSCRIBE s",
            "SUNSUBSCRIBE",
            "PUNSUBSCRIBE",
        ] {
            c.same(line);
        }
        c.same(argv!["SUBSCRIBE", b"\xff\0\r\n", ""]);
        c.same(argv!["UNSUBSCRIBE", "", b"\xff\0\r\n", "b"]);
        c.same("UNSUBSCRIBE");
        c.same("UNSUBSCRIBE");
        c.same("GET k");
    });
}

#[test]
fn giving_up_all_tells_each_in_some_order() {
    in_both_protocols(|c| {
        c.same("SUBSCRIBE a b c");
        let (ours, real) = c.both("UNSUBSCRIBE");
        let names = |bytes: &[u8]| {
            let told = crate::support::replies_in(bytes);
            let mut items: Vec<String> = told.iter().map(|told| format!("{told:?}")).collect();
            items.iter_mut().for_each(|text| *text = text.replace(['0', '1', '2'], "n"));
            items.sort();
            items
        };
        assert_eq!(names(&ours.bytes).len(), 3);
        if let Some(real) = real {
            assert_eq!(names(&ours.bytes), names(&real.bytes));
        }
    });
}

#[test]
fn messages_reach_who_listens_once_for_each_subscription() {
    in_both_protocols(|c| {
        let p = publisher(c);
        c.same("SUBSCRIBE news other");
        c.same("PSUBSCRIBE n*s");
        c.same("SSUBSCRIBE news");
        p.check(argv!["PUBLISH", "news", b"a\0\r\nb"], b":2\r\n");
        c.hears();
        c.hears();
        c.hears_nothing();
        p.check("SPUBLISH news shard", b":1\r\n");
        c.hears();
        p.check("PUBLISH nobody x", b":0\r\n");
        p.check("SPUBLISH other x", b":0\r\n");
        c.hears_nothing();
        c.same("UNSUBSCRIBE news");
        p.check("PUBLISH news x", b":1\r\n");
        c.hears();
        c.same("PUNSUBSCRIBE n*s");
        p.check("PUBLISH news x", b":0\r\n");
        // Whatever database is selected, and after SWAPDB and FLUSHALL.
        p.same("SELECT 3");
        p.same("FLUSHALL");
        p.check("PUBLISH other x", b":1\r\n");
        c.hears();
    });
}

#[test]
fn all_who_listen_hear_all_in_one_order() {
    side_by_side(|c| {
        for n in 0..4 {
            c.on(n).same("SUBSCRIBE a");
        }
        let p = c.on(9);
        (0..20).for_each(|n| drop(p.same(argv!["PUBLISH", "a", n])));
        for n in 0..4 {
            (0..20).for_each(|_| drop(c.on(n).hears()));
            c.on(n).hears_nothing();
        }
        c.on(2).disconnect();
        p.check("PUBLISH a x", b":3\r\n");
        p.check("PUBSUB NUMSUB a", b"*2\r\n$1\r\na\r\n:3\r\n");
    });
}

#[test]
fn each_matching_pattern_brings_the_message() {
    in_both_protocols(|c| {
        let p = publisher(c);
        let patterns = ["*", "[a-c]?", "a\\*", "?b", "x*"];
        patterns.iter().for_each(|pattern| drop(c.same(["PSUBSCRIBE", pattern])));
        p.check("PUBLISH ab m", b":3\r\n");
        p.check("PUBLISH a* m", b":3\r\n");
        p.same(argv!["PUBLISH", "", "m"]); // which no pattern matches
        p.same("PUBSUB NUMPAT");
    });
}

#[test]
fn who_listens_may_do_little_else_in_resp2() {
    in_both_protocols(|c| {
        c.run("SET k v");
        for subscribe in ["SUBSCRIBE a", "PSUBSCRIBE a*", "SSUBSCRIBE a"] {
            c.same(subscribe);
            for line in [
                "GET k",
                "get",
                "NOSUCH x",
                "PING",
                "PING hi",
                "PING a b",
                "MULTI",
                "DISCARD",
                "EXEC",
                "EXEC x",
                "CLIENT ID x",
                "CONFIG GET maxmemory",
                "CONFIG NOSUCH",
                "PUBSUB CHANNELS",
                "SUBSCRIBE",
                "SELECT 1",
                "SELECT 0",
                "WATCH k",
                "EVAL return 0",
                "BLPOP nokey 0.001 x",
                "PUBLISH nobody m",
                "SPUBLISH nobody m",
            ] {
                c.same(line);
            }
            c.same("RESET");
            c.same("PING");
            c.same("GET k");
            c.same("PUBSUB NUMSUB a");
            c.same("PUBSUB NUMPAT");
            c.same("PUBSUB SHARDNUMSUB a");
            assert!(!c.run_ours("PUBSUB CHANNELS").is_error(), "it still listens");
            c.run_real("PUBSUB CHANNELS");
        }
        c.same("SUBSCRIBE a");
        c.same("QUIT");
        c.closes();
        publisher(c).check("PUBLISH a x", b":0\r\n");
    });
}

#[test]
fn a_transaction_may_subscribe_and_publish() {
    in_both_protocols(|c| {
        c.run("SET k v");
        c.same("MULTI");
        for line in ["SUBSCRIBE a b", "GET k", "PING", "UNSUBSCRIBE a", "SUBSCRIBE", "PING x"] {
            c.same(line);
        }
        c.same("EXEC");
        c.same("MULTI");
        for line in [
            "SUBSCRIBE a b",
            "GET k",
            "PING",
            "UNSUBSCRIBE a",
            "PSUBSCRIBE p",
            "PING x",
            "SSUBSCRIBE s",
            "SUNSUBSCRIBE s",
        ] {
            c.same(line);
        }
        // The announced number of replies, and then one more for each further channel.
        c.same("EXEC");
        c.same("GET k");
        let p = publisher(c);
        p.same("MULTI");
        p.same("PUBLISH b 1");
        p.same("SET k 2");
        p.same("PUBLISH p 2");
        c.hears_nothing();
        p.same("EXEC");
        c.hears();
        c.hears();
        c.hears_nothing();
    });
}

#[test]
fn own_messages_come_before_the_reply() {
    side_by_side(|c| {
        c.hello3();
        c.same("SUBSCRIBE a");
        c.same("PUBLISH a m");
        if cfg!(feature = "lua") {
            let script = "redis.call('PUBLISH', 'a', '1') redis.call('SPUBLISH', 'a', '2') \
                          redis.call('PUBLISH', 'a', '3') return 7";
            c.same(argv!["EVAL", script, 0]);
        }
        // Messages of others that have not been read come before, too.
        publisher(c).same("PUBLISH a other");
        c.same("PUBLISH a m");
        c.same("UNSUBSCRIBE a");
        c.same("PUBLISH a m");
        // A client that speaks RESP3 may block meanwhile.
        c.same("SUBSCRIBE a");
        c.blocks("BLPOP l 0");
        publisher(c).same("RPUSH l x");
        c.wakes();
    });
}

#[test]
fn scripts_publish_and_do_not_subscribe() {
    if !cfg!(feature = "lua") {
        return;
    }
    in_both_protocols(|c| {
        let p = publisher(c);
        c.same("SUBSCRIBE a");
        for script in [
            "return redis.call('PUBLISH', 'a', 'x')",
            "return {redis.call('PUBLISH', 'a', 'x'), redis.call('SPUBLISH', 'a', 'y')}",
            "return redis.call('SUBSCRIBE', 'a')",
            "return redis.call('UNSUBSCRIBE')",
            "return redis.call('PUBSUB', 'NUMPAT')",
            "return redis.call('PUBSUB', 'CHANNELS')",
            "return redis.call('PUBSUB', 'NUMSUB', 'a', 'b')",
            "return redis.call('PUBLISH', 'a')",
        ] {
            p.same(argv!["EVAL", script, 0]);
            p.same(argv!["EVAL_RO", script, 0]);
        }
        (0..2).for_each(|_| drop(c.hears()));
        c.hears_nothing();
    });
}

#[test]
fn pubsub_answers_of_channels_that_are_listened_to() {
    in_both_protocols(|c| {
        let p = publisher(c);
        c.same("SUBSCRIBE a b [x");
        c.on(2).same("SUBSCRIBE b");
        c.on(2).same("PSUBSCRIBE * b");
        c.on(3).same("PSUBSCRIBE *");
        c.on(3).same("SSUBSCRIBE s");
        for line in [
            "PUBSUB",
            "PUBSUB CHANNELS a",
            "PUBSUB CHANNELS x*",
            "PUBSUB CHANNELS \\[*",
            "PUBSUB CHANNELS a b",
            "PUBSUB NUMSUB",
            "PUBSUB NUMSUB a b a nobody s",
            "PUBSUB NUMPAT",
            "PUBSUB NUMPAT x",
            "PUBSUB SHARDCHANNELS",
            "PUBSUB SHARDCHANNELS x",
            "PUBSUB SHARDCHANNELS a b",
            "PUBSUB SHARDNUMSUB",
            "PUBSUB SHARDNUMSUB a s",
            "PUBSUB HELP",
            "PUBSUB HELP x",
            "PUBSUB FOO",
            "pubsub numsub b",
            "PUBLISH a",
            "PUBLISH a b c",
            "SPUBLISH",
        ] {
            p.same(line);
        }
        p.same_set("PUBSUB CHANNELS");
        p.same_set("PUBSUB CHANNELS ?");
        // Order of the patterns, in a server, is that of a hash table.
        p.check("PUBLISH b x", b":5\r\n");
    });
}

#[test]
fn clients_and_info_show_who_listens() {
    side_by_side(|c| {
        let p = publisher(c);
        c.same("SUBSCRIBE a b");
        c.same("PSUBSCRIBE *");
        c.same("SSUBSCRIBE s");
        let shown = |value: Value| {
            let Value::Bulk(text) = value else { panic!("{value:?} is no text") };
            let text = String::from_utf8_lossy(&text).into_owned();
            let wanted = ["flags=", "sub=", "psub=", "ssub=", "pubsub"];
            let words = text.split([' ', '\r', '\n']);
            let words = words.filter(|word| wanted.iter().any(|w| word.starts_with(w)));
            Value::bulks(words.collect::<Vec<_>>())
        };
        p.same_after("CLIENT LIST TYPE pubsub", shown);
        p.same_after("CLIENT LIST TYPE normal", shown);
        p.same_after("INFO stats", shown);
        p.same("CLIENT KILL TYPE pubsub");
        c.closes();
        p.same("PUBSUB NUMSUB a");
        p.same("PUBSUB NUMPAT");
    });
}

#[test]
fn a_client_that_speaks_resp2_again_is_held_to_its_rules() {
    side_by_side(|c| {
        c.hello3();
        c.same("SUBSCRIBE a");
        c.same("GET k");
        c.same_shape("HELLO 2");
        c.same("GET k");
        c.same("PING");
        publisher(c).same("PUBLISH a x");
        c.hears();
    });
}
