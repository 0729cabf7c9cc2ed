-- Second run of a slow chunk. The first run that succeeds counts, and the other is refused. A second run waits in the lane of
-- its task, because the lane of the chunks may have no slot.
--@needs chunk_sets lanes limits numbers store_helpers transitions wakeup

function lib.add_twin(task, number)
  local conf = lib.lane_conf('#' .. task)
  local ref = task .. '#' .. number .. '~'
  lib.safe_call('HSET', TASK .. task .. '#' .. number, F.has_second_run, 1)
  lib.safe_call('HSET', TASK .. ref, F.state, 'pending', F.created, NOW, F.lane, conf.lane)
  lib.safe_call('SADD', lib.chunk_set(task, 'twins'), number)
  lib.enter_lane(conf.lane, ref, conf.priority, lib.next_number(), conf.turn)
end

-- `conf`: the settings of its task's chunk lane, if the task's record is not in its place.
function lib.drop_twin(task, number, silently, conf)
  conf = conf or lib.lane_conf('#' .. task)
  local ref = task .. '#' .. number .. '~'
  local row = lib.named_fields(TASK .. ref, F.state, F.lane, F.worker) or {}
  if row[F.state] == 'pending' then lib.leave_lane(row[F.lane] or 'default', ref, conf.name) end
  if row[F.state] == 'active' then
    lib.append(ctx.leaving, 'active', ref)
    lib.unschedule(ref)
    if not silently then lib.tell_worker(row[F.worker], ref) end
  end
  if conf.turn then lib.end_turn(ref, conf.turn) end
  lib.safe_call('DEL', TASK .. ref)
  lib.safe_call('SREM', lib.chunk_set(task, 'twins'), number)
  if lib.safe_call('EXISTS', TASK .. task .. '#' .. number) == 1 then
    lib.safe_call('HDEL', TASK .. task .. '#' .. number, F.has_second_run)
  end
end

-- Ends a chunk, and its second run with it.
function lib.finish_chunk(ref, chunk, state, ...)
  local task, number = lib.split_ref(ref)
  if chunk[F.has_second_run] then lib.drop_twin(task, number) end
  lib.safe_call('HSET', TASK .. ref, F.state, state, F.ended, NOW, ...)
  if chunk[F.state] ~= 'pending' then lib.unschedule(ref) end
  lib.move_chunk(task, number, chunk, state)
  ctx.gathering[task] = state == 'failed' and number or ctx.gathering[task] or false
end
