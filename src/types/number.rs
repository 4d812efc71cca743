//! Numbers as Redis reads and writes them.
