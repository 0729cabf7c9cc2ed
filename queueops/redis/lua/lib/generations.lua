-- Generations of an id: replaces one by the next, and tells the callers that wait for its end.
--@needs lanes records store_helpers transitions

-- Moves the counts of a task to the name, kind and lane of its next generation.
local function recount(record, values)
  local state, kind, other = record[F.state], record[F.kind] or 'task', values[F.kind] or 'task'
  if record[F.name] ~= values[F.name] then
    lib.write_tally('n|', { [record[F.name]] = { [state] = -1 }, [values[F.name]] = { [state] = 1 } })
  end
  if record[F.lane] ~= values[F.lane] then
    lib.count_in_lane(record[F.lane], state, -1)
    lib.count_in_lane(values[F.lane], state, 1)
  end
  if kind == other then return end
  if kind ~= 'task' then lib.write_tally('k|', { [kind] = { [state] = -1 } }) end
  if other ~= 'task' then lib.write_tally('k|', { [other] = { [state] = 1 } }) end
end

-- Keeps an ended generation for 60 seconds, so that a waiting caller can read it. If it has not ended, callers are told that
-- it was superseded.
local function keep_last(id, record)
  local key = lib.task_key(id)
  if not TERMINAL[record[F.state]] then return lib.publish(key .. SUBKEY.done, 'superseded') end
  call('RENAME', key, key .. SUBKEY.last)
  lib.safe_call('HDEL', key .. SUBKEY.last, 'a')
  call('EXPIRE', key .. SUBKEY.last, 60)
end

-- Clears a task for its next generation. Both together are one move, from the old task's state. Collected moves must be
-- written before, because one of them may be about the same id.
function lib.make_way(id, record, values)
  lib.unlist(id, record)
  if record[F.waited_for] then keep_last(id, record) end
  lib.wipe(id, record)
  recount(record, values)
end

function lib.supersede(id, record, fields, values, due)
  lib.make_way(id, record, values)
  return lib.create(id, fields, values, due, record[F.state])
end

-- Starts the push with `run_after` that waits for the end of this generation.
function lib.start_next(id)
  local key = lib.task_key(id)
  local stash = lib.safe_call('HGETALL', key .. SUBKEY.next)
  if #stash == 0 then return end
  local values, due = {}, nil
  for i = 1, #stash, 2 do values[stash[i]] = stash[i + 1] end
  if values['#due'] then
    due = now + tonumber(values['#due'])
    for i = #stash - 1, 1, -2 do if stash[i] == '#due' then table.remove(stash, i); table.remove(stash, i) end end
  end
  lib.flush(); lib.flush_lanes()
  lib.supersede(id, lib.read_record(id), stash, values, due)
end
