-- Context of every script: the pool's prefix, the time (read once), and the counters of the minute.
local P = KEYS[1]
local call = redis.call
local floor, min, max = math.floor, math.min, math.max
local TIME = call('TIME')
local now = TIME[1] * 1000 + floor(TIME[2] / 1000)
local TASK = P .. ':task:'
local BAND = 17592186044416 -- 2^44: width of one priority's band of scores in a lane

-- Notes a key of the wrong type for the watchdog, which reports it.
local broken_key
local function note_broken(key)
  broken_key = key
  redis.pcall('HSET', P .. ':clock', 'broken', key)
end

-- Calls Redis without raising, so that the writes after it are still made. Returns nil if the key has another type.
local function try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  note_broken(key)
end

-- Returns whether it is the first count of this field in this minute.
local function count_minute(field, delta)
  local key = P .. ':metrics:' .. floor(now / 60000)
  if try('HINCRBY', key, field, delta) ~= delta then return false end
  call('EXPIRE', key, 172800)
  return true
end
