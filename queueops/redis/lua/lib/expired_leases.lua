-- Expired leases: take a task back from a worker that neither settled nor renewed it. Returns the act.
--@needs minute_counts numbers outcomes store_helpers transitions

function lib.recover_lease(id, record, grace)
  if now < grace then lib.schedule(id, grace); return 'spared' end
  local begun = record[F.handed] ~= record[F.fence] -- else it was handed over, and its worker never said a word of it
  record[F.fence] = lib.next_number()
  call('HSET', lib.task_key(id), F.fence, record[F.fence])
  if not begun then
    lib.outcomes.release(id, record)
    return 'released'
  end
  lib.count_minute('err|' .. record[F.name], 1)
  local reason = 'its lease expired: it was not renewed by worker ' .. (record[F.worker] or '?')
  lib.outcomes.crash(id, record, { value = reason, fingerprint = '', delay = 0 })
  return 'recovered'
end
