//! Patterns as `KEYS` and `SCAN MATCH` take them.
