#!lua flags=allow-oom
-- beat: heartbeat of a worker, with its figures.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 ms after which its hash may go; then pairs of fields
-- Reply: Redis' time in ms.
-- Transitions: none.
--@needs transitions

local key = P .. ':worker:' .. ARGV[1]
lib.safe_call('ZADD', P .. ':workers', now, ARGV[1])
lib.safe_call('HSET', key, 'beat', now, unpack(ARGV, 3))
call('PEXPIRE', key, ARGV[2])
return string.format('%.0f', now)
