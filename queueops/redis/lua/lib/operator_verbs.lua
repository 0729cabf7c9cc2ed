-- Actions of an operator on a task, by verb. Each function gets the record and returns the new state ('' = gone).
--@needs cancel end_effects follow_ups lanes numbers outcomes records store_helpers transitions trash value_starts wakeup

lib.operator_verbs = {}
-- Makes a task ready. Its earlier due time no longer counts.
local function to_pending(id, record, ...)
  local number = lib.next_number()
  if record[F.due] then call('HDEL', lib.task_key(id), F.due) end
  lib.move(id, record[F.state], 'pending', record[F.name], record[F.kind], record[F.lane])
  lib.leave_place(id, record)
  call('HSET', lib.task_key(id), F.state, 'pending', F.fence, number, ...)
  lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], number, record)
  return 'pending'
end

local function start_over(id, record)
  if (lib.hooks.retry[record[F.kind]] or NONE).start_over then (lib.hooks.retry[record[F.kind]] or NONE).start_over(id) end
end

-- Runs a task again, as a new generation of its id, unless its kind goes on with it. A task in back-off runs now and keeps
-- its attempts.
function lib.operator_verbs.retry(id, record, arguments)
  local everything = arguments == 'all'
  local resume, go_on = (lib.hooks.retry[record[F.kind]] or NONE).resume, (lib.hooks.retry[record[F.kind]] or NONE).go_on
  local state, detail
  if resume then state, detail = resume(id, record, everything) end
  if state then return state, detail end
  if everything then arguments = ''; start_over(id, record) end
  if arguments ~= '' then lib.operator_verbs.edit(id, record, arguments) end
  if not TERMINAL[record[F.state]] then return to_pending(id, record) end
  if go_on then state, detail = go_on(id, record, arguments, everything) end
  if state then return state, detail end
  lib.forget_error(id, record)
  call('HDEL', lib.task_key(id), F.result, F.error, F.fingerprint, F.reason, F.ended, F.cancel_requested, F.cancelled_hard, F.attempt,
    F.crashes, F.due, F.unknown_since, F.expires)
  local forget_run, reset = (lib.hooks.retry[record[F.kind]] or NONE).forget_run, (lib.hooks.retry[record[F.kind]] or NONE).reset
  if forget_run then forget_run(id, record) end
  if detail then return to_pending(id, record), detail end
  call('HDEL', lib.task_key(id), F.progress)
  if reset then reset(id, record) end
  return to_pending(id, record, 'u', lib.next_number(), 'uo', record[F.pushed_uid] or record[F.uid] or 0)
end

-- Whether a task has parts or chunks already. Such a task cannot return to its earlier wait, because they ended with it.
local function is_laid_out(record)
  local asks = (lib.hooks.retry[record[F.kind]] or NONE).is_laid_out
  return asks and asks(record)
end

function lib.refusal_of_reinstate(record)
  if is_laid_out(record) and (lib.number_of(record[F.due]) or 0) > now then
    return 'what it is made of was cancelled with it, and cannot wait until it is due: retry it, and it begins now'
  end
end

-- Takes a cancel back. The task returns to its lane, or waits for its due time, and keeps its attempts.
function lib.operator_verbs.reinstate(id, record)
  if is_laid_out(record) then return lib.operator_verbs.retry(id, record, '') end
  call('HDEL', lib.task_key(id), F.reason, F.ended, F.cancel_requested, F.cancelled_hard, F.unknown_since, F.expires)
  call('HSET', lib.task_key(id), F.uid, lib.next_number(), F.pushed_uid, record[F.pushed_uid] or record[F.uid] or 0)
  if (lib.number_of(record[F.due]) or 0) > now then return lib.operator_verbs.postpone(id, record, record[F.due]) end
  return to_pending(id, record)
end

function lib.operator_verbs.run_now(id, record)
  local promote = (lib.hooks.claim[record[F.kind]] or NONE).promote
  if promote then call('HDEL', lib.task_key(id), F.due) end
  return promote and promote(id, record) and 'idle' or to_pending(id, record)
end

function lib.operator_verbs.requeue(id, record)
  call('HDEL', lib.task_key(id), F.reason, F.cancel_requested, F.cancelled_hard, F.unknown_since)
  return to_pending(id, record)
end

function lib.operator_verbs.release(id, record)
  local fails = (lib.hooks.settle[record[F.kind]] or NONE).fails_at_release
  if not (record[F.cancel_requested] or fails and fails(record)) then return to_pending(id, record) end
  call('HSET', lib.task_key(id), F.fence, lib.next_number()) -- the worker's lease ends here
  lib.outcomes.release(id, record, { delay = 0 }) -- it was to be cancelled, or to fail, anyway
  return record[F.cancel_requested] and 'cancelled' or 'failed'
end

-- `due` is a time in epoch ms, or a number of ms from now after a `+`.
function lib.operator_verbs.postpone(id, record, due)
  if string.sub(due, 1, 1) == '+' then due = lib.text(now + tonumber(due)) end
  lib.move(id, record[F.state], 'postponed', record[F.name], record[F.kind], record[F.lane])
  lib.leave_place(id, record)
  call('HSET', lib.task_key(id), F.state, 'postponed', F.due, due)
  lib.schedule(id, tonumber(due))
  return 'postponed'
end

function lib.operator_verbs.cancel(id, record, reason, how)
  local hard = how == 'hard'
  if LEASED[record[F.state]] then
    if record[F.parent_id] then lib.hooks.tree.stop(id) end
    call('HSET', lib.task_key(id), F.cancel_requested, reason ~= '' and reason or 'cancelled by an operator')
    lib.harden(id, hard or record[F.cancel_requested] and record[F.cancelled_hard])
    lib.tell_worker(record[F.worker], id)
    return record[F.state], hard and 'told the worker to interrupt it' or 'asked the worker to stop it'
  end
  lib.cancel(id, record, reason, hard)
  return 'cancelled'
end

function lib.operator_verbs.edit(id, record, arguments)
  lib.log_line(id, { k = 'edit', was = lib.start_of(record[F.args] or '', 20000) })
  start_over(id, record)
  if arguments == '-' then call('HDEL', lib.task_key(id), F.args) else call('HSET', lib.task_key(id), 'a', arguments) end
  return record[F.state]
end

function lib.operator_verbs.priority(id, record, priority)
  call('HSET', lib.task_key(id), F.priority, priority)
  if record[F.state] == 'pending' then
    lib.leave_lane_or_lease(id, record)
    lib.enter_lane(record[F.lane] or 'default', id, priority, lib.next_number(), record)
  end
  return record[F.state]
end

function lib.operator_verbs.move(id, record, lane)
  lib.count_in_lane(record[F.lane], record[F.state], -1)
  lib.count_in_lane(lane, record[F.state], 1)
  if record[F.state] == 'pending' then
    lib.leave_lane_or_lease(id, record)
    lib.enter_lane(lane, id, record[F.priority], lib.next_number(), record)
  end
  call('HSET', lib.task_key(id), F.lane, lane)
  lib.safe_call('ZADD', P .. ':lanes', 'NX', NOW, lane)
  return record[F.state]
end

function lib.operator_verbs.keep(id, record, ms)
  call('HSET', lib.task_key(id), F.keep, ms)
  lib.schedule(id, now + tonumber(ms))
  return record[F.state]
end

-- Moves a task to the trash, from which an operator can restore it for a while.
function lib.operator_verbs.delete(id, record, _, keep) return lib.throw_away(id, record, keep) end

function lib.operator_verbs.discard(id, record)
  local reason = lib.follow_end(id, record, 'discarded')
  if record[F.parent_id] then
    call('HSET', lib.task_key(id), F.reason, 'it was discarded')
    lib.hooks.tree.note_end(id, record[F.parent_id], 'failed')
  end
  lib.erase(id, record)
  return '', reason and 'its follow-up could not be pushed: ' .. lib.shortened(reason, 500)
end
