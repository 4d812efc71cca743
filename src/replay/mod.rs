//! Replays real traffic through the shop.

pub mod generate;
pub mod trace;
