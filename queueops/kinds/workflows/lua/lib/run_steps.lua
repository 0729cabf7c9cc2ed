-- Decision steps of runs: what a step has decided is written by the call that settles its lease. The value is JSON: `taken`
-- events of the inbox, `mark` and `commands` for the history, `calls`, `later` (calls that begin in slices), `timers`, `drops`,
-- `tells`, `keeps` (payloads), and how it goes on.
--@needs claim_on_settle lanes numbers outcomes phases records run_calls run_code run_ends run_marks run_outgoing
--@needs run_stops runs store_helpers transitions

-- Writes the step into the history: its mark, the events that it took, its commands.
local function write_history(id, step)
  local lines = { step.mark }
  local taken = step.taken > 0 and lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, step.taken - 1) or {}
  for _, text in ipairs(taken) do lines[#lines + 1] = text end
  for _, text in ipairs(step.commands) do lines[#lines + 1] = text end
  lib.call_sliced('RPUSH', lib.runs.history_of(id), lines)
  if step.taken > 0 then lib.safe_call('LTRIM', lib.runs.inbox_of(id), step.taken, -1) end
end

local function drop_call(id, number)
  local calls, far = lib.runs.calls_of(id), 'f' .. number
  local what, far_what = lib.safe_call('HGET', calls, number), lib.safe_call('HGET', calls, far)
  if not (what or far_what) then return lib.run_calls.drop(id, number) end -- it has not begun, or its end is in the inbox
  lib.safe_call('HDEL', calls, what and number or far)
  lib.run_stops.stop(id, what and number or far, what or far_what)
end
-- Asks what a command has begun to end: the run waits for that.
local function ask_call(id, number)
  local what = lib.safe_call('HGET', lib.runs.calls_of(id), number)
  if what then return lib.run_stops.ask(string.sub(what, 2)) end
  what = lib.safe_call('HGET', lib.runs.calls_of(id), 'f' .. number)
  if what then return lib.far_calls.ask(id, what) end
  if not lib.run_calls.waits(id, number) then return end -- its end is in the inbox
  lib.run_calls.drop(id, number)
  local text = '{"e":"failed","c":%s,"at":%s,"s":"cancelled","y":"%s"}'
  lib.safe_call('RPUSH', lib.runs.inbox_of(id), string.format(text, number, NOW, lib.run_stops.UNNEEDED))
end

local function tell_other(id, record, tell)
  if tell.pool then return lib.far_calls.tell(id, record, tell) end
  local other, took = lib.runs.newest_of(tell.instance), false
  if other == id then
    if tell.payload then lib.safe_call('HSET', lib.runs.payloads_of(id), tell.kept, tell.payload) end
    lib.safe_call('RPUSH', lib.runs.inbox_of(id), tell.text)
    took = true
  else
    local row = lib.runs.read(other)
    took = row and not TERMINAL[row[F.state]]
    if took and tell.payload then lib.safe_call('HSET', lib.runs.payloads_of(other), tell.kept, tell.payload) end
    if took then lib.runs.deliver(other, tell.text, row) end
  end
  lib.safe_call('RPUSH', lib.runs.inbox_of(id), '{"e":"' .. (took and 'done' or 'failed') .. '","c":' .. tell.number
    .. ',"at":' .. NOW .. '}')
end

local function obey(id, record, step)
  local room = ctx.at_once.room
  if step.over then ctx.at_once.room = 0 end -- what begins now is ended by the same step: no worker gets it
  lib.run_calls.start(id, record, step.calls, step.over and {} or step.later or {}, step.over)
  ctx.at_once.room = room
  for _, timer in ipairs(step.timers) do
    local number, due = unpack(timer)
    lib.safe_call('HSET', lib.runs.calls_of(id), number, 't' .. due)
    lib.schedule('~timer:' .. number .. ':' .. id, tonumber(due))
  end
  lib.flush(); lib.flush_lanes()
  for _, number in ipairs(step.drops) do drop_call(id, number) end
  for _, number in ipairs(step.asks or {}) do ask_call(id, number) end
  for _, tell in ipairs(step.tells) do tell_other(id, record, tell) end
end
-- Puts a run aside for a while: its step could not be made. It never fails of that.
function lib.runs.block(id, record, reason)
  local times = (lib.number_of(record[F.blocked_times]) or 0) + 1
  local at = now + min(300000, 1000 * 2 ^ min(times - 1, 9))
  lib.leave_lease(id, record, 'postponed')
  lib.log_line(id, { k = 'blocked', text = reason, worker = record[F.worker] })
  call('HSET', lib.task_key(id), F.state, 'postponed', F.due, lib.text(at), F.reason, reason, F.blocked_since, record[F.blocked_since]
    or NOW, F.blocked_times, times)
  lib.schedule(id, at)
  lib.safe_call('ZADD', P .. ':blocked', 'NX', NOW, id)
end

function lib.hooks.settle.workflow.fail_instead(id, record, ...)
  if record.over then return false end
  local told, given = {}, { ... }
  for i = 1, #given, 2 do told[given[i]] = given[i + 1] end
  lib.forget_error(id, told) -- the list of an error has failed tasks alone
  local is_json, error = pcall(cjson.decode, told[F.error] or '')
  local text = is_json and type(error) == 'table' and tostring(error.type) .. ': ' .. tostring(error.message)
  lib.runs.block(id, record, told[F.reason] or text or 'its step failed')
  return true
end

function lib.hooks.settle.workflow.unknown_instead(id, record, reason)
  lib.runs.block(id, record, reason)
  return true
end

local function rest(id, record, ...)
  lib.flush(); lib.flush_lanes()
  local ready = not record[F.suspended_since] and call('LLEN', lib.runs.inbox_of(id)) > 0
  lib.leave_lease(id, record, ready and 'pending' or 'idle')
  lib.unschedule(id)
  call('HSET', lib.task_key(id), F.state, ready and 'pending' or 'idle', ...)
  if ready then lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], lib.next_number()) end
  ctx.moved[id] = true -- an event of this very call may move it again
end
-- Whether what was read from a settlement is a step.
local function is_step(step)
  if type(step) ~= 'table' then return false end
  if step.blocked then return type(step.blocked) == 'string' end
  for _, name in ipairs({ 'commands', 'calls', 'timers', 'drops', 'tells', 'notes' }) do
    if type(step[name]) ~= 'table' then return false end
  end
  return type(step.mark) == 'string' and type(step.taken) == 'number' and type(step.where) == 'string'
end
-- What earlier steps have left that could not be made.
local function forget_troubles(id, record)
  if record[F.blocked_since] or record[F.blocked_times] or record[F.reason] or record[F.crashes] or record[F.error]
    or record[F.fingerprint] or record[F.unknown_since] then
    call('HDEL', lib.task_key(id), F.blocked_since, F.blocked_times, F.reason, F.crashes, F.error, F.fingerprint, F.unknown_since)
  end
end

local function settle(id, record, value)
  if record[F.cancel_requested] then return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested]) end
  local is_json, step = pcall(cjson.decode, value)
  if not (is_json and is_step(step)) then return lib.runs.block(id, record, 'its step cannot be read') end
  if (step.unfit or step.unasked) and lib.run_code.leave_to_other(id, record, step.code) then return end
  if step.blocked then return lib.runs.block(id, record, step.blocked) end
  write_history(id, step)
  obey(id, record, step)
  lib.forget_error(id, record)
  for field, payload in pairs(step.keeps or {}) do call('HSET', lib.runs.payloads_of(id), field, payload) end
  forget_troubles(id, record)
  if record[F.blocked_since] then lib.run_marks.leave('blocked', id) end
  if step.status then call('HSET', lib.task_key(id), F.custom_status, step.status) end
  if step.died then call('HSET', lib.task_key(id), F.failed_code_tasks, step.died) elseif record[F.failed_code_tasks] then
    call('HDEL', lib.task_key(id), F.failed_code_tasks)
  end
  for _, text in ipairs(step.notes) do lib.log_line(id, { k = 'log', text = text }) end
  local waits = { 'vf', record[F.fence], 'vw', step.where }
  if step.code and step.code ~= record[F.step_code] then waits[5], waits[6] = 'vh', step.code end
  if not step.over then return rest(id, record, unpack(waits)) end
  call('HSET', lib.task_key(id), unpack(waits))
  lib.run_calls.start_abandoned(id, record)
  lib.end_run(id, record, step)
end

function lib.hooks.settle.workflow.succeed(id, _, value)
  local record = lib.read_record(id)
  if not record then return false end
  lib.flush(); lib.flush_lanes()
  settle(id, record, value)
  return true
end
