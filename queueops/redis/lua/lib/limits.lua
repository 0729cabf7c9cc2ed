-- Limits of keys. A task with the field `limit_key` needs a turn of its key before it enters its lane: while tasks of the key
-- have all turns, it waits under the key. So a claim never meets a task whose key is full. `limit` is how many tasks of the
-- key have a turn: those in a lane, and those that run. `rate` is how many of them begin, as in rate_limit.lua; those in a
-- lane have their tokens aside. A turn that ends goes to the first that waits. That one enters its lane behind what is there.
-- The lane of what belongs to one task takes turns like a task, see lane_turns.lua.
--@needs minute_counts numbers rate_limit store_helpers turn_order

local ADMIT_MOST = 200 -- so many tasks of a key get a turn in one call
fresh.limits_touched = false -- keys whose turns may have changed in this call: their names by scope
fresh.came_now = TABLE -- tasks that this call has put under their keys: they have their places in the lane already

-- The names of a task and of a key have no space.
function lib.scope_of(record) return record[F.name] .. ' ' .. record[F.limit_key] end

function lib.key_of_limit(scope) return P .. ':limit:' .. scope end

function lib.touch_key(scope)
  ctx.limits_touched = ctx.limits_touched or {}
  ctx.limits_touched[scope] = string.match(scope, '^%S+') or ''
end

local function bucket_of(key, rate)
  local bucket, tat = {}, redis.pcall('GET', key .. SUBKEY.tat)
  lib.fill_bucket(bucket, rate, type(tat) == 'string' and tat)
  return bucket
end

local function keep_bucket(key, bucket)
  local left = math.ceil((bucket.tat - bucket.latest + bucket.burst) / 1000) + 1
  if left > 0 then call('SET', key .. SUBKEY.tat, lib.text(bucket.tat), 'PX', lib.text(left)) end
end

-- How many turns of a key are left for tasks with this record. If a rate says so, also its bucket, and how many turns have
-- not begun.
function lib.turns_left(scope, record)
  local key, limit, rate = lib.key_of_limit(scope), lib.number_of(record[F.key_limit]), record[F.key_rate]
  local ready = lib.try('SCARD', key .. SUBKEY.turn) or 0
  local left = limit and max(0, limit - ready - (lib.try('SCARD', key .. SUBKEY.active) or 0)) or 1e9
  local bucket = left > 0 and rate and bucket_of(key, rate)
  if not (bucket and bucket.rate) then return left end
  return min(left, max(0, lib.tokens_of(bucket) - ready)), bucket, ready
end

-- Whether a task with this record may have a turn of a key now: 'free', 'full' or 'rated'. If it is 'rated', also its bucket,
-- unless tasks in a lane have tokens of it: each of them comes back here when it begins.
function lib.turns_of(scope, record)
  local left, bucket, ready = lib.turns_left(scope, record)
  if left > 0 then return 'free' end
  if not bucket then return 'full' end
  return 'rated', ready == 0 and bucket
end

-- The same as yes or no. The agenda returns to a key that waits for a token alone.
local function has_turn_left(scope, record)
  local word, bucket = lib.turns_of(scope, record)
  if bucket then
    if bucket.ahead then keep_bucket(lib.key_of_limit(scope), bucket) end
    lib.try('ZADD', P .. ':agenda', lib.text(lib.tokens_at(bucket, 1)), '~limit:' .. scope)
    ctx.lanes_await = true
  end
  return word == 'free'
end

-- Gives a task a turn of its key, or puts it under the key with its place in the lane. Returns whether it may enter the lane.
function lib.take_turn(id, record, score)
  local scope = lib.scope_of(record)
  local waiting = lib.key_of_limit(scope) .. SUBKEY.waiting
  if call('EXISTS', waiting) == 0 and has_turn_left(scope, record) then
    lib.try('SADD', lib.key_of_limit(scope) .. SUBKEY.turn, id)
    return true
  end
  if not lib.try('ZADD', waiting, score, id) then return true end -- that key has a wrong type
  lib.try('ZADD', P .. ':lanes', 'NX', NOW, record[F.lane] or 'default')
  ctx.came_now[id] = true
  lib.touch_key(scope)
  return false
end

-- What is leased begins: these ids, on the turn of one of them, or of their lane.
function lib.begin_turns(scope, record, holder, ids)
  local key = lib.key_of_limit(scope)
  lib.try('SREM', key .. SUBKEY.turn, holder)
  lib.try('SADD', key .. SUBKEY.active, unpack(ids))
  local bucket = record[F.key_rate] and bucket_of(key, record[F.key_rate])
  if bucket and bucket.rate then
    bucket.tat = math.ceil(bucket.tat + #ids * bucket.period)
    keep_bucket(key, bucket)
  end
  if call('EXISTS', key .. SUBKEY.waiting) == 1 then lib.touch_key(scope) end -- the first may have a rate, or another one
end

-- The task is leased: it begins. `fields` is its record as a list.
function lib.begin_turn(id, fields)
  local record = {}
  for i = 1, #fields, 2 do record[fields[i]] = fields[i + 1] end
  lib.begin_turns(lib.scope_of(record), record, id, { id })
end

-- The task leaves its lane, its key or its worker: what it had of its key goes to the next one. Needs name and key of the record.
function lib.end_turn(id, record)
  if not record[F.limit_key] then return end
  local scope = lib.scope_of(record)
  local key = lib.key_of_limit(scope)
  for _, part in ipairs({ SUBKEY.turn, SUBKEY.active }) do lib.try('SREM', key .. part, id) end
  lib.try('ZREM', key .. SUBKEY.waiting, id)
  lib.touch_key(scope)
end

-- The next one that gets a turn of the key, or that does not wait any more: its id, its place, whether it waits, its record.
local function next_one(scope, key)
  for _, each in ipairs(lib.next_of_key(key)) do
    local id, score = unpack(each)
    if not id then return end
    local waits, row = lib.first_of_key(id)
    if not waits or has_turn_left(scope, row) then return id, score, waits, row end
  end
end

-- Tasks of a key that get a turn now, with the lanes that they enter and their places there; and lanes that do.
local function admit(scope, found)
  local key = lib.key_of_limit(scope)
  for _ = 1, ADMIT_MOST do
    local id, score, waits, row = next_one(scope, key)
    if not id then return end
    lib.try('ZREM', key .. SUBKEY.waiting, id)
    if waits then
      lib.try('SADD', key .. SUBKEY.turn, id)
      if not ctx.came_now[id] then score = floor(score / BAND) * BAND + lib.next_number() end
      found[#found + 1] = { id = id, lane = row[F.lane] or 'default', score = score }
    end
  end
end

-- Passes on the turns that have ended in this call. Returns the tasks that enter their lanes, and the lanes that have a turn.
function lib.pass_turns()
  local found, touched = {}, ctx.limits_touched
  ctx.limits_touched = false
  for scope, name in pairs(touched) do
    admit(scope, found)
    local left = lib.try('ZCARD', lib.key_of_limit(scope) .. SUBKEY.waiting) or 0
    if left > 0 then
      lib.try('ZADD', P .. ':limits:' .. name, left, scope)
    else
      lib.try('ZREM', P .. ':limits:' .. name, scope)
    end
  end
  return found
end

-- A token of the key is there.
function lib.hooks.due_entry.limit(scope) lib.touch_key(scope) end
