-- Actions of an operator on a chunk, by verb. `retry` runs it again, `redo` with other data, `set` with other fields in
-- it. `drop` ends it without a result, `skip` with the result None. Others: `edit`, `release`, `speculate` (a second run
-- beside the first), `postpone` (its next attempt waits until `due`).
local task, verb, value, whole, who = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local parent -- its record: the script reads it
local dropped = 0 -- how many more were let go by this call than taken up again
local CHANGES = { edit = true, redo = true, set = true }
local edit -- what is to be made of the data
local due -- the time that `value` means for `postpone`: epoch ms, or with a + before it ms from now
if verb == 'postpone' then due = string.sub(value, 1, 1) == '+' and now + tonumber(value) or tonumber(value) end
local ANYWHERE = { edit = true, release = true } -- these take up nothing
local GATHERING = { speculate = true, postpone = true } -- only while the task gathers
local verbs = {}

local function clear(ref) safe_call('HDEL', TASK .. ref, 're', 'er', 'ef', 'y', 'e', 'd', 'at', 'cr', 'dr', 'uk') end

local function undrop(chunk)
  if chunk.dr then dropped = dropped - 1 end
end

function verbs.retry(ref, chunk)
  undrop(chunk)
  if ref == task .. '#' .. (parent.xn or '') then safe_call('HDEL', task_key(task), 'xm', 'xn') end -- the longest run is none any more
  clear(ref)
  make_chunk_pending(ref, chunk, 'f', next_number())
end

function verbs.drop(ref, chunk)
  if not chunk.dr then dropped = dropped + 1 end
  finish_chunk(ref, chunk, 'failed', 'y', 'dropped by ' .. who, 'dr', 1)
  local name, number = split_ref(ref)
  move_chunk(name, number, { s = 'failed' }, 'failed', NOW .. '.5')
  gathering[name] = false
end

function verbs.skip(ref, chunk)
  undrop(chunk)
  clear(ref)
  finish_chunk(ref, chunk, 'done', 'y', 'skipped by ' .. who)
end

function verbs.edit(ref, chunk)
  note_edit(ref, chunk.a or '', who)
  safe_call('HSET', TASK .. ref, 'a', chunk.new)
end

function verbs.redo(ref, chunk) verbs.edit(ref, chunk); verbs.retry(ref, chunk) end
function verbs.set(ref, chunk) verbs.redo(ref, chunk) end

function verbs.release(ref, chunk) make_chunk_pending(ref, chunk, 'f', next_number()) end

function verbs.speculate(ref) add_twin(split_ref(ref)) end

function verbs.postpone(ref, chunk) delay_chunk(ref, chunk, due - now) end

local function state_fits() return may_reopen(parent) or (ANYWHERE[verb] and parent.ch and parent.s ~= 'mapping' and parent.cn) end

local function fits(chunk)
  if not (chunk and CHUNK_ALLOWED[verb][chunk.s]) then return false end
  if CHANGES[verb] then
    edit = edit or read_edit(verb, value)
    chunk.new = edited(edit, chunk.a or '')
    return chunk.new ~= nil
  end
  return not GATHERING[verb] or (parent.s == 'aggregating' and not (verb == 'speculate' and chunk.tw))
end

local function mend(numbers)
  local refused, changed = {}, 0
  for _, number in ipairs(numbers) do
    local ref = task .. '#' .. number
    local chunk = read_chunk(ref)
    if state_fits() and fits(chunk) then
      if not (ANYWHERE[verb] or GATHERING[verb]) then reopen(task, parent) end
      verbs[verb](ref, chunk)
      changed = changed + 1
    elseif verb == 'drop' and not chunk and state_fits() and safe_call('ZSCORE', chunk_set(task, 'failed'), number) then
      reopen(task, parent)
      dropped = dropped + lose(task, number, 'failed', true)
      changed = changed + 1
    else
      refused[#refused + 1] = number; refused[#refused + 1] = chunk and chunk.s or ''
    end
  end
  return changed, refused
end

-- Postpones chunks that are due before that time, 100 in a call. A postponed chunk leaves the range.
local function postpone_whole()
  local range = { chunk_set(task, whole), '-inf', '(' .. text(due) }
  local left = safe_call('ZCOUNT', unpack(range))
  local changed = parent.s == 'aggregating' and mend(safe_call('ZRANGEBYSCORE', range[1], range[2], range[3], 'LIMIT', 0, 100)) or 0
  return changed, left - changed
end

-- Acts on all chunks of a state. Workers get no chunk until the last one is done. Only `release` and `postpone` act at once.
local function mend_whole()
  if not (state_fits() and CHUNK_ALLOWED[verb][whole]) then return 0, safe_call('ZCARD', chunk_set(task, whole)) end
  if redone[verb] then
    local size = safe_call('ZCOUNT', chunk_set(task, whole), meant(verb, whole, begin_of(task, whole)))
    if size == 0 then return 0, 0 end -- a task that is over is not taken up for nothing
    reopen(task, parent)
    local left = begin_redo(task, whole, verb, who, CHANGES[verb] and value)
    return size - left - unfit, left
  end
  if verb == 'postpone' then return postpone_whole() end
  local changed = mend(safe_call('ZRANGE', chunk_set(task, whole), 0, 99))
  return changed, safe_call('ZCARD', chunk_set(task, whole)) - changed
end

-- An action on chunks by number may come in several calls. Until the last one, no worker gets a chunk and the task keeps
-- its state. If the rest never comes, the agenda ends that.
local function hold()
  if parent.s ~= 'aggregating' then return end
  local states = safe_call('HGET', task_key(task), 'rd')
  if not string.find(states or '', 'more', 1, true) then
    safe_call('HSET', task_key(task), 'rd', states and states .. ',more' or 'more')
  end
  schedule('~redo:' .. task, now + 1000)
  turn_lane(task)
end

-- Answers whether it had been held.
local function let_go_on()
  local states = safe_call('HGET', task_key(task), 'rd')
  if not string.find(states or '', 'more', 1, true) then return false end
  if states == 'more' then end_redo(task) else safe_call('HSET', task_key(task), 'rd', (string.gsub(states, ',more', ''))) end
  return true
end
