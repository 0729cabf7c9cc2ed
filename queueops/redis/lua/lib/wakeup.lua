-- Wake-up of idle workers for new work.
--@needs minute_counts transitions

fresh.caller = '' -- the worker whose call this is, which may be listed as idle still

function lib.wake_one()
  local idle = lib.try('ZPOPMAX', P .. ':idle')
  if idle and idle[1] == ctx.caller then idle = lib.try('ZPOPMAX', P .. ':idle') end -- it is awake
  if not (idle and idle[1]) then return false end
  local key = P .. ':wake:' .. idle[1]
  if lib.try('LPUSH', key, 'work') == 1 then call('EXPIRE', key, 60) else lib.try('LTRIM', key, 0, 99) end
  return true
end

-- Wakes one more worker if none would wake before the next agenda entry. The score of an idle worker is the time at which
-- it wakes by itself.
function lib.wake_early()
  local first = lib.try('ZRANGE', P .. ':idle', 0, 0, 'WITHSCORES')
  if not (first and first[2]) then return end
  local due = lib.try('ZRANGE', P .. ':agenda', 0, 0, 'WITHSCORES')
  if due and due[2] and tonumber(due[2]) < tonumber(first[2]) then lib.wake_one() end
end

-- Wakes at most `count` idle workers. Returns whether any was idle.
function lib.wake_workers(count)
  local woken = false
  while count > 0 and lib.wake_one() do count, woken = count - 1, true end
  return woken
end

function lib.wake(count)
  lib.wake_workers(count)
  lib.wake_early()
end

-- Tells a worker to check whether it should still run this task.
function lib.tell_worker(worker, id)
  local key = P .. ':wake:' .. (worker or '')
  lib.safe_call('LPUSH', key, 'cancel ' .. id); lib.safe_call('LTRIM', key, 0, 99); lib.safe_call('EXPIRE', key, 60)
end
