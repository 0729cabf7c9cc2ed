-- The lane `#<task>` holds the pending chunks of one map-reduce task. It is open while the task is in the state
-- `aggregating`. The task's own fields limit it.
--@needs store_helpers

function lib.hooks.own_lane_key(lane) return TASK .. string.sub(lane, 2) .. '#chunks:pending' end
function lib.hooks.own_lane_active(lane) return TASK .. string.sub(lane, 2) .. '#chunks:active' end

-- Settings of a task's chunk lane, read once. While `rd` is set, a bulk action moves chunks, and none is claimed.
function lib.hooks.own_lane_conf(lane)
  local task = string.sub(lane, 2)
  local row = lib.fields_of(TASK .. task, 's', 'mx', 'rd', 'xw', 'n', 'xr', 'xp', 'xt', 'ro', 'l', 'p', 'un', 'me') or {}
  return { state = row[1], limit = lib.number_of(row[2]), paused = row[1] ~= 'aggregating' or row[3], weight = 1,
    each = lib.number_of(row[4]), name = row[5] or '?', retries = row[6] or '0', retry = row[7], timeout = row[8],
    root = row[9] or task, lane = row[10] or 'default', priority = row[11], unable = row[12], meta = row[13] }
end
