-- Expired leases: take a task or a chunk back from a worker that neither settled nor renewed it. Each returns the act.

local function recover_lease(id, record, grace)
  if now < grace then schedule(id, grace); return 'spared' end
  local begun = record.h ~= record.f -- else it was handed over, and its worker never said a word of it
  record.f = next_number()
  call('HSET', task_key(id), 'f', record.f)
  if not begun then
    outcomes.release(id, record)
    return 'released'
  end
  count_minute('err|' .. record.n, 1)
  outcomes.crash(id, record, { value = 'its lease ended without a word from worker ' .. (record.w or '?'), fingerprint = '', delay = 0 })
  return 'recovered'
end

local function recover_chunk_lease(ref, chunk, grace)
  if now < grace then schedule(ref, grace); return 'spared' end
  local reason = 'its lease ended without a word from worker ' .. (chunk.w or '?')
  local _, _, twin = split_ref(ref)
  if twin then
    end_twin(ref, 'crash', reason)
  else
    safe_call('HSET', TASK .. ref, 'f', next_number())
    chunk_outcomes.crash(ref, chunk, { value = reason })
  end
  return 'recovered'
end
