-- Start and cancel of the children of a composite. The agenda continues what would take too long in one call.
--@needs cancel child_end claim_on_settle end_effects lanes numbers outbox parent phases rules
--@needs store_helpers transitions wakeup

-- Keeps a child as long as its parent, whatever the child's own retention is. In an iterator this holds only for children
-- that did not succeed, because a retry runs them again. It does not hold if they are too many (`over`).
function lib.family.keep(id, record, over)
  if record[F.parent_pool] then
    return not (record[F.of_iterator] and (over or record[F.state] == 'succeeded')) and lib.family.ask_to_go(id, record)
  end
  local entry, _, state, uid, kind, is_brief = record[F.parent_id],
    lib.values_of(lib.task_key(record[F.parent_id]), F.state, F.uid, F.kind, F.keep_tasks)
  if uid ~= record[F.parent_uid] then
    entry, _, state, uid, kind, is_brief =
      '~trash:' .. record[F.parent_id], lib.values_of(P .. ':trash:' .. record[F.parent_id], 's', 'u', 'k', 'kt')
  end
  if not state or uid ~= record[F.parent_uid] then return false end
  if kind == 'iterator' then
    if over or record[F.state] == 'succeeded' then return false end
  elseif is_brief then
    return false -- and so are its parts
  end
  local latest = TERMINAL[state] and tonumber(lib.safe_call('ZSCORE', P .. ':agenda', entry) or 0) or 0
  lib.schedule(id, latest > now and latest + 1 or now + (lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. record[F.state]]))
  return true
end

-- Begins a task that waited or whose delay has ended: a composite opens its children, another task enters its lane.
function lib.family.begin(id, record)
  ctx.allowance = ctx.allowance - 1
  local due = record[F.delay] and now + (lib.number_of(record[F.delay]) or 0) or lib.number_of(record[F.due]) or 0
  if record[F.state] == 'waiting' and due > now then
    if record[F.push_incomplete] then lib.family.unguard(id) end
    lib.shift(id, record, 'postponed')
    lib.safe_call('HSET', lib.task_key(id), F.state, 'postponed', F.due, lib.text(due))
    return lib.schedule(id, due)
  end
  if record[F.state] == 'postponed' then lib.unschedule(id) end
  if record[F.push_incomplete] then lib.family.unguard(id) end
  if record[F.children] then
    lib.shift(id, record, 'idle')
    lib.safe_call('HSET', lib.task_key(id), F.state, 'idle', F.begun, NOW)
    record[F.state] = 'idle'
    if record[F.resumes] then return lib.family.take_up(id) end
    return lib.family.open(id, record)
  end
  if record[F.joins] then return lib.family.join(id, record) end
  if ctx.at_once.room > 0 and not ctx.moved[id] and lib.take_at_once(id, record) then ctx.moved[id] = true; return end
  lib.shift(id, record, 'pending')
  lib.safe_call('HSET', lib.task_key(id), F.state, 'pending')
  lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], lib.next_number(), record)
end

-- Gives a child its turn. `previous` is its input, or nil. A child that has ended already reports its end again.
function lib.family.turn_of(id, child, previous)
  if TERMINAL[child[F.state]] and (child[F.parent_pool] or lib.safe_call('SISMEMBER', lib.family.open_of(child[F.parent_id]), id) == 1) then
    return lib.note_child_end(id, child[F.parent_id], child[F.state])
  end
  if child[F.again] and LEASED[child[F.state]] then
    lib.safe_call('HSET', lib.task_key(id), F.turn_came, 1)
    return previous and lib.safe_call('HSET', lib.task_key(id), F.turn_previous, previous)
  end
  if child[F.state] ~= 'waiting' then return end
  if previous and not child[F.ignores_previous] then
    lib.safe_call('HSET', lib.task_key(id), F.previous, previous)
    child[F.previous] = previous
  end
  lib.family.begin(id, child)
end

function lib.family.activate(ref, parent, record, previous)
  if lib.far(ref) then return lib.family.activate_far(ref, parent, record, previous) end
  local child = lib.read_record(ref)
  if not (child and child[F.parent_id] == parent and child[F.parent_uid] == record[F.uid]) then
    ctx.ended_children[#ctx.ended_children + 1] = { ref = ref, parent = parent, uid = record[F.uid], state = 'failed', re = '',
      y = 'its record is lost' }
    return
  end
  lib.family.turn_of(ref, child, previous)
end

-- Opens the first child of a chain, or all children of a group. A group without children ends at once.
function lib.family.open(id, record)
  if record[F.kind] == 'group' and lib.number_of(record[F.children]) == 0 then return lib.family.end_group(id, record) end
  local first = lib.number_of(record[F.activated]) or 0
  local refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, record[F.kind] == 'chain' and 0 or first + lib.MOST_CHILDREN - 1)
  for i, ref in ipairs(refs) do
    if ctx.allowance <= 0 then
      lib.safe_call('HSET', lib.task_key(id), F.activated, first + i - 1)
      return lib.schedule('~activate:' .. id, now)
    end
    lib.family.activate(ref, id, record, record[F.previous])
  end
  if #refs == lib.MOST_CHILDREN then
    lib.safe_call('HSET', lib.task_key(id), F.activated, first + lib.MOST_CHILDREN)
    lib.schedule('~activate:' .. id, now)
  end
end

function lib.family.go_on(id)
  local record = lib.read_record(id)
  if record and record[F.state] == 'idle' then lib.family.open(id, record) end
end

function lib.family.cancel_child(id, record, reason, hard)
  if record[F.state] == 'quarantined' then return end
  local cancelled = TERMINAL[record[F.state]] -- before its turn
  if cancelled then return not record[F.parent_pool] and lib.safe_call('HSET', lib.task_key(id), F.uncounted, 1) end
  if LEASED[record[F.state]] and not lib.unlease(id) then
    lib.safe_call('HDEL', lib.task_key(id), F.again)
    lib.safe_call('HSET', lib.task_key(id), F.cancel_requested, reason, F.uncounted, 1)
    lib.harden(id, hard or record[F.cancel_requested] and record[F.cancelled_hard])
    return lib.tell_worker(record[F.worker], id)
  end
  if record[F.push_incomplete] then lib.family.unguard(id) end
  lib.cancel(id, record, reason, hard, 'uc', 1) -- the progress of its parent does not count it
end

local function cancel_ref(ref, parent, uid, round, reason, hard)
  ctx.allowance = ctx.allowance - 1
  local child, pool = lib.far(ref)
  if pool then return lib.send('cancel', pool, child, parent, uid, round, 'y', reason, unpack(hard and { 'xh', 1 } or {})) end
  local record = lib.read_record(ref)
  if record and record[F.parent_id] == parent then lib.family.cancel_child(ref, record, reason, hard) end
end

-- Cancels all open children of a parent that has ended, or that will end because a child failed.
function lib.family.cancel_children(id)
  local row = lib.named_fields(lib.task_key(id), F.state, F.reason, F.kind, F.uid, F.round, F.failed_by, F.cancelled_hard)
  if not (row and (TERMINAL[row[F.state]] or row[F.failed_by])) then return end
  if row[F.kind] == 'iterator' then lib.family.open_all(id, LEASED[row[F.state]]) end
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.asked)
  local why = row[F.state] ~= 'cancelled' and row[F.failed_by] or row[F.reason]
  local reason = lib.shortened(id .. ' ' .. (row[F.state] == 'cancelled' and 'was cancelled' or 'failed')
    .. (why and why ~= '' and ': ' .. why or ''), 500)
  local hard = row[F.state] == 'cancelled' and row[F.cancelled_hard]
  while ctx.allowance > 0 do
    local refs = lib.safe_call('SPOP', lib.family.open_of(id), min(ctx.allowance, 100))
    if #refs == 0 then return end
    if row[F.kind] == 'iterator' then lib.family.note_stopped(id, refs) end
    for _, ref in ipairs(refs) do cancel_ref(ref, id, row[F.uid], row[F.round], reason, hard) end
  end
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 1 then lib.schedule('~cancel:' .. id, now) end
end
