-- What an operator may not do with a chain or a group, or with one of its parts.
--@needs store_helpers

-- Reason to refuse the retry of an ended part alone: its parent would not count its end. Nil if the retry is permitted.
function lib.hooks.tree.refuse(record)
  if not (record.pi and TERMINAL[record.s]) then return nil end
  if record.pp then return not record.it and 'it is part of ' .. record.pi .. ' in the pool ' .. record.pp .. ': retry that' or nil end
  local row = lib.named_fields(lib.task_key(record.pi), 'u', 'k', 's')
  if not row or row.u ~= record.pu or not (row.k == 'chain' or row.k == 'group') then return nil end
  if not TERMINAL[row.s] then return 'it is part of ' .. record.pi .. ', which goes on without it: retry that when it has ended' end
  return 'it is part of ' .. record.pi .. ', which has ' .. (row.s == 'cancelled' and 'been ' or '') .. row.s
    .. ': retry that, and what did not succeed in it comes again'
end

-- Actions that a chain or a group refuses, with the reason.
local function refuse_verb(record, verb, value)
  if record.ex then return nil end
  if verb == 'edit' or (verb == 'retry' and value ~= '' and value ~= 'all') then
    return 'the arguments of a ' .. record.k .. ' were used up when it was pushed: push it anew'
  end
  if verb == 'priority' or verb == 'move' then
    return 'a ' .. record.k .. ' is not in a lane: its parts are'
  end
end
lib.hooks.retry.chain.refuse_verb = refuse_verb
lib.hooks.retry.group.refuse_verb = refuse_verb
