-- Fast path for a worker that settles a task alone and asks for the next one, as most do under load: both are plain. The
-- rules are those of fast_settle.lua: it reads first, and leaves the call to the long path if it meets anything else.
--@needs clock_guard end_effects fast_settle minute_counts numbers paused_names store_helpers transitions wakeup

local IS_MORE, IS_LIGHT = lib.IS_MORE, lib.IS_LIGHT

-- The lane whose turn it is, the first two of its tasks, and the next lane. Nil if it may be closed or holds no plain tasks.
local function read_turn(bare)
  local ready = redis.pcall('ZRANGE', P .. ':lanes:ready', '0', '1', 'WITHSCORES')
  local lane = not ready.err and ready[1]
  if not lane or string.byte(lane) == 35 then return nil end -- 35: one that a kind keeps for itself
  local is_slotless, rate, paused, weight = lib.slotless_lane(lane, bare)
  if not is_slotless or rate or paused == '1' then return nil end
  local tasks = redis.pcall('ZRANGE', P .. ':lane:' .. lane, '0', '1')
  if tasks.err or not tasks[1] then return nil end
  local next_place = ready[2] + (weight and 1 / max(1, lib.number_of(weight) or 1) or 1)
  return { lane = lane, next_place = next_place, id = tasks[1], has_more = tasks[2], others = ready[3] }
end

-- The task that is first in that lane. Nil if that is not a plain one.
local function read_coming(turn)
  local fields = redis.pcall('HGETALL', TASK .. turn.id)
  if fields.err then return nil end
  local state, name, created, more, lane = nil, nil, nil, nil, 'default'
  for i = 1, #fields, 2 do
    local field = fields[i]
    if field == 's' then state = fields[i + 1]
    elseif field == 'n' then name = fields[i + 1]
    elseif field == 'c' then created = fields[i + 1]
    elseif IS_MORE[field] then
      if not IS_LIGHT[field] then return nil end
      more = true
      if field == 'l' then lane = fields[i + 1] end
    elseif field == 'ph' then return nil end
  end
  if not name or state ~= 'pending' or lane ~= turn.lane then return nil end
  local entered = lib.try('ZSCORE', P .. ':state:pending', turn.id)
  return entered and { id = turn.id, fields = fields, name = name, created = created, more = more, entered = entered }
end

local function leave_lane(turn)
  call('ZREM', P .. ':lane:' .. turn.lane, turn.id)
  if turn.has_more then
    call('ZADD', P .. ':lanes:ready', turn.next_place, turn.lane)
  else
    call('ZREM', P .. ':lanes:ready', turn.lane)
  end
end

local function lease_it(coming, number, worker)
  local key, fence = TASK .. coming.id, lib.text(number)
  if coming.more then
    call('HSET', key, 's', 'locked', 'f', fence, 'w', worker, 'b', NOW, 'c', coming.created or coming.entered, 'm', lib.LIGHT)
  elseif coming.created then
    call('HSET', key, 's', 'locked', 'f', fence, 'w', worker, 'b', NOW)
  else
    call('HSET', key, 's', 'locked', 'f', fence, 'w', worker, 'b', NOW, 'c', coming.entered)
  end
  lib.try('ZREM', P .. ':state:pending', coming.id)
  lib.try('ZADD', P .. ':state:locked', NOW, coming.id)
  lib.count('n|' .. coming.name .. '|pending', '-1')
  lib.count_minute('tr|pending>locked', 1)
end

-- Settles the task, and leases the next one to the same worker. Returns the lease, the milliseconds until the agenda has
-- something to do, and whether more tasks are ready; or nil.
function lib.swap_fast(worker, obstacles, lane)
  if obstacles > 1 and call('EXISTS', P .. ':tail', lib.hooks.messages_key(), P .. ':unable:' .. worker) > 0 then return nil end
  local bare = obstacles == 1 and lane
  local turn = read_turn(bare)
  local coming = turn and read_coming(turn)
  local task = coming and lib.read_plain_end(lib.watch_clock, bare)
  if not task or lib.is_name_paused(coming.name) then return nil end
  local number = lib.next_number()
  lib.end_plain(task)
  leave_lane(turn)
  lease_it(coming, number, worker)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id, lib.text(now + tonumber(task.lease)), coming.id)
  if task.lane ~= 'default' or turn.lane ~= 'default' then
    lib.count_in_lane(turn.lane, 'pending', -1)
    lib.count_in_lane(turn.lane, 'locked', 1)
    lib.count_plain_end(task)
  end
  local more = (turn.has_more or turn.others) and true or false
  if call('EXISTS', P .. ':idle') == 1 then
    lib.try('ZREM', P .. ':idle', worker)
    lib.wake(more and 1 or 0)
  end
  return { coming.id, number, now - tonumber(coming.entered), coming.fields }, min(task.rest, task.keep), more
end
