//! [`Spec`]: a row of the command table, and what follows from it.
//!
//! From the row, and nowhere else, come the arity, the key positions, the locks, what MULTI
//! refuses, COMMAND and its kin, and the generator of random calls. A row is a `const` made by
//! `const fn` builders, beside its handler.

use smallvec::SmallVec;

use super::cx::Cx;
use super::flags::{Acl, Flags, KeyFlags};
use super::keys::KeySpec;
use crate::error::WireError;
use crate::resp::Value;

/// What a handler answers.
pub type Reply = Result<Value, WireError>;

/// A handler: the call's context and the whole command line, name included. The arity has been
/// checked. Everything is validated before anything is changed.
pub type Handler = fn(&mut Cx<'_>, &[&[u8]]) -> Reply;

/// How a command is run.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// On the keys that the row names; on all shards when it names none.
    Data(Handler),
    /// Without any key.
    Plain(Handler),
    /// By the session, without any lock.
    Session(SessionOp),
    /// By the session, with all shards locked for reading or, for a WRITE, for writing.
    Server(SessionOp),
    /// By the interpreter of the engine, with all shards locked.
    Script(ScriptOp),
    /// Not itself: it has subcommands.
    Container,
}

/// Commands about scripts, which the engine layer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the command of its name")]
pub enum ScriptOp {
    Debug,
    Eval,
    Evalsha,
    Exists,
    Flush,
    Kill,
    Load,
}

/// Commands that concern the connection or the whole engine, which the engine layer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the command of its name")]
pub enum SessionOp {
    Auth,
    ClientCaching,
    ClientGetname,
    ClientGetredir,
    ClientId,
    ClientInfo,
    ClientKill,
    ClientList,
    ClientNoEvict,
    ClientPause,
    ClientReply,
    ClientSetname,
    ClientTracking,
    ClientTrackinginfo,
    ClientUnblock,
    ClientUnpause,
    ConfigGet,
    ConfigResetstat,
    ConfigRewrite,
    ConfigSet,
    Discard,
    Exec,
    Hello,
    Info,
    Multi,
    Psubscribe,
    Punsubscribe,
    Quit,
    Reset,
    Select,
    Ssubscribe,
    Subscribe,
    Sunsubscribe,
    Unsubscribe,
    Unwatch,
    Watch,
}

/// A piece of a command's argument grammar. From it come the arity and random valid calls.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A key.
    Key,
    /// Any string: a value.
    Str,
    /// A field of a hash.
    Field,
    /// A member of a set or sorted set, an element of a list.
    Member,
    /// A signed integer.
    Int,
    /// A position or rank, possibly negative.
    Index,
    /// A count.
    Count,
    /// A number with a fraction.
    Float,
    /// A number of a database.
    Db,
    /// A time to live in seconds.
    Secs,
    /// A time to live in milliseconds.
    Millis,
    /// How long to wait, in seconds with a fraction; 0 for ever.
    Timeout,
    /// A point in time in seconds since the epoch.
    AtSecs,
    /// A point in time in milliseconds since the epoch.
    AtMillis,
    /// A bound of a range of scores: `(1.5`, `-inf`, …
    Score,
    /// A bound of a lexicographic range: `[a`, `(a`, `-`, `+`.
    Lex,
    /// A channel.
    Channel,
    /// A glob-style pattern.
    Pattern,
    /// A cursor of the SCAN family.
    Cursor,
    /// This word.
    Tok(&'static str),
    /// All of these, or nothing.
    Opt(&'static [Arg]),
    /// One of these.
    One(&'static [Arg]),
    /// All of these, in order.
    Seq(&'static [Arg]),
    /// All of these, once or more often.
    Many(&'static [Arg]),
    /// A number of keys and that many keys.
    NumKeys,
}

/// A row of the command table.
#[derive(Debug)]
pub struct Spec {
    /// Upper-case name; a subcommand's is `CONTAINER|NAME`.
    pub name: &'static str,
    /// How it is run.
    pub run: Run,
    flags: Flags,
    /// The argument grammar, without the name.
    pub args: &'static [Arg],
    /// Where the keys are.
    pub keys: &'static [KeySpec],
    acl: Acl,
    /// Hints for clients and proxies.
    pub tips: &'static [&'static str],
    /// Subcommands of a container.
    pub subs: &'static [&'static Spec],
    /// Group, as COMMAND DOCS names it.
    pub group: &'static str,
    /// First Redis version that has it.
    pub since: &'static str,
    /// Complexity as Redis documents it.
    pub complexity: &'static str,
    /// One sentence.
    pub summary: &'static str,
    arity: i32,
    id: u32,
    compound: bool,
}

impl Spec {
    /// A row with what every command has.
    pub const fn new(name: &'static str, run: Run, flags: Flags, args: &'static [Arg]) -> Self {
        // A subcommand's name counts as two words.
        let words = if contains(name, b'|') { 2 } else { 1 };
        let (least, open) = least(args);
        let arity = if open { -(least + words) } else { least + words };
        Self {
            name,
            run,
            flags,
            args,
            keys: &[],
            acl: Acl::NONE,
            tips: &[],
            subs: &[],
            group: "generic",
            since: "1.0.0",
            complexity: "O(1)",
            summary: "",
            arity,
            id: id(name),
            compound: words == 2,
        }
    }

    /// A command with subcommands.
    pub const fn container(name: &'static str, subs: &'static [&'static Spec]) -> Self {
        let mut spec = Self::new(name, Run::Container, Flags::NONE, &[Arg::Many(&[Arg::Str])]);
        spec.subs = subs;
        spec
    }

    /// Its subcommands, where the command itself can be run too.
    #[must_use]
    pub const fn subs(mut self, subs: &'static [&'static Spec]) -> Self {
        self.subs = subs;
        self
    }

    /// Where its keys are.
    #[must_use]
    pub const fn keys(mut self, keys: &'static [KeySpec]) -> Self {
        self.keys = keys;
        self
    }

    /// The ACL categories that do not follow from the flags.
    #[must_use]
    pub const fn acl(mut self, acl: Acl) -> Self {
        self.acl = acl;
        self
    }

    /// Hints for clients and proxies.
    #[must_use]
    pub const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.tips = tips;
        self
    }

    /// The arity, where Redis states another than follows from the grammar.
    #[must_use]
    pub const fn arity_as(mut self, arity: i32) -> Self {
        self.arity = arity;
        self
    }

    /// Documentation.
    #[must_use]
    pub const fn doc(
        mut self,
        group: &'static str,
        since: &'static str,
        complexity: &'static str,
        summary: &'static str,
    ) -> Self {
        self.group = group;
        self.since = since;
        self.complexity = complexity;
        self.summary = summary;
        self
    }

    /// A number that tells this command from all others, where a reference cannot be kept. (A
    /// `const` has no address of its own.)
    #[inline]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Number of words with the name; negative: at least as many.
    pub const fn arity(&self) -> i32 {
        self.arity
    }

    /// Whether a command line of `words` has a fitting length.
    #[inline]
    pub fn accepts(&self, words: usize) -> bool {
        if self.arity < 0 {
            words >= self.arity.unsigned_abs() as usize
        } else {
            words == self.arity as usize
        }
    }

    /// The flags, MOVABLEKEYS included, which follows from the key specs.
    pub fn flags(&self) -> Flags {
        if KeySpec::are_movable(self.keys) { self.flags.or(Flags::MOVABLEKEYS) } else { self.flags }
    }

    /// The keys as a first, a last and a step, as far as they can be told so: what clients of old
    /// go by. A negative last counts from the end of the line.
    pub fn key_range(&self) -> (i32, i32, i32) {
        KeySpec::as_range(self.keys)
    }

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn is(&self, flags: Flags) -> bool {
        self.flags.has(flags)
    }

    /// The ACL categories.
    pub fn categories(&self) -> Acl {
        let follows = [
            (Flags::WRITE, Acl::WRITE),
            (Flags::READONLY, Acl::READ),
            (Flags::ADMIN, Acl::ADMIN.or(Acl::DANGEROUS)),
            (Flags::PUBSUB, Acl::PUBSUB),
            (Flags::BLOCKING, Acl::BLOCKING),
            (Flags::FAST, Acl::FAST),
        ];
        let acl = follows
            .into_iter()
            .filter(|(flag, _)| self.is(*flag))
            // A script that only reads is no read, as Redis counts.
            .filter(|(_, category)| *category != Acl::READ || !self.acl.has(Acl::SCRIPTING))
            .fold(self.acl, |acl, (_, category)| acl.or(category));
        if self.is(Flags::FAST) { acl } else { acl.or(Acl::SLOW) }
    }

    /// The positions of the keys in a command line, with what is done to each. `None` when the
    /// line does not say (a count of keys that is no number, say): the handler will refuse it.
    pub fn key_positions(&self, argv: &[&[u8]]) -> Option<SmallVec<[(usize, KeyFlags); 4]>> {
        let mut found: SmallVec<[_; 4]> = SmallVec::new();
        let mut exact = true;
        for spec in self.keys {
            exact &= spec.find(argv, &mut found)?;
        }
        if !exact {
            // Redis then says nothing of what is done with them, and names a destination last.
            found.iter_mut().for_each(|(_, flags)| *flags = KeyFlags::NONE);
            found.rotate_left(self.keys.len() - 1);
        }
        Some(found)
    }

    /// The word that says how long a command that may wait does so.
    pub fn timeout<'w>(&self, argv: &[&'w [u8]]) -> Option<&'w [u8]> {
        match self.args {
            [Arg::Timeout, ..] => argv.get(1).copied(),
            [.., Arg::Timeout] => argv.last().copied(),
            _ => None,
        }
    }

    /// Whether the name has two words, as a subcommand's.
    #[inline]
    pub const fn is_compound(&self) -> bool {
        self.compound
    }

    /// The words of the name: two for a subcommand.
    #[inline]
    pub fn words<'w>(&self) -> impl Iterator<Item = &'w [u8]> + use<'w> {
        let name: &'w [u8] = self.name.as_bytes();
        name.split(|&b| b == b'|')
    }

    /// The name as errors and COMMAND spell it.
    pub fn lower_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// The error for a command line of the wrong length.
    pub fn arity_error(&self) -> WireError {
        let name = self.lower_name();
        WireError::new(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// The subcommand of that name, in any case.
    pub fn sub(&self, name: &[u8]) -> Option<&'static Spec> {
        let named = |s: &&&Spec| {
            let own = s.name.as_bytes();
            own[self.name.len() + 1..].eq_ignore_ascii_case(name)
        };
        self.subs.iter().find(named).copied()
    }
}

/// The FNV-1a hash of a name. That no two commands share one is tested.
const fn id(name: &str) -> u32 {
    let name = name.as_bytes();
    let mut hash = 0x811c_9dc5_u32;
    let mut i = 0;
    while i < name.len() {
        hash = (hash ^ name[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

const fn contains(name: &str, byte: u8) -> bool {
    let name = name.as_bytes();
    let mut i = 0;
    while i < name.len() {
        if name[i] == byte {
            return true;
        }
        i += 1;
    }
    false
}

/// The least number of words that a grammar takes, and whether it can take more.
const fn least(args: &[Arg]) -> (i32, bool) {
    let (mut sum, mut open) = (0, false);
    let mut i = 0;
    while i < args.len() {
        let (words, more) = match args[i] {
            Arg::Opt(_) => (0, true),
            Arg::Many(inner) => (least(inner).0, true),
            Arg::Seq(inner) => least(inner),
            Arg::One(choices) => least_of(choices),
            Arg::NumKeys => (2, true),
            _ => (1, false),
        };
        sum += words;
        open = open || more;
        i += 1;
    }
    (sum, open)
}

const fn least_of(choices: &[Arg]) -> (i32, bool) {
    let (mut best, mut open) = (i32::MAX, false);
    let mut i = 0;
    while i < choices.len() {
        let (words, more) = least(std::slice::from_ref(&choices[i]));
        open = open || more || (best != i32::MAX && words != best);
        if words < best {
            best = words;
        }
        i += 1;
    }
    (best, open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arity_follows_from_the_grammar() {
        const SUB: Spec = Spec::new("X|Y", Run::Container, Flags::NONE, &[Arg::NumKeys]);
        const FIXED: Spec =
            Spec::new("X", Run::Container, Flags::NONE, &[Arg::One(&[Arg::Key, Arg::Int])]);
        const SET: Spec = Spec::new(
            "X",
            Run::Container,
            Flags::NONE,
            &[Arg::Key, Arg::Str, Arg::Opt(&[Arg::Tok("NX")])],
        );
        assert_eq!(SET.arity(), -3);
        assert!(!SET.accepts(2) && SET.accepts(3) && SET.accepts(9));
        assert_eq!(SUB.arity(), -4);
        assert_eq!(FIXED.arity(), 2);
    }
}
