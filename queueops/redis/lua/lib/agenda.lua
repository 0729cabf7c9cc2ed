-- The agenda: acts on due entries, at most `limit` of them. Used by every exchange and by the watchdog's tick.
--@needs clock_guard expired_leases lanes limits minute_counts numbers phases records store_helpers transitions

fresh.acted = TABLE

function lib.act(word) ctx.acted[word] = (ctx.acted[word] or 0) + 1 end

local function promote(id, record)
  local promote_kind = (lib.hooks.claim[record[F.kind]] or NONE).promote
  if promote_kind and promote_kind(id, record) then return lib.act('promoted') end
  lib.move(id, record[F.state], 'pending', record[F.name], record[F.kind], record[F.lane])
  lib.unschedule(id)
  call('HSET', lib.task_key(id), F.state, 'pending')
  lib.enter_lane(record[F.lane] or 'default', id, record[F.priority], lib.next_number(), record)
  lib.act('promoted')
end

-- Expires a task; what it consists of is deleted before it, in steps. `over`: the cap on ended tasks is exceeded.
function lib.expire(id, record, over)
  if record[F.parent_id] and lib.hooks.tree.keep(id, record, over) then return lib.act('kept') end
  local purge = (lib.hooks.erase[record[F.kind]] or NONE).purge
  if purge and purge(id, record) then
    lib.schedule(id, now)
    return lib.act('purged')
  end
  lib.erase(id, record)
  lib.act('expired')
end

function lib.hooks.due_entry.trash(id)
  local trash = P .. ':trash:' .. id
  local row = lib.named_fields(trash, 'k')
  local purge = row and (lib.hooks.erase[row[F.kind]] or NONE).purge_trash
  if purge and purge(id) then return lib.schedule('~trash:' .. id, now) end
  lib.delete_record(trash, true)
  lib.safe_call('ZREM', P .. ':trashed', id)
end

-- The lane has tokens again.
function lib.hooks.due_entry.lane(lane)
  ctx.touched[lane] = true
  ctx.gain[lane] = lib.safe_call('ZCARD', lib.lane_key(lane))
end

-- Handles a missing or unreadable record. If an index still names the task, the task goes to quarantine, or is forgotten if
-- it had ended.
function lib.put_aside(id)
  for state in pairs(CLASS) do
    if lib.safe_call('ZSCORE', P .. ':state:' .. state, id) then
      if TERMINAL[state] then lib.forget(id, state) elseif state ~= 'quarantined' then lib.quarantine(id, state) end
    end
  end
  lib.unschedule(id)
  lib.act('broken')
end

-- Removes a wrong agenda entry. Either its task's record was lost and its id was pushed again. Or the task waits there
-- because its lane had a wrong type; a pending task then returns to its lane.
local function drop_stray(id, record)
  local lane = record[F.lane] or 'default'
  if record[F.state] == 'pending' and not lib.try('ZSCORE', lib.lane_key(lane), id) then
    lib.end_turn(id, record)
    lib.enter_lane(lane, id, record[F.priority], lib.next_number(), record)
  end
  for state in pairs(CLASS) do
    if state ~= record[F.state] and lib.safe_call('ZREM', P .. ':state:' .. state, id) == 1 then
      lib.write_tally('n|', { [record[F.name]] = { [state] = -1 } })
    end
  end
  lib.unschedule(id)
  lib.act('stray')
end

local function act_on_member(member, grace)
  if string.sub(member, 1, 1) == '~' then
    local word, rest = string.match(member, '^~([a-z]+):(.*)$')
    local act_on_entry = lib.hooks.due_entry[word or '']
    lib.unschedule(member)
    if act_on_entry then
      lib.flush_all() -- it may be about a task that moved in this very call
      act_on_entry(rest)
    end
    return lib.act(word or 'unknown')
  end
  if lib.is_foreign(member) then return lib.hooks.parts.act(member, grace) end
  local record = lib.read_record(member)
  if not (record and CLASS[record[F.state]]) then return lib.put_aside(member) end
  if TIMED[record[F.state]] then return promote(member, record) end
  if LEASED[record[F.state]] then return lib.act(lib.recover_lease(member, record, grace)) end
  if TERMINAL[record[F.state]] then return lib.expire(member, record) end
  drop_stray(member, record)
end

-- Milliseconds until the agenda has something to do, at most `cap`.
function lib.until_due(cap)
  local first = call('ZRANGE', P .. ':agenda', 0, 0, 'WITHSCORES')
  if not first[2] then return cap end
  return max(0, min(cap, tonumber(first[2]) - now))
end

-- Acts on due entries. Returns nil if there was one, else the milliseconds until the next.
function lib.act_on_due(limit)
  local grace, rest = lib.watch_clock(), lib.until_due(1e12)
  if limit <= 0 or rest > 0 then return rest end
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. ':agenda', '-inf', now, 'LIMIT', 0, limit)) do act_on_member(member, grace) end
  lib.settle_up()
end
