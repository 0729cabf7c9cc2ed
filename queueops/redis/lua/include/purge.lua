-- Deletion of a task's chunks, in steps. The chunks of an id belong to the record that has `ch`: the task's own, or that
-- in the trash. The agenda deletes chunks without a record.
local purge_room = 500 -- chunks in one call of a script

local function forget_places(task, state, numbers)
  if state ~= 'active' and state ~= 'errored' then return end
  for _, number in ipairs(numbers) do
    local ref = task .. '#' .. number
    unschedule(ref)
    if state == 'active' then append(leaving, 'active', ref) end
  end
end

-- Deletes all chunks, or those of an unfinished map from number `from` on (above 0). Returns how many are left.
local function purge_chunks(task, from)
  local left, low = 0, from and from > 0 and text(from)
  if not low then safe_call('UNLINK', chunk_set(task, 'stages')) end -- what is no longer whole is not gone on with
  for _, number in ipairs(safe_call('SRANDMEMBER', chunk_set(task, 'twins'), 100)) do drop_twin(task, number) end
  for _, state in ipairs(CHUNK_STATES) do
    local key, keys = chunk_set(task, state), {}
    local least = low and state == 'pending' and low or '-inf'
    local numbers = purge_room > 0 and safe_call('ZRANGEBYSCORE', key, least, '+inf', 'LIMIT', 0, purge_room) or {}
    for _, number in ipairs(numbers) do
      local chunk = TASK .. task .. '#' .. number
      keys[#keys + 1] = chunk; keys[#keys + 1] = chunk .. '#log'
    end
    forget_places(task, state, numbers)
    for i = 1, #keys, 1000 do safe_call('DEL', unpack(keys, i, min(i + 999, #keys))) end
    if #numbers > 0 then call_sliced('ZREM', key, numbers) end
    purge_room = purge_room - #numbers
    left = left + safe_call('ZCOUNT', key, least, '+inf')
  end
  left = left + safe_call('SCARD', chunk_set(task, 'twins'))
  if left == 0 then safe_call('UNLINK', chunk_set(task, 'by'), chunk_set(task, 'unable'), chunk_set(task, 'edits')) end
  touched['#' .. task] = true
  return left
end

local function has_chunks(key)
  local row = fields_of(key, 'ch')
  return row and row[1] ~= false
end
