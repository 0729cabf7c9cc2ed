-- What the children of a group give: collected as they end, joined when it does.

-- Results are collected as they come; over the limit of a payload none is kept, and the group can't succeed.
function family.collect(id, child, piece)
  local before = call('HSTRLEN', task_key(id) .. '#results', child)
  local size = call('HINCRBY', task_key(id), 'sz', #piece + 1 - (before > 0 and before + 1 or 0))
  if size > RULES.payload_limit then
    call('DEL', task_key(id) .. '#results')
  elseif piece ~= '' then
    call('HSET', task_key(id) .. '#results', child, piece)
  end
end

-- The encoded list of the results, in the order of the children.
function family.joined(id)
  local pieces, refs, first = {}, call('ZRANGE', family.children_of(id), 0, 499), 0
  while #refs > 0 do
    local values = call('HMGET', task_key(id) .. '#results', unpack(refs))
    for i = 1, #refs do pieces[#pieces + 1] = values[i] or 'null' end
    first = first + 500
    refs = call('ZRANGE', family.children_of(id), first, first + 499)
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
