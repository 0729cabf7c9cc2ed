-- Schedules of a pool. The index has each schedule by the time of its next tick, infinite while it does not fire. No script
-- reads the definition of a schedule.
local SCHEDULES = P .. ':schedules'
local QUEUED = P .. ':schedules:queued'

local function schedule_key(id) return P .. ':schedule:' .. id end

-- Whether the last task of a schedule has ended, or is gone. A task in quarantine does not delay the next run.
local function is_over(task)
  if not task then return true end
  local row = fields_of(task_key(task), 's')
  local state = row and row[1]
  return not state or TERMINAL[state] or state == 'quarantined'
end

-- The task of an earlier run that has not ended. That run was the last tick (`lr`), or the last run by hand. Nil if both
-- have ended.
local function unended(tick_run, last)
  if tick_run and tick_run ~= '' and not is_over(tick_run) then return tick_run end
  if not is_over(last) then return last end
end
