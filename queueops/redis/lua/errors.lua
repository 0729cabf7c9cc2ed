#!lua flags=no-writes
-- errors: the error groups that occurred last, by fingerprint; and the starts of workers, which tell of releases.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many at most, 2 of how many ms the starts are ('0': none)
-- Reply: for each: fingerprint, ms of its last occurrence, its fields (flat), number of its failed tasks now. Then, if asked
--        for, the newest starts with their times, and the last start before that time.
-- Transitions: none.
--@needs starts tolerant_reads

lib.tolerate()

local rows = {}
local found = call('ZREVRANGE', P .. ':errors', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local key = P .. ':error:' .. found[i]
  rows[#rows + 1] = { found[i], found[i + 1], call('HGETALL', key), call('ZCARD', key .. SUBKEY.tasks) }
end
if ARGV[2] == '0' then return lib.told({ rows }) end
return lib.told({ rows, lib.starts_between(lib.text(now - tonumber(ARGV[2])), '+inf', 100) })
