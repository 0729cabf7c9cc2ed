-- Broken keys: a tick reports keys of a wrong type or value to the watchdog. It also writes them to the pool's clock.

-- Checks the counter and notes its value: it must never be lower later.
local function check_numbers()
  local value = redis.pcall('GET', P .. ':seq')
  local number = type(value) == 'string' and number_of(value) or value == false and 0
  least_number = number_of(safe_call('HGET', P .. ':clock', 'seq')) or 0
  if not number or number < least_number or number >= BAND then number = mend_numbers(0) end
  safe_call('HSET', P .. ':clock', 'tick', now, 'seq', text(number))
end

-- Reports the last broken key that this call met, or another call since the last tick. The figures show it for a while,
-- too.
local function tell_broken()
  local row = fields_of(P .. ':clock', 'broken', 'mended') or {}
  local broken = row[1] or broken_key
  if broken then
    act('broken key ' .. broken)
    redis.pcall('HSET', P .. ':clock', 'named', broken, 'named_type', call('TYPE', broken).ok, 'named_at', NOW)
  end
  if row[2] then act('mended key ' .. row[2]) end
  if row[1] or row[2] then call('HDEL', P .. ':clock', 'broken', 'mended') end
end
