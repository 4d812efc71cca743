//! The scripts of the delayed queue. All take the nine keys of
//! [`Keys::delayed`](super::super::Keys::delayed), and those about a claim the key of that claim
//! as the tenth:
//!
//! 1. `due`: sorted set of sequence and id → when it is due; 2. `queued`: hash id → its sequence;
//! 3. `flight`: sorted set id → until when it is claimed; 4. `claims`: hash id → token;
//! 5. `tries`: hash id → how often it was claimed; 6. `payloads`; 7. `again`: hash id → when it is
//!    due and its payload, for what was added while it was claimed; 8. `dead`: sorted set id →
//!    since when; 9. `meta`: the counter `seq`; 10. hash id → `c` claimed, `d` done.
//!
//! Times are milliseconds by the server's clock, read once. An id is in at most one of `due`,
//! `flight` and `dead`.

use crate::backend::Script;

/// What all scripts begin with.
macro_rules! script {
    ($body:literal) => {
        Script::new(concat!(
            "
local due, queued, flight, claims, tries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local payloads, again, dead, meta = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(ms) return string.format('%.0f', ms) end
local function enqueue(id, at)
  local seq = string.format('%016x', redis.call('HINCRBY', meta, 'seq', 1))
  redis.call('HSET', queued, id, seq)
  redis.call('ZADD', due, text(at), seq .. id)
end
local function dequeue(id)
  local seq = redis.call('HGET', queued, id)
  if not seq then return 0 end
  redis.call('HDEL', queued, id)
  return redis.call('ZREM', due, seq .. id)
end
local function land(id)
  redis.call('ZREM', flight, id)
  redis.call('HDEL', claims, id)
end
local function forget(id)
  redis.call('HDEL', tries, id)
  redis.call('HDEL', payloads, id)
end
local function readded(id)
  local entry = redis.call('HGET', again, id)
  if not entry then return false end
  redis.call('HDEL', again, id)
  forget(id)
  local at, has, payload = entry:match('^(%d+):(.)(.*)$')
  if has == '1' then redis.call('HSET', payloads, id, payload) end
  enqueue(id, tonumber(at))
  return true
end
local function give_back(id, at, most_tries, most_dead)
  land(id)
  if readded(id) then return end
  if tonumber(redis.call('HGET', tries, id) or 0) < most_tries then return enqueue(id, at) end
  redis.call('ZADD', dead, text(now), id)
  for _, old in ipairs(redis.call('ZRANGE', dead, 0, -1 - most_dead)) do
    redis.call('ZREM', dead, old)
    forget(old)
  end
end
",
            $body
        ))
    };
}

/// ARGV: delay in ms, `1` and a payload or `0` and nothing, ids. Adds each, or moves it if it is
/// there; what is claimed comes again once that claim has ended. Gives how many are new.
pub(super) static ADD: Script = script!(
    "
local new, at = 0, now + ARGV[1]
for i = 4, #ARGV do
  local id = ARGV[i]
  if redis.call('HEXISTS', claims, id) == 1 then
    redis.call('HSET', again, id, text(at) .. ':' .. ARGV[2] .. ARGV[3])
  else
    if redis.call('ZREM', dead, id) + dequeue(id) == 0 then new = new + 1 end
    forget(id)
    if ARGV[2] == '1' then redis.call('HSET', payloads, id, ARGV[3]) end
    enqueue(id, at)
  end
end
return new
"
);

/// ARGV: ids. Removes each wherever it is, claims too; gives how many were there.
pub(super) static REMOVE: Script = script!(
    "
local removed = 0
for _, id in ipairs(ARGV) do
  local there = dequeue(id) + redis.call('ZREM', flight, id) + redis.call('ZREM', dead, id)
  redis.call('HDEL', claims, id)
  redis.call('HDEL', again, id)
  forget(id)
  if there > 0 then removed = removed + 1 end
end
return removed
"
);

/// ARGV: token, most, visibility in ms, most tries, most dead letters. Claims tasks that are due,
/// the earliest first; before that, claims that are overdue are given back, up to 100. The same
/// token again gives the same tasks, as far as they are still its own. Gives `{id, tries, payload
/// or false}` each, flat.
pub(super) static CLAIM: Script = script!(
    "
local token, most, until_ms = ARGV[1], tonumber(ARGV[2]), now + ARGV[3]
local mine, tasks = KEYS[10], {}
local function task(id)
  tasks[#tasks + 1] = id
  tasks[#tasks + 1] = tonumber(redis.call('HGET', tries, id) or 0)
  tasks[#tasks + 1] = redis.call('HGET', payloads, id)
end
if redis.call('EXISTS', mine) == 1 then
  local all = redis.call('HGETALL', mine)
  for i = 1, #all, 2 do
    if redis.call('HGET', claims, all[i]) == token then task(all[i]) end
  end
  return tasks
end
local overdue = redis.call(
  'ZRANGEBYSCORE', flight, '-inf', '(' .. text(now), 'WITHSCORES', 'LIMIT', 0, 100)
for i = 1, #overdue, 2 do
  give_back(overdue[i], tonumber(overdue[i + 1]), tonumber(ARGV[4]), tonumber(ARGV[5]))
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'LIMIT', 0, most)) do
  local id = member:sub(17)
  redis.call('ZREM', due, member)
  redis.call('HDEL', queued, id)
  redis.call('ZADD', flight, text(until_ms), id)
  redis.call('HSET', claims, id, token)
  redis.call('HINCRBY', tries, id, 1)
  redis.call('HSET', mine, id, 'c')
  task(id)
end
if #tasks > 0 then redis.call('PEXPIRE', mine, ARGV[3] + 3600000) end
return tasks
"
);

/// ARGV: token, ids. Ends the claim on each: the work is done. Gives 1 for each that was claimed
/// with this token until now, or that this very call has ended before; else 0.
pub(super) static ACK: Script = script!(
    "
local answers = {}
for i = 2, #ARGV do
  local id, done = ARGV[i], 0
  if redis.call('HGET', claims, id) == ARGV[1] then
    land(id)
    if not readded(id) then forget(id) end
    redis.call('HSET', KEYS[10], id, 'd')
    done = 1
  elseif redis.call('HGET', KEYS[10], id) == 'd' then
    done = 1
  end
  answers[#answers + 1] = done
end
return answers
"
);

/// ARGV: token, delay in ms, most tries, most dead letters, id. Gives a claimed task back, to be
/// due after the delay, or to the dead letters if it was tried often enough: 1, or 0 if it was not
/// claimed with this token.
pub(super) static GIVE_BACK: Script = script!(
    "
if redis.call('HGET', claims, ARGV[5]) ~= ARGV[1] then
  return redis.call('HGET', KEYS[10], ARGV[5]) == 'b' and 1 or 0
end
give_back(ARGV[5], now + ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
redis.call('HSET', KEYS[10], ARGV[5], 'b')
return 1
"
);

/// ARGV: token, visibility in ms, id. Lets a claim last from now: 1, or 0 if it has ended.
pub(super) static EXTEND: Script = script!(
    "
if redis.call('HGET', claims, ARGV[3]) ~= ARGV[1] then return 0 end
if tonumber(redis.call('ZSCORE', flight, ARGV[3])) < now then return 0 end
redis.call('ZADD', flight, text(now + ARGV[2]), ARGV[3])
redis.call('PEXPIRE', KEYS[10], ARGV[2] + 3600000)
return 1
"
);

/// ARGV: token, ids; the keys from the eleventh on are what they stand for. Deletes each key that
/// is claimed with this token and was not added again, and ends the claim. Gives how many were
/// claimed, and how many of these were there to delete.
pub(in crate::shop) static DELETE: Script = script!(
    "
local ended, deleted = 0, 0
for i = 2, #ARGV do
  local id = ARGV[i]
  if redis.call('HGET', claims, id) == ARGV[1] then
    land(id)
    if not readded(id) then
      forget(id)
      deleted = deleted + redis.call('DEL', KEYS[9 + i])
    end
    redis.call('HSET', KEYS[10], id, 'd')
    ended = ended + 1
  end
end
return {ended, deleted}
"
);

/// ARGV: delay in ms, id. Queues a dead letter again: 1, or 0 if there is none of that id.
pub(super) static REVIVE: Script = script!(
    "
if redis.call('ZREM', dead, ARGV[2]) == 0 then return 0 end
redis.call('HDEL', tries, ARGV[2])
enqueue(ARGV[2], now + ARGV[1])
return 1
"
);

/// Counts `{due, later, claimed, dead}`, and gives the ms until the next one is due or a claim is
/// overdue, -1 if there is none.
pub(super) static COUNT: Script = script!(
    "
local ready = redis.call('ZCOUNT', due, '-inf', text(now))
local next_due = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local next_back = redis.call('ZRANGE', flight, 0, 0, 'WITHSCORES')[2]
local wait = -1
if next_due then wait = math.max(0, next_due - now) end
if next_back then
  local back = math.max(0, next_back - now + 1)
  if wait < 0 or back < wait then wait = back end
end
return {ready, redis.call('ZCARD', due) - ready, redis.call('ZCARD', flight),
  redis.call('ZCARD', dead), wait}
"
);
