//! The data structures under the keys: strings, lists, hashes, sets and sorted sets, and the
//! numbers and patterns they are read with.
//!
//! Nothing here knows a key, a clock or a reply. Small collections are packed into one allocation,
//! because a shop holds tens of millions of them; large ones give every operation at its
//! documented complexity. Which form is in use follows Redis's rules and its [`Limits`], since
//! `OBJECT ENCODING` shows it.

pub(crate) mod dense;
mod end;
pub mod glob;
mod hash;
mod limits;
mod list;
mod long_double;
pub mod number;
mod numeral;
mod packed;
mod set;
mod str;
pub mod zset;

pub use end::End;
pub use hash::Hash;
pub use limits::Limits;
pub use list::{Iter as ListIter, List};
pub use long_double::LongDouble;
pub use set::{Member, Set};
pub use str::Str;
pub use zset::Zset;
