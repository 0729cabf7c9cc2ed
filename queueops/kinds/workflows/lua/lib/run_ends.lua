-- Ends of runs, of activities and of children.
--@needs cancel end_effects lanes numbers outcomes records run_history run_marks run_stops run_suspend runs store_helpers transitions

local OWN = { s = 1, u = 1, c = 1, b = 1, f = 1, w = 1, h = 1, m = 1, a = 1, e = 1, y = 1, d = 1, x = 1, xh = 1, wt = 1, at = 1,
  cr = 1, tk = 1, ot = 1, uo = 1, vp = 1, vo = 1, vf = 1, vh = 1, vw = 1, vl = 1, vy = 1, vb = 1, vc = 1, ve = 1, re = 1, er = 1,
  ef = 1, fm = 1, fd = 1, pi = 1, pu = 1, pp = 1 }

-- Gives the next run the payload that an event names.
local function take_payload(id, new_id, text)
  local field = string.match(text, '"k":"([^"]+)"')
  local payload = field and lib.safe_call('HGET', lib.runs.payloads_of(id), field)
  if payload then lib.safe_call('HSET', lib.runs.payloads_of(new_id), field, payload) end
end

-- Gives the next run the payloads of signals that it takes with it, and after a reset all of them.
local function take_payloads(id, again)
  for field, payload in pairs(again.keeps or {}) do lib.safe_call('HSET', lib.runs.payloads_of(again.id), field, payload) end
  local all = again.origin and lib.safe_call('HGETALL', lib.runs.payloads_of(id)) or {}
  if all[1] then lib.call_sliced('HSET', lib.runs.payloads_of(again.id), all) end
end

-- Begins the next run of the instance, with what this run has of its push. Unread signals and a cancel go with it. With `origin` it has the
-- beginning of the history of this run, and draws the random numbers of that run.
function lib.begin_next_run(id, record, again)
  local fields, values = {}, {}
  for field, value in pairs(record) do
    if not OWN[field] and field ~= 'over' then
      values[field] = value
      fields[#fields + 1] = field; fields[#fields + 1] = value
    end
  end
  values[F.previous_run], values[F.instance], values[F.first_run] = id, record[F.instance] or id, record[F.first_run] or id
  for _, field in ipairs({ 'vp', 'vi', 'vz' }) do fields[#fields + 1] = field; fields[#fields + 1] = values[field] end
  if again.a ~= '' then fields[#fields + 1] = 'a'; fields[#fields + 1] = again.a end
  if again.origin then fields[#fields + 1] = 'vo'; fields[#fields + 1] = again.origin end
  if again.origin and record[F.step_code] then fields[#fields + 1] = 'vh'; fields[#fields + 1] = record[F.step_code] end
  take_payloads(id, again)
  for _, text in ipairs(again.carry) do lib.safe_call('RPUSH', lib.runs.inbox_of(again.id), text) end
  for _, text in ipairs(lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, -1)) do
    local kind = lib.run_history.head_of(text)
    if kind == 'signal' or kind == 'cancel' then
      take_payload(id, again.id, text)
      lib.safe_call('RPUSH', lib.runs.inbox_of(again.id), text)
    end
  end
  lib.create(again.id, fields, values)
  if values[F.suspended_since] then -- it was suspended during its last step
    lib.run_marks.enter('suspended', again.id, lib.number_of(values[F.suspended_since]))
    lib.run_suspend.park(again.id, lib.runs.read(again.id))
  end
  lib.safe_call('HSET', P .. ':instances', values[F.instance], again.id)
  if record[F.waiting_run] then lib.runs.point_to(record[F.waiting_run] .. '.' .. record[F.command], again.id) end
  local calls = record[F.waiting_run] and not record[F.waiting_pool] and lib.runs.calls_of(record[F.waiting_run])
  if calls and lib.safe_call('HGET', calls, record[F.command]) == 'c' .. id then -- else its parent has given it up
    lib.safe_call('HSET', calls, record[F.command], 'c' .. again.id)
  end
end

-- Signals that no code has read, and events that no step has taken.
local function note_unread(id, step)
  local count = (step.unread or 0) + lib.safe_call('LLEN', lib.runs.inbox_of(id))
  if count > 0 then lib.runs.note_late(id, true, count) end
end

function lib.end_run(id, record, step)
  lib.flush(); lib.flush_lanes()
  record.over = true
  if step.over ~= 'failed' and step.over ~= 'cancelled' then lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.later) end
  if step.over ~= 'continued' then note_unread(id, step) end
  if step.over == 'succeeded' then
    lib.finish(id, record, 'succeeded', 're', step.result)
  elseif step.over == 'cancelled' then
    lib.finish(id, record, 'cancelled', 'y', step.reason)
  elseif step.over == 'continued' then
    lib.begin_next_run(id, record, step.again)
    record[F.next_run], record[F.follow_ups] = step.again.id, nil
    lib.run_marks.enter('continued', id)
    lib.finish(id, record, 'succeeded', 'vx', step.again.id, 've', NOW)
  else
    lib.note_error(id, record, step)
    lib.list_failed(id, step.fingerprint)
    lib.log_line(id, { k = 'error', attempt = 1, error = step.value, worker = record[F.worker], begun = lib.number_of(record[F.begun]) })
    lib.finish(id, record, 'failed', 'er', step.value, 'ef', step.fingerprint)
  end
end

-- Ends a run as cancelled, whatever it does. A worker that makes a step of it loses its lease.
function lib.end_run_now(id, record, ...)
  if LEASED[record[F.state]] then
    call('HSET', lib.task_key(id), F.fence, lib.next_number())
    lib.finish(id, record, 'cancelled', 'y', ...)
  else
    local reason = ...
    lib.cancel(id, record, reason, false, select(2, ...))
  end
end

local function stop_all(id, record)
  lib.flush(); lib.flush_lanes()
  if record[F.suspended_since] then lib.run_suspend.forget(id) end -- a run that has ended is not suspended
  if lib.run_marks.leave('blocked', id) then call('HDEL', lib.task_key(id), F.blocked_since, F.blocked_times) end
  lib.run_stops.stop_all(id)
end
lib.hooks.ending.workflow.end_parts = stop_all
lib.hooks.ending.workflow.cancel_parts = stop_all

local function forget_steps(id)
  call('DEL', lib.runs.history_of(id), lib.runs.inbox_of(id), lib.runs.calls_of(id),
    lib.task_key(id) .. SUBKEY.later, lib.runs.payloads_of(id))
  call('HDEL', lib.task_key(id), F.step_fence, F.step_code, F.waits_at, F.custom_status, F.late_events, F.failed_code_tasks,
    F.blocked_since, F.blocked_times, F.suspended_since, F.continued_at, F.next_run)
  lib.run_marks.leave_all(id)
end
function lib.hooks.retry.workflow.reset(id, record)
  forget_steps(id)
  lib.runs.name_newest(id, record)
end
lib.hooks.retry.workflow.start_over = forget_steps

local RUNS_IT = { run_now = true, retry = true, requeue = true, release = true }

function lib.hooks.retry.workflow.refuse_verb(record, verb, value)
  if verb == 'edit' or (verb == 'retry' and value ~= '' and value ~= 'all') then
    return 'its history belongs to its arguments: start another run'
  elseif RUNS_IT[verb] and record[F.suspended_since] and not TERMINAL[record[F.state]] then
    return 'it is suspended: resume it'
  elseif verb == 'reinstate' then
    return 'what it waited for was cancelled with it: retry it from the beginning, or start another run'
  elseif verb == 'retry' and record[F.next_run] then
    return 'it has a next run: retry that one'
  elseif verb == 'retry' and TERMINAL[record[F.state]] and record[F.instance] then
    local other = lib.runs.read(lib.runs.newest_of(record[F.instance]))
    if other and not TERMINAL[other[F.state]] then return 'its instance ' .. record[F.instance] .. ' has a newer run that has not ended' end
  end
end
