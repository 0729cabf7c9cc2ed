-- Entries of the agenda about the chunks of a map-reduce task, and about one chunk.
--@needs agenda chunk_bulk_verbs chunk_outcomes chunk_sets lost_chunks numbers purge transitions

-- Goes on with the deletion of chunks without a record.
function lib.hooks.due_entry.chunks(id)
  if lib.has_chunks(TASK .. id) or lib.has_chunks(P .. ':trash:' .. id) then return end
  if lib.purge_chunks(id) > 0 then lib.schedule('~chunks:' .. id, now) end
end

-- Goes on with a bulk action on chunks.
function lib.hooks.due_entry.redo(id) lib.redo_step(id, 0) end

-- Takes a chunk back from a worker that neither settled nor renewed it. Returns the act.
local function recover_chunk_lease(ref, chunk, grace)
  if now < grace then lib.schedule(ref, grace); return 'spared' end
  local reason = 'its lease ended without a word from worker ' .. (chunk[F.worker] or '?')
  local _, _, twin = lib.split_ref(ref)
  if twin then
    lib.end_twin(ref, 'crash', reason)
  else
    lib.safe_call('HSET', TASK .. ref, F.fence, lib.next_number())
    lib.chunk_outcomes.crash(ref, chunk, { value = reason })
  end
  return 'recovered'
end

function lib.hooks.parts.act(ref, grace)
  local chunk = lib.read_chunk(ref)
  if not chunk then lib.lose_chunk(ref); return lib.act('broken') end
  if chunk[F.state] == 'errored' then lib.make_chunk_pending(ref, chunk); return lib.act('promoted') end
  if chunk[F.state] ~= 'active' then lib.unschedule(ref); return lib.act('stray') end
  lib.act(recover_chunk_lease(ref, chunk, grace))
end
