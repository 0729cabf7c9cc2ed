-- The idle workers that are woken for what has come.
local function wake_one()
  local idle = try('ZPOPMAX', P .. ':idle')
  if not (idle and idle[1]) then return false end
  local key = P .. ':wake:' .. idle[1]
  if try('LPUSH', key, 'work') == 1 then call('EXPIRE', key, 60) else try('LTRIM', key, 0, 99) end
  return true
end

-- One more wakes when none of the idle ones sleeps lightly enough to meet the next entry of the agenda: an idle worker's
-- score is the time at which it comes by itself.
local function wake_early()
  local first = try('ZRANGE', P .. ':idle', 0, 0, 'WITHSCORES')
  if not (first and first[2]) then return end
  local due = try('ZRANGE', P .. ':agenda', 0, 0, 'WITHSCORES')
  if due and due[2] and tonumber(due[2]) < tonumber(first[2]) then wake_one() end
end

-- Wake as many idle workers as there is work for; whether any was there.
local function wake_workers(count)
  local woken = false
  while count > 0 and wake_one() do count, woken = count - 1, true end
  return woken
end

local function wake(count)
  wake_workers(count)
  wake_early()
end

-- The worker that runs this looks whether it still should.
local function tell_worker(worker, id)
  local key = P .. ':wake:' .. (worker or '')
  safe_call('LPUSH', key, 'cancel ' .. id); safe_call('LTRIM', key, 0, 99); safe_call('EXPIRE', key, 60)
end
