-- Ends of runs, of activities and of children.
--@needs end_effects lanes numbers operator_verbs outcomes phases records run_messages runs store_helpers transitions

local OWN = { s = 1, u = 1, c = 1, b = 1, f = 1, w = 1, h = 1, m = 1, a = 1, e = 1, y = 1, d = 1, x = 1, xh = 1, wt = 1, at = 1,
  cr = 1, tk = 1, ot = 1, uo = 1, vp = 1, vo = 1, vf = 1, vw = 1, vl = 1, vb = 1, vc = 1, re = 1, er = 1, ef = 1, fm = 1, fd = 1,
  pi = 1, pu = 1, pp = 1 }

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

-- Begins the next run of the instance, with what this run has of its push. Unread signals go with it. With `origin` it has the
-- beginning of the history of this run, and draws the random numbers of that run.
function lib.begin_next_run(id, record, again)
  local fields, values = {}, {}
  for field, value in pairs(record) do
    if not OWN[field] and field ~= 'over' then
      values[field] = value
      fields[#fields + 1] = field; fields[#fields + 1] = value
    end
  end
  values.vp, values.vi = id, record.vi or id
  for _, field in ipairs({ 'vp', 'vi' }) do fields[#fields + 1] = field; fields[#fields + 1] = values[field] end
  if again.a ~= '' then fields[#fields + 1] = 'a'; fields[#fields + 1] = again.a end
  if again.origin then fields[#fields + 1] = 'vo'; fields[#fields + 1] = again.origin end
  take_payloads(id, again)
  for _, text in ipairs(again.carry) do lib.safe_call('RPUSH', lib.runs.inbox_of(again.id), text) end
  for _, text in ipairs(lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, -1)) do
    if string.find(text, '"e":"signal"', 1, true) then
      take_payload(id, again.id, text)
      lib.safe_call('RPUSH', lib.runs.inbox_of(again.id), text)
    end
  end
  lib.create(again.id, fields, values)
  lib.safe_call('HSET', P .. ':instances', values.vi, again.id)
  if record.vr and not record.vt then lib.safe_call('HSET', lib.runs.calls_of(record.vr), record.vn, 'c' .. again.id) end
end

function lib.end_run(id, record, step)
  lib.flush(); lib.flush_lanes()
  record.over = true
  if step.over ~= 'failed' then lib.safe_call('DEL', lib.task_key(id) .. '#later') end
  if step.over == 'succeeded' then
    lib.finish(id, record, 'succeeded', 're', step.result)
  elseif step.over == 'cancelled' then
    lib.finish(id, record, 'cancelled', 'y', 'its code ended by a cancel')
  elseif step.over == 'continued' then
    lib.begin_next_run(id, record, step.again)
    record.vx, record.fu = step.again.id, nil
    lib.finish(id, record, 'succeeded', 'vx', step.again.id)
  else
    lib.note_error(id, record, step)
    lib.list_failed(id, step.fingerprint)
    lib.log_line(id, { k = 'error', attempt = 1, error = step.value, worker = record.w, begun = lib.number_of(record.b) })
    lib.finish(id, record, 'failed', 'er', step.value, 'ef', step.fingerprint)
  end
end

local function stop_all(id)
  lib.flush(); lib.flush_lanes()
  lib.safe_call('ZREM', P .. ':blocked', id)
  lib.runs.stop_all(id)
end
lib.hooks.end_parts.workflow = stop_all
lib.hooks.cancel_parts.workflow = stop_all

local function forget_steps(id)
  call('DEL', lib.runs.history_of(id), lib.runs.inbox_of(id), lib.runs.calls_of(id), lib.runs.stopped_of(id),
    lib.task_key(id) .. '#later', lib.runs.payloads_of(id))
  call('HDEL', lib.task_key(id), 'vf', 'vw', 'vq', 'vl', 'vb', 'vc', 'vs', 'vx')
end
lib.hooks.reset.workflow = forget_steps
lib.hooks.start_over.workflow = forget_steps

function lib.hooks.refuse_verb.workflow(record, verb, value)
  if verb == 'edit' or (verb == 'retry' and value ~= '' and value ~= 'all') then
    return 'its history belongs to its arguments: start another run'
  elseif verb == 'reinstate' then
    return 'what it waited for was cancelled with it: retry it from the beginning, or start another run'
  elseif verb == 'retry' and TERMINAL[record.s] and record.vi then
    local other = lib.runs.read(lib.runs.newest_of(record.vi))
    if other and not TERMINAL[other.s] then return 'its instance ' .. record.vi .. ' has a newer run that has not ended' end
  end
end

-- Goes on from the last step before the failed one: its failed activities run again, its other events come again.
function lib.hooks.resume.workflow(id, record, everything)
  if everything or record.s ~= 'failed' then return nil end
  local history, mark = lib.safe_call('LRANGE', lib.runs.history_of(id), 0, -1), 0
  for i = 1, #history do if string.find(history[i], '^{"e":"step"') then mark = i end end
  if mark == 0 then return nil end
  local again, events = 0, {}
  for i = mark + 1, #history do
    local is_json, entry = pcall(cjson.decode, history[i])
    local number = is_json and string.format('%d', entry.c or 0)
    local call_id = id .. '.' .. (number or '')
    local activity = is_json and entry.e == 'failed' and not entry.p and lib.read_record(call_id)
    if is_json and entry.e == 'failed' and entry.p and entry.h == 'a' then
      lib.far_calls.again(id, number, 'a' .. call_id .. '#' .. entry.p .. '#')
      again = again + 1
    elseif activity and activity.k == 'activity' and TERMINAL[activity.s] then
      lib.safe_call('HSET', lib.runs.calls_of(id), number, 'a' .. call_id)
      lib.operator_verbs.retry(call_id, activity, '')
      again = again + 1
    elseif is_json and (entry.e == 'done' or entry.e == 'failed' or entry.e == 'fired' or entry.e == 'signal' or entry.e == 'cancel') then
      events[#events + 1] = history[i]
    end
  end
  if mark == 1 then lib.safe_call('DEL', lib.runs.history_of(id)) else lib.safe_call('LTRIM', lib.runs.history_of(id), 0, mark - 2) end
  for i = #events, 1, -1 do lib.safe_call('LPUSH', lib.runs.inbox_of(id), events[i]) end
  local stopped = lib.safe_call('HGETALL', lib.runs.stopped_of(id))
  for i = 1, #stopped, 2 do
    local number, what = stopped[i], stopped[i + 1]
    local activity = string.sub(what, 1, 1) == 'a' and lib.read_record(string.sub(what, 2))
    if string.sub(number, 1, 1) == 'f' then lib.far_calls.again(id, string.sub(number, 2), what)
    else lib.safe_call('HSET', lib.runs.calls_of(id), number, what) end
    if activity and TERMINAL[activity.s] then
      lib.safe_call('HDEL', lib.task_key(string.sub(what, 2)), 'vd')
      lib.operator_verbs.retry(string.sub(what, 2), activity, '')
    elseif string.sub(what, 1, 1) == 't' then
      lib.schedule('~timer:' .. number .. ':' .. id, tonumber(string.sub(what, 2)))
    end
  end
  call('DEL', lib.runs.stopped_of(id))
  if call('EXISTS', lib.task_key(id) .. '#later') == 1 then lib.schedule('~calls:' .. id, now) end
  lib.forget_error(id, record)
  call('HDEL', lib.task_key(id), 'er', 'ef', 'y', 'e', 'x', 'xh', 'cr', 'vf', 'vb', 'vc')
  local waits = again > 0 and mark > 1 and not events[1]
  lib.shift(id, record, waits and 'idle' or 'pending')
  lib.unschedule(id)
  call('HSET', lib.task_key(id), 's', waits and 'idle' or 'pending')
  if not waits then lib.enter_lane(record.l or 'default', id, record.p, lib.next_number()) end
  return waits and 'idle' or 'pending', again .. ' of its activities run again'
end
