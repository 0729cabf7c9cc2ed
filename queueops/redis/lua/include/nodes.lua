-- Nodes of a tree in a call: parent ('' = none here), order, id, number of field values, fields (name, value, ...).
-- A node `<id>#<pool>` is in another pool; its parent is in this one.
local node_uids = {}

local function read_nodes(position, count)
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

-- The first id that belongs to another task which has not ended.
local function find_taken(nodes, token)
  for _, node in ipairs(nodes) do
    if not far(node.id) then node.old = read_record(node.id) end
    node.is_there = node.old and node.old.tk == token
    if node.old == false or (node.old and not node.is_there and not TERMINAL[node.old.s]) then return node.id end
  end
end

local function uid_of(id)
  if not node_uids[id] then node_uids[id] = safe_call('HGET', task_key(id), 'u') end
  return node_uids[id]
end

-- The children of `emitter` wait until it settles.
local function join_parent(node, emitter)
  if node.parent == emitter then return safe_call('ZADD', task_key(emitter) .. '#drafts', node.order, node.id) end
  safe_call('ZADD', family.children_of(node.parent), node.order, node.id)
  safe_call('SADD', family.open_of(node.parent), node.id)
end

-- Writes a node. A repeated call writes it only once.
local function write_node(node, token, emitter)
  local id, old, values = node.id, node.old, node.values
  if far(id) then return join_parent(node, emitter) end
  if node.is_there then return end
  if old then
    make_way(id, old, values)
  elseif safe_call('ZSCORE', P .. ':state:quarantined', id) then
    forget(id, 'quarantined')
  end
  local number = next_number()
  node_uids[id] = text(number)
  safe_call('HSET', task_key(id), 's', 'waiting', 'c', NOW, 'u', number, 'tk', token, unpack(ARGV, node.first, node.last))
  if node.parent ~= '' then
    safe_call('HSET', task_key(id), 'pi', node.parent, 'pu', uid_of(node.parent))
    join_parent(node, emitter)
  elseif values.pp then
    safe_call('HSET', task_key(id), 'pg', 1)
    schedule('~planting:' .. id, now + RULES.lease)
  end
  move(id, old and old.s or '', 'waiting', values.n, values.k)
  index_record(id, values.n, values.tg, number)
  -- A pushed task needs a worker that knows its name, except where no worker runs it.
  if values.cc or count_minute('in|' .. values.n, 1) then safe_call('ZADD', P .. ':names', NOW, values.n) end
end

-- The generations of the nodes that were written in this pool.
local function uids_of(nodes)
  local uids = {}
  for i, node in ipairs(nodes) do uids[i] = not far(node.id) and uid_of(node.id) or '' end
  return uids
end
