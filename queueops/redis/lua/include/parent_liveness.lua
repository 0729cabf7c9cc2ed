-- Liveness of parents: a part asks a parent in another pool whether it still exists. If not, the part is deleted or
-- cancelled. The part asks at the end of its own retention. It also asks if no message came for a lease after its push.

-- Sends the question to the parent, with the part's own state.
function family.ask(id, record) send_latest('ask', record.pp, record.pi, id, record.pu, record.po, 's', record.s) end

function family.ask_to_go(id, record)
  local due = tonumber(safe_call('ZSCORE', P .. ':agenda', id) or 0)
  if due > now then return true end -- it is over a cap; its parent decides
  family.ask(id, record)
  schedule(id, now + max(2000, number_of(record.kp) or RULES['keep_' .. record.s]))
  return true
end

function family.guard(id)
  local record = read_record(id)
  if not (record and record.pp and record.pg) then return family.uproot(id) end
  family.ask(id, record)
  schedule('~planting:' .. id, now + RULES.lease)
end

function family.unguard(id)
  safe_call('HDEL', task_key(id), 'pg')
  unschedule('~planting:' .. id)
end

function family.hear_answer(command, word)
  local id, record = command.me, read_record(command.me)
  if not (record and record.pi == command.i and record.pu == command.u) then return end
  if record.s == 'waiting' and record.pg then
    family.unguard(id)
    if word == 'GONE' then family.uproot(id) end
  elseif record.s == 'waiting' and word == 'GONE' then
    family.cancel(id, record, 'the record of ' .. record.pi .. ' is lost, which it is part of')
  elseif TERMINAL[record.s] and word == 'GONE' then
    safe_call('HDEL', task_key(id), 'pi', 'pu', 'pp')
    schedule(id, now)
  end
end

-- Erases a child that was pushed and will not begin, with its own children.
function family.discard(ref, parent, uid)
  allowance = allowance - 1
  local id, pool = far(ref)
  if pool then return send('uproot', pool, id, parent, uid) end
  local child = read_record(ref)
  if child and child.cc then
    schedule('~planting:' .. ref, now)
  elseif child and child.s == 'waiting' and child.pi == parent then
    erase(ref, child)
  end
end

-- Erases a tree that has not begun, from its root down. Its push was not completed, or its parent is gone.
function family.uproot(id)
  local record = read_record(id)
  if not record or record.s ~= 'waiting' then return end
  while allowance > 0 do
    local refs = safe_call('SPOP', family.open_of(id), min(allowance, 100))
    if #refs == 0 then return erase(id, record) end
    for _, ref in ipairs(refs) do family.discard(ref, id, record.u) end
  end
  schedule('~planting:' .. id, now)
end
