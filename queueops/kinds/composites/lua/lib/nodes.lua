-- Nodes of a tree in a call: parent ('' = none here), order, id, number of field values, fields (name, value, ...).
-- A node `<id>#<pool>` is in another pool; its parent is in this one.
--@needs expiry generations minute_counts numbers outbox parent records rules store_helpers transitions

fresh.node_uids = TABLE

function lib.read_nodes(position, count)
  local nodes = {}
  for i = 1, count do
    local first = position + 5
    local last = first + tonumber(ARGV[position + 4]) - 1
    nodes[i] = { parent = ARGV[position + 1], order = ARGV[position + 2], id = ARGV[position + 3], first = first, last = last, values = {} }
    for j = first, last, 2 do nodes[i].values[ARGV[j]] = ARGV[j + 1] end
    position = last
  end
  return nodes
end

-- The ids that belong to other tasks which have not ended, with spaces between them. Nil if there is none.
function lib.find_taken(nodes, token)
  local taken = {}
  for _, node in ipairs(nodes) do
    if not lib.far(node.id) then node.old = lib.read_record(node.id) end
    node.is_there = node.old and node.old.tk == token
    if node.old == false or (node.old and not node.is_there and not TERMINAL[node.old.s]) then
      taken[#taken + 1] = node.id
    end
  end
  return taken[1] and table.concat(taken, ' ')
end

function lib.uid_of(id)
  if not ctx.node_uids[id] then ctx.node_uids[id] = lib.safe_call('HGET', lib.task_key(id), F.uid) end
  return ctx.node_uids[id]
end

-- The children of `emitter` wait until it settles.
local function join_parent(node, emitter)
  if node.parent == emitter then return lib.safe_call('ZADD', lib.task_key(emitter) .. SUBKEY.drafts, node.order, node.id) end
  lib.safe_call('ZADD', lib.family.children_of(node.parent), node.order, node.id)
  lib.safe_call('SADD', lib.family.open_of(node.parent), node.id)
end

-- Writes a node. A repeated call writes it only once.
function lib.write_node(node, token, emitter)
  local id, old, values = node.id, node.old, node.values
  if lib.far(id) then return join_parent(node, emitter) end
  if node.is_there then return end
  if old then
    lib.make_way(id, old, values)
  elseif lib.safe_call('ZSCORE', P .. ':state:quarantined', id) then
    lib.forget(id, 'quarantined')
  end
  local number = lib.next_number()
  ctx.node_uids[id] = lib.text(number)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'waiting', F.created, NOW, F.uid, number, F.token, token,
    unpack(ARGV, node.first, node.last))
  lib.watch_expiry(id, values[F.expires])
  if node.parent ~= '' then
    lib.safe_call('HSET', lib.task_key(id), F.parent_id, node.parent, F.parent_uid, lib.uid_of(node.parent))
    join_parent(node, emitter)
  elseif values[F.parent_pool] then
    lib.safe_call('HSET', lib.task_key(id), F.push_incomplete, 1)
    lib.schedule('~planting:' .. id, now + ctx.RULES.lease)
  end
  lib.move(id, old and old[F.state] or '', 'waiting', values[F.name], values[F.kind], values[F.lane])
  lib.index_record(id, values[F.name], values[F.tags], number, values[F.kind])
  -- A pushed task needs a worker that knows its name, except where no worker runs it.
  if values[F.children] or lib.count_minute('in|' .. values[F.name], 1) then lib.safe_call('ZADD', P .. ':names', NOW, values[F.name]) end
end

-- The generations of the nodes that were written in this pool.
function lib.uids_of(nodes)
  local uids = {}
  for i, node in ipairs(nodes) do uids[i] = not lib.far(node.id) and lib.uid_of(node.id) or '' end
  return uids
end
