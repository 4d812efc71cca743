//! Replays real traffic through the shop.

pub mod generate;
pub mod report;
pub mod trace;
