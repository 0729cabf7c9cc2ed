#!lua
-- enqueue: creates tasks whose ids are free: the producers' hot path. An id in use gets the answer TAKEN: see `displace`.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 number of tasks (negative: a running task pushes them); then groups: how many, due ('' now, '+ms', or epoch ms),
--       how many values they share, these values (fields of the record: name, value, ...; the task's name first),
--       how many fields each task has of its own, their names; then for each task its id and their values ('' = none);
--       at the end the lease of the running task that pushes (see `may_push`).
-- Reply: uid of the first new task (the next uids follow), Redis' time in ms, numbers from 0 of TAKEN tasks; or STALE.
-- Transitions: push, postpone.
--@needs expiry fast_push fence handover lanes minute_counts numbers rate_limit store_helpers transitions wakeup

ctx.total = tonumber(ARGV[1])
if ctx.total < 0 and not lib.may_push(ARGV[#ARGV - 1], ARGV[#ARGV]) then return { 'STALE' } end
ctx.total = math.abs(ctx.total)

local single = lib.single()
local alone
if single then alone = lib.push_alone(single) else alone = lib.push_by_hand() end
if alone then return { alone, now } end

local waiting = (lib.try('ZRANGE', P .. ':idle', '-1', '-1') or {})[1] -- the worker that began to wait last
local aside = call('EXISTS', P .. ':state:quarantined') == 1 and P .. ':state:quarantined' -- a lost record's id is in use
local number = lib.next_number(ctx.total) - ctx.total
local position, seen, timed, reply = 2, 0, false, { number + 1, now }

local function due_of(due)
  if due == '' then return nil end
  local at = string.sub(due, 1, 1) == '+' and now + tonumber(due) or tonumber(due)
  if at > now then return at end
end

-- Shared by the tasks of a group: the beginning of their records, and their lane or due time.
local function read_group()
  local due, first, last = due_of(ARGV[position + 1]), position + 3, position + 2 + tonumber(ARGV[position + 2])
  local state = due and 'postponed' or 'pending'
  local group = { count = tonumber(ARGV[position]), due = due, state = state, name = ARGV[first + 1], lane = 'default',
    priority = 0, values = { n = ARGV[first + 1] }, record = { 'HSET', '', 'u', '', 's', state, unpack(ARGV, first, last) } }
  if due then for _, value in ipairs({ 'c', NOW, 'd', lib.text(due) }) do lib.append(group, 'record', value) end end
  for i = first + 2, last, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if field == 'l' then group.lane = value
    elseif field == 'p' then group.priority = lib.number_of(value) or 0
    elseif field == 'k' and value ~= 'task' then group.kind = value
    elseif field == 'tg' then group.tags = value
    elseif field == F.expires then group.expires = value end
    group.values[field] = value
  end
  group.own = { unpack(ARGV, last + 2, last + 1 + tonumber(ARGV[last + 1])) }
  position = last + 2 + #group.own
  return group
end

-- Raises before the writes if the group's lane cannot be used. It is not checked again after them.
local function check_lane(group)
  group.resting = not call('ZSCORE', P .. ':lanes:ready', group.lane)
  if group.resting then lib.need_lane(group.lane) end
end

-- The first task of a group is placed before its record is written: a call that can fail comes first.
local function place_first(group, place, id)
  if group.due then return call('ZADD', P .. ':agenda', lib.text(group.due), id) end
  check_lane(group)
  if not group.values[F.limit_key] then call('ZADD', P .. ':lane:' .. group.lane, place, id) end
end

-- Writes the records of a group. Returns the free ids by number, by time of entry, and by place in the lane.
local function write_records(group)
  local record, own, named, entered, places = group.record, group.own, {}, {}, {}
  local shared, owned, base, size = #record, #own, (100 - group.priority) * BAND, 0
  for i = seen, seen + group.count - 1 do
    local id = ARGV[position]
    local key = TASK .. id
    if call('EXISTS', key) == 1 or (aside and call('ZSCORE', aside, id)) then
      reply[#reply + 1] = i
    else
      local last = shared
      for k = 1, owned do
        local value = ARGV[position + k]
        if value ~= '' then record[last + 1] = own[k]; record[last + 2] = value; last = last + 2 end
      end
      number = number + 1
      record[2], record[4] = key, number
      if size == 0 then place_first(group, base + number, id) end
      call(unpack(record, 1, last))
      named[size + 1] = number; named[size + 2] = id
      entered[size + 1] = NOW; entered[size + 2] = id
      places[size + 1] = base + number; places[size + 2] = id
      size = size + 2
      if lib.is_listened() then
        lib.tell_event(id, { name = group.name, from = '', to = group.state })
      end
    end
    position = position + 1 + owned
  end
  seen = seen + group.count
  return named, entered, places
end

local function write_indexes(group, named, entered, places)
  local state, name, count = group.state, group.name, #named / 2
  lib.call_sliced('ZADD', P .. ':state:' .. state, entered)
  lib.call_sliced('ZADD', P .. ':name:' .. name, named)
  lib.count_minute('tr|>' .. state, count)
  if lib.count_minute('in|' .. name, count) then lib.try('ZADD', P .. ':names', NOW, name) end
  lib.try('HINCRBY', P .. ':counts', 'n|' .. name .. '|' .. state, count)
  if group.kind then
    lib.try('HINCRBY', P .. ':counts', 'k|' .. group.kind .. '|' .. state, count)
    lib.call_sliced('ZADD', P .. ':kind:' .. group.kind, named)
  end
  for i = 2, group.expires and #named or 0, 2 do lib.watch_expiry(named[i], group.expires) end
  lib.count_in_lane(group.lane, state, count)
  lib.count_for_lane(group.lane, count)
  for tag in string.gmatch(group.tags or '', '[^,]+') do
    lib.call_sliced('ZADD', P .. ':tag:' .. tag, named); lib.try('ZADD', P .. ':tags', NOW, tag)
  end
  if group.due then
    for i = 1, #entered, 2 do entered[i] = lib.text(group.due) end
    if count > 1 then lib.call_sliced('ZADD', P .. ':agenda', entered) end
    lib.try('ZADD', P .. ':lanes', 'NX', NOW, group.lane) -- it can be paused before anything is ready there
    timed = true
  elseif group.values[F.limit_key] then
    for i = 1, #named, 2 do lib.enter_lane(group.lane, named[i + 1], group.priority, named[i], group.values) end
    lib.flush_lanes()
  elseif not group.resting then
    if count > 1 then lib.call_sliced('ZADD', P .. ':lane:' .. group.lane, places) end
    ctx.brought = ctx.brought + count
  else
    ctx.lane_entries[group.lane] = places
    lib.flush_lanes(count == 1 and group.lane)
  end
end

-- All groups are checked before the first one is written.
local function check_groups()
  local first, left = position, ctx.total
  while left > 0 do
    local group = read_group()
    if group.due then call('ZCARD', P .. ':agenda') else check_lane(group); call('ZCARD', P .. ':lane:' .. group.lane) end
    position, left = position + group.count * (1 + #group.own), left - group.count
  end
  position = first
end

if tonumber(ARGV[2]) < ctx.total then check_groups() end
while seen < ctx.total do
  local group = read_group()
  local named, entered, places = write_records(group)
  if named[1] then write_indexes(group, named, entered, places) end
end
if ctx.agenda_in[1] then lib.flush(); timed = true else lib.write_tally('s|', ctx.lane_states) end
if waiting and (lib.wake_workers(ctx.brought) or timed or ctx.lanes_await) then lib.wake_early() end
return reply
