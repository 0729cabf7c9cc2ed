-- The end of a map: its task waits for the chunks. Without chunks the reduce comes at once.
--@needs abandon_chunks chunk_sets lanes outcomes store_helpers transitions

local function settle_map(id, record, count)
  if record.x then return lib.finish(id, record, 'cancelled', 'y', record.x) end
  lib.leave_lease(id, record, 'aggregating'); lib.unschedule(id)
  call('HSET', lib.task_key(id), 's', 'aggregating', 'cn', count, 'to', count, 'pr', 0, 'at', 0, 'cr', 0)
  if record.pi then lib.hooks.tree.weigh(id) end
  call('HDEL', lib.task_key(id), 'mw'); call('UNLINK', lib.chunk_set(id, 'stages'))
  lib.log_line(id, { k = 'mapped', begun = lib.number_of(record.b), worker = record.w, text = count .. ' chunks' })
  lib.flush(); lib.turn_lane(id)
  ctx.gain['#' .. id] = tonumber(count)
  ctx.gathering[id] = false
end

function lib.hooks.settle.mapreduce.succeed(id, row, count)
  if row.s ~= 'mapping' then return nil end
  local record = lib.read_record(id)
  if not record then return false end -- the agenda finds out, and puts it into quarantine
  settle_map(id, record, count)
  return true
end
