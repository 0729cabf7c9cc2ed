-- Fast path for a task that is pushed alone, as most are. It needs a lane in the round, no waiting worker and no
-- follower of events. `total` is the number of tasks.
--@needs attempts

fresh.total = 0

-- Index of the last shared value, then id, name, lane, priority and size of the arguments of the task.
-- Nil if the task is delayed, has a kind, or has tags.
function lib.single()
  local last = 4 + ARGV[4]
  if ctx.total ~= 1 or ARGV[3] ~= '' or ARGV[last + 1] ~= '0' then return nil end
  local lane, priority, size = 'default', 0, 0
  for i = 7, last, 2 do
    local field = ARGV[i]
    if field == 'a' then size = #ARGV[i + 1]
    elseif field == 'l' then lane = ARGV[i + 1]
    elseif field == 'p' then priority = tonumber(ARGV[i + 1])
    elseif field == 'k' or field == 'tg' then return nil end
  end
  return last, ARGV[last + 2], ARGV[6], lane, priority, size
end

function lib.index_single(state, id, name, number)
  lib.try('ZADD', P .. ':state:' .. state, now, id)
  lib.try('ZADD', P .. ':name:' .. name, number, id)
  lib.try('HINCRBY', P .. ':counts', 'n|' .. name .. '|' .. state, 1)
  lib.count_minute('tr|>pending', 1)
  if lib.count_minute('in|' .. name, 1) then lib.try('ZADD', P .. ':names', now, name) end
end

-- Creates the task, and returns its number. If the push needs another path: nil, and how many of the keys exist that
-- are in the way (waiting workers, a follower of events, quarantine, the task).
function lib.push_fast()
  local last, id, name, lane, priority = lib.single()
  if not last then return nil end
  local obstacles = call('EXISTS', P .. ':idle', P .. ':tail', P .. ':state:quarantined', TASK .. id)
  if obstacles > 0 or not call('ZSCORE', P .. ':lanes:ready', lane) then return nil, obstacles end
  local number = redis.pcall('INCR', P .. ':seq')
  if type(number) ~= 'number' or number <= 0 or number >= BAND then return nil end -- the long path repairs it
  call('ZADD', P .. ':lane:' .. lane, (100 - priority) * BAND + number, id) -- where this can't be done, nothing is
  call('HSET', TASK .. id, 'u', number, 's', 'pending', unpack(ARGV, 5, last))
  lib.index_single('pending', id, name, number)
  return number
end
