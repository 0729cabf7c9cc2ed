-- Chunks of a map-reduce task whose record is removed or replaced.
-- Tells workers that run a chunk that it is not needed, at most 100. Other workers learn it when they renew the lease.
--@needs chunk_turns lanes store_helpers transitions wakeup

function lib.tell_holders(task)
  for _, number in ipairs(lib.safe_call('ZRANGE', TASK .. task .. '#chunks:active', 0, 99)) do
    local row = lib.named_fields(TASK .. task .. '#' .. number, F.worker)
    if row and row[F.worker] then lib.tell_worker(row[F.worker], task .. '#' .. number) end
  end
end

-- Opens or closes the lane of the task's chunks, as the task's record says now.
function lib.turn_lane(task)
  ctx.lane_confs['#' .. task] = nil
  ctx.touched['#' .. task] = true
end

-- The chunks of this id belong to no task any more. The agenda deletes them in steps.
function lib.abandon_chunks(id)
  lib.turn_lane(id)
  lib.tell_holders(id)
  lib.schedule('~chunks:' .. id, now)
end

local function has_any(id)
  local sets = TASK .. id .. '#chunks:'
  return lib.safe_call('EXISTS', sets .. 'pending', sets .. 'active', sets .. 'errored', sets .. 'done', sets .. 'failed') > 0
end

function lib.hooks.erase.mapreduce.abandon(id, record)
  if record then lib.end_turns_of_chunks(id, record) end
  if record and record[F.has_chunks] or not record and has_any(id) then lib.abandon_chunks(id) end
end

function lib.hooks.ending.mapreduce.cancel_parts(id, record)
  if record[F.state] == 'aggregating' then lib.turn_lane(id); lib.tell_holders(id) end
end
