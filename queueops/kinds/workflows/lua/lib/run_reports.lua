-- Reports of activities and children: the run that waits for one is told its end, also if it is deleted before that.
--@needs run_marks run_outgoing runs store_helpers transitions

function lib.hooks.ending.workflow.note(id, record, state)
  if record[F.waiting_run] and not (record[F.given_up] or record[F.next_run]) then lib.runs.report(id, record, state) end
end

function lib.hooks.ending.activity.note(id, record, state)
  local row = lib.named_fields(lib.task_key(id), F.waiting_run, F.command, F.given_up, F.waiting_pool, F.call_token, F.uid) or {}
  if row[F.waiting_run] and not row[F.given_up] then
    local call_of = { vr = row[F.waiting_run], vn = row[F.command], vt = row[F.waiting_pool] or nil, vk = row[F.call_token] or nil,
      u = row[F.uid], crashed = record.crashed }
    lib.runs.report(id, call_of, state)
  end
end

-- An operator has deleted an activity that had not ended.
function lib.hooks.erase.activity.abandon(id, record)
  if not record or TERMINAL[record[F.state]] or not record[F.waiting_run] or record[F.given_up] then return end
  if record[F.waiting_pool] then return lib.far_calls.report(id, record, 'failed', { y = 'it was deleted before its end' }) end
  lib.runs.finish_call(record[F.waiting_run], record[F.command], '{"e":"failed","c":' .. record[F.command] .. ',"at":' .. NOW
    .. ',"s":"failed","y":"it was deleted before its end"}')
end

-- What the index of instances has of a run: its instance, and the call of a child.
local function names_of(record)
  local names = { record[F.instance] or nil }
  if record[F.waiting_run] then names[#names + 1] = record[F.waiting_run] .. '.' .. record[F.command] end
  return names
end

local function leave_index(id, record)
  for _, name in ipairs(names_of(record)) do
    if lib.safe_call('HGET', P .. ':instances', name) == id then lib.safe_call('HDEL', P .. ':instances', name) end
  end
end
function lib.hooks.erase.workflow.to_trash(id, record)
  leave_index(id, record)
  lib.run_marks.leave_all(id)
end

-- It has come back. Meanwhile its instance may have begun another run.
function lib.hooks.erase.workflow.from_trash(id)
  local row = lib.named_fields(lib.task_key(id), F.instance, F.continued_at) or {}
  if row[F.instance] then lib.safe_call('HSETNX', P .. ':instances', row[F.instance], id) end
  if row[F.continued_at] then lib.run_marks.enter('continued', id, lib.number_of(row[F.continued_at])) end
end

function lib.hooks.erase.workflow.abandon(id, record)
  lib.run_marks.leave_all(id)
  if record then leave_index(id, record) end
end
