-- Handover: a task that is pushed alone, while nothing else is ready, goes to an idle worker at once. It is created as
-- claimed, in the wake-up token. Its lease is short. Until the worker renews it, `h` is the fence of the lease, and its
-- end costs the task no attempt. Such an end means that the worker was frozen, or the token was lost with its connection.
--@needs attempts end_effects fast_push numbers

local HANDED_MS, HANDED_BYTES = 2000, 16384

-- Whether a task may be handed over. Otherwise it goes through its lane. Most lanes have no settings, and most workers no
-- name that they do not know: then one command answers.
local function goes_by_hand(lane, size, worker, name)
  if size > HANDED_BYTES then return false end
  local conf, unable = P .. ':lane:' .. lane .. '#conf', P .. ':unable:' .. worker
  if call('EXISTS', P .. ':lanes:ready', conf, unable) == 0 then return true end
  if call('EXISTS', P .. ':lanes:ready') == 1 then return false end
  local row = call('HMGET', conf, 'limit', 'paused', 'rate')
  return not (row[1] or row[2] or row[3]) and lib.try('SISMEMBER', unable, name) ~= 1
end

-- Whether the end of the task needs more of its record than each end does.
local function has_more(last)
  for i = 5, last, 2 do
    if lib.IS_MORE[ARGV[i]] then return true end
  end
end

local function index_handed(id, name, lane, number)
  lib.index_single('locked', id, name, number)
  lib.try('ZADD', P .. ':lanes', NOW, lane)
  lib.try('HINCRBY', P .. ':counts', 'l|' .. lane .. '|active', 1)
  lib.count_minute('tr|pending>locked', 1)
end

-- Sends the token. It holds the time, the fence, the id and the fields of the record, encoded as a Redis reply.
local function hand_to(worker, id, record)
  local parts = { NOW, record[4], id, unpack(record, 3) }
  for i, part in ipairs(parts) do parts[i] = '$' .. #part .. '\r\n' .. part .. '\r\n' end
  local key = P .. ':wake:' .. worker
  lib.try('ZREM', P .. ':idle', worker)
  lib.try('LPUSH', key, 'task *' .. #parts .. '\r\n' .. table.concat(parts))
  call('EXPIRE', key, 60)
end

-- Hands over the single task of this call, if possible. Returns its uid, which is also its fence. The caller has seen
-- that no follower of events, no quarantine and no task of that id are in the way.
function lib.hand_over(worker)
  local last, id, name, lane, _, size = lib.single()
  if not goes_by_hand(lane, size, worker, name) then return end
  local number = lib.text(lib.next_number())
  local record = { 'HSET', TASK .. id, 'u', number, 's', 'locked', 'f', number, 'h', number, 'w', worker, 'b', NOW, 'c', NOW,
    unpack(ARGV, 5, last) }
  if has_more(last) then record[#record + 1] = 'm'; record[#record + 1] = '1' end
  call('ZADD', P .. ':agenda', lib.text(now + HANDED_MS), id) -- where this can't be done, nothing is
  call(unpack(record))
  index_handed(id, name, lane, number)
  hand_to(worker, id, record)
  return tonumber(number)
end
