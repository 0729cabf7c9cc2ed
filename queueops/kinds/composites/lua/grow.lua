#!lua
-- grow: a running part of a group adds parts to that group, or to the nearest group above the chains that it is in. They
-- begin at once. Parts that the group has already are left out: the call came before, or the task runs again.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 fence, 3 token of this call, 4 its name for the group, 5 rules, 6 number of nodes, then each (see nodes.lua).
-- Reply: word (OK, STALE, NONE: in no group, FAR: its group is in another pool, ENDED, LATER: the group is taken up again
--        just now, FULL, TAKEN), a detail (the group, the id in use), '1' if commands were written and no live worker can
--        deliver them, ended composites (id, kind, name, state, root).
-- Transitions: push, activate.
--@needs caller_news lanes nodes outbox_dispatch parent store_helpers transitions wakeup

lib.need_agenda()
local MOST = 10000 -- parts of a group
local id, token, own_name = ARGV[1], ARGV[3], ARGV[4]
local record = lib.read_record(id)
if not (record and LEASED[record[F.state]] and record[F.fence] == ARGV[2]) then return { 'STALE', id, '', {} } end

-- The group, its record, and a word if it cannot grow.
local function group_above(part)
  while part[F.parent_id] do
    if part[F.parent_pool] then return part[F.parent_id], nil, 'FAR' end
    local above, whole = part[F.parent_id], lib.read_record(part[F.parent_id])
    if whole and whole[F.kind] ~= 'group' and whole[F.kind] ~= 'chain' then break end
    if not (whole and whole[F.uid] == part[F.parent_uid] and whole[F.state] == 'idle') then return above, nil, 'ENDED' end
    if whole[F.kind] == 'group' then return above, whole, whole[F.resumes] and 'LATER' end
    part = whole
  end
  return '', nil, 'NONE'
end

local group, whole, refused = group_above(record)
if refused then return { refused, group, '', {} } end

local nodes, tops, weight, known = {}, {}, 0, {}
for _, node in ipairs(lib.read_nodes(6, tonumber(ARGV[6]))) do
  local is_top = node.parent == own_name
  if is_top then node.parent = group end
  if known[node.parent] or is_top and lib.safe_call('ZSCORE', lib.family.children_of(group), node.id) then
    known[node.id] = true
  else
    nodes[#nodes + 1] = node
    if is_top then tops[#tops + 1] = node end
    if not node.values[F.children] then weight = weight + lib.family.weight_of(node.values) end
  end
end
local count = lib.number_of(whole[F.children]) or 0
if count + #tops > MOST then return { 'FULL', group, '', {} } end
local in_use = lib.find_taken(nodes, token)
if in_use then return { 'TAKEN', in_use, '', {} } end

for number, node in ipairs(tops) do node.order = lib.text(count + number - 1) end
for _, node in ipairs(nodes) do
  lib.write_node(node, token)
  for _, field in ipairs({ F.top, F.root_pool }) do
    if record[field] then call('HSET', lib.task_key(node.id), field, record[field]) end
  end
end
if tops[1] then
  call('HSET', lib.task_key(group), F.children, lib.text(count + #tops))
  lib.family.count(record[F.top] or record[F.root], 0, weight)
end
lib.flush()
for _, node in ipairs(tops) do lib.family.activate(node.id, group, whole) end
lib.family.settle()
lib.flush()
lib.flush_lanes()
local _, alone = lib.deliver(-1)
lib.wake(ctx.brought)
return { 'OK', group, alone and '1' or '', ctx.ended_wholes }
