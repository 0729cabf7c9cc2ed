-- Templates: chains and groups whose parts a worker computes. The task runs once, writes its children, then waits for them.
-- Until that run is settled, its record has `ex`: the children are in their sets already, but none begins.

-- Erases the children that an incomplete run wrote. Returns whether all are erased.
function family.prune(id)
  local uid = safe_call('HGET', task_key(id), 'u')
  while allowance > 0 do
    local refs = safe_call('SPOP', family.open_of(id), min(allowance, 100))
    if #refs == 0 then
      safe_call('DEL', family.children_of(id))
      return true
    end
    for _, ref in ipairs(refs) do family.discard(ref, id, uid) end
  end
  return false
end

-- Settles a successful run: the task now waits for its parts.
function family.settle_expansion(id, record)
  flush(); flush_lanes()
  free_slot(record.l or 'default', id)
  unschedule(id)
  if record.x then
    family.finish(id, record, 'cancelled', 'y', record.x)
    return family.cancel_children(id)
  end
  family.shift(id, record, 'idle')
  local count = safe_call('ZCARD', family.children_of(id))
  safe_call('HDEL', task_key(id), 'ex', 'se', 'sw', 'sn', 'at', 'cr', 'er', 'ef', 'y', 'uk')
  safe_call('HSET', task_key(id), 's', 'idle', 'cc', count, 'to', record.sn or count, 'pr', 0)
  record.s, record.cc = 'idle', count
  family.open(id, record)
end
