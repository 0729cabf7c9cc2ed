-- Handover: a task that is pushed alone, while nothing else is ready, goes to an idle worker at once. It is created as
-- claimed, in the wake-up token. Its lease is short. Until the worker renews it, `h` is the fence of the lease, and its
-- end costs the task no attempt. Such an end means that the worker was frozen, or the token was lost with its connection.
local HANDED_MS, HANDED_BYTES = 2000, 16384

-- Whether a task may be handed over. Otherwise it goes through its lane, for example while a reader follows the events.
local function goes_by_hand(key, lane, size)
  if size > HANDED_BYTES then return false end
  if call('EXISTS', P .. ':lanes:ready', P .. ':state:quarantined', P .. ':tail', key) > 0 then return false end
  local conf = call('HMGET', P .. ':lane:' .. lane .. '#conf', 'limit', 'paused', 'rate')
  return not (conf[1] or conf[2] or conf[3])
end

local function index_handed(id, name, lane, number)
  index_single('locked', id, name, number)
  try('ZADD', P .. ':lanes', NOW, lane)
  try('HINCRBY', P .. ':counts', 'l|' .. lane .. '|active', 1)
  count_minute('tr|pending>locked', 1)
end

-- Sends the token. It holds the time, the fence, the id and the fields of the record, encoded as a Redis reply.
local function hand_to(worker, id, record)
  local parts = { NOW, record[4], id, unpack(record, 3) }
  for i, part in ipairs(parts) do parts[i] = '$' .. #part .. '\r\n' .. part .. '\r\n' end
  local key = P .. ':wake:' .. worker
  try('ZREM', P .. ':idle', worker)
  try('LPUSH', key, 'task *' .. #parts .. '\r\n' .. table.concat(parts))
  call('EXPIRE', key, 60)
end

-- Hands over the single task of this call, if possible. Returns its uid, which is also its fence.
local function hand_over(worker)
  local last, id, name, lane, _, size = single()
  if not last or not goes_by_hand(TASK .. id, lane, size) then return end
  if try('SISMEMBER', P .. ':unable:' .. worker, name) == 1 then return end
  local number = text(next_number())
  local record = { 'HSET', TASK .. id, 'u', number, 's', 'locked', 'f', number, 'h', number, 'w', worker, 'b', NOW, 'c', NOW,
    'm', '1', unpack(ARGV, 5, last) }
  call('ZADD', P .. ':agenda', text(now + HANDED_MS), id) -- where this can't be done, nothing is
  call(unpack(record))
  index_handed(id, name, lane, number)
  hand_to(worker, id, record)
  return tonumber(number)
end
