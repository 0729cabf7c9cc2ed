#!lua flags=allow-oom
-- sample: the figures of a pool at one moment. A watchdog whose turn it is leaves them as the snapshot that every page
-- reads. Costs the same however many tasks there are.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many lanes at most, 2 the watchdog ('' = only look), 3 for how many ms it has the turn
-- Reply: '' when it is another watchdog's turn; else JSON:
--        taken, states, oldest (entry time by state), lanes, chunks (of how many tasks that gather, how many were
--        looked at; sums of those: pending, active, errored; the lanes of those with most pending), workers, idle,
--        overdue, clock, minute, before.
-- Transitions: none.
--@include clock
--@include core
--@include rates
--@include lanes
--@include wake

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
    weight = conf.weight, rate = conf.rate, spent = conf.rate and tokens_of(conf) == 0,
    active = max(0, tonumber(call('HGET', P .. ':counts', 'l|' .. lane .. '|active') or 0) or 0),
    oldest = entered and tonumber(entered) or nil }
end

-- What waits in the lanes of tasks that gather is work that waits, too. Of very many such tasks the first are looked at.
local GATHERING = 200

local function chunk_lanes()
  local rows, sums = {}, { pending = 0, active = 0, errored = 0 }
  for _, task in ipairs(call('ZRANGE', P .. ':state:aggregating', 0, GATHERING - 1)) do
    local row = { task = task }
    for state in pairs(sums) do
      row[state] = call('ZCARD', TASK .. task .. '#chunks:' .. state)
      sums[state] = sums[state] + row[state]
    end
    rows[#rows + 1] = row
  end
  sums.tasks, sums.looked = states.aggregating, #rows
  table.sort(rows, function(a, b) return a.pending > b.pending end)
  for i = #rows, tonumber(ARGV[1]) + 1, -1 do rows[i] = nil end
  for _, row in ipairs(rows) do
    local conf = lane_conf('#' .. row.task)
    row.name, row.lane, row.limit = conf.name, conf.lane, conf.limit
    row.closed = conf.paused and true or lane_conf(conf.lane).paused
  end
  sums.lanes = rows
  return sums
end

local function minute(ago)
  local reply = call('HGETALL', P .. ':metrics:' .. string.format('%.0f', floor(now / 60000) - ago))
  local fields = {}
  for i = 1, #reply, 2 do fields[reply[i]] = tonumber(reply[i + 1]) end
  return fields
end

local clock = call('HMGET', P .. ':clock', 'beat', 'grace', 'tick')
local figures = cjson.encode({
  taken = now, states = states, oldest = oldest, lanes = lanes, chunks = chunk_lanes(),
  workers = call('ZCARD', P .. ':workers'), idle = call('ZCARD', P .. ':idle'),
  overdue = call('ZCOUNT', P .. ':agenda', '-inf', now - 5000),
  clock = { beat = tonumber(clock[1] or nil), grace = tonumber(clock[2] or nil), tick = tonumber(clock[3] or nil) },
  minute = minute(0), before = minute(1),
})
if ARGV[2] ~= '' then call('SET', P .. ':snapshot', figures, 'EX', 600) end
return figures
