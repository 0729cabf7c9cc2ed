-- Reset of a run: a new run of its instance goes on from a prefix of its history. The run ends, and each open command of the
-- prefix goes to the new run. What was called after the prefix is cancelled.
--@needs cancel lanes numbers operator_verbs outcomes run_ends runs store_helpers transitions

local OPENS = { call = true, child = true, timer = true, tell = true }
local ENDS = { done = true, failed = true, fired = true }

-- The kind of an entry, and the number of its command as a text.
local function read_head(text)
  return string.match(text, '^{"e":"(%a+)"'), string.match(text, '^{"e":"%a+","c":(%d+)')
end

-- The position of the mark of the step that has this entry; 0 if the history has no such entry.
local function mark_of(history, entry)
  if entry > #history then return 0 end
  for i = entry, 1, -1 do if read_head(history[i]) == 'step' then return i end end
  return 0
end

-- The commands of the prefix that have no end in it, by number.
local function open_of(history, mark)
  local open = {}
  for i = 1, mark - 1 do
    local kind, number = read_head(history[i])
    if number and OPENS[kind] then open[number] = true
    elseif number and (ENDS[kind] or kind == 'drop') then open[number] = nil end
  end
  return open
end

-- The events behind the prefix that the new run gets: signals, and ends of its open commands.
local function events_for(texts, first, open, found)
  for i = first, #texts do
    local kind, number = read_head(texts[i])
    if kind == 'signal' or (ENDS[kind] and open[number]) then
      found[#found + 1] = texts[i]
      if number then open[number] = nil end
    end
  end
end

local function lost_end(number, why)
  return '{"e":"failed","c":' .. number .. ',"at":' .. NOW .. ',"s":"cancelled","y":"' .. why .. '"}'
end

-- Gives an open command to the new run. Returns an event if it cannot go on.
local function hand_over(id, new_id, number, what, had_ended)
  local kind, rest = string.sub(what, 1, 1), string.sub(what, 2)
  if kind == 'c' and had_ended then return lost_end(number, 'it was cancelled at the end of the run that was reset') end
  lib.safe_call('HSET', lib.runs.calls_of(new_id), number, what)
  if kind == 't' then
    lib.unschedule('~timer:' .. number .. ':' .. id)
    lib.schedule('~timer:' .. number .. ':' .. new_id, lib.number_of(rest) or now)
    return nil
  end
  local task = lib.read_record(rest)
  if not task then
    lib.safe_call('HDEL', lib.runs.calls_of(new_id), number)
    return lost_end(number, 'it is gone')
  end
  lib.safe_call('HSET', lib.task_key(rest), 'vr', new_id)
  if had_ended then
    lib.safe_call('HDEL', lib.task_key(rest), 'vd')
    if TERMINAL[task.s] then lib.operator_verbs.retry(rest, task, '') end
  end
end

local function hand_over_all(id, new_id, open, had_ended, found)
  local place = had_ended and lib.runs.stopped_of(id) or lib.runs.calls_of(id)
  for number in pairs(open) do
    local what = lib.safe_call('HGET', place, number)
    local lost = what and hand_over(id, new_id, number, what, had_ended) or not what and lost_end(number, 'its end was lost')
    if lost then found[#found + 1] = lost end
    if what then lib.safe_call('HDEL', place, number) end
  end
end

-- Why a run cannot be reset; nil if it can.
local function refusal(id, record)
  if record.pi then return 'it is a part of another task, which ends with its first run' end
  if record.vx then return 'it has a next run: reset that one' end
  local newest = record.vi and lib.runs.newest_of(record.vi)
  local other = newest and newest ~= id and lib.runs.read(newest)
  if other and not TERMINAL[other.s] then return 'its instance ' .. record.vi .. ' has a newer run that has not ended' end
end

-- A parent that has taken the end of the run does not wait for the new one.
local function forget_parent(id, record)
  if record.vr and lib.safe_call('HGET', lib.runs.calls_of(record.vr), record.vn) ~= 'c' .. id then
    record.vr, record.vn, record.vd = nil, nil, nil
  end
end

-- Resets a run. Returns a word (OK, REFUSED), and the reason of a refusal.
function lib.reset_run(id, record, entry, new_id, reason)
  local why = refusal(id, record)
  if why then return 'REFUSED', why end
  local history = lib.safe_call('LRANGE', lib.runs.history_of(id), 0, -1)
  local mark = mark_of(history, entry)
  if mark == 0 then return 'REFUSED', 'its history has no entry ' .. lib.text(entry) end
  local had_ended = TERMINAL[record.s]
  forget_parent(id, record)
  local open, found, prefix = open_of(history, mark), {}, {}
  for i = 1, mark - 1 do prefix[i] = history[i] end
  events_for(history, mark, open, found)
  events_for(lib.safe_call('LRANGE', lib.runs.inbox_of(id), 0, -1), 1, open, found)
  call('DEL', lib.runs.inbox_of(id))
  hand_over_all(id, new_id, open, had_ended, found)
  if prefix[1] then lib.call_sliced('RPUSH', lib.runs.history_of(new_id), prefix) end
  lib.flush(); lib.flush_lanes()
  record.vs = nil
  lib.begin_next_run(id, record, { id = new_id, a = record.a or '', carry = found, origin = record.vo or id })
  lib.flush(); lib.flush_lanes()
  record.vx, record.fu = new_id, nil
  if had_ended then
    call('HSET', lib.task_key(id), 'vx', new_id)
  elseif LEASED[record.s] then
    call('HSET', lib.task_key(id), 'f', lib.next_number()) -- the worker's lease ends here
    lib.finish(id, record, 'cancelled', 'y', reason, 'vx', new_id)
  else
    lib.cancel(id, record, reason, false, 'vx', new_id)
  end
  return 'OK', ''
end
