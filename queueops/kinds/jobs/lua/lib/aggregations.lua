-- The life of an aggregation: it vanishes after its idle time, if no record of a job is left in its lane. A destination of
-- callbacks does the same.
-- Key `lane:<lane>#jobs`: the ids of the jobs that have a record, without those in the trash.
-- Settings of the lane: `title` (what it stands for), `idle` (ms), `drain` ('1': it takes no jobs), `proxy`; `first` of a
-- destination: see job_lane_settings.lua.
--@needs fieldcheck job_lane_settings lanes minute_counts store_helpers transitions

lib.aggregations = {}

local PAGE, MOST_STALE = 100, 2000
local SETTINGS = { 'idle', 'paused', 'drain', 'first', 'limit', 'rate', 'weight', 'said:limit', 'said:rate', 'said:weight' }

local function members_key(lane) return lib.lane_key(lane) .. SUBKEY.jobs end

-- Jobs that a call has created: their ids by lane.
function lib.aggregations.list(ids_by_lane)
  for lane, ids in pairs(ids_by_lane) do lib.call_sliced('SADD', members_key(lane), ids) end
end

function lib.aggregations.unlist(id, record) lib.try('SREM', members_key(record[F.lane] or 'default'), id) end

-- The size of the index of a lane, after members that are no jobs of it were removed: their record is lost, or was moved.
local function members_of(lane)
  local key = members_key(lane)
  for _ = 1, MOST_STALE / PAGE do
    local some = lib.safe_call('SRANDMEMBER', key, PAGE)
    if not some[1] then return 0 end
    for _, id in ipairs(some) do
      local row = lib.named_fields(lib.task_key(id), F.lane)
      if row and row[F.lane] == lane then return lib.safe_call('SCARD', key) end
      lib.safe_call('SREM', key, id)
    end
  end
  return lib.safe_call('SCARD', key)
end

-- How many jobs are in a lane by the display counters, which know jobs that were moved there.
local function counted(lane)
  local fields, sum = {}, 0
  for state in pairs(CLASS) do fields[#fields + 1] = 's|' .. lane .. '|' .. state end
  for _, count in ipairs(lib.fields_of(P .. ':counts', unpack(fields)) or { '1' }) do sum = sum + (lib.number_of(count) or 0) end
  return sum
end

-- How many records of jobs or callbacks are in a lane, in any state. The index decides: counters that are too low delete no limit.
-- A job that this call has placed there counts, too. Callbacks have no index: each brings the settings of its lane.
function lib.aggregations.jobs_in(lane)
  local placed = (ctx.lane_states[lane] or ctx.lane_entries[lane]) and 1 or 0
  local held = lib.safe_call('SCARD', lib.lane_key(lane) .. SUBKEY.active)
  return max(members_of(lane), counted(lane) + placed, lib.safe_call('ZCARD', lib.lane_key(lane)), held)
end

function lib.aggregations.forget(lane)
  local key = lib.lane_key(lane)
  call('DEL', key .. SUBKEY.conf, key .. SUBKEY.active, key .. SUBKEY.jobs)
  call('ZREM', P .. ':lanes', lane)
  call('ZREM', P .. ':lanes:ready', lane)
  call('ZREM', P .. ':agenda', '~lane:' .. lane, '~idle:' .. lane)
  ctx.lane_confs[lane] = nil
end

-- Acts on the end of the idle time. One that is paused or drained stays. So does an aggregation that the settings name, and a
-- destination whose settings an operator has changed.
function lib.hooks.due_entry.idle(lane)
  local row = lib.named_fields(lib.lane_key(lane) .. SUBKEY.conf, unpack(SETTINGS))
  local idle = row and lib.number_of(row.idle)
  if not idle then return end
  local used = lib.number_of(lib.safe_call('ZSCORE', P .. ':lanes', lane)) or 0
  local is_set = row['said:limit']
  if row.first then is_set = lib.job_lanes.is_changed(row) end
  local stays = row.paused == '1' or row.drain == '1' or is_set or lib.aggregations.jobs_in(lane) > 0
  if not stays and used + idle <= now then return lib.aggregations.forget(lane) end
  lib.schedule('~idle:' .. lane, stays and now + idle or used + idle)
end

-- An entry of a lane without an idle time is of no use.
function lib.hooks.check_entry.idle(lane)
  local row = lib.named_fields(lib.lane_key(lane) .. SUBKEY.conf, 'idle')
  if not (row and row.idle) and lib.wrong('~idle:' .. lane, 'the agenda has a lane that does not vanish') then
    lib.unschedule('~idle:' .. lane)
  end
end

function lib.hooks.erase.job.to_trash(id, record) lib.aggregations.unlist(id, record) end

function lib.hooks.erase.job.from_trash(id)
  local row = lib.named_fields(lib.task_key(id), F.lane)
  if row and row[F.lane] then lib.aggregations.list({ [row[F.lane]] = { id } }) end
end
