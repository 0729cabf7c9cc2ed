-- What every script begins with: the pool's prefix, the time (asked for once), and the minute's counters.
local P = KEYS[1]
local call = redis.call
local floor, min, max = math.floor, math.min, math.max
local TIME = call('TIME')
local now = TIME[1] * 1000 + floor(TIME[2] / 1000)
local TASK = P .. ':task:'
local BAND = 17592186044416 -- 2^44: width of one priority's band of scores in a lane

-- A key of another type than it should be is noted for the watchdog, which tells.
local broken_key
local function note_broken(key)
  broken_key = key
  redis.pcall('HSET', P .. ':clock', 'broken', key)
end

-- A call that must not keep the writes behind it from being made. Answers nil where its key is of another type.
local function try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  note_broken(key)
end

-- Answers whether it is the first of its sort in this minute.
local function count_minute(field, delta)
  local key = P .. ':metrics:' .. floor(now / 60000)
  if try('HINCRBY', key, field, delta) ~= delta then return false end
  call('EXPIRE', key, 172800)
  return true
end
