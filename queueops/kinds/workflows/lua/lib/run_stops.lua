-- Stop of what a run has begun: its activities, timers and children.
--@needs lanes operator_verbs run_outgoing runs store_helpers transitions

lib.run_stops = { UNNEEDED = 'its workflow does not need it any more' }

-- Cancels a run that has made no step and waits for its time: there is no code that could answer. Returns whether it was one.
function lib.run_stops.cancel_unbegun(id, row, reason)
  local is_blocked = lib.safe_call('HEXISTS', lib.task_key(id), F.blocked_since) == 1
  if row[F.state] ~= 'postponed' or is_blocked or lib.safe_call('EXISTS', lib.runs.history_of(id)) == 1 then return false end
  lib.operator_verbs.cancel(id, lib.read_record(id), reason ~= '' and reason or 'cancelled before its begin')
  return true
end

-- Asks a child that its run does not need any more to end. One that waits for its time ends at once. One that was asked cleans up.
local function give_up_child(id, row)
  if lib.safe_call('HEXISTS', lib.task_key(id), F.asked_to_end) == 1 then return end
  lib.flush(); lib.flush_lanes() -- it may have come into its lane in this very call
  if not lib.run_stops.cancel_unbegun(id, row, lib.runs.GIVEN_UP) then lib.runs.deliver(id, lib.runs.cancel_event(lib.runs.GIVEN_UP)) end
end

-- Ends an activity or a child that its run has given up. `hard`: what runs is interrupted, and the code of a child is not asked.
function lib.run_stops.stop_task(id, record, hard)
  if not record or TERMINAL[record[F.state]] then return end
  record[F.given_up] = '1'
  lib.safe_call('HSET', lib.task_key(id), F.given_up, 1)
  if record[F.on_parent_end] == 'abandon' then return end
  if record[F.kind] == 'workflow' and not hard and not record[F.on_parent_end] then return give_up_child(id, record) end
  lib.flush(); lib.flush_lanes()
  lib.operator_verbs.cancel(id, record, lib.run_stops.UNNEEDED, hard and 'hard')
end

-- Asks an activity or a child to end, for a run that waits for that.
function lib.run_stops.ask(id)
  local record = lib.read_record(id)
  if not record or TERMINAL[record[F.state]] then return end
  if record[F.kind] == 'workflow' then
    give_up_child(id, lib.runs.read(id))
    return lib.safe_call('HSET', lib.task_key(id), F.asked_to_end, 1)
  end
  lib.flush(); lib.flush_lanes()
  lib.operator_verbs.cancel(id, record, lib.run_stops.UNNEEDED)
end

-- Ends what a command of a run has begun.
function lib.run_stops.stop(run, number, what, hard)
  local kind, rest = string.sub(what, 1, 1), string.sub(what, 2)
  if string.sub(number, 1, 1) == 'f' then return lib.far_calls.stop(run, what, hard) end
  if kind == 't' then return lib.unschedule('~timer:' .. number .. ':' .. run) end
  if kind == 'c' and not hard and lib.safe_call('HEXISTS', lib.task_key(rest), F.on_parent_end) == 0 then
    local child = lib.runs.read(rest)
    if child then lib.safe_call('HSET', lib.task_key(rest), F.given_up, 1) end
    if child and not TERMINAL[child[F.state]] then give_up_child(rest, child) end
    return
  end
  lib.run_stops.stop_task(rest, lib.read_record(rest), hard)
end

-- Ends what the commands of an ended run have begun, at most 500 in one call. A hard cancel of the run is one of them all.
function lib.run_stops.stop_all(id)
  local calls, done = lib.safe_call('HGETALL', lib.runs.calls_of(id)), 0
  local hard = lib.safe_call('HGET', lib.task_key(id), F.cancelled_hard)
  for i = 1, #calls, 2 do
    if done == 500 then return lib.schedule('~stop:' .. id, now) end
    done = done + 1
    lib.safe_call('HDEL', lib.runs.calls_of(id), calls[i])
    lib.run_stops.stop(id, calls[i], calls[i + 1], hard)
  end
end

function lib.hooks.due_entry.stop(id)
  local row = lib.runs.read(id)
  if not row or TERMINAL[row[F.state]] then lib.run_stops.stop_all(id) end
end
