//! Replays real traffic through the shop: the main job.
//!
//! A [`trace`] is read as a stream of events; [`replay`] drives the shop with them on any backend,
//! in the trace's own time, and gives a [`Report`]; [`compare`] tells whether two backends hold
//! the same afterwards.
//!
//! [`Report`]: report::Report
//! [`compare`]: compare::compare

pub mod compare;
mod driver;
mod extras;
mod features;
pub mod generate;
mod inventory;
mod item;
mod pauses;
pub mod report;
mod sale;
mod schedule;
mod tally;
pub mod trace;
mod upkeep;

pub use driver::{Options, ReplayError, replay};
pub use extras::FeatureSet;
pub use item::ItemFrom;
