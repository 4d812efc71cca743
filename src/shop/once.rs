//! What is done once for each id: the scripts behind [`CommonLog::log_once`] and
//! [`Counters::increment_once`], and how long they remember an id.
//!
//! An id is remembered by a key of its own with a time to live, which is set in the same step as
//! what it stands for is done. So there is no moment at which one is there without the other,
//! whoever dies when; and nothing has to be swept.
//!
//! A command that the server refuses leaves the others standing, as in a transaction: a script does
//! what its twin under WATCH does, also then.
//!
//! [`CommonLog::log_once`]: super::CommonLog::log_once
//! [`Counters::increment_once`]: super::Counters::increment_once

use std::time::Duration;

use super::check::kept;
use crate::backend::{Arg, Script};
use crate::error::Result;

/// How long the ids of messages and events are remembered unless told otherwise: two hours.
pub const IDS_KEPT: Duration = Duration::from_secs(2 * 3_600);

/// How long ids are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdsKept(pub(super) Duration);

impl Default for IdsKept {
    fn default() -> Self {
        Self(IDS_KEPT)
    }
}

impl IdsKept {
    /// A second to 366 days.
    pub(super) fn of(time: Duration) -> Result<Self> {
        kept("time to keep ids", time, Duration::from_secs(1)).map(Self)
    }
}

impl From<IdsKept> for Arg<'_> {
    /// In whole milliseconds.
    fn from(kept: IdsKept) -> Self {
        (kept.0.as_millis() as u64).into()
    }
}

/// A script that goes on where a command is refused, and gives the first refusal in the end.
macro_rules! script {
    ($body:literal) => {
        Script::new(concat!(
            "
local refusal
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then refusal = refusal or reply end
end
",
            $body
        ))
    };
}

/// KEYS: the key of the id, `known:`, then the hash of each precision. ARGV: for how many ms the id
/// is remembered, the step, then member of `known:` and start of the slice for each precision. Adds
/// the step to all slices unless the id is remembered. Gives whether it did.
pub(super) static INCREMENT: Script = script!(
    "
if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return 0 end
local known = {}
for i = 3, #KEYS do
  known[#known + 1] = 0
  known[#known + 1] = ARGV[2 * i - 3]
end
try('ZADD', KEYS[2], unpack(known))
for i = 3, #KEYS do try('HINCRBY', KEYS[i], ARGV[2 * i - 2], ARGV[2]) end
return refusal or 1
"
);

/// KEYS: the key of the id, `:start`, the counts, `:last`, `:pstart`, the recent log. ARGV: for how
/// many ms the id is remembered, the name of the hour, message, line of the recent log, the index
/// of its last line. Counts the message and adds the line unless the id is remembered, after
/// turning the hour if there is a newer one. Gives {1, ''}, {2, ''} if the hour was turned, {0, ''}
/// if the id was known; {-1, name} if the hour there has a foreign name: nothing is done then.
pub(super) static LOG: Script = script!(
    "
local start = redis.call('GET', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 1 then return {0, ''} end
local function number(name)
  local y, m, d, h = name:match('^(%-?%d%d%d+)%-(%d%d)%-(%d%d)T(%d%d):00:00$')
  return y and ((y * 100 + m) * 100 + d) * 100 + h
end
if start and not number(start) then return {-1, start} end
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
local code = 1
if not start or number(start) < number(ARGV[2]) then
  code = 2
  if start then
    if redis.call('EXISTS', KEYS[3]) == 1 then
      redis.call('RENAME', KEYS[3], KEYS[4])
    else
      redis.call('DEL', KEYS[4])
    end
    redis.call('SET', KEYS[5], start)
  end
  redis.call('SET', KEYS[2], ARGV[2])
end
try('ZINCRBY', KEYS[3], 1, ARGV[3])
try('LPUSH', KEYS[6], ARGV[4])
try('LTRIM', KEYS[6], 0, ARGV[5])
return refusal or {code, ''}
"
);
