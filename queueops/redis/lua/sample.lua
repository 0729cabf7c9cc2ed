#!lua flags=allow-oom
-- sample: the figures of a pool at one moment. A watchdog whose turn it is leaves them as the snapshot that every page
-- reads. Costs the same however many tasks there are.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many lanes at most, 2 the watchdog ('' = only look), 3 for how many ms it has the turn
-- Reply: '' when it is another watchdog's turn; else JSON:
--        taken, states, oldest (entry time by state), lanes, workers, idle, overdue, clock, minute, before.
-- Transitions: none.
--@include clock
--@include core
--@include lanes

if ARGV[2] ~= '' and not call('SET', P .. ':sampler', ARGV[2], 'NX', 'PX', ARGV[3]) then return '' end

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
local figures = cjson.encode({
  taken = now, states = states, oldest = oldest, lanes = lanes,
  workers = call('ZCARD', P .. ':workers'), idle = call('ZCARD', P .. ':idle'),
  overdue = call('ZCOUNT', P .. ':agenda', '-inf', now - 5000),
  clock = { beat = tonumber(clock[1] or nil), grace = tonumber(clock[2] or nil), tick = tonumber(clock[3] or nil) },
  minute = minute(0), before = minute(1),
})
if ARGV[2] ~= '' then call('SET', P .. ':snapshot', figures, 'EX', 600) end
return figures
