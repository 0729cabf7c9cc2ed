-- Outcomes of a lease: one function per outcome, in one table. Each gets the record as read before any write.
--@needs end_effects expiry generations lanes limits minute_counts records rules store_helpers task_end transitions
--@needs unknown_names

function lib.leave_lease(id, record, state)
  lib.free_slot(record[F.lane] or 'default', id)
  lib.end_turn(id, record)
  lib.move(id, record[F.state], state, record[F.name], record[F.kind], record[F.lane])
end

function lib.finish(id, record, state, ...)
  local fail_instead = state == 'failed' and (lib.hooks.settle[record[F.kind]] or NONE).fail_instead
  if fail_instead and fail_instead(id, record, ...) then return end
  lib.leave_lease(id, record, state)
  call('HSET', lib.task_key(id), F.state, state, F.ended, NOW, ...)
  lib.schedule(id, now + (lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. state]))
  local end_parts = (lib.hooks.ending[record[F.kind]] or NONE).end_parts
  if end_parts then end_parts(id, record) end
  lib.tell_end(id, record, state)
  if record[F.next] then lib.start_next(id) end
end

local function ends_instead(id, record)
  local end_instead = (lib.hooks.settle[record[F.kind]] or NONE).end_instead
  return end_instead and end_instead(id, record)
end

local function delay(id, record, state, ms, ...)
  if ends_instead(id, record) then return end
  lib.leave_lease(id, record, state)
  call('HSET', lib.task_key(id), F.state, state, F.due, lib.text(now + ms), ...)
  lib.schedule(id, now + ms)
end

local function make_ready(id, record, number, ...)
  if ends_instead(id, record) then return end
  lib.leave_lease(id, record, 'pending')
  lib.unschedule(id)
  call('HSET', lib.task_key(id), F.state, 'pending', ...)
  lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], number, record)
end

local function log_end(id, record, line)
  line.phase, line.begun, line.worker = record[F.phase], lib.number_of(record[F.begun]), record[F.worker]
  lib.log_line(id, line)
end

-- The task ran, so a worker knows its name.
local function forget_unknown(id, record)
  if record[F.unknown_since] then call('HDEL', lib.task_key(id), F.unknown_since) end
end

lib.outcomes = {}

function lib.outcomes.cancel(id, record, end_) lib.finish(id, record, 'cancelled', 'y', end_.value) end

function lib.outcomes.error(id, record, end_)
  local attempts = (lib.number_of(record[F.attempt]) or 0) + 1
  if not record[F.cancel_requested] then lib.note_error(id, record, end_) end
  lib.forget_error(id, record)
  forget_unknown(id, record)
  log_end(id, record, { k = 'error', attempt = attempts, error = end_.value })
  if record[F.cancel_requested] then -- a cancelled task has no failed attempt, whatever it raised: its worker may not have known yet
    return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested])
  end
  local ends = { 'at', attempts, 'er', end_.value, 'ef', end_.fingerprint }
  if end_.delay < 0 or attempts > (lib.number_of(record[F.retries]) or 0) then
    lib.list_failed(id, end_.fingerprint)
    lib.finish(id, record, 'failed', unpack(ends))
  else
    delay(id, record, 'restart', end_.delay, unpack(ends))
  end
end
lib.outcomes.timeout = lib.outcomes.error

function lib.outcomes.crash(id, record, end_)
  local crashes = (lib.number_of(record[F.crashes]) or 0) + (lib.counts(end_) and 1 or 0)
  forget_unknown(id, record)
  log_end(id, record, { k = 'crash', crash = crashes, text = end_.value })
  lib.count_minute('lost|' .. record[F.name], 1)
  if lib.counts(end_) and crashes >= min(2, ctx.RULES.max_crashes) then lib.count_minute('kill|' .. record[F.name], 1) end
  if record[F.cancel_requested] then
    lib.finish(id, record, 'cancelled', 'cr', crashes, 'y', record[F.cancel_requested])
  elseif crashes >= ctx.RULES.max_crashes then
    local reason = 'lost its worker ' .. crashes .. ' times: ' .. end_.value
    call('HDEL', lib.task_key(id), F.error) -- of an earlier attempt: it is not why the task failed
    record.crashed = true
    lib.finish(id, record, 'failed', 'cr', crashes, 'y', reason, 'ef', lib.note_lost(id, record, reason))
  else
    delay(id, record, 'restart', lib.spread_out(lib.number_of(record[F.uid]) or 0, crashes, end_), 'cr', crashes, 'y', end_.value)
  end
end

function lib.outcomes.restart(id, record, end_)
  local attempts = (lib.number_of(record[F.attempt]) or 0) + (end_.counted and 1 or 0)
  if record[F.cancel_requested] then return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested]) end
  if end_.counted and attempts > (lib.number_of(record[F.retries]) or 0) then
    log_end(id, record, { k = 'restart', attempt = attempts, text = end_.value })
    lib.forget_error(id, record)
    call('HDEL', lib.task_key(id), F.error, F.fingerprint) -- of an earlier attempt
    return lib.finish(id, record, 'failed', 'at', attempts, 'y', 'restarted itself more often than its retries allow')
  end
  forget_unknown(id, record)
  lib.log_line(id, { k = 'restart', attempt = end_.counted and attempts or nil, begun = lib.number_of(record[F.begun]),
    worker = record[F.worker],
    text = end_.value })
  delay(id, record, 'postponed', max(0, end_.delay), 'at', attempts)
end

-- Without `end_`, and with a delay below 0, the task was not started.
function lib.outcomes.release(id, record, end_)
  if record[F.expires] and (not end_ or end_.delay < 0) then lib.unbegin(id, record) end
  if record[F.cancel_requested] then return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested]) end
  make_ready(id, record, 0) -- 0: before all others of its priority, for it had its turn
end

function lib.outcomes.unknown(id, record, end_)
  if record[F.expires] then lib.unbegin(id, record) end
  if record[F.cancel_requested] then return lib.finish(id, record, 'cancelled', 'y', record[F.cancel_requested]) end
  local since = lib.unknown_since(record)
  local known = record[F.worker] and lib.note_unable(record[F.worker], record[F.name]) and lib.find_knower(record[F.name])
  if known and not record[F.unknown_since] then return make_ready(id, record, 0, 'y', end_.value, 'uk', lib.text(since)) end
  if not known then lib.count_minute('unknown|' .. record[F.name], 1) end -- for the alarm: the push may be long ago
  local unknown_instead = not known and (lib.hooks.settle[record[F.kind]] or NONE).unknown_instead
  if unknown_instead and unknown_instead(id, record, end_.value) then return end
  if not known and now - since > ctx.RULES.unknown_after then return lib.quarantine(id, record[F.state], record, end_.value) end
  delay(id, record, 'postponed', max(100, end_.delay), 'y', end_.value, 'uk', lib.text(since))
end

function lib.outcomes.quarantine(id, record, end_) lib.quarantine(id, record[F.state], record, end_.value) end
