//! [`Batch`]: several commands sent together, and their replies as one typed value.
//!
//! A command is a batch of one; tuples, vectors, arrays and options of batches are batches, also
//! inside each other. What goes in as a tuple comes out as a tuple.

use crate::engine::{Calls, Replies};
use crate::error::{Error, ErrorKind, Result};

use super::cmd::Cmd;
use super::from_value::FromValue;

/// Replies that are still to be read, in the order of their commands.
pub type Pending = <Replies as IntoIterator>::IntoIter;

/// Commands that go out together.
///
/// When the server answers one of several with an error, that error, the first, is the result of
/// the whole: [`ErrorKind::Partly`], because the other commands of a pipeline or of a transaction
/// stand, as in Redis. A single command is [`ErrorKind::Refused`]. A caller who wants the other
/// replies too asks for `Result<T>` as the reply type.
///
/// ```
/// use stockroom::Result;
/// use stockroom::backend::{Backend, Memory, Wait, cmd};
///
/// let memory = Memory::new();
/// // Tuples, vectors and options, also inside each other; the output has the same form.
/// let fields = ["a", "b"].map(|field| cmd::hset(b"hash", field.as_bytes(), 1));
/// let batch = (fields.to_vec(), Some(cmd::set(b"text", b"x")), None::<()>);
/// assert_eq!(memory.atomic(batch).wait()?, (vec![true, true], Some(()), None));
/// // One that fails, beside another whose reply is wanted all the same.
/// let wrong = cmd::incrby(b"text", 1).reply_as::<Result<i64>>();
/// let (number, text) = memory.pipeline((wrong, cmd::get::<String>(b"text"))).wait()?;
/// assert!(number.is_err() && text.as_deref() == Some("x"));
/// # Ok::<(), stockroom::Error>(())
/// ```
pub trait Batch: Send + Sync {
    /// What the replies become.
    type Output: Send;

    /// Adds the command lines.
    fn calls<'b>(&'b self, calls: &mut Calls<'b>);

    /// Reads as many replies as there were command lines.
    fn output(&self, replies: &mut Pending) -> Result<Self::Output>;
}

impl<T: FromValue> Batch for Cmd<'_, T> {
    type Output = T;

    #[inline]
    fn calls<'b>(&'b self, calls: &mut Calls<'b>) {
        calls.call(self.spec(), self.arguments().iter().map(|arg| &**arg));
    }

    #[inline]
    fn output(&self, replies: &mut Pending) -> Result<T> {
        match replies.next() {
            Some(reply) => self.read(reply),
            None => Err(Error::new(ErrorKind::UnexpectedReply, "fewer replies than commands")),
        }
    }
}

impl<B: Batch> Batch for Option<B> {
    type Output = Option<B::Output>;

    fn calls<'b>(&'b self, calls: &mut Calls<'b>) {
        if let Some(batch) = self {
            batch.calls(calls);
        }
    }

    fn output(&self, replies: &mut Pending) -> Result<Self::Output> {
        self.as_ref().map(|batch| batch.output(replies)).transpose()
    }
}

impl<B: Batch> Batch for Vec<B> {
    type Output = Vec<B::Output>;

    fn calls<'b>(&'b self, calls: &mut Calls<'b>) {
        for batch in self {
            batch.calls(calls);
        }
    }

    fn output(&self, replies: &mut Pending) -> Result<Self::Output> {
        let mut outputs = Vec::with_capacity(self.len());
        for batch in self {
            outputs.push(batch.output(replies)?);
        }
        Ok(outputs)
    }
}

impl<B: Batch, const N: usize> Batch for [B; N] {
    type Output = [B::Output; N];

    fn calls<'b>(&'b self, calls: &mut Calls<'b>) {
        for batch in self {
            batch.calls(calls);
        }
    }

    fn output(&self, replies: &mut Pending) -> Result<Self::Output> {
        let read: Result<Vec<B::Output>> = self.iter().map(|b| b.output(replies)).collect();
        read?
            .try_into()
            .map_err(|_| Error::new(ErrorKind::UnexpectedReply, "fewer replies than commands"))
    }
}

impl Batch for () {
    type Output = ();
    fn calls<'b>(&'b self, _: &mut Calls<'b>) {}
    fn output(&self, _: &mut Pending) -> Result<()> {
        Ok(())
    }
}

/// Tuples of one length.
macro_rules! tuple {
    ($($batch:ident $at:tt),+) => {
        impl<$($batch: Batch),+> Batch for ($($batch,)+) {
            type Output = ($($batch::Output,)+);

            #[inline]
            fn calls<'b>(&'b self, calls: &mut Calls<'b>) {
                $(self.$at.calls(calls);)+
            }

            #[inline]
            fn output(&self, replies: &mut Pending) -> Result<Self::Output> {
                Ok(($(self.$at.output(replies)?,)+))
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

/// The replies of `batch` as its output. Where there is more than one, an error among them does not
/// speak for the others.
pub(super) fn read<B: Batch>(batch: &B, replies: Replies) -> Result<B::Output> {
    let alone = replies.len() <= 1;
    batch.output(&mut replies.into_iter()).map_err(|error| match error.kind() {
        ErrorKind::Refused if !alone => error.with_kind(ErrorKind::Partly),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::backend::cmd::{get, set};
    use crate::bytes::Bytes;
    use crate::error::WireError;
    use crate::resp::Value;

    #[test]
    fn nested_batches_read_their_own_replies() {
        let batch = (
            get::<Bytes>(b"a"),
            Some([set(b"b", b"1"), set(b"c", b"2")]),
            None::<()>,
            vec![get::<i64>(b"d")],
        );
        let mut calls = Calls::default();
        batch.calls(&mut calls);
        assert_eq!(calls.len(), 4);
        let replies = smallvec![Value::bulk("x"), Value::OK, Value::OK, Value::Nil];
        let (a, bc, none, d) = read(&batch, replies).unwrap();
        assert_eq!(a.as_deref(), Some(&b"x"[..]));
        assert_eq!(bc, Some([(), ()]));
        assert_eq!((none, d), (None, vec![None]));
    }

    #[test]
    fn first_error_reply_is_the_result() {
        let batch = (set(b"a", b"1"), get::<Bytes>(b"b"), get::<Bytes>(b"c"));
        let replies = smallvec![
            Value::OK,
            Value::Error(WireError::WRONGTYPE),
            Value::Error(WireError::SYNTAX),
        ];
        let error = read(&batch, replies).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("WRONGTYPE")));
        assert!(read(&batch, smallvec![Value::OK]).is_err());
        let alone = smallvec![Value::Error(WireError::WRONGTYPE)];
        assert_eq!(read(&get::<Bytes>(b"a"), alone).unwrap_err().kind(), ErrorKind::Refused);
    }
}
