-- What an operator may not do with a chain or a group, or with one of its parts.
--@needs store_helpers

-- Reason to refuse the retry of an ended part alone: its parent would not count its end. Nil if the retry is permitted.
function lib.hooks.tree.refuse(record)
  if not (record[F.parent_id] and TERMINAL[record[F.state]]) then return nil end
  if record[F.parent_pool] then
    if record[F.of_iterator] then return nil end
    return 'it is part of ' .. record[F.parent_id] .. ' in the pool ' .. record[F.parent_pool] .. ': retry that'
  end
  local row = lib.named_fields(lib.task_key(record[F.parent_id]), F.uid, F.kind, F.state)
  if not row or row[F.uid] ~= record[F.parent_uid] or not (row[F.kind] == 'chain' or row[F.kind] == 'group') then return nil end
  if not TERMINAL[row[F.state]] then
    return 'it is part of ' .. record[F.parent_id] .. ', which goes on without it: retry that when it has ended'
  end
  return 'it is part of ' .. record[F.parent_id] .. ', which has ' .. (row[F.state] == 'cancelled' and 'been ' or '') .. row[F.state]
    .. ': retry that, and what did not succeed in it comes again'
end

-- Actions that a chain or a group refuses, with the reason.
local function refuse_verb(record, verb, value)
  if record[F.unexpanded] then return nil end
  if verb == 'edit' or (verb == 'retry' and value ~= '' and value ~= 'all') then
    return 'the arguments of a ' .. record[F.kind] .. ' were used up when it was pushed: push it anew'
  end
  if verb == 'priority' or verb == 'move' then
    return 'a ' .. record[F.kind] .. ' is not in a lane: its parts are'
  end
end
lib.hooks.retry.chain.refuse_verb = refuse_verb
lib.hooks.retry.group.refuse_verb = refuse_verb
