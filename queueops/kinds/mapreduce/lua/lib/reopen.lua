-- Retry of a map-reduce task that has ended, or waits for its reduce, by an operator.
--@needs abandon_chunks chunk_bulk_verbs chunk_sets lanes numbers phases records store_helpers
--@needs transitions

lib.RESTING = { pending = true, postponed = true, restart = true }

-- Whether an operator may change the chunks: all exist, and the task waits for them or has finished with them.
function lib.may_reopen(parent)
  if not (parent[F.has_chunks] and parent[F.chunks]) then return false end
  if TERMINAL[parent[F.state]] then return not lib.hooks.tree.refuse(parent) end
  return parent[F.state] == 'aggregating' or (parent[F.phase] and lib.RESTING[parent[F.state]])
end

function lib.leave_stage(task, parent)
  if parent[F.state] == 'pending' then lib.leave_lane(parent[F.lane] or 'default', task, parent[F.name]) end
  lib.unschedule(task)
  lib.forget_error(task, parent)
  lib.safe_call('HDEL', lib.task_key(task), F.result, F.error, F.fingerprint, F.reason, F.ended, F.cancel_requested, F.cancelled_hard,
    F.due, F.unknown_since)
  lib.safe_call('HSET', lib.task_key(task), F.attempt, 0, F.crashes, 0, F.fence, lib.next_number())
  if TERMINAL[parent[F.state]] then
    local pushed = parent[F.pushed_uid] or parent[F.uid] or 0
    lib.safe_call('HSET', lib.task_key(task), F.uid, lib.next_number(), F.pushed_uid, pushed)
  end
end

function lib.reopen(task, parent)
  if parent[F.state] == 'aggregating' then return end
  lib.leave_stage(task, parent)
  lib.move(task, parent[F.state], 'aggregating', parent[F.name], parent[F.kind], parent[F.lane])
  lib.safe_call('HSET', lib.task_key(task), F.state, 'aggregating', F.total, parent[F.chunks])
  lib.safe_call('HDEL', lib.task_key(task), F.chunks_to_redo, F.phase)
  parent[F.state] = 'aggregating'
  lib.turn_lane(task)
  ctx.gathering[task] = ctx.gathering[task] or false
end

function lib.reduce_again(task, parent)
  lib.leave_stage(task, parent)
  lib.safe_call('HDEL', lib.task_key(task), F.chunks_to_redo)
  lib.to_reduce(task, parent)
end

-- Retries an ended task from its reduce if no chunk is open and not too many failed. Else from its failed chunks.
-- Finished chunks are kept. Nil if only the map can create missing chunks.
local function take_up(task, parent)
  if not lib.may_reopen(parent) or lib.all_chunks(task) ~= lib.number_of(parent[F.chunks]) then return nil end
  if parent[F.phase] and lib.open_chunks(task) == 0
    and lib.too_many_failed(task, parent[F.on_chunk_failure], parent[F.chunks], parent[F.chunks_dropped]) <= 0 then
    lib.reduce_again(task, parent)
    return 'pending', 'its reduce runs again'
  end
  lib.reopen(task, parent)
  lib.begin_redo(task, 'failed,errored', 'retry', ARGV[6])
  lib.settle_up()
  local state = lib.safe_call('HGET', lib.task_key(task), F.state)
  return state, TERMINAL[state] and 'a chunk is lost: restart it from its map' or 'its failed chunks run again'
end

-- A map-reduce task goes on where it ended, with its results, unless it gets other arguments.
function lib.hooks.retry.mapreduce.go_on(id, record, arguments, everything)
  if arguments == '' and record[F.has_chunks] and not everything then return take_up(id, record) end
end

-- Returns a task from its reduce to its map, and restores the limits of the map.
local function back_to_map(id, record)
  local key = TASK .. id
  call('HDEL', key, 'ph', 'mr', 'mt', 'mb')
  for field, kept in pairs({ r = record[F.map_retries], t = record[F.map_timeout], rp = record[F.map_retry] }) do
    if kept == '' then call('HDEL', key, field) else call('HSET', key, field, kept) end
  end
end

function lib.hooks.retry.mapreduce.start_over(id) call('HDEL', lib.task_key(id), F.map_written) end

function lib.hooks.retry.mapreduce.forget_run(id, record)
  lib.safe_call('HDEL', lib.task_key(id), F.chunks_to_redo, F.chunks_redone_by, F.chunks, F.map_begun)
  if record[F.phase] or record[F.map_retries] then back_to_map(id, record) end
end

function lib.hooks.retry.mapreduce.reset(id, record)
  if record[F.has_chunks] then call('HDEL', lib.task_key(id), F.total) end -- another task keeps its own total
end

function lib.hooks.retry.mapreduce.is_laid_out(record) return record[F.has_chunks] or record[F.phase] or record[F.map_written] end
