//! [`Limits`]: up to which size a collection stays packed.

/// Redis's thresholds between the packed and the large form of each collection, as `CONFIG` names
/// and defaults them in 7.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `hash-max-listpack-entries`: fields in a packed hash.
    pub hash_listpack_entries: usize,
    /// `hash-max-listpack-value`: bytes of the longest field or value in a packed hash.
    pub hash_listpack_value: usize,
    /// `zset-max-listpack-entries`: members in a packed sorted set.
    pub zset_listpack_entries: usize,
    /// `zset-max-listpack-value`: bytes of the longest member in a packed sorted set.
    pub zset_listpack_value: usize,
    /// `set-max-intset-entries`: members in a set of integers.
    pub set_intset_entries: usize,
    /// `list-max-listpack-size`: elements (positive) or size class (negative) of a list's chunk.
    pub list_listpack_size: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hash_listpack_entries: 512,
            hash_listpack_value: 64,
            zset_listpack_entries: 128,
            zset_listpack_value: 64,
            set_intset_entries: 512,
            list_listpack_size: -2,
        }
    }
}
