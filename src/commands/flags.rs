//! The bit sets of a row: command flags, key flags and ACL categories, with Redis's names.

/// Declares a set of named bits: constants, `or`, `has`, and the names in Redis's order.
macro_rules! bits {
    (
        $(#[$doc:meta])*
        $type:ident: $($(#[$bit_doc:meta])* $bit:ident = $name:literal @ $n:literal,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type(u32);

        impl $type {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self(1 << $n);)*

            /// Both sets together.
            #[must_use]
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Whether all of `other` is in this set.
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Redis's names of the bits that are set.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let all = [$((Self::$bit, $name),)*];
                all.into_iter().filter(move |(bit, _)| self.has(*bit)).map(|(_, name)| name)
            }
        }
    };
}

bits! {
    /// What a command is and where it may be used.
    Flags:
    /// May change data.
    WRITE = "write" @ 0,
    /// Only reads data.
    READONLY = "readonly" @ 1,
    /// Refused when memory is short.
    DENYOOM = "denyoom" @ 2,
    /// Loads a module.
    MODULE = "module" @ 3,
    /// For operators.
    ADMIN = "admin" @ 4,
    /// About pub/sub.
    PUBSUB = "pubsub" @ 5,
    /// Not in scripts.
    NOSCRIPT = "noscript" @ 6,
    /// May block.
    BLOCKING = "blocking" @ 7,
    /// Allowed while loading.
    LOADING = "loading" @ 8,
    /// Allowed on a stale replica.
    STALE = "stale" @ 9,
    /// Not shown by MONITOR.
    SKIP_MONITOR = "skip_monitor" @ 10,
    /// Not in the slow log.
    SKIP_SLOWLOG = "skip_slowlog" @ 11,
    /// Carries its own ASKING.
    ASKING = "asking" @ 12,
    /// O(1) or O(log n).
    FAST = "fast" @ 13,
    /// Needs no authentication.
    NO_AUTH = "no_auth" @ 14,
    /// May be replicated though it is no write.
    MAY_REPLICATE = "may_replicate" @ 15,
    /// Refused at queue time inside MULTI.
    NO_MULTI = "no_multi" @ 16,
    /// Its keys may be none.
    NO_MANDATORY_KEYS = "no_mandatory_keys" @ 17,
    /// Not while loading asynchronously.
    NO_ASYNC_LOADING = "no_async_loading" @ 18,
    /// Allowed while a script is slow.
    ALLOW_BUSY = "allow_busy" @ 19,
    /// Key positions depend on the arguments.
    MOVABLEKEYS = "movablekeys" @ 20,
}

bits! {
    /// What a command does with a key.
    KeyFlags:
    /// Reads and writes the value.
    RW = "RW" @ 0,
    /// Reads the value.
    RO = "RO" @ 1,
    /// Overwrites the value.
    OW = "OW" @ 2,
    /// Removes the key.
    RM = "RM" @ 3,
    /// Returns, copies or uses data of the value.
    ACCESS = "access" @ 4,
    /// Changes data of the value, which may depend on it.
    UPDATE = "update" @ 5,
    /// Adds data to the value.
    INSERT = "insert" @ 6,
    /// Removes data of the value.
    DELETE = "delete" @ 7,
    /// Not a key, but handled as one in a cluster.
    NOT_KEY = "not_key" @ 8,
    /// Does not find all keys.
    INCOMPLETE = "incomplete" @ 9,
    /// The flags depend on the arguments.
    VARIABLE = "variable_flags" @ 10,
}

bits! {
    /// ACL categories beyond those that follow from the flags.
    Acl:
    /// Keys in general.
    KEYSPACE = "@keyspace" @ 0,
    /// Reads; follows from READONLY.
    READ = "@read" @ 1,
    /// Writes; follows from WRITE.
    WRITE = "@write" @ 2,
    /// Sets.
    SET = "@set" @ 3,
    /// Sorted sets.
    SORTEDSET = "@sortedset" @ 4,
    /// Lists.
    LIST = "@list" @ 5,
    /// Hashes.
    HASH = "@hash" @ 6,
    /// Strings.
    STRING = "@string" @ 7,
    /// Bitmaps.
    BITMAP = "@bitmap" @ 8,
    /// HyperLogLogs.
    HYPERLOGLOG = "@hyperloglog" @ 9,
    /// Geo indexes.
    GEO = "@geo" @ 10,
    /// Streams.
    STREAM = "@stream" @ 11,
    /// Pub/sub; follows from PUBSUB.
    PUBSUB = "@pubsub" @ 12,
    /// For operators; follows from ADMIN.
    ADMIN = "@admin" @ 13,
    /// Fast; follows from FAST.
    FAST = "@fast" @ 14,
    /// Not fast; follows from the absence of FAST.
    SLOW = "@slow" @ 15,
    /// Blocking; follows from BLOCKING.
    BLOCKING = "@blocking" @ 16,
    /// Potentially dangerous; follows from ADMIN.
    DANGEROUS = "@dangerous" @ 17,
    /// Connections.
    CONNECTION = "@connection" @ 18,
    /// Transactions.
    TRANSACTION = "@transaction" @ 19,
    /// Scripts.
    SCRIPTING = "@scripting" @ 20,
}
