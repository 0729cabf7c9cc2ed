-- Unserved lanes: those that no live worker serves, because each was started with other lanes. A tick of the watchdog notes
-- them. What has a turn of a key there gives it back, if something in another lane waits for it.
--@needs lanes limits minute_counts served_lanes store_helpers transitions turn_order

local ALIVE_MS, MOST_WORKERS, MOST_PATTERNS, MOST_LANES = 20000, 500, 500, 100
local LOOKED = 200 -- tasks and lanes of tasks that one tick looks at; the next one goes on behind them

-- The lanes that all workers that claim serve, as a set of names and patterns, and a list of patterns. Nil if one of them
-- serves all lanes, if there is none, or if there are too many to be sure.
local function all_served()
  local workers = lib.safe_call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - ALIVE_MS, 'LIMIT', 0, MOST_WORKERS)
  local names, patterns, known = {}, {}, {}
  for _, worker in ipairs(workers) do
    local state, lanes = unpack(lib.safe_call('HMGET', P .. ':worker:' .. worker, 'state', 'lanes'))
    if state == 'live' and (lanes or '') == '' then return nil end
    for each in string.gmatch(state == 'live' and not known[lanes] and lanes or '', '[^,]+') do
      if not names[each] and string.find(each, '*', 1, true) then patterns[#patterns + 1] = lib.lane_pattern(each) end
      names[each] = true
    end
    known[lanes or ''] = state == 'live'
  end
  if next(names) and #workers < MOST_WORKERS and #patterns <= MOST_PATTERNS then return names, patterns end
end

local function serves(names, patterns, lane)
  if names[lane] then return true end
  for _, each in ipairs(patterns) do
    if string.find(lane, each) then return true end
  end
  return false
end

local function lane_of(ready) return lib.is_own_lane(ready) and (lib.lane_conf(ready).lane or 'default') or ready end

-- Which of the ready lanes no worker serves, as a set; and all such lanes that are known, those from before behind them.
local function find_unserved(ready, before)
  local names, patterns = all_served()
  local found, lanes, known = {}, {}, {}
  local function note(lane)
    if known[lane] == nil then
      known[lane] = not serves(names, patterns, lane)
      if known[lane] and #lanes < MOST_LANES then lanes[#lanes + 1] = lane end
    end
    return known[lane]
  end
  for _, each in ipairs(names and ready or {}) do found[each] = note(lane_of(each)) end
  for lane in pairs(names and before or {}) do note(lane) end
  return found, lanes
end

-- Gives back a turn if another lane has a use for it now; `place` is where it waits then.
local function give_back(ref, record, place)
  local scope = lib.scope_of(record)
  local key = lib.key_of_limit(scope)
  local found, is_served = lib.next_of_key(key)
  if not is_served or lib.try('SREM', key .. SUBKEY.turn, ref) ~= 1 then return false end
  local best = unpack(found)
  local waits, row = lib.first_of_key((unpack(best)))
  if waits and lib.turns_of(scope, row) ~= 'free' then
    lib.try('SADD', key .. SUBKEY.turn, ref)
    return false
  end
  lib.try('ZADD', key .. SUBKEY.waiting, place, ref)
  lib.touch_key(scope)
  return true
end

-- From this rank of the lane on, at most `most` tasks. Returns how many it looked at, and how many of them left the lane.
local function give_back_of_tasks(lane, rank, most)
  local rows, left = lib.try('ZRANGE', lib.lane_key(lane), rank, rank + most - 1, 'WITHSCORES') or {}, 0
  for i = 1, #rows, 2 do
    local record = not lib.is_foreign(rows[i]) and lib.named_fields(TASK .. rows[i], F.name, F.limit_key)
    if record and record[F.name] and record[F.limit_key] and give_back(rows[i], record, rows[i + 1]) then
      lib.leave_lane(lane, rows[i])
      left = left + 1
    end
  end
  return #rows / 2, left
end

local function give_back_of_lane(lane)
  local turn = lib.lane_conf(lane).turn
  if not turn then return end
  local first = (100 - (lib.number_of(turn[F.priority]) or 0)) * BAND
  if give_back(lane, turn, lib.text(first)) then ctx.touched[lane] = true end
end

-- Looks at LOOKED of what is in these lanes. Returns how many lanes are behind it, and the rank in the next one.
local function look(ready, unserved, rank)
  local most = LOOKED
  for i, lane in ipairs(ready) do
    if unserved[lane] and lib.is_own_lane(lane) then
      give_back_of_lane(lane)
      most = most - 1
    elseif unserved[lane] then
      local count, left = give_back_of_tasks(lane, rank, most)
      most = most - count
      if most == 0 then return i - 1, rank + count - left end
    end
    if most == 0 then return i, 0 end
    rank = 0
  end
  return #ready, 0
end

-- `unserved_at` of `P:clock`: where the last tick ended, as the place of a lane in the round, and a rank in it.
function lib.pass_unserved_turns()
  local before = lib.unserved_lanes()
  local at, rank = string.match(lib.try('HGET', P .. ':clock', 'unserved_at') or '', '^(%d+) (%d+)$')
  at, rank = lib.number_of(at) or 0, lib.number_of(rank) or 0
  local ready = call('ZRANGE', P .. ':lanes:ready', at, at + MOST_LANES - 1)
  if not (before or ready[1] or at + rank > 0) then return end
  local unserved, lanes = find_unserved(ready, before)
  if lanes[1] then
    lib.try('HSET', P .. ':clock', 'unserved', NOW .. ' ' .. table.concat(lanes, ' '))
  elseif before then
    lib.try('HDEL', P .. ':clock', 'unserved')
  end
  ctx.unserved = false
  local done, next_rank = look(ready, unserved, rank)
  local next_at = at + done
  if not next(unserved) or done == #ready and done < MOST_LANES then next_at = 0 end
  if next_at + next_rank > 0 then
    lib.try('HSET', P .. ':clock', 'unserved_at', lib.text(next_at) .. ' ' .. lib.text(next_rank))
  elseif at + rank > 0 then
    lib.try('HDEL', P .. ':clock', 'unserved_at')
  end
  lib.flush_lanes()
end
