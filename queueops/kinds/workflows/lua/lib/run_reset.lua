-- Reset of a run: a new run of its instance goes on from a prefix of its history. The run ends, and each open command of the
-- prefix goes to the new run. What was called after the prefix is cancelled.
--@needs lanes run_calls run_ends run_history run_recall run_suspend runs store_helpers transitions

-- The events behind the prefix that the new run gets: signals, and ends of its open commands.
local function events_for(texts, first, open, found)
  for i = first, #texts do
    local kind, number = lib.run_history.head_of(texts[i])
    if kind == 'signal' or (lib.run_history.ENDS[kind] and open[number]) then
      found[#found + 1] = texts[i]
      if number then open[number] = nil end
    end
  end
end

-- Gives an open command to the new run. Returns an event if it cannot go on.
local function hand_over(id, new_id, number, entry)
  local what = lib.safe_call('HGET', lib.runs.calls_of(id), number)
  if what then
    lib.safe_call('HDEL', lib.runs.calls_of(id), number)
    if string.sub(what, 1, 1) == 't' then lib.unschedule('~timer:' .. number .. ':' .. id) end
  else
    what = lib.run_recall.recall(id, number, entry) -- it ended with the run, or the run has given it up behind the prefix
  end
  if not what then return lib.run_recall.lost_end(number, 'it is gone') end
  return lib.run_recall.restore(new_id, number, what)
end

local function hand_over_all(id, new_id, open, found)
  local numbers = {}
  for number in pairs(open) do numbers[#numbers + 1] = number end
  table.sort(numbers, function(one, other) return tonumber(one) < tonumber(other) end)
  for _, number in ipairs(numbers) do found[#found + 1] = hand_over(id, new_id, number, open[number]) end
end

-- Why a run cannot be reset; nil if it can.
local function refusal(id, record)
  if record[F.parent_id] then return 'it is a part of another task, which ends with its first run' end
  if record[F.next_run] then return 'it has a next run: reset that one' end
  local newest = record[F.instance] and lib.runs.newest_of(record[F.instance])
  local other = newest and newest ~= id and lib.runs.read(newest)
  if other and not TERMINAL[other[F.state]] then return 'its instance ' .. record[F.instance] .. ' has a newer run that has not ended' end
end

-- A parent that has taken the end of the run does not wait for the new one.
local function forget_parent(id, record)
  if record[F.waiting_run] and lib.safe_call('HGET', lib.runs.calls_of(record[F.waiting_run]), record[F.command]) ~= 'c' .. id then
    record[F.waiting_run], record[F.command], record[F.given_up] = nil, nil, nil
  end
end

-- Resets a run. Returns a word (OK, REFUSED), and the reason of a refusal.
function lib.reset_run(id, record, entry, new_id, reason)
  local why = refusal(id, record)
  if why then return 'REFUSED', why end
  local history = lib.safe_call('LRANGE', lib.runs.history_of(id), 0, -1)
  local mark = lib.run_history.mark_of(history, entry)
  if mark == 0 then return 'REFUSED', 'its history has no entry ' .. lib.text(entry) end
  local had_ended = TERMINAL[record[F.state]]
  forget_parent(id, record)
  local open, found, prefix = lib.run_history.open_before(history, mark), {}, {}
  for i = 1, mark - 1 do prefix[i] = history[i] end
  events_for(history, mark, open, found)
  events_for(lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, -1), 1, open, found)
  for _, text in pairs(open) do
    if lib.run_history.pool_of(text) then return 'REFUSED', 'it has open calls of other pools: reset it when they have ended' end
  end
  call('DEL', lib.runs.inbox_of(id))
  lib.run_calls.start_open(id, record, open)
  hand_over_all(id, new_id, open, found)
  if prefix[1] then lib.call_sliced('RPUSH', lib.runs.history_of(new_id), prefix) end
  lib.flush(); lib.flush_lanes()
  if record[F.suspended_since] then lib.run_suspend.forget(id) end
  record[F.suspended_since] = nil
  lib.begin_next_run(id, record, { id = new_id, a = record[F.args] or '', carry = found, origin = record[F.origin] or id })
  lib.flush(); lib.flush_lanes()
  record[F.next_run], record[F.follow_ups] = new_id, nil
  if had_ended then
    call('HSET', lib.task_key(id), F.next_run, new_id)
  else
    lib.end_run_now(id, record, reason, 'vx', new_id)
  end
  return 'OK', ''
end
