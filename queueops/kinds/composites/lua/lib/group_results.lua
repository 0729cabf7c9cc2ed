-- Results of a group: collected as its children end, joined when the group ends.
--@needs parent rules store_helpers transitions

-- Collects a result. Above the limit of a payload no result is kept, and the group cannot succeed.
function lib.family.collect(id, child, piece)
  local before = lib.safe_call('HSTRLEN', lib.task_key(id) .. SUBKEY.results, child)
  local size = lib.safe_call('HINCRBY', lib.task_key(id), F.results_size, #piece + 1 - (before > 0 and before + 1 or 0))
  if size > ctx.RULES.payload_limit then
    lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
  elseif piece ~= '' then
    lib.safe_call('HSET', lib.task_key(id) .. SUBKEY.results, child, piece)
  end
end

-- Reason why the lists of a parent's children cannot be used, or nil. Only keys that this call has read are checked.
function lib.family.lost_list(id)
  for _, list in ipairs({ SUBKEY.children, SUBKEY.open, SUBKEY.planted, SUBKEY.drafts, SUBKEY.results }) do
    local key = lib.task_key(id) .. list
    if ctx.foreign[key] then return 'the key ' .. key .. ' holds something else than it should: what it knows of its parts is lost' end
  end
end

-- The encoded list of the results, in the order of the children.
function lib.family.joined(id)
  local pieces, refs, first = {}, lib.safe_call('ZRANGE', lib.family.children_of(id), 0, 499), 0
  while #refs > 0 do
    local values = lib.safe_call('HMGET', lib.task_key(id) .. SUBKEY.results, unpack(refs))
    for i = 1, #refs do pieces[#pieces + 1] = values[i] or 'null' end
    first = first + 500
    refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, first + 499)
  end
  return '[' .. table.concat(pieces, ',') .. ']'
end

function lib.family.outcome_of(child)
  if child.state == 'succeeded' then
    return '{"state":"succeeded","result":' .. (child[F.result] ~= '' and child[F.result] or 'null') .. '}'
  end
  return '{"state":"' .. child.state .. '","error":' .. (child[F.error] or 'null') .. ',"reason":' .. cjson.encode(child[F.reason]
    or '') .. '}'
end

function lib.family.collect_success(id, policy, child, result)
  lib.family.collect(id, child, policy == 'outcomes' and lib.family.outcome_of({ state = 'succeeded', re = result }) or result)
end
