-- Handover: a task that is pushed alone, while nothing else is ready, goes to an idle worker at once. It is created as
-- claimed, in the wake-up token. Its lease is short. Until the worker renews it, `h` is the fence of the lease, and its
-- end costs the task no attempt. Such an end means that the worker was frozen, or the token was lost with its connection.
--@needs attempts fast_push numbers

local HANDED_MS, HANDED_BYTES = 2000, 16384

-- Whether the token can carry the task. Otherwise it goes through its lane.
local function fits_token(task) return task.is_text and task.size <= HANDED_BYTES end

-- Whether the lane's settings and the worker that began to wait last permit it. Most lanes have no settings, and most
-- workers no name that they do not know: then one command tells. It counts the paused names three times.
local function goes_by_hand(task)
  if not fits_token(task) then return false end
  local conf = P .. ':lane:' .. task.lane .. '#conf'
  local paused = P .. ':names:paused'
  local seen = call('EXISTS', conf, P .. ':unable', paused, paused, paused)
  if seen == 0 then return true end
  if seen > 2 and lib.try('HEXISTS', paused, task.name) == 1 then return false end
  local row = call('HMGET', conf, 'limit', 'paused', 'rate', 'shut')
  if row[1] or row[2] == '1' or row[3] or row[4] then return false end
  local worker = (lib.try('ZRANGE', P .. ':idle', '-1', '-1') or {})[1]
  return worker and lib.try('SISMEMBER', P .. ':unable:' .. worker, task.name) ~= 1
end

-- Hands over the single task of this call to the worker that began to wait last. Returns its uid, which is also its
-- fence; nil if no worker waits. The caller has seen that no ready lane and no follower of events is in the way, that
-- lane and worker permit it, and that the id is free.
local function hand_over(task)
  local number = lib.next_number()
  local idle = lib.try('ZPOPMAX', P .. ':idle')
  local worker = idle and idle[1]
  if not worker then return nil end
  if not lib.try('ZADD', P .. ':agenda', lib.text(now + HANDED_MS), task.id) then
    call('ZADD', P .. ':idle', idle[2], worker)
    return call('ZCARD', P .. ':agenda') -- it raises: where this can't be done, nothing is
  end
  local fence = lib.text(number)
  local record = { 'HSET', TASK .. task.id, 'u', fence, 's', 'locked', 'f', fence, 'h', fence, 'w', worker, 'b', NOW,
    'c', NOW, unpack(ARGV, 5, task.last) }
  if task.more then record[#record + 1] = 'm'; record[#record + 1] = task.more end
  call(unpack(record))
  local is_first = lib.index_single('locked', task, fence, 'tr|>pending>locked') -- two transitions, one counter
  if is_first then lib.try('ZADD', P .. ':lanes', NOW, task.lane) end
  record[1], record[2] = 'task\0' .. NOW, task.id -- the token: time, id and fields, with a zero byte between them
  local key = P .. ':wake:' .. worker
  lib.try('LPUSH', key, table.concat(record, '\0'))
  call('EXPIRE', key, '60')
  return number
end

-- The fast paths of a push: hands the task over, or creates it in its lane. Returns its number, or nil.
function lib.push_alone(task)
  local obstacles = lib.obstacles(task)
  if obstacles == 0 then return nil end
  if obstacles == 1 then return lib.push_fast(task) end -- a ready lane, if that is the task's
  local seen = obstacles == 3 and 'waiting' or lib.look_closer(task)
  if seen == 'ready' then return lib.push_fast(task) end
  if seen == 'waiting' and goes_by_hand(task) then return hand_over(task) end
end
