-- Claim: visits the ready lanes in a fair round and takes a share of each, until enough tasks are leased.
--@needs attempts chunk_sets claim_on_settle end_effects lanes numbers rate_limit records second_run
--@needs store_helpers transitions unknown_names

local lease_twin

local function lease_task(id, score, number, entered, worker, deadline, reply)
  local key = lib.task_key(id)
  local fields = redis.pcall('HGETALL', key)
  local state, name, kind, lane, created, phase, more
  if not fields.err then
    for i = 1, #fields, 2 do
      local field = fields[i]
      if field == 's' then state = fields[i + 1]
      elseif field == 'n' then name = fields[i + 1]
      elseif field == 'c' then created = fields[i + 1]
      elseif field == 'ph' then phase = fields[i + 1]
      elseif lib.IS_MORE[field] then
        more = true
        if field == 'l' then lane = fields[i + 1] elseif field == 'k' then kind = fields[i + 1] end
      end
    end
  end
  if not (name and CLASS[state]) then
    if lib.is_chunk(id) then return lease_twin(id, number, worker, deadline, reply) end
    return lib.quarantine(id, 'pending', nil)
  end
  if state ~= 'pending' then return end
  if lib.leaves_alone(worker, name, lane or 'default', score, id) then return end
  local leased = kind and CLAIMED_AS[phase and kind .. ' ' .. phase or kind] or 'locked'
  if created then
    call('HSET', key, 's', leased, 'f', number, 'w', worker, 'b', NOW)
  else
    call('HSET', key, 's', leased, 'f', number, 'w', worker, 'b', NOW, 'c', entered or NOW)
  end
  if more then call('HSET', key, 'm', 1) end
  lib.move(id, 'pending', leased, name, kind)
  lib.schedule(id, deadline)
  lib.take_slot(lane or 'default', id)
  reply[#reply + 1] = { id, number, now - (tonumber(entered) or now), fields }
end

-- Fields of a chunk's lease: its own data, and the values that all chunks of its task share.
local function chunk_fields(task, conf, data, attempts, crashes)
  local fields = { 'n', conf.name, 'k', 'chunk', 'a', data or '', 'pi', task, 'r', conf.retries, 'ro', conf.root }
  if attempts then fields[#fields + 1] = 'at'; fields[#fields + 1] = attempts end
  if crashes then fields[#fields + 1] = 'cr'; fields[#fields + 1] = crashes end
  if conf.retry then fields[#fields + 1] = 'rp'; fields[#fields + 1] = conf.retry end
  if conf.timeout then fields[#fields + 1] = 't'; fields[#fields + 1] = conf.timeout end
  if conf.meta then fields[#fields + 1] = 'me'; fields[#fields + 1] = conf.meta end
  return fields
end

local function lease_chunk(task, chunk, conf, number, worker, deadline, reply)
  local ref = task .. '#' .. chunk
  local row = lib.fields_of(TASK .. ref, 's', 'a', 'at', 'cr', 'q', 'c')
  if not (row and row[1]) then
    ctx.gathering[task] = chunk
    return lib.move_chunk(task, chunk, { s = 'pending' }, 'failed', 0)
  end
  if row[1] ~= 'pending' then return end
  lib.safe_call('HSET', TASK .. ref, 's', 'active', 'f', number, 'w', worker, 'b', NOW)
  lib.append_scored(ctx.chunk_in, lib.chunk_set(task, 'active'), NOW, chunk)
  lib.append_scored(ctx.entering, 'active', NOW, ref)
  lib.schedule(ref, deadline)
  reply[#reply + 1] = { ref, number, now - (lib.number_of(row[5] or row[6]) or now), chunk_fields(task, conf, row[2], row[3], row[4]) }
end

local function lease_chunks(task, chunks, number, worker, deadline, reply)
  local conf, before = lib.lane_conf('#' .. task), #reply
  for i, chunk in ipairs(chunks) do lease_chunk(task, chunk, conf, number + i, worker, deadline, reply) end
  local count = #reply - before
  if count > 0 then lib.add(ctx.moves_of_chunks, 'pending', 'active', count) end
  lib.count_by_worker(task, worker, count)
  if conf.limit or conf.each then lib.flush_chunks() end
end

function lease_twin(ref, number, worker, deadline, reply)
  local task, chunk = lib.split_ref(ref)
  local row = task and lib.fields_of(TASK .. task .. '#' .. chunk, 's', 'a', 'at', 'cr')
  local twin = lib.fields_of(TASK .. ref, 's', 'c')
  if not (twin and twin[1] == 'pending') then return end
  if not (row and (row[1] == 'active' or row[1] == 'errored')) then return lib.drop_twin(task, chunk, true) end
  lib.safe_call('HSET', TASK .. ref, 's', 'active', 'f', number, 'w', worker, 'b', NOW)
  lib.append_scored(ctx.entering, 'active', NOW, ref)
  lib.schedule(ref, deadline)
  local fields = chunk_fields(task, lib.lane_conf('#' .. task), row[2], row[3], row[4])
  reply[#reply + 1] = { ref, number, now - (lib.number_of(twin[2]) or now), fields }
end

-- A lane's share in this turn: an even part of the wanted tasks, times its weight, within slots and tokens.
local function share_of(lane, want, ready_lanes)
  local share = ready_lanes == 1 and want or max(1, floor(want / ready_lanes * lib.lane_conf(lane).weight))
  return min(share, want, 1000, lib.free_slots(lane) or want)
end

-- Number of chunks of a task that this worker may take. 0: the lane of the chunks is closed. Nil: this worker takes none,
-- and that lane stays in the round. The task's own lane is paused, or the worker does not know the class or has enough.
local function share_of_chunks(task, share, worker)
  local conf = lib.lane_conf('#' .. task)
  if not conf.state then ctx.gathering[task] = false end -- the task's record is lost
  if conf.paused then return 0 end
  if lib.lane_conf(conf.lane).paused then return nil end
  if conf.unable and lib.safe_call('SISMEMBER', lib.chunk_set(task, 'unable'), worker) == 1 then return nil end
  if not conf.each or share == 0 then return share end
  local rest = conf.each - (lib.number_of(lib.safe_call('HGET', lib.chunk_set(task, 'by'), worker)) or 0)
  if rest > 0 then return min(share, rest) end
end

fresh.passed = 0 -- lanes at the head of the round that have nothing for this worker

local function claim_turn(first, want, worker, lease, reply)
  local lane = first[1]
  local task = lib.is_chunk_lane(lane) and string.sub(lane, 2)
  local share = share_of(lane, want, call('ZCARD', P .. ':lanes:ready') - ctx.passed)
  if task then share = share_of_chunks(task, share, worker) end
  if not share then ctx.passed = ctx.passed + 1; return end
  local popped = share > 0 and lib.try('ZPOPMIN', lib.lane_key(lane), share)
  if share > 0 and not popped then return call('ZREM', P .. ':lanes:ready', lane) end -- that is no lane
  popped = popped or {}
  local count, ids = #popped / 2, {}
  local number = count > 0 and lib.next_number(count) - count or 0
  for i = 1, count do ids[i] = popped[2 * i - 1] end
  if task then
    lease_chunks(task, ids, number, worker, now + lease, reply)
  elseif count > 0 then
    local entered = lib.try('ZMSCORE', P .. ':state:pending', unpack(ids)) or {}
    local before, conf = #reply, lib.lane_conf(lane)
    for i = 1, count do lease_task(ids[i], popped[2 * i], number + i, entered[i], worker, now + lease, reply) end
    if conf.rate and #reply > before then lib.take_tokens(lib.lane_key(lane) .. '#conf', conf, #reply - before) end
  end
  if share == 0 or lib.free_slots(lane) == 0 or call('EXISTS', lib.lane_key(lane)) == 0 then
    call('ZREM', P .. ':lanes:ready', lane)
    ctx.touched[lane] = true
  else
    call('ZADD', P .. ':lanes:ready', first[2] + count / lib.lane_conf(lane).weight, lane)
  end
end

function lib.claim(want, worker, lease, reply)
  local turns = 0
  while #reply < want and turns < 500 do
    turns = turns + 1
    local first = ctx.calm and {} or call('ZRANGE', P .. ':lanes:ready', ctx.passed, ctx.passed, 'WITHSCORES')
    if not first[1] then ctx.nothing_ready = turns == 1; break end
    claim_turn(first, want - #reply, worker, lease, reply)
  end
  local left = lib.put_back()
  ctx.nothing_ready = ctx.nothing_ready and left == 0
  if left > 0 and #reply < want then ctx.passed = call('ZCARD', P .. ':lanes:ready') end -- nothing else is left
  lib.settle_up()
  return reply
end
