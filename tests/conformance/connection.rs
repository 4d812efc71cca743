//! Connections: PING, ECHO, SELECT, HELLO, CLIENT, QUIT, RESET.

use crate::support::{argv, side_by_side};

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
