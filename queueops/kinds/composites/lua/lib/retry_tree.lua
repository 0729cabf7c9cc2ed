-- Retry of a composite: of failed parts and those after them, or of all. A nested composite waits for its turn to do so.
--@needs end_effects numbers outbox parent phases records store_helpers transitions wakeup

-- Sets a child back to `waiting`. A composite keeps its generation, because its own children store it.
function lib.family.reset(id, child, mode)
  lib.shift(id, child, 'waiting')
  lib.unschedule(id)
  lib.forget_error(id, child)
  lib.safe_call('HDEL', lib.task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'd', 'at', 'cr', 'uk', 'pv', 'nf', 'ac',
    'uc', 'ag', 'tn', 'tv', 'pc')
  lib.safe_call('HSET', lib.task_key(id), 's', 'waiting')
  if child.cc then return lib.safe_call('HSET', lib.task_key(id), 'rs', mode) end
  if child.k == 'iterator' then lib.family.refresh_iterator(id, mode == 'all'); if mode ~= 'all' then return end end
  local forget_run = (lib.hooks.retry[child.k] or NONE).forget_run
  if forget_run then forget_run(id, child) end
  lib.safe_call('HSET', lib.task_key(id), 'u', lib.next_number(), 'uo', child.uo or child.u or 0)
end

-- Removes the result of a child's earlier run.
function lib.family.uncollect(id, ref)
  local size = lib.safe_call('HSTRLEN', lib.task_key(id) .. SUBKEY.results, ref)
  if size == 0 then return end
  lib.safe_call('HDEL', lib.task_key(id) .. SUBKEY.results, ref)
  lib.safe_call('HINCRBY', lib.task_key(id), 'sz', -size - 1)
end

-- Counts a child that succeeded after its parent had ended, and collects its result. Until now neither was done.
local function count_in(ref, id, child, record)
  if child.uc ~= '1' then return end
  lib.safe_call('HDEL', lib.task_key(ref), 'uc')
  lib.family.count(child.tp or child.ro, lib.family.weight_of(child) - lib.amount(child.pc))
  if record.k == 'group' then lib.family.collect_success(id, record.of, ref, child.re or '') end
end

-- The child still runs. If all parts run again, its input is old: it is told to stop, and its end does not count. If its
-- turn comes before it has stopped, `tn` and `tv` keep the turn and its input.
function lib.family.keep_running(id, child, mode)
  lib.safe_call('HDEL', lib.task_key(id), 'uc', 'tn', 'tv')
  if mode ~= 'all' then return lib.safe_call('HDEL', lib.task_key(id), 'x', 'xh') end
  lib.safe_call('HSET', lib.task_key(id), 'ag', 1)
  if child.x then return end
  lib.harden(id, false)
  lib.safe_call('HSET', lib.task_key(id), 'x', 'it is run again with all of ' .. child.pi)
  lib.tell_worker(child.w, id)
end

function lib.family.come_again(id)
  local child = lib.read_record(id)
  if not (child and child.ag and TERMINAL[child.s]) then return end
  lib.family.uncount(child, 'all')
  lib.family.reset(id, child, 'all')
  if child.tn then lib.family.turn_of(id, lib.read_record(id), child.tv) end
end

-- Takes up one child. A running child is kept, or runs again after its end. A succeeded one stays, unless all run again.
local function take_up_child(ref, id, record)
  ctx.allowance = ctx.allowance - 1
  if lib.far(ref) then return lib.family.ask_to_resume(ref, id, record) end
  local child = lib.read_record(ref)
  if child and (child.pi ~= id or child.pu ~= record.u) then child = nil end -- another task has its id now
  if child and child.s == 'succeeded' and record.rs ~= 'all' then return count_in(ref, id, child, record) end
  lib.safe_call('SADD', lib.family.open_of(id), ref)
  if not child then return end
  if LEASED[child.s] then lib.family.keep_running(ref, child, record.rs) end
  if not TERMINAL[child.s] then return end
  lib.family.uncollect(id, ref)
  lib.family.uncount(child, record.rs, child.uc ~= '1')
  lib.family.reset(ref, child, record.rs)
end

-- The first child that has not ended, and the one before it.
function lib.family.first_open(id)
  local first, before = 0, nil
  while true do
    local refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, first + 499)
    if #refs == 0 then return nil, before end
    local open = lib.safe_call('SMISMEMBER', lib.family.open_of(id), unpack(refs))
    for i, ref in ipairs(refs) do
      if open[i] == 1 then return ref, before end
      before = ref
    end
    first = first + 500
  end
end

-- Continues a composite after all its children have been taken up.
function lib.family.proceed(id, record)
  if record.k == 'group' then
    if lib.safe_call('EXISTS', lib.family.open_of(id)) == 0 then return lib.family.end_group(id, record) end
    return lib.family.open(id, record)
  end
  local ref, before = lib.family.first_open(id)
  if lib.family.lost_list(id) then return lib.family.fail(id, record, lib.family.lost_list(id)) end
  local previous = before and lib.family.result_of(id, before) or not before and record.pv
  if not ref then return lib.family.finish(id, record, 'succeeded', 're', previous or '') end
  lib.family.activate(ref, id, record, previous)
end

function lib.family.resume_children(id)
  local record = lib.read_record(id)
  if not (record and record.s == 'idle' and record.rs) then return end
  local first = lib.number_of(record.rk) or 0
  if first < 0 then return end
  local refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, first + 499)
  for i, ref in ipairs(refs) do
    if ctx.allowance <= 0 then
      lib.safe_call('HSET', lib.task_key(id), 'rk', first + i - 1)
      return lib.schedule('~resume:' .. id, now)
    end
    take_up_child(ref, id, record)
  end
  if #refs == 500 then
    lib.safe_call('HSET', lib.task_key(id), 'rk', first + 500)
    return lib.schedule('~resume:' .. id, now)
  end
  lib.safe_call('HSET', lib.task_key(id), 'rk', -1) -- all were taken up, or asked
  if lib.safe_call('SCARD', lib.task_key(id) .. SUBKEY.asked) == 0 then lib.family.go_on_resumed(id, record) end
end

function lib.family.go_on_resumed(id, record)
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 0 and record.rs ~= 'all' then
    lib.safe_call('HSET', lib.task_key(id), 'rs', 'all', 'sz', 0) -- nothing had failed but the whole: all of it comes again
    lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
    return lib.family.take_up(id)
  end
  lib.safe_call('HDEL', lib.task_key(id), 'rs', 'rk')
  record.rs = nil
  lib.family.proceed(id, record)
end

-- Begins a new round. Reports of an earlier round from children in other pools are ignored.
function lib.family.take_up(id)
  lib.safe_call('HINCRBY', lib.task_key(id), 'rn', 1)
  lib.safe_call('HDEL', lib.task_key(id), 'rk')
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.asked)
  lib.family.resume_children(id)
end

-- Retries an ended composite.
function lib.family.resume(id, record, mode)
  lib.shift(id, record, 'idle')
  lib.unschedule(id)
  lib.forget_error(id, record)
  lib.safe_call('HDEL', lib.task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'nf', 'ac', 'rk')
  lib.safe_call('HSET', lib.task_key(id), 's', 'idle', 'b', NOW, 'rs', mode)
  if mode == 'all' then
    lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
    lib.safe_call('HSET', lib.task_key(id), 'sz', 0)
  end
  lib.family.take_up(id)
  return 'idle', mode == 'all' and 'all of it comes again' or 'what failed comes again, and what follows from it'
end
