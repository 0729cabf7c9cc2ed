-- The life of an aggregation: it vanishes after its idle time, if no record of a job is left in its lane.
-- Settings of the lane: `title` (what it stands for), `idle` (ms), `drain` ('1': it takes no jobs), `proxy`.
--@needs fieldcheck lanes store_helpers transitions

lib.aggregations = {}

-- How many records of jobs are in a lane, in any state. A job that this call has placed there counts, too.
function lib.aggregations.jobs_in(lane)
  local fields, sum = {}, 0
  for state in pairs(CLASS) do fields[#fields + 1] = 's|' .. lane .. '|' .. state end
  for _, count in ipairs(lib.fields_of(P .. ':counts', unpack(fields)) or { '1' }) do sum = sum + (lib.number_of(count) or 0) end
  if ctx.lane_states[lane] or ctx.lane_entries[lane] then sum = sum + 1 end
  return max(sum, lib.safe_call('ZCARD', lib.lane_key(lane)))
end

function lib.aggregations.forget(lane)
  local key = lib.lane_key(lane)
  call('DEL', key .. '#conf', key .. '#active')
  call('ZREM', P .. ':lanes', lane)
  call('ZREM', P .. ':lanes:ready', lane)
  call('ZREM', P .. ':agenda', '~lane:' .. lane, '~idle:' .. lane)
  ctx.lane_confs[lane] = nil
end

-- Acts on the end of the idle time. One that is paused or drained, or that the settings name, stays.
function lib.hooks.due_entry.idle(lane)
  local row = lib.fields_of(lib.lane_key(lane) .. '#conf', 'idle', 'paused', 'drain', 'said:limit')
  local idle = row and lib.number_of(row[1])
  if not idle then return end
  local used = lib.number_of(lib.safe_call('ZSCORE', P .. ':lanes', lane)) or 0
  local stays = row[2] == '1' or row[3] == '1' or row[4] or lib.aggregations.jobs_in(lane) > 0
  if not stays and used + idle <= now then return lib.aggregations.forget(lane) end
  lib.schedule('~idle:' .. lane, stays and now + idle or used + idle)
end

-- An entry of a lane without an idle time is of no use.
function lib.hooks.check_entry.idle(lane)
  local row = lib.fields_of(lib.lane_key(lane) .. '#conf', 'idle')
  if not (row and row[1]) and lib.wrong('~idle:' .. lane, 'the agenda has a lane that does not vanish') then
    lib.unschedule('~idle:' .. lane)
  end
end
