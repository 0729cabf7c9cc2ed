-- Doing one thing to all chunks of some states, a part at a time: `retry` makes them pending again, `drop` lets them go,
-- `skip` counts them as done. While a task's `rd` names states that are not through yet (verb:state:from when, with commas
-- between), its lane is closed, so that no chunk is met twice; whoever comes goes on with it, the agenda too.
-- `xd` is how many of the failed ones were let go. One without a record can't say so: its score is -1 then, and not 0.
local redo_room = 500 -- chunks in one call of a script
local redone = {}

function redone.retry(task, number, state)
  local ref = task .. '#' .. number
  local row = fields_of(TASK .. ref, 's', 'dr')
  if state == 'errored' then unschedule(ref) end
  if not (row and row[1]) then return move_chunk(task, number, { s = state }, 'failed', 0) end
  call('HDEL', TASK .. ref, 're', 'er', 'ef', 'y', 'e', 'd', 'at', 'cr', 'dr', 'uk')
  call('HSET', TASK .. ref, 's', 'pending', 'q', NOW)
  move_chunk(task, number, { s = state }, 'pending', number)
  return row[2] and -1
end

local function to_close(ref)
  local row = fields_of(TASK .. ref, 's', 'dr', 'tw', 'w')
  return row and row[1] and { s = row[1], dr = row[2], tw = row[3], w = row[4] }
end

function redone.drop(task, number, _, since, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then
    call('ZADD', chunk_set(task, 'failed'), -1, number)
    return 1
  end
  finish_chunk(ref, chunk, 'failed', 'y', 'dropped by ' .. who, 'dr', 1)
  move_chunk(task, number, { s = 'failed' }, 'failed', text(since + 1)) -- behind those that are still to come
  return not chunk.dr and 1
end

function redone.skip(task, number, _, _, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then return end
  call('HDEL', TASK .. ref, 're', 'er', 'ef', 'd', 'at', 'cr', 'dr', 'uk')
  finish_chunk(ref, chunk, 'done', 'y', 'skipped by ' .. who)
  return chunk.dr and -1
end

-- The scores of those that are meant: without the lost ones, but for a drop of what failed; that leaves them where they
-- are, so it ends with what had failed when it began.
local function meant(verb, state, since)
  if state == 'pending' then return '-inf', '+inf' end
  if verb == 'drop' and state == 'failed' then return '0', since end
  return '(0', '+inf'
end

local function end_redo(task)
  call('HDEL', TASK .. task, 'rd', 'rw')
  unschedule('~redo:' .. task)
  turn_lane(task)
  gathering[task] = false
end

local function redo_part(task, verb, state, since, who)
  local key, dropped = chunk_set(task, state), 0
  local low, high = meant(verb, state, since)
  local numbers = redo_room > 0 and call('ZRANGEBYSCORE', key, low, high, 'LIMIT', 0, redo_room) or {}
  for _, number in ipairs(numbers) do dropped = dropped + (redone[verb](task, number, state, tonumber(since), who) or 0) end
  if dropped ~= 0 then call('HINCRBY', TASK .. task, 'xd', dropped) end
  redo_room = redo_room - #numbers
  flush_chunks()
  return call('ZCOUNT', key, low, high)
end

-- How many are left.
local function redo_step(task, pause)
  local row = fields_of(TASK .. task, 's', 'rd', 'rw')
  if not (row and row[2]) then return 0 end
  if row[1] ~= 'aggregating' then call('HDEL', TASK .. task, 'rd', 'rw'); return 0 end
  local left = 0
  for verb, state, since in string.gmatch(row[2], '(%a+):(%a+):(%d+)') do
    left = left + redo_part(task, verb, state, since, row[3] or '')
  end
  if left == 0 then end_redo(task) else schedule('~redo:' .. task, now + pause) end
  return left
end

-- What was begun before goes on; of two verbs for one state the later one counts.
local function begin_redo(task, states, verb, who)
  local row = fields_of(TASK .. task, 'rd')
  local parts = {}
  for before, state, since in string.gmatch(row and row[1] or '', '(%a+):(%a+):(%d+)') do
    if not string.find(',' .. states .. ',', ',' .. state .. ',', 1, true) then
      parts[#parts + 1] = before .. ':' .. state .. ':' .. since
    end
  end
  for state in string.gmatch(states, '[^,]+') do parts[#parts + 1] = verb .. ':' .. state .. ':' .. NOW end
  call('HSET', TASK .. task, 'rd', table.concat(parts, ','), 'rw', who)
  turn_lane(task)
  return redo_step(task, 1000)
end
