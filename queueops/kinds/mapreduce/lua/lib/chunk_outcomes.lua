-- The end of a chunk's lease: one function per outcome, as for tasks (settle.lua).
--@needs chunk_sets end_effects lanes minute_counts rules run_time_stats second_run store_helpers
--@needs transitions unknown_names wakeup

function lib.delay_chunk(ref, chunk, ms, ...)
  local task, number = lib.split_ref(ref)
  lib.safe_call('HSET', TASK .. ref, F.state, 'errored', F.due, lib.text(now + ms), ...)
  lib.move_chunk(task, number, chunk, 'errored', lib.text(now + ms))
  lib.schedule(ref, now + ms)
end

function lib.make_chunk_pending(ref, chunk, ...)
  local task, number = lib.split_ref(ref)
  lib.safe_call('HSET', TASK .. ref, F.state, 'pending', F.ready_since, NOW, ...)
  lib.unschedule(ref)
  lib.move_chunk(task, number, chunk, 'pending', number)
end

lib.chunk_outcomes = {}

local function try_chunk_again(ref, chunk, end_, attempts, ...)
  local retries = lib.lane_conf('#' .. lib.split_ref(ref)).retries
  if end_.delay < 0 or attempts > (lib.number_of(retries) or 0) then
    lib.finish_chunk(ref, chunk, 'failed', 'at', attempts, ...)
  else
    lib.delay_chunk(ref, chunk, end_.delay, 'at', attempts, ...)
  end
end

function lib.chunk_outcomes.error(ref, chunk, end_)
  local task = lib.split_ref(ref)
  if lib.lane_conf('#' .. task).state == 'cancelled' then
    return lib.make_chunk_pending(ref, chunk) -- whatever it raised: its worker may not have known yet
  end
  local attempts = (lib.number_of(chunk[F.attempt]) or 0) + 1
  lib.note_error(task, { n = lib.lane_conf('#' .. task).name }, end_)
  lib.log_line(ref, { k = 'error', attempt = attempts, begun = lib.number_of(chunk[F.begun]), worker = chunk[F.worker],
    error = end_.value })
  if chunk[F.unknown_since] then lib.safe_call('HDEL', TASK .. ref, F.unknown_since) end
  try_chunk_again(ref, chunk, end_, attempts, 'er', end_.value, 'ef', end_.fingerprint)
end
lib.chunk_outcomes.timeout = lib.chunk_outcomes.error

function lib.chunk_outcomes.crash(ref, chunk, end_)
  lib.count_minute('loud|' .. lib.lane_conf('#' .. lib.split_ref(ref)).name, 1)
  local crashes = (lib.number_of(chunk[F.crashes]) or 0) + (lib.counts(end_) and 1 or 0)
  lib.log_line(ref, { k = 'crash', crash = crashes, begun = lib.number_of(chunk[F.begun]), worker = chunk[F.worker], text = end_.value })
  if crashes >= ctx.RULES.max_crashes then
    lib.finish_chunk(ref, chunk, 'failed', 'cr', crashes, 'y', 'lost its worker ' .. crashes .. ' times: ' .. end_.value)
  else
    local _, number = lib.split_ref(ref)
    lib.delay_chunk(ref, chunk, lib.spread_out(tonumber(number), crashes, end_), 'cr', crashes, 'y', end_.value)
  end
end

-- Ends a cancelled chunk. It failed, unless its task has ended: then it is pending again, for a retry of the task.
function lib.chunk_outcomes.cancel(ref, chunk, end_)
  if lib.lane_conf('#' .. lib.split_ref(ref)).state == 'aggregating' then return lib.finish_chunk(ref, chunk, 'failed', 'y', end_.value) end
  lib.make_chunk_pending(ref, chunk)
end

function lib.chunk_outcomes.quarantine(ref, chunk, end_) lib.finish_chunk(ref, chunk, 'failed', 'y', end_.value) end

function lib.chunk_outcomes.release(ref, chunk) lib.make_chunk_pending(ref, chunk) end

function lib.chunk_outcomes.restart(ref, chunk, end_)
  if chunk[F.unknown_since] then lib.safe_call('HDEL', TASK .. ref, F.unknown_since) end
  if not end_.counted and end_.value == '' then return lib.delay_chunk(ref, chunk, max(0, end_.delay)) end
  if not end_.counted then return lib.delay_chunk(ref, chunk, max(0, end_.delay), 'y', end_.value) end
  local attempts = (lib.number_of(chunk[F.attempt]) or 0) + 1
  try_chunk_again(ref, chunk, { delay = max(0, end_.delay) }, attempts, 'y', 'restarted itself')
end

-- A worker that does not know the class gets no chunk of this task for a minute. It would only return it.
function lib.chunk_outcomes.unknown(ref, chunk, end_)
  local task = lib.split_ref(ref)
  local since = lib.unknown_since(chunk)
  if now - since > ctx.RULES.unknown_after then return lib.finish_chunk(ref, chunk, 'failed', 'y', end_.value) end
  if chunk[F.worker] and lib.lane_conf('#' .. task).state then
    lib.safe_call('SADD', lib.chunk_set(task, 'unable'), chunk[F.worker]); lib.safe_call('EXPIRE', lib.chunk_set(task, 'unable'), 60)
    lib.safe_call('HSET', TASK .. task, F.unable_workers, 1)
    lib.lane_conf('#' .. task).unable = '1'
    local name = lib.lane_conf('#' .. task).name
    if not (lib.note_unable(chunk[F.worker], name) and lib.find_knower(name)) then lib.count_minute('unknown|' .. name, 1) end
  end
  lib.delay_chunk(ref, chunk, max(100, end_.delay), 'y', end_.value, 'uk', lib.text(since))
end

-- Ends a second run. If it succeeded, the first run ends too; otherwise nothing changes.
function lib.end_twin(ref, outcome, value)
  local task, number = lib.split_ref(ref)
  local one = task .. '#' .. number
  local chunk, twin = lib.read_chunk(one), lib.read_chunk(ref)
  lib.drop_twin(task, number, true)
  if not chunk or chunk[F.state] == 'done' or chunk[F.state] == 'failed' then return end
  lib.log_line(one, { k = 'second run', worker = twin[F.worker], begun = lib.number_of(twin[F.begun]), text = outcome })
  if outcome ~= 'success' then return end
  if chunk[F.state] == 'active' then lib.tell_worker(chunk[F.worker], one) end
  chunk[F.has_second_run] = nil
  lib.finish_chunk(one, chunk, 'done', 'f', twin[F.fence], 'w', twin[F.worker] or '', 'b', twin[F.begun] or NOW, 're', value)
end

function lib.hooks.parts.settle(ref, fence, outcome, end_)
  local row = lib.named_fields(TASK .. ref, F.state, F.fence, F.worker, F.has_second_run, F.begun)
  if not row or not row[F.state] then return 'GONE' end
  if row[F.fence] ~= fence then return 'STALE' end
  if row[F.state] ~= 'active' then return 'REPEAT' end
  local task, number, twin = lib.split_ref(ref)
  if not task then return 'GONE' end
  if outcome == 'success' then lib.note_run(task, number, row[F.begun]) end
  if twin then
    lib.end_twin(ref, outcome, end_.value)
  elseif outcome == 'success' then
    lib.finish_chunk(ref, { s = 'active', w = row[F.worker], tw = row[F.has_second_run] }, 'done', 're', end_.value)
  else
    lib.chunk_outcomes[outcome](ref, lib.read_chunk(ref), end_)
  end
  return 'OK'
end

-- Releases a chunk without the cost of an attempt. A second run is removed.
function lib.hooks.parts.release(ref)
  local task, number, twin = lib.split_ref(ref)
  if twin then return lib.drop_twin(task, number, true) end
  lib.chunk_outcomes.release(ref, lib.read_chunk(ref))
end
