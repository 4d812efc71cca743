//! Recent contacts: whom a user wrote to last, and who of them it might be again.
//!
//! `contacts:USER` is a list, the newest first, of at most 100 contacts that differ.
//!
//! A contact is a name of any bytes, shown as it was added. Suggestions compare letters without
//! their case, in any script: `STRA` suggests `Straße`, and so does `strass`; `ist` suggests
//! `İstanbul`. Accents count, and `é` written as one character is not `e` with an accent. Bytes
//! that are no UTF-8 are compared as they are; a prefix that ends within a character suggests
//! nothing that begins with the whole character.
//!
//! Invariant: a list never holds a contact twice or more than [`CONTACTS_KEPT`], not even for a
//! moment, since every change is one transaction.
//!
//! Source: the autocomplete for recent contacts of the published articles, which keep the list in
//! `recent:USER`, compare ASCII letters only, and send three commands apart in one variant. For the
//! members of a large group see [`AddressBook`](super::AddressBook).

use super::check::id;
use super::fold::starts_with;
use super::keys::Keys;
use crate::backend::{Backend, cmd};
use crate::bytes::Bytes;
use crate::error::Result;

/// How many contacts of a user are kept.
pub const CONTACTS_KEPT: usize = 100;

/// The recent contacts of all users; see the module's documentation. Cheap to clone.
///
/// ```
/// use stockroom::backend::{Memory, Wait};
/// use stockroom::shop::{Contacts, Keys};
///
/// let contacts = Contacts::new(Memory::new(), Keys::new());
/// for name in ["Änne", "Bob", "änni"] {
///     contacts.add(b"ada", name.as_bytes()).wait()?;
/// }
/// assert_eq!(contacts.suggest(b"ada", "än".as_bytes()).wait()?, ["änni", "Änne"]);
/// assert_eq!(contacts.list(b"ada").wait()?, ["änni", "Bob", "Änne"]);
/// # Ok::<(), stockroom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contacts<B> {
    backend: B,
    keys: Keys,
}

impl<B: Backend> Contacts<B> {
    /// Contacts under `keys`.
    pub fn new(backend: B, keys: Keys) -> Self {
        Self { backend, keys }
    }

    /// Puts a contact at the top of a user's list; the oldest beyond 100 falls off.
    ///
    /// One transaction in one round trip: LREM, LPUSH and LTRIM. O(100). Can be repeated after a
    /// lost reply.
    pub async fn add(&self, user: &[u8], contact: &[u8]) -> Result<()> {
        id("user", user)?;
        id("contact", contact)?;
        let key = self.keys.contacts(user);
        let batch = (
            cmd::lrem(&key, 0, contact),
            cmd::lpush(&key, [contact]),
            cmd::ltrim(&key, 0, CONTACTS_KEPT as i64 - 1),
        );
        self.backend.atomic(batch).await.map(drop)
    }

    /// Takes a contact off a user's list; says whether it was there. LREM. O(100). Can be repeated
    /// after a lost reply.
    pub async fn remove(&self, user: &[u8], contact: &[u8]) -> Result<bool> {
        id("user", user)?;
        id("contact", contact)?;
        Ok(self.backend.run(cmd::lrem(&self.keys.contacts(user), 0, contact)).await? > 0)
    }

    /// A user's contacts, the newest first. LRANGE. O(100).
    pub async fn list(&self, user: &[u8]) -> Result<Vec<Bytes>> {
        id("user", user)?;
        let key = self.keys.contacts(user);
        self.backend.run(cmd::lrange(&key, 0, CONTACTS_KEPT as i64 - 1)).await
    }

    /// A user's contacts that begin with `prefix`, in whatever case, the newest first; all for an
    /// empty prefix. LRANGE, and the rest is done here. O(100 · length of the prefix).
    pub async fn suggest(&self, user: &[u8], prefix: &[u8]) -> Result<Vec<Bytes>> {
        let prefix = checked_prefix(prefix)?;
        let mut contacts = self.list(user).await?;
        contacts.retain(|contact| starts_with(contact, prefix));
        Ok(contacts)
    }

    /// Forgets a user's contacts; says whether there were any. DEL.
    pub async fn clear(&self, user: &[u8]) -> Result<bool> {
        id("user", user)?;
        Ok(self.backend.run(cmd::del([&self.keys.contacts(user)])).await? > 0)
    }
}

/// A prefix of no bytes, or of as many as an id may have.
pub(super) fn checked_prefix(prefix: &[u8]) -> Result<&[u8]> {
    if prefix.is_empty() { Ok(prefix) } else { id("prefix", prefix) }
}
