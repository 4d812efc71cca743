//! [`FromValue`]: replies as the types their callers want.
//!
//! RESP2 and RESP3 spell the same reply differently (a flat array for a map, a string for a
//! double); both are understood, so a caller never knows which one was spoken. An error reply is
//! always an error here, never a value, unless the caller asks for the raw [`Value`] or for a
//! [`Result`] inside.

use std::collections::BTreeMap;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::resp::Value;
use crate::types::number::parse_i64;

/// A type that a reply can be read as.
///
/// ```
/// use stockroom::{backend::FromValue, resp::Value};
///
/// let flat = Value::bulks(["a", "1", "b", "2"]);
/// let pairs = Vec::<(String, i64)>::from_value(flat)?;
/// assert_eq!(pairs, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
/// # Ok::<(), stockroom::Error>(())
/// ```
pub trait FromValue: Sized + Send {
    /// Reads a reply. Fails when it is an error reply or has another form.
    fn from_value(value: Value) -> Result<Self>;

    /// Reads the elements of an array. Pairs also understand a flat array.
    fn from_items(items: Vec<Value>) -> Result<Vec<Self>> {
        items.into_iter().map(Self::from_value).collect()
    }

    /// Reads the entries of a map, which only pairs can be.
    fn from_pairs(pairs: Vec<(Value, Value)>) -> Result<Vec<Self>> {
        Err(mismatch("an array", &Value::Map(pairs)))
    }
}

/// The error for a reply of another form; an error reply becomes what the server said.
fn mismatch(expected: &str, got: &Value) -> Error {
    match got {
        Value::Error(wire) => Error::refused(wire),
        other => Error::unexpected(expected, other),
    }
}

impl FromValue for Value {
    /// As it is, an error reply too.
    fn from_value(value: Value) -> Result<Self> {
        Ok(value)
    }
}

impl<T: FromValue> FromValue for Result<T> {
    /// An error reply becomes the inner error, so that one failed command of a batch does not hide
    /// the replies to the others.
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Error(wire) => Ok(Err(Error::refused(&wire))),
            other => T::from_value(other).map(Ok),
        }
    }
}

impl FromValue for () {
    /// Anything but an error.
    fn from_value(value: Value) -> Result<Self> {
        if value.is_error() { Err(mismatch("no error", &value)) } else { Ok(()) }
    }
}

impl FromValue for bool {
    /// 1 or 0; and whether a `SET … NX` was done: OK or nil.
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Int(1) | Value::Bool(true) => Ok(true),
            Value::Int(0) | Value::Bool(false) | Value::Nil => Ok(false),
            Value::Simple(ref text) if text == "OK" => Ok(true),
            other => Err(mismatch("yes or no", &other)),
        }
    }
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self> {
        let number = match &value {
            Value::Int(n) => Some(*n),
            Value::Bulk(text) => parse_i64(text),
            Value::Simple(text) => parse_i64(text.as_bytes()),
            _ => None,
        };
        number.ok_or_else(|| mismatch("an integer", &value))
    }
}

impl FromValue for u64 {
    fn from_value(value: Value) -> Result<Self> {
        let number = match &value {
            Value::Int(n) => Self::try_from(*n).ok(),
            Value::Bulk(text) => std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()),
            _ => None,
        };
        number.ok_or_else(|| mismatch("an integer that is not negative", &value))
    }
}

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self> {
        let number = match &value {
            Value::Double(x) => Some(*x),
            Value::Int(n) => Some(*n as Self),
            Value::Bulk(text) => std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()),
            _ => None,
        };
        number.ok_or_else(|| mismatch("a number", &value))
    }
}

impl FromValue for Bytes {
    #[inline]
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Bulk(bytes) | Value::Verbatim(_, bytes) | Value::BigNumber(bytes) => Ok(bytes),
            Value::Simple(text) => Ok(text.as_ref().into()),
            other => Err(mismatch("a string", &other)),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Result<Self> {
        Bytes::from_value(value).map(Bytes::into_vec)
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self> {
        let bytes = Vec::<u8>::from_value(value)?;
        Self::from_utf8(bytes)
            .map_err(|e| Error::unexpected("text in UTF-8", &Bytes::from(e.into_bytes())))
    }
}

impl<T: FromValue> FromValue for Option<T> {
    #[inline]
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Nil | Value::NilArray => Ok(None),
            other => T::from_value(other).map(Some),
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Array(items) | Value::Set(items) | Value::Push(items) => T::from_items(items),
            Value::Map(pairs) => T::from_pairs(pairs),
            other => Err(mismatch("an array", &other)),
        }
    }
}

/// Takes an array of `N` apart.
fn exactly<const N: usize>(value: Value, expected: &str) -> Result<[Value; N]> {
    match value {
        Value::Array(items) => items.try_into().map_err(|i| mismatch(expected, &Value::Array(i))),
        other => Err(mismatch(expected, &other)),
    }
}

impl<A: FromValue, B: FromValue> FromValue for (A, B) {
    fn from_value(value: Value) -> Result<Self> {
        let [a, b] = exactly(value, "an array of two")?;
        Ok((A::from_value(a)?, B::from_value(b)?))
    }

    /// An array of arrays of two, or a flat one with a pair after the other. When the first
    /// element is an array, so are all pairs: a pair whose own first half is an array is only
    /// understood nested.
    fn from_items(items: Vec<Value>) -> Result<Vec<Self>> {
        if matches!(items.first(), Some(Value::Array(_))) {
            return items.into_iter().map(Self::from_value).collect();
        }
        if !items.len().is_multiple_of(2) {
            return Err(mismatch("pairs", &Value::Array(items)));
        }
        let mut pairs = Vec::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let (Some(a), Some(b)) = (items.next(), items.next()) {
            pairs.push((A::from_value(a)?, B::from_value(b)?));
        }
        Ok(pairs)
    }

    fn from_pairs(pairs: Vec<(Value, Value)>) -> Result<Vec<Self>> {
        pairs.into_iter().map(|(a, b)| Ok((A::from_value(a)?, B::from_value(b)?))).collect()
    }
}

impl<A: FromValue, B: FromValue, C: FromValue> FromValue for (A, B, C) {
    fn from_value(value: Value) -> Result<Self> {
        let [a, b, c] = exactly(value, "an array of three")?;
        Ok((A::from_value(a)?, B::from_value(b)?, C::from_value(c)?))
    }
}

impl<K: FromValue + Ord, V: FromValue> FromValue for BTreeMap<K, V> {
    fn from_value(value: Value) -> Result<Self> {
        Ok(Vec::<(K, V)>::from_value(value)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, WireError};

    #[test]
    fn both_protocols_spell_the_same_pairs() {
        let resp2 = Value::bulks(["a", "1.5", "b", "inf"]);
        let bulk = |t| Value::bulk(t);
        let resp3 = Value::Map(vec![
            (bulk("a"), Value::Double(1.5)),
            (bulk("b"), Value::Double(f64::INFINITY)),
        ]);
        let nested = Value::Array(vec![
            Value::Array(vec![bulk("a"), Value::Double(1.5)]),
            Value::Array(vec![bulk("b"), Value::Double(f64::INFINITY)]),
        ]);
        let expected = vec![(Bytes::from("a"), 1.5), (Bytes::from("b"), f64::INFINITY)];
        for spelled in [resp2, resp3, nested] {
            assert_eq!(Vec::<(Bytes, f64)>::from_value(spelled.clone()).unwrap(), expected);
            let map = BTreeMap::<Bytes, f64>::from_value(spelled).unwrap();
            assert_eq!(map.into_iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn error_reply_is_a_refusal_whatever_was_wanted() {
        let wrong = || Value::Error(WireError::WRONGTYPE);
        let kinds = [
            <()>::from_value(wrong()).unwrap_err(),
            bool::from_value(wrong()).unwrap_err(),
            i64::from_value(wrong()).unwrap_err(),
            Option::<Bytes>::from_value(wrong()).unwrap_err(),
            Vec::<(String, u64)>::from_value(wrong()).unwrap_err(),
            <Result<i64>>::from_value(wrong()).unwrap().unwrap_err(),
        ];
        for error in kinds {
            assert_eq!(error.kind(), ErrorKind::Refused);
            assert_eq!(error.code(), Some("WRONGTYPE"));
        }
        assert_eq!(Value::from_value(wrong()).unwrap(), wrong());
    }

    #[test]
    fn another_form_is_named_in_the_error() {
        let e = i64::from_value(Value::bulk("1x")).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::UnexpectedReply);
        assert_eq!(e.to_string(), r#"expected an integer, got Bulk("1x")"#);
        assert!(u64::from_value(Value::Int(-1)).is_err());
        assert!(String::from_value(Value::bulk([0xff])).is_err());
        assert!(Vec::<(Bytes, Bytes)>::from_value(Value::bulks(["a"])).is_err());
        assert!(<(i64, i64)>::from_value(Value::Array(vec![Value::Int(1)])).is_err());
        assert!(bool::from_value(Value::Int(2)).is_err());
    }

    #[test]
    fn nil_is_none_and_no_for_a_conditional_set() {
        assert_eq!(Option::<i64>::from_value(Value::Nil).unwrap(), None);
        assert_eq!(Option::<Vec<i64>>::from_value(Value::NilArray).unwrap(), None);
        assert!(!bool::from_value(Value::Nil).unwrap());
        assert!(bool::from_value(Value::OK).unwrap());
    }
}
