-- A child's end: notes it for its parent task. The parent's half is in parent.lua.
--@needs phases store_helpers task_end transitions

-- The first access in a call says that parts may have ended: settle_up() goes on with them.
local function first_ends()
  ctx.parts_ended = true
  return {}
end
fresh.ended_children = first_ends -- ends of tasks that are part of a composite
fresh.ended_leaves = first_ends -- by root, how much its leaves went on, and grew

-- Notes the end of a child. It reads what the parent needs now, because another task may have the record later.
function lib.note_child_end(id, parent, state)
  local row = lib.named_fields(lib.task_key(id), 'pu', 'pp', 'k', 'ro', 'tp', 're', 'er', 'ef', 'y', 'po', 'pr', 'ag', 'sx',
    'fo', 'to', 'pw', 'pc', 'pl', 'cc')
  ctx.ended_children[#ctx.ended_children + 1] = { ref = id, parent = parent, uid = row.pu, pool = row.pp, kind = row.k,
    root = row.tp or row.ro, state = state, re = row.re or '', er = state == 'failed' and row.er, ef = state == 'failed' and row.ef,
    y = row.y, round = row.po, done = row.pr, again = row.ag,
    successor = row.sx, ahead = row.fo, counts = { k = row.k, to = row.to, pw = row.pw, pc = row.pc, pl = row.pl, cc = row.cc } }
end

local function note_whole(id, record, state)
  local root = record.ro or record.pi and lib.safe_call('HGET', lib.task_key(id), 'ro')
  for _, part in ipairs({ id, record.k, record.n or '', state, root or '' }) do ctx.ended_wholes[#ctx.ended_wholes + 1] = part end
end
lib.hooks.ending.chain.note = note_whole
lib.hooks.ending.group.note = note_whole
lib.hooks.ending.iterator.note = note_whole

function lib.hooks.tree.note_end(id, parent, state) lib.note_child_end(id, parent, state) end
