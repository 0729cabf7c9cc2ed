-- The end of a chunk's lease: one function per outcome, as for tasks (settle.lua).
local function delay_chunk(ref, chunk, ms, ...)
  local task, number = split_ref(ref)
  safe_call('HSET', TASK .. ref, 's', 'errored', 'd', text(now + ms), ...)
  move_chunk(task, number, chunk, 'errored', text(now + ms))
  schedule(ref, now + ms)
end

local function make_chunk_pending(ref, chunk, ...)
  local task, number = split_ref(ref)
  safe_call('HSET', TASK .. ref, 's', 'pending', 'q', NOW, ...)
  unschedule(ref)
  move_chunk(task, number, chunk, 'pending', number)
end

local chunk_outcomes = {}

local function try_chunk_again(ref, chunk, end_, attempts, ...)
  local retries = lane_conf('#' .. split_ref(ref)).retries
  if end_.delay < 0 or attempts > (number_of(retries) or 0) then
    finish_chunk(ref, chunk, 'failed', 'at', attempts, ...)
  else
    delay_chunk(ref, chunk, end_.delay, 'at', attempts, ...)
  end
end

function chunk_outcomes.error(ref, chunk, end_)
  local task = split_ref(ref)
  if lane_conf('#' .. task).state == 'cancelled' then
    return make_chunk_pending(ref, chunk) -- whatever it raised: its worker may not have known yet
  end
  local attempts = (number_of(chunk.at) or 0) + 1
  note_error(task, { n = lane_conf('#' .. task).name }, end_)
  log_line(ref, { k = 'error', attempt = attempts, begun = number_of(chunk.b), worker = chunk.w, error = end_.value })
  if chunk.uk then safe_call('HDEL', TASK .. ref, 'uk') end
  try_chunk_again(ref, chunk, end_, attempts, 'er', end_.value, 'ef', end_.fingerprint)
end
chunk_outcomes.timeout = chunk_outcomes.error

function chunk_outcomes.crash(ref, chunk, end_)
  local crashes = (number_of(chunk.cr) or 0) + (counts(end_) and 1 or 0)
  log_line(ref, { k = 'crash', crash = crashes, begun = number_of(chunk.b), worker = chunk.w, text = end_.value })
  if crashes >= RULES.max_crashes then
    finish_chunk(ref, chunk, 'failed', 'cr', crashes, 'y', 'lost its worker ' .. crashes .. ' times: ' .. end_.value)
  else
    local _, number = split_ref(ref)
    delay_chunk(ref, chunk, spread_out(tonumber(number), crashes, end_), 'cr', crashes, 'y', end_.value)
  end
end

-- Ends a cancelled chunk. It failed, unless its task has ended: then it is pending again, for a retry of the task.
function chunk_outcomes.cancel(ref, chunk, end_)
  if lane_conf('#' .. split_ref(ref)).state == 'aggregating' then return finish_chunk(ref, chunk, 'failed', 'y', end_.value) end
  make_chunk_pending(ref, chunk)
end

function chunk_outcomes.quarantine(ref, chunk, end_) finish_chunk(ref, chunk, 'failed', 'y', end_.value) end

function chunk_outcomes.release(ref, chunk) make_chunk_pending(ref, chunk) end

function chunk_outcomes.restart(ref, chunk, end_)
  if chunk.uk then safe_call('HDEL', TASK .. ref, 'uk') end
  if not end_.counted then return delay_chunk(ref, chunk, max(0, end_.delay)) end
  local attempts = (number_of(chunk.at) or 0) + 1
  try_chunk_again(ref, chunk, { delay = max(0, end_.delay) }, attempts, 'y', 'restarted itself')
end

-- A worker that does not know the class gets no chunk of this task for a minute. It would only return it.
function chunk_outcomes.unknown(ref, chunk, end_)
  local task = split_ref(ref)
  local since = unknown_since(chunk)
  if now - since > RULES.unknown_after then return finish_chunk(ref, chunk, 'failed', 'y', end_.value) end
  if chunk.w and lane_conf('#' .. task).state then
    safe_call('SADD', chunk_set(task, 'unable'), chunk.w); safe_call('EXPIRE', chunk_set(task, 'unable'), 60)
    safe_call('HSET', TASK .. task, 'un', 1)
    lane_conf('#' .. task).unable = '1'
  end
  delay_chunk(ref, chunk, max(100, end_.delay), 'y', end_.value, 'uk', text(since))
end

-- Ends a second run. If it succeeded, the first run ends too; otherwise nothing changes.
local function end_twin(ref, outcome, value)
  local task, number = split_ref(ref)
  local one = task .. '#' .. number
  local chunk, twin = read_chunk(one), read_chunk(ref)
  drop_twin(task, number, true)
  if not chunk or chunk.s == 'done' or chunk.s == 'failed' then return end
  log_line(one, { k = 'second run', worker = twin.w, begun = number_of(twin.b), text = outcome })
  if outcome ~= 'success' then return end
  if chunk.s == 'active' then tell_worker(chunk.w, one) end
  chunk.tw = nil
  finish_chunk(one, chunk, 'done', 'f', twin.f, 'w', twin.w or '', 'b', twin.b or NOW, 're', value)
end

local function settle_chunk(ref, fence, outcome, end_)
  local row = fields_of(TASK .. ref, 's', 'f', 'w', 'tw', 'b')
  if not row or not row[1] then return 'GONE' end
  if row[2] ~= fence then return 'STALE' end
  if row[1] ~= 'active' then return 'REPEAT' end
  local task, number, twin = split_ref(ref)
  if not task then return 'GONE' end
  if outcome == 'success' then note_run(task, number, row[5]) end
  if twin then
    end_twin(ref, outcome, end_.value)
  elseif outcome == 'success' then
    finish_chunk(ref, { s = 'active', w = row[3], tw = row[4] }, 'done', 're', end_.value)
  else
    chunk_outcomes[outcome](ref, read_chunk(ref), end_)
  end
  return 'OK'
end

-- Releases a chunk without the cost of an attempt. A second run is removed.
local function release_chunk(ref)
  local task, number, twin = split_ref(ref)
  if twin then return drop_twin(task, number, true) end
  chunk_outcomes.release(ref, read_chunk(ref))
end
