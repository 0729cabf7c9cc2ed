-- The chunks of map-reduce tasks. The id of a chunk is `<task>#<number>`; it has a record of its own. Five sets of the
-- task hold the states: pending by number, the order of claims; active, errored, done, failed by time. Time 0: its record
-- is lost. Active chunks are also in `state:active`, where those of a dead worker are found. The id of a second run of a
-- chunk, its twin, is `<task>#<number>~`. A twin has a record while it waits or runs, and is in none of the five sets.
-- Moves are collected, as those of tasks are. settle_up() writes them, and then checks which tasks continue.
--@needs abandon_chunks chunk_turns end_effects generations lanes numbers phases records rules run_time_stats
--@needs store_helpers task_end transitions

-- The first access in a call says that chunks may move.
local function first_moves()
  ctx.foreign_moved = true
  return {}
end
fresh.chunk_out, fresh.chunk_in, fresh.by_worker = first_moves, first_moves, first_moves
fresh.chunk_lanes = first_moves -- checked last
fresh.gathering = first_moves -- tasks whose chunks have ended in this call, with the number of one that failed, if any did
function lib.split_ref(ref)
  local task, number, twin = string.match(ref, '^([^#]*)#(%d+)(~?)$')
  return task, number, twin == '~'
end
function lib.chunk_set(task, name) return TASK .. task .. '#chunks:' .. name end

-- A chunk's record has a state but no name.
function lib.read_chunk(ref)
  local reply = redis.pcall('HGETALL', TASK .. ref)
  if reply.err or #reply == 0 then return nil end
  local chunk = {}
  for i = 1, #reply, 2 do chunk[reply[i]] = reply[i + 1] end
  return chunk[F.state] and chunk
end

-- Counts the chunks of a task that a worker runs, if their number is limited.
function lib.count_by_worker(task, worker, delta)
  if worker and lib.lane_conf('#' .. task).each then lib.add(ctx.by_worker, task, worker, delta) end
end

function lib.move_chunk(task, number, chunk, to, score)
  local from, ref, lane = chunk[F.state], task .. '#' .. number, '#' .. task
  if from ~= to then lib.append(ctx.chunk_out, lib.chunk_set(task, from), number) end
  lib.append_scored(ctx.chunk_in, lib.chunk_set(task, to), score or NOW, number)
  if from == 'active' then lib.leave_active(lane, ref); lib.count_by_worker(task, chunk[F.worker], -1) end
  if from == 'active' or from == 'pending' or to == 'pending' then ctx.chunk_lanes[lane] = true end
  if to == 'pending' then ctx.gain[lane] = (ctx.gain[lane] or 0) + 1 end
  if from ~= to then lib.collect_count('ch|' .. from .. '>' .. to, 1) end
end

local function write_by_worker(task, row)
  local key = lib.chunk_set(task, 'by')
  for worker, delta in pairs(row) do
    if delta ~= 0 and lib.safe_call('HINCRBY', key, worker, delta) <= 0 then lib.safe_call('HDEL', key, worker) end
  end
end

function lib.flush_chunks()
  for key, numbers in pairs(ctx.chunk_out) do lib.call_sliced('ZREM', key, numbers) end
  for key, scored in pairs(ctx.chunk_in) do lib.call_sliced('ZADD', key, scored) end
  for task, row in pairs(ctx.by_worker) do write_by_worker(task, row) end
  for lane in pairs(ctx.chunk_lanes) do ctx.touched[lane] = true end
  ctx.chunk_out, ctx.chunk_in, ctx.by_worker, ctx.chunk_lanes = {}, {}, {}, {}
end

function lib.open_chunks(task)
  return lib.safe_call('ZCARD', lib.chunk_set(task, 'pending')) + lib.safe_call('ZCARD', lib.chunk_set(task, 'active'))
    + lib.safe_call('ZCARD', lib.chunk_set(task, 'errored'))
end

function lib.all_chunks(task)
  return lib.open_chunks(task) + lib.safe_call('ZCARD', lib.chunk_set(task, 'done')) + lib.safe_call('ZCARD', lib.chunk_set(task, 'failed'))
end

-- By how many the failed chunks exceed the limit. The policy `oc` is a number or a percentage of all chunks. The `xd` chunks
-- that an operator dropped do not count.
function lib.too_many_failed(task, policy, total, dropped)
  local percent = string.match(policy or '', '^([%d.]+)%%$')
  local allowed = percent and floor((lib.number_of(total) or 0) * (tonumber(percent) or 0) / 100) or lib.number_of(policy) or 0
  return lib.safe_call('ZCARD', lib.chunk_set(task, 'failed')) - (lib.number_of(dropped) or 0) - allowed
end

-- Sets the limits of the reduce, and keeps those of the map for the next map.
local function limit_reduce(task, parent)
  if parent[F.map_retries] or not (parent[F.reduce_retries] or parent[F.reduce_timeout] or parent[F.reduce_retry]) then return end
  local key = TASK .. task
  lib.safe_call('HSET', key, 'mr', parent[F.retries] or 0, 'mt', parent[F.timeout] or '', 'mb', parent[F.retry] or '')
  for field, limit in pairs({ r = parent[F.reduce_retries], t = parent[F.reduce_timeout],
    rp = parent[F.reduce_retry] }) do lib.safe_call('HSET', key, field, limit) end
end

function lib.to_reduce(task, parent)
  lib.move(task, parent[F.state], 'pending', parent[F.name], parent[F.kind], parent[F.lane])
  lib.turn_lane(task)
  lib.safe_call('HSET', lib.task_key(task), F.state, 'pending', F.phase, 'reduce', F.attempt, 0, F.crashes, 0)
  limit_reduce(task, parent)
  lib.enter_lane(parent[F.lane] or 'default', task, parent[F.priority], lib.next_number())
end

local function fail_over_chunk(task, parent, number)
  local chunk = number and (lib.read_chunk(task .. '#' .. number) or { y = 'its record is lost' }) or {}
  local reason = number and 'chunk ' .. number .. ' failed' .. (chunk[F.reason] and ': ' .. chunk[F.reason] or '')
    or 'only ' .. lib.all_chunks(task) .. ' of its ' .. parent[F.chunks] .. ' chunks are still there: restart it from its map'
  lib.move(task, parent[F.state], 'failed', parent[F.name], parent[F.kind], parent[F.lane])
  lib.turn_lane(task)
  lib.safe_call('HSET', lib.task_key(task), F.state, 'failed', F.ended, NOW, F.reason, reason, F.progress,
    lib.safe_call('ZCARD', lib.chunk_set(task, 'done')))
  if chunk[F.error] then lib.safe_call('HSET', lib.task_key(task), F.error, chunk[F.error], F.fingerprint, chunk[F.fingerprint] or '') end
  lib.list_failed(task, chunk[F.fingerprint])
  lib.schedule(task, now + (lib.number_of(parent[F.keep]) or ctx.RULES.keep_failed))
  lib.tell_end(task, parent, 'failed')
  lib.tell_holders(task)
  if parent[F.next] then lib.start_next(task) end
end

-- Chunks that ran when their task ended may succeed later. The progress of an ended task is the number of its done chunks.
local function tell_late(task, total, longest)
  if not total then return end
  local fields = lib.progress_of(task, total, 0, longest)
  fields[2] = lib.safe_call('ZCARD', lib.chunk_set(task, 'done'))
  lib.safe_call('HSET', TASK .. task, unpack(fields))
end

-- Checks after the end of chunks whether their task continues. The sets decide, not a counter.
local function gather(task, failed)
  local row = lib.named_fields(TASK .. task, F.state, F.on_chunk_failure, F.chunks, F.chunks_dropped, F.chunks_to_redo, F.longest_chunk_ms,
    F.parent_id)
  if not (row and row[F.state]) then
    if lib.safe_call('ZSCORE', P .. ':state:aggregating', task) then lib.quarantine(task, 'aggregating') end
    return
  end
  if row[F.state] == 'failed' or row[F.state] == 'cancelled' then return tell_late(task, row[F.chunks], row[F.longest_chunk_ms]) end
  if row[F.state] ~= 'aggregating' then return end
  local open = lib.open_chunks(task)
  lib.safe_call('HSET', TASK .. task, unpack(lib.progress_of(task, row[F.chunks], open, row[F.longest_chunk_ms])))
  if row[F.parent_id] then lib.hooks.tree.weigh(task) end
  if row[F.chunks_to_redo] or not (failed or open == 0) then return end
  if lib.too_many_failed(task, row[F.on_chunk_failure], row[F.chunks], row[F.chunks_dropped]) > 0 then
    fail_over_chunk(task, lib.read_record(task), failed or lib.safe_call('ZRANGE', lib.chunk_set(task, 'failed'), 0, 0)[1])
  elseif open == 0 and lib.all_chunks(task) ~= lib.number_of(row[F.chunks]) then
    fail_over_chunk(task, lib.read_record(task), nil)
  elseif open == 0 then
    lib.log_line(task, { k = 'gathered', text = 'all chunks have ended' })
    lib.to_reduce(task, lib.read_record(task))
  end
end

lib.hooks.parts.flush = lib.flush_chunks

function lib.hooks.parts.settle_moves()
  lib.flush_chunks()
  if next(ctx.gathering) then lib.flush() end
  for task, failed in pairs(ctx.gathering) do
    ctx.gathering[task] = nil
    gather(task, failed)
  end
end
