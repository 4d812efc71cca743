//! The scripts of the flash sale. All take the five keys of
//! [`Keys::sale`](super::super::Keys::sale): free units, orders, deadlines of reservations, units
//! of each buyer, units sold. An order is `STATE:UNITS:BUYER`, the state `r` reserved, `s` sold,
//! `g` given back, `l` lapsed; its field is `o` and its id, that of a delivery `d` and its id.
//! Times are milliseconds by the server's clock, read once.

use crate::backend::Script;

/// What all scripts begin with.
macro_rules! script {
    ($body:literal) => {
        Script::new(concat!(
            "
local stock, orders, reserved, buyers, sold = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function order_of(id)
  local order = redis.call('HGET', orders, 'o' .. id)
  if not order then return nil end
  local state, units, buyer = order:match('^(%a):(%d+):(.*)$')
  return state, tonumber(units), buyer
end
local function set_order(id, state, units, buyer)
  units = string.format('%.0f', units)
  redis.call('HSET', orders, 'o' .. id, state .. ':' .. units .. ':' .. buyer)
end
local function free(id, state, units, buyer)
  redis.call('ZREM', reserved, id)
  redis.call('INCRBY', stock, units)
  if redis.call('HINCRBY', buyers, buyer, -units) <= 0 then redis.call('HDEL', buyers, buyer) end
  set_order(id, state, units, buyer)
end
local function reclaim(most)
  local lapsed = redis.call(
    'ZRANGEBYSCORE', reserved, '-inf', string.format('(%.0f', now), 'LIMIT', 0, most)
  for _, id in ipairs(lapsed) do
    local _, units, buyer = order_of(id)
    if units then free(id, 'l', units, buyer) else redis.call('ZREM', reserved, id) end
  end
  return #lapsed
end
",
            $body
        ))
    };
}

/// ARGV: order, buyer, units, most units of a buyer (0: any), reservation in ms (0: none), how
/// long orders are kept in ms. Buys, once for each order id.
///
/// Gives `{1, ms left of the reservation}`, -1 where there is none; `{2, units free}` when these
/// are too few; `{3, units of the buyer}` when it would be too many; `{4, 0}` when the order has
/// lapsed or was given back. A third number: 1 when the order was known, so that nothing changed.
pub(super) static BUY: Script = script!(
    "
local id, buyer, units = ARGV[1], ARGV[2], tonumber(ARGV[3])
local state = order_of(id)
if state == 's' then return {1, -1, 1} end
if state == 'r' then
  local left = redis.call('ZSCORE', reserved, id) - now
  if left >= 0 then return {1, left, 1} end
end
if state then return {4, 0, 1} end
local own = tonumber(redis.call('HGET', buyers, buyer) or 0)
if tonumber(ARGV[4]) > 0 and own + units > tonumber(ARGV[4]) then
  reclaim(100)
  own = tonumber(redis.call('HGET', buyers, buyer) or 0)
  if own + units > tonumber(ARGV[4]) then return {3, own, 0} end
end
local left = tonumber(redis.call('GET', stock) or 0)
while left < units and reclaim(100) > 0 do left = tonumber(redis.call('GET', stock) or 0) end
if left < units then return {2, left, 0} end
redis.call('DECRBY', stock, units)
redis.call('HINCRBY', buyers, buyer, units)
local answer = -1
if ARGV[5] == '0' then
  redis.call('INCRBY', sold, units)
  set_order(id, 's', units, buyer)
else
  redis.call('ZADD', reserved, string.format('%.0f', now + ARGV[5]), id)
  set_order(id, 'r', units, buyer)
  answer = tonumber(ARGV[5])
end
for _, key in ipairs({orders, buyers}) do redis.call('PEXPIRE', key, ARGV[6]) end
return {1, answer, 0}
"
);

/// ARGV: order. Makes a reservation a sale: 1, also when it is one already; 0 when it is none.
pub(super) static CONFIRM: Script = script!(
    "
local state, units, buyer = order_of(ARGV[1])
if state == 's' then return 1 end
if state ~= 'r' or tonumber(redis.call('ZSCORE', reserved, ARGV[1])) < now then return 0 end
redis.call('ZREM', reserved, ARGV[1])
redis.call('INCRBY', sold, units)
set_order(ARGV[1], 's', units, buyer)
return 1
"
);

/// ARGV: order. Gives its units back, of a sale too: 1, also when they were already; 0 when there
/// is no such order.
pub(super) static GIVE_BACK: Script = script!(
    "
local state, units, buyer = order_of(ARGV[1])
if not state then return 0 end
if state == 's' then redis.call('DECRBY', sold, units) end
if state == 's' or state == 'r' then free(ARGV[1], 'g', units, buyer) end
return 1
"
);

/// ARGV: delivery, units, how long it is remembered in ms. Adds units, once for each delivery id;
/// gives how many are free.
pub(super) static RESTOCK: Script = script!(
    "
if redis.call('HSETNX', orders, 'd' .. ARGV[1], ARGV[2]) == 1 then
  redis.call('PEXPIRE', orders, ARGV[3])
  return redis.call('INCRBY', stock, ARGV[2])
end
return tonumber(redis.call('GET', stock) or 0)
"
);

/// ARGV: most. Frees what reservations hold whose time is over; gives how many these were.
pub(super) static RECLAIM: Script = script!("return reclaim(tonumber(ARGV[1]))");

/// Gives units free, reserved and sold.
pub(super) static STOCK: Script = script!(
    "
local held = 0
for _, id in ipairs(redis.call('ZRANGE', reserved, 0, -1)) do
  local _, units = order_of(id)
  held = held + (units or 0)
end
return {tonumber(redis.call('GET', stock) or 0), held, tonumber(redis.call('GET', sold) or 0)}
"
);
