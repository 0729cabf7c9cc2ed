-- Fences: whether a task or chunk still holds the lease under which it writes.
--@needs minute_counts store_helpers

function lib.holds_lease(id, fence)
  local _, state, current = lib.values_of(TASK .. id, F.state, F.fence)
  return current == fence and LEASED[state] or false
end

-- Whether a running task may push: its lease must be current. A caller reads a lease of another pool there. Then the id
-- is empty, and the fence's argument is the time at which the lease ends.
function lib.may_push(id, fence)
  local may = id == '' and now < tonumber(fence) or id ~= '' and lib.holds_lease(id, fence)
  if not may then lib.count_minute('stale', 1) end
  return may
end
