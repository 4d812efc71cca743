//! Connections that wait: `BLPOP` and its kin on both sides.

use std::fmt::Write;
use std::time::Duration;

use stockroom::resp::Value;

use super::{Argv, OurSide, Pair, Reply, Shared, command_line};

/// How long to look for a reply that must not come. What a server has to say by then, it has said:
/// see [`Shared::settle`].
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(5);

impl Shared {
    /// Lets the real server come to rest: it has read all that was sent to it, served and timed
    /// out who waited, and written all replies. A request that was in the kernel before the first
    /// reply here is read before the second request; time-outs come before replies are written.
    pub(super) fn settle(&mut self) {
        if let Some(control) = &mut self.control {
            control.call(&["PING"]);
            control.call(&["PING"]);
        }
    }
}

impl Pair {
    /// Sends a command that has to wait on both sides.
    #[track_caller]
    pub(crate) fn blocks(&self, args: impl Argv) {
        let argv = args.argv();
        let shared = &mut *self.shared.borrow_mut();
        let _ = writeln!(shared.sent, "  {}> {} (waits)", self.connection, command_line(&argv));
        let ours = shared.ask_engine(self.connection, &argv);
        assert!(ours.is_none(), "the engine answers at once: {ours:?}\n{}", shared.sent);
        shared.send_real(self.connection, &argv);
        self.assert_blocked(shared);
    }

    /// Both sides still wait.
    #[track_caller]
    pub(crate) fn still_blocked(&self) {
        self.assert_blocked(&mut self.shared.borrow_mut());
    }

    #[track_caller]
    fn assert_blocked(&self, shared: &mut Shared) {
        let ours = shared.sessions[self.connection].as_mut().and_then(OurSide::reply);
        let real = shared.real_reply(self.connection, SHORT);
        assert!(
            ours.is_none() && real.is_none(),
            "connection {} is not blocked\n engine: {ours:?}\n real: {real:?}\nafter\n{}",
            self.connection,
            shared.sent
        );
    }

    /// Both sides have got the reply they waited for, and it is the same.
    #[track_caller]
    pub(crate) fn wakes(&self) -> Value {
        self.woken().value
    }

    /// As [`wakes`](Self::wakes), with exactly these bytes.
    #[track_caller]
    pub(crate) fn wakes_with(&self, expected: &[u8]) {
        let got = self.woken().bytes;
        assert_eq!(got.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[track_caller]
    fn woken(&self) -> Reply {
        let shared = &mut *self.shared.borrow_mut();
        let ours = shared.sessions[self.connection].as_mut().and_then(OurSide::reply);
        let real = shared.real_reply(self.connection, LONG);
        let after = &shared.sent;
        let Some(ours) = ours else {
            panic!("the engine still waits; real: {real:?}\nafter\n{after}");
        };
        if shared.real.is_some() {
            let real = real.unwrap_or_else(|| panic!("only the engine answers: {ours:?}\n{after}"));
            assert_eq!(ours, real, "engine left, real right, after\n{after}");
        }
        ours
    }
}

impl Pair {
    /// Both sides have sent the same message.
    #[track_caller]
    pub(crate) fn hears(&self) -> Value {
        let shared = &mut *self.shared.borrow_mut();
        let ours = shared.sessions[self.connection].as_mut().and_then(OurSide::message);
        let ours = ours.unwrap_or_else(|| panic!("no message after\n{}", shared.sent));
        let real = shared.real_reply(self.connection, LONG);
        if shared.real.is_some() {
            assert_eq!(
                Some(&ours),
                real.as_ref(),
                "engine left, real right, after\n{}",
                shared.sent
            );
        }
        ours.value
    }

    /// Neither side has sent a message.
    #[track_caller]
    pub(crate) fn hears_nothing(&self) {
        let shared = &mut *self.shared.borrow_mut();
        let ours = shared.sessions[self.connection].as_mut().and_then(OurSide::message);
        let real = shared.real_reply(self.connection, SHORT);
        assert_eq!((ours, real), (None, None), "after\n{}", shared.sent);
    }
}

impl Shared {
    fn send_real(&mut self, connection: usize, argv: &[Vec<u8>]) {
        let Some(real) = &self.real else { return };
        if self.wires.len() <= connection {
            self.wires.resize_with(connection + 1, || None);
        }
        self.control.get_or_insert_with(|| real.connect());
        self.wires[connection].get_or_insert_with(|| real.connect()).request(argv);
    }

    fn real_reply(&mut self, connection: usize, patience: Duration) -> Option<Reply> {
        self.settle();
        self.wires.get_mut(connection)?.as_mut()?.poll(patience)
    }
}
