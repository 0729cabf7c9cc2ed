-- Handover: a task that is pushed alone, while nothing else is ready, goes to an idle worker at once. It is created as
-- claimed, in the wake-up token. Its lease is short. Until the worker renews it, `h` is the fence of the lease, and its
-- end costs the task no attempt. Such an end means that the worker was frozen, or the token was lost with its connection.
--@needs attempts fast_push numbers

local HANDED_MS, HANDED_BYTES = 2000, 16384

-- Whether a task may be handed over. Otherwise it goes through its lane. Most lanes have no settings, and most workers no
-- name that they do not know: then one command answers.
local function goes_by_hand(lane, size, worker, name)
  if size > HANDED_BYTES then return false end
  local conf, unable = P .. ':lane:' .. lane .. '#conf', P .. ':unable:' .. worker
  if call('EXISTS', P .. ':lanes:ready', conf, unable) == 0 then return true end
  if call('EXISTS', P .. ':lanes:ready') == 1 then return false end
  local row = call('HMGET', conf, 'limit', 'paused', 'rate', 'shut')
  return not (row[1] or row[2] or row[3] or row[4]) and lib.try('SISMEMBER', unable, name) ~= 1
end

local function index_handed(task, number)
  lib.index_single('locked', task, number)
  lib.try('ZADD', P .. ':lanes', NOW, task.lane)
  lib.try('HINCRBY', P .. ':counts', 'l|' .. task.lane .. '|active', '1')
  lib.count_minute('tr|pending>locked', 1)
end

-- Sends the token: the time, the id and the fields of the record, with a zero byte between them.
local function hand_to(worker, task, record)
  record[1], record[2] = 'task\0' .. NOW, task.id
  local key = P .. ':wake:' .. worker
  lib.try('ZREM', P .. ':idle', worker)
  lib.try('LPUSH', key, table.concat(record, '\0'))
  call('EXPIRE', key, '60')
end

-- Hands over the single task of this call, if possible. Returns its uid, which is also its fence. The caller has seen
-- that no follower of events, no quarantine and no task of that id are in the way.
function lib.hand_over(worker, task)
  if not (task.is_text and goes_by_hand(task.lane, task.size, worker, task.name)) then return end
  local number = lib.next_number()
  local fence = lib.text(number)
  local record = { 'HSET', TASK .. task.id, 'u', fence, 's', 'locked', 'f', fence, 'h', fence, 'w', worker, 'b', NOW,
    'c', NOW, unpack(ARGV, 5, task.last) }
  if task.more then record[#record + 1] = 'm'; record[#record + 1] = '1' end
  call('ZADD', P .. ':agenda', lib.text(now + HANDED_MS), task.id) -- where this can't be done, nothing is
  call(unpack(record))
  index_handed(task, fence)
  hand_to(worker, task, record)
  return number
end
