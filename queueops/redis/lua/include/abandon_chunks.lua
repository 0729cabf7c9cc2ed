-- Chunks of a map-reduce task whose record is removed or replaced.
-- Tells workers that run a chunk that it is not needed, at most 100. Other workers learn it when they renew the lease.
local function tell_holders(task)
  for _, number in ipairs(safe_call('ZRANGE', TASK .. task .. '#chunks:active', 0, 99)) do
    local row = fields_of(TASK .. task .. '#' .. number, 'w')
    if row and row[1] then tell_worker(row[1], task .. '#' .. number) end
  end
end

-- Opens or closes the lane of the task's chunks, as the task's record says now.
local function turn_lane(task)
  lane_confs['#' .. task] = nil
  touched['#' .. task] = true
end

-- The chunks of this id belong to no task any more. The agenda deletes them in steps.
local function abandon_chunks(id)
  turn_lane(id)
  tell_holders(id)
  schedule('~chunks:' .. id, now)
end

local function any_chunks(id)
  local sets = TASK .. id .. '#chunks:'
  return safe_call('EXISTS', sets .. 'pending', sets .. 'active', sets .. 'errored', sets .. 'done', sets .. 'failed') > 0
end
