#!lua flags=allow-oom
-- mute_error: an operator mutes an error until a time, or ends that. Failures with a muted error raise no alarm: for a name
-- with any (`mute|<name>`), alarms count the others (`loud|<name>`). Those of this minute and the last one are taken from
-- these at once, but only once: `quiet` is the number of the last failure that counted as muted.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 fingerprint, 2 until when in epoch ms ('' = it is not muted any more)
-- Reply: until when it was muted ('' = it was not).
-- Transitions: none.
--@needs minute_counts store_helpers transitions

local key, until_ms = P .. ':error:' .. ARGV[1], ARGV[2]
local _, name, was, count, noted, quiet = lib.values_of(key, 'name', 'muted', 'count', 'noted', 'quiet')
if (lib.number_of(was) or 0) <= now then was = '' end
if until_ms == '' then
  lib.safe_call('HDEL', key, 'muted')
  return was
end
lib.safe_call('HSET', key, 'muted', until_ms)
call('EXPIRE', key, 2592000) -- as after a failure
count = lib.number_of(count) or 0
local loud = count - (lib.number_of(quiet) or 0)

local function hush(minute_key, most)
  local field = 'loud|' .. name
  local number = min(most, lib.number_of(lib.safe_call('HGET', minute_key, field)) or 0)
  if number > 0 then lib.safe_call('HINCRBY', minute_key, field, lib.text(-number)) end
end

if name and loud > 0 then
  local last_minute = P .. ':metrics:' .. lib.text(floor(now / 60000) - 1)
  local before = lib.number_of(lib.safe_call('HGET', last_minute, '@e|' .. ARGV[1])) or 0
  local here = max(0, min(loud, count - (lib.number_of(noted) or 0)))
  before = min(before, loud - here)
  hush(ctx.metrics_key, here)
  hush(last_minute, before)
  lib.flag_muted(name)
  lib.safe_call('HSET', key, 'quiet', count)
end
return was
