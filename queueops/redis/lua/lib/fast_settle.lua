-- Fast paths for a worker that settles a task alone, as most do: the task has succeeded, its record asks for nothing more
-- than its lane, its retention, or a message to a caller, and nothing follows the events. They read first, and leave the
-- call to the long path (settle.lua, claim.lua) if they meet anything else. The result is the same.
--@needs attempts clock_guard end_effects numbers store_helpers transitions wakeup

local ID, FENCE, OUTCOME, VALUE = 10, 11, 12, 13 -- of the first settlement in ARGV

-- How many keys exist that can be in the way: 1 is usually a ready lane. The settings of the default lane are among them.
function lib.obstacles_at_end(worker)
  return call('EXISTS', P .. ':tail', P .. ':lanes:ready', lib.hooks.messages_key(), P .. ':lane:default#conf',
    P .. ':unable:' .. worker)
end

-- Milliseconds until the agenda has something to do beside this task. Raises if the agenda cannot be written.
local function until_other(id)
  local first = call('ZRANGE', P .. ':agenda', '0', '1', 'WITHSCORES')
  local at = first[2]
  if first[1] == id then at = first[4] end
  return at and tonumber(at) - now or 1e15
end

-- Rate, pause and weight of a lane whose tasks hold no slots. Nil for another lane. `bare`: the default lane has no settings.
local function settings_of(lane, bare)
  if bare and lane == 'default' then return {} end
  local row = lib.fields_of(P .. ':lane:' .. lane .. '#conf', 'rate', 'paused', 'weight', 'limit', 'shut')
  if row and not row[4] and not row[5] then return row end
end

-- What ends: its id, name and lane, for how long it is kept, whether a caller waits, and the time until the next entry of
-- the agenda, in ms. Or nil. `look` looks at the clock first: if the clock was set back, that moves entries of the agenda.
local function read_end(look, bare)
  if ARGV[OUTCOME] ~= 'success' then return nil end
  local id = ARGV[ID]
  local row = lib.fields_of(TASK .. id, 's', 'f', 'n', 'm', 'l', 'kp', 'wt')
  if not row or row[1] ~= 'locked' or row[2] ~= ARGV[FENCE] or not row[3] then return nil end
  if row[4] and row[4] ~= lib.LIGHT then return nil end
  local lane = row[5] or 'default'
  if not settings_of(lane, bare) then return nil end
  look()
  local rest, keep = until_other(id), row[6] and lib.number_of(row[6]) or tonumber(string.match(ARGV[5], '^%S+ (%S+)'))
  if rest <= 0 or keep <= 0 then return nil end
  return { id = id, name = row[3], lane = lane, keep = keep, rest = rest, awaited = row[7] }
end

local function end_it(task)
  local key = TASK .. task.id
  call('HSET', key, 's', 'succeeded', 'e', NOW, 're', ARGV[VALUE])
  lib.try('ZREM', P .. ':state:locked', task.id)
  lib.try('ZADD', P .. ':state:succeeded', NOW, task.id)
  lib.count('n|' .. task.name .. '|succeeded', '1')
  lib.count_in_lane(task.lane, 'locked', -1)
  lib.count_in_lane(task.lane, 'succeeded', 1)
  lib.count_minute('tr|locked>succeeded', 1)
  if task.awaited then lib.publish(key .. '#done', 'succeeded') end
end

-- Settles the task while nothing is ready. Returns the milliseconds until the agenda has something to do, or nil.
function lib.settle_fast(obstacles)
  if obstacles > 0 and call('EXISTS', P .. ':tail', P .. ':lanes:ready', lib.hooks.messages_key()) > 0 then return nil end
  local task = read_end(lib.beat, obstacles == 0)
  if not task then return nil end
  end_it(task)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id)
  lib.write_tally('s|', ctx.lane_states)
  return min(task.rest, task.keep)
end

-- The lane whose turn it is, the first two of its tasks, and the next lane. Nil if it may be closed or holds no plain tasks.
local function read_turn(bare)
  local ready = redis.pcall('ZRANGE', P .. ':lanes:ready', '0', '1', 'WITHSCORES')
  local lane = not ready.err and ready[1]
  if not lane or string.byte(lane) == 35 then return nil end -- 35: one that a kind keeps for itself
  local conf = settings_of(lane, bare)
  if not conf or conf[1] or conf[2] == '1' then return nil end
  local tasks = redis.pcall('ZRANGE', P .. ':lane:' .. lane, '0', '1')
  if tasks.err or not tasks[1] then return nil end
  local next_place = ready[2] + 1 / max(1, lib.number_of(conf[3]) or 1)
  return { lane = lane, next_place = next_place, id = tasks[1], has_more = tasks[2], others = ready[3] }
end

-- The task that is first in that lane. Nil if that is not a plain one.
local function read_coming(turn)
  local fields = redis.pcall('HGETALL', TASK .. turn.id)
  if fields.err then return nil end
  local coming, lane = { id = turn.id, fields = fields }, 'default'
  for i = 1, #fields, 2 do
    local field = fields[i]
    if field == 's' then coming.state = fields[i + 1]
    elseif field == 'n' then coming.name = fields[i + 1]
    elseif field == 'c' then coming.created = fields[i + 1]
    elseif lib.IS_LIGHT[field] then
      coming.more = lib.LIGHT
      if field == 'l' then lane = fields[i + 1] end
    elseif field == 'ph' or lib.IS_MORE[field] then return nil end
  end
  if not coming.name or coming.state ~= 'pending' or lane ~= turn.lane then return nil end
  coming.entered = lib.try('ZSCORE', P .. ':state:pending', turn.id)
  return coming.entered and coming
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
  local record = { 'HSET', TASK .. coming.id, 's', 'locked', 'f', number, 'w', worker, 'b', NOW }
  local size = #record
  if not coming.created then record[size + 1], record[size + 2], size = 'c', coming.entered, size + 2 end
  if coming.more then record[size + 1], record[size + 2] = 'm', coming.more end
  call(unpack(record))
  lib.try('ZREM', P .. ':state:pending', coming.id)
  lib.try('ZADD', P .. ':state:locked', NOW, coming.id)
  lib.count('n|' .. coming.name .. '|pending', '-1')
  lib.count_minute('tr|pending>locked', 1)
end

-- Settles the task, and leases the next one to the same worker. Returns the lease, the milliseconds until the agenda has
-- something to do, and whether more tasks are ready; or nil.
function lib.swap_fast(worker, obstacles)
  if obstacles > 1 and call('EXISTS', P .. ':tail', lib.hooks.messages_key(), P .. ':unable:' .. worker) > 0 then return nil end
  local turn = read_turn(obstacles == 1)
  local coming = turn and read_coming(turn)
  local task = coming and read_end(lib.watch_clock, obstacles == 1)
  if not task then return nil end
  local number = lib.next_number()
  local lease = tonumber(string.match(ARGV[5], '^%S+'))
  end_it(task)
  leave_lane(turn)
  lease_it(coming, number, worker)
  lib.count_in_lane(turn.lane, 'pending', -1)
  lib.count_in_lane(turn.lane, 'locked', 1)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id, lib.text(now + lease), coming.id)
  lib.write_tally('s|', ctx.lane_states)
  local more = (turn.has_more or turn.others) and true or false
  if call('EXISTS', P .. ':idle') == 1 then
    lib.try('ZREM', P .. ':idle', worker)
    lib.wake(more and 1 or 0)
  end
  return { coming.id, number, now - tonumber(coming.entered), coming.fields }, min(task.rest, task.keep), more
end
