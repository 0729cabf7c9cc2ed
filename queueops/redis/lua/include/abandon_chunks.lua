-- What a map-reduce task leaves behind when its record goes: its chunks.
-- Those who run a chunk of a task that needs it no more are told; at most 100, the others learn it as they extend.
local function tell_holders(task)
  for _, number in ipairs(safe_call('ZRANGE', TASK .. task .. '#chunks:active', 0, 99)) do
    local row = fields_of(TASK .. task .. '#' .. number, 'w')
    if row and row[1] then tell_worker(row[1], task .. '#' .. number) end
  end
end

-- The task's chunks are no longer, or again, to be claimed: as its record says now.
local function turn_lane(task)
  lane_confs['#' .. task] = nil
  touched['#' .. task] = true
end

-- The chunks under this id belong to no task any more: the agenda deletes them, a part at a time.
local function abandon_chunks(id)
  turn_lane(id)
  tell_holders(id)
  schedule('~chunks:' .. id, now)
end

local function any_chunks(id)
  local sets = TASK .. id .. '#chunks:'
  return safe_call('EXISTS', sets .. 'pending', sets .. 'active', sets .. 'errored', sets .. 'done', sets .. 'failed') > 0
end
