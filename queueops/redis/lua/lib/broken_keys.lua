-- Broken keys: a tick reports keys of a wrong type or value to the watchdog. It also writes them to the pool's clock.
--@needs agenda minute_counts numbers store_helpers transitions

-- Checks the counter and notes its value: it must never be lower later.
function lib.check_numbers()
  local value = redis.pcall('GET', P .. ':seq')
  local number = type(value) == 'string' and lib.number_of(value) or value == false and 0
  ctx.least_number = lib.number_of(lib.safe_call('HGET', P .. ':clock', 'seq')) or 0
  if not number or number < ctx.least_number or number >= BAND then number = lib.mend_numbers(0) end
  lib.safe_call('HSET', P .. ':clock', 'tick', now, 'seq', lib.text(number))
end

-- Reports the last broken key that this call met, or another call since the last tick. The figures show it for a while,
-- too.
function lib.tell_broken()
  local row = lib.named_fields(P .. ':clock', 'broken', 'mended') or {}
  local broken = row.broken or ctx.broken_key
  if broken then
    lib.act('broken key ' .. broken)
    redis.pcall('HSET', P .. ':clock', 'named', broken, 'named_type', call('TYPE', broken).ok, 'named_at', NOW)
  end
  if row.mended then lib.act('mended key ' .. row.mended) end
  if row.broken or row.mended then call('HDEL', P .. ':clock', 'broken', 'mended') end
end
