-- Retry of the failed step of a run: it goes on from the step before.
--@needs lanes numbers phases records run_calls run_history run_recall run_stops runs store_helpers transitions

-- Numbers of the commands whose ends wait in the inbox of a run.
local function ended_in_inbox(id)
  local ended = {}
  for _, text in ipairs(lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, -1)) do
    local kind, number = lib.run_history.head_of(text)
    if number and lib.run_history.ENDS[kind] then ended[number] = true end
  end
  return ended
end

-- What the step is made with again: events that come again, and the entries of commands that begin again, in order.
local function read_step(id, history, mark, open, wanted)
  local events, again, ended, asked = {}, {}, ended_in_inbox(id), {}
  for i = 1, mark - 1 do
    local kind, number = lib.run_history.head_of(history[i])
    if kind == 'ask' then asked[number] = true end -- its end is the answer to that
  end
  local function begin(number)
    if open[number] and not ended[number] then again[#again + 1] = { number = number, entry = open[number] }; ended[number] = true end
  end
  for i = mark + 1, #history do
    local kind, number = lib.run_history.head_of(history[i])
    local failed = kind == 'failed' and open[number] and not asked[number] and lib.run_recall.recall(id, number, open[number])
    if failed or kind == 'drop' then
      begin(number)
    elseif kind == 'signal' or lib.run_history.ENDS[kind] or kind == 'cancel' and not (wanted and lib.runs.is_given_up(history[i])) then
      events[#events + 1] = history[i]
      if number then ended[number] = true end
    end
  end
  local left = {}
  for number in pairs(open) do left[#left + 1] = number end
  table.sort(left, function(one, other) return tonumber(one) < tonumber(other) end)
  for _, number in ipairs(left) do begin(number) end
  return events, again
end

local function has_cancel_of_parent(history, mark)
  for i = mark + 1, #history do if lib.runs.is_given_up(history[i]) then return true end end
end

-- What the step itself has begun is called again by the step.
local function stop_new_ones(id, open)
  lib.unschedule('~stop:' .. id)
  local calls = lib.safe_call('HGETALL', lib.runs.calls_of(id))
  for i = 1, #calls, 2 do
    if not open[string.match(calls[i], '%d+$')] then -- `f` is before the number of a call of another pool
      lib.safe_call('HDEL', lib.runs.calls_of(id), calls[i])
      lib.run_stops.stop(id, calls[i], calls[i + 1])
    end
  end
end

-- Goes on from the last step: its failed activities and children begin again, and what it has given up; its other events
-- come again. `wanted`: a cancel by its parent does not. Returns the state and a detail; nil if there is no such step.
function lib.runs.go_on(id, record, wanted)
  local history = lib.safe_call('LRANGE', lib.runs.history_of(id), 0, -1)
  local mark = lib.run_history.mark_of(history, #history)
  if mark == 0 or record[F.state] == 'cancelled' and not has_cancel_of_parent(history, mark) then return nil end
  local open = lib.run_history.open_before(history, mark)
  local events, again = read_step(id, history, mark, open, wanted)
  if mark == 1 then lib.safe_call('DEL', lib.runs.history_of(id)) else lib.safe_call('LTRIM', lib.runs.history_of(id), 0, mark - 2) end
  stop_new_ones(id, open)
  local later = lib.run_calls.resume_later(id)
  for _, each in ipairs(again) do
    local comes_later = later and later[each.number]
    local what = not comes_later and lib.run_recall.recall(id, each.number, each.entry)
    if what then events[#events + 1] = lib.run_recall.restore(id, each.number, what)
    elseif not comes_later then events[#events + 1] = lib.run_recall.lost_end(each.number, 'it is gone') end
  end
  lib.run_history.put_back(id, events)
  lib.forget_error(id, record)
  call('HDEL', lib.task_key(id), F.error, F.fingerprint, F.reason, F.ended, F.cancel_requested, F.cancelled_hard, F.crashes, F.step_fence,
    F.blocked_since, F.blocked_times, F.suspended_since)
  local waits = again[1] and mark > 1 and lib.safe_call('EXISTS', lib.runs.inbox_of(id)) == 0
  local state = waits and 'idle' or 'pending'
  lib.shift(id, record, state)
  lib.runs.name_newest(id, record)
  lib.unschedule(id)
  call('HSET', lib.task_key(id), F.state, state)
  if not waits then lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], lib.next_number()) end
  return state, #again .. ' of its activities, children and timers begin again'
end

function lib.hooks.retry.workflow.resume(id, record, everything)
  if everything or record[F.state] ~= 'failed' then return nil end
  return lib.runs.go_on(id, record, record[F.waiting_run] and not record[F.given_up])
end
