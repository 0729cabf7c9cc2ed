-- Handover: a task that is pushed or woken alone, while nothing else is ready, goes to an idle worker at once. It is leased
-- in the wake-up token. Its lease is short. Until the worker renews it, `h` is the fence of the lease, and its
-- end costs the task no attempt. Such an end means that the worker was frozen, or the token was lost with its connection.
--@needs claim_on_settle fast_push minute_counts numbers phases served_lanes store_helpers transitions wakeup

local HANDED_MS, HANDED_BYTES = 2000, 16384

-- Whether the token can carry the task. Otherwise it goes through its lane.
local function fits_token(task) return task.is_text and task.size <= HANDED_BYTES end

-- Whether the lane's settings and the worker that began to wait last permit it. Most lanes have no settings, and most
-- workers no name that they do not know: then one command tells. It counts the settings once, the unknown names twice, and
-- the paused names four times.
local function goes_by_hand(task)
  if not fits_token(task) then return false end
  local conf = P .. ':lane:' .. task.lane .. SUBKEY.conf
  local paused = P .. ':names:paused'
  local unable = P .. ':unable'
  local seen = call('EXISTS', conf, unable, unable, paused, paused, paused, paused)
  if seen == 0 then return true end
  if seen > 3 and lib.try('HEXISTS', paused, task.name) == 1 then return false end
  if seen % 2 == 1 then
    local limit, pause, rate = unpack(call('HMGET', conf, 'limit', 'paused', 'rate'))
    if limit or pause == '1' or rate then return false end
  end
  if seen % 4 < 2 then return true end
  local worker = unpack(lib.try('ZRANGE', P .. ':idle', '-1', '-1') or {})
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
  local record = { 'HSET', TASK .. task.id, F.uid, fence, F.state, 'locked', F.fence, fence, F.handed, fence, F.worker, worker, F.begun,
    NOW,
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

-- Whether a token can carry these fields, as a list.
local function fits_fields(fields)
  local size = 0
  for _, value in ipairs(fields) do
    size = size + #value
    if string.find(value, '\0', 1, true) then return false end
  end
  return size <= HANDED_BYTES
end

-- Lets this call lease one task, of this name, to the worker that began to wait last, if nothing else is ready.
function lib.offer_to_idle(name)
  local idle = lib.try('ZRANGE', P .. ':idle', '-1', '-1') or {}
  if not idle[1] or lib.try('SISMEMBER', P .. ':unable:' .. idle[1], name) == 1 then return end
  ctx.at_once.room, ctx.at_once.worker, ctx.at_once.lease_ms, ctx.at_once.fits = 1, idle[1], HANDED_MS, fits_fields
end

-- Ends a call that may have leased a task to an idle worker: tells that worker. What was collected is written before.
function lib.hand_out()
  local lease = ctx.at_once.leases[1]
  if not lease then return end
  local id, fence, _, fields = unpack(lease)
  local worker, number = ctx.at_once.worker, lib.text(fence)
  local parts = { 'task', NOW, id, unpack(fields) }
  for _, part in ipairs({ 'f', number, 'w', worker }) do parts[#parts + 1] = part end -- in the place of an earlier lease
  local key = P .. ':wake:' .. worker
  lib.try('ZREM', P .. ':idle', worker)
  lib.try('LPUSH', key, table.concat(parts, '\0'))
  call('EXPIRE', key, '60')
end

-- Whether this worker waits for work. The score is the time until which it does: one that is over belongs to a worker that
-- wakes up now, or is dead.
function lib.is_waiting(worker)
  local till = worker ~= ctx.caller and lib.number_of(lib.try('ZSCORE', P .. ':idle', worker))
  return till and till > now or false
end

-- Leases a task whose turn has come to a worker that waits, and tells it. Returns whether it did: nothing else may be ready.
function lib.hand_to(worker, id, record)
  if lib.try('SISMEMBER', P .. ':unable:' .. worker, record[F.name]) == 1 then return false end
  local own, patterns = ctx.at_once, ctx.patterns -- those of the worker whose call this is
  ctx.at_once, ctx.patterns = { room = 1, worker = worker, leases = {} }, false
  ctx.at_once.lease_ms, ctx.at_once.fits = HANDED_MS, fits_fields
  local taken = lib.take_at_once(id, record)
  if taken then lib.hand_out() end
  ctx.at_once, ctx.patterns = own, patterns
  return taken
end

-- Hands over the single task of this call if it has a kind or tags, which the fast paths leave. Returns its number, or nil.
function lib.push_by_hand()
  local last = 4 + ARGV[4]
  if ctx.total ~= 1 or ARGV[3] ~= '' or ARGV[last + 1] ~= '0' then return nil end
  local task, fields, values = { id = ARGV[last + 2] }, { unpack(ARGV, 5, last) }, {}
  if lib.look_closer(task) ~= 'waiting' then return nil end
  for i = 1, #fields, 2 do values[fields[i]] = fields[i + 1] end
  if values[F.expires] or values[F.limit_key] then return nil end -- it is not begun yet if the token is lost
  lib.need_agenda()
  lib.offer_to_idle(values[F.name])
  local number = ctx.at_once.room > 0 and lib.create_at_once(task.id, fields, values)
  if not number then return nil end
  if lib.count_minute('in|' .. values[F.name], 1) then lib.try('ZADD', P .. ':names', NOW, values[F.name]) end
  lib.settle_up()
  lib.hand_out()
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
