-- Iterators: tasks that run repeatedly and emit tasks. Emitted tasks are in `#drafts` during the run, and in `#planted`
-- after its settlement. From their start to their end they are in `#open`, which holds at most a window of tasks.
local function planted_of(id) return task_key(id) .. '#planted' end
local function drafts_of(id) return task_key(id) .. '#drafts' end

-- Erases the tasks that an incomplete run emitted.
function family.drop_drafts(id)
  local refs = safe_call('ZRANGE', drafts_of(id), 0, -1)
  if refs[1] then
    local uid = safe_call('HGET', task_key(id), 'u')
    for _, ref in ipairs(refs) do family.discard(ref, id, uid) end
  end
  safe_call('DEL', drafts_of(id))
end

-- Opens all children, begun or not, so that they are cancelled with the iterator. Erases the tasks of an incomplete run.
function family.open_all(id, runs)
  local refs = safe_call('ZRANGE', planted_of(id), 0, -1)
  if #refs > 0 then call_sliced('SADD', family.open_of(id), refs); safe_call('DEL', planted_of(id)) end
  if not runs then family.drop_drafts(id) end
end

-- Begins children as far as the window allows: retried ones before new ones. Returns whether the window has room for more.
local function let_in(id, record)
  local free = (number_of(record.wi) or 1) - safe_call('SCARD', family.open_of(id))
  if free <= 0 then return false end
  free = free - family.take_failed(id, record, free)
  if free <= 0 or family.count_again(id, record) > 0 then return false end
  local popped = safe_call('ZPOPMIN', planted_of(id), free)
  for i = 1, #popped, 2 do
    safe_call('SADD', family.open_of(id), popped[i])
    family.activate(popped[i], id, record)
  end
  return free > #popped / 2
end

local function is_empty(id, record)
  return safe_call('EXISTS', family.open_of(id), planted_of(id)) == 0 and family.count_again(id, record) == 0
end

local function leave(id, record, state)
  if LEASED[record.s] then free_slot(record.l or 'default', id); unschedule(id) end
  family.shift(id, record, state)
  safe_call('HSET', task_key(id), 's', state)
end

local function come_again(id, record)
  leave(id, record, 'pending')
  enter_lane(record.l or 'default', id, record.p, next_number())
end

local function end_iterator(id, record, state)
  if record.s ~= 'idle' then leave_place(id, record) end
  local failed = number_of(record.nf) or 0
  if failed > 0 and not record.fb and state ~= 'cancelled' then
    record.fb = failed .. ' of its ' .. (record.to or '?') .. ' tasks failed; the first: ' .. (record.fr or '')
  end
  if record.fb then return family.fail(id, record, record.fb, record.fe, record.ff) end
  family.finish(id, record, state or 'succeeded')
end

local function take_answer(id, record)
  safe_call('HDEL', task_key(id), 'sw', 'sn', 'at', 'cr', 'er', 'ef')
  if safe_call('EXISTS', drafts_of(id)) == 1 then
    safe_call('HINCRBY', task_key(id), 'to', safe_call('ZCARD', drafts_of(id)))
    if record.pi then family.weigh(id) end
    safe_call('RENAME', drafts_of(id), planted_of(id))
  end
  if record.sw == 'done' then safe_call('HSET', task_key(id), 'dn', 1) else safe_call('HSET', task_key(id), 'st', record.sn or '') end
end

-- Fails an iterator whose run did not succeed, if a task has failed meanwhile: no retry then. Returns whether it did.
function family.fails_with_task(id, record)
  if not record.fb then return false end
  flush(); flush_lanes()
  end_iterator(id, record)
  return true
end

-- Settles a successful run of `iterate`.
function family.settle_iterator(id, record)
  flush(); flush_lanes()
  take_answer(id, record)
  if family.fails_with_task(id, record) then return end
  if record.x then
    safe_call('HSET', task_key(id), 'y', record.x)
    end_iterator(id, record, 'cancelled')
    return family.cancel_children(id)
  end
  local room = let_in(id, record)
  if record.sw == 'done' and is_empty(id, record) then return end_iterator(id, (read_record(id))) end
  if record.sw == 'next' and room then return come_again(id, record) end
  if record.sw == 'idle' and is_empty(id, record) then -- nothing of its own will end: it looks again a little later
    leave(id, record, 'postponed')
    safe_call('HSET', task_key(id), 'd', text(now + 1000))
    return schedule(id, now + 1000)
  end
  leave(id, record, 'idle')
end

-- Fails an iterator at once because a task failed. While `iterate` runs, only its tasks can be ended.
local function fail_iterator(id, record)
  if record.s == 'quarantined' then return end
  flush(); flush_lanes() -- it may have come into its lane in this very call
  if LEASED[record.s] then return family.cancel_children(id) end
  end_iterator(id, record)
end

-- Continues an iterator after tasks have ended. While `iterate` runs, their ends are only noted.
function family.go_on_iterating(id)
  local record = read_record(id)
  if not record or TERMINAL[record.s] then return end
  if record.fb then return fail_iterator(id, record) end
  if record.s ~= 'idle' then return end
  local room = let_in(id, record)
  if record.dn then
    if is_empty(id, record) then end_iterator(id, (read_record(id))) end
  elseif room then
    come_again(id, record)
  end
end

-- Prepares an operator's retry: from where the iterator was, with its failed tasks, or from the beginning. Returns how many
-- tasks run again.
function family.refresh_iterator(id, everything)
  safe_call('HDEL', task_key(id), 'fb', 'fe', 'ff', 'fr', 'nf', 'dn', 'sw', 'sn', 'se')
  safe_call('DEL', task_key(id) .. '#asked')
  family.open_all(id)
  if not everything then return family.call_failed(id) end
  safe_call('HDEL', task_key(id), 'st')
  safe_call('DEL', family.open_of(id))
  family.forget_ended(id)
  return 0
end
