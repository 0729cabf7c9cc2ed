#!lua
-- keep_stack: stores the stacks of a worker's threads, if they were asked for and not yet answered. A full store refuses it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 the stacks as text, 3 ms for which they are kept
-- Reply: OK, or GONE without such a request.
-- Transitions: none.

local key = P .. ':stack:' .. ARGV[1]
if call('HEXISTS', key, 'asked') == 0 then return 'GONE' end
call('HSET', key, 'at', lib.text(now), 'text', ARGV[2])
call('HDEL', key, 'asked')
call('PEXPIRE', key, ARGV[3])
return 'OK'
