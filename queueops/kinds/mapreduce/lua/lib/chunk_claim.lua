-- Claim of chunks: from the lane of their task, and of a second run from the lane of tasks.
--@needs chunk_sets lane_turns lanes limits paused_names second_run served_lanes store_helpers transitions

-- Number of chunks of a task that this worker may take. 0: the lane of the chunks is closed. Nil: this worker takes none.
-- The task's own lane or name is paused, or the worker does not know the class or has enough.
local function share_of(lane, share, worker)
  local task, conf = string.sub(lane, 2), lib.lane_conf(lane)
  if not conf.state then ctx.gathering[task] = false end -- the task's record is lost
  if conf.paused then return 0 end
  if lib.lane_conf(conf.lane).paused or lib.is_name_paused(conf.name) then return nil end
  if conf.unable and lib.safe_call('SISMEMBER', lib.chunk_set(task, 'unable'), worker) == 1 then return nil end
  if not conf.each or share == 0 then return share end
  local rest = conf.each - (lib.number_of(lib.safe_call('HGET', lib.chunk_set(task, 'by'), worker)) or 0)
  if rest > 0 then return min(share, rest) end
end

-- The same, and with nil the lane stays in the round; but a turn of a key goes to a lane from which the worker may take.
function lib.hooks.parts.lane_share(lane, share, worker)
  local conf, found = lib.lane_conf(lane), share_of(lane, share, worker)
  if found or not conf.turn or lib.is_name_paused(conf.name) then return found end
  local function can(other)
    return lib.is_own_lane(other) and (not ctx.patterns or lib.serves(other)) and lib.hooks.parts.waits_for_turn(other)
      and (share_of(other, 1, worker) or 0) > 0
  end
  local other = lib.swap_turn(lane, conf.turn, can)
  if not other then return nil end
  ctx.touched[lane], ctx.touched[other] = true, true
  lib.flush_lanes()
  return 0
end

-- Fields of a chunk's lease: its own data, and the values that all chunks of its task share.
local function chunk_fields(task, conf, data, attempts, crashes)
  local fields = { 'n', conf.name, 'k', 'chunk', 'a', data or '', 'pi', task, 'r', conf.retries, 'ro', conf.root }
  if attempts then fields[#fields + 1] = 'at'; fields[#fields + 1] = attempts end
  if crashes then fields[#fields + 1] = 'cr'; fields[#fields + 1] = crashes end
  if conf.retry then fields[#fields + 1] = 'rp'; fields[#fields + 1] = conf.retry end
  if conf.timeout then fields[#fields + 1] = 't'; fields[#fields + 1] = conf.timeout end
  if conf.meta then fields[#fields + 1] = 'me'; fields[#fields + 1] = conf.meta end
  if conf.trace then fields[#fields + 1] = 'tr'; fields[#fields + 1] = conf.trace end
  return fields
end

local function lease_chunk(task, chunk, conf, number, worker, deadline, reply)
  local ref = task .. '#' .. chunk
  local _, state, args, attempts, crashes, queued,
    created = lib.values_of(TASK .. ref, F.state, F.args, F.attempt, F.crashes, F.ready_since, F.created)
  if not state then
    ctx.gathering[task] = chunk
    return lib.move_chunk(task, chunk, { s = 'pending' }, 'failed', 0)
  end
  if state ~= 'pending' then return end
  lib.safe_call('HSET', TASK .. ref, F.state, 'active', F.fence, number, F.worker, worker, F.begun, NOW)
  lib.append_scored(ctx.chunk_in, lib.chunk_set(task, 'active'), NOW, chunk)
  lib.append_scored(ctx.entering, 'active', NOW, ref)
  lib.schedule(ref, deadline)
  local fields = chunk_fields(task, conf, args, attempts, crashes)
  reply[#reply + 1] = { ref, number, now - (lib.number_of(queued or created) or now), fields }
end

function lib.hooks.parts.lease_lane(lane, chunks, number, worker, deadline, reply)
  local task = string.sub(lane, 2)
  local conf, before = lib.lane_conf(lane), #reply
  for i, chunk in ipairs(chunks) do lease_chunk(task, chunk, conf, number + i, worker, deadline, reply) end
  local count = #reply - before
  if count > 0 then lib.collect_count('ch|pending>active', count) end
  lib.count_by_worker(task, worker, count)
  if conf.turn and count > 0 then
    local refs = {}
    for i = 1, count do refs[i] = unpack(reply[before + i]) end
    lib.begin_of_lane(lane, conf.turn, refs)
  end
  if conf.limit or conf.each then lib.flush_chunks() end
end

-- Leases the second run of a chunk.
function lib.hooks.parts.claim(ref, number, worker, deadline, reply, score)
  local task, chunk = lib.split_ref(ref)
  local _, twin, created = lib.values_of(TASK .. ref, F.state, F.created)
  if twin ~= 'pending' then return end
  local conf = lib.lane_conf('#' .. task)
  if lib.is_name_paused(conf.name) then return lib.hold_back(ref, score, conf.name) end
  local _, state, args, attempts, crashes
  if task then _, state, args, attempts, crashes = lib.values_of(TASK .. task .. '#' .. chunk, F.state, F.args, F.attempt, F.crashes) end
  if state ~= 'active' and state ~= 'errored' then return lib.drop_twin(task, chunk, true) end
  lib.safe_call('HSET', TASK .. ref, F.state, 'active', F.fence, number, F.worker, worker, F.begun, NOW)
  lib.append_scored(ctx.entering, 'active', NOW, ref)
  lib.schedule(ref, deadline)
  if conf.turn then lib.begin_turns(lib.scope_of(conf.turn), conf.turn, ref, { ref }) end
  local fields = chunk_fields(task, conf, args, attempts, crashes)
  reply[#reply + 1] = { ref, number, now - (lib.number_of(created) or now), fields }
end

-- A chunk ends when its task does not wait for it any more.
function lib.hooks.parts.end_of(ref)
  local task = lib.split_ref(ref)
  local state = task and lib.lane_conf('#' .. task).state
  if not task or state == 'aggregating' then return nil end
  return 'its task is ' .. (state or 'gone'), call('HGET', lib.task_key(task), F.cancelled_hard)
end

function lib.hooks.parts.task_of(ref) return (lib.split_ref(ref)) end
