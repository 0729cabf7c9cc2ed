-- Helpers of every function: calls that do not raise, and the counters of the minute.
-- The constant numbers of the shortest paths are texts: a server converts a number of a script slowly, by printf.

-- Notes a key of the wrong type for the watchdog, which reports it.
fresh.broken_key = false
function lib.note_broken(key)
  ctx.broken_key = key
  redis.pcall('HSET', P .. ':clock', 'broken', key)
end

-- Calls Redis without raising, so that the writes after it are still made. Returns nil if the key has another type.
function lib.try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  lib.note_broken(key)
end

-- Changes a counter that pages show. One that is 0 is not kept, but for those of all named lanes: they are as many as states.
function lib.count(field, delta)
  if lib.try('HINCRBY', P .. ':counts', field, delta) == 0 and string.sub(field, 1, 3) ~= 's||' then
    call('HDEL', P .. ':counts', field)
  end
end

fresh.metrics_key = function() return P .. ':metrics:' .. floor(now / 60000) end

-- Returns whether it is the first count of this field in this minute.
function lib.count_minute(field, delta)
  local key = ctx.metrics_key
  if lib.try('HINCRBY', key, field, delta == 1 and '1' or delta) ~= delta then return false end
  call('EXPIRE', key, '172800')
  return true
end

-- Marks a name whose alarms leave out muted failures: in this minute, and in the next one, when workers may still send the
-- counts of these failures.
function lib.flag_muted(name)
  for ahead = 0, 1 do
    local key = P .. ':metrics:' .. lib.text(floor(now / 60000) + ahead)
    lib.try('HSET', key, 'mute|' .. name, '1')
    call('EXPIRE', key, '172800')
  end
end

-- Counters of lanes begin with @; lane '' stands for those beyond so many fields in a minute. The default lane has none of
-- `in`: it is the rest.
local MOST_FIELDS = 3000

-- As `count_minute`, for a field of any sort. Returns whether it is the first count, or is not kept apart from others.
function lib.count_field(field, delta)
  if not lib.count_minute(field, delta) then return false end
  if string.byte(field) ~= 64 or (lib.try('HLEN', ctx.metrics_key) or 0) <= MOST_FIELDS then return true end
  local word = string.match(field, '^@%a+|')
  local has_bucket = word == '@run|' or word == '@wait|'
  local shared = has_bucket and word .. string.match(field, '|%d+$') or word
  if shared == field then return true end
  call('HDEL', ctx.metrics_key, field)
  lib.count_minute(shared, delta)
  return true
end

-- Whether these are the first tasks of a named lane in this minute.
function lib.count_for_lane(lane, count)
  return lane and lane ~= 'default' and lib.count_field('@in|' .. lane, count)
end
