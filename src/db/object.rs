//! [`Object`]: what a key holds, and [`Kind`], how a handler asks for one type of it.

use crate::types::{Hash, List, Set, Str, Zset};

/// A value of the keyspace.
#[derive(Clone, Debug)]
pub enum Object {
    /// A string.
    Str(Str),
    /// A list.
    List(List),
    /// A hash.
    Hash(Hash),
    /// A set.
    Set(Set),
    /// A sorted set.
    Zset(Zset),
}

const _: () = assert!(size_of::<Object>() <= 24);

impl Object {
    /// The type's name, as `TYPE` answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Str(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
        }
    }

    /// Bytes on the heap, estimated.
    pub(super) fn heap_size(&self) -> usize {
        match self {
            Self::Str(v) => v.heap_size(),
            Self::List(v) => v.heap_size(),
            Self::Hash(v) => v.heap_size(),
            Self::Set(v) => v.heap_size(),
            Self::Zset(v) => v.heap_size(),
        }
    }

    /// The form in use, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match self {
            Self::Str(v) => v.encoding(),
            Self::List(v) => v.encoding(),
            Self::Hash(v) => v.encoding(),
            Self::Set(v) => v.encoding(),
            Self::Zset(v) => v.encoding(),
        }
    }
}

/// One type of [`Object`].
pub trait Kind: Sized + Default {
    /// The value as this type, unless it is another.
    fn of(object: &Object) -> Option<&Self>;
    /// The value as this type, to change it.
    fn of_mut(object: &mut Object) -> Option<&mut Self>;
    /// The value as an object.
    fn wrap(self) -> Object;
    /// Whether it holds nothing, so that its key must go. A string may be empty and stay.
    fn is_hollow(&self) -> bool;
}

/// One line a type, so that no type can forget a method.
macro_rules! kind {
    ($type:ident, $hollow:expr) => {
        impl Kind for $type {
            #[inline]
            fn of(object: &Object) -> Option<&Self> {
                if let Object::$type(v) = object { Some(v) } else { None }
            }
            #[inline]
            fn of_mut(object: &mut Object) -> Option<&mut Self> {
                if let Object::$type(v) = object { Some(v) } else { None }
            }
            fn wrap(self) -> Object {
                Object::$type(self)
            }
            #[inline]
            fn is_hollow(&self) -> bool {
                let hollow: fn(&$type) -> bool = $hollow;
                hollow(self)
            }
        }
    };
}

kind!(Str, |_| false);
kind!(List, List::is_empty);
kind!(Hash, Hash::is_empty);
kind!(Set, Set::is_empty);
kind!(Zset, Zset::is_empty);
