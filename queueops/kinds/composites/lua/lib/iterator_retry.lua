-- Ended tasks of an iterator, and which of them run again in a retry. `#latest` has the last ended tasks. `#failures` has
-- those that failed, each after a letter: f failed, c cancelled, x stopped when the iterator ended.
--@needs outbox parent store_helpers transitions

fresh.ended_tasks = TABLE -- the tasks that have ended in this call, by iterator
fresh.part_iterators = TABLE -- those of these iterators that are part of something
local MOST_LATEST, MOST_FAILURES = 100, 100000
local function latest_of(id) return lib.task_key(id) .. SUBKEY.latest end
local function failures_of(id) return lib.task_key(id) .. SUBKEY.failures end
local function note_ended(id, refs)
  lib.safe_call('RPUSH', latest_of(id), unpack(refs, max(1, #refs - MOST_LATEST + 1)))
  lib.safe_call('LTRIM', latest_of(id), -MOST_LATEST, -1)
end

-- Adds failures. Beyond the limit the oldest are forgotten, and do not run again.
local function note_failures(id, letter, refs)
  local key, entries = failures_of(id), {}
  for i, ref in ipairs(refs) do entries[i] = letter .. ref end
  lib.safe_call('HINCRBY', lib.task_key(id), F.timeout .. letter, #refs)
  local over = lib.safe_call('RPUSH', key, unpack(entries)) - MOST_FAILURES
  if over <= 0 then return end
  lib.safe_call('LTRIM', key, over, -1)
  local again = lib.number_of(lib.safe_call('HGET', lib.task_key(id), F.tasks_to_come)) or 0
  if again > 0 then lib.safe_call('HSET', lib.task_key(id), F.tasks_to_come, max(0, again - over)) end
end

-- Notes a failure. With the policy to fail at once, the first failure (`fb`) becomes the reason of the iterator's end.
local function note_failure(id, record, child)
  local key, reason, error = lib.task_key(id), lib.family.reason(child), { 'fe', child[F.error] or '', 'ff', child[F.fingerprint] or '' }
  note_failures(id, child.state == 'cancelled' and 'c' or 'f', { child.ref })
  if record[F.on_failure] ~= 'continue' then
    if lib.safe_call('HSETNX', key, 'fb', reason) == 1 then lib.safe_call('HSET', key, unpack(error)) end
  elseif lib.safe_call('HINCRBY', key, 'nf', 1) == 1 then
    lib.safe_call('HSET', key, 'fr', reason, unpack(error))
  end
end

-- Handles the end of a task. A succeeded task may be kept briefly. In another pool, `heard.ended` sets its retention.
function lib.family.iterator_child_ended(id, record, child)
  lib.append(ctx.ended_tasks, id, child.ref)
  ctx.part_iterators[id] = record[F.parent_id]
  if child.state ~= 'succeeded' then
    note_failure(id, record, child)
  elseif record[F.keep_tasks] and not child.far then
    lib.family.keep_briefly(child.ref, child.kind, record[F.keep_tasks])
  end
end

function lib.family.keep_briefly(id, kind, ms)
  if kind == 'chain' or kind == 'group' then lib.safe_call('HSET', lib.task_key(id), F.keep_tasks, ms) end
  lib.schedule(id, now + (lib.number_of(ms) or 0))
end

-- Expires the succeeded parts of a composite that is kept briefly, 200 in one call. Returns whether more are left.
function lib.family.expire_parts(id, uid)
  local key = lib.family.children_of(id)
  local refs = lib.safe_call('ZRANGE', key, 0, 199)
  for _, ref in ipairs(refs) do
    local far_id, pool = lib.far(ref)
    local row = lib.named_fields(lib.task_key(ref), F.state, F.parent_id, F.kind) or {}
    if pool then lib.send('uproot', pool, far_id, id, uid) end
    if row[F.state] == 'succeeded' and row[F.parent_id] == id then lib.family.keep_briefly(ref, row[F.kind], 0) end
  end
  lib.safe_call('ZREMRANGEBYRANK', key, 0, 199)
  return lib.safe_call('EXISTS', key) == 1
end

-- Updates each iterator once for all its tasks that ended in this call. Many tasks often end in one call.
function lib.family.iterators_go_on()
  for id, refs in pairs(ctx.ended_tasks) do
    ctx.ended_tasks[id] = nil
    lib.safe_call('HINCRBY', lib.task_key(id), F.progress, #refs)
    note_ended(id, refs)
    if ctx.part_iterators[id] then lib.family.weigh(id) end
    lib.family.go_on_iterating(id)
  end
end

-- Notes tasks that are stopped because the iterator ends.
function lib.family.note_stopped(id, refs)
  note_failures(id, 'x', refs)
  note_ended(id, refs)
end

-- Prepares a retry that continues: all failed tasks run again, and open tasks too. Returns how many.
function lib.family.call_failed(id)
  while true do
    local refs = lib.safe_call('SPOP', lib.family.open_of(id), 100)
    if #refs == 0 then break end
    note_failures(id, 'x', refs)
  end
  local count = lib.safe_call('LLEN', failures_of(id))
  if count > 0 then lib.safe_call('HSET', lib.task_key(id), F.tasks_to_come, count) else lib.safe_call('HDEL', lib.task_key(id), 'rq') end
  lib.safe_call('HINCRBY', lib.task_key(id), F.round, 1)
  return count
end

function lib.family.forget_ended(id)
  lib.safe_call('HDEL', lib.task_key(id), F.progress, F.total, F.weight, F.tasks_failed, F.tasks_cancelled, F.tasks_stopped,
    F.tasks_to_come)
  lib.safe_call('DEL', latest_of(id), failures_of(id))
end

local function uncount(id, letter)
  lib.safe_call('HINCRBY', lib.task_key(id), F.timeout .. letter, -1)
  if letter ~= 'x' then lib.safe_call('HINCRBY', lib.task_key(id), F.progress, -1) end
end

-- Runs one task again. Returns whether it takes a place in the window. A task that has succeeded meanwhile counts as
-- succeeded. A task that is gone keeps its counted outcome.
local function take_again(id, record, letter, ref)
  local far_id, pool = lib.far(ref)
  local child = not pool and lib.read_record(ref)
  if not pool and not (child and child[F.parent_id] == id and child[F.parent_uid] == record[F.uid]
    and child[F.state] ~= 'quarantined') then return false end
  uncount(id, letter)
  if child and child[F.state] == 'succeeded' then
    lib.safe_call('HINCRBY', lib.task_key(id), F.progress, 1)
    return false
  end
  lib.safe_call('SADD', lib.family.open_of(id), ref)
  if pool then
    lib.safe_call('SADD', lib.task_key(id) .. SUBKEY.asked, ref)
    lib.send('resume', pool, far_id, id, record[F.uid], record[F.round], 'mode', 'failed', 'lacks', 0)
  elseif TERMINAL[child[F.state]] then
    lib.family.reset(ref, child, 'failed')
    lib.family.turn_of(ref, (lib.read_record(ref)))
  elseif LEASED[child[F.state]] then
    lib.family.keep_running(ref, child, 'failed')
  end
  return true
end

-- Number of tasks that are to run again and have no place in the window yet.
function lib.family.count_again(id, record)
  return record[F.tasks_to_come] and lib.number_of(lib.safe_call('HGET', lib.task_key(id), F.tasks_to_come)) or 0
end

-- Runs failed tasks again, before any new task, in at most `free` places. Returns how many places are taken.
function lib.family.take_failed(id, record, free)
  local left, taken = lib.family.count_again(id, record), 0
  if left == 0 then return 0 end
  while left > 0 and taken < free and ctx.allowance > 0 do
    ctx.allowance = ctx.allowance - 1
    local entry = lib.safe_call('LPOP', failures_of(id))
    left = entry and left - 1 or 0
    if entry and take_again(id, record, string.sub(entry, 1, 1), string.sub(entry, 2)) then taken = taken + 1 end
  end
  if left > 0 then lib.safe_call('HSET', lib.task_key(id), F.tasks_to_come, left) else lib.safe_call('HDEL', lib.task_key(id), 'rq') end
  if left > 0 and taken < free then lib.schedule('~again:' .. id, now) end
  return taken
end
