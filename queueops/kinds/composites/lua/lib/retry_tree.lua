-- Retry of a composite: of failed parts and those after them, or of all. A nested composite waits for its turn to do so.
--@needs end_effects numbers outbox parent phases records store_helpers transitions wakeup

-- Sets a child back to `waiting`. A composite keeps its generation, because its own children store it.
function lib.family.reset(id, child, mode)
  lib.shift(id, child, 'waiting')
  lib.unschedule(id)
  lib.forget_error(id, child)
  lib.safe_call('HDEL', lib.task_key(id), F.result, F.error, F.fingerprint, F.reason, F.ended, F.cancel_requested, F.cancelled_hard, F.due,
    F.attempt, F.crashes, F.unknown_since, F.previous, F.children_failed, F.activated,
    'uc', 'ag', 'tn', 'tv', 'pc')
  lib.safe_call('HSET', lib.task_key(id), F.state, 'waiting')
  if child[F.children] then return lib.safe_call('HSET', lib.task_key(id), F.resumes, mode) end
  if child[F.kind] == 'iterator' then lib.family.refresh_iterator(id, mode == 'all'); if mode ~= 'all' then return end end
  local forget_run = (lib.hooks.retry[child[F.kind]] or NONE).forget_run
  if forget_run then forget_run(id, child) end
  lib.safe_call('HSET', lib.task_key(id), F.uid, lib.next_number(), F.pushed_uid, child[F.pushed_uid] or child[F.uid] or 0)
end
-- Removes the result of a child's earlier run.
function lib.family.uncollect(id, ref)
  local size = lib.safe_call('HSTRLEN', lib.task_key(id) .. SUBKEY.results, ref)
  if size == 0 then return end
  lib.safe_call('HDEL', lib.task_key(id) .. SUBKEY.results, ref)
  lib.safe_call('HINCRBY', lib.task_key(id), F.results_size, -size - 1)
end
-- Counts a child that succeeded after its parent had ended, and collects its result. Until now neither was done.
local function count_in(ref, id, child, record)
  if child[F.uncounted] ~= '1' then return end
  lib.safe_call('HDEL', lib.task_key(ref), F.uncounted)
  lib.family.count(child[F.top] or child[F.root], lib.family.weight_of(child) - lib.amount(child[F.counted]))
  if record[F.kind] == 'group' then lib.family.collect_success(id, record[F.on_failure], ref, child[F.result] or '') end
end

-- The child still runs. If all parts run again, its input is old: it is told to stop, and its end does not count. If its
-- turn comes before it has stopped, `tn` and `tv` keep the turn and its input.
function lib.family.keep_running(id, child, mode)
  lib.safe_call('HDEL', lib.task_key(id), F.uncounted, F.turn_came, F.turn_previous)
  if mode ~= 'all' then return lib.safe_call('HDEL', lib.task_key(id), F.cancel_requested, F.cancelled_hard) end
  lib.safe_call('HSET', lib.task_key(id), F.again, 1)
  if child[F.cancel_requested] then return end
  lib.harden(id, false)
  lib.safe_call('HSET', lib.task_key(id), F.cancel_requested, 'it is run again with all of ' .. child[F.parent_id])
  lib.tell_worker(child[F.worker], id)
end

function lib.family.come_again(id)
  local child = lib.read_record(id)
  if not (child and child[F.again] and TERMINAL[child[F.state]]) then return end
  lib.family.uncount(child, 'all')
  lib.family.reset(id, child, 'all')
  if child[F.turn_came] then lib.family.turn_of(id, lib.read_record(id), child[F.turn_previous]) end
end

-- Takes up one child. A running child is kept, or runs again after its end. A succeeded one stays, unless all run again.
local function take_up_child(ref, id, record)
  ctx.allowance = ctx.allowance - 1
  if lib.far(ref) then return lib.family.ask_to_resume(ref, id, record) end
  local child = lib.read_record(ref)
  if child and (child[F.parent_id] ~= id or child[F.parent_uid] ~= record[F.uid]) then child = nil end -- another task has its id now
  if child and child[F.state] == 'succeeded' and record[F.resumes] ~= 'all' then return count_in(ref, id, child, record) end
  lib.safe_call('SADD', lib.family.open_of(id), ref)
  if not child then return end
  if LEASED[child[F.state]] then lib.family.keep_running(ref, child, record[F.resumes]) end
  if not TERMINAL[child[F.state]] then return end
  lib.family.uncollect(id, ref)
  lib.family.uncount(child, record[F.resumes], child[F.uncounted] ~= '1')
  lib.family.reset(ref, child, record[F.resumes])
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
  if record[F.kind] == 'group' then
    if lib.safe_call('EXISTS', lib.family.open_of(id)) == 0 then return lib.family.end_group(id, record) end
    return lib.family.open(id, record)
  end
  local ref, before = lib.family.first_open(id)
  if lib.family.lost_list(id) then return lib.family.fail(id, record, lib.family.lost_list(id)) end
  local previous = before and lib.family.result_of(id, before) or not before and record[F.previous]
  if not ref then return lib.family.finish(id, record, 'succeeded', 're', previous or '') end
  lib.family.activate(ref, id, record, previous)
end

function lib.family.resume_children(id)
  local record = lib.read_record(id)
  if not (record and record[F.state] == 'idle' and record[F.resumes]) then return end
  local first = lib.number_of(record[F.resumed_children]) or 0
  if first < 0 then return end
  local refs = lib.safe_call('ZRANGE', lib.family.children_of(id), first, first + 499)
  for i, ref in ipairs(refs) do
    if ctx.allowance <= 0 then
      lib.safe_call('HSET', lib.task_key(id), F.resumed_children, first + i - 1)
      return lib.schedule('~resume:' .. id, now)
    end
    take_up_child(ref, id, record)
  end
  if #refs == 500 then
    lib.safe_call('HSET', lib.task_key(id), F.resumed_children, first + 500)
    return lib.schedule('~resume:' .. id, now)
  end
  lib.safe_call('HSET', lib.task_key(id), F.resumed_children, -1) -- all were taken up, or asked
  if lib.safe_call('SCARD', lib.task_key(id) .. SUBKEY.asked) == 0 then lib.family.go_on_resumed(id, record) end
end

function lib.family.go_on_resumed(id, record)
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 0 and record[F.resumes] ~= 'all' then
    lib.safe_call('HSET', lib.task_key(id), F.resumes, 'all', F.results_size, 0) -- nothing had failed but the whole: all of it comes again
    lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
    return lib.family.take_up(id)
  end
  lib.safe_call('HDEL', lib.task_key(id), F.resumes, F.resumed_children)
  record[F.resumes] = nil
  lib.family.proceed(id, record)
end

-- Begins a new round. Reports of an earlier round from children in other pools are ignored.
function lib.family.take_up(id)
  lib.safe_call('HINCRBY', lib.task_key(id), F.round, 1)
  lib.safe_call('HDEL', lib.task_key(id), F.resumed_children)
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.asked)
  lib.family.resume_children(id)
end

-- Retries an ended composite.
function lib.family.resume(id, record, mode)
  lib.shift(id, record, 'idle')
  lib.unschedule(id)
  lib.forget_error(id, record)
  lib.safe_call('HDEL', lib.task_key(id), F.result, F.error, F.fingerprint, F.reason, F.ended, F.cancel_requested, F.cancelled_hard,
    F.children_failed, F.activated, F.resumed_children)
  lib.safe_call('HSET', lib.task_key(id), F.state, 'idle', F.begun, NOW, F.resumes, mode)
  if mode == 'all' then
    lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
    lib.safe_call('HSET', lib.task_key(id), F.results_size, 0)
  end
  lib.family.take_up(id)
  return 'idle', mode == 'all' and 'all of it comes again' or 'what failed comes again, and what follows from it'
end
