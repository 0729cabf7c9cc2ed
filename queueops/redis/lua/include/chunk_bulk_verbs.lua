-- Bulk actions on all chunks of some states, in steps. `retry` makes them pending again, `redo` with other data, `set`
-- with other fields in it. `drop` gives them up, `skip` counts them as done. While a task's `rd` names states that are
-- not finished (verb:state:start, separated by commas), its lane is closed. The next call or the agenda continues. `xd`
-- counts dropped failed chunks. Their score is a time and a half, or -1 if their record is lost.
local redo_room = 200 -- chunks in one call of a script; one that is edited counts for four
local redone = {}
local unfit = 0 -- how many were not given other data, for theirs has no fields
local edits = {} -- what is to be made of the data, by task and state

local function let_go(task, number)
  local score = tonumber(safe_call('ZSCORE', chunk_set(task, 'failed'), number) or 0)
  return score < 0 or score % 1 ~= 0
end

-- Counts a chunk with a lost record as failed, whatever the verb. Returns by how much the number of dropped chunks grows.
local function lose(task, number, state, drop)
  local gone = let_go(task, number)
  unschedule(task .. '#' .. number)
  move_chunk(task, number, { s = state }, 'failed', (drop or gone) and -1 or 0)
  return drop and not gone and 1 or 0
end

function redone.retry(task, number, state)
  local ref = task .. '#' .. number
  local row = fields_of(TASK .. ref, 's', 'dr')
  if state == 'errored' then unschedule(ref) end
  if not (row and row[1]) then return lose(task, number, state) end
  safe_call('HDEL', TASK .. ref, 're', 'er', 'ef', 'y', 'e', 'd', 'at', 'cr', 'dr', 'uk')
  safe_call('HSET', TASK .. ref, 's', 'pending', 'q', NOW)
  move_chunk(task, number, { s = state }, 'pending', number)
  return row[2] and -1
end

local function to_close(ref)
  local row = fields_of(TASK .. ref, 's', 'dr', 'tw', 'w')
  return row and row[1] and { s = row[1], dr = row[2], tw = row[3], w = row[4] }
end

function redone.drop(task, number, state, since, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then return lose(task, number, state, true) end
  finish_chunk(ref, chunk, 'failed', 'y', 'dropped by ' .. who, 'dr', 1)
  move_chunk(task, number, { s = 'failed' }, 'failed', text(since + 1) .. '.5') -- behind those that are still to come
  return not chunk.dr and 1
end

function redone.skip(task, number, state, _, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then return lose(task, number, state) end
  safe_call('HDEL', TASK .. ref, 're', 'er', 'ef', 'd', 'at', 'cr', 'dr', 'uk')
  finish_chunk(ref, chunk, 'done', 'y', 'skipped by ' .. who)
  return chunk.dr and -1
end

local function edit_of(task, verb, state)
  local key = task .. '#' .. state
  if not edits[key] then edits[key] = read_edit(verb, safe_call('HGET', chunk_set(task, 'edits'), state) or '') end
  return edits[key]
end

-- Changes a chunk's data. If it cannot, the chunk runs unchanged where it would run anyway, else stays behind the others.
local function change(verb, task, number, state, since, who)
  local ref = task .. '#' .. number
  local was = safe_call('HGET', TASK .. ref, 'a') or ''
  local data = edited(edit_of(task, verb, state), was)
  redo_room = redo_room - 3 - floor(max(#was, #(data or '')) / 256) -- so much longer it takes
  if not data then
    unfit = unfit + 1
    local behind = text(since + 1) .. (let_go(task, number) and '.5' or '')
    if state ~= 'errored' then return move_chunk(task, number, { s = state }, state, behind) end
  elseif safe_call('EXISTS', TASK .. ref) == 1 then
    note_edit(ref, was, who)
    safe_call('HSET', TASK .. ref, 'a', data)
  end
  return redone.retry(task, number, state)
end

function redone.redo(...) return change('redo', ...) end
function redone.set(...) return change('set', ...) end

-- Range of scores of the chunks that an action covers. It excludes lost chunks, except for a drop of failed ones. An action
-- that may leave chunks in their state covers only chunks that were in it at the start.
local function meant(verb, state, since)
  if state == 'pending' then return '-inf', '+inf' end
  local stays = (verb == 'drop' and state == 'failed') or (verb == 'set' and state ~= 'errored')
  return verb == 'drop' and stays and '0' or '(0', stays and since or '+inf'
end

-- Start of an action: now. If the clock was set back, it is the later time of the state's last chunk.
local function begin_of(task, state)
  local last = (state == 'failed' or state == 'done') and safe_call('ZREVRANGE', chunk_set(task, state), 0, 0, 'WITHSCORES')[2]
  return text(max(now, math.ceil(tonumber(last or 0))))
end

local function forget_redo(task) safe_call('HDEL', TASK .. task, 'rd', 'rw'); safe_call('UNLINK', chunk_set(task, 'edits')) end

local function end_redo(task)
  forget_redo(task)
  unschedule('~redo:' .. task)
  turn_lane(task)
  gathering[task] = false
end

local function redo_part(task, verb, state, since, who)
  local key, dropped = chunk_set(task, state), 0
  local low, high = meant(verb, state, since)
  local numbers = redo_room > 0 and safe_call('ZRANGEBYSCORE', key, low, high, 'LIMIT', 0, redo_room) or {}
  for _, number in ipairs(numbers) do
    if redo_room <= 0 then break end
    redo_room = redo_room - 1
    dropped = dropped + (redone[verb](task, number, state, tonumber(since), who) or 0)
  end
  if dropped ~= 0 then safe_call('HINCRBY', TASK .. task, 'xd', dropped) end
  flush_chunks()
  return safe_call('ZCOUNT', key, low, high)
end

-- The number of chunks that are left.
local function redo_step(task, pause)
  local row = fields_of(TASK .. task, 's', 'rd', 'rw')
  if not (row and row[2]) then return 0 end
  if row[1] ~= 'aggregating' then forget_redo(task); return 0 end
  local left, before = 0, unfit
  for verb, state, since in string.gmatch(row[2], '(%a+):(%a+):(%d+)') do
    left = left + redo_part(task, verb, state, since, row[3] or '')
  end
  local kept = unfit - before
  if kept > 0 then log_line(task, { k = 'log', text = kept .. ' chunks keep their data: it has no fields, or would be too long' }) end
  if left == 0 then end_redo(task) else schedule('~redo:' .. task, now + pause) end
  return left
end

-- Begins a bulk action. Earlier ones continue; of two verbs for one state the later one counts.
local function begin_redo(task, states, verb, who, value)
  if value then safe_call('HSET', chunk_set(task, 'edits'), states, value) end
  local row = fields_of(TASK .. task, 'rd')
  local parts = {}
  for before, state, since in string.gmatch(row and row[1] or '', '(%a+):(%a+):(%d+)') do
    if not string.find(',' .. states .. ',', ',' .. state .. ',', 1, true) then
      parts[#parts + 1] = before .. ':' .. state .. ':' .. since
    end
  end
  if string.find(states, 'done', 1, true) then safe_call('HDEL', TASK .. task, 'xm', 'xn') end -- the longest run is none any more
  for state in string.gmatch(states, '[^,]+') do parts[#parts + 1] = verb .. ':' .. state .. ':' .. begin_of(task, state) end
  safe_call('HSET', TASK .. task, 'rd', table.concat(parts, ','), 'rw', who)
  turn_lane(task)
  return redo_step(task, 1000)
end
