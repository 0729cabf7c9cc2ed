#!lua flags=allow-oom
-- mute_error: an operator mutes an error until a time, or ends that. Failures with a muted error raise no alarm: for a name
-- with any (`mute|<name>`), alarms count the others (`loud|<name>`). Those of this minute and the last one are taken from
-- these at once.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 fingerprint, 2 until when in epoch ms ('' = it is not muted any more)
-- Reply: until when it was muted ('' = it was not).
-- Transitions: none.
--@needs minute_counts store_helpers transitions

local key, until_ms = P .. ':error:' .. ARGV[1], ARGV[2]
local _, was = lib.values_of(key, 'muted')
if (lib.number_of(was) or 0) <= now then was = '' end
if until_ms == '' then
  lib.safe_call('HDEL', key, 'muted')
  return was
end
lib.safe_call('HSET', key, 'muted', until_ms)
call('EXPIRE', key, 2592000) -- as after a failure

local function hush(minute_key)
  local own, fields = '@loud|' .. ARGV[1] .. '|', lib.try('HGETALL', minute_key) or {}
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, #own) == own then
      local name = string.sub(fields[i], #own + 1)
      lib.safe_call('HINCRBY', minute_key, 'loud|' .. name, lib.text(-(lib.number_of(fields[i + 1]) or 0)))
      lib.safe_call('HDEL', minute_key, fields[i])
      lib.flag_muted(name)
    end
  end
end

hush(ctx.metrics_key)
hush(P .. ':metrics:' .. lib.text(floor(now / 60000) - 1))
return was
