#!lua flags=allow-oom
-- lane: an operator pauses or resumes a lane, or changes its limit, rate or weight; '' removes a value. Also for the
-- values of the settings: only a new value is taken, so that an operator's change stays.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 lane; 2 '1' if the settings say so; then pairs: field (paused, limit, rate, weight), value
-- Reply: the fields as they were before (field, value, ...).
-- Transitions: none.
--@needs lanes slot_holders transitions wakeup

local lane = ARGV[1]
local key = lib.lane_key(lane) .. SUBKEY.conf
local before, changes = {}, {}
for _, field in ipairs({ 'paused', 'limit', 'rate', 'weight' }) do
  local value = call('HGET', key, field)
  if value then before[#before + 1] = field; before[#before + 1] = value end
end

-- The first value from the settings counts only if the lane has none of its own.
local function is_news(field, value)
  local said = call('HGET', key, 'said:' .. field)
  if said then return said ~= value end
  return value ~= '' and call('HEXISTS', key, field) == 0
end

for i = 3, #ARGV, 2 do
  if ARGV[2] ~= '1' or is_news(ARGV[i], ARGV[i + 1]) then changes[#changes + 1] = { ARGV[i], ARGV[i + 1] } end
end

for _, change in ipairs(changes) do
  local field, value = unpack(change)
  if value == '' then call('HDEL', key, field) else call('HSET', key, field, value) end
  if field == 'limit' then
    call('DEL', lib.lane_key(lane) .. SUBKEY.active)
    if value ~= '' then lib.list_slot_holders(lane) end
  end
  if field == 'rate' and value == '' then call('HDEL', key, 'tat') end
end
if ARGV[2] == '1' then
  for i = 3, #ARGV, 2 do call('HSET', key, 'said:' .. ARGV[i], ARGV[i + 1]) end
end
lib.safe_call('ZADD', P .. ':lanes', 'NX', NOW, lane)
lib.safe_call('ZREM', P .. ':agenda', '~lane:' .. lane)
ctx.lane_confs = {}
lib.refresh_lane(lane)
local ready = call('ZSCORE', P .. ':lanes:ready', lane) and call('ZCARD', lib.lane_key(lane)) or 0
lib.wake(min(ready, lib.free_slots(lane) or ready))
return before
