-- Unserved lanes: those that no live worker serves, because each was started with other lanes. A tick of the watchdog notes
-- them. What has a turn of a key there gives it back, if something in another lane waits for it.
--@needs lanes limits minute_counts served_lanes store_helpers transitions turn_order

local ALIVE_MS, MOST_WORKERS, MOST_LANES, LOOKED = 20000, 500, 100, 100

-- The patterns of lanes of all workers that claim; nil if one of them serves all lanes, or if there is none.
local function all_patterns()
  local workers = lib.safe_call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - ALIVE_MS, 'LIMIT', 0, MOST_WORKERS)
  local found = {}
  for _, worker in ipairs(workers) do
    local state, lanes = unpack(lib.safe_call('HMGET', P .. ':worker:' .. worker, 'state', 'lanes'))
    if state == 'live' then
      if (lanes or '') == '' then return nil end
      for each in string.gmatch(lanes, '[^,]+') do found[#found + 1] = lib.lane_pattern(each) end
    end
  end
  return found[1] and #workers < MOST_WORKERS and found
end

local function serves(patterns, lane)
  for _, each in ipairs(patterns) do
    if string.find(lane, each) then return true end
  end
  return false
end

local function lane_of(ready) return lib.is_own_lane(ready) and (lib.lane_conf(ready).lane or 'default') or ready end

-- Those of the ready lanes that no worker serves; and all such lanes that are known, those from before behind them.
local function find_unserved(ready, before)
  local patterns, found, lanes, known = all_patterns(), {}, {}, {}
  local function note(lane)
    if known[lane] == nil then
      known[lane] = not serves(patterns, lane)
      if known[lane] and #lanes < MOST_LANES then lanes[#lanes + 1] = lane end
    end
    return known[lane]
  end
  for _, each in ipairs(patterns and ready or {}) do
    if note(lane_of(each)) then found[#found + 1] = each end
  end
  for lane in pairs(patterns and before or {}) do note(lane) end
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

local function give_back_of_tasks(lane)
  local rows = lib.try('ZRANGE', lib.lane_key(lane), 0, LOOKED - 1, 'WITHSCORES') or {}
  for i = 1, #rows, 2 do
    local record = not lib.is_foreign(rows[i]) and lib.named_fields(TASK .. rows[i], F.name, F.limit_key)
    if record and record[F.name] and record[F.limit_key] and give_back(rows[i], record, rows[i + 1]) then
      lib.leave_lane(lane, rows[i])
    end
  end
end

function lib.pass_unserved_turns()
  local before = lib.unserved_lanes()
  local ready = call('ZRANGE', P .. ':lanes:ready', 0, MOST_LANES - 1)
  if not (before or ready[1]) then return end
  local found, lanes = find_unserved(ready, before)
  if lanes[1] then
    lib.try('HSET', P .. ':clock', 'unserved', NOW .. ' ' .. table.concat(lanes, ' '))
  elseif before then
    lib.try('HDEL', P .. ':clock', 'unserved')
  end
  ctx.unserved = false
  for _, lane in ipairs(found) do
    if not lib.is_own_lane(lane) then
      give_back_of_tasks(lane)
    elseif lib.lane_conf(lane).turn then
      local turn = lib.lane_conf(lane).turn
      local first = (100 - (lib.number_of(turn[F.priority]) or 0)) * BAND
      if give_back(lane, turn, lib.text(first)) then ctx.touched[lane] = true end
    end
  end
  lib.flush_lanes()
end
