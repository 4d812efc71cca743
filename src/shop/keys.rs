//! [`Keys`]: every key name of the shop, made in one place.
//!
//! A name is made of parts with `:` between them, the published ones where they do not collide.
//! Ids may hold any bytes; in a name `:`, `{`, `}` and `%` are written `%3A`, `%7B`, `%7D` and
//! `%25`, and an empty id as `%`, so that a name can be taken apart again in one way only. An
//! ordinary id is written as it is.
//!
//! Invariant: two names are equal only if namespace, feature and ids are.
//!
//! | feature | names | slot |
//! |---|---|---|
//! | sessions | `login:` `recent:` `viewed:` `viewed:TOKEN` | `{NS/sessions}` |
//! | cart | `cart:TOKEN` | the same |
//! | purchases | `order:ID` `orders:` `bought:` | the same |
//! | | `lookers:ITEM` `buyers:ITEM` `also:ITEM` | the same |
//! | page cache | `cache:HASH` | `{HASH}` |
//! | recent log | `log:NAME:SEVERITY` (published as `recent:NAME:SEVERITY`) | `{NAME:SEVERITY}` |
//! | common log | `common:NAME:SEVERITY`, and that with `:start` `:last` `:pstart` | the same |
//! | | `logged:NAME:SEVERITY:ID` | the same |
//! | counters | `known:` `count:PRECISION:NAME` `added:NAME:ID` | `{NS/counters}` |
//! | locks | `lock:NAME` `lock:NAME:fence` | `{NAME}` |
//! | fair locks | `fairlock:NAME` with `:holders` `:queue` `:waits` `:grants` `:meta` | `{NAME}` |
//! | semaphores | `semaphore:NAME` with the same | `{NAME}` |
//! | flash sales | `stock:ITEM`, also with `:orders` `:reserved` `:buyers` `:sold` | `{ITEM}` |
//! | | under a lock `:lock` `:lock:fence`, by ticket `:holders:line` etc. | `{ITEM}` |
//! | delayed queues | `delayed:NAME` with `:due` `:queued` `:flight` `:claims` | `{NAME}` |
//! | | `:tries` `:payloads` `:again` `:dead` `:meta` `:claim:TOKEN` | `{NAME}` |
//! | published semaphores | `sem:NAME` `sem:NAME:owner` `sem:NAME:counter` | `{NAME}` |
//! | row cache | `delay:` `schedule:` `inv:ROW` `loading:ROW` `failing:` | `{NS/rows}` |
//! | statistics | `stats:CONTEXT:KIND:HOUR` `counted:CONTEXT:KIND:ID` | `{CONTEXT:KIND}` |
//! | | `slowest:AccessTime:HOUR` | `{HOUR}` |
//! | contacts | `contacts:USER` (published as `recent:USER`) | `{USER}` |
//! | address book | `members:GROUP` | `{GROUP}` |
//!
//! The last column says which hash tag decides the slot under [`Keys::clustered`]: there the ids
//! stand in braces, as in `shop/lock:{NAME}:fence`; or, where an index ties all of a feature
//! together, namespace and feature do, in front of the published name:
//! `{shop/counters}count:60:hits`. Ids cannot break a tag, since their braces are escaped.

use std::fmt;
use std::ops::Deref;

use crate::backend::Arg;
use crate::bytes::{Buffer, Bytes};

/// Makes the names of all keys, in a namespace or in none. Cheap to clone.
///
/// # Redis Cluster
///
/// A cluster keeps a key in the slot of its hash tag, the text between its first `{` and the `}`
/// after it, and takes only scripts, transactions and commands whose keys are in one slot. So what
/// is changed together needs the same tag. Names have one when it is asked for: all the same with
/// [`tagged`](Self::tagged), and as many as possible with [`clustered`](Self::clustered):
///
/// | what | under `clustered("shop")` in the slot of |
/// |---|---|
/// | each lock, fair lock, semaphore, flash sale, delayed queue | `{NAME}` |
/// | the recent and the common log of a name and severity | `{NAME:SEVERITY}` |
/// | statistics of a context and kind; the slowest contexts | `{CONTEXT:KIND}`; `{HOUR}` |
/// | each user's contacts, each group of the address book, each page | `{USER}` and so on |
/// | all sessions with carts, views, popularity and purchases | `{shop/sessions}` |
/// | all counters | `{shop/counters}` |
/// | all rows of the row cache | `{shop/rows}` |
///
/// Ids may hold braces: they do not break a tag.
///
/// ```
/// use stockroom::shop::Keys;
///
/// assert_eq!(&*Keys::new().cart(b"t1"), b"cart:t1");
/// assert_eq!(&*Keys::in_namespace("shop").cart(b"a:b"), b"shop/cart:a%3Ab");
/// assert_eq!(&*Keys::tagged("shop").lock(b"door"), b"{shop}/lock:door");
/// assert_eq!(&*Keys::clustered("shop").lock(b"door"), b"shop/lock:{door}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Keys {
    prefix: Bytes,
    /// Whether each thing has a hash tag of its own.
    clustered: bool,
}

/// What shares a slot as it is changed together.
const SESSIONS: &[u8] = b"sessions";
const COUNTERS: &[u8] = b"counters";
const ROWS: &[u8] = b"rows";

/// The name of a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Buffer<62>);

impl Keys {
    /// Names without a namespace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names in a namespace: several shops can share a server.
    pub fn in_namespace(name: impl AsRef<[u8]>) -> Self {
        let mut key = Key(Buffer::new());
        key.namespace(name.as_ref());
        key.raw(b"/");
        Self { prefix: Bytes::copy_from(&key), clustered: false }
    }

    /// Names in a namespace that is a hash tag too: all keys are in one slot of a Redis Cluster.
    /// For a shop that one node can hold.
    pub fn tagged(name: impl AsRef<[u8]>) -> Self {
        let mut key = Key(Buffer::new());
        key.raw(b"{");
        key.namespace(name.as_ref());
        key.raw(b"}/");
        Self { prefix: Bytes::copy_from(&key), clustered: false }
    }

    /// Names in a namespace with hash tags: the keys of each lock, semaphore, sale, queue, log and
    /// so on are in one slot of a Redis Cluster, and those of different ones in different slots
    /// wherever that is possible; see [above](Self#redis-cluster).
    ///
    /// What is written under [`Held::guarded`](super::Held::guarded) must be in the slot of its
    /// lock, and what an [`ExpiryQueue`](super::ExpiryQueue) deletes in that of the queue: name it
    /// with the same tag, `{NAME}` or `{expire_queue}`.
    pub fn clustered(name: impl AsRef<[u8]>) -> Self {
        Self { clustered: true, ..Self::in_namespace(name) }
    }

    /// How a name begins whose slot is that of the whole group.
    fn shared(&self, group: &[u8], feature: &[u8]) -> Key {
        let mut key = Key(Buffer::new());
        if self.clustered {
            key.raw(b"{");
            key.raw(&self.prefix);
            key.raw(group);
            key.raw(b"}");
        } else {
            key.raw(&self.prefix);
        }
        key.raw(feature);
        key
    }

    /// How a name begins whose slot is that of these ids.
    fn own<const N: usize>(&self, feature: &[u8], ids: [&[u8]; N]) -> Key {
        let mut key = Key(Buffer::new());
        key.raw(&self.prefix);
        key.raw(feature);
        if self.clustered {
            key.raw(b"{");
        }
        for (n, id) in ids.into_iter().enumerate() {
            if n > 0 {
                key.raw(b":");
            }
            key.id(id);
        }
        if self.clustered {
            key.raw(b"}");
        }
        key
    }

    /// Hash token → user.
    pub fn login(&self) -> Key {
        self.shared(SESSIONS, b"login:")
    }

    /// Sorted set token → last seen.
    pub fn recent(&self) -> Key {
        self.shared(SESSIONS, b"recent:")
    }

    /// Sorted set item → number of views, negative.
    pub fn viewed(&self) -> Key {
        self.shared(SESSIONS, b"viewed:")
    }

    /// Sorted set item → time of a session's view.
    pub fn viewed_by(&self, token: &[u8]) -> Key {
        self.shared(SESSIONS, b"viewed:").of(token)
    }

    /// Hash item → count.
    pub fn cart(&self, token: &[u8]) -> Key {
        self.shared(SESSIONS, b"cart:").of(token)
    }

    /// A cached page.
    pub fn page(&self, hash: &[u8]) -> Key {
        self.own(b"cache:", [hash])
    }

    /// Hash item → count of an order.
    pub fn order(&self, id: &[u8]) -> Key {
        self.shared(SESSIONS, b"order:").of(id)
    }

    /// Number of orders.
    pub fn orders(&self) -> Key {
        self.shared(SESSIONS, b"orders:")
    }

    /// Sorted set item → units bought.
    pub fn bought(&self) -> Key {
        self.shared(SESSIONS, b"bought:")
    }

    /// Set of the tokens that looked at an item.
    pub fn lookers(&self, item: &[u8]) -> Key {
        self.shared(SESSIONS, b"lookers:").of(item)
    }

    /// Set of the tokens that bought an item.
    pub fn buyers(&self, item: &[u8]) -> Key {
        self.shared(SESSIONS, b"buyers:").of(item)
    }

    /// Sorted set other item → orders that hold both.
    pub fn also(&self, item: &[u8]) -> Key {
        self.shared(SESSIONS, b"also:").of(item)
    }

    /// List of the last messages.
    pub fn log(&self, name: &[u8], severity: &str) -> Key {
        self.own(b"log:", [name, severity.as_bytes()])
    }

    /// Sorted set message → count in the current hour.
    pub fn common(&self, name: &[u8], severity: &str) -> Key {
        self.own(b"common:", [name, severity.as_bytes()])
    }

    /// Start of the current hour.
    pub fn common_start(&self, name: &[u8], severity: &str) -> Key {
        self.common(name, severity).and(b":start")
    }

    /// Sorted set message → count in the previous hour.
    pub fn common_last(&self, name: &[u8], severity: &str) -> Key {
        self.common(name, severity).and(b":last")
    }

    /// Start of the previous hour.
    pub fn common_previous_start(&self, name: &[u8], severity: &str) -> Key {
        self.common(name, severity).and(b":pstart")
    }

    /// That the message with this id has been counted in the common log.
    pub fn logged(&self, name: &[u8], severity: &str, message: &[u8]) -> Key {
        self.own(b"logged:", [name, severity.as_bytes()]).and(b":").of(message)
    }

    /// Sorted set of the counters that exist.
    pub fn known(&self) -> Key {
        self.shared(COUNTERS, b"known:")
    }

    /// The id of who holds a lock.
    pub fn lock(&self, name: &[u8]) -> Key {
        self.own(b"lock:", [name])
    }

    /// The number of the last grant of a lock.
    pub fn lock_fence(&self, name: &[u8]) -> Key {
        self.lock(name).and(b":fence")
    }

    /// The keys of a fair lock; see [`semaphore`](Self::semaphore).
    pub fn fair_lock(&self, name: &[u8]) -> [Key; 5] {
        self.line(b"fairlock:", name)
    }

    /// The keys of a semaphore: sorted sets of holders, of those in the queue and of how long each
    /// of these keeps its place, and hashes of grants and of counters.
    pub fn semaphore(&self, name: &[u8]) -> [Key; 5] {
        self.line(b"semaphore:", name)
    }

    fn line(&self, feature: &[u8], name: &[u8]) -> [Key; 5] {
        let parts: [&[u8]; 5] = [b":holders", b":queue", b":waits", b":grants", b":meta"];
        parts.map(|part| self.own(feature, [name]).and(part))
    }

    /// The keys of a semaphore as published: the times of holders, their tickets, the counter.
    pub fn published_semaphore(&self, name: &[u8]) -> [Key; 3] {
        let parts: [&[u8]; 3] = [b"", b":owner", b":counter"];
        parts.map(|part| self.own(b"sem:", [name]).and(part))
    }

    /// The keys of a flash sale: free units, orders, deadlines of reservations, units of each
    /// buyer, units sold; see [`FlashSale`](super::FlashSale).
    pub fn sale(&self, item: &[u8]) -> [Key; 5] {
        let parts: [&[u8]; 5] = [b"", b":orders", b":reserved", b":buyers", b":sold"];
        parts.map(|part| self.own(b"stock:", [item]).and(part))
    }

    /// The keys of the lock of a flash sale.
    pub fn sale_lock(&self, item: &[u8]) -> [Key; 2] {
        let parts: [&[u8]; 2] = [b":lock", b":lock:fence"];
        parts.map(|part| self.own(b"stock:", [item]).and(part))
    }

    /// The keys of the fair lock of a flash sale.
    pub fn sale_line(&self, item: &[u8]) -> [Key; 5] {
        self.line(b"stock:", item).map(|mut key| {
            key.raw(b":line");
            key
        })
    }

    /// The keys of a delayed queue; see [`DelayedQueue`](super::DelayedQueue).
    pub fn delayed(&self, name: &[u8]) -> [Key; 9] {
        let parts: [&[u8]; 9] = [
            b":due",
            b":queued",
            b":flight",
            b":claims",
            b":tries",
            b":payloads",
            b":again",
            b":dead",
            b":meta",
        ];
        parts.map(|part| self.own(b"delayed:", [name]).and(part))
    }

    /// What became of the tasks of one claim on a delayed queue.
    pub fn delayed_claim(&self, name: &[u8], token: &[u8]) -> Key {
        self.own(b"delayed:", [name]).and(b":claim:").of(token)
    }

    /// Hash slice start → count.
    pub fn count(&self, precision: u32, name: &[u8]) -> Key {
        self.counts(precision).of(name)
    }

    /// That the event with this id has been added to a counter.
    pub fn added(&self, name: &[u8], event: &[u8]) -> Key {
        self.shared(COUNTERS, b"added:").of(name).and(b":").of(event)
    }

    /// Sorted set row → how often it is loaded, in seconds.
    pub fn delays(&self) -> Key {
        self.shared(ROWS, b"delay:")
    }

    /// Sorted set row → when it is loaded next.
    pub fn schedule(&self) -> Key {
        self.shared(ROWS, b"schedule:")
    }

    /// A cached row.
    pub fn row(&self, row: &[u8]) -> Key {
        self.shared(ROWS, b"inv:").of(row)
    }

    /// Who loads a row at the moment.
    pub fn loading(&self, row: &[u8]) -> Key {
        self.shared(ROWS, b"loading:").of(row)
    }

    /// Sorted set row → how often in a row it could not be loaded.
    pub fn failing(&self) -> Key {
        self.shared(ROWS, b"failing:")
    }

    /// Sorted set of the sums of an hour, which is told by its start in seconds.
    pub fn stats(&self, context: &[u8], kind: &[u8], hour: i64) -> Key {
        self.own(b"stats:", [context, kind]).and(b":").of(&Arg::from(hour))
    }

    /// That a value has been counted.
    pub fn counted(&self, context: &[u8], kind: &[u8], id: &[u8]) -> Key {
        self.own(b"counted:", [context, kind]).and(b":").of(id)
    }

    /// Sorted set context → mean access time in an hour, which is told by its start in seconds.
    pub fn slowest(&self, hour: i64) -> Key {
        self.own(b"slowest:AccessTime:", [&*Arg::from(hour)])
    }

    /// List of a user's recent contacts.
    pub fn contacts(&self, user: &[u8]) -> Key {
        self.own(b"contacts:", [user])
    }

    /// Sorted set of the names in a group.
    pub fn members(&self, group: &[u8]) -> Key {
        self.own(b"members:", [group])
    }

    /// How the names of all counters of a precision begin.
    pub(super) fn counts(&self, precision: u32) -> Key {
        self.shared(COUNTERS, b"count:").of(&Arg::from(u64::from(precision))).and(b":")
    }
}

impl Key {
    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn and(mut self, bytes: &[u8]) -> Self {
        self.raw(bytes);
        self
    }

    /// This beginning of a name with an id after it.
    pub(super) fn of(mut self, id: &[u8]) -> Self {
        self.id(id);
        self
    }

    fn id(&mut self, id: &[u8]) {
        if id.is_empty() {
            self.raw(b"%");
        } else if id.iter().any(|&b| is_special(b)) {
            self.escaped(id, is_special);
        } else {
            self.raw(id);
        }
    }

    /// A slash ends the namespace, so it may not hold one.
    fn namespace(&mut self, name: &[u8]) {
        self.escaped(name, |b| is_special(b) || b == b'/');
    }

    fn escaped(&mut self, id: &[u8], special: impl Fn(u8) -> bool) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        for &b in id {
            if special(b) {
                self.raw(&[b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
            } else {
                self.0.push(b);
            }
        }
    }
}

#[inline]
fn is_special(b: u8) -> bool {
    SPECIAL[usize::from(b)]
}

/// The bytes that an id is not written with.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let (mut i, written) = (0, b":{}%");
    while i < written.len() {
        special[written[i] as usize] = true;
        i += 1;
    }
    special
};

impl Deref for Key {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<'a> From<&'a Key> for Arg<'a> {
    #[inline]
    fn from(key: &'a Key) -> Self {
        (&**key).into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_ids_give_the_published_names() {
        let keys = Keys::new();
        let published: [(Key, &str); 13] = [
            (keys.login(), "login:"),
            (keys.recent(), "recent:"),
            (keys.viewed_by(b"token"), "viewed:token"),
            (keys.cart(b"token"), "cart:token"),
            (keys.page(b"0123"), "cache:0123"),
            (keys.common(b"shop", "info"), "common:shop:info"),
            (keys.common_start(b"shop", "info"), "common:shop:info:start"),
            (keys.known(), "known:"),
            (keys.count(300, b"hits"), "count:300:hits"),
            (keys.delays(), "delay:"),
            (keys.schedule(), "schedule:"),
            (keys.row(b"itemX"), "inv:itemX"),
            (keys.members(b"guild"), "members:guild"),
        ];
        for (key, name) in published {
            assert_eq!(&*key, name.as_bytes());
        }
    }

    type What = (usize, usize, Vec<u8>, Vec<u8>);

    /// The name that number `feature` has for these ids, and what it stands for.
    fn name(keys: &[Keys], space: usize, feature: usize, a: &[u8], b: &[u8]) -> (What, Key) {
        let k = &keys[space];
        let text: String = b.iter().map(|b| char::from(*b)).collect();
        let half = b.split_at(b.len() / 2);
        let number = b.iter().fold(0_u32, |n, b| n.wrapping_mul(256) ^ u32::from(*b));
        let (key, ids) = match feature {
            0 => (k.login(), 0),
            1 => (k.recent(), 0),
            2 => (k.viewed(), 0),
            3 => (k.known(), 0),
            4 => (k.orders(), 0),
            5 => (k.bought(), 0),
            6 => (k.viewed_by(a), 1),
            7 => (k.cart(a), 1),
            8 => (k.page(a), 1),
            9 => (k.order(a), 1),
            10 => (k.lookers(a), 1),
            11 => (k.buyers(a), 1),
            12 => (k.also(a), 1),
            13 => (k.log(a, &text), 2),
            14 => (k.common(a, &text), 2),
            15 => (k.common_start(a, &text), 2),
            16 => (k.common_last(a, &text), 2),
            17 => (k.common_previous_start(a, &text), 2),
            18 => (k.lock(a), 1),
            19 => (k.lock_fence(a), 1),
            20 => (k.fair_lock(a)[b.len() % 5].clone(), 4),
            21 => (k.semaphore(a)[b.len() % 5].clone(), 4),
            22 => (k.published_semaphore(a)[b.len() % 3].clone(), 5),
            23 => (k.count(number, a), 3),
            24 => (k.delays(), 0),
            25 => (k.schedule(), 0),
            26 => (k.failing(), 0),
            27 => (k.row(a), 1),
            28 => (k.loading(a), 1),
            29 => (k.contacts(a), 1),
            30 => (k.members(a), 1),
            31 => (k.stats(a, b, 3_600), 2),
            32 => (k.counted(a, half.0, half.1), 2),
            33 => (k.delayed(a)[b.len() % 9].clone(), 7),
            34 => (k.delayed_claim(a, b), 2),
            35 => (k.sale(a)[b.len() % 5].clone(), 4),
            36 => (k.sale_lock(a)[b.len() % 2].clone(), 8),
            37 => (k.sale_line(a)[b.len() % 5].clone(), 4),
            38 => (k.logged(a, &text[..half.0.len()], half.1), 2),
            39 => (k.added(a, b), 2),
            _ => (k.slowest(i64::from(number)), 6),
        };
        let second = match ids {
            2 => b.to_vec(),
            3 | 6 => number.to_be_bytes().to_vec(),
            4 => vec![(b.len() % 5) as u8],
            5 => vec![(b.len() % 3) as u8],
            7 => vec![(b.len() % 9) as u8],
            8 => vec![(b.len() % 2) as u8],
            _ => Vec::new(),
        };
        let first = if matches!(ids, 0 | 6) { Vec::new() } else { a.to_vec() };
        ((space, feature, first, second), key)
    }

    /// Ids made of what separates, escapes and names: few enough that they meet by chance.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(&b":"[..]),
            Just(&b"%"[..]),
            Just(&b"%3A"[..]),
            Just(&b"{"[..]),
            Just(&b"}"[..]),
            Just(&b"/"[..]),
            Just(&b"a"[..]),
            Just(&b"info"[..]),
            Just(&b"start"[..]),
            Just(&b"viewed"[..]),
            Just(&b"\0"[..]),
            Just(&b"1"[..]),
        ];
        vec(piece, 0..3).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_two_features_and_no_two_ids_share_a_key(
            spaces in vec(hostile(), 2),
            names in vec((0..8_usize, 0..41_usize, hostile(), hostile()), 200),
        ) {
            let mut keys = vec![Keys::new(), Keys::in_namespace("a"), Keys::tagged("a")];
            keys.extend(spaces.iter().map(Keys::in_namespace));
            keys.push(Keys::tagged(&spaces[0]));
            keys.extend([Keys::clustered("a"), Keys::clustered(&spaces[0])]);
            let mut seen: BTreeMap<Vec<u8>, What> = BTreeMap::new();
            for (space, feature, a, b) in &names {
                // Equal namespaces are one.
                let same = |other: &Keys| {
                    let this = &keys[*space];
                    (&other.prefix, other.clustered) == (&this.prefix, this.clustered)
                };
                let space = keys.iter().position(same).unwrap();
                let (what, key) = name(&keys, space, *feature, a, b);
                if let Some(earlier) = seen.insert(key.to_vec(), what.clone()) {
                    prop_assert_eq!(earlier, what, "{:?}", key);
                }
            }
        }
    }
}
