#!lua flags=allow-oom
-- tell_worker: sends `quiet` or `stop` to a worker, by its wake-up list.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 word (quiet, stop)
-- Reply: OK
-- Transitions: none.

local key = P .. ':wake:' .. ARGV[1]
call('RPUSH', key, ARGV[2]); call('LTRIM', key, 0, 99); call('EXPIRE', key, 60)
return 'OK'
