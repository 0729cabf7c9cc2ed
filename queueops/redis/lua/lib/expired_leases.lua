-- Expired leases: take a task or a chunk back from a worker that neither settled nor renewed it. Each returns the act.
--@needs attempts chunk_outcomes chunk_sets numbers outcomes store_helpers transitions

function lib.recover_lease(id, record, grace)
  if now < grace then lib.schedule(id, grace); return 'spared' end
  local begun = record.h ~= record.f -- else it was handed over, and its worker never said a word of it
  record.f = lib.next_number()
  call('HSET', lib.task_key(id), 'f', record.f)
  if not begun then
    lib.outcomes.release(id, record)
    return 'released'
  end
  lib.count_minute('err|' .. record.n, 1)
  local reason = 'its lease expired: it was not renewed by worker ' .. (record.w or '?')
  lib.outcomes.crash(id, record, { value = reason, fingerprint = '', delay = 0 })
  return 'recovered'
end

function lib.recover_chunk_lease(ref, chunk, grace)
  if now < grace then lib.schedule(ref, grace); return 'spared' end
  local reason = 'its lease ended without a word from worker ' .. (chunk.w or '?')
  local _, _, twin = lib.split_ref(ref)
  if twin then
    lib.end_twin(ref, 'crash', reason)
  else
    lib.safe_call('HSET', TASK .. ref, 'f', lib.next_number())
    lib.chunk_outcomes.crash(ref, chunk, { value = reason })
  end
  return 'recovered'
end
