//! [`Calls`]: command lines that borrow their words, side by side.
//!
//! What a pipeline or a transaction is made of, on its way from a caller to the engine or to a
//! server: no word is copied, and a short batch allocates nothing.

use smallvec::SmallVec;

use super::{Engine, Shared, dispatch, script};
use crate::commands::{Cx, Run, Spec};
use crate::db::{Access, Scope};
use crate::error::WireError;
use crate::resp::{Protocol, Value};

/// Command lines, in order. Each starts with the words of its name.
///
/// ```
/// use stockroom::commands::string::{GET, SET};
/// use stockroom::{Engine, engine::Calls, resp::Value};
///
/// let mut calls = Calls::default();
/// calls.call(&SET, [&b"k"[..], b"v"]);
/// calls.push(&GET);
/// calls.word(b"k");
/// // One transaction, no word copied.
/// let replies = Engine::new().atomic(&calls)?;
/// assert_eq!(replies[..], [Value::OK, Value::bulk("v")]);
/// # Ok::<(), stockroom::WireError>(())
/// ```
#[derive(Debug, Default)]
pub struct Calls<'a> {
    words: SmallVec<[&'a [u8]; 48]>,
    /// The row of each line and where its words end.
    lines: SmallVec<[(&'static Spec, usize); 12]>,
}

/// The replies to [`Calls`], one each, in order.
pub type Replies = SmallVec<[Value; 8]>;

impl<'a> Calls<'a> {
    /// Adds a line that calls `spec`, starting with its name.
    #[inline]
    pub fn push(&mut self, spec: &'static Spec) {
        self.call(spec, []);
    }

    /// Adds a line that calls `spec` with these arguments.
    #[inline]
    pub fn call(&mut self, spec: &'static Spec, args: impl IntoIterator<Item = &'a [u8]>) {
        if spec.is_compound() {
            self.words.extend(spec.words());
        } else {
            self.words.push(spec.name.as_bytes());
        }
        self.words.extend(args);
        self.lines.push((spec, self.words.len()));
    }

    /// Adds a word to the last line.
    #[inline]
    pub fn word(&mut self, word: &'a [u8]) {
        self.words.push(word);
        if let Some((_, end)) = self.lines.last_mut() {
            *end = self.words.len();
        }
    }

    /// Adds a line as it is, name included.
    pub(super) fn line(&mut self, spec: &'static Spec, words: impl IntoIterator<Item = &'a [u8]>) {
        self.words.extend(words);
        self.lines.push((spec, self.words.len()));
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Spec, &[&'a [u8]])> {
        let mut start = 0;
        self.lines.iter().map(move |&(spec, end)| {
            let words = &self.words[start..end];
            start = end;
            (spec, words)
        })
    }

    /// The error of the first line that a server would not even queue.
    pub(super) fn refusal(&self) -> Option<WireError> {
        self.iter().find(|(spec, argv)| !spec.accepts(argv.len())).map(|(s, _)| s.arity_error())
    }

    /// Locks all that the lines touch, and `watched` keys, and makes the context of the run; see
    /// [`dispatch::context`].
    pub(super) fn lock<'k, 'w>(
        &'w self,
        shared: &'k Shared,
        watched: impl Iterator<Item = &'w [u8]>,
        db: usize,
        protocol: Protocol,
    ) -> Result<Cx<'k>, WireError> {
        let watched = Scope::of(watched.map(|key| (key, Access::Read)));
        let of_line = |(spec, argv): (&Spec, &[&[u8]])| dispatch::scope(spec, argv);
        let scope = self.iter().map(of_line).fold(watched, Scope::or);
        dispatch::context(shared, scope, db, protocol)
    }
}

impl Engine {
    /// Runs commands on database 0 as one transaction, without a session: nobody sees a part of
    /// it. As in MULTI, a line of the wrong length refuses all, and an error of one command at run
    /// time leaves the others standing. Only commands on data: what belongs to a session refuses
    /// all.
    pub fn atomic(&self, calls: &Calls<'_>) -> Result<Replies, WireError> {
        for (spec, argv) in calls.iter() {
            if !spec.accepts(argv.len()) {
                return Err(spec.arity_error());
            }
            if !matches!(spec.run, Run::Data(_) | Run::Plain(_) | Run::Script(_)) {
                return Err(dispatch::needs_session(spec));
            }
        }
        let mut cx = calls.lock(&self.shared, std::iter::empty(), 0, Protocol::Resp2)?;
        let run = |(spec, argv): (&'static Spec, &[&[u8]])| match spec.run {
            Run::Data(handler) | Run::Plain(handler) => handler(&mut cx, argv).into(),
            Run::Script(op) => script::run(&self.shared, spec, op, &mut cx, argv).into(),
            _ => Value::Nil,
        };
        let replies = calls.iter().map(run).collect();
        drop(cx);
        self.shared.release_orphans();
        Ok(replies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::string;

    #[test]
    fn a_line_of_the_wrong_length_refuses_all() {
        let engine = Engine::new();
        let mut calls = Calls::default();
        calls.push(&string::SET);
        calls.word(b"k");
        calls.word(b"v");
        assert_eq!(engine.atomic(&calls).unwrap().as_slice(), [Value::OK]);
        calls.push(&string::GET);
        let error = engine.atomic(&calls).unwrap_err();
        assert_eq!(error.as_bytes(), b"ERR wrong number of arguments for 'get' command");
        calls.word(b"k");
        let replies = engine.atomic(&calls).unwrap();
        assert_eq!(replies.as_slice(), [Value::OK, Value::bulk("v")]);
    }
}
