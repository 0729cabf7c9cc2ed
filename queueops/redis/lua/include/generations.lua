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

local ended_children = {} -- ends of tasks that are part of a composite, whose turn comes in settle_up()

-- The record may be another one's by then, so what the parent needs is read now.
local function note_child_end(id, parent, state)
  local row = fields_of(task_key(id), 'pu', 'pp', 'k', 'ro', 'tp', 're', 'er', 'ef', 'y', 'po', 'pr', 'ag', 'sx', 'fo', 'to', 'pw',
    'pc', 'pl', 'cc')
  ended_children[#ended_children + 1] = { ref = id, parent = parent, uid = row[1], pool = row[2], kind = row[3],
    root = row[5] or row[4], state = state, re = row[6] or '', er = state == 'failed' and row[7], ef = state == 'failed' and row[8],
    y = row[9], round = row[10], done = row[11], again = row[12],
    successor = row[13], ahead = row[14], counts = { k = row[3], to = row[15], pw = row[16], pc = row[17], pl = row[18], cc = row[19] } }
end

-- Composites that have ended in this call: the caller sends signals of them. Flat: id, kind, name, state, root.
local COMPOSITE, ended_wholes = { chain = true, group = true, iterator = true }, {}
local function note_whole(id, record, state)
  local root = record.ro or record.pi and safe_call('HGET', task_key(id), 'ro')
  for _, part in ipairs({ id, record.k, record.n or '', state, root or '' }) do ended_wholes[#ended_wholes + 1] = part end
end

-- Tells the end of a task to the callers that wait for it, and to its parent.
local function tell_end(id, record, state)
  if COMPOSITE[record.k] then note_whole(id, record, state) end
  if record.wt then publish(task_key(id) .. '#done', state) end
  if record.pi then note_child_end(id, record.pi, state) end
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
