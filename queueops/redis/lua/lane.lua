#!lua flags=allow-oom
-- lane: an operator pauses or resumes a lane, or changes its limit, rate or weight; '' removes a value.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 lane; then pairs: field (paused, limit, rate, weight), value
-- Reply: the fields as they were before (field, value, ...).
-- Transitions: none.
--@include clock
--@include core
--@include rates
--@include lanes
--@include wake

local lane = ARGV[1]
local key = lane_key(lane) .. '#conf'
local stored, before = call('HGETALL', key), {}
for i = 1, #stored, 2 do
  if stored[i] ~= 'tat' then before[#before + 1] = stored[i]; before[#before + 1] = stored[i + 1] end
end

-- A new limit counts those who already run: the leased tasks are few, for workers hold them.
local function list_holders()
  for state in pairs(LEASED) do
    -- Chunks hold no slot of their task's lane.
    for _, id in ipairs(call('ZRANGE', P .. ':state:' .. state, 0, 9999)) do
      local row = fields_of(task_key(id), 'l')
      if state ~= 'active' and row and (row[1] or 'default') == lane then call('SADD', lane_key(lane) .. '#active', id) end
    end
  end
end

for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then call('HDEL', key, ARGV[i]) else call('HSET', key, ARGV[i], ARGV[i + 1]) end
  if ARGV[i] == 'limit' then
    call('DEL', lane_key(lane) .. '#active')
    if ARGV[i + 1] ~= '' then list_holders() end
  end
  if ARGV[i] == 'rate' and ARGV[i + 1] == '' then call('HDEL', key, 'tat') end
end
call('ZADD', P .. ':lanes', 'NX', NOW, lane)
call('ZREM', P .. ':agenda', '~lane:' .. lane)
lane_confs = {}
refresh_lane(lane)
local ready = call('ZSCORE', P .. ':lanes:ready', lane) and call('ZCARD', lane_key(lane)) or 0
wake(min(ready, free_slots(lane) or ready))
return before
