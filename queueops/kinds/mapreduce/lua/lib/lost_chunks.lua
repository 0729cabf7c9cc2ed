-- Chunks whose record is lost or invalid.
--@needs chunk_sets store_helpers transitions

-- Counts such a chunk as failed.
function lib.lose_chunk(ref)
  local task, number, twin = lib.split_ref(ref)
  lib.unschedule(ref)
  lib.append(ctx.leaving, 'active', ref)
  if not task or twin then return end
  for _, state in ipairs(CHUNK_STATES) do
    if state ~= 'failed' and lib.safe_call('ZSCORE', lib.chunk_set(task, state), number) then
      if state == 'active' then lib.safe_call('DEL', lib.chunk_set(task, 'by')) end -- its worker is not known
      lib.move_chunk(task, number, { s = state }, 'failed', 0)
      ctx.gathering[task] = number
    end
  end
end
