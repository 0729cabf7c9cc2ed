-- Commands that a run has given up, or whose ends it has taken: found again by their numbers, and begun again.
--@needs lanes operator_verbs run_history run_outgoing runs store_helpers transitions

lib.run_recall = {}

local MOST_RUNS = 50

-- The run that a child went on as: it continued as new, or was reset.
local function last_of(task)
  for _ = 1, MOST_RUNS do
    local after = lib.safe_call('HGET', lib.task_key(task), F.next_run)
    if not after or lib.safe_call('EXISTS', lib.task_key(after)) == 0 then break end
    task = after
  end
  return task
end

-- The task of a command, nil if it is gone. After a reset, the run that the history comes from may have named it.
function lib.run_recall.task_of(id, number)
  local run, origin = id, nil
  for _ = 1, MOST_RUNS do
    local task = lib.runs.newest_of(run .. '.' .. number)
    if lib.safe_call('EXISTS', lib.task_key(task)) == 1 then return last_of(task) end
    local row = lib.named_fields(lib.task_key(run), F.origin, F.previous_run) or {}
    origin = row[F.origin] or origin
    if not origin or run == origin then return nil end
    run = row[F.origin] and row[F.previous_run] or origin
  end
end

-- What a command has begun, as in `#calls`, by its entry; nil if that is gone. A task of another pool is `f` and what `#calls`
-- has of it: a message asks that pool to begin it again.
function lib.run_recall.recall(id, number, entry)
  local kind = lib.run_history.head_of(entry)
  local pool = lib.run_history.pool_of(entry)
  if pool then
    local letter = kind == 'call' and 'a' or kind == 'child' and 'c'
    return letter and 'f' .. letter .. id .. '.' .. number .. '#' .. pool .. '#' or nil
  end
  if kind == 'timer' then return 't' .. (string.match(entry, '"at":(%d+)') or NOW) end
  local task = (kind == 'call' or kind == 'child') and lib.run_recall.task_of(id, number)
  return task and (kind == 'child' and 'c' or 'a') .. task
end

function lib.run_recall.lost_end(number, why)
  return '{"e":"failed","c":' .. number .. ',"at":' .. NOW .. ',"s":"cancelled","y":' .. cjson.encode(why) .. '}'
end

-- Takes the cancel of its parent back, if no step has it.
local function spare(child, record)
  if LEASED[record[F.state]] then return end
  for _, text in ipairs(lib.safe_call('LRANGE', lib.runs.inbox_of(child), 0, -1)) do
    if lib.runs.is_given_up(text) then lib.safe_call('LREM', lib.runs.inbox_of(child), 1, text) end
  end
end

-- A worker that still runs an activity that was given up loses it: it was told to stop.
local function begin_activity(id, record, given_up)
  if not (TERMINAL[record[F.state]] or given_up and record[F.cancel_requested]) then return end
  if not TERMINAL[record[F.state]] then
    lib.safe_call('HDEL', lib.task_key(id), F.cancel_requested, F.cancelled_hard, F.reason)
    record[F.cancel_requested], record[F.cancelled_hard], record[F.reason] = nil, nil, nil
  end
  lib.operator_verbs.retry(id, record, '')
end

-- Begins a child again, or spares it the cancel that it has not read. Returns why it cannot begin.
function lib.run_recall.begin_child(id, record)
  if not TERMINAL[record[F.state]] then return spare(id, record) end
  local why = lib.hooks.retry.workflow.refuse_verb(record, 'retry', '')
  if why then return why end
  if record[F.state] == 'cancelled' and lib.safe_call('EXISTS', lib.runs.history_of(id)) == 0 then
    lib.operator_verbs.reinstate(id, record) -- it had not begun, and waits for its time again
    return
  end
  if not (record[F.state] == 'cancelled' and lib.runs.go_on(id, record, true)) then lib.operator_verbs.retry(id, record, '') end
end

-- Begins again, for a run, what a command has begun. Returns an event if it has ended, or cannot begin.
function lib.run_recall.restore(run, number, what)
  local kind, rest = string.sub(what, 1, 1), string.sub(what, 2)
  if kind == 't' then
    lib.safe_call('HSET', lib.runs.calls_of(run), number, what)
    return lib.schedule('~timer:' .. number .. ':' .. run, lib.number_of(rest) or now)
  end
  if kind == 'f' then
    lib.far_calls.again(run, number, rest)
    return nil
  end
  lib.flush(); lib.flush_lanes() -- it may have moved in this very call
  local record = lib.read_record(rest)
  if not record then return lib.run_recall.lost_end(number, 'it is gone') end
  if TERMINAL[record[F.state]] and record[F.next_run] then return lib.run_recall.lost_end(number, 'its last run is gone') end
  if record[F.state] == 'succeeded' then
    local text, payload = lib.runs.end_event(number, record[F.state], lib.safe_call('HGET', lib.task_key(rest), F.result))
    if payload then lib.safe_call('HSET', lib.runs.payloads_of(run), number, payload) end
    return text
  end
  local given_up, why = record[F.given_up], nil
  lib.runs.move_pointer(record, rest, run .. '.' .. number)
  lib.safe_call('HSET', lib.task_key(rest), F.waiting_run, run, F.command, number)
  lib.safe_call('HDEL', lib.task_key(rest), F.given_up, F.asked_to_end)
  record[F.waiting_run], record[F.command], record[F.given_up] = run, number, nil
  if kind == 'c' then why = lib.run_recall.begin_child(rest, record) else begin_activity(rest, record, given_up) end
  if why then return lib.run_recall.lost_end(number, why) end
  lib.safe_call('HSET', lib.runs.calls_of(run), number, what)
end
