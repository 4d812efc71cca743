//! The scripts of the lock. All take its two keys: `lock:NAME`, the holder's id with the lease as
//! its time to live, and `lock:NAME:fence`, the number of the last grant.

use crate::backend::Script;

/// ARGV: id, lease in ms, repair (`1` or `0`). Takes the lock if it is free.
///
/// Gives `{1, fence, ms left}` when `id` holds it, newly or already (no other grant came since, so
/// the last number is its own); else `{0, 0, ms left}` of its holder, -1 when that one has set no
/// end. A lock without an end, left by a client that crashed between two commands, gets one if
/// `repair` says so.
pub(super) static ACQUIRE: Script = Script::new(
    "
local holder = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if not holder then return {1, redis.call('INCR', KEYS[2]), tonumber(ARGV[2])} end
local left = redis.call('PTTL', KEYS[1])
if holder == ARGV[1] then return {1, tonumber(redis.call('GET', KEYS[2]) or 0), left} end
if left == -1 and ARGV[3] == '1' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {0, 0, left}
",
);

/// ARGV: id, fence. Gives up the lock: 1 if it was held to that moment, else 0. Who waits is told,
/// on the channel of the lock's name.
pub(super) static RELEASE: Script = Script::new(
    "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PUBLISH', KEYS[1], '')
return redis.call('DEL', KEYS[1])
",
);

/// ARGV: id, fence, lease in ms. Lets the lock last for `lease` from now if it is still held: 1,
/// else 0.
pub(super) static REFRESH: Script = Script::new(
    "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
",
);

/// ARGV: id, fence, a command line whose keys follow the two. Runs the command if the lock is
/// held: `{reply}`, or `{}` if it is not.
pub(super) static GUARDED: Script = Script::new(
    "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
return {redis.call(unpack(ARGV, 3))}
",
);
