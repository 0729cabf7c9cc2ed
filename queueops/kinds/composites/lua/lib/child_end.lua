-- A child's end: notes it for its parent task. The parent's half is in parent.lua.
--@needs caller_news phases store_helpers transitions

-- The first access in a call says that parts may have ended: settle_up() goes on with them.
local function first_ends()
  ctx.parts_ended = true
  return {}
end
fresh.ended_children = first_ends -- ends of tasks that are part of a composite
fresh.ended_leaves = first_ends -- by root, how much its leaves went on, and grew

-- Notes the end of a child. It reads what the parent needs now, because another task may have the record later.
function lib.note_child_end(id, parent, state)
  local row = lib.named_fields(lib.task_key(id), F.parent_uid, F.parent_pool, F.kind, F.root, F.top, F.result, F.error, F.fingerprint,
    F.reason, F.parent_round, F.progress, F.again, F.successor,
    'fo', 'to', 'pw', 'pc', 'pl', 'cc')
  ctx.ended_children[#ctx.ended_children + 1] = { ref = id, parent = parent, uid = row[F.parent_uid], pool = row[F.parent_pool],
    kind = row[F.kind],
    root = row[F.top] or row[F.root], state = state, re = row[F.result] or '', er = state == 'failed'
      and row[F.error], ef = state == 'failed' and row[F.fingerprint],
    y = row[F.reason], round = row[F.parent_round], done = row[F.progress], again = row[F.again],
    successor = row[F.successor], ahead = row[F.ahead_of_chain],
      counts = { k = row[F.kind], to = row[F.total], pw = row[F.weight], pc = row[F.counted], pl = row[F.planted_weight],
        cc = row[F.children] } }
end

local function note_whole(id, record, state)
  local root = record[F.root] or record[F.parent_id] and lib.safe_call('HGET', lib.task_key(id), F.root)
  lib.tell_caller(id, record[F.kind], record[F.name], state, root)
end
lib.hooks.ending.chain.note = note_whole
lib.hooks.ending.group.note = note_whole
lib.hooks.ending.iterator.note = note_whole

function lib.hooks.tree.note_end(id, parent, state) lib.note_child_end(id, parent, state) end
