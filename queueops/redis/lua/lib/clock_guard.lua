-- Outages of the server, and jumps of its clock.
--@needs minute_counts numbers rules store_helpers transitions

local BEAT_MS = 250 -- how old the pool's beat may become
fresh.any_paused = false -- whether a name of the pool is paused: see paused_names.lua

-- A silence of more ms is an outage. A watchdog alone comes once a second, however short the lease.
local function outage_ms() return max(ctx.RULES.lease / 2, 3000) end

-- Keeps the pool's beat fresh. A call that takes no lease away and no number asks for no more of the clock.
function lib.beat()
  local beat = lib.number_of(lib.try('HGET', P .. ':clock', 'beat') or nil)
  if not beat or now < beat or now - beat >= BEAT_MS then lib.watch_clock() end
end

-- After an outage, or a jump of the clock, no lease is taken away for one full lease: a restart of the server must
-- not look like a dead worker. The pool's own beat shows both: exchanges and ticks refresh it.
function lib.watch_clock()
  local key = P .. ':clock'
  local found = lib.try('HMGET', key, 'beat', 'grace', 'seq', 'paused') or {} -- without a clock no outage is known
  local beat, grace, seq, paused = unpack(found)
  beat, grace = lib.number_of(beat), lib.number_of(grace) or 0
  ctx.least_number, ctx.any_paused = lib.number_of(seq) or 0, paused == '1'
  if beat and (now - beat > outage_ms() or now < beat - 500) then
    grace = now + ctx.RULES.lease
    lib.try('HSET', key, 'grace', grace)
    if now < beat then
      for state in pairs(LEASED) do
        local held = lib.safe_call('ZRANGE', P .. ':state:' .. state, 0, 4999)
        for _, id in ipairs(held) do call('ZADD', P .. ':agenda', 'XX', lib.text(grace), id) end
      end
      local lanes = lib.safe_call('ZREVRANGE', P .. ':lanes', 0, 4999)
      for _, lane in ipairs(lanes) do call('ZADD', P .. ':agenda', 'XX', NOW, '~lane:' .. lane) end
    end
  end
  if not beat or now < beat or now - beat >= BEAT_MS then lib.try('HSET', key, 'beat', now) end
  return grace > now + ctx.RULES.lease and now + ctx.RULES.lease or grace
end
