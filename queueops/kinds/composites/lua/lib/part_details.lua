-- Details of a composite and of a part, for the page of a task.
--@needs store_helpers

-- The previous or the next part in its chain.
local function put_beside(put, name, ...)
  local found = redis.pcall(...)
  if found.err or not found[1] then return end
  local beside = lib.named_fields(lib.task_key(found[1]), F.name, F.state) or {}
  put(name, { found[1], beside[F.name] or '', beside[F.state] or '' })
end

function lib.hooks.show.composites.details(id, record, put)
  local open = redis.pcall('SCARD', lib.task_key(id) .. SUBKEY.open)
  if type(open) == 'number' then put('open', open) end
  local parent = record[F.parent_id] and not record[F.parent_pool]
    and lib.named_fields(lib.task_key(record[F.parent_id]), F.name, F.state, F.kind, F.uid, F.children)
  if parent and parent[F.uid] == record[F.parent_uid] then
    put('parent_name', parent[F.name])
    put('parent_state', parent[F.state])
    put('parent_kind', parent[F.kind])
    put('parent_parts', parent[F.children])
    local key = lib.task_key(record[F.parent_id]) .. SUBKEY.children
    local order = redis.pcall('ZSCORE', key, id)
    if type(order) == 'string' then
      put('order', order)
      if parent[F.kind] == 'chain' then
        put_beside(put, 'before', 'ZREVRANGEBYSCORE', key, '(' .. order, '-inf', 'LIMIT', 0, 1)
        put_beside(put, 'behind', 'ZRANGEBYSCORE', key, '(' .. order, '+inf', 'LIMIT', 0, 1)
      end
    end
  end
end
