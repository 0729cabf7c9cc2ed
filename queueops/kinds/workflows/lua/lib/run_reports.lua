-- Reports of activities and children: the run that waits for one is told its end, also if it is deleted before that.
--@needs run_marks run_outgoing runs store_helpers transitions

function lib.hooks.note_end.workflow(id, record, state)
  if record.vr and not (record.vd or record.vx) then lib.runs.report(id, record, state) end
end

function lib.hooks.note_end.activity(id, record, state)
  local row = lib.named_fields(lib.task_key(id), 'vr', 'vn', 'vd', 'vt', 'vk', 'u') or {}
  if row.vr and not row.vd then
    local call_of = { vr = row.vr, vn = row.vn, vt = row.vt or nil, vk = row.vk or nil, u = row.u, crashed = record.crashed }
    lib.runs.report(id, call_of, state)
  end
end

-- An operator has deleted an activity that had not ended.
function lib.hooks.abandon.activity(id, record)
  if not record or TERMINAL[record.s] or not record.vr or record.vd then return end
  if record.vt then return lib.far_calls.report(id, record, 'failed', { y = 'it was deleted before its end' }) end
  lib.runs.finish_call(record.vr, record.vn, '{"e":"failed","c":' .. record.vn .. ',"at":' .. NOW
    .. ',"s":"failed","y":"it was deleted before its end"}')
end

-- What the index of instances has of a run: its instance, and the call of a child.
local function names_of(record)
  local names = { record.vi or nil }
  if record.vr then names[#names + 1] = record.vr .. '.' .. record.vn end
  return names
end

local function leave_index(id, record)
  for _, name in ipairs(names_of(record)) do
    if lib.safe_call('HGET', P .. ':instances', name) == id then lib.safe_call('HDEL', P .. ':instances', name) end
  end
end
function lib.hooks.to_trash.workflow(id, record)
  leave_index(id, record)
  lib.run_marks.leave_all(id)
end

-- It has come back. Meanwhile its instance may have begun another run.
function lib.hooks.from_trash.workflow(id)
  local row = lib.named_fields(lib.task_key(id), 'vi', 've') or {}
  if row.vi then lib.safe_call('HSETNX', P .. ':instances', row.vi, id) end
  if row.ve then lib.run_marks.enter('continued', id, lib.number_of(row.ve)) end
end

function lib.hooks.abandon.workflow(id, record)
  lib.run_marks.leave_all(id)
  if record then leave_index(id, record) end
end
