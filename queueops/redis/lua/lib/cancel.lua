-- Cancel of a task that no worker runs: by an operator, with its parent, or because it has expired.
--@needs caller_news end_effects expiry generations minute_counts phases records rules store_helpers task_end transitions

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

-- Cancels a task that should have begun by now, given the time of its entry into its state, if that is known: a task that
-- was never claimed has its creation there alone. Returns whether it did.
function lib.expire_unbegun(id, record, entered)
  local state = record[F.state]
  if record[F.begun] or not (state == 'pending' or state == 'postponed' or state == 'waiting') then return false end
  local created = lib.number_of(record[F.created] or entered or lib.try('ZSCORE', P .. ':state:' .. state, id) or NOW)
  local at = lib.expires_at(record[F.expires], created or now)
  if not at or at > now then return false end
  lib.cancel(id, record, 'expired: it had not begun in time')
  lib.collect_count('ex|' .. record[F.name], 1)
  lib.tell_caller(id, record[F.kind], record[F.name], 'expired', record[F.root])
  return true
end

function lib.hooks.due_entry.expiry(id)
  local record = lib.read_record(id)
  if record then lib.expire_unbegun(id, record) end
end
