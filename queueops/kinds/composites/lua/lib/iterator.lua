-- Iterators: tasks that run repeatedly and emit tasks. Emitted tasks are in `#drafts` during the run, and in `#planted`
-- after its settlement. From their start to their end they are in `#open`, which holds at most a window of tasks.
--@needs lanes numbers parent phases records store_helpers transitions

function lib.planted_of(id) return lib.task_key(id) .. SUBKEY.planted end
local function drafts_of(id) return lib.task_key(id) .. SUBKEY.drafts end

-- Erases the tasks that an incomplete run emitted.
function lib.family.drop_drafts(id)
  local refs = lib.safe_call('ZRANGE', drafts_of(id), 0, -1)
  if refs[1] then
    local uid = lib.safe_call('HGET', lib.task_key(id), F.uid)
    for _, ref in ipairs(refs) do lib.family.discard(ref, id, uid) end
  end
  lib.safe_call('DEL', drafts_of(id))
end

-- Opens all children, begun or not, so that they are cancelled with the iterator. Erases the tasks of an incomplete run.
function lib.family.open_all(id, runs)
  local refs = lib.safe_call('ZRANGE', lib.planted_of(id), 0, -1)
  if #refs > 0 then lib.call_sliced('SADD', lib.family.open_of(id), refs); lib.safe_call('DEL', lib.planted_of(id)) end
  if not runs then lib.family.drop_drafts(id) end
end

-- Begins children as far as the window allows: retried ones before new ones. Returns whether the window has room for more.
local function let_in(id, record)
  local free = (lib.number_of(record[F.window]) or 1) - lib.safe_call('SCARD', lib.family.open_of(id))
  if free <= 0 then return false end
  free = free - lib.family.take_failed(id, record, free)
  if free <= 0 or lib.family.count_again(id, record) > 0 then return false end
  local popped = lib.safe_call('ZPOPMIN', lib.planted_of(id), free)
  for i = 1, #popped, 2 do
    lib.safe_call('SADD', lib.family.open_of(id), popped[i])
    lib.family.activate(popped[i], id, record)
  end
  return free > #popped / 2
end

local function is_empty(id, record)
  return lib.safe_call('EXISTS', lib.family.open_of(id), lib.planted_of(id)) == 0 and lib.family.count_again(id, record) == 0
end

local function leave(id, record, state)
  if LEASED[record[F.state]] then lib.free_slot(record[F.lane] or 'default', id); lib.unschedule(id) end
  lib.shift(id, record, state)
  lib.safe_call('HSET', lib.task_key(id), F.state, state)
end

local function come_again(id, record)
  leave(id, record, 'pending')
  lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], lib.next_number())
end

local function end_iterator(id, record, state)
  if record[F.state] ~= 'idle' then lib.leave_place(id, record) end
  local failed = lib.number_of(record[F.children_failed]) or 0
  if failed > 0 and not record[F.failed_by] and state ~= 'cancelled' then
    record[F.failed_by] = failed .. ' of its ' .. (record[F.total] or '?') .. ' tasks failed; the first: ' .. (record[F.first_failure]
      or '')
  end
  if record[F.failed_by] then
    return lib.family.fail(id, record, record[F.failed_by], record[F.child_error], record[F.child_fingerprint])
  end
  lib.family.finish(id, record, state or 'succeeded')
end

local function take_answer(id, record)
  lib.safe_call('HDEL', lib.task_key(id), F.answer, F.next_cursor, F.attempt, F.crashes, F.error, F.fingerprint)
  if lib.safe_call('EXISTS', drafts_of(id)) == 1 then
    lib.safe_call('HINCRBY', lib.task_key(id), F.total, lib.safe_call('ZCARD', drafts_of(id)))
    if record[F.parent_id] then lib.family.weigh(id) end
    lib.safe_call('RENAME', drafts_of(id), lib.planted_of(id))
  end
  if record[F.answer] == 'done' then
    lib.safe_call('HSET', lib.task_key(id), F.iterated, 1)
  else
    lib.safe_call('HSET', lib.task_key(id), F.cursor, record[F.next_cursor] or '')
  end
end

-- Fails an iterator whose run did not succeed, if a task has failed meanwhile: no retry then. Returns whether it did.
function lib.family.fails_with_task(id, record)
  if not record[F.failed_by] then return false end
  lib.flush(); lib.flush_lanes()
  end_iterator(id, record)
  return true
end

-- Settles a successful run of `iterate`.
function lib.family.settle_iterator(id, record)
  lib.flush(); lib.flush_lanes()
  take_answer(id, record)
  if lib.family.fails_with_task(id, record) then return end
  if record[F.cancel_requested] then
    lib.safe_call('HSET', lib.task_key(id), F.reason, record[F.cancel_requested])
    end_iterator(id, record, 'cancelled')
    return lib.family.cancel_children(id)
  end
  local room = let_in(id, record)
  if record[F.answer] == 'done' and is_empty(id, record) then return end_iterator(id, (lib.read_record(id))) end
  if record[F.answer] == 'next' and room then return come_again(id, record) end
  if record[F.answer] == 'idle' and is_empty(id, record) then -- nothing of its own will end: it looks again a little later
    leave(id, record, 'postponed')
    lib.safe_call('HSET', lib.task_key(id), F.due, lib.text(now + 1000))
    return lib.schedule(id, now + 1000)
  end
  leave(id, record, 'idle')
end

-- Fails an iterator at once because a task failed. While `iterate` runs, only its tasks can be ended.
local function fail_iterator(id, record)
  if record[F.state] == 'quarantined' then return end
  lib.flush(); lib.flush_lanes() -- it may have come into its lane in this very call
  if LEASED[record[F.state]] then return lib.family.cancel_children(id) end
  end_iterator(id, record)
end

-- Continues an iterator after tasks have ended. While `iterate` runs, their ends are only noted.
function lib.family.go_on_iterating(id)
  local record = lib.read_record(id)
  if not record or TERMINAL[record[F.state]] then return end
  if record[F.failed_by] then return fail_iterator(id, record) end
  if record[F.state] ~= 'idle' then return end
  local room = let_in(id, record)
  if record[F.iterated] then
    if is_empty(id, record) then end_iterator(id, (lib.read_record(id))) end
  elseif room then
    come_again(id, record)
  end
end

-- Prepares an operator's retry: from where the iterator was, with its failed tasks, or from the beginning. Returns how many
-- tasks run again.
function lib.family.refresh_iterator(id, everything)
  lib.safe_call('HDEL', lib.task_key(id), F.failed_by, F.child_error, F.child_fingerprint, F.first_failure, F.children_failed, F.iterated,
    F.answer, F.next_cursor, F.emission)
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.asked)
  lib.family.open_all(id)
  if not everything then return lib.family.call_failed(id) end
  lib.safe_call('HDEL', lib.task_key(id), F.cursor)
  lib.safe_call('DEL', lib.family.open_of(id))
  lib.family.forget_ended(id)
  return 0
end
