-- Retry of a map-reduce task that has ended, or waits for its reduce, by an operator.
--@needs abandon_chunks chunk_bulk_verbs chunk_sets lanes numbers phases records store_helpers
--@needs transitions

lib.RESTING = { pending = true, postponed = true, restart = true }

-- Whether an operator may change the chunks: all exist, and the task waits for them or has finished with them.
function lib.may_reopen(parent)
  if not (parent.ch and parent.cn) then return false end
  if TERMINAL[parent.s] then return not lib.hooks.tree.refuse(parent) end
  return parent.s == 'aggregating' or (parent.ph and lib.RESTING[parent.s])
end

function lib.leave_stage(task, parent)
  if parent.s == 'pending' then lib.leave_lane(parent.l or 'default', task, parent.n) end
  lib.unschedule(task)
  lib.forget_error(task, parent)
  lib.safe_call('HDEL', lib.task_key(task), 're', 'er', 'ef', 'y', 'e', 'x', 'xh', 'd', 'uk')
  lib.safe_call('HSET', lib.task_key(task), 'at', 0, 'cr', 0, 'f', lib.next_number())
  if TERMINAL[parent.s] then lib.safe_call('HSET', lib.task_key(task), 'u', lib.next_number(), 'uo', parent.uo or parent.u or 0) end
end

function lib.reopen(task, parent)
  if parent.s == 'aggregating' then return end
  lib.leave_stage(task, parent)
  lib.move(task, parent.s, 'aggregating', parent.n, parent.k, parent.l)
  lib.safe_call('HSET', lib.task_key(task), 's', 'aggregating', 'to', parent.cn)
  lib.safe_call('HDEL', lib.task_key(task), 'rd', 'ph')
  parent.s = 'aggregating'
  lib.turn_lane(task)
  ctx.gathering[task] = ctx.gathering[task] or false
end

function lib.reduce_again(task, parent)
  lib.leave_stage(task, parent)
  lib.safe_call('HDEL', lib.task_key(task), 'rd')
  lib.to_reduce(task, parent)
end

-- Retries an ended task from its reduce if no chunk is open and not too many failed. Else from its failed chunks.
-- Finished chunks are kept. Nil if only the map can create missing chunks.
local function take_up(task, parent)
  if not lib.may_reopen(parent) or lib.all_chunks(task) ~= lib.number_of(parent.cn) then return nil end
  if parent.ph and lib.open_chunks(task) == 0 and lib.too_many_failed(task, parent.oc, parent.cn, parent.xd) <= 0 then
    lib.reduce_again(task, parent)
    return 'pending', 'its reduce runs again'
  end
  lib.reopen(task, parent)
  lib.begin_redo(task, 'failed,errored', 'retry', ARGV[6])
  lib.settle_up()
  local state = lib.safe_call('HGET', lib.task_key(task), 's')
  return state, TERMINAL[state] and 'a chunk is lost: restart it from its map' or 'its failed chunks run again'
end

-- A map-reduce task goes on where it ended, with its results, unless it gets other arguments.
function lib.hooks.retry.mapreduce.go_on(id, record, arguments, everything)
  if arguments == '' and record.ch and not everything then return take_up(id, record) end
end

-- Returns a task from its reduce to its map, and restores the limits of the map.
local function back_to_map(id, record)
  local key = TASK .. id
  call('HDEL', key, 'ph', 'mr', 'mt', 'mb')
  for field, kept in pairs({ r = record.mr, t = record.mt, rp = record.mb }) do
    if kept == '' then call('HDEL', key, field) else call('HSET', key, field, kept) end
  end
end

function lib.hooks.retry.mapreduce.start_over(id) call('HDEL', lib.task_key(id), 'mw') end

function lib.hooks.retry.mapreduce.forget_run(id, record)
  lib.safe_call('HDEL', lib.task_key(id), 'rd', 'rw', 'cn', 'bm')
  if record.ph or record.mr then back_to_map(id, record) end
end

function lib.hooks.retry.mapreduce.reset(id, record)
  if record.ch then call('HDEL', lib.task_key(id), 'to') end -- another task keeps its own total
end

function lib.hooks.retry.mapreduce.is_laid_out(record) return record.ch or record.ph or record.mw end
