-- Runs of workflows: their inbox, and the commands whose ends they wait for. Beside the record of a run: `#history` and
-- `#inbox` are lists of JSON texts; `#calls` has by the number of a command: `a` and the id of an activity, `c` and the id
-- of a child, or `t` and the time of a timer. `#payloads` has large payloads.
-- `#told` has the tokens of messages. Fields: `vi` instance, `vp` and `vx` the run before and after, `vo` the run that began the
-- history (after a reset), `vr` and `vn` the run that waits for this task and the number of its command, `vt` the pool of that
-- run and `vk` the token of its call (if it is another pool), `vd` that run has given it up, `vs` suspended since, `vb` blocked
-- since, `vc` how often in a row, `vf` fence and `vh` code of the last step, `va` that run has asked it to end, `ve` continued
-- as new at, `vj` what its parent does to it at the end, `vq` status, `vw` waiting places, `vl` late events, `vy` tasks of its
-- code that have failed, `vz` the first run of those that went on as this one.
--@needs minute_counts claim_on_settle handover lanes run_outgoing numbers phases store_helpers transitions

lib.runs = {}

local INLINE = 8192 -- bytes of a payload that its entry has in it; a larger one is in `#payloads`, by the name in `k`

function lib.runs.history_of(id) return lib.task_key(id) .. SUBKEY.history end
function lib.runs.inbox_of(id) return lib.task_key(id) .. SUBKEY.inbox end
function lib.runs.calls_of(id) return lib.task_key(id) .. SUBKEY.calls end
function lib.runs.payloads_of(id) return lib.task_key(id) .. SUBKEY.payloads end

-- The newest run of an instance. An instance without a name of its own is its run.
function lib.runs.newest_of(instance)
  return lib.safe_call('HGET', P .. ':instances', instance) or instance
end

-- The run that a handle means: the one that its run went on as, which is mostly the newest of the instance; without an id,
-- the newest. A run between may have been deleted.
function lib.runs.meant(id, instance)
  local newest = lib.runs.newest_of(instance)
  if id == '' or id == newest or lib.safe_call('HGET', lib.task_key(newest), F.first_run) == id then return newest end
  for _ = 1, 1000 do
    local after = lib.safe_call('HGET', lib.task_key(id), F.next_run)
    if not after then break end
    id = after
  end
  return id
end

-- The last run that a call of a child went on as, by the id of its first run: the runs between may have been deleted. The index
-- of instances has it.
-- Makes a run that goes on again the newest one of its instance: it is the only open one.
function lib.runs.name_newest(id, record)
  if record[F.instance] then lib.safe_call('HSET', P .. ':instances', record[F.instance], id) end
end

function lib.runs.point_to(call_id, id) lib.safe_call('HSET', P .. ':instances', call_id, id) end

-- A call of another run means this task from now on.
function lib.runs.move_pointer(record, id, call_id)
  local before = record[F.waiting_run] and record[F.waiting_run] .. '.' .. record[F.command]
  if not before or before == call_id or before == record[F.instance] then return end
  if lib.safe_call('HGET', P .. ':instances', before) ~= id then return end
  lib.safe_call('HDEL', P .. ':instances', before)
  lib.runs.point_to(call_id, id)
end

-- Counts events for a run that does not wait for them.
function lib.runs.note_late(id, exists, count)
  lib.count_minute('wf|late', count)
  if exists then lib.safe_call('HINCRBY', lib.task_key(id), F.late_events, count) end
end

-- Makes a waiting run ready for its next step: for the worker of its last step, which has it in memory, if that waits; else
-- for the one that this call may give tasks.
function lib.runs.wake(id, row)
  if row[F.state] ~= 'idle' or row[F.suspended_since] then return end
  local room, waits = ctx.at_once.room > 0, row[F.worker] and row[F.worker] ~= ctx.at_once.worker and lib.is_waiting(row[F.worker])
  local record = (room or waits) and not ctx.moved[id] and lib.read_record(id)
  local given = record and (waits and lib.hand_to(row[F.worker], id, record) or room and lib.take_at_once(id, record))
  if given then ctx.moved[id] = true; return end
  lib.shift(id, row, 'pending')
  lib.safe_call('HSET', lib.task_key(id), F.state, 'pending')
  lib.enter_lane(row[F.lane] or 'default', id, row[F.priority], lib.next_number())
end

-- What `wake` needs of a run; nil if it is no run.
function lib.runs.read(id)
  local row = lib.named_fields(lib.task_key(id), F.state, F.kind, F.name, F.lane, F.priority, F.suspended_since, F.instance, F.worker)
  if not (row and row[F.state] and row[F.name]) or row[F.kind] ~= 'workflow' then return nil end
  return { s = row[F.state], k = row[F.kind], n = row[F.name], l = row[F.lane] or nil, p = row[F.priority] or nil,
    vs = row[F.suspended_since] or nil, vi = row[F.instance] or nil,
    w = row[F.worker] or nil }
end

-- Puts an event into the inbox of a run that has not ended, whose `row` may be known.
function lib.runs.deliver(id, text, row)
  lib.safe_call('RPUSH', lib.runs.inbox_of(id), text)
  lib.runs.wake(id, row or lib.runs.read(id))
end

local function quoted(text) return cjson.encode(tostring(text or '')) end

-- Tells a run the end of a command; a command that it has given up tells nothing. A large payload is kept apart, in the field
-- with the number of the command.
function lib.runs.finish_call(run, number, text, payload, field)
  local row = lib.runs.read(run)
  if not row or TERMINAL[row[F.state]] or lib.safe_call('HDEL', lib.runs.calls_of(run), number) == 0 then
    return lib.runs.note_late(run, row, 1)
  end
  if payload then lib.safe_call('HSET', lib.runs.payloads_of(run), field, payload) end
  lib.runs.deliver(run, text, row)
end

-- The event of the end of an activity or a child, and its payload if that is kept apart. The payloads are JSON, and go on as
-- they are. `pool`: that of the task, if it is another one; `kind`: `a` or `c`.
function lib.runs.end_event(number, state, result, error, reason, crashed, pool, kind)
  local head = ',"c":' .. lib.text(tonumber(number) or 0) .. ',"at":' .. NOW
  if pool then head = head .. ',"h":"' .. kind .. '","p":' .. quoted(pool) end
  if state ~= 'succeeded' then
    local why = state == 'failed' and error and error ~= '' and ',"er":' .. error or ''
    local how = crashed and 'crashed' or state
    return '{"e":"failed"' .. head .. ',"s":"' .. how .. '","y":' .. quoted(reason) .. why .. '}'
  end
  if result and #result > INLINE then
    return '{"e":"done"' .. head .. ',"k":"' .. number .. '","z":' .. #result .. '}', result
  end
  return '{"e":"done"' .. head .. (result and result ~= '' and ',"r":' .. result or '') .. '}'
end

-- The event of a command whose end was lost.
function lib.runs.lost_event(number, why)
  return '{"e":"failed","c":' .. number .. ',"at":' .. NOW .. ',"s":"failed","y":"' .. why .. '"}'
end

-- Tells a run that an activity or a child has ended.
function lib.runs.report(id, record, state)
  local ended = lib.named_fields(lib.task_key(id), F.result, F.error, F.reason) or {}
  if record[F.waiting_pool] then return lib.far_calls.report(id, record, state, ended) end
  local text, payload = lib.runs.end_event(record[F.command], state, ended[F.result], ended[F.error], ended[F.reason], record.crashed)
  lib.runs.finish_call(record[F.waiting_run], record[F.command], text, payload, record[F.command])
end

lib.runs.GIVEN_UP = 'its parent does not need it any more'

function lib.runs.cancel_event(reason) return '{"e":"cancel","at":' .. NOW .. ',"y":' .. quoted(reason) .. '}' end

-- Whether this event is the cancel of a child by its parent.
function lib.runs.is_given_up(text)
  return string.find(text, '^{"e":"cancel","at":%d+,"y":"' .. lib.runs.GIVEN_UP .. '"}$') ~= nil
end

function lib.hooks.due_entry.timer(rest)
  local number, id = string.match(rest, '^(%d+):(.*)$')
  if number then lib.runs.finish_call(id, number, '{"e":"fired","c":' .. number .. ',"at":' .. NOW .. '}') end
end
