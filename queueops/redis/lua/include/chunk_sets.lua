-- The chunks of map-reduce tasks. The id of a chunk is `<task>#<number>`; it has a record of its own. Five sets of the
-- task hold the states: pending by number, the order of claims; active, errored, done, failed by time. Time 0: its record
-- is lost. Active chunks are also in `state:active`, where those of a dead worker are found. The id of a second run of a
-- chunk, its twin, is `<task>#<number>~`. A twin has a record while it waits or runs, and is in none of the five sets.
-- Moves are collected, as those of tasks are. settle_up() writes them, and then checks which tasks continue.
local CHUNK_STATES = { 'pending', 'active', 'errored', 'done', 'failed' }
local chunk_out, chunk_in, by_worker, chunk_lanes = {}, {}, {}, {} -- the lanes are looked at once all this is written
local gathering = {} -- tasks whose chunks have ended in this call, with the number of one that failed, if any did

local function is_chunk(ref) return string.find(ref, '#', 1, true) ~= nil end
local function split_ref(ref)
  local task, number, twin = string.match(ref, '^([^#]*)#(%d+)(~?)$')
  return task, number, twin == '~'
end
local function chunk_set(task, name) return TASK .. task .. '#chunks:' .. name end

-- A chunk's record has a state but no name.
local function read_chunk(ref)
  local reply = redis.pcall('HGETALL', TASK .. ref)
  if reply.err or #reply == 0 then return nil end
  local chunk = {}
  for i = 1, #reply, 2 do chunk[reply[i]] = reply[i + 1] end
  return chunk.s and chunk
end

-- Counts the chunks of a task that a worker runs, if their number is limited.
local function count_by_worker(task, worker, delta)
  if worker and lane_conf('#' .. task).each then add(by_worker, task, worker, delta) end
end

local function move_chunk(task, number, chunk, to, score)
  local from, ref, lane = chunk.s, task .. '#' .. number, '#' .. task
  if from ~= to then append(chunk_out, chunk_set(task, from), number) end
  append_scored(chunk_in, chunk_set(task, to), score or NOW, number)
  if from == 'active' then append(leaving, 'active', ref); count_by_worker(task, chunk.w, -1) end
  if from == 'active' or from == 'pending' or to == 'pending' then chunk_lanes[lane] = true end
  if to == 'pending' then chunk_gain[lane] = (chunk_gain[lane] or 0) + 1 end
  if from ~= to then add(moves_of_chunks, from, to, 1) end
end

local function write_by_worker(task, row)
  local key = chunk_set(task, 'by')
  for worker, delta in pairs(row) do
    if delta ~= 0 and safe_call('HINCRBY', key, worker, delta) <= 0 then safe_call('HDEL', key, worker) end
  end
end

local function flush_chunks()
  for key, numbers in pairs(chunk_out) do call_sliced('ZREM', key, numbers) end
  for key, scored in pairs(chunk_in) do call_sliced('ZADD', key, scored) end
  for task, row in pairs(by_worker) do write_by_worker(task, row) end
  for lane in pairs(chunk_lanes) do touched[lane] = true end
  chunk_out, chunk_in, by_worker, chunk_lanes = {}, {}, {}, {}
end

local function open_chunks(task)
  return safe_call('ZCARD', chunk_set(task, 'pending')) + safe_call('ZCARD', chunk_set(task, 'active'))
    + safe_call('ZCARD', chunk_set(task, 'errored'))
end

local function all_chunks(task)
  return open_chunks(task) + safe_call('ZCARD', chunk_set(task, 'done')) + safe_call('ZCARD', chunk_set(task, 'failed'))
end

-- By how many the failed chunks exceed the limit. The policy `oc` is a number or a percentage of all chunks. The `xd` chunks
-- that an operator dropped do not count.
local function too_many_failed(task, policy, total, dropped)
  local percent = string.match(policy or '', '^([%d.]+)%%$')
  local allowed = percent and floor((number_of(total) or 0) * (tonumber(percent) or 0) / 100) or number_of(policy) or 0
  return safe_call('ZCARD', chunk_set(task, 'failed')) - (number_of(dropped) or 0) - allowed
end

-- Sets the limits of the reduce, and keeps those of the map for the next map.
local function limit_reduce(task, parent)
  if parent.mr or not (parent.rr or parent.rt or parent.rb) then return end
  local key = TASK .. task
  safe_call('HSET', key, 'mr', parent.r or 0, 'mt', parent.t or '', 'mb', parent.rp or '')
  for field, limit in pairs({ r = parent.rr, t = parent.rt, rp = parent.rb }) do safe_call('HSET', key, field, limit) end
end

local function to_reduce(task, parent)
  move(task, parent.s, 'pending', parent.n, parent.k)
  turn_lane(task)
  safe_call('HSET', task_key(task), 's', 'pending', 'ph', 'reduce', 'at', 0, 'cr', 0)
  limit_reduce(task, parent)
  enter_lane(parent.l or 'default', task, parent.p, next_number())
end

local function fail_over_chunk(task, parent, number)
  local chunk = number and (read_chunk(task .. '#' .. number) or { y = 'its record is lost' }) or {}
  local reason = number and 'chunk ' .. number .. ' failed' .. (chunk.y and ': ' .. chunk.y or '')
    or 'only ' .. all_chunks(task) .. ' of its ' .. parent.cn .. ' chunks are still there: restart it from its map'
  move(task, parent.s, 'failed', parent.n, parent.k)
  turn_lane(task)
  safe_call('HSET', task_key(task), 's', 'failed', 'e', NOW, 'y', reason)
  if chunk.er then safe_call('HSET', task_key(task), 'er', chunk.er, 'ef', chunk.ef or '') end
  list_failed(task, chunk.ef)
  schedule(task, now + (number_of(parent.kp) or RULES.keep_failed))
  tell_end(task, parent, 'failed')
  tell_holders(task)
  if parent.nx then start_next(task) end
end

-- Checks after the end of chunks whether their task continues. The sets decide, not a counter.
local function gather(task, failed)
  local row = fields_of(TASK .. task, 's', 'oc', 'cn', 'xd', 'rd', 'xm', 'pi')
  if not (row and row[1]) then
    if safe_call('ZSCORE', P .. ':state:aggregating', task) then quarantine(task, 'aggregating') end
    return
  end
  if row[1] ~= 'aggregating' then return end
  local open = open_chunks(task)
  safe_call('HSET', TASK .. task, unpack(progress_of(task, row[3], open, row[6])))
  if row[7] then family.weigh(task) end
  if row[5] or not (failed or open == 0) then return end
  if too_many_failed(task, row[2], row[3], row[4]) > 0 then
    fail_over_chunk(task, read_record(task), failed or safe_call('ZRANGE', chunk_set(task, 'failed'), 0, 0)[1])
  elseif open == 0 and all_chunks(task) ~= number_of(row[3]) then
    fail_over_chunk(task, read_record(task), nil)
  elseif open == 0 then
    log_line(task, { k = 'gathered', text = 'all chunks have ended' })
    to_reduce(task, read_record(task))
  end
end

local function settle_up()
  flush_chunks()
  if next(gathering) then flush() end
  for task, failed in pairs(gathering) do
    gathering[task] = nil
    gather(task, failed)
  end
  if ended_children[1] or next(ended_leaves) then family.settle() end
  flush(); flush_lanes()
end

-- Counts a chunk as failed, because its record is lost or invalid.
local function lose_chunk(ref)
  local task, number, twin = split_ref(ref)
  unschedule(ref)
  append(leaving, 'active', ref)
  if not task or twin then return end
  for _, state in ipairs(CHUNK_STATES) do
    if state ~= 'failed' and safe_call('ZSCORE', chunk_set(task, state), number) then
      if state == 'active' then safe_call('DEL', chunk_set(task, 'by')) end -- its worker is not known
      move_chunk(task, number, { s = state }, 'failed', 0)
      gathering[task] = number
    end
  end
end
