#!lua
-- plant: writes the tree of a composite, from its root down, in one call or more. The last call starts it. If the
-- producer dies before that, the agenda erases the tree, a lease later.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 root, 2 token of this push, 3 step (whole, begin, more, start, uproot; part: its root is in another pool),
--       4 conflict policy of the root, 5 rules, 6 and 7 the lease of the running task that pushes it (see `may_push`; 7: ''
--       none), 8 number of nodes; then for each: parent ('' = it is the root, or its parent is in another pool), order
--       among its siblings, id, number of field values, and the fields of the record (name, value, ...), the name first.
-- Reply: word (OK REPEAT EXISTS REJECTED TAKEN GONE; STALE: the lease is no longer current), uid of the root, the id in
--        use, the uids of the nodes, '1' if commands were written and no live worker can deliver them; after a start also
--        ended composites (id, kind, name, state, root).
-- Transitions: push, activate.
--@needs caller_news fence lanes nodes outbox_dispatch parent rules store_helpers transitions wakeup

lib.need_agenda()
if ARGV[7] ~= '' and not lib.may_push(ARGV[6], ARGV[7]) then return { 'STALE', 0, '', {}, '' } end

local root, token, step, policy = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local creates = step == 'whole' or step == 'begin'
-- The word for this call, and whether to continue.
local function judge_root(record)
  if step == 'part' then return 'OK', true end
  if not creates then
    local ours = record and record[F.token] == token
    return ours and 'OK' or 'GONE', ours and record[F.state] == 'waiting' and record[F.push_incomplete]
  end
  if record == false then return 'REJECTED', false end
  if not record then return 'OK', true end
  if record[F.token] == token then return record[F.push_incomplete] and 'OK' or 'REPEAT', record[F.push_incomplete] end
  if TERMINAL[record[F.state]] then return 'OK', true end
  return policy == 'reject' and 'REJECTED' or 'EXISTS', false
end

local record = lib.read_record(root)
local word, wanted = judge_root(record)
if not wanted then return { word, record and record[F.uid] or 0, '', {}, '' } end
local nodes = lib.read_nodes(8, tonumber(ARGV[8]))
local in_use = lib.find_taken(nodes, token)
if in_use then return { 'TAKEN', 0, in_use, {}, '' } end

if step == 'uproot' then
  lib.family.uproot(root)
else
  for _, node in ipairs(nodes) do lib.write_node(node, token) end
  lib.flush()
  if step == 'whole' or step == 'start' then
    call('HDEL', lib.task_key(root), F.push_incomplete)
    lib.unschedule('~planting:' .. root)
    lib.family.begin(root, lib.read_record(root))
    lib.family.settle()
  elseif step ~= 'part' then
    call('HSET', lib.task_key(root), F.push_incomplete, 1)
    lib.schedule('~planting:' .. root, now + ctx.RULES.lease)
  end
end
lib.flush()
lib.flush_lanes()
local _, alone = lib.deliver(-1)
lib.wake(ctx.brought)
return { word, step ~= 'part' and lib.uid_of(root) or 0, '', lib.uids_of(nodes), alone and '1' or '', ctx.ended_wholes }
