//! The scripts of the semaphore and of the fair lock. All take the five keys of
//! [`Keys::semaphore`](super::super::Keys::semaphore): holders (id → deadline), queue (id →
//! ticket), waits (id → until when its place is kept), grants (id → fencing number), meta (the
//! counters `ticket` and `fence`). Times are milliseconds by the server's clock, read once. A
//! deadline is over only when it has passed: at the deadline itself the lease still stands, as a
//! key does in Redis.

use crate::backend::Script;

/// ARGV: id, limit, lease, wait, `1` to try only. Asks for a permit.
///
/// Gives `{1, fence, ms left}` when `id` holds one, newly or already; `{0, position, hint}` when it
/// waits in the queue behind `position` others, and nothing changes by itself for `hint` ms. One
/// who only tries never passes a waiter and leaves nothing behind. When it leaves a permit free,
/// the next who waits is told.
pub(super) static ACQUIRE: Script = Script::new(
    "
local holders, queue, waits, grants, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, limit, lease, wait = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = string.format('(%.0f', now)
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', holders, '-inf', before)) do
  redis.call('ZREM', holders, dead)
  redis.call('HDEL', grants, dead)
end
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', waits, '-inf', before)) do
  redis.call('ZREM', waits, dead)
  redis.call('ZREM', queue, dead)
end
local held = redis.call('HGET', grants, id)
if held then return {1, tonumber(held), redis.call('ZSCORE', holders, id) - now} end
if not redis.call('ZSCORE', queue, id) then
  redis.call('ZADD', queue, redis.call('HINCRBY', meta, 'ticket', 1), id)
end
local position = redis.call('ZRANK', queue, id)
if position < limit - redis.call('ZCARD', holders) then
  redis.call('ZREM', queue, id)
  redis.call('ZREM', waits, id)
  local fence = redis.call('HINCRBY', meta, 'fence', 1)
  redis.call('ZADD', holders, string.format('%.0f', now + lease), id)
  redis.call('HSET', grants, id, fence)
  for _, key in ipairs({holders, grants}) do
    local ttl = redis.call('PTTL', key)
    if ttl < lease + 60000 then redis.call('PEXPIRE', key, lease + 60000) end
  end
  local next = redis.call('ZRANGE', queue, 0, 0)[1]
  if next and redis.call('ZCARD', holders) < limit then redis.call('PUBLISH', holders, next) end
  return {1, fence, lease}
end
local hint = wait
local next_end = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')[2]
if next_end then hint = math.min(hint, next_end - now + 1) end
local next_dead = redis.call('ZRANGE', waits, 0, 0, 'WITHSCORES')
if next_dead[1] == id then next_dead = redis.call('ZRANGE', waits, 1, 1, 'WITHSCORES') end
if next_dead[2] and position > 0 then hint = math.min(hint, next_dead[2] - now + 1) end
if ARGV[5] == '1' then
  redis.call('ZREM', queue, id)
  redis.call('ZREM', waits, id)
else
  redis.call('ZADD', waits, string.format('%.0f', now + wait), id)
  for _, key in ipairs({queue, waits}) do
    local ttl = redis.call('PTTL', key)
    if ttl < wait + 60000 then redis.call('PEXPIRE', key, wait + 60000) end
  end
end
return {0, position, hint}
",
);

/// ARGV: id, fence. Gives up a permit: 1 if it was held to that moment, 0 if it was not held any
/// more. The first who waits is told, on the channel of the first key's name.
pub(super) static RELEASE: Script = Script::new(
    "
if redis.call('HGET', KEYS[4], ARGV[1]) ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) >= now
redis.call('HDEL', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
local next = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if next then redis.call('PUBLISH', KEYS[1], next) end
return held and 1 or 0
",
);

/// ARGV: id, fence, lease. Lets a permit that is still held last for `lease` from now: 1, or 0 if
/// it is not held any more, which then stays so.
pub(super) static REFRESH: Script = Script::new(
    "
if redis.call('HGET', KEYS[4], ARGV[1]) ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) < now then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
for _, key in ipairs({KEYS[1], KEYS[4]}) do
  local ttl = redis.call('PTTL', key)
  if ttl < ARGV[3] + 60000 then redis.call('PEXPIRE', key, ARGV[3] + 60000) end
end
return 1
",
);

/// ARGV: id, fence, a command line whose keys follow the five. Runs the command if the permit is
/// held: `{reply}`, or `{}` if it is not.
pub(super) static GUARDED: Script = Script::new(
    "
if redis.call('HGET', KEYS[4], ARGV[1]) ~= ARGV[2] then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) < now then return {} end
return {redis.call(unpack(ARGV, 3))}
",
);

/// ARGV: id. Leaves the queue, and gives up what `id` holds; 1 if there was either. The first who
/// still waits is told.
pub(super) static CANCEL: Script = Script::new(
    "
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
local left = math.max(redis.call('ZREM', KEYS[2], ARGV[1]), redis.call('ZREM', KEYS[1], ARGV[1]))
local next = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if next and left == 1 then redis.call('PUBLISH', KEYS[1], next) end
return left
",
);

/// Counts `{holders, waiters}` that live.
pub(super) static COUNT: Script = Script::new(
    "
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return {redis.call('ZCOUNT', KEYS[1], now, '+inf'), redis.call('ZCOUNT', KEYS[3], now, '+inf')}
",
);
