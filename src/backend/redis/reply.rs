//! The client library's replies as [`Value`]s.

use redis::Value as Reply;

use crate::error::{Error, ErrorKind, Result, WireError};
use crate::resp::Value;

/// A reply as our own type. An error keeps its code and text.
pub(super) fn convert(reply: Reply) -> Value {
    let all = |items: Vec<Reply>| items.into_iter().map(convert).collect();
    let pairs = |pairs: Vec<(Reply, Reply)>| {
        pairs.into_iter().map(|(k, v)| (convert(k), convert(v))).collect()
    };
    match reply {
        Reply::Nil => Value::Nil,
        Reply::Int(n) => Value::Int(n),
        Reply::BulkString(bytes) => Value::Bulk(bytes.into()),
        Reply::Array(items) => Value::Array(all(items)),
        Reply::SimpleString(text) => Value::Simple(text.into()),
        Reply::Okay => Value::OK,
        Reply::Map(entries) => Value::Map(pairs(entries)),
        Reply::Attribute { data, .. } => convert(*data),
        Reply::Set(items) => Value::Set(all(items)),
        Reply::Double(x) => Value::Double(x),
        Reply::Boolean(yes) => Value::Bool(yes),
        Reply::VerbatimString { text, .. } => Value::Bulk(text.into()),
        Reply::BigNumber(digits) => Value::BigNumber(digits.into()),
        Reply::Push { data, .. } => Value::Push(all(data)),
        Reply::ServerError(error) => Value::Error(match error.details() {
            Some(details) => WireError::new(format!("{} {details}", error.code())),
            None => WireError::new(error.code()),
        }),
        other => Value::Error(WireError::new(format!("ERR unknown kind of reply: {other:?}"))),
    }
}

/// The replies inside a transaction, from those to `MULTI`, `lines` queued commands and `EXEC`.
/// `None`: a watched key has changed.
pub(super) fn of_transaction(
    replies: impl IntoIterator<Item = Value>,
    lines: usize,
) -> Result<Option<Vec<Value>>> {
    let mut replies = replies.into_iter();
    // What the server did not queue explains best why EXEC refuses.
    let (mut first, mut done) = (None, false);
    for reply in replies.by_ref().take(lines + 1) {
        match reply {
            Value::Error(error) => first = first.or(Some(error)),
            // Done at once: MULTI was refused, so that nothing was queued.
            reply => done |= first.is_some() && !is_queued(&reply),
        }
    }
    match (replies.next(), first) {
        (Some(Value::Array(items)), None) => Ok(Some(items)),
        (Some(Value::Nil | Value::NilArray), None) => Ok(None),
        (Some(Value::Error(_)), Some(error)) if done => {
            Err(Error::refused(&error).with_kind(ErrorKind::Partly))
        }
        (Some(Value::Error(_)), Some(error)) | (Some(Value::Error(error)), None) => {
            Err(Error::refused(&error))
        }
        (other, _) => Err(Error::unexpected("the replies of a transaction", &other)),
    }
}

fn is_queued(reply: &Value) -> bool {
    matches!(reply, Value::Simple(text) if text == "QUEUED")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Bytes;
    use crate::error::ErrorKind;

    #[test]
    fn transaction_says_why_it_was_refused() {
        let queued = || Value::simple("QUEUED");
        let arity = WireError::new("ERR wrong number of arguments for 'get' command");
        let abort = WireError::new("EXECABORT Transaction discarded because of previous errors.");
        let replies = [Value::OK, queued(), Value::Error(arity), Value::Error(abort)];
        let error = of_transaction(replies, 2).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("ERR")));
        let broken = [Value::OK, queued(), Value::Nil];
        assert_eq!(of_transaction(broken, 1).unwrap(), None);
        let done = [Value::OK, queued(), Value::Array(vec![Value::Int(1)])];
        assert_eq!(of_transaction(done, 1).unwrap(), Some(vec![Value::Int(1)]));
        assert!(of_transaction([Value::OK], 0).is_err());
    }

    #[test]
    fn commands_that_ran_because_multi_was_refused_have_happened() {
        let refused = || Value::Error(WireError::new("NOPERM no permissions to run 'multi'"));
        let no_multi = || Value::Error(WireError::new("ERR EXEC without MULTI"));
        let error = of_transaction([refused(), Value::OK, no_multi()], 1).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Partly, Some("NOPERM")));
        let error = of_transaction([refused(), refused(), no_multi()], 1).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("NOPERM")));
    }

    #[test]
    fn binary_strings_survive() {
        let raw = vec![0, 255, b'\r', b'\n'];
        assert_eq!(convert(Reply::BulkString(raw.clone())), Value::Bulk(Bytes::from(raw)));
    }
}
