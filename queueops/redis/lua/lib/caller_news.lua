-- News for the caller of a function, who sends signals of them: chains, groups and iterators that ended in this call, tasks
-- that expired, and tasks that the store pushed by itself.

-- Flat: id, kind, name, state (of an end, or `expired`, `pushed`), root.
fresh.ended_wholes = TABLE

function lib.tell_caller(id, kind, name, state, root)
  for _, part in ipairs({ id, kind or 'task', name or '', state, root or '' }) do ctx.ended_wholes[#ctx.ended_wholes + 1] = part end
end
