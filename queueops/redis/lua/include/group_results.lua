-- Results of a group: collected as its children end, joined when the group ends.

-- Collects a result. Above the limit of a payload no result is kept, and the group cannot succeed.
function family.collect(id, child, piece)
  local before = safe_call('HSTRLEN', task_key(id) .. '#results', child)
  local size = safe_call('HINCRBY', task_key(id), 'sz', #piece + 1 - (before > 0 and before + 1 or 0))
  if size > RULES.payload_limit then
    safe_call('DEL', task_key(id) .. '#results')
  elseif piece ~= '' then
    safe_call('HSET', task_key(id) .. '#results', child, piece)
  end
end

-- Reason why the lists of a parent's children cannot be used, or nil. Only keys that this call has read are checked.
function family.lost_list(id)
  for _, list in ipairs({ '#children', '#open', '#planted', '#drafts', '#results' }) do
    local key = task_key(id) .. list
    if foreign[key] then return 'the key ' .. key .. ' holds something else than it should: what it knows of its parts is lost' end
  end
end

-- The encoded list of the results, in the order of the children.
function family.joined(id)
  local pieces, refs, first = {}, safe_call('ZRANGE', family.children_of(id), 0, 499), 0
  while #refs > 0 do
    local values = safe_call('HMGET', task_key(id) .. '#results', unpack(refs))
    for i = 1, #refs do pieces[#pieces + 1] = values[i] or 'null' end
    first = first + 500
    refs = safe_call('ZRANGE', family.children_of(id), first, first + 499)
  end
  return '[' .. table.concat(pieces, ',') .. ']'
end

function family.outcome_of(child)
  if child.state == 'succeeded' then return '{"state":"succeeded","result":' .. (child.re ~= '' and child.re or 'null') .. '}' end
  return '{"state":"' .. child.state .. '","error":' .. (child.er or 'null') .. ',"reason":' .. cjson.encode(child.y or '') .. '}'
end

function family.collect_success(id, policy, child, result)
  family.collect(id, child, policy == 'outcomes' and family.outcome_of({ state = 'succeeded', re = result }) or result)
end
