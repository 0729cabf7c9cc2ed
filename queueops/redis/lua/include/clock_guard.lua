-- Outages of the server, and jumps of its clock.
local UNHEARD = max(RULES.lease / 2, 3000) -- ms; a watchdog alone comes once a second: no outage, however short the lease

-- After an outage, or a jump of the clock, no lease is taken away for a full lease. A restart of the server must not look
-- like a dead worker. The pool's own beat shows both: every exchange and tick refreshes it.
local function watch_clock()
  local key = P .. ':clock'
  local row = try('HMGET', key, 'beat', 'grace', 'seq') or {} -- without a clock no outage is known
  local beat, grace = number_of(row[1]), number_of(row[2]) or 0
  least_number = number_of(row[3]) or 0
  if beat and (now - beat > UNHEARD or now < beat - 500) then
    grace = now + RULES.lease
    try('HSET', key, 'grace', grace)
    if now < beat then
      for state in pairs(LEASED) do
        local held = safe_call('ZRANGE', P .. ':state:' .. state, 0, 4999)
        for _, id in ipairs(held) do call('ZADD', P .. ':agenda', 'XX', text(grace), id) end
      end
      local lanes = safe_call('ZREVRANGE', P .. ':lanes', 0, 4999)
      for _, lane in ipairs(lanes) do call('ZADD', P .. ':agenda', 'XX', NOW, '~lane:' .. lane) end
    end
  end
  if not beat or now ~= beat then try('HSET', key, 'beat', now) end
  return grace > now + RULES.lease and now + RULES.lease or grace
end
