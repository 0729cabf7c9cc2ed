-- Fences: whether a task or chunk still holds the lease under which it writes.
--@needs attempts

function lib.holds_lease(id, fence)
  local row = redis.pcall('HMGET', TASK .. id, 's', 'f')
  return row[2] == fence and LEASED[row[1]] or false
end

-- Whether a running task may push: its lease must be current. A caller reads a lease of another pool there. Then the id
-- is empty, and the fence's argument is the time at which the lease ends.
function lib.may_push(id, fence)
  local may = id == '' and now < tonumber(fence) or id ~= '' and lib.holds_lease(id, fence)
  if not may then lib.count_minute('stale', 1) end
  return may
end
