#!lua flags=no-writes
-- lease_time_left: the remaining time of a running task's lease, for a push of that task to another pool.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id of the task or chunk, 2 fence
-- Reply: ms that are left (0: the lease is no longer current), Redis' time in ms.
-- Transitions: none.
--@needs fence

local left = lib.holds_lease(ARGV[1], ARGV[2]) and tonumber(call('ZSCORE', P .. ':agenda', ARGV[1]) or 0) - now or 0
return { max(0, left), now }
