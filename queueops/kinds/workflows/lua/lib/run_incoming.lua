-- Messages about runs: what they do in the pool that gets them, and what the answer changes for the run.
--@needs conflicts lanes operator_verbs run_outgoing run_recall run_refused run_stops runs store_helpers transitions

local MOST_WAITS = 10 -- tries of a stop whose task has not begun yet

local function failed(number, reason)
  local state = string.find(reason, '^its instance ') and 'in_use' or 'failed'
  return '{"e":"failed","c":' .. number .. ',"at":' .. NOW .. ',"s":"' .. state .. '","y":' .. cjson.encode(reason) .. '}'
end

-- Ends an open command of this pool, if the message is about that very call.
local function finish(command, text, payload)
  local what = lib.safe_call('HGET', lib.runs.calls_of(command.run), 'f' .. command.cn)
  local _, _, _, token = lib.far_calls.read(what)
  if not what or (token and token ~= command.vk) then return end
  lib.runs.finish_call(command.run, 'f' .. command.cn, text, payload, command.cn)
end

-- The instance of a child may have a run that has not ended.
local function refusal(spec, id)
  if not spec.instance then return nil end
  local newest = lib.runs.newest_of(spec.instance)
  local other = newest ~= id and lib.runs.read(newest)
  if other and not TERMINAL[other[F.state]] then
    return 'its instance ' .. spec.instance .. ' has a run that has not ended: ' .. newest
  end
end

function lib.hooks.effect.run_call(command)
  local is_json, plan = pcall(cjson.decode, command.sp or '')
  if not is_json or type(plan) ~= 'table' or type(plan.fields) ~= 'table' then return 'GONE' end
  local id, due = command.i, tostring(plan.due or '')
  local known = lib.named_fields(lib.task_key(id), F.call_token, F.state) or {}
  if known[F.call_token] == command.vk then return 'OK' end -- this very message came before
  local why = refusal(plan, id)
  if why and not plan.alone then return 'REFUSED', why end
  local spec = { id = id, policy = 'replace', token = '', fields = plan.fields, values = {} }
  for i = 1, #plan.fields, 2 do spec.values[plan.fields[i]] = plan.fields[i + 1] end
  if string.sub(due, 1, 1) == '+' then spec.due = now + (tonumber(due) or 0) else spec.due = tonumber(due) end
  if spec.due and spec.due <= now then spec.due = nil end
  lib.need_lane(spec.values.l or 'default')
  lib.flush(); lib.flush_lanes()
  if why then
    lib.run_refused.keep(spec, why)
    return 'REFUSED', why
  end
  if plan.instance then lib.safe_call('HSET', P .. ':instances', plan.instance, id) end
  lib.place(spec)
  return 'OK'
end

function lib.hooks.reply.run_call(command, word, detail)
  if word == 'OK' then return end
  command.run = command.me
  local why = word == 'REFUSED' and detail or 'its pool could not read the call'
  local row = lib.runs.read(command.run)
  if row and TERMINAL[row[F.state]] then lib.run_refused.log(command.run, command.i, why) end
  finish(command, failed(command.cn, why))
end

function lib.hooks.dead_message.run_call(command, reason)
  command.run = command.me
  finish(command, failed(command.cn, 'its pool did not take the call: ' .. tostring(reason)))
end

function lib.hooks.effect.run_signal(command)
  local id = lib.runs.newest_of(command.i)
  local row = lib.runs.read(id)
  if not row then return 'REFUSED' end
  local told = lib.task_key(id) .. SUBKEY.told
  if lib.safe_call('ZSCORE', told, command.tk) then return 'OK' end
  if TERMINAL[row[F.state]] then return 'REFUSED' end
  lib.safe_call('ZADD', told, NOW, command.tk)
  if (command.pl or '') ~= '' then lib.safe_call('HSET', lib.runs.payloads_of(id), command.pk, command.pl) end
  lib.runs.deliver(id, command.sp)
  return 'OK'
end

function lib.hooks.reply.run_signal(command, word)
  command.run = command.me
  finish(command, '{"e":"' .. (word == 'OK' and 'done' or 'failed') .. '","c":' .. command.cn .. ',"at":' .. NOW .. '}')
end

function lib.hooks.dead_message.run_signal(command) lib.hooks.reply.run_signal(command, 'DEAD') end

function lib.hooks.effect.run_ended(command)
  command.run = command.i
  local function given(text) return text and text ~= '' and text or nil end
  local text, payload = lib.runs.end_event(command.cn, command.s, given(command.re), given(command.er), command.y,
    command.cr == '1', command.from, command.kd)
  finish(command, text, payload)
  return 'OK'
end

-- The record that a stop means: of a child that continued as new, its last run.
local function last_of(id)
  id = lib.runs.newest_of(id)
  for _ = 1, 1000 do
    local record = lib.read_record(id)
    if not (record and record[F.next_run]) then return record, id end
    id = record[F.next_run]
  end
end

function lib.hooks.effect.run_stopped(command)
  local record, id = last_of(command.i)
  if not record or record[F.call_token] ~= command.vk then -- the call may be on its way, or its task is gone
    local tries = lib.number_of(command.n) or 0
    return tries < MOST_WAITS and 'LATER' or 'GONE', 'the call has not come yet'
  end
  if command.wa then lib.run_stops.ask(id) else lib.run_stops.stop_task(id, record, command.xh == '1') end
  return 'OK'
end

-- Why a child cannot begin again: its instance may have a newer run, or it may be suspended.
local function refusal_of_retry(record)
  if record[F.kind] == 'workflow' and TERMINAL[record[F.state]] and record[F.state] ~= 'succeeded' then
    return lib.hooks.retry.workflow.refuse_verb(record, 'retry', '')
  end
end

function lib.hooks.effect.run_again(command)
  local record, id = last_of(command.i)
  if not record then return 'REFUSED', 'it is gone' end
  if record[F.call_token] == command.vk then return 'OK' end
  local why = refusal_of_retry(record)
  if why then return 'REFUSED', why end
  lib.safe_call('HSET', lib.task_key(id), F.call_token, command.vk)
  lib.safe_call('HDEL', lib.task_key(id), F.given_up, F.asked_to_end)
  record[F.call_token], record[F.given_up] = command.vk, nil
  lib.flush(); lib.flush_lanes()
  if record[F.state] == 'succeeded' then lib.runs.report(id, record, record[F.state])
  elseif record[F.kind] == 'workflow' then lib.run_recall.begin_child(id, record)
  elseif TERMINAL[record[F.state]] then lib.operator_verbs.retry(id, record, '') end
  return 'OK'
end

lib.hooks.reply.run_again = lib.hooks.reply.run_call
lib.hooks.dead_message.run_again = lib.hooks.dead_message.run_call
