-- Templates: chains and groups whose parts a worker computes. The task runs once, writes its children, then waits for them.
-- Until that run is settled, its record has `ex`: the children are in their sets already, but none begins.
--@needs lanes parent phases store_helpers transitions

-- Erases the children that an incomplete run wrote. Returns whether all are erased.
function lib.family.prune(id)
  local uid = lib.safe_call('HGET', lib.task_key(id), F.uid)
  while ctx.allowance > 0 do
    local refs = lib.safe_call('SPOP', lib.family.open_of(id), min(ctx.allowance, 100))
    if #refs == 0 then
      lib.safe_call('DEL', lib.family.children_of(id))
      return true
    end
    for _, ref in ipairs(refs) do lib.family.discard(ref, id, uid) end
  end
  return false
end

-- Settles a successful run: the task now waits for its parts.
function lib.family.settle_expansion(id, record)
  lib.flush(); lib.flush_lanes()
  lib.free_slot(record[F.lane] or 'default', id)
  lib.unschedule(id)
  if record[F.cancel_requested] then
    lib.family.finish(id, record, 'cancelled', 'y', record[F.cancel_requested])
    return lib.family.cancel_children(id)
  end
  lib.shift(id, record, 'idle')
  local count = lib.safe_call('ZCARD', lib.family.children_of(id))
  lib.safe_call('HDEL', lib.task_key(id), F.unexpanded, F.emission, F.answer, F.next_cursor, F.attempt, F.crashes, F.error, F.fingerprint,
    F.reason, F.unknown_since)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'idle', F.children, count, F.total, record[F.next_cursor] or count, F.progress, 0)
  record[F.state], record[F.children] = 'idle', count
  lib.family.open(id, record)
end
