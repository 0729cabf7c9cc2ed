-- Actions of an operator on a task, by verb. Each function gets the record and returns the new state ('' = gone).
--@needs cancel end_effects follow_ups lanes numbers outcomes records store_helpers transitions trash wakeup

lib.operator_verbs = {}

-- Makes a task ready. Its earlier due time no longer counts.
local function to_pending(id, record, ...)
  local number = lib.next_number()
  if record.d then call('HDEL', lib.task_key(id), 'd') end
  lib.move(id, record.s, 'pending', record.n, record.k, record.l)
  lib.leave_place(id, record)
  call('HSET', lib.task_key(id), 's', 'pending', 'f', number, ...)
  lib.enter_lane(record.l or 'default', id, record.p, number)
  return 'pending'
end

local function start_over(id, record)
  if (lib.hooks.retry[record.k] or NONE).start_over then (lib.hooks.retry[record.k] or NONE).start_over(id) end
end

-- Runs a task again, as a new generation of its id, unless its kind goes on with it. A task in back-off runs now and keeps
-- its attempts.
function lib.operator_verbs.retry(id, record, arguments)
  local everything = arguments == 'all'
  local resume, go_on = (lib.hooks.retry[record.k] or NONE).resume, (lib.hooks.retry[record.k] or NONE).go_on
  local state, detail
  if resume then state, detail = resume(id, record, everything) end
  if state then return state, detail end
  if everything then arguments = ''; start_over(id, record) end
  if arguments ~= '' then lib.operator_verbs.edit(id, record, arguments) end
  if not TERMINAL[record.s] then return to_pending(id, record) end
  if go_on then state, detail = go_on(id, record, arguments, everything) end
  if state then return state, detail end
  lib.forget_error(id, record)
  call('HDEL', lib.task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'at', 'cr', 'd', 'uk')
  local forget_run, reset = (lib.hooks.retry[record.k] or NONE).forget_run, (lib.hooks.retry[record.k] or NONE).reset
  if forget_run then forget_run(id, record) end
  if detail then return to_pending(id, record), detail end
  call('HDEL', lib.task_key(id), 'pr')
  if reset then reset(id, record) end
  return to_pending(id, record, 'u', lib.next_number(), 'uo', record.uo or record.u or 0)
end

-- Whether a task has parts or chunks already. Such a task cannot return to its earlier wait, because they ended with it.
local function is_laid_out(record)
  local asks = (lib.hooks.retry[record.k] or NONE).is_laid_out
  return asks and asks(record)
end

function lib.refusal_of_reinstate(record)
  if is_laid_out(record) and (lib.number_of(record.d) or 0) > now then
    return 'what it is made of was cancelled with it, and cannot wait until it is due: retry it, and it begins now'
  end
end

-- Takes a cancel back. The task returns to its lane, or waits for its due time, and keeps its attempts.
function lib.operator_verbs.reinstate(id, record)
  if is_laid_out(record) then return lib.operator_verbs.retry(id, record, '') end
  call('HDEL', lib.task_key(id), 'y', 'e', 'x', 'xh', 'uk')
  call('HSET', lib.task_key(id), 'u', lib.next_number(), 'uo', record.uo or record.u or 0)
  if (lib.number_of(record.d) or 0) > now then return lib.operator_verbs.postpone(id, record, record.d) end
  return to_pending(id, record)
end

function lib.operator_verbs.run_now(id, record)
  local promote = (lib.hooks.claim[record.k] or NONE).promote
  if promote then call('HDEL', lib.task_key(id), 'd') end
  return promote and promote(id, record) and 'idle' or to_pending(id, record)
end

function lib.operator_verbs.requeue(id, record)
  call('HDEL', lib.task_key(id), 'y', 'x', 'xh', 'uk')
  return to_pending(id, record)
end

function lib.operator_verbs.release(id, record)
  local fails = (lib.hooks.settle[record.k] or NONE).fails_at_release
  if not (record.x or fails and fails(record)) then return to_pending(id, record) end
  call('HSET', lib.task_key(id), 'f', lib.next_number()) -- the worker's lease ends here
  lib.outcomes.release(id, record) -- it was to be cancelled, or to fail, anyway
  return record.x and 'cancelled' or 'failed'
end

-- `due` is a time in epoch ms, or a number of ms from now after a `+`.
function lib.operator_verbs.postpone(id, record, due)
  if string.sub(due, 1, 1) == '+' then due = lib.text(now + tonumber(due)) end
  lib.move(id, record.s, 'postponed', record.n, record.k, record.l)
  lib.leave_place(id, record)
  call('HSET', lib.task_key(id), 's', 'postponed', 'd', due)
  lib.schedule(id, tonumber(due))
  return 'postponed'
end

function lib.operator_verbs.cancel(id, record, reason, how)
  local hard = how == 'hard'
  if LEASED[record.s] then
    if record.pi then lib.hooks.tree.stop(id) end
    call('HSET', lib.task_key(id), 'x', reason ~= '' and reason or 'cancelled by an operator')
    lib.harden(id, hard or record.x and record.xh)
    lib.tell_worker(record.w, id)
    return record.s, hard and 'told the worker to interrupt it' or 'asked the worker to stop it'
  end
  lib.cancel(id, record, reason, hard)
  return 'cancelled'
end

function lib.operator_verbs.edit(id, record, arguments)
  lib.log_line(id, { k = 'edit', was = string.sub(record.a or '', 1, 20000) })
  start_over(id, record)
  if arguments == '-' then call('HDEL', lib.task_key(id), 'a') else call('HSET', lib.task_key(id), 'a', arguments) end
  return record.s
end

function lib.operator_verbs.priority(id, record, priority)
  call('HSET', lib.task_key(id), 'p', priority)
  if record.s == 'pending' then
    lib.leave_lane(record.l or 'default', id, record.n)
    lib.enter_lane(record.l or 'default', id, priority, lib.next_number())
  end
  return record.s
end

function lib.operator_verbs.move(id, record, lane)
  lib.count_in_lane(record.l, record.s, -1)
  lib.count_in_lane(lane, record.s, 1)
  if record.s == 'pending' then
    lib.leave_lane(record.l or 'default', id, record.n)
    lib.enter_lane(lane, id, record.p, lib.next_number())
  end
  call('HSET', lib.task_key(id), 'l', lane)
  lib.safe_call('ZADD', P .. ':lanes', 'NX', NOW, lane)
  return record.s
end

function lib.operator_verbs.keep(id, record, ms)
  call('HSET', lib.task_key(id), 'kp', ms)
  lib.schedule(id, now + tonumber(ms))
  return record.s
end

-- Moves a task to the trash, from which an operator can restore it for a while.
function lib.operator_verbs.delete(id, record, _, keep) return lib.throw_away(id, record, keep) end

function lib.operator_verbs.discard(id, record)
  local reason = lib.follow_end(id, record, 'discarded')
  if record.pi then
    call('HSET', lib.task_key(id), 'y', 'it was discarded')
    lib.hooks.tree.note_end(id, record.pi, 'failed')
  end
  lib.erase(id, record)
  return '', reason and 'its follow-up could not be pushed: ' .. lib.shortened(reason, 500)
end
