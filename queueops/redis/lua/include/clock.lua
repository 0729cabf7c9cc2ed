-- What every script begins with: the pool's prefix, the time (asked for once), and the minute's counters.
local P = KEYS[1]
local call = redis.call
local floor, min, max = math.floor, math.min, math.max
local TIME = call('TIME')
local now = TIME[1] * 1000 + floor(TIME[2] / 1000)
local TASK = P .. ':task:'
local BAND = 17592186044416 -- 2^44: width of one priority's band of scores in a lane

-- Numbers become text here: Redis' own conversion of a Lua number is slow, and so is that of a float. In two parts, for on
-- some servers an integer of Lua's has 32 bits. Times recur: the last one is kept.
local latest, latest_text = 0, '0'
local function text(number)
  if number == latest then return latest_text end
  local whole = floor(number + 0.5)
  latest = number
  latest_text = whole < 1e9 and string.format('%d', whole) or string.format('%d%09d', floor(whole / 1e9), whole % 1e9)
  return latest_text
end
local NOW = text(now)

-- A call that must not keep the writes behind it from being made: a key of another type than it should be is noted for
-- the watchdog, which tells. Answers nil then.
local function try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  redis.pcall('HSET', P .. ':clock', 'broken', key)
end

-- Answers whether it is the first of its sort in this minute.
local function count_minute(field, delta)
  local key = P .. ':metrics:' .. text(floor(now / 60000))
  if try('HINCRBY', key, field, delta) ~= delta then return false end
  call('EXPIRE', key, 172800)
  return true
end
