-- Lanes: where ready tasks wait, in claim order. A lane is in lanes:ready if and only if it has a ready task, a free
-- slot, and no pause. A lane with a rate limit also needs a token.
--@needs lane_turns limits minute_counts rate_limit store_helpers

fresh.lane_confs, fresh.lane_entries, fresh.touched = TABLE, TABLE, TABLE
fresh.gain = TABLE -- how many became ready beside those of `lane_entries`, by lane
fresh.brought = 0
fresh.calm = false -- whether no lane is ready, no command waits and nothing follows the events

-- A lane whose name begins with '#' holds what belongs to one task. The task's kind knows its keys and settings.
function lib.is_own_lane(lane) return string.byte(lane) == 35 end

function lib.lane_key(lane)
  if lib.is_own_lane(lane) then return lib.hooks.parts.lane_key(lane) end
  return P .. ':lane:' .. lane
end

function lib.active_key(lane)
  if lib.is_own_lane(lane) then return lib.hooks.parts.lane_active(lane) end
  return P .. ':lane:' .. lane .. SUBKEY.active
end

function lib.lane_conf(lane)
  local conf = ctx.lane_confs[lane]
  if conf then return conf end
  if lib.is_own_lane(lane) then
    conf = lib.hooks.parts.lane_conf(lane)
  else
    local reply = lib.try('HMGET', lib.lane_key(lane) .. SUBKEY.conf, 'limit', 'paused', 'weight', 'rate', 'tat')
    if reply then
      local limit, paused, weight, rate, tat = unpack(reply)
      conf = { limit = lib.number_of(limit), paused = paused == '1', weight = max(1, lib.number_of(weight) or 1) }
      if rate then lib.fill_bucket(conf, rate, tat) end
    else
      conf = { paused = true, weight = 1, unreadable = true } -- its limits are not known: it is closed
    end
  end
  ctx.lane_confs[lane] = conf
  return conf
end

local function lane_score(priority, number) return (100 - priority) * BAND + number end

-- `record` is that of the task: if it has a key whose turns are taken, it waits there instead.
function lib.enter_lane(lane, id, priority, number, record)
  local score = lane_score(lib.number_of(priority) or 0, number)
  if record and record[F.limit_key] and not lib.take_turn(id, record, score) then return end
  lib.append_scored(ctx.lane_entries, lane, score, id)
end

-- `name` is that of the task: if the name is paused, its set has the task in place of the lane.
function lib.leave_lane(lane, id, name)
  local count = lib.try('ZREM', lib.lane_key(lane), id)
  if count == 0 and name then lib.try('ZREM', P .. ':paused:' .. name, id) end
  ctx.touched[lane] = true
end

function lib.take_slot(lane, id)
  if lib.lane_conf(lane).limit then lib.try('SADD', lib.active_key(lane), id) end
end

function lib.free_slot(lane, id)
  if lib.lane_conf(lane).limit then lib.try('SREM', lib.active_key(lane), id); ctx.touched[lane] = true end
end

-- The lane of a task. That of a lost record is not known.
function lib.lane_of_record(id)
  local _, state, lane = lib.values_of(lib.task_key(id), F.state, F.lane)
  return state and (lane or 'default')
end

-- How many more tasks of the lane its own limit allows; nil = any number.
local function free_of_limit(lane, conf)
  local held = conf.limit and (lib.try(lib.is_own_lane(lane) and 'ZCARD' or 'SCARD', lib.active_key(lane)) or conf.limit)
  return conf.limit and max(0, conf.limit - held)
end

-- How many more tasks of the lane may be leased now; nil = any number.
function lib.free_slots(lane)
  local conf = lib.lane_conf(lane)
  local free = free_of_limit(lane, conf)
  if conf.turn then return min(free or 1e9, lib.turns_of_lane(lane, conf.turn)) end
  if not conf.rate then return free end
  return min(free or 1e9, lib.tokens_of(conf))
end

-- Raises before anything is written if a task cannot be placed in the lane.
function lib.need_lane(lane)
  local conf = lib.lane_conf(lane)
  if conf.unreadable then call('HLEN', lib.lane_key(lane) .. SUBKEY.conf) end
  if conf.limit then call('SCARD', lib.active_key(lane)) end
end

local function join_round(lane)
  local first = call('ZRANGE', P .. ':lanes:ready', 0, 0, 'WITHSCORES')
  lib.try('ZADD', P .. ':lanes:ready', first[2] or 0, lane)
  ctx.calm = false
end

-- Adds the lane to the round or removes it. Returns whether it is in the round now.
function lib.refresh_lane(lane)
  local conf = lib.lane_conf(lane)
  local free = conf.turn and free_of_limit or lib.free_slots
  local ready = not conf.paused and free(lane, conf) ~= 0 and call('EXISTS', lib.lane_key(lane)) == 1
  if conf.turn then ready = lib.hold_turn(lane, conf.turn, ready) end
  if not ready then
    lib.try('ZREM', P .. ':lanes:ready', lane)
    if conf.rate and not conf.paused and lib.tokens_of(conf) == 0 and call('EXISTS', lib.lane_key(lane)) == 1 then
      lib.await_tokens(lane, lib.lane_key(lane) .. SUBKEY.conf, conf)
    end
  elseif not call('ZSCORE', P .. ':lanes:ready', lane) then
    join_round(lane)
  end
  return ready
end

-- The lane's key has a wrong type. The agenda tries its tasks again later.
local function come_back(entries)
  for i = 2, #entries, 2 do lib.try('ZADD', P .. ':agenda', lib.text(now + 1000), entries[i]) end
end

-- `placed` is a lane whose entries are written already.
-- `brought` counts the tasks for which workers are woken. Tasks of a lane that no worker may claim from do not count.
function lib.flush_lanes(placed)
  for _, each in ipairs(ctx.limits_touched and lib.pass_turns() or NONE) do
    if lib.is_own_lane(each.id) then
      ctx.touched[each.id], ctx.gain[each.id] = true, ctx.gain[each.id] or 1
    else
      lib.append_scored(ctx.lane_entries, each.lane, each.score, each.id)
    end
  end
  for lane, entries in pairs(ctx.lane_entries) do
    if lane ~= placed and not lib.call_sliced('ZADD', lib.lane_key(lane), entries) then come_back(entries) end
    if ctx.touched[lane] or not call('ZSCORE', P .. ':lanes:ready', lane) then
      ctx.touched[lane] = true
      lib.try('ZADD', P .. ':lanes', NOW, lane)
    else
      ctx.brought = ctx.brought + #entries / 2
    end
  end
  for lane in pairs(ctx.touched) do
    local ready, entries = lib.refresh_lane(lane), ctx.lane_entries[lane]
    local gain = entries and #entries / 2 or ctx.gain[lane]
    if ready and gain then
      ctx.brought = ctx.brought + min(gain, lib.free_slots(lane) or gain)
      ctx.gain[lane] = nil
    end
  end
  ctx.lane_entries, ctx.touched = {}, {}
  if ctx.limits_touched then lib.flush_lanes() end -- a lane has given its turn back
end
