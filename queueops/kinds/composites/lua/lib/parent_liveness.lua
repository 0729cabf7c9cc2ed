-- Liveness of parents: a part asks a parent in another pool whether it still exists. If not, the part is deleted or
-- cancelled. The part asks at the end of its own retention. It also asks if no message came for a lease after its push.
--@needs cancel outbox parent records rules store_helpers transitions

-- Sends the question to the parent, with the part's own state.
function lib.family.ask(id, record)
  lib.send_latest('ask', record[F.parent_pool], record[F.parent_id], id, record[F.parent_uid], record[F.parent_round],
    's', record[F.state])
end

function lib.family.ask_to_go(id, record)
  local due = lib.number_of(lib.safe_call('ZSCORE', P .. ':agenda', id))
  if due and due > now then return true end -- it is over a cap; its parent decides
  lib.family.ask(id, record)
  lib.schedule(id, now + max(2000, lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. record[F.state]]))
  return true
end

function lib.family.guard(id)
  local record = lib.read_record(id)
  if not (record and record[F.parent_pool] and record[F.push_incomplete]) then return lib.family.uproot(id) end
  lib.family.ask(id, record)
  lib.schedule('~planting:' .. id, now + ctx.RULES.lease)
end

function lib.family.unguard(id)
  lib.safe_call('HDEL', lib.task_key(id), F.push_incomplete)
  lib.unschedule('~planting:' .. id)
end

function lib.family.hear_answer(command, word)
  local id, record = command.me, lib.read_record(command.me)
  if not (record and record[F.parent_id] == command.i and record[F.parent_uid] == command.u) then return end
  if record[F.state] == 'waiting' and record[F.push_incomplete] then
    lib.family.unguard(id)
    if word == 'GONE' then lib.family.uproot(id) end
  elseif record[F.state] == 'waiting' and word == 'GONE' then
    lib.cancel(id, record, 'the record of ' .. record[F.parent_id] .. ' is lost, which it is part of')
  elseif TERMINAL[record[F.state]] and word == 'GONE' then
    lib.safe_call('HDEL', lib.task_key(id), F.parent_id, F.parent_uid, F.parent_pool)
    lib.schedule(id, now)
  end
end

-- Erases a child that was pushed and will not begin, with its own children.
function lib.family.discard(ref, parent, uid)
  ctx.allowance = ctx.allowance - 1
  local id, pool = lib.far(ref)
  if pool then return lib.send('uproot', pool, id, parent, uid) end
  local child = lib.read_record(ref)
  if child and child[F.children] then
    lib.schedule('~planting:' .. ref, now)
  elseif child and child[F.state] == 'waiting' and child[F.parent_id] == parent then
    lib.erase(ref, child)
  end
end

-- Erases a tree that has not begun, from its root down. Its push was not completed, or its parent is gone.
function lib.family.uproot(id)
  local record = lib.read_record(id)
  if not record or record[F.state] ~= 'waiting' then return end
  while ctx.allowance > 0 do
    local refs = lib.safe_call('SPOP', lib.family.open_of(id), min(ctx.allowance, 100))
    if #refs == 0 then return lib.erase(id, record) end
    for _, ref in ipairs(refs) do lib.family.discard(ref, id, record[F.uid]) end
  end
  lib.schedule('~planting:' .. id, now)
end
