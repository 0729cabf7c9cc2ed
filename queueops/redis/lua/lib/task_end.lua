-- The end of a task: told to its kind, to the callers that wait, and to the task that it is part of.
--@needs follow_ups store_helpers

-- Outcomes of which follow-ups are told, by the state at the end. A task that failed over lost workers has crashed.
local OUTCOME = { succeeded = 'success', failed = 'failure', cancelled = 'cancelled' }

-- Tells the end of a task to its kind, to the callers that wait for it, and to the task that it is part of. Its record is
-- written already.
function lib.tell_end(id, record, state)
  local note = (lib.hooks.ending[record[F.kind]] or NONE).note
  if note then note(id, record, state) end
  if record[F.waited_for] then lib.publish(lib.task_key(id) .. SUBKEY.done, state) end
  lib.follow_end(id, record, record.crashed and 'crashed' or OUTCOME[state])
  if record[F.joined_by] then lib.hooks.tree.end_stand_ins(id, record[F.joined_by]) end
  if record[F.parent_id] then lib.hooks.tree.note_end(id, record[F.parent_id], state) end
end
