#!lua flags=no-writes
-- workers: the processes that serve the pool, the latest heartbeat first.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many at most
-- Reply: Redis' time in ms; for each worker: id, ms of its last beat, its fields (flat).
-- Transitions: none.
--@needs tolerant_reads

lib.tolerate()

local rows = {}
local found = call('ZREVRANGE', P .. ':workers', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  rows[#rows + 1] = { found[i], found[i + 1], call('HGETALL', P .. ':worker:' .. found[i]) }
end
return lib.told({ string.format('%.0f', now), rows })
