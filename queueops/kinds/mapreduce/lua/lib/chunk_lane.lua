-- The lane `#<task>` holds the pending chunks of one map-reduce task. It is open while the task is in the state
-- `aggregating`. The task's own fields limit it.
--@needs store_helpers

function lib.hooks.parts.lane_key(lane) return TASK .. string.sub(lane, 2) .. '#chunks:pending' end
function lib.hooks.parts.lane_active(lane) return TASK .. string.sub(lane, 2) .. '#chunks:active' end

-- Settings of a task's chunk lane, read once. While `rd` is set, a bulk action moves chunks, and none is claimed.
function lib.hooks.parts.lane_conf(lane)
  local task = string.sub(lane, 2)
  local row = lib.named_fields(TASK .. task, 's', 'mx', 'rd', 'xw', 'n', 'xr', 'xp', 'xt', 'ro', 'l', 'p', 'un', 'me') or {}
  return { state = row.s, limit = lib.number_of(row.mx), paused = row.s ~= 'aggregating' or row.rd, weight = 1,
    each = lib.number_of(row.xw), name = row.n or '?', retries = row.xr or '0', retry = row.xp, timeout = row.xt,
    root = row.ro or task, lane = row.l or 'default', priority = row.p, unable = row.un, meta = row.me }
end
