#!lua
-- plant: write the tree of a composite, from its root down, in one call or more; the last one starts it. A tree whose
-- producer died before that is erased by the agenda, a lease later.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 root, 2 token of this push, 3 step (whole, begin, more, start, uproot), 4 conflict policy of the root, 5 rules,
--       6 number of nodes; then for each: parent ('' = it is the root), order among its siblings, id, number of field
--       values, and the fields of the record (name, value, ...), the name first.
-- Reply: word (OK REPEAT EXISTS REJECTED TAKEN GONE), uid of the root, the id that is in use.
-- Transitions: push, activate.
--@include clock
--@include core
--@include rules
--@include lanes
--@include wake
--@include orphans
--@include records
--@include generations
--@include ending
--@include composite
--@include resume
--@include subtree

local root, token, step, policy = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local creates = step == 'whole' or step == 'begin'
local nodes, uids, position = {}, {}, 6

for i = 1, tonumber(ARGV[6]) do
  local first = position + 5
  local last = first + tonumber(ARGV[position + 4]) - 1
  nodes[i] = { parent = ARGV[position + 1], order = ARGV[position + 2], id = ARGV[position + 3], first = first, last = last, values = {} }
  for j = first, last, 2 do nodes[i].values[ARGV[j]] = ARGV[j + 1] end
  position = last
end

-- The word for this call, and whether to go on.
local function judge_root(record)
  if not creates then
    local ours = record and record.tk == token
    return ours and 'OK' or 'GONE', ours and record.s == 'waiting' and record.pg
  end
  if record == false then return 'REJECTED', false end
  if not record then return 'OK', true end
  if record.tk == token then return 'REPEAT', false end
  if TERMINAL[record.s] then return 'OK', true end
  return policy == 'reject' and 'REJECTED' or 'EXISTS', false
end

-- The first id that belongs to another task which has not ended.
local function taken()
  for _, node in ipairs(nodes) do
    node.old = read_record(node.id)
    node.is_there = node.old and node.old.tk == token
    if node.old == false or (node.old and not node.is_there and not TERMINAL[node.old.s]) then return node.id end
  end
end

local function uid_of(id)
  if not uids[id] then uids[id] = call('HGET', task_key(id), 'u') end
  return uids[id]
end

local children_of, open_of = composites().children_of, composites().open_of

local function plant(node)
  local id, old, values = node.id, node.old, node.values
  if node.is_there then return end
  if old then
    make_way(id, old, values)
  elseif call('ZSCORE', P .. ':state:quarantined', id) then
    forget(id, 'quarantined')
  end
  local number = next_number()
  uids[id] = text(number)
  call('HSET', task_key(id), 's', 'waiting', 'c', NOW, 'u', number, 'tk', token, unpack(ARGV, node.first, node.last))
  if node.parent ~= '' then
    call('HSET', task_key(id), 'pi', node.parent, 'pu', uid_of(node.parent))
    call('ZADD', children_of(node.parent), node.order, id)
    call('SADD', open_of(node.parent), id)
  end
  move(id, old and old.s or '', 'waiting', values.n, values.k)
  list(id, values.n, values.tg, number)
  if count_minute('in|' .. values.n, 1) then call('ZADD', P .. ':names', NOW, values.n) end
end

local record = read_record(root)
local word, wanted = judge_root(record)
if not wanted then return { word, record and record.u or 0, '' } end
local in_use = taken()
if in_use then return { 'TAKEN', 0, in_use } end

if step == 'uproot' then
  composites().uproot(root)
else
  for _, node in ipairs(nodes) do plant(node) end
  flush()
  if step == 'whole' or step == 'start' then
    call('HDEL', task_key(root), 'pg')
    unschedule('~planting:' .. root)
    composites().begin(root, read_record(root))
  else
    call('HSET', task_key(root), 'pg', 1)
    schedule('~planting:' .. root, now + RULES.lease)
  end
end
flush()
flush_lanes()
wake(brought)
return { word, uid_of(root) or 0, '' }
