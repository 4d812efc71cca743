//! What a line of a trace says: a shop event or a hit of a web server.

use crate::{Bytes, Timestamp};

/// One event of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A row of an events CSV.
    Shop(ShopEvent),
    /// A line of an access log.
    Hit(Hit),
}

impl Event {
    /// When it happened.
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Shop(e) => e.time,
            Self::Hit(h) => h.time,
        }
    }

    /// Who did it: the visitor's id, or the session derived from an access log's line.
    pub fn visitor(&self) -> &Bytes {
        match self {
            Self::Shop(e) => &e.visitor,
            Self::Hit(h) => &h.session,
        }
    }

    pub(super) fn set_time(&mut self, time: Timestamp) {
        match self {
            Self::Shop(e) => e.time = time,
            Self::Hit(h) => h.time = time,
        }
    }
}

/// A visitor looked at an item, put it into the cart or bought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopEvent {
    /// When, to the millisecond.
    pub time: Timestamp,
    /// The visitor's id; never empty.
    pub visitor: Bytes,
    /// The item's id; never empty.
    pub item: Bytes,
    /// What was done.
    pub action: Action,
}

/// What a visitor did with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Looked at it.
    View,
    /// Put one of it into the cart.
    AddToCart,
    /// Bought it.
    Purchase {
        /// The transaction's id; empty when the trace gives none.
        transaction: Bytes,
    },
}

/// One request to a web server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// When, to the second.
    pub time: Timestamp,
    /// The session: see [`session_id`].
    pub session: Bytes,
    /// The request's method; empty when the request line was none.
    pub method: Bytes,
    /// The request's URL as sent, path only or absolute; empty when the request line was none.
    pub url: Bytes,
    /// The status code of three digits; 0 when the server logged none.
    pub status: u16,
    /// The size of the answer; 0 when the server logged none.
    pub bytes: u64,
}

/// The session id derived from a client's address and user agent: 16 hexadecimal digits.
///
/// It is the 64-bit FNV-1a hash of the address, a zero byte and the user agent, as the log writes
/// them (`-` for no user agent), so it is the same in every process and every version. Two of 10
/// million sessions share an id with a probability of 3 in a million.
///
/// ```
/// # use stockroom::replay::trace::session_id;
/// assert_eq!(&*session_id(b"", b""), b"af63bd4c8601b7df");
/// assert_ne!(session_id(b"10.0.0.1", b"curl"), session_id(b"10.0.0.2", b"curl"));
/// ```
pub fn session_id(address: &[u8], agent: &[u8]) -> Bytes {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = address.iter().chain(&[0]).chain(agent);
    let hash = bytes.fold(OFFSET, |h, &b| (h ^ u64::from(b)).wrapping_mul(PRIME));
    let hex: [u8; 16] = std::array::from_fn(|i| DIGITS[(hash >> (60 - 4 * i)) as usize & 15]);
    Bytes::from(&hex[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_depend_on_where_the_address_ends() {
        assert_ne!(session_id(b"ab", b"c"), session_id(b"a", b"bc"));
        assert_eq!(session_id(b"83.149.9.216", b"-").len(), 16);
    }
}
