#!lua flags=allow-oom
-- tell_worker: sends `quiet`, `stop` or `stack` to a worker, by its wake-up list. A request for its stacks is stored, too: a lease
-- keeper answers it for a process that cannot.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 word (quiet, stop, stack)
-- Reply: OK
-- Transitions: none.

local ASKED_MS = 300000
if ARGV[2] == 'stack' then
  local stack = P .. ':stack:' .. ARGV[1]
  call('HSET', stack, 'asked', string.format('%.0f', now))
  if call('PTTL', stack) < ASKED_MS then call('PEXPIRE', stack, ASKED_MS) end
end
local key = P .. ':wake:' .. ARGV[1]
call('RPUSH', key, ARGV[2]); call('LTRIM', key, 0, 99); call('EXPIRE', key, 60)
return 'OK'
