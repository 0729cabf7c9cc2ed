-- Fast paths for a worker that settles a task alone, as most do: the task has succeeded, its record asks for nothing more,
-- and nothing follows the events. They read first, and leave the call to the long path (settle.lua, claim.lua) if they meet
-- anything else. The result is the same.
--@needs attempts clock_guard end_effects numbers store_helpers wakeup

local ID, FENCE, OUTCOME, VALUE = 10, 11, 12, 13 -- of the first settlement in ARGV

-- Milliseconds until the agenda has something to do beside this task. Raises if the agenda cannot be written.
local function until_other(id)
  local first = call('ZRANGE', P .. ':agenda', '0', '1', 'WITHSCORES')
  local at = first[2]
  if first[1] == id then at = first[4] end
  return at and tonumber(at) - now or 1e15
end

-- What ends: its id, its name, for how long it is kept, and the time until the next entry of the agenda, in ms. Or nil.
-- `look` looks at the clock first: if the clock was set back, that moves entries of the agenda.
local function read_end(look)
  if ARGV[OUTCOME] ~= 'success' then return nil end
  local id = ARGV[ID]
  local row = lib.fields_of(TASK .. id, 's', 'f', 'n', 'm')
  if not row or row[1] ~= 'locked' or row[2] ~= ARGV[FENCE] or not row[3] or row[4] then return nil end
  look()
  local rest, keep = until_other(id), tonumber(string.match(ARGV[5], '^%S+ (%S+)'))
  if rest > 0 and keep > 0 then return { id = id, name = row[3], keep = keep, rest = rest } end
end

-- The task that is first in the only ready lane, which is the default lane. Nil if that is not a plain one.
local function read_coming()
  local ready = redis.pcall('ZRANGE', P .. ':lanes:ready', '0', '1', 'WITHSCORES')
  if ready.err or ready[1] ~= 'default' or ready[3] then return nil end
  local first = redis.pcall('ZRANGE', P .. ':lane:default', '0', '0')
  local id = not first.err and first[1]
  local fields = id and redis.pcall('HGETALL', TASK .. id)
  if not fields or fields.err then return nil end
  local coming = { id = id, fields = fields, place = ready[2] }
  for i = 1, #fields, 2 do
    local field = fields[i]
    if field == 's' then coming.state = fields[i + 1]
    elseif field == 'n' then coming.name = fields[i + 1]
    elseif field == 'c' then coming.created = fields[i + 1]
    elseif field == 'ph' or lib.IS_MORE[field] then return nil end
  end
  coming.entered = lib.try('ZSCORE', P .. ':state:pending', id)
  if coming.name and coming.state == 'pending' and coming.entered then return coming end
end

local function end_it(task)
  call('HSET', TASK .. task.id, 's', 'succeeded', 'e', NOW, 're', ARGV[VALUE])
  lib.try('ZREM', P .. ':state:locked', task.id)
  lib.try('ZADD', P .. ':state:succeeded', NOW, task.id)
  lib.count('n|' .. task.name .. '|succeeded', '1')
  lib.count_minute('tr|locked>succeeded', 1)
end

-- Settles the task. Returns the milliseconds until the agenda has something to do, or nil.
function lib.settle_fast()
  local task = read_end(lib.beat)
  if not task then return nil end
  end_it(task)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id)
  return min(task.rest, task.keep)
end

-- Takes the next task out of its lane. Returns whether the lane has more.
local function leave_lane(coming)
  call('ZREM', P .. ':lane:default', coming.id)
  if call('EXISTS', P .. ':lane:default') == 1 then
    call('ZADD', P .. ':lanes:ready', coming.place + 1, 'default')
    return true
  end
  call('ZREM', P .. ':lanes:ready', 'default')
  return false
end

-- Settles the task, and leases the next one to the same worker. Returns the lease, the milliseconds until the agenda has
-- something to do, and whether more tasks are ready; or nil.
function lib.swap_fast(worker)
  local task = read_end(lib.watch_clock)
  local coming = task and read_coming()
  if not coming then return nil end
  local number = lib.next_number()
  local lease = tonumber(string.match(ARGV[5], '^%S+'))
  end_it(task)
  local more = leave_lane(coming)
  if coming.created then
    call('HSET', TASK .. coming.id, 's', 'locked', 'f', number, 'w', worker, 'b', NOW)
  else
    call('HSET', TASK .. coming.id, 's', 'locked', 'f', number, 'w', worker, 'b', NOW, 'c', coming.entered)
  end
  lib.try('ZREM', P .. ':state:pending', coming.id)
  lib.try('ZADD', P .. ':state:locked', NOW, coming.id)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id, lib.text(now + lease), coming.id)
  lib.count('n|' .. coming.name .. '|pending', '-1')
  lib.count_minute('tr|pending>locked', 1)
  if call('EXISTS', P .. ':idle') == 1 then
    lib.try('ZREM', P .. ':idle', worker)
    lib.wake(more and 1 or 0)
  end
  return { coming.id, number, now - tonumber(coming.entered), coming.fields }, min(task.rest, task.keep), more
end
