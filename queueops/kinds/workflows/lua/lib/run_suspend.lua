-- Suspended runs: one makes no step, whatever would make it ready, until it is resumed.
--@needs lanes outcomes phases run_marks runs store_helpers transitions

lib.run_suspend = {}

function lib.run_suspend.suspend(id, row)
  lib.safe_call('HSET', lib.task_key(id), F.suspended_since, NOW)
  lib.run_marks.enter('suspended', id)
  lib.run_suspend.park(id, row)
end

function lib.run_suspend.park(id, row)
  if row[F.state] ~= 'pending' then return end -- a worker's step goes on to its end; a due time is kept
  lib.flush(); lib.flush_lanes() -- it may have come into its lane in this very call
  lib.shift(id, row, 'idle')
  lib.leave_lane(row[F.lane] or 'default', id, row[F.name])
  lib.safe_call('HSET', lib.task_key(id), F.state, 'idle')
end

function lib.run_suspend.forget(id)
  lib.safe_call('HDEL', lib.task_key(id), F.suspended_since)
  lib.run_marks.leave('suspended', id)
end

-- It makes a step even without events: what made it ready may have come before it was suspended.
function lib.run_suspend.resume(id, row)
  if not row[F.suspended_since] then return end
  lib.run_suspend.forget(id)
  row[F.suspended_since] = nil
  lib.runs.wake(id, row)
end

-- Its time has come.
function lib.hooks.claim.workflow.promote(id, record)
  if not record[F.suspended_since] then return false end
  lib.shift(id, record, 'idle')
  lib.unschedule(id)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'idle')
  return true
end

-- Its worker gives it back.
function lib.hooks.settle.workflow.end_instead(id, record)
  if not record[F.suspended_since] then return false end
  lib.leave_lease(id, record, 'idle')
  lib.unschedule(id)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'idle')
  return true
end
