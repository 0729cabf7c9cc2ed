-- Lanes of jobs and callbacks: the first push to a lane gives it its settings, as a text of names and values.
-- Field `ld` of a callback holds the text of its lane. The lane keeps it as `first`: it vanishes if that still holds, and a
-- callback that comes later gives it the same again. A value `-` stands for an empty one. `title` is last, and optional.
--@needs fieldcheck lanes slot_holders store_helpers transitions

lib.job_lanes = {}

local function pairs_of(settings) return string.gmatch(string.gsub(settings, ' ?title .*$', '', 1), '(%S+) (%S+)') end

-- Gives a lane that no push has declared its settings. What an operator or the settings have set before stays. A limit counts
-- the tasks that run there already.
function lib.job_lanes.declare(lane, title, settings, proxy, first)
  local key = lib.lane_key(lane) .. SUBKEY.conf
  if lib.safe_call('HSETNX', key, 'title', title) ~= 1 then return end
  for name, value in pairs_of(settings) do
    local is_new = call('HSETNX', key, name, value == '-' and '' or value) == 1
    if is_new and name == 'limit' then lib.list_slot_holders(lane) end
    if is_new and name == 'idle' then lib.schedule('~idle:' .. lane, now + (lib.number_of(value) or 0)) end
  end
  if proxy ~= '' then call('HSET', key, 'proxy', proxy) end
  if first ~= '' then call('HSET', key, 'first', first) end
  lib.safe_call('ZADD', P .. ':lanes', 'NX', NOW, lane)
  ctx.lane_confs[lane] = nil
end

-- Whether an operator has changed what a lane began with. What the setting POOLS says of it now is no change.
function lib.job_lanes.is_changed(row)
  local began = {}
  for name, value in pairs_of(row.first) do began[name] = value end
  for _, name in ipairs({ 'limit', 'rate', 'weight' }) do
    local usual, said = name == 'weight' and 1 or nil, row['said:' .. name]
    local wanted = said and said ~= '' and said or began[name]
    if (lib.number_of(row[name]) or usual) ~= (lib.number_of(wanted) or usual) then return true end
  end
  return false
end

-- A callback is about to enter its lane, which may have vanished.
function lib.job_lanes.open(lane, settings)
  if not (lane and settings) or string.sub(lane, 1, 3) ~= 'to:' then return end
  lib.job_lanes.declare(lane, string.match(settings, 'title (.*)$') or string.sub(lane, 4), settings, '', settings)
end

function lib.hooks.claim.callback.open_lane(values) lib.job_lanes.open(values[F.lane], values[F.lane_settings]) end

function lib.hooks.claim.callback.promote(_, record)
  lib.job_lanes.open(record[F.lane], record[F.lane_settings])
  return false
end

function lib.hooks.retry.callback.resume(_, record) lib.job_lanes.open(record[F.lane], record[F.lane_settings]) end

function lib.hooks.erase.callback.from_trash(id)
  local row = lib.named_fields(lib.task_key(id), F.lane, F.lane_settings)
  if row then lib.job_lanes.open(row[F.lane], row[F.lane_settings]) end
end

-- The consistency check of a lane that vanishes when it is idle: its idle time is a number, and the agenda knows its end.
function lib.hooks.check.jobs.lane(lane)
  local key = lib.lane_key(lane) .. SUBKEY.conf
  local _, idle = lib.values_of(key, 'idle')
  if not idle then return end
  if not lib.number_of(idle) then
    if lib.wrong('~lane:' .. lane, 'its idle time is not a number') then call('HDEL', key, 'idle') end
  elseif not lib.safe_call('ZSCORE', P .. ':agenda', '~idle:' .. lane) then
    if lib.wrong('~lane:' .. lane, 'it vanishes when it is idle, and is not on the agenda') then
      lib.schedule('~idle:' .. lane, now + lib.number_of(idle))
    end
  end
end
