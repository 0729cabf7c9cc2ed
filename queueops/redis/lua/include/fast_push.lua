-- Fast path for a task that is pushed alone, as most are. It needs a lane in the round, no waiting worker and no
-- follower of events. It runs before anything is made that only other pushes need. `total` is the number of tasks.

-- Index of the last shared value, then id, name, lane, priority and size of the arguments of the task.
-- Nil if the task is delayed, has a kind, or has tags.
local function single()
  local last = 4 + ARGV[4]
  if total ~= 1 or ARGV[3] ~= '' or ARGV[last + 1] ~= '0' then return nil end
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

local function index_single(state, id, name, number)
  try('ZADD', P .. ':state:' .. state, now, id)
  try('ZADD', P .. ':name:' .. name, number, id)
  try('HINCRBY', P .. ':counts', 'n|' .. name .. '|' .. state, 1)
  count_minute('tr|>pending', 1)
  if count_minute('in|' .. name, 1) then try('ZADD', P .. ':names', now, name) end
end

do
  local last, id, name, lane, priority = single()
  local plain = last and call('EXISTS', P .. ':idle', P .. ':tail', P .. ':state:quarantined', TASK .. id) == 0
  if plain and call('ZSCORE', P .. ':lanes:ready', lane) then
    local number = redis.pcall('INCR', P .. ':seq')
    if type(number) == 'number' and number > 0 and number < BAND then -- else it is mended below
      call('ZADD', P .. ':lane:' .. lane, (100 - priority) * BAND + number, id) -- where this can't be done, nothing is
      call('HSET', TASK .. id, 'u', number, 's', 'pending', unpack(ARGV, 5, last))
      index_single('pending', id, name, number)
      return { number, now }
    end
  end
end
