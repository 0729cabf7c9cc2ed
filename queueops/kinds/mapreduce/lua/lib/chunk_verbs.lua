-- Actions of an operator on a chunk, by verb. `retry` runs it again, `redo` with other data, `set` with other fields in
-- it. `drop` ends it without a result, `skip` with the result None. Others: `edit`, `release`, `speculate` (a second run
-- beside the first), `postpone` (its next attempt waits until `due`).
--@needs abandon_chunks chunk_bulk_verbs chunk_outcomes chunk_sets json_fields numbers reopen
--@needs second_run store_helpers transitions

fresh.task, fresh.verb, fresh.value, fresh.whole, fresh.who = '', '', '', '', '' -- the arguments of `chunks`
fresh.parent = false -- its record: the script reads it
fresh.dropped = 0 -- how many more were let go by this call than taken up again
local CHANGES = { edit = true, redo = true, set = true }
fresh.edit = false -- what is to be made of the data

-- The time that `value` means for `postpone`: epoch ms, or with a + before it ms from now.
local function due_time() return string.sub(ctx.value, 1, 1) == '+' and now + tonumber(ctx.value) or tonumber(ctx.value) end

local ANYWHERE = { edit = true, release = true } -- these take up nothing
local GATHERING = { speculate = true, postpone = true } -- only while the task gathers
local chunk_verbs = {}

local function clear(ref)
  lib.safe_call('HDEL', TASK .. ref, F.result, F.error, F.fingerprint, F.reason, F.ended, F.due, F.attempt, F.crashes, F.dropped,
    F.unknown_since)
end

local function undrop(chunk)
  if chunk[F.dropped] then ctx.dropped = ctx.dropped - 1 end
end

function chunk_verbs.retry(ref, chunk)
  undrop(chunk)
  if ref == ctx.task .. '#' .. (ctx.parent.xn or '') then -- its run was the longest
    lib.safe_call('HDEL', lib.task_key(ctx.task), F.longest_chunk_ms, F.longest_chunk)
  end
  clear(ref)
  lib.make_chunk_pending(ref, chunk, 'f', lib.next_number())
end

function chunk_verbs.drop(ref, chunk)
  if not chunk[F.dropped] then ctx.dropped = ctx.dropped + 1 end
  lib.finish_chunk(ref, chunk, 'failed', 'y', 'dropped by ' .. ctx.who, 'dr', 1)
  local name, number = lib.split_ref(ref)
  lib.move_chunk(name, number, { s = 'failed' }, 'failed', NOW .. '.5')
  ctx.gathering[name] = false
end

function chunk_verbs.skip(ref, chunk)
  undrop(chunk)
  clear(ref)
  lib.finish_chunk(ref, chunk, 'done', 'y', 'skipped by ' .. ctx.who)
end

function chunk_verbs.edit(ref, chunk)
  lib.note_edit(ref, chunk[F.args] or '', ctx.who)
  lib.safe_call('HSET', TASK .. ref, F.args, chunk.new)
end

function chunk_verbs.redo(ref, chunk) chunk_verbs.edit(ref, chunk); chunk_verbs.retry(ref, chunk) end
function chunk_verbs.set(ref, chunk) chunk_verbs.redo(ref, chunk) end

function chunk_verbs.release(ref, chunk) lib.make_chunk_pending(ref, chunk, 'f', lib.next_number()) end

function chunk_verbs.speculate(ref) lib.add_twin(lib.split_ref(ref)) end

function chunk_verbs.postpone(ref, chunk) lib.delay_chunk(ref, chunk, due_time() - now) end

local function state_fits()
  local parent = ctx.parent
  return lib.may_reopen(parent) or (ANYWHERE[ctx.verb] and parent[F.has_chunks] and parent[F.state] ~= 'mapping' and parent[F.chunks])
end

local function fits(chunk)
  if not (chunk and CHUNK_ALLOWED[ctx.verb][chunk[F.state]]) then return false end
  if CHANGES[ctx.verb] then
    ctx.edit = ctx.edit or lib.read_edit(ctx.verb, ctx.value)
    chunk.new = lib.edited(ctx.edit, chunk[F.args] or '')
    return chunk.new ~= nil
  end
  return not GATHERING[ctx.verb] or (ctx.parent.s == 'aggregating' and not (ctx.verb == 'speculate' and chunk[F.has_second_run]))
end

function lib.mend(numbers)
  local refused, changed = {}, 0
  for _, number in ipairs(numbers) do
    local ref = ctx.task .. '#' .. number
    local chunk = lib.read_chunk(ref)
    if state_fits() and fits(chunk) then
      if not (ANYWHERE[ctx.verb] or GATHERING[ctx.verb]) then lib.reopen(ctx.task, ctx.parent) end
      chunk_verbs[ctx.verb](ref, chunk)
      changed = changed + 1
    elseif ctx.verb == 'drop' and not chunk and state_fits() and lib.safe_call('ZSCORE', lib.chunk_set(ctx.task, 'failed'), number) then
      lib.reopen(ctx.task, ctx.parent)
      ctx.dropped = ctx.dropped + lib.lose(ctx.task, number, 'failed', true)
      changed = changed + 1
    else
      refused[#refused + 1] = number; refused[#refused + 1] = chunk and chunk[F.state] or ''
    end
  end
  return changed, refused
end

-- Postpones chunks that are due before that time, 100 in a call. A postponed chunk leaves the range.
local function postpone_whole()
  local range = { lib.chunk_set(ctx.task, ctx.whole), '-inf', '(' .. lib.text(due_time()) }
  local left = lib.safe_call('ZCOUNT', unpack(range))
  if ctx.parent.s ~= 'aggregating' then return 0, left end
  local changed = lib.mend(lib.safe_call('ZRANGEBYSCORE', range[1], range[2], range[3], 'LIMIT', 0, 100))
  return changed, left - changed
end

-- Acts on all chunks of a state. Workers get no chunk until the last one is done. Only `release` and `postpone` act at once.
function lib.mend_whole()
  if not (state_fits() and CHUNK_ALLOWED[ctx.verb][ctx.whole]) then return 0, lib.safe_call('ZCARD', lib.chunk_set(ctx.task, ctx.whole)) end
  if lib.redone[ctx.verb] then
    local from, to = lib.meant(ctx.verb, ctx.whole, lib.begin_of(ctx.task, ctx.whole))
    local size = lib.safe_call('ZCOUNT', lib.chunk_set(ctx.task, ctx.whole), from, to)
    if size == 0 then return 0, 0 end -- a task that is over is not taken up for nothing
    lib.reopen(ctx.task, ctx.parent)
    local left = lib.begin_redo(ctx.task, ctx.whole, ctx.verb, ctx.who, CHANGES[ctx.verb] and ctx.value)
    return size - left - ctx.unfit, left
  end
  if ctx.verb == 'postpone' then return postpone_whole() end
  local changed = lib.mend(lib.safe_call('ZRANGE', lib.chunk_set(ctx.task, ctx.whole), 0, 99))
  return changed, lib.safe_call('ZCARD', lib.chunk_set(ctx.task, ctx.whole)) - changed
end

-- An action on chunks by number may come in several calls. Until the last one, no worker gets a chunk and the task keeps
-- its state. If the rest never comes, the agenda ends that.
function lib.hold()
  if ctx.parent.s ~= 'aggregating' then return end
  local states = lib.safe_call('HGET', lib.task_key(ctx.task), F.chunks_to_redo)
  if not string.find(states or '', 'more', 1, true) then
    lib.safe_call('HSET', lib.task_key(ctx.task), F.chunks_to_redo, states and states .. ',more' or 'more')
  end
  lib.schedule('~redo:' .. ctx.task, now + 1000)
  lib.turn_lane(ctx.task)
end

-- Answers whether it had been held.
function lib.let_go_on()
  local states = lib.safe_call('HGET', lib.task_key(ctx.task), F.chunks_to_redo)
  if not string.find(states or '', 'more', 1, true) then return false end
  if states == 'more' then
    lib.end_redo(ctx.task)
  else
    lib.safe_call('HSET', lib.task_key(ctx.task), F.chunks_to_redo, (string.gsub(states, ',more', '')))
  end
  return true
end
