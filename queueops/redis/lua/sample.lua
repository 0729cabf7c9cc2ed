#!lua flags=no-writes
-- sample: the figures of a pool at one moment, for the sampler's snapshot. Costs the same however many tasks there are.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many lanes at most
-- Reply: JSON: taken, states, oldest (entry time by state), lanes, workers, idle, overdue, clock, minute, before.
-- Transitions: none.
--@include clock
--@include core
--@include lanes

local states, oldest = {}, {}
for state in pairs(CLASS) do
  states[state] = call('ZCARD', P .. ':state:' .. state)
  local first = call('ZRANGE', P .. ':state:' .. state, 0, 0, 'WITHSCORES')
  if first[2] then oldest[state] = tonumber(first[2]) end
end

local lanes = {}
for _, lane in ipairs(call('ZREVRANGE', P .. ':lanes', 0, tonumber(ARGV[1]) - 1)) do
  local conf = lane_conf(lane)
  local first = call('ZRANGE', lane_key(lane), 0, 0)
  local entered = first[1] and call('ZSCORE', P .. ':state:pending', first[1])
  lanes[#lanes + 1] = { lane = lane, ready = call('ZCARD', lane_key(lane)), limit = conf.limit, paused = conf.paused,
    weight = conf.weight, active = max(0, tonumber(call('HGET', P .. ':counts', 'l|' .. lane .. '|active') or 0) or 0),
    oldest = entered and tonumber(entered) or nil }
end

local function minute(ago)
  local reply = call('HGETALL', P .. ':metrics:' .. string.format('%.0f', floor(now / 60000) - ago))
  local fields = {}
  for i = 1, #reply, 2 do fields[reply[i]] = tonumber(reply[i + 1]) end
  return fields
end

local clock = call('HMGET', P .. ':clock', 'beat', 'grace', 'tick')
return cjson.encode({
  taken = now, states = states, oldest = oldest, lanes = lanes,
  workers = call('ZCARD', P .. ':workers'), idle = call('ZCARD', P .. ':idle'),
  overdue = call('ZCOUNT', P .. ':agenda', '-inf', now - 5000),
  clock = { beat = tonumber(clock[1] or nil), grace = tonumber(clock[2] or nil), tick = tonumber(clock[3] or nil) },
  minute = minute(0), before = minute(1),
})
