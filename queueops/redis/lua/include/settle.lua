-- The end of a lease: one function per outcome, one table that names them. RULES are the pool's numbers, in ms. Each gets
-- the record as read before any write. settle() checks the fence, and refuses a stale settlement.
local function leave_lease(id, record, state)
  free_slot(record.l or 'default', id)
  move(id, record.s, state, record.n, record.k)
end

local function finish(id, record, state, ...)
  leave_lease(id, record, state)
  call('HSET', task_key(id), 's', state, 'e', NOW, ...)
  schedule(id, now + (number_of(record.kp) or RULES['keep_' .. state]))
  if is_parent(record) then flush(); flush_lanes(); family.cancel_children(id) end -- one of them may have moved in this very call
  tell_end(id, record, state)
  if record.nx then start_next(id) end
end

local function delay(id, record, state, ms, ...)
  if family.fails_with_task(id, record) then return end
  leave_lease(id, record, state)
  call('HSET', task_key(id), 's', state, 'd', text(now + ms), ...)
  schedule(id, now + ms)
end

local function make_ready(id, record, number, ...)
  if family.fails_with_task(id, record) then return end
  leave_lease(id, record, 'pending')
  unschedule(id)
  call('HSET', task_key(id), 's', 'pending', ...)
  enter_lane(record.l or 'default', id, record.p, number)
end

-- The task ran, so a worker knows its name.
local function forget_unknown(id, record)
  if record.uk then call('HDEL', task_key(id), 'uk') end
end

local outcomes = {}

function outcomes.cancel(id, record, end_) finish(id, record, 'cancelled', 'y', end_.value) end

function outcomes.error(id, record, end_)
  local attempts = (number_of(record.at) or 0) + 1
  if not record.x then note_error(id, record, end_) end
  forget_error(id, record)
  forget_unknown(id, record)
  log_line(id, { k = 'error', attempt = attempts, phase = record.ph, begun = number_of(record.b), worker = record.w, error = end_.value })
  if record.x then -- a cancelled task has no failed attempt, whatever it raised: its worker may not have known yet
    return finish(id, record, 'cancelled', 'y', record.x)
  end
  local ends = { 'at', attempts, 'er', end_.value, 'ef', end_.fingerprint }
  if end_.delay < 0 or attempts > (number_of(record.r) or 0) then
    list_failed(id, end_.fingerprint)
    finish(id, record, 'failed', unpack(ends))
  else
    delay(id, record, 'restart', end_.delay, unpack(ends))
  end
end
outcomes.timeout = outcomes.error

function outcomes.crash(id, record, end_)
  local crashes = (number_of(record.cr) or 0) + (counts(end_) and 1 or 0)
  log_line(id, { k = 'crash', crash = crashes, phase = record.ph, begun = number_of(record.b), worker = record.w, text = end_.value })
  if record.x then
    finish(id, record, 'cancelled', 'cr', crashes, 'y', record.x)
  elseif crashes >= RULES.max_crashes then
    local reason = 'lost its worker ' .. crashes .. ' times: ' .. end_.value
    finish(id, record, 'failed', 'cr', crashes, 'y', reason, 'ef', note_lost(id, record, reason))
  else
    delay(id, record, 'restart', spread_out(number_of(record.u) or 0, crashes, end_), 'cr', crashes, 'y', end_.value)
  end
end

function outcomes.restart(id, record, end_)
  local attempts = (number_of(record.at) or 0) + (end_.counted and 1 or 0)
  if record.x then return finish(id, record, 'cancelled', 'y', record.x) end
  if end_.counted and attempts > (number_of(record.r) or 0) then
    return finish(id, record, 'failed', 'at', attempts, 'y', 'restarted itself more often than its retries allow')
  end
  forget_unknown(id, record)
  log_line(id, { k = 'restart', attempt = end_.counted and attempts or nil, begun = number_of(record.b), worker = record.w,
    text = end_.value })
  delay(id, record, 'postponed', max(0, end_.delay), 'at', attempts)
end

function outcomes.release(id, record, end_)
  if record.x then return finish(id, record, 'cancelled', 'y', record.x) end
  make_ready(id, record, 0) -- 0: before all others of its priority, for it had its turn
end

function outcomes.unknown(id, record, end_)
  if record.x then return finish(id, record, 'cancelled', 'y', record.x) end
  local since = unknown_since(record)
  local known = record.w and note_unable(record.w, record.n) and find_knower(record.n)
  if known and not record.uk then return make_ready(id, record, 0, 'y', end_.value, 'uk', text(since)) end
  if not known and now - since > RULES.unknown_after then return quarantine(id, record.s, record, end_.value) end
  delay(id, record, 'postponed', max(100, end_.delay), 'y', end_.value, 'uk', text(since))
end

function outcomes.quarantine(id, record, end_) quarantine(id, record.s, record, end_.value) end

-- The map has ended, with `count` chunks. Without chunks the reduce comes at once.
local function settle_map(id, record, count)
  if record.x then return finish(id, record, 'cancelled', 'y', record.x) end
  leave_lease(id, record, 'aggregating'); unschedule(id)
  call('HSET', task_key(id), 's', 'aggregating', 'cn', count, 'to', count, 'pr', 0, 'at', 0, 'cr', 0)
  if record.pi then family.weigh(id) end
  call('HDEL', task_key(id), 'mw'); call('UNLINK', chunk_set(id, 'stages'))
  log_line(id, { k = 'mapped', begun = number_of(record.b), worker = record.w, text = count .. ' chunks' })
  flush(); turn_lane(id)
  chunk_gain['#' .. id] = tonumber(count)
  gathering[id] = false
end

local function settle_success(id, row, position)
  local record = { s = row[1], n = row[3] or '?' }
  if row[4] then read_more(id, record) end
  if record.s == 'mapping' then
    settle_map(id, read_record(id), ARGV[position + 4])
  elseif record.k == 'iterator' or record.ex then
    if record.ex then family.settle_expansion(id, read_record(id)) else family.settle_iterator(id, read_record(id)) end
  else
    if record.to then call('HSET', task_key(id), 'pr', record.to) end -- what has succeeded stands at its total
    finish(id, record, 'succeeded', 're', ARGV[position + 4])
  end
end

local function end_at(position)
  if ARGV[position + 3] == 'success' then return { value = ARGV[position + 4] } end
  return { value = ARGV[position + 4], delay = tonumber(ARGV[position + 5]), fingerprint = ARGV[position + 6],
    title = ARGV[position + 7], counted = ARGV[position + 8] == '1' }
end

-- Settles one lease. Returns OK, REPEAT (the same settlement came before), STALE or GONE. The arguments stand in ARGV
-- behind `position`: id, fence, outcome, value, and for all but a success delay ms, fingerprint, title, counted.
local function settle(position)
  local id, outcome = ARGV[position + 1], ARGV[position + 3]
  if is_chunk(id) then return settle_chunk(id, ARGV[position + 2], outcome, end_at(position)) end
  local row = fields_of(task_key(id), 's', 'f', 'n', 'm')
  if not row or not row[1] then return 'GONE' end
  if row[2] ~= ARGV[position + 2] then return 'STALE' end
  if not LEASED[row[1]] then return 'REPEAT' end
  if outcome == 'success' then
    settle_success(id, row, position)
  else
    local record = read_record(id)
    if not record then return 'GONE' end
    outcomes[outcome](id, record, end_at(position))
  end
  return 'OK'
end
