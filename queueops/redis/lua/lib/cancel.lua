-- Cancel of a task that no worker runs.
--@needs end_effects generations phases records rules store_helpers task_end transitions

-- Also cancels what the task consists of. Writes more fields, if they are given.
function lib.cancel(id, record, reason, hard, ...)
  lib.shift(id, record, 'cancelled')
  lib.leave_place(id, record)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'cancelled', F.ended, NOW, F.reason, reason, ...)
  if hard or record[F.cancelled_hard] then lib.harden(id, hard) end
  lib.schedule(id, now + (lib.number_of(record[F.keep]) or ctx.RULES.keep_cancelled))
  lib.tell_end(id, record, 'cancelled')
  local cancel_parts = (lib.hooks.ending[record[F.kind]] or NONE).cancel_parts
  if cancel_parts then cancel_parts(id, record) end
  if record[F.next] then lib.start_next(id) end
end
