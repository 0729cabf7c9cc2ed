-- Retry of a composite: of failed parts and those after them, or of all. A nested composite waits for its turn to do so.

-- Sets a child back to `waiting`. A composite keeps its generation, because its own children store it.
function family.reset(id, child, mode)
  family.shift(id, child, 'waiting')
  unschedule(id)
  forget_error(id, child)
  safe_call('HDEL', task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'd', 'at', 'cr', 'uk', 'rd', 'rw', 'cn', 'bm', 'pv', 'nf', 'ac',
    'uc', 'ag', 'tn', 'tv', 'pc')
  safe_call('HSET', task_key(id), 's', 'waiting')
  if child.cc then return safe_call('HSET', task_key(id), 'rs', mode) end
  if child.k == 'iterator' then family.refresh_iterator(id, mode == 'all'); if mode ~= 'all' then return end end
  if child.ph or child.mr then back_to_map(id, child) end
  safe_call('HSET', task_key(id), 'u', next_number(), 'uo', child.uo or child.u or 0)
end

-- Removes the result of a child's earlier run.
function family.uncollect(id, ref)
  local size = safe_call('HSTRLEN', task_key(id) .. '#results', ref)
  if size == 0 then return end
  safe_call('HDEL', task_key(id) .. '#results', ref)
  safe_call('HINCRBY', task_key(id), 'sz', -size - 1)
end

-- Counts a child that succeeded after its parent had ended, and collects its result. Until now neither was done.
local function count_in(ref, id, child, record)
  if child.uc ~= '1' then return end
  safe_call('HDEL', task_key(ref), 'uc')
  family.count(child.tp or child.ro, family.weight_of(child) - amount(child.pc))
  if record.k == 'group' then family.collect_success(id, record.of, ref, child.re or '') end
end

-- The child still runs. If all parts run again, its input is old: it is told to stop, and its end does not count. If its
-- turn comes before it has stopped, `tn` and `tv` keep the turn and its input.
function family.keep_running(id, child, mode)
  safe_call('HDEL', task_key(id), 'uc', 'tn', 'tv')
  if mode ~= 'all' then return safe_call('HDEL', task_key(id), 'x', 'xh') end
  safe_call('HSET', task_key(id), 'ag', 1)
  if child.x then return end
  harden(id, false)
  safe_call('HSET', task_key(id), 'x', 'it is run again with all of ' .. child.pi)
  tell_worker(child.w, id)
end

function family.come_again(id)
  local child = read_record(id)
  if not (child and child.ag and TERMINAL[child.s]) then return end
  family.uncount(child, 'all')
  family.reset(id, child, 'all')
  if child.tn then family.turn_of(id, read_record(id), child.tv) end
end

-- Takes up one child. A running child is kept, or runs again after its end. A succeeded one stays, unless all run again.
local function take_up_child(ref, id, record)
  allowance = allowance - 1
  if far(ref) then return family.ask_to_resume(ref, id, record) end
  local child = read_record(ref)
  if child and (child.pi ~= id or child.pu ~= record.u) then child = nil end -- another task has its id now
  if child and child.s == 'succeeded' and record.rs ~= 'all' then return count_in(ref, id, child, record) end
  safe_call('SADD', family.open_of(id), ref)
  if not child then return end
  if LEASED[child.s] then family.keep_running(ref, child, record.rs) end
  if not TERMINAL[child.s] then return end
  family.uncollect(id, ref)
  family.uncount(child, record.rs, child.uc ~= '1')
  family.reset(ref, child, record.rs)
end

-- The first child that has not ended, and the one before it.
function family.first_open(id)
  local first, before = 0, nil
  while true do
    local refs = safe_call('ZRANGE', family.children_of(id), first, first + 499)
    if #refs == 0 then return nil, before end
    local open = safe_call('SMISMEMBER', family.open_of(id), unpack(refs))
    for i, ref in ipairs(refs) do
      if open[i] == 1 then return ref, before end
      before = ref
    end
    first = first + 500
  end
end

-- Continues a composite after all its children have been taken up.
function family.proceed(id, record)
  if record.k == 'group' then
    if safe_call('EXISTS', family.open_of(id)) == 0 then return family.end_group(id, record) end
    return family.open(id, record)
  end
  local ref, before = family.first_open(id)
  if family.lost_list(id) then return family.fail(id, record, family.lost_list(id)) end
  local previous = before and family.result_of(id, before) or not before and record.pv
  if not ref then return family.finish(id, record, 'succeeded', 're', previous or '') end
  family.activate(ref, id, record, previous)
end

function family.resume_children(id)
  local record = read_record(id)
  if not (record and record.s == 'idle' and record.rs) then return end
  local first = number_of(record.rk) or 0
  if first < 0 then return end
  local refs = safe_call('ZRANGE', family.children_of(id), first, first + 499)
  for i, ref in ipairs(refs) do
    if allowance <= 0 then
      safe_call('HSET', task_key(id), 'rk', first + i - 1)
      return schedule('~resume:' .. id, now)
    end
    take_up_child(ref, id, record)
  end
  if #refs == 500 then
    safe_call('HSET', task_key(id), 'rk', first + 500)
    return schedule('~resume:' .. id, now)
  end
  safe_call('HSET', task_key(id), 'rk', -1) -- all were taken up, or asked
  if safe_call('SCARD', task_key(id) .. '#asked') == 0 then family.go_on_resumed(id, record) end
end

function family.go_on_resumed(id, record)
  if safe_call('EXISTS', family.open_of(id)) == 0 and record.rs ~= 'all' then
    safe_call('HSET', task_key(id), 'rs', 'all', 'sz', 0) -- nothing had failed but the whole: all of it comes again
    safe_call('DEL', task_key(id) .. '#results')
    return family.take_up(id)
  end
  safe_call('HDEL', task_key(id), 'rs', 'rk')
  record.rs = nil
  family.proceed(id, record)
end

-- Begins a new round. Reports of an earlier round from children in other pools are ignored.
function family.take_up(id)
  safe_call('HINCRBY', task_key(id), 'rn', 1)
  safe_call('HDEL', task_key(id), 'rk')
  safe_call('DEL', task_key(id) .. '#asked')
  family.resume_children(id)
end

-- Retries an ended composite.
function family.resume(id, record, mode)
  family.shift(id, record, 'idle')
  unschedule(id)
  forget_error(id, record)
  safe_call('HDEL', task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'nf', 'ac', 'rk')
  safe_call('HSET', task_key(id), 's', 'idle', 'b', NOW, 'rs', mode)
  if mode == 'all' then
    safe_call('DEL', task_key(id) .. '#results')
    safe_call('HSET', task_key(id), 'sz', 0)
  end
  family.take_up(id)
  return 'idle', mode == 'all' and 'all of it comes again' or 'what failed comes again, and what follows from it'
end
