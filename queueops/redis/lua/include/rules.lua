-- The pool's numbers, sent with every call that judges leases: lease, keep_succeeded, keep_failed, keep_cancelled,
-- max_crashes, unknown_after; all in milliseconds but the count.
local RULES = {}
do
  local names = { 'lease', 'keep_succeeded', 'keep_failed', 'keep_cancelled', 'max_crashes', 'unknown_after' }
  local index = 0
  for number in string.gmatch(ARGV[5], '[^ ]+') do index = index + 1; RULES[names[index]] = tonumber(number) end
end
