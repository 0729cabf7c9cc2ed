-- What every script begins with: the pool's prefix, the time (asked for once), and the minute's counters.
local P = KEYS[1]
local call = redis.call
local floor, min, max = math.floor, math.min, math.max
local TIME = call('TIME')
local now = TIME[1] * 1000 + floor(TIME[2] / 1000)
local LISTENED = call('EXISTS', P .. ':tail') == 1

local TASK = P .. ':task:'

-- Numbers become text once: Redis' own conversion of a Lua number is slow, and times recur.
local texts = {}
local function text(number)
  local found = texts[number]
  if not found then found = string.format('%.0f', number); texts[number] = found end
  return found
end
local NOW = text(now)


-- A number that was read from a record; nil when it is none, or none that a time or a count could be.
local function number_of(value)
  local number = tonumber(value or nil)
  if number and number > -1e15 and number < 1e15 then return number end
end

local function task_key(id) return TASK .. id end

-- A call that must not keep the writes behind it from being made: a key of another type than it should be is noted for
-- the watchdog, which tells. Answers nil then.
local function try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  redis.pcall('HSET', P .. ':clock', 'broken', key)
end

-- Call in slices that no limit of Lua's unpack is reached by. Whether it could be done.
local function call_sliced(command, key, list)
  for i = 1, #list, 1000 do
    if not try(command, key, unpack(list, i, min(i + 999, #list))) then return false end
  end
  return true
end

local function fields_of(key, ...)
  local reply = redis.pcall('HMGET', key, ...)
  if reply.err then return nil end
  return reply
end

local function append(map, key, value)
  local list = map[key]
  if not list then list = {}; map[key] = list end
  list[#list + 1] = value
end

local function append_scored(map, key, score, member)
  local list = map[key]
  if not list then list = {}; map[key] = list end
  local size = #list
  list[size + 1] = score
  list[size + 2] = member
end

local function add(map, key, field, delta)
  local row = map[key]
  if not row then row = {}; map[key] = row end
  row[field] = (row[field] or 0) + delta
end

local MINUTE = P .. ':metrics:' .. text(floor(now / 60000))

-- Answers whether it is the first of its sort in this minute.
local function count_minute(field, delta)
  if try('HINCRBY', MINUTE, field, delta) ~= delta then return false end
  call('EXPIRE', MINUTE, 172800)
  return true
end
