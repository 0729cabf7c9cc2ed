-- One generation of an id after another, and those who wait for the end of one.

-- What is counted of a task goes over to another name and kind.
local function recount(record, values)
  local state, kind, other = record.s, record.k or 'task', values.k or 'task'
  if record.n ~= values.n then write_tally('n|', { [record.n] = { [state] = -1 }, [values.n] = { [state] = 1 } }) end
  if kind == other then return end
  if kind ~= 'task' then write_tally('k|', { [kind] = { [state] = -1 } }) end
  if other ~= 'task' then write_tally('k|', { [other] = { [state] = 1 } }) end
end

-- Who waits for the end of a generation still reads it for a while when the next one has its place.
local function keep_last(id, record)
  local key = task_key(id)
  if not TERMINAL[record.s] then return publish(key .. '#done', 'superseded') end
  call('RENAME', key, key .. '#last')
  safe_call('HDEL', key .. '#last', 'a')
  call('EXPIRE', key .. '#last', 60)
end

-- A new generation takes the place of a task: one move, from the state that the old one was in. What was collected
-- before must have been written, for it may be about the same id.
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

-- The one who pushed with run_after gets the turn now that this generation has ended.
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
