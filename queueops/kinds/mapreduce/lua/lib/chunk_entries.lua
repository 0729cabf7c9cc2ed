-- Entries of the agenda about the chunks of a map-reduce task.
--@needs chunk_bulk_verbs purge transitions

-- Goes on with the deletion of chunks without a record.
function lib.hooks.due_entry.chunks(id)
  if lib.has_chunks(TASK .. id) or lib.has_chunks(P .. ':trash:' .. id) then return end
  if lib.purge_chunks(id) > 0 then lib.schedule('~chunks:' .. id, now) end
end

-- Goes on with a bulk action on chunks.
function lib.hooks.due_entry.redo(id) lib.redo_step(id, 0) end
