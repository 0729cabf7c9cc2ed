-- Fast paths for a worker that settles a task alone, as most do: the task has succeeded, its record asks for nothing more
-- than its lane, its retention, or a message to a caller, and nothing follows the events. They read first, and leave the
-- call to the long path (settle.lua, claim.lua) if they meet anything else. The result is the same.
--@needs clock_guard end_effects minute_counts outbox store_helpers transitions

local ID, FENCE, OUTCOME, VALUE, LANE = 10, 11, 12, 13, 14 -- of the first settlement in ARGV

-- The lane that the worker knows of a success, if the call has nothing else; the default lane if it tells none. A lane that
-- a kind keeps for itself has no settings here.
function lib.lane_of_end()
  local lane = ARGV[6] == '1' and ARGV[7] == '0' and ARGV[8] == '0' and ARGV[OUTCOME] == 'success' and ARGV[LANE]
  return lane and string.byte(lane) ~= 35 and lane or 'default'
end

-- How many keys exist that can be in the way: 1 is usually a ready lane. The settings of this lane are among them.
function lib.obstacles_at_end(worker, lane)
  return call('EXISTS', P .. ':tail', P .. ':lanes:ready', ctx.COMMANDS, P .. ':lane:' .. lane .. SUBKEY.conf,
    P .. ':unable:' .. worker)
end

-- Milliseconds until the agenda has something to do beside this task. Raises if the agenda cannot be written.
local function until_other(id)
  local first = call('ZRANGE', P .. ':agenda', '0', '1', 'WITHSCORES')
  local at = first[2]
  if first[1] == id then at = first[4] end
  return at and tonumber(at) - now or 1e15
end

-- Whether the tasks of a lane hold no slots, and its rate, pause and weight. `bare` is a lane without settings, or false.
function lib.slotless_lane(lane, bare)
  if lane == bare then return true end
  local is_hash, rate, paused, weight, limit =
    lib.values_of(P .. ':lane:' .. lane .. SUBKEY.conf, 'rate', 'paused', 'weight', 'limit')
  return is_hash and not limit, rate, paused, weight
end

-- What ends: its id, name and lane, for how long it is kept, whether a caller waits, and the time until the next entry of
-- the agenda, in ms. Or nil. `look` looks at the clock first: if the clock was set back, that moves entries of the agenda.
function lib.read_plain_end(look, bare)
  if ARGV[OUTCOME] ~= 'success' then return nil end
  local id = ARGV[ID]
  local _, state, fence, name, more, lane, kept_ms, awaited =
    lib.values_of(TASK .. id, F.state, F.fence, F.name, F.has_more, F.lane, F.keep, F.waited_for)
  if state ~= 'locked' or fence ~= ARGV[FENCE] or not name then return nil end
  if more and more ~= lib.LIGHT then return nil end
  lane = lane or 'default'
  if not lib.slotless_lane(lane, bare) then return nil end
  look()
  local rest, lease, keep = until_other(id), string.match(ARGV[5], '^(%S+) (%S+)')
  keep = kept_ms and lib.number_of(kept_ms) or tonumber(keep)
  if rest <= 0 or keep <= 0 then return nil end
  return { id = id, name = name, lane = lane, keep = keep, rest = rest, lease = lease, awaited = awaited }
end

function lib.end_plain(task)
  local key = TASK .. task.id
  call('HSET', key, 's', 'succeeded', 'e', NOW, 're', ARGV[VALUE])
  lib.try('ZREM', P .. ':state:locked', task.id)
  lib.try('ZADD', P .. ':state:succeeded', NOW, task.id)
  lib.count('n|' .. task.name .. '|succeeded', '1')
  lib.count_minute('tr|locked>succeeded', 1)
  if task.awaited then lib.publish(key .. SUBKEY.done, 'succeeded') end
end

-- Counts the end of a task of a named lane.
local function count_end_in_lane(lane)
  lib.count('s|' .. lane .. '|locked', '-1')
  lib.count('s|' .. lane .. '|succeeded', '1')
  lib.count('s||locked', '-1')
  lib.count('s||succeeded', '1')
end

-- The same for a call that counts more, and all that it has collected of lanes.
function lib.count_plain_end(task)
  lib.count_in_lane(task.lane, 'locked', -1)
  lib.count_in_lane(task.lane, 'succeeded', 1)
  lib.write_tally('s|', ctx.lane_states)
end

-- Settles the task while nothing is ready. Returns the milliseconds until the agenda has something to do, or nil.
function lib.settle_fast(obstacles, lane)
  if obstacles > 0 and call('EXISTS', P .. ':tail', P .. ':lanes:ready', ctx.COMMANDS) > 0 then return nil end
  local task = lib.read_plain_end(lib.beat, obstacles == 0 and lane)
  if not task then return nil end
  lib.end_plain(task)
  lib.try('ZADD', P .. ':agenda', lib.text(now + task.keep), task.id)
  if task.lane ~= 'default' then count_end_in_lane(task.lane) end
  return min(task.rest, task.keep)
end
