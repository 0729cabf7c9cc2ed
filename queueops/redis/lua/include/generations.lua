-- Generations of an id: replaces one by the next, and tells the callers that wait for its end.

-- Moves the counts of a task to the name and kind of its next generation.
local function recount(record, values)
  local state, kind, other = record.s, record.k or 'task', values.k or 'task'
  if record.n ~= values.n then write_tally('n|', { [record.n] = { [state] = -1 }, [values.n] = { [state] = 1 } }) end
  if kind == other then return end
  if kind ~= 'task' then write_tally('k|', { [kind] = { [state] = -1 } }) end
  if other ~= 'task' then write_tally('k|', { [other] = { [state] = 1 } }) end
end

-- Keeps an ended generation for 60 seconds, so that a waiting caller can read it. If it has not ended, callers are told that
-- it was superseded.
local function keep_last(id, record)
  local key = task_key(id)
  if not TERMINAL[record.s] then return publish(key .. '#done', 'superseded') end
  call('RENAME', key, key .. '#last')
  safe_call('HDEL', key .. '#last', 'a')
  call('EXPIRE', key .. '#last', 60)
end

-- Clears a task for its next generation. Both together are one move, from the old task's state. Collected moves must be
-- written before, because one of them may be about the same id.
local function make_way(id, record, values)
  unlist(id, record)
  if record.wt then keep_last(id, record) end
  wipe(id, record)
  if record.ch then abandon_chunks(id) end
  recount(record, values)
end

local function supersede(id, record, fields, values, due)
  make_way(id, record, values)
  return create(id, fields, values, due, record.s)
end

-- Starts the push with `run_after` that waits for the end of this generation.
local function start_next(id)
  local key = task_key(id)
  local stash = safe_call('HGETALL', key .. '#next')
  if #stash == 0 then return end
  local values, due = {}, nil
  for i = 1, #stash, 2 do values[stash[i]] = stash[i + 1] end
  if values['#due'] then
    due = now + tonumber(values['#due'])
    for i = #stash - 1, 1, -2 do if stash[i] == '#due' then table.remove(stash, i); table.remove(stash, i) end end
  end
  flush(); flush_lanes()
  supersede(id, read_record(id), stash, values, due)
end
