-- Schedules: when tasks are created by themselves. The index has every schedule of the pool by the time of its next tick,
-- infinite while it does not fire; what is to be done then is the definition, which no script reads.
local SCHEDULES = P .. ':schedules'
local QUEUED = P .. ':schedules:queued'

local function schedule_key(id) return P .. ':schedule:' .. id end

-- Whether the task that a schedule created last has ended, or is gone; one in quarantine does not delay the next run.
local function is_over(task)
  if not task then return true end
  local row = fields_of(task_key(task), 's')
  local state = row and row[1]
  return not state or TERMINAL[state] or state == 'quarantined'
end

-- The task of an earlier run that goes on: of the last tick (`lr`), or what was run last, by hand; nil when both are over.
local function unended(tick_run, last)
  if tick_run and tick_run ~= '' and not is_over(tick_run) then return tick_run end
  if not is_over(last) then return last end
end
