-- Start and cancel of the children of a composite. The agenda continues what would take too long in one call.

-- Cancels a task that no worker runs. If its parent ends too (`with_parent`), the parent's progress does not count it.
function family.cancel(id, record, reason, with_parent, hard)
  family.shift(id, record, 'cancelled')
  leave_place(id, record)
  safe_call('HSET', task_key(id), 's', 'cancelled', 'e', NOW, 'y', reason)
  if hard or record.xh then harden(id, hard) end
  if with_parent then safe_call('HSET', task_key(id), 'uc', 1) end
  schedule(id, now + (number_of(record.kp) or RULES.keep_cancelled))
  tell_end(id, record, 'cancelled')
  if record.s == 'aggregating' then turn_lane(id); tell_holders(id) end
  if is_parent(record) then family.cancel_children(id) end
  if record.nx then start_next(id) end
end

-- Keeps a child as long as its parent, whatever the child's own retention is. In an iterator this holds only for children
-- that did not succeed, because a retry runs them again. It does not hold if they are too many (`over`).
function family.keep(id, record, over)
  if record.pp then return not (record.it and (over or record.s == 'succeeded')) and family.ask_to_go(id, record) end
  local row, entry = fields_of(task_key(record.pi), 's', 'u', 'k', 'kt'), record.pi
  if not (row and row[2] == record.pu) then
    row, entry = fields_of(P .. ':trash:' .. record.pi, 's', 'u', 'k', 'kt'), '~trash:' .. record.pi
  end
  if not (row and row[1]) or row[2] ~= record.pu then return false end
  if row[3] == 'iterator' then
    if over or record.s == 'succeeded' then return false end
  elseif row[4] then
    return false -- it is kept briefly, and so are its parts
  end
  local latest = TERMINAL[row[1]] and tonumber(safe_call('ZSCORE', P .. ':agenda', entry) or 0) or 0
  schedule(id, latest > now and latest + 1 or now + (number_of(record.kp) or RULES['keep_' .. record.s]))
  return true
end

-- Begins a task that waited or whose delay has ended: a composite opens its children, another task enters its lane.
function family.begin(id, record)
  allowance = allowance - 1
  local due = record.dl and now + (number_of(record.dl) or 0) or number_of(record.d) or 0
  if record.s == 'waiting' and due > now then
    if record.pg then family.unguard(id) end
    family.shift(id, record, 'postponed')
    safe_call('HSET', task_key(id), 's', 'postponed', 'd', text(due))
    return schedule(id, due)
  end
  if record.s == 'postponed' then unschedule(id) end
  if record.pg then family.unguard(id) end
  if record.cc then
    family.shift(id, record, 'idle')
    safe_call('HSET', task_key(id), 's', 'idle', 'b', NOW)
    record.s = 'idle'
    if record.rs then return family.take_up(id) end
    return family.open(id, record)
  end
  if at_once.room > 0 and not moved[id] and take_at_once(id, record) then return end
  family.shift(id, record, 'pending')
  safe_call('HSET', task_key(id), 's', 'pending')
  enter_lane(record.l or 'default', id, record.p, next_number())
end

-- Gives a child its turn. `previous` is its input, or nil. A child that has ended already reports its end again.
function family.turn_of(id, child, previous)
  if TERMINAL[child.s] and (child.pp or safe_call('SISMEMBER', family.open_of(child.pi), id) == 1) then
    return note_child_end(id, child.pi, child.s)
  end
  if child.ag and LEASED[child.s] then
    safe_call('HSET', task_key(id), 'tn', 1)
    return previous and safe_call('HSET', task_key(id), 'tv', previous)
  end
  if child.s ~= 'waiting' then return end
  if previous and not child.si then
    safe_call('HSET', task_key(id), 'pv', previous)
    child.pv = previous
  end
  family.begin(id, child)
end

function family.activate(ref, parent, record, previous)
  if far(ref) then return family.activate_far(ref, parent, record, previous) end
  local child = read_record(ref)
  if not (child and child.pi == parent and child.pu == record.u) then
    ended_children[#ended_children + 1] = { ref = ref, parent = parent, uid = record.u, state = 'failed', re = '',
      y = 'its record is lost' }
    return
  end
  family.turn_of(ref, child, previous)
end

-- Opens the first child of a chain, or all children of a group. A group without children ends at once.
function family.open(id, record)
  if record.k == 'group' and number_of(record.cc) == 0 then return family.end_group(id, record) end
  local first = number_of(record.ac) or 0
  local refs = safe_call('ZRANGE', family.children_of(id), first, record.k == 'chain' and 0 or first + MOST_CHILDREN - 1)
  for i, ref in ipairs(refs) do
    if allowance <= 0 then
      safe_call('HSET', task_key(id), 'ac', first + i - 1)
      return schedule('~activate:' .. id, now)
    end
    family.activate(ref, id, record, record.pv)
  end
  if #refs == MOST_CHILDREN then
    safe_call('HSET', task_key(id), 'ac', first + MOST_CHILDREN)
    schedule('~activate:' .. id, now)
  end
end

function family.go_on(id)
  local record = read_record(id)
  if record and record.s == 'idle' then family.open(id, record) end
end

function family.cancel_child(id, record, reason, hard)
  if record.s == 'quarantined' then return end
  if TERMINAL[record.s] then return not record.pp and safe_call('HSET', task_key(id), 'uc', 1) end -- it was cancelled before its turn
  if LEASED[record.s] and not unlease(id) then
    safe_call('HDEL', task_key(id), 'ag')
    safe_call('HSET', task_key(id), 'x', reason, 'uc', 1)
    harden(id, hard or record.x and record.xh)
    return tell_worker(record.w, id)
  end
  if record.pg then family.unguard(id) end
  family.cancel(id, record, reason, true, hard)
end

local function cancel_ref(ref, parent, uid, round, reason, hard)
  allowance = allowance - 1
  local child, pool = far(ref)
  if pool then return send('cancel', pool, child, parent, uid, round, 'y', reason, unpack(hard and { 'xh', 1 } or {})) end
  local record = read_record(ref)
  if record and record.pi == parent then family.cancel_child(ref, record, reason, hard) end
end

-- Cancels all open children of a parent that has ended, or that will end because a child failed.
function family.cancel_children(id)
  local row = fields_of(task_key(id), 's', 'y', 'k', 'u', 'rn', 'fb', 'xh')
  if not (row and (TERMINAL[row[1]] or row[6])) then return end
  if row[3] == 'iterator' then family.open_all(id, LEASED[row[1]]) end
  safe_call('DEL', task_key(id) .. '#asked')
  local why = row[1] ~= 'cancelled' and row[6] or row[2]
  local reason = shortened(id .. ' ' .. (row[1] == 'cancelled' and 'was cancelled' or 'failed')
    .. (why and why ~= '' and ': ' .. why or ''), 500)
  local hard = row[1] == 'cancelled' and row[7]
  while allowance > 0 do
    local refs = safe_call('SPOP', family.open_of(id), min(allowance, 100))
    if #refs == 0 then return end
    if row[3] == 'iterator' then family.note_stopped(id, refs) end
    for _, ref in ipairs(refs) do cancel_ref(ref, id, row[4], row[5], reason, hard) end
  end
  if safe_call('EXISTS', family.open_of(id)) == 1 then schedule('~cancel:' .. id, now) end
end
