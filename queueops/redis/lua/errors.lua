#!lua flags=no-writes
-- errors: the error groups that occurred last, by fingerprint.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many at most
-- Reply: for each: fingerprint, ms of its last occurrence, its fields (flat), number of its failed tasks now.
-- Transitions: none.
--@needs tolerant_reads

lib.tolerate()

local reply = {}
local found = call('ZREVRANGE', P .. ':errors', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local key = P .. ':error:' .. found[i]
  reply[#reply + 1] = { found[i], found[i + 1], call('HGETALL', key), call('ZCARD', key .. SUBKEY.tasks) }
end
return lib.told(reply)
