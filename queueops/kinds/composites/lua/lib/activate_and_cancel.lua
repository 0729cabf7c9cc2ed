-- Start and cancel of the children of a composite. The agenda continues what would take too long in one call.
--@needs cancel child_end claim_on_settle end_effects lanes numbers outbox parent phases rules
--@needs store_helpers transitions wakeup

-- Keeps a child as long as its parent, whatever the child's own retention is. In an iterator this holds only for children
-- that did not succeed, because a retry runs them again. It does not hold if they are too many (`over`).
function lib.family.keep(id, record, over)
  if record.pp then return not (record.it and (over or record.s == 'succeeded')) and lib.family.ask_to_go(id, record) end
  local entry, _, state, uid, kind, is_brief = record.pi, lib.values_of(lib.task_key(record.pi), 's', 'u', 'k', 'kt')
  if uid ~= record.pu then
    entry, _, state, uid, kind, is_brief =
      '~trash:' .. record.pi, lib.values_of(P .. ':trash:' .. record.pi, 's', 'u', 'k', 'kt')
  end
  if not state or uid ~= record.pu then return false end
  if kind == 'iterator' then
    if over or record.s == 'succeeded' then return false end
  elseif is_brief then
    return false -- and so are its parts
  end
  local latest = TERMINAL[state] and tonumber(lib.safe_call('ZSCORE', P .. ':agenda', entry) or 0) or 0
  lib.schedule(id, latest > now and latest + 1 or now + (lib.number_of(record.kp) or ctx.RULES['keep_' .. record.s]))
  return true
end

-- Begins a task that waited or whose delay has ended: a composite opens its children, another task enters its lane.
function lib.family.begin(id, record)
  ctx.allowance = ctx.allowance - 1
  local due = record.dl and now + (lib.number_of(record.dl) or 0) or lib.number_of(record.d) or 0
  if record.s == 'waiting' and due > now then
    if record.pg then lib.family.unguard(id) end
    lib.shift(id, record, 'postponed')
    lib.safe_call('HSET', lib.task_key(id), 's', 'postponed', 'd', lib.text(due))
    return lib.schedule(id, due)
  end
  if record.s == 'postponed' then lib.unschedule(id) end
  if record.pg then lib.family.unguard(id) end
  if record.cc then
    lib.shift(id, record, 'idle')
    lib.safe_call('HSET', lib.task_key(id), 's', 'idle', 'b', NOW)
    record.s = 'idle'
    if record.rs then return lib.family.take_up(id) end
    return lib.family.open(id, record)
  end
  if ctx.at_once.room > 0 and not ctx.moved[id] and lib.take_at_once(id, record) then ctx.moved[id] = true; return end
  lib.shift(id, record, 'pending')
  lib.safe_call('HSET', lib.task_key(id), 's', 'pending')
  lib.enter_lane(record.l or 'default', id, record.p, lib.next_number())
end

-- Gives a child its turn. `previous` is its input, or nil. A child that has ended already reports its end again.
function lib.family.turn_of(id, child, previous)
  if TERMINAL[child.s] and (child.pp or lib.safe_call('SISMEMBER', lib.family.open_of(child.pi), id) == 1) then
    return lib.note_child_end(id, child.pi, child.s)
  end
  if child.ag and LEASED[child.s] then
    lib.safe_call('HSET', lib.task_key(id), 'tn', 1)
    return previous and lib.safe_call('HSET', lib.task_key(id), 'tv', previous)
  end
  if child.s ~= 'waiting' then return end
  if previous and not child.si then
    lib.safe_call('HSET', lib.task_key(id), 'pv', previous)
    child.pv = previous
  end
  lib.family.begin(id, child)
end

function lib.family.activate(ref, parent, record, previous)
  if lib.far(ref) then return lib.family.activate_far(ref, parent, record, previous) end
  local child = lib.read_record(ref)
  if not (child and child.pi == parent and child.pu == record.u) then
    ctx.ended_children[#ctx.ended_children + 1] = { ref = ref, parent = parent, uid = record.u, state = 'failed', re = '',
      y = 'its record is lost' }
    return
  end
  lib.family.turn_of(ref, child, previous)
end

-- Opens the first child of a chain, or all children of a group. A group without children ends at once.
function lib.family.open(id, record)
  if record.k == 'group' and lib.number_of(record.cc) == 0 then return lib.family.end_group(id, record) end
  local first = lib.number_of(record.ac) or 0
  local refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, record.k == 'chain' and 0 or first + lib.MOST_CHILDREN - 1)
  for i, ref in ipairs(refs) do
    if ctx.allowance <= 0 then
      lib.safe_call('HSET', lib.task_key(id), 'ac', first + i - 1)
      return lib.schedule('~activate:' .. id, now)
    end
    lib.family.activate(ref, id, record, record.pv)
  end
  if #refs == lib.MOST_CHILDREN then
    lib.safe_call('HSET', lib.task_key(id), 'ac', first + lib.MOST_CHILDREN)
    lib.schedule('~activate:' .. id, now)
  end
end

function lib.family.go_on(id)
  local record = lib.read_record(id)
  if record and record.s == 'idle' then lib.family.open(id, record) end
end

function lib.family.cancel_child(id, record, reason, hard)
  if record.s == 'quarantined' then return end
  local cancelled = TERMINAL[record.s] -- before its turn
  if cancelled then return not record.pp and lib.safe_call('HSET', lib.task_key(id), 'uc', 1) end
  if LEASED[record.s] and not lib.unlease(id) then
    lib.safe_call('HDEL', lib.task_key(id), 'ag')
    lib.safe_call('HSET', lib.task_key(id), 'x', reason, 'uc', 1)
    lib.harden(id, hard or record.x and record.xh)
    return lib.tell_worker(record.w, id)
  end
  if record.pg then lib.family.unguard(id) end
  lib.cancel(id, record, reason, hard, 'uc', 1) -- the progress of its parent does not count it
end

local function cancel_ref(ref, parent, uid, round, reason, hard)
  ctx.allowance = ctx.allowance - 1
  local child, pool = lib.far(ref)
  if pool then return lib.send('cancel', pool, child, parent, uid, round, 'y', reason, unpack(hard and { 'xh', 1 } or {})) end
  local record = lib.read_record(ref)
  if record and record.pi == parent then lib.family.cancel_child(ref, record, reason, hard) end
end

-- Cancels all open children of a parent that has ended, or that will end because a child failed.
function lib.family.cancel_children(id)
  local row = lib.named_fields(lib.task_key(id), 's', 'y', 'k', 'u', 'rn', 'fb', 'xh')
  if not (row and (TERMINAL[row.s] or row.fb)) then return end
  if row.k == 'iterator' then lib.family.open_all(id, LEASED[row.s]) end
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.asked)
  local why = row.s ~= 'cancelled' and row.fb or row.y
  local reason = lib.shortened(id .. ' ' .. (row.s == 'cancelled' and 'was cancelled' or 'failed')
    .. (why and why ~= '' and ': ' .. why or ''), 500)
  local hard = row.s == 'cancelled' and row.xh
  while ctx.allowance > 0 do
    local refs = lib.safe_call('SPOP', lib.family.open_of(id), min(ctx.allowance, 100))
    if #refs == 0 then return end
    if row.k == 'iterator' then lib.family.note_stopped(id, refs) end
    for _, ref in ipairs(refs) do cancel_ref(ref, id, row.u, row.rn, reason, hard) end
  end
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 1 then lib.schedule('~cancel:' .. id, now) end
end
