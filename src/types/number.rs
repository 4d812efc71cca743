//! Numbers as Redis reads and writes them.

/// Stub.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
