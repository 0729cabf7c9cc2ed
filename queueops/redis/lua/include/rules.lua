-- The pool's numbers, sent with every call that judges leases: lease, keep_succeeded, keep_failed, keep_cancelled,
-- max_crashes, unknown_after, payload_limit; all in milliseconds but the count, and the bytes.
local RULES = {}
do
  local names = { 'lease', 'keep_succeeded', 'keep_failed', 'keep_cancelled', 'max_crashes', 'unknown_after',
    'payload_limit' }
  local index = 0
  for number in string.gmatch(ARGV[5], '[^ ]+') do index = index + 1; RULES[names[index]] = tonumber(number) end
end
