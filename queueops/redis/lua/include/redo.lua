-- Moving all chunks of some states back to pending, a part at a time. While a task's `rd` names states that are not
-- empty yet, its lane is closed, so that no chunk is moved twice; whoever comes goes on with it, the agenda too.
local redo_room = 500 -- chunks in one call of a script

local function redo_chunk(task, number, state)
  local ref = task .. '#' .. number
  local row = fields_of(TASK .. ref, 's')
  if state == 'errored' then unschedule(ref) end
  if not (row and row[1]) then return move_chunk(task, number, { s = state }, 'failed', 0) end
  call('HDEL', TASK .. ref, 're', 'er', 'ef', 'y', 'e', 'd', 'at', 'cr', 'dr', 'uk')
  call('HSET', TASK .. ref, 's', 'pending', 'q', NOW)
  move_chunk(task, number, { s = state }, 'pending', number)
end

local function end_redo(task)
  call('HDEL', TASK .. task, 'rd')
  unschedule('~redo:' .. task)
  turn_lane(task)
  gathering[task] = false
end

-- How many are left to be moved. Those whose record is lost (score 0) stay where they are.
local function redo_step(task, pause)
  local row = fields_of(TASK .. task, 's', 'rd')
  if not (row and row[2]) then return 0 end
  if row[1] ~= 'aggregating' then call('HDEL', TASK .. task, 'rd'); return 0 end
  local left = 0
  for state in string.gmatch(row[2], '[^,]+') do
    local key = chunk_set(task, state)
    local numbers = redo_room > 0 and call('ZRANGEBYSCORE', key, '(0', '+inf', 'LIMIT', 0, redo_room) or {}
    for _, number in ipairs(numbers) do redo_chunk(task, number, state) end
    redo_room = redo_room - #numbers
    left = left + call('ZCOUNT', key, '(0', '+inf') - #numbers
  end
  if left == 0 then end_redo(task) else schedule('~redo:' .. task, now + pause) end
  return left
end

local function begin_redo(task, states)
  local row = fields_of(TASK .. task, 'rd')
  local before = row and row[1] or ''
  if not string.find(before, states, 1, true) then states = before ~= '' and before .. ',' .. states or states else states = before end
  call('HSET', TASK .. task, 'rd', states)
  if string.find(states, 'failed', 1, true) then call('HSET', TASK .. task, 'xd', 0) end
  turn_lane(task)
  return redo_step(task, 1000)
end
