-- The pool's limits, sent with every call that handles leases: lease, keep_succeeded, keep_failed, keep_cancelled,
-- max_crashes, unknown_after, payload_limit. All are in milliseconds, except max_crashes (a count) and payload_limit (bytes).
local LIMITS = { 'lease', 'keep_succeeded', 'keep_failed', 'keep_cancelled', 'max_crashes', 'unknown_after', 'payload_limit' }

local function read_rules()
  local rules, index = {}, 0
  for number in string.gmatch(ARGV[5], '[^ ]+') do
    index = index + 1
    rules[LIMITS[index]] = tonumber(number)
  end
  return rules
end
fresh.RULES = function() return read_rules() end
