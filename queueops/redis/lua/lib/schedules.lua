-- Schedules of a pool. The index has each schedule by the time of its next tick, infinite while it does not fire. No script
-- reads the definition of a schedule.
--@needs store_helpers

fresh.SCHEDULES = function() return P .. ':schedules' end
fresh.QUEUED = function() return P .. ':schedules:queued' end

function lib.schedule_key(id) return P .. ':schedule:' .. id end

-- Whether the last task of a schedule has ended, or is gone. A task in quarantine does not delay the next run.
local function has_ended(task)
  if not task then return true end
  local row = lib.named_fields(lib.task_key(task), F.state)
  local state = row and row[F.state]
  return not state or TERMINAL[state] or state == 'quarantined'
end

-- The task of an earlier run that has not ended. That run was the last tick (`lr`), or the last run by hand. Nil if both
-- have ended.
function lib.unended(tick_run, last)
  if tick_run and tick_run ~= '' and not has_ended(tick_run) then return tick_run end
  if not has_ended(last) then return last end
end
