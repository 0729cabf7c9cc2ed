-- Fast paths for a task that is pushed alone, as most are.
--@needs end_effects minute_counts

fresh.total = 0 -- number of tasks that the call pushes

-- What the fast paths need of the single task of this call. `last` is the index of its last shared value. Nil if the task
-- is delayed, has a kind or tags, expires, or needs a turn of its key. `is_text`: no value has a zero byte.
function lib.single()
  local last = 4 + ARGV[4]
  if ctx.total ~= 1 or ARGV[3] ~= '' or ARGV[last + 1] ~= '0' then return nil end
  local name, lane, priority, size, more = ARGV[6], 'default', 0, 0, nil
  local is_text = not string.find(name, '\0', 1, true)
  for i = 7, last, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if string.find(value, '\0', 1, true) then is_text = false end
    if field == 'a' then size = #value
    elseif field == 'p' then priority = tonumber(value)
    elseif field == 'k' or field == 'tg' or field == 'xe' or field == 'lk' then return nil
    elseif lib.IS_MORE[field] then
      more = lib.more_with(field, more)
      if field == 'l' then lane = value end
    end
  end
  return { last = last, id = ARGV[last + 2], name = name, lane = lane, priority = priority, size = size, more = more,
    is_text = is_text }
end

-- `flow` is the way into its state. Returns whether these counters of its name or its named lane are the first ones in
-- this minute.
function lib.index_single(state, task, number, flow)
  local is_first = false
  lib.try('ZADD', P .. ':state:' .. state, NOW, task.id)
  lib.try('ZADD', P .. ':name:' .. task.name, number, task.id)
  if state ~= 'locked' then lib.try('HINCRBY', P .. ':counts', 'n|' .. task.name .. '|' .. state, '1') end
  if task.lane ~= 'default' then
    lib.try('HINCRBY', P .. ':counts', 's|' .. task.lane .. '|' .. state, '1')
    lib.try('HINCRBY', P .. ':counts', 's||' .. state, '1')
    is_first = lib.count_for_lane(task.lane, 1)
  end
  lib.count_minute(flow, 1)
  if lib.count_minute('in|' .. task.name, 1) then
    is_first = true
    lib.try('ZADD', P .. ':names', NOW, task.name)
  end
  return is_first
end

-- How many keys exist that are in the way of the fast paths. EXISTS counts a key as often as it is named: 3 are waiting
-- workers alone, or three of the other keys; 1 is one of the others.
function lib.obstacles(task)
  local idle = P .. ':idle'
  return call('EXISTS', idle, idle, idle, P .. ':lanes:ready', P .. ':tail', P .. ':state:quarantined', TASK .. task.id)
end

-- Whether the only obstacle is ready lanes, or waiting workers. Nil for both, for a follower of events, and for an id in use:
-- a lost record in quarantine has one, too.
function lib.look_closer(task)
  local idle, tail, key = P .. ':idle', P .. ':tail', TASK .. task.id
  local seen = call('EXISTS', P .. ':lanes:ready', idle, idle, tail, tail, tail, key, key, key)
  if seen > 2 or call('ZSCORE', P .. ':state:quarantined', task.id) then return nil end
  return seen == 1 and 'ready' or seen == 2 and 'waiting' or nil
end

-- Creates the task in its lane, and returns its number. Nil if the lane is not in the round. The caller has seen that no
-- waiting worker and no follower of events is in the way, and that the id is free.
function lib.push_fast(task)
  if not call('ZSCORE', P .. ':lanes:ready', task.lane) then return nil end
  local number = redis.pcall('INCR', P .. ':seq')
  if type(number) ~= 'number' or number <= 0 or number >= BAND then return nil end -- the long path repairs it
  call('ZADD', P .. ':lane:' .. task.lane, (100 - task.priority) * BAND + number, task.id) -- where this can't be done, nothing is
  local uid = lib.text(number)
  call('HSET', TASK .. task.id, F.uid, uid, F.state, 'pending', unpack(ARGV, 5, task.last))
  lib.index_single('pending', task, uid, 'tr|>pending')
  return number
end
