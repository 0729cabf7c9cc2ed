#!lua flags=no-writes
-- name: figures of the tasks of one name, and the latest of them that have begun.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 name, 2 how many tasks to look at at most, 3 of how many minutes, this one included, 4 how many buckets of time,
--       5 how many error groups to look at at most
-- Reply: Redis' time in ms; flat: state, number of tasks; per minute, the latest first: pushed, succeeded, failed attempts,
--        ms of runs (a minute without any: empty); flat: bucket of wait, count; flat: bucket of run, count; tasks: id, and
--        the fields in `FIELDS`; flat: lane, number of the looked-at tasks in it; error groups as in `errors.lua`;
--        since when the name is paused ('' = it is not), how many of its tasks are held back, time at which the oldest waiting
--        task became ready (-1: none is known); keys for which tasks wait, most first: pool-wide number of them, then for each
--        of the first: key, how many wait, run, and have a turn, which is next (the lane `#<task>` of a task's parts, too),
--        and how many parts the first waiting lanes hold.
-- Transitions: none.
--@needs lanes limits store_helpers task_counts tolerant_reads

lib.tolerate()
local name, most, minutes, buckets = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local FIELDS = { 's', 'b', 'e', 'at', 'l', 'ef', 'w' }

local states, begun_later = {}, 0
local counts = lib.counted_of_name(name)
for state, class in pairs(CLASS) do
  local count = counts[state]
  if count > 0 then
    states[#states + 1] = state
    states[#states + 1] = count
    if class == 'ready' or state == 'postponed' or state == 'waiting' then begun_later = begun_later + count end
  end
end

-- One command a minute: four sums, then the buckets of the waits, then those of the runs.
local wanted = { 'in|' .. name, 'ok|' .. name, 'err|' .. name, 'ms|' .. name }
for _, kind in ipairs({ 'wait|', 'run|' }) do
  for bucket = 0, buckets - 1 do wanted[#wanted + 1] = kind .. name .. '|' .. bucket end
end
local sums, totals = {}, {}
for ago = 0, minutes - 1 do
  local key = P .. ':metrics:' .. string.format('%.0f', floor(now / 60000) - ago)
  local values = call('EXISTS', key) == 1 and call('HMGET', key, unpack(wanted)) or {}
  local row = {}
  for i = 1, #values do
    local count = values[i] and lib.number_of(values[i]) or 0
    if i <= 4 then row[i] = count elseif count > 0 then totals[i] = (totals[i] or 0) + count end
  end
  sums[#sums + 1] = row
end
local waits, runs = {}, {}
for i, count in pairs(totals) do
  local into, bucket = i <= 4 + buckets and waits or runs, (i - 5) % buckets
  into[#into + 1] = bucket
  into[#into + 1] = count
end

-- The newest tasks, and those behind the backlog: the ones that wait are usually the newest.
local tasks, lanes, counted, seen = {}, {}, {}, {}
local function look(from, count)
  for _, id in ipairs(call('ZREVRANGE', P .. ':name:' .. name, from, from + count - 1)) do
    local row = not seen[id] and lib.fields_of(lib.task_key(id), unpack(FIELDS))
    seen[id] = true
    local state, begun, _, _, lane = unpack(row or {})
    if state then
      lane = lane or 'default'
      if not counted[lane] then lanes[#lanes + 1] = lane end
      counted[lane] = (counted[lane] or 0) + 1
      if begun then tasks[#tasks + 1] = { id, row } end
    end
  end
end
local half = floor(most / 2)
look(0, half)
look(max(half, begun_later - floor(half / 2)), half)

local by_lane = {}
for _, lane in ipairs(lanes) do
  by_lane[#by_lane + 1] = lane
  by_lane[#by_lane + 1] = counted[lane]
end

local errors, MOST_ERRORS = {}, 20
local groups = call('ZREVRANGE', P .. ':errors', 0, tonumber(ARGV[5]) - 1, 'WITHSCORES')
for i = 1, #groups, 2 do
  local key = P .. ':error:' .. groups[i]
  if #errors < MOST_ERRORS and call('HGET', key, 'name') == name then
    errors[#errors + 1] = { groups[i], groups[i + 1], call('HGETALL', key), call('ZCARD', key .. SUBKEY.tasks) }
  end
end
local MOST_KEYS, MOST_LANES = 20, 50

-- How many parts of tasks wait with their lanes.
local function parts_of(members)
  local parts = 0
  for _, member in ipairs(members) do
    if lib.is_own_lane(member) then parts = parts + call('ZCARD', lib.lane_key(member)) end
  end
  return parts
end

local keys = { call('ZCARD', P .. ':limits:' .. name) }
local waiting = call('ZREVRANGE', P .. ':limits:' .. name, 0, MOST_KEYS - 1, 'WITHSCORES')
for i = 1, #waiting, 2 do
  local key = lib.key_of_limit(waiting[i])
  local first = call('ZRANGE', key .. SUBKEY.waiting, 0, MOST_LANES - 1)
  keys[#keys + 1] = { string.sub(waiting[i], #name + 2), waiting[i + 1], call('SCARD', key .. SUBKEY.active),
    call('SCARD', key .. SUBKEY.turn), first[1] or '', parts_of(first) }
end

return lib.told({ string.format('%.0f', now), states, sums, waits, runs, tasks, by_lane, errors,
  call('HGET', P .. ':names:paused', name) or '', call('ZCARD', P .. ':paused:' .. name), lib.oldest_of_name(name, counts) or -1,
  keys })
