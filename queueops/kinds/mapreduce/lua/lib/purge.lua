-- Deletion of a task's chunks, in steps. The chunks of an id belong to the record that has `ch`: the task's own, or that
-- in the trash. The agenda deletes chunks without a record.
--@needs chunk_lane chunk_sets chunk_turns lanes limits second_run store_helpers transitions

fresh.purge_room = 500 -- chunks in one call of a script

local function forget_places(task, state, numbers)
  if state ~= 'active' and state ~= 'errored' then return end
  for _, number in ipairs(numbers) do
    local ref = task .. '#' .. number
    lib.unschedule(ref)
    if state == 'active' then lib.leave_active('#' .. task, ref) end
  end
end

-- Deletes all chunks, or those of an unfinished map from number `from` on (above 0). Returns how many are left.
function lib.purge_chunks(task, from)
  local left, low = 0, from and from > 0 and lib.text(from)
  if not low then lib.safe_call('UNLINK', lib.chunk_set(task, 'stages')) end -- what is no longer whole is not gone on with
  for _, number in ipairs(lib.safe_call('SRANDMEMBER', lib.chunk_set(task, 'twins'), 100)) do lib.drop_twin(task, number) end
  for _, state in ipairs(CHUNK_STATES) do
    local key, keys = lib.chunk_set(task, state), {}
    local least = low and state == 'pending' and low or '-inf'
    local numbers = ctx.purge_room > 0 and lib.safe_call('ZRANGEBYSCORE', key, least, '+inf', 'LIMIT', 0, ctx.purge_room) or {}
    for _, number in ipairs(numbers) do
      local chunk = TASK .. task .. '#' .. number
      keys[#keys + 1] = chunk; keys[#keys + 1] = chunk .. SUBKEY.log
    end
    forget_places(task, state, numbers)
    for i = 1, #keys, 1000 do lib.safe_call('DEL', unpack(keys, i, min(i + 999, #keys))) end
    if #numbers > 0 then lib.call_sliced('ZREM', key, numbers) end
    ctx.purge_room = ctx.purge_room - #numbers
    left = left + lib.safe_call('ZCOUNT', key, least, '+inf')
  end
  left = left + lib.safe_call('SCARD', lib.chunk_set(task, 'twins'))
  if left == 0 then lib.safe_call('UNLINK', lib.chunk_set(task, 'by'), lib.chunk_set(task, 'unable'), lib.chunk_set(task, 'edits')) end
  ctx.touched['#' .. task] = true
  return left
end

function lib.has_chunks(key)
  local row = lib.named_fields(key, 'ch')
  return row and row[F.has_chunks] ~= false
end

function lib.hooks.erase.mapreduce.purge(id, record)
  if record[F.has_chunks] and lib.purge_chunks(id) > 0 then return true end
  record[F.has_chunks] = nil -- none is left for the agenda
  return false
end

function lib.hooks.erase.mapreduce.purge_trash(id) return lib.has_chunks(P .. ':trash:' .. id) and lib.purge_chunks(id) > 0 end

-- Second runs of a task in the trash could not begin, for its record is not in its place: they end.
function lib.hooks.erase.mapreduce.to_trash(id, record)
  if not record[F.has_chunks] then return end
  local conf = { name = record[F.name], turn = lib.turn_of_chunks(record) }
  for _, number in ipairs(lib.safe_call('SMEMBERS', lib.chunk_set(id, 'twins'))) do lib.drop_twin(id, number, false, conf) end
  lib.end_turns_of_chunks(id, record)
  lib.safe_call('DEL', lib.chunk_set(id, 'by'))
  ctx.touched['#' .. id] = true
end

-- A task is back. Chunks that still run have a place of their key, and their workers have them.
function lib.hooks.erase.mapreduce.from_trash(id)
  local conf, refs = lib.lane_conf('#' .. id), lib.running_chunks(id)
  if conf.turn then lib.call_sliced('SADD', lib.key_of_limit(lib.scope_of(conf.turn)) .. SUBKEY.active, refs) end
  if not conf.each then return end
  for _, ref in ipairs(refs) do lib.count_by_worker(id, (lib.named_fields(TASK .. ref, F.worker) or NONE)[F.worker], 1) end
end
