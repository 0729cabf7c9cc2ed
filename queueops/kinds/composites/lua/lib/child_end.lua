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
  local row = lib.fields_of(lib.task_key(id), 'pu', 'pp', 'k', 'ro', 'tp', 're', 'er', 'ef', 'y', 'po', 'pr', 'ag', 'sx', 'fo', 'to', 'pw',
    'pc', 'pl', 'cc')
  ctx.ended_children[#ctx.ended_children + 1] = { ref = id, parent = parent, uid = row[1], pool = row[2], kind = row[3],
    root = row[5] or row[4], state = state, re = row[6] or '', er = state == 'failed' and row[7], ef = state == 'failed' and row[8],
    y = row[9], round = row[10], done = row[11], again = row[12],
    successor = row[13], ahead = row[14], counts = { k = row[3], to = row[15], pw = row[16], pc = row[17], pl = row[18], cc = row[19] } }
end

local function note_whole(id, record, state)
  local root = record.ro or record.pi and lib.safe_call('HGET', lib.task_key(id), 'ro')
  for _, part in ipairs({ id, record.k, record.n or '', state, root or '' }) do ctx.ended_wholes[#ctx.ended_wholes + 1] = part end
end
lib.hooks.note_end.chain = note_whole
lib.hooks.note_end.group = note_whole
lib.hooks.note_end.iterator = note_whole

function lib.hooks.note_part_end(id, parent, state) lib.note_child_end(id, parent, state) end
