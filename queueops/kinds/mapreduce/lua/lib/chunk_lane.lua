-- The lane `#<task>` holds the pending chunks of one map-reduce task. It is open while the task is in the state
-- `aggregating`. The task's own fields limit it.
--@needs store_helpers

-- The key of the chunks of a task with this record, as fields of a record; nil if they have none.
function lib.turn_of_chunks(record)
  if not (record[F.parts_key] and record[F.name]) then return nil end
  return { [F.name] = record[F.name], [F.limit_key] = record[F.parts_key], [F.key_limit] = record[F.chunk_limit],
    [F.key_rate] = record[F.chunk_rate], [F.lane] = record[F.lane], [F.priority] = record[F.priority] }
end

function lib.hooks.parts.lane_key(lane) return TASK .. string.sub(lane, 2) .. '#chunks:pending' end
function lib.hooks.parts.lane_active(lane) return TASK .. string.sub(lane, 2) .. '#chunks:active' end

-- Settings of a task's chunk lane, read once. While `rd` is set, a bulk action moves chunks, and none is claimed.
function lib.hooks.parts.lane_conf(lane)
  local task = string.sub(lane, 2)
  local row = lib.named_fields(TASK .. task, F.state, F.max_parallel, F.chunks_to_redo, F.chunks_per_worker, F.name, F.chunk_retries,
    F.chunk_retry, F.chunk_timeout, F.root, F.lane, F.priority, F.unable_workers, F.meta, F.trace, F.parts_key, F.chunk_limit,
    F.chunk_rate) or {}
  return { state = row[F.state], limit = lib.number_of(row[F.max_parallel]), paused = row[F.state] ~= 'aggregating'
    or row[F.chunks_to_redo], weight = 1,
    each = lib.number_of(row[F.chunks_per_worker]), name = row[F.name] or '?', retries = row[F.chunk_retries]
      or '0', retry = row[F.chunk_retry], timeout = row[F.chunk_timeout],
    root = row[F.root] or task, lane = row[F.lane]
      or 'default', priority = row[F.priority], unable = row[F.unable_workers], meta = row[F.meta],
    trace = row[F.trace], turn = lib.turn_of_chunks(row) }
end
