-- Bulk actions on all chunks of some states, in steps. `retry` makes them pending again, `redo` with other data, `set`
-- with other fields in it. `drop` gives them up, `skip` counts them as done. While a task's `rd` names states that are
-- not finished (verb:state:start, separated by commas), its lane is closed. The next call or the agenda continues. `xd`
-- counts dropped failed chunks. Their score is a time and a half, or -1 if their record is lost.
--@needs abandon_chunks chunk_sets json_fields second_run store_helpers transitions

fresh.redo_room = 200 -- chunks in one call of a script; one that is edited counts for four
lib.redone = {}
fresh.unfit = 0 -- how many were not given other data, for theirs has no fields
fresh.edits = TABLE -- what is to be made of the data, by task and state
local function let_go(task, number)
  local score = tonumber(lib.safe_call('ZSCORE', lib.chunk_set(task, 'failed'), number) or 0)
  return score < 0 or score % 1 ~= 0
end
-- Counts a chunk with a lost record as failed, whatever the verb. Returns by how much the number of dropped chunks grows.
function lib.lose(task, number, state, drop)
  local gone = let_go(task, number)
  lib.unschedule(task .. '#' .. number)
  lib.move_chunk(task, number, { s = state }, 'failed', (drop or gone) and -1 or 0)
  return drop and not gone and 1 or 0
end

function lib.redone.retry(task, number, state)
  local ref = task .. '#' .. number
  local row = lib.named_fields(TASK .. ref, F.state, F.dropped)
  if state == 'errored' then lib.unschedule(ref) end
  if not (row and row[F.state]) then return lib.lose(task, number, state) end
  lib.safe_call('HDEL', TASK .. ref, F.result, F.error, F.fingerprint, F.reason, F.ended, F.due, F.attempt, F.crashes, F.dropped,
    F.unknown_since)
  lib.safe_call('HSET', TASK .. ref, F.state, 'pending', F.ready_since, NOW)
  lib.move_chunk(task, number, { s = state }, 'pending', number)
  return row[F.dropped] and -1
end

local function to_close(ref)
  local row = lib.named_fields(TASK .. ref, F.state, F.dropped, F.has_second_run, F.worker)
  return row and row[F.state] and { s = row[F.state], dr = row[F.dropped], tw = row[F.has_second_run], w = row[F.worker] }
end

function lib.redone.drop(task, number, state, since, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then return lib.lose(task, number, state, true) end
  lib.finish_chunk(ref, chunk, 'failed', 'y', 'dropped by ' .. who, 'dr', 1)
  lib.move_chunk(task, number, { s = 'failed' }, 'failed', lib.text(since + 1) .. '.5') -- behind those that are still to come
  return not chunk[F.dropped] and 1
end

function lib.redone.skip(task, number, state, _, who)
  local ref = task .. '#' .. number
  local chunk = to_close(ref)
  if not chunk then return lib.lose(task, number, state) end
  lib.safe_call('HDEL', TASK .. ref, F.result, F.error, F.fingerprint, F.due, F.attempt, F.crashes, F.dropped, F.unknown_since)
  lib.finish_chunk(ref, chunk, 'done', 'y', 'skipped by ' .. who)
  return chunk[F.dropped] and -1
end

local function edit_of(task, verb, state)
  local key = task .. '#' .. state
  if not ctx.edits[key] then ctx.edits[key] = lib.read_edit(verb, lib.safe_call('HGET', lib.chunk_set(task, 'edits'), state) or '') end
  return ctx.edits[key]
end
-- Changes a chunk's data. If it cannot, the chunk runs unchanged where it would run anyway, else stays behind the others.
local function change(verb, task, number, state, since, who)
  local ref = task .. '#' .. number
  local was = lib.safe_call('HGET', TASK .. ref, F.args) or ''
  local data = lib.edited(edit_of(task, verb, state), was)
  ctx.redo_room = ctx.redo_room - 3 - floor(max(#was, #(data or '')) / 256) -- so much longer it takes
  if not data then
    ctx.unfit = ctx.unfit + 1
    local behind = lib.text(since + 1) .. (let_go(task, number) and '.5' or '')
    if state ~= 'errored' then return lib.move_chunk(task, number, { s = state }, state, behind) end
  elseif lib.safe_call('EXISTS', TASK .. ref) == 1 then
    lib.note_edit(ref, was, who)
    lib.safe_call('HSET', TASK .. ref, F.args, data)
  end
  return lib.redone.retry(task, number, state)
end
function lib.redone.redo(...) return change('redo', ...) end
function lib.redone.set(...) return change('set', ...) end
-- Range of scores of the chunks that an action covers. It excludes lost chunks, except for a drop of failed ones. An action
-- that may leave chunks in their state covers only chunks that were in it at the start.
function lib.meant(verb, state, since)
  if state == 'pending' then return '-inf', '+inf' end
  local stays = (verb == 'drop' and state == 'failed') or (verb == 'set' and state ~= 'errored')
  return verb == 'drop' and stays and '0' or '(0', stays and since or '+inf'
end

-- Start of an action: now. If the clock was set back, it is the later time of the state's last chunk.
function lib.begin_of(task, state)
  local last = (state == 'failed' or state == 'done') and lib.safe_call('ZREVRANGE', lib.chunk_set(task, state), 0, 0, 'WITHSCORES')[2]
  return lib.text(max(now, math.ceil(tonumber(last or 0))))
end

local function forget_redo(task)
  lib.safe_call('HDEL', TASK .. task, F.chunks_to_redo, F.chunks_redone_by)
  lib.safe_call('UNLINK', lib.chunk_set(task, 'edits'))
end

function lib.end_redo(task)
  forget_redo(task)
  lib.unschedule('~redo:' .. task)
  lib.turn_lane(task)
  ctx.gathering[task] = false
end

local function redo_part(task, verb, state, since, who)
  local key, dropped = lib.chunk_set(task, state), 0
  local low, high = lib.meant(verb, state, since)
  local numbers = ctx.redo_room > 0 and lib.safe_call('ZRANGEBYSCORE', key, low, high, 'LIMIT', 0, ctx.redo_room) or {}
  for _, number in ipairs(numbers) do
    if ctx.redo_room <= 0 then break end
    ctx.redo_room = ctx.redo_room - 1
    dropped = dropped + (lib.redone[verb](task, number, state, tonumber(since), who) or 0)
  end
  if dropped ~= 0 then lib.safe_call('HINCRBY', TASK .. task, F.chunks_dropped, dropped) end
  lib.flush_chunks()
  return lib.safe_call('ZCOUNT', key, low, high)
end

-- The number of chunks that are left.
function lib.redo_step(task, pause)
  local row = lib.named_fields(TASK .. task, F.state, F.chunks_to_redo, F.chunks_redone_by)
  if not (row and row[F.chunks_to_redo]) then return 0 end
  if row[F.state] ~= 'aggregating' then forget_redo(task); return 0 end
  local left, before = 0, ctx.unfit
  for verb, state, since in string.gmatch(row[F.chunks_to_redo], '(%a+):(%a+):(%d+)') do
    left = left + redo_part(task, verb, state, since, row[F.chunks_redone_by] or '')
  end
  local kept = ctx.unfit - before
  if kept > 0 then lib.log_line(task, { k = 'log', text = kept .. ' chunks keep their data: it has no fields, or would be too long' }) end
  if left == 0 then lib.end_redo(task) else lib.schedule('~redo:' .. task, now + pause) end
  return left
end

-- Begins a bulk action. Earlier ones continue; of two verbs for one state the later one counts.
function lib.begin_redo(task, states, verb, who, value)
  if value then lib.safe_call('HSET', lib.chunk_set(task, 'edits'), states, value) end
  local row = lib.named_fields(TASK .. task, F.chunks_to_redo)
  local parts = {}
  for before, state, since in string.gmatch(row and row[F.chunks_to_redo] or '', '(%a+):(%a+):(%d+)') do
    if not string.find(',' .. states .. ',', ',' .. state .. ',', 1, true) then
      parts[#parts + 1] = before .. ':' .. state .. ':' .. since
    end
  end
  -- the longest run is none any more
  if string.find(states, 'done', 1, true) then lib.safe_call('HDEL', TASK .. task, F.longest_chunk_ms, F.longest_chunk) end
  for state in string.gmatch(states, '[^,]+') do parts[#parts + 1] = verb .. ':' .. state .. ':' .. lib.begin_of(task, state) end
  lib.safe_call('HSET', TASK .. task, F.chunks_to_redo, table.concat(parts, ','), F.chunks_redone_by, who)
  lib.turn_lane(task)
  return lib.redo_step(task, 1000)
end
