-- A map-reduce task that is over, or waits for its reduce, is taken up again by an operator.
local RESTING = { pending = true, postponed = true, restart = true }

-- Whether its chunks may be touched: they are all there, and the task waits for them, or is done with them.
local function may_reopen(parent)
  return parent.ch and parent.cn and (parent.s == 'aggregating' or TERMINAL[parent.s] or (parent.ph and RESTING[parent.s]))
end

local function leave_stage(task, parent)
  if parent.s == 'pending' then leave_lane(parent.l or 'default', task) end
  unschedule(task)
  forget_error(task, parent)
  call('HDEL', task_key(task), 're', 'er', 'ef', 'y', 'e', 'x', 'd', 'uk')
  call('HSET', task_key(task), 'at', 0, 'cr', 0, 'f', next_number())
  if TERMINAL[parent.s] then call('HSET', task_key(task), 'u', next_number(), 'uo', parent.uo or parent.u or 0) end
end

local function reopen(task, parent)
  if parent.s == 'aggregating' then return end
  leave_stage(task, parent)
  move(task, parent.s, 'aggregating', parent.n, parent.k)
  call('HSET', task_key(task), 's', 'aggregating', 'to', parent.cn)
  call('HDEL', task_key(task), 'rd', 'ph')
  parent.s = 'aggregating'
  turn_lane(task)
  gathering[task] = gathering[task] or false
end
