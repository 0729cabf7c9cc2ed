-- Consistency check of chunks. A chunk must be in one set of its task. It must be on the agenda while it runs or is in
-- back-off, and in `state:active` while it runs. A task must have all its chunks, and continue when none is open.
--@needs abandon_chunks chunk_sets fieldcheck lanes limit_check lost_chunks purge rules store_helpers transitions

local KNOWN = { pending = true, active = true, errored = true, done = true, failed = true }

local function chunk_score(number, chunk)
  if chunk[F.state] == 'pending' then return number end
  if chunk[F.state] == 'failed' and chunk[F.dropped] then return NOW .. '.5' end -- an operator let it go
  return (chunk[F.state] == 'errored' and chunk[F.due]) or (chunk[F.state] == 'active' and chunk[F.begun]) or chunk[F.ended] or NOW
end

-- Checks a chunk whose record is lost: it counts as failed. The task may count that failure already.
local function check_lost_chunk(ref, places)
  local due, held = lib.safe_call('ZSCORE', P .. ':agenda', ref), lib.safe_call('ZSCORE', P .. ':state:active', ref)
  if places[1] and not (places[1] == 'failed' and not places[2]) then
    if lib.wrong(ref, 'its record is missing') then lib.lose_chunk(ref) end
  elseif (due or held) and lib.wrong(ref, 'an index names it, and there is no such chunk') then
    lib.unschedule(ref)
    lib.append(ctx.leaving, 'active', ref)
  end
end

local function check_sets(ref, task, number, chunk)
  local state, own = chunk[F.state], false
  for _, place in ipairs(CHUNK_STATES) do
    local here = lib.safe_call('ZSCORE', lib.chunk_set(task, place), number)
    own = own or (here and place == state)
    if here and place ~= state and lib.wrong(ref, 'it is ' .. state .. ', and among the chunks that are ' .. place) then
      lib.safe_call('ZREM', lib.chunk_set(task, place), number)
    end
  end
  if not own and lib.wrong(ref, 'it is ' .. state .. ', and not among those chunks') then
    lib.safe_call('ZADD', lib.chunk_set(task, state), chunk_score(number, chunk), number)
  end
end

local function check_chunk_times(ref, chunk)
  local state, due = chunk[F.state], lib.safe_call('ZSCORE', P .. ':agenda', ref)
  local runs, held = state == 'active', lib.safe_call('ZSCORE', P .. ':state:active', ref)
  local timed = runs or state == 'errored'
  if timed and not due and lib.wrong(ref, 'it is ' .. state .. ', and not on the agenda') then
    lib.schedule(ref, runs and now + ctx.RULES.lease or lib.number_of(chunk[F.due]) or now)
  elseif due and not timed and lib.wrong(ref, 'it is ' .. state .. ', and on the agenda') then
    lib.unschedule(ref)
  end
  local turn = lib.lane_conf('#' .. lib.split_ref(ref)).turn
  if turn then lib.check_turn_of_part(ref, turn, runs) end
  if runs and not held and lib.wrong(ref, 'it is active, and not among those that run') then
    lib.safe_call('ZADD', P .. ':state:active', NOW, ref)
  elseif held and not runs and lib.wrong(ref, 'it is ' .. state .. ', and among those that run') then
    lib.safe_call('ZREM', P .. ':state:active', ref)
  end
end

-- If the task of the chunks is gone, the agenda deletes them in steps. It finds them in their sets.
local function check_owner(ref, task)
  if lib.has_chunks(TASK .. task) or lib.has_chunks(P .. ':trash:' .. task) then return end
  if lib.safe_call('ZSCORE', P .. ':agenda', '~chunks:' .. task) then return end
  if lib.wrong(ref, 'its task is gone') then lib.abandon_chunks(task) end
end

function lib.hooks.parts.check(ref)
  local task, number, twin = lib.split_ref(ref)
  if not task or twin then return end
  local before = #ctx.found
  local chunk = lib.named_fields(TASK .. ref, F.state, F.due, F.begun, F.ended, F.dropped) or {}
  if chunk[F.state] and KNOWN[chunk[F.state]] then
    check_sets(ref, task, number, chunk); check_chunk_times(ref, chunk); check_owner(ref, task)
  else
    local places = {}
    for _, state in ipairs(CHUNK_STATES) do
      if lib.safe_call('ZSCORE', lib.chunk_set(task, state), number) then places[#places + 1] = state end
    end
    check_lost_chunk(ref, places)
  end
  if ctx.repair and #ctx.found > before then
    lib.turn_lane(task)
    if ctx.gathering[task] == nil then ctx.gathering[task] = false end
  end
end

-- Checks the task of chunks. Returns whether it has chunks, and so a lane of its own.
function lib.hooks.check.mapreduce.record(id, record)
  if not record[F.has_chunks] then return false end
  if record[F.state] ~= 'aggregating' or record[F.chunks_to_redo] then return true end
  local count, open = lib.all_chunks(id), lib.open_chunks(id)
  if count ~= lib.number_of(record[F.chunks]) then
    lib.wrong(id, count .. ' of its ' .. (record[F.chunks] or '?') .. ' chunks are in their places')
  end
  if open == 0 and lib.wrong(id, 'none of its chunks is open, and it does not go on') then ctx.gathering[id] = false end
  return true
end
