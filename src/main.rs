//! The `stockroom` program.

fn main() {}
