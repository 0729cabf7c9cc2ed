#!lua flags=allow-oom
-- fsck: compares tasks and chunks with the indexes. Each is checked and repaired in one step.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 '1' to repair, 2 a lane that names the tasks ('' none; without ids the lane itself is looked at), 3 fields that are
--       whole numbers, each with its long name (p:priority ...), 4 not used, 5 rules, 6.. ids of tasks, chunks and (behind
--       '~command:') commands
-- Reply: flat pairs: id (of a lane '~lane:' and its name), what is wrong with it.
-- Transitions: quarantine; gather of map-reduce tasks; lose of chunks.
--@include context
--@include tasks
--@include composites
--@include run_time_stats
--@include chunk_sets
--@include second_run
--@include purge
--@include fieldcheck
--@include chunk_fsck

need_agenda()
local named_by = ARGV[2]

local function places_of(id)
  local places = {}
  for state in pairs(CLASS) do
    if safe_call('ZSCORE', P .. ':state:' .. state, id) then places[#places + 1] = state end
  end
  return places
end

-- The record cannot be read. The indexes that name the task decide whether it is quarantined or forgotten.
local function check_lost(id, places, exists)
  if places[1] == 'quarantined' and not places[2] then return end
  if not (places[1] or exists) then
    if wrong(id, 'an index names it, and there is no such task') then
      unschedule(id)
      if named_by ~= '' then leave_lane(named_by, id); try('SREM', active_key(named_by), id) end
    end
  elseif wrong(id, exists and 'its record cannot be read' or 'its record is missing') then
    if not places[1] then quarantine(id, '') end
    for _, state in ipairs(places) do
      if TERMINAL[state] and not exists then forget(id, state) elseif state ~= 'quarantined' then quarantine(id, state) end
    end
    if named_by ~= '' then leave_lane(named_by, id) end
  end
end

local function check_states(id, record, places)
  local own = false
  for _, state in ipairs(places) do
    own = own or state == record.s
    if state ~= record.s and wrong(id, 'it is ' .. record.s .. ', and in the index of ' .. state) then
      safe_call('ZREM', P .. ':state:' .. state, id)
    end
  end
  local index = P .. ':state:' .. record.s
  if not own and not foreign[index] and wrong(id, 'it is ' .. record.s .. ', and not in that index') then
    safe_call('ZADD', P .. ':state:' .. record.s, NOW, id)
  end
  local named = safe_call('ZSCORE', P .. ':name:' .. record.n, id) or foreign[P .. ':name:' .. record.n]
  if not named and wrong(id, 'it is not in the index of its name') then
    index_record(id, record.n, record.tg, number_of(record.u) or now)
  end
end

local function check_lane(id, record)
  local lane = record.l or 'default'
  local waits, ready = safe_call('ZSCORE', lane_key(lane), id), record.s == 'pending'
  if ready and not waits and not foreign[lane_key(lane)] and wrong(id, 'it is ready, and not in its lane') then
    enter_lane(lane, id, record.p, next_number())
  elseif waits and not ready and wrong(id, 'it is ' .. record.s .. ', and in its lane') then
    leave_lane(lane, id)
  end
  if named_by ~= '' and named_by ~= lane and safe_call('ZSCORE', lane_key(named_by), id) and wrong(id, 'it is in the lane of others') then
    leave_lane(named_by, id)
  end
  if lane_conf(lane).limit then
    local holds, leased = safe_call('SISMEMBER', active_key(lane), id) == 1, LEASED[record.s] or false
    local text = leased and 'it runs without a slot of its lane' or 'it holds a slot, and does not run'
    if holds ~= leased and not foreign[active_key(lane)] and wrong(id, text) then
      safe_call(leased and 'SADD' or 'SREM', active_key(lane), id)
      touched[lane] = true
    end
  end
end

local function check_agenda(id, record)
  local due, class = safe_call('ZSCORE', P .. ':agenda', id), CLASS[record.s]
  local timed = class == 'leased' or class == 'timed' or class == 'terminal'
  if due and not timed and wrong(id, 'it is ' .. record.s .. ', and on the agenda') then unschedule(id) end
  if due or not timed or not wrong(id, 'it is ' .. record.s .. ', and not on the agenda') then return end
  if class == 'leased' then schedule(id, now + RULES.lease)
  elseif class == 'timed' then schedule(id, number_of(record.d) or now)
  else schedule(id, now + (number_of(record.kp) or RULES['keep_' .. record.s])) end
end

-- Checks that a lane is in the round when it should be. The agenda returns a lane that waits for tokens.
local function check_round(lane)
  local conf, here = lane_conf(lane), safe_call('ZSCORE', P .. ':lanes:ready', lane)
  local free = not conf.limit or safe_call(is_chunk_lane(lane) and 'ZCARD' or 'SCARD', active_key(lane)) < conf.limit
  local ready = not conf.paused and free and safe_call('EXISTS', lane_key(lane)) == 1
  local waits = conf.rate and (tokens_of(conf) == 0 or safe_call('ZSCORE', P .. ':agenda', '~lane:' .. lane))
  if ready and not here and not waits and wrong('~lane:' .. lane, 'tasks wait in it, and no worker claims from it') then
    touched[lane] = true
  elseif here and not ready and wrong('~lane:' .. lane, 'it is claimed from, and may not be') then
    touched[lane] = true
  end
end

if not ARGV[6] then check_conf(named_by); check_round(named_by) end
for i = 6, #ARGV do
  local id = ARGV[i]
  local command = string.match(id, '^~command:(.*)$')
  local record = not (command or is_chunk(id)) and read_record(id)
  if command then
    check_command(command)
  elseif is_chunk(id) then
    check_chunk(id)
  elseif record and CLASS[record.s] then
    check_states(id, record, places_of(id)); check_lane(id, record); check_agenda(id, record); check_fields(id, record)
    if record.ch then check_gathering(id, record); check_round('#' .. id) end
  else
    check_lost(id, places_of(id), record ~= nil)
  end
end
if repair then flush(); flush_lanes(); settle_up(); close_outbox(-1); wake(brought) end
return found
