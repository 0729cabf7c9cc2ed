-- Retry of a map-reduce task that has ended, or waits for its reduce, by an operator.
local RESTING = { pending = true, postponed = true, restart = true }

-- Whether an operator may change the chunks: all exist, and the task waits for them or has finished with them.
local function may_reopen(parent)
  if not (parent.ch and parent.cn) then return false end
  if TERMINAL[parent.s] then return not refusal_of_part(parent) end
  return parent.s == 'aggregating' or (parent.ph and RESTING[parent.s])
end

local function leave_stage(task, parent)
  if parent.s == 'pending' then leave_lane(parent.l or 'default', task) end
  unschedule(task)
  forget_error(task, parent)
  safe_call('HDEL', task_key(task), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'd', 'uk')
  safe_call('HSET', task_key(task), 'at', 0, 'cr', 0, 'f', next_number())
  if TERMINAL[parent.s] then safe_call('HSET', task_key(task), 'u', next_number(), 'uo', parent.uo or parent.u or 0) end
end

local function reopen(task, parent)
  if parent.s == 'aggregating' then return end
  leave_stage(task, parent)
  move(task, parent.s, 'aggregating', parent.n, parent.k)
  safe_call('HSET', task_key(task), 's', 'aggregating', 'to', parent.cn)
  safe_call('HDEL', task_key(task), 'rd', 'ph')
  parent.s = 'aggregating'
  turn_lane(task)
  gathering[task] = gathering[task] or false
end

local function reduce_again(task, parent)
  leave_stage(task, parent)
  safe_call('HDEL', task_key(task), 'rd')
  to_reduce(task, parent)
end

-- Retries an ended task from its reduce if no chunk is open and not too many failed. Else from its failed chunks.
-- Finished chunks are kept. Nil if only the map can create missing chunks.
local function take_up(task, parent)
  if not may_reopen(parent) or all_chunks(task) ~= number_of(parent.cn) then return nil end
  if parent.ph and open_chunks(task) == 0 and too_many_failed(task, parent.oc, parent.cn, parent.xd) <= 0 then
    reduce_again(task, parent)
    return 'pending', 'its reduce runs again'
  end
  reopen(task, parent)
  begin_redo(task, 'failed,errored', 'retry', ARGV[6])
  settle_up()
  local state = safe_call('HGET', task_key(task), 's')
  return state, TERMINAL[state] and 'a chunk is lost: restart it from its map' or 'its failed chunks run again'
end
