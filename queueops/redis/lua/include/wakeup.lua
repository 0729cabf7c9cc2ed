-- Wake-up of idle workers for new work.
local function wake_one()
  local idle = try('ZPOPMAX', P .. ':idle')
  if not (idle and idle[1]) then return false end
  local key = P .. ':wake:' .. idle[1]
  if try('LPUSH', key, 'work') == 1 then call('EXPIRE', key, 60) else try('LTRIM', key, 0, 99) end
  return true
end

-- Wakes one more worker if none would wake before the next agenda entry. The score of an idle worker is the time at which
-- it wakes by itself.
local function wake_early()
  local first = try('ZRANGE', P .. ':idle', 0, 0, 'WITHSCORES')
  if not (first and first[2]) then return end
  local due = try('ZRANGE', P .. ':agenda', 0, 0, 'WITHSCORES')
  if due and due[2] and tonumber(due[2]) < tonumber(first[2]) then wake_one() end
end

-- Wakes at most `count` idle workers. Returns whether any was idle.
local function wake_workers(count)
  local woken = false
  while count > 0 and wake_one() do count, woken = count - 1, true end
  return woken
end

local function wake(count)
  wake_workers(count)
  wake_early()
end

-- Tells a worker to check whether it should still run this task.
local function tell_worker(worker, id)
  local key = P .. ':wake:' .. (worker or '')
  safe_call('LPUSH', key, 'cancel ' .. id); safe_call('LTRIM', key, 0, 99); safe_call('EXPIRE', key, 60)
end
