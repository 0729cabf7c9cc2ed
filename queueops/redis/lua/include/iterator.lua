-- Iterators: tasks that are run again and again, and emit others: `#drafts` while they run, `#planted` when that is settled,
-- `#open` from when they begin, at most as many as the window allows, until they end.
local ended_tasks = {} -- how many tasks of an iterator have ended in this call, by iterator
local function planted_of(id) return task_key(id) .. '#planted' end
local function drafts_of(id) return task_key(id) .. '#drafts' end

-- What a run wrote that did not come to its end.
function family.drop_drafts(id)
  local refs = call('ZRANGE', drafts_of(id), 0, -1)
  if refs[1] then
    local uid = call('HGET', task_key(id), 'u')
    for _, ref in ipairs(refs) do family.discard(ref, id, uid) end
  end
  call('DEL', drafts_of(id))
end

-- Its children, begun or not, are open: so that they are cancelled with it.
function family.open_all(id)
  for _, key in ipairs({ planted_of(id), drafts_of(id) }) do
    local refs = call('ZRANGE', key, 0, -1)
    if #refs > 0 then call_sliced('SADD', family.open_of(id), refs); call('DEL', key) end
  end
end

-- Children begin as far as the window allows; whether there is room for more.
local function let_in(id, record)
  local free = (number_of(record.wi) or 1) - call('SCARD', family.open_of(id))
  local popped = free > 0 and call('ZPOPMIN', planted_of(id), free) or {}
  for i = 1, #popped, 2 do
    call('SADD', family.open_of(id), popped[i])
    family.activate(popped[i], id, record)
  end
  return free > #popped / 2
end

local function is_empty(id) return call('EXISTS', family.open_of(id), planted_of(id)) == 0 end

local function leave(id, record, state)
  if LEASED[record.s] then free_slot(record.l or 'default', id); unschedule(id) end
  family.shift(id, record, state)
  call('HSET', task_key(id), 's', state)
end

local function come_again(id, record)
  leave(id, record, 'pending')
  enter_lane(record.l or 'default', id, record.p, next_number())
end

local function end_iterator(id, record, state)
  if LEASED[record.s] then free_slot(record.l or 'default', id); unschedule(id) end
  local failed = number_of(record.nf) or 0
  if failed > 0 and not record.fb and state ~= 'cancelled' then
    record.fb = failed .. ' of its ' .. (record.to or '?') .. ' tasks failed; the first: ' .. (record.fr or '')
  end
  if record.fb then return family.fail(id, record, record.fb, record.fe, record.ff) end
  family.finish(id, record, state or 'succeeded')
end

local function take_answer(id, record)
  call('HDEL', task_key(id), 'sw', 'sn', 'at', 'cr', 'er', 'ef')
  if call('EXISTS', drafts_of(id)) == 1 then
    call('HINCRBY', task_key(id), 'to', call('ZCARD', drafts_of(id)))
    call('RENAME', drafts_of(id), planted_of(id))
  end
  if record.sw == 'done' then call('HSET', task_key(id), 'dn', 1) else call('HSET', task_key(id), 'st', record.sn or '') end
end

-- A run of `iterate` has ended well.
function family.settle_iterator(id, record)
  flush(); flush_lanes()
  if record.fb then return end_iterator(id, record) end
  if record.x then
    call('HSET', task_key(id), 'y', record.x)
    end_iterator(id, record, 'cancelled')
    return family.cancel_children(id)
  end
  take_answer(id, record)
  local room = let_in(id, record)
  if record.sw == 'done' and is_empty(id) then return end_iterator(id, (read_record(id))) end
  if record.sw == 'next' and room then return come_again(id, record) end
  if record.sw == 'idle' and is_empty(id) then -- nothing of its own will end: it looks again a little later
    leave(id, record, 'postponed')
    call('HSET', task_key(id), 'd', text(now + 1000))
    return schedule(id, now + 1000)
  end
  leave(id, record, 'idle')
end

local function note_failure(id, record, child)
  local reason = family.reason(child)
  if record.of ~= 'continue' then
    call('HSET', task_key(id), 'fb', reason, 'fe', child.er or '', 'ff', child.ef or '')
  elseif call('HINCRBY', task_key(id), 'nf', 1) == 1 then
    call('HSET', task_key(id), 'fr', reason, 'fe', child.er or '', 'ff', child.ef or '')
  end
end

-- One of its tasks has come to its end.
function family.iterator_child_ended(id, record, child)
  ended_tasks[id] = (ended_tasks[id] or 0) + 1
  if child.state ~= 'succeeded' then
    note_failure(id, record, child)
  elseif record.kt and not child.far then
    schedule(child.ref, now + (number_of(record.kt) or 0))
  end
end

-- Some of its tasks have come to their end. While `iterate` runs, that is all that is noted.
local function go_on(id, count)
  call('HINCRBY', task_key(id), 'pr', count)
  local record = read_record(id)
  if not record or record.s ~= 'idle' then return end
  if record.fb then return end_iterator(id, record) end
  local room = let_in(id, record)
  if record.dn then
    if is_empty(id) then end_iterator(id, record) end
  elseif room then
    come_again(id, record)
  end
end

-- What follows for iterators from all that has ended in this call, in one step for each: a batch of ends is a usual thing.
function family.iterators_go_on()
  for id, count in pairs(ended_tasks) do
    ended_tasks[id] = nil
    go_on(id, count)
  end
end

-- It is run again by an operator: from where it was, or from the beginning.
function family.refresh_iterator(id, everything)
  call('HDEL', task_key(id), 'fb', 'fe', 'ff', 'fr', 'nf', 'dn', 'sw', 'sn', 'se')
  if everything then call('HDEL', task_key(id), 'st', 'pr', 'to') end
  family.drop_drafts(id)
  call('DEL', family.open_of(id), planted_of(id))
end
