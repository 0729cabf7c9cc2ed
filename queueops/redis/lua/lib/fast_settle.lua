-- Fast path for a worker that settles a task alone, as most do: the task has succeeded, its record asks for nothing more,
-- nothing else is ready, and nothing follows the events. The result is the same as by the long path (settle.lua).
--@needs attempts clock_guard store_helpers

local ID, FENCE, OUTCOME, VALUE = 10, 11, 12, 13 -- of the first settlement in ARGV

-- Milliseconds until the agenda has something to do beside this task. Raises if the agenda cannot be written.
local function until_other(id)
  local first = call('ZRANGE', P .. ':agenda', '0', '1', 'WITHSCORES')
  local at = first[2]
  if first[1] == id then at = first[4] end
  return at and tonumber(at) - now or 1e15
end

local function uncount(field)
  if lib.try('HINCRBY', P .. ':counts', field, '-1') == 0 then call('HDEL', P .. ':counts', field) end
end

-- Settles the task, and returns the milliseconds until the agenda has something to do. Nil if the call needs the long path.
function lib.settle_fast()
  if ARGV[OUTCOME] ~= 'success' then return nil end
  local id = ARGV[ID]
  local key = TASK .. id
  local row = lib.fields_of(key, 's', 'f', 'n', 'm')
  if not row or row[1] ~= 'locked' or row[2] ~= ARGV[FENCE] or not row[3] or row[4] then return nil end
  local rest = until_other(id)
  if rest <= 0 then return nil end
  lib.watch_clock()
  local keep = tonumber(string.match(ARGV[5], '^%S+ (%S+)'))
  local name = row[3]
  call('HSET', key, 's', 'succeeded', 'e', NOW, 're', ARGV[VALUE])
  lib.try('ZREM', P .. ':state:locked', id)
  lib.try('ZADD', P .. ':state:succeeded', NOW, id)
  lib.try('ZADD', P .. ':agenda', lib.text(now + keep), id)
  uncount('n|' .. name .. '|locked')
  lib.try('HINCRBY', P .. ':counts', 'n|' .. name .. '|succeeded', '1')
  uncount('l|default|active')
  lib.count_minute('tr|locked>succeeded', 1)
  return min(rest, keep)
end
