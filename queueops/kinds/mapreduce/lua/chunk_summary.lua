#!lua flags=no-writes
-- chunk_summary: the figures of one task's chunks. Its cost does not grow with their number: long sets are sampled.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 stragglers, 3 run times to sample, 4 errors to look at in each set, 5 kinds of error to tell,
--       6 steps of the pace
-- Reply: flat pairs: now; record (flat, without its payloads); counts (pending, active, errored, done, failed);
--        due (of the first errored one), late (of the last); minute (done within it); first, last (times of chunks done), pace (done in
--        each step between the first and the last, or now while chunks are open); active (number, begun, worker,
--        attempts, crashes flat); runs (number, begun, ended flat); looked (errors that were looked at); errors
--        (fingerprint, how many failed, how many errored, number of one, its error cut); paused (1: the task's lane is).
-- Transitions: none.
--@needs store_helpers tolerant_reads value_starts

lib.tolerate()

local task, stragglers, samples, looks, kinds, steps = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]),
  tonumber(ARGV[5]), tonumber(ARGV[6])
local SETS = TASK .. task .. '#chunks:'
local OF_TASK = { 's', 'n', 'k', 'c', 'b', 'e', 'at', 'r', 'pr', 'to', 'mx', 'oc', 'xr', 'xp', 'xt', 'ph', 'y', 'w',
  'cn', 'xd', 'rd', 'xm', 'xn', 'l', 'mw', 'ck', 'cl', 'cq', 'xw' }

local function chunk(number, ...) return lib.values_of(TASK .. task .. '#' .. number, ...) end

local function counts()
  local found = {}
  for _, state in ipairs({ 'pending', 'active', 'errored', 'done', 'failed' }) do
    found[#found + 1] = call('ZCARD', SETS .. state)
  end
  return found
end

local function record()
  local flat, values = {}, lib.fields_of(lib.task_key(task), unpack(OF_TASK)) or {}
  for i, field in ipairs(OF_TASK) do
    if values[i] then flat[#flat + 1] = field; flat[#flat + 1] = values[i] end
  end
  return flat
end

local function due(order) return lib.number_of(call(order, SETS .. 'errored', 0, 0, 'WITHSCORES')[2]) or 0 end

local function time_at(rank)
  return lib.number_of(call('ZRANGE', SETS .. 'done', rank, rank, 'WITHSCORES')[2])
end

local function pace(from, to)
  local found = {}
  for step = 0, steps - 1 do
    local low = from + (to - from) * step / steps
    found[#found + 1] = call('ZCOUNT', SETS .. 'done', low, '(' .. (from + (to - from) * (step + 1) / steps))
  end
  return found
end

local function active()
  local found = {}
  for _, number in ipairs(call('ZRANGE', SETS .. 'active', 0, stragglers - 1)) do
    local _, begun, worker, attempts, crashes = chunk(number, 'b', 'w', 'at', 'cr')
    for _, value in ipairs({ number, begun or '', worker or '', attempts or '0', crashes or '0' }) do found[#found + 1] = value end
  end
  return found
end

local function runs(size)
  local found = {}
  for i = 0, min(samples, size) - 1 do
    local number = call('ZRANGE', SETS .. 'done', floor(i * size / min(samples, size)), floor(i * size / min(samples, size)))[1]
    local _, begun, ended = chunk(number or '', 'b', 'e')
    if begun and ended then found[#found + 1] = number; found[#found + 1] = begun; found[#found + 1] = ended end
  end
  return found
end

-- The kinds of error among the last chunks of both sets, the most frequent first.
local function errors()
  local by_kind, list, looked = {}, {}, 0
  for _, state in ipairs({ 'failed', 'errored' }) do
    for _, number in ipairs(call('ZREVRANGE', SETS .. state, 0, looks - 1)) do
      local _, kind = chunk(number, 'ef')
      kind = kind or ''
      if not by_kind[kind] then
        by_kind[kind] = { kind = kind, failed = 0, errored = 0, latest = number }
        list[#list + 1] = by_kind[kind]
      end
      by_kind[kind][state] = by_kind[kind][state] + 1
      looked = looked + 1
    end
  end
  table.sort(list, function(a, b) return a.failed + a.errored > b.failed + b.errored end)
  for i = #list, kinds + 1, -1 do list[i] = nil end
  for i, row in ipairs(list) do
    local _, error, reason = chunk(row.latest, 'er', 'y')
    list[i] = { row.kind, row.failed, row.errored, row.latest, lib.start_of(error or '', 1000), string.sub(reason or '', 1, 300) }
  end
  return list, looked
end

-- Chunks are not claimed while the task's own lane is paused.
local function paused()
  local _, lane = lib.values_of(lib.task_key(task), F.lane)
  return call('HGET', P .. ':lane:' .. (lane or 'default') .. SUBKEY.conf, 'paused') == '1' and 1 or 0
end

local sizes, list, looked = counts(), errors()
local open, first, last = sizes[1] + sizes[2] + sizes[3], time_at(0), time_at(-1)
local until_ = open > 0 and now or last
return lib.told({ 'now', now, 'record', record(), 'counts', sizes,
  'due', due('ZRANGE'), 'late', due('ZREVRANGE'),
  'minute', call('ZCOUNT', SETS .. 'done', now - 60000, '+inf'), 'first', first or 0, 'last', last or 0,
  'pace', first and until_ > first and pace(first, until_) or {}, 'active', active(), 'runs', runs(sizes[4]),
  'looked', looked, 'errors', list, 'paused', paused() })
