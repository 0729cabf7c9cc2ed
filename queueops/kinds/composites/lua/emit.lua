#!lua
-- emit: a running iterator writes the tasks of its batch, or a template its parts, in one call or more. The last call has
-- the run's answer. The tasks start when the run settles. If it does not settle, the next run erases them.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 fence, 3 token of this run, 4 its answer ('' = more calls follow, next, idle, done, tree), 5 rules, 6
--       its new state, or the leaves of a tree, 7 number of nodes, then each (see nodes.lua).
-- Reply: word (OK STALE GONE TAKEN; MORE: call again, more is to be erased), the id in use, the uids of the nodes.
-- Transitions: push, discard.
--@needs lanes nodes outbox_dispatch parent store_helpers transitions

lib.need_agenda()

local id, fence, token, answer = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local record = lib.read_record(id)
if not record then return { 'GONE', '' } end
if record[F.state] ~= 'locked' or record[F.fence] ~= fence then return { 'STALE', '' } end

if record[F.emission] ~= token then
  local done = record[F.kind] == 'iterator' and (lib.family.drop_drafts(id) or true) or lib.family.prune(id)
  lib.flush()
  if not done then return { 'MORE', '' } end
  call('HSET', lib.task_key(id), F.emission, token)
end
local nodes = lib.read_nodes(7, tonumber(ARGV[7]))
local in_use = lib.find_taken(nodes, token)
if in_use then return { 'TAKEN', in_use } end
for _, node in ipairs(nodes) do lib.write_node(node, token, record[F.kind] == 'iterator' and id) end
if answer ~= '' then call('HSET', lib.task_key(id), F.answer, answer, F.next_cursor, ARGV[6]) end
lib.flush()
lib.flush_lanes()
lib.deliver(-1)
return { 'OK', '', lib.uids_of(nodes) }
