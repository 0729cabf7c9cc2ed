-- The agenda: acts on due entries, at most `limit` of them. Used by every exchange and by the watchdog's tick.
local acted = {}

local function act(word) acted[word] = (acted[word] or 0) + 1 end

local function promote(id, record)
  if record.cc then family.begin(id, record); return act('promoted') end
  move(id, record.s, 'pending', record.n, record.k)
  unschedule(id)
  call('HSET', task_key(id), 's', 'pending')
  enter_lane(record.l or 'default', id, record.p, next_number())
  act('promoted')
end

local function act_on_chunk(ref, grace)
  local chunk = read_chunk(ref)
  if not chunk then lose_chunk(ref); return act('broken') end
  if chunk.s == 'errored' then make_chunk_pending(ref, chunk); return act('promoted') end
  if chunk.s ~= 'active' then unschedule(ref); return act('stray') end
  act(recover_chunk_lease(ref, chunk, grace))
end

-- Expires a task; its chunks are deleted before it, in steps. `over`: the cap on ended tasks is exceeded.
local function expire(id, record, over)
  if record.pi and family.keep(id, record, over) then return act('kept') end
  if (record.ch and purge_chunks(id) > 0) or (record.kt and record.cc and family.expire_parts(id, record.u)) then
    schedule(id, now)
    return act('purged')
  end
  record.ch = nil
  erase(id, record)
  act('expired')
end

local specials = {}

function specials.trash(id)
  if has_chunks(P .. ':trash:' .. id) and purge_chunks(id) > 0 then return schedule('~trash:' .. id, now) end
  local trash = P .. ':trash:' .. id
  forget_children(trash)
  call('DEL', trash, trash .. '#log')
  safe_call('ZREM', P .. ':trashed', id)
end

function specials.chunks(id)
  if has_chunks(TASK .. id) or has_chunks(P .. ':trash:' .. id) then return end
  if purge_chunks(id) > 0 then schedule('~chunks:' .. id, now) end
end

-- The lane has tokens again.
function specials.lane(lane)
  touched[lane] = true
  chunk_gain[lane] = safe_call('ZCARD', lane_key(lane))
end

function specials.redo(id) redo_step(id, 0) end

function specials.activate(id) family.go_on(id) end
function specials.again(id) family.go_on_iterating(id) end
function specials.cancel(id) family.cancel_children(id) end
function specials.resume(id) family.resume_children(id) end
function specials.planting(id) family.guard(id) end
function specials.commands() unlock_commands() end

-- Handles a missing or unreadable record. If an index still names the task, the task goes to quarantine, or is forgotten if
-- it had ended.
local function put_aside(id)
  for state in pairs(CLASS) do
    if safe_call('ZSCORE', P .. ':state:' .. state, id) then
      if TERMINAL[state] then forget(id, state) elseif state ~= 'quarantined' then quarantine(id, state) end
    end
  end
  unschedule(id)
  act('broken')
end

-- Removes a wrong agenda entry. Either its task's record was lost and its id was pushed again. Or the task waits there
-- because its lane had a wrong type; a pending task then returns to its lane.
local function drop_stray(id, record)
  local lane = record.l or 'default'
  if record.s == 'pending' and not try('ZSCORE', lane_key(lane), id) then enter_lane(lane, id, record.p, next_number()) end
  for state in pairs(CLASS) do
    if state ~= record.s and safe_call('ZREM', P .. ':state:' .. state, id) == 1 then
      write_tally('n|', { [record.n] = { [state] = -1 } })
    end
  end
  unschedule(id)
  act('stray')
end

local function act_on_member(member, grace)
  if string.sub(member, 1, 1) == '~' then
    local kind, id = string.match(member, '^~([a-z]+):(.*)$')
    unschedule(member)
    if specials[kind] then
      flush_chunks(); flush(); flush_lanes() -- it may be about a task that moved in this very call
      specials[kind](id)
    end
    return act(kind or 'unknown')
  end
  if is_chunk(member) then return act_on_chunk(member, grace) end
  local record = read_record(member)
  if not (record and CLASS[record.s]) then return put_aside(member) end
  if TIMED[record.s] then return promote(member, record) end
  if LEASED[record.s] then return act(recover_lease(member, record, grace)) end
  if TERMINAL[record.s] then return expire(member, record) end
  drop_stray(member, record)
end

-- Milliseconds until the agenda has something to do, at most `cap`.
local function until_due(cap)
  local first = call('ZRANGE', P .. ':agenda', 0, 0, 'WITHSCORES')
  if not first[2] then return cap end
  return max(0, min(cap, tonumber(first[2]) - now))
end

-- Acts on due entries. Returns nil if there was one, else the milliseconds until the next.
local function act_on_due(limit)
  local grace, rest = watch_clock(), until_due(1e12)
  if limit <= 0 or rest > 0 then return rest end
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. ':agenda', '-inf', now, 'LIMIT', 0, limit)) do act_on_member(member, grace) end
  settle_up()
end
