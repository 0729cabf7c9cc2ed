-- Second run of a slow chunk. The first run that succeeds counts, and the other is refused. A second run waits in the lane of
-- its task, because the lane of the chunks may have no slot.
local function add_twin(task, number)
  local conf = lane_conf('#' .. task)
  local ref = task .. '#' .. number .. '~'
  safe_call('HSET', TASK .. task .. '#' .. number, 'tw', 1)
  safe_call('HSET', TASK .. ref, 's', 'pending', 'c', NOW, 'l', conf.lane)
  safe_call('SADD', chunk_set(task, 'twins'), number)
  enter_lane(conf.lane, ref, conf.priority, next_number())
end

local function drop_twin(task, number, silently)
  local ref = task .. '#' .. number .. '~'
  local row = fields_of(TASK .. ref, 's', 'l', 'w') or {}
  if row[1] == 'pending' then leave_lane(row[2] or 'default', ref) end
  if row[1] == 'active' then
    append(leaving, 'active', ref)
    unschedule(ref)
    if not silently then tell_worker(row[3], ref) end
  end
  safe_call('DEL', TASK .. ref)
  safe_call('SREM', chunk_set(task, 'twins'), number)
  if safe_call('EXISTS', TASK .. task .. '#' .. number) == 1 then safe_call('HDEL', TASK .. task .. '#' .. number, 'tw') end
end

-- Ends a chunk, and its second run with it.
local function finish_chunk(ref, chunk, state, ...)
  local task, number = split_ref(ref)
  if chunk.tw then drop_twin(task, number) end
  safe_call('HSET', TASK .. ref, 's', state, 'e', NOW, ...)
  if chunk.s ~= 'pending' then unschedule(ref) end
  move_chunk(task, number, chunk, state)
  gathering[task] = state == 'failed' and number or gathering[task] or false
end
