-- The end of a map: its task waits for the chunks. Without chunks the reduce comes at once.
--@needs abandon_chunks chunk_sets lanes outcomes store_helpers transitions

local function settle_map(id, record, count)
  if record[F.cancel_requested] then return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested]) end
  lib.leave_lease(id, record, 'aggregating'); lib.unschedule(id)
  call('HSET', lib.task_key(id), F.state, 'aggregating', F.chunks, count, F.total, count, F.attempt, 0, F.crashes, 0)
  call('HDEL', lib.task_key(id), F.map_written); call('UNLINK', lib.chunk_set(id, 'stages'))
  lib.log_line(id, { k = 'mapped', begun = lib.number_of(record[F.begun]), worker = record[F.worker], text = count .. ' chunks' })
  lib.flush(); lib.turn_lane(id)
  ctx.gain['#' .. id] = tonumber(count)
  ctx.gathering[id] = false
end

function lib.hooks.settle.mapreduce.succeed(id, row, count)
  if row[F.state] ~= 'mapping' then return nil end
  local record = lib.read_record(id)
  if not record then return false end -- the agenda finds out, and puts it into quarantine
  settle_map(id, record, count)
  return true
end
