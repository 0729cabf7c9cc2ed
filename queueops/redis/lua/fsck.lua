#!lua flags=allow-oom
-- fsck: compares tasks and chunks with the indexes. Each is checked and repaired in one step.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 '1' to repair, 2 a lane that names the tasks ('' none; without ids the lane itself is looked at), 3 fields that are
--       whole numbers, each with its long name (p:priority ...), 4 not used, 5 rules, 6.. ids of tasks and chunks, entries
--       of the agenda, commands (behind '~command:'), '~pool:' for what kinds keep of the pool
-- Reply: flat pairs: id (of a lane '~lane:' and its name), what is wrong with it. Nothing is wrong if that is empty: the entry
--        is to be given to another call.
-- Transitions: quarantine; gather of map-reduce tasks; lose of chunks.
--@needs fieldcheck lanes limit_check minute_counts numbers outbox_dispatch paused_names phases rate_limit records rules store_helpers transitions
--@needs wakeup

lib.need_agenda()
local named_by = ARGV[2]

local function places_of(id)
  local places = {}
  for state in pairs(CLASS) do
    if lib.safe_call('ZSCORE', P .. ':state:' .. state, id) then places[#places + 1] = state end
  end
  return places
end

-- The record cannot be read. The indexes that name the task decide whether it is quarantined or forgotten.
local function check_lost(id, places, exists)
  if places[1] == 'quarantined' and not places[2] then return end
  if not (places[1] or exists) then
    if lib.wrong(id, 'an index names it, and there is no such task') then
      lib.unschedule(id)
      if named_by ~= '' then lib.leave_lane(named_by, id); lib.try('SREM', lib.active_key(named_by), id) end
    end
  elseif lib.wrong(id, exists and 'its record cannot be read' or 'its record is missing') then
    if not places[1] then lib.quarantine(id, '') end
    for _, state in ipairs(places) do
      if TERMINAL[state] and not exists then lib.forget(id, state) elseif state ~= 'quarantined' then lib.quarantine(id, state) end
    end
    if named_by ~= '' then lib.leave_lane(named_by, id) end
  end
end

local function check_states(id, record, places)
  local own = false
  for _, state in ipairs(places) do
    own = own or state == record[F.state]
    if state ~= record[F.state] and lib.wrong(id, 'it is ' .. record[F.state] .. ', and in the index of ' .. state) then
      lib.safe_call('ZREM', P .. ':state:' .. state, id)
    end
  end
  local index = P .. ':state:' .. record[F.state]
  if not own and not ctx.foreign[index] and lib.wrong(id, 'it is ' .. record[F.state] .. ', and not in that index') then
    lib.safe_call('ZADD', P .. ':state:' .. record[F.state], NOW, id)
  end
  local named = lib.safe_call('ZSCORE', P .. ':name:' .. record[F.name], id) or ctx.foreign[P .. ':name:' .. record[F.name]]
  if not named and lib.wrong(id, 'it is not in the index of its name') then
    lib.index_record(id, record[F.name], record[F.tags], lib.number_of(record[F.uid]) or now, record[F.kind])
  end
  local kind = record[F.kind] and record[F.kind] ~= 'task' and P .. ':kind:' .. record[F.kind]
  local listed = not kind or lib.safe_call('ZSCORE', kind, id) or ctx.foreign[kind]
  if not listed and lib.wrong(id, 'it is not in the index of its kind') then
    lib.safe_call('ZADD', kind, lib.number_of(record[F.uid]) or now, id)
  end
end

local function check_lane(id, record)
  local lane = record[F.lane] or 'default'
  local waits, ready = lib.safe_call('ZSCORE', lib.lane_key(lane), id), record[F.state] == 'pending'
  local held = lib.safe_call('ZSCORE', P .. ':paused:' .. record[F.name], id)
  local elsewhere = held and (waits and 'in its lane' or not ready and record[F.state])
  if elsewhere and lib.wrong(id, 'it is held for its paused name, and ' .. elsewhere) then lib.let_go(id, record[F.name]) end
  local placed = lib.check_key(id, record, waits or held and lib.is_held(id, record[F.name]))
  if ready and not placed and not ctx.foreign[lib.lane_key(lane)] and lib.wrong(id, 'it is ready, and not in its lane') then
    lib.let_go(id, record[F.name])
    lib.enter_lane(lane, id, record[F.priority], lib.next_number(), record)
  elseif waits and not ready and lib.wrong(id, 'it is ' .. record[F.state] .. ', and in its lane') then
    lib.leave_lane(lane, id)
  end
  local stray = named_by ~= '' and named_by ~= lane and lib.safe_call('ZSCORE', lib.lane_key(named_by), id)
  if stray and lib.wrong(id, 'it is in the lane of others') then
    lib.leave_lane(named_by, id)
  end
  if lib.lane_conf(lane).limit then
    local holds, leased = lib.safe_call('SISMEMBER', lib.active_key(lane), id) == 1, LEASED[record[F.state]] or false
    local text = leased and 'it runs without a slot of its lane' or 'it holds a slot, and does not run'
    if holds ~= leased and not ctx.foreign[lib.active_key(lane)] and lib.wrong(id, text) then
      lib.safe_call(leased and 'SADD' or 'SREM', lib.active_key(lane), id)
      ctx.touched[lane] = true
    end
  end
end

local function check_agenda(id, record)
  local due, class = lib.safe_call('ZSCORE', P .. ':agenda', id), CLASS[record[F.state]]
  local timed = class == 'leased' or class == 'timed' or class == 'terminal'
  if due and not timed and lib.wrong(id, 'it is ' .. record[F.state] .. ', and on the agenda') then lib.unschedule(id) end
  if due or not timed or not lib.wrong(id, 'it is ' .. record[F.state] .. ', and not on the agenda') then return end
  if class == 'leased' then lib.schedule(id, now + ctx.RULES.lease)
  elseif class == 'timed' then lib.schedule(id, lib.number_of(record[F.due]) or now)
  else lib.schedule(id, now + (lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. record[F.state]])) end
end

-- Checks that a lane is in the round when it should be. The agenda returns a lane that waits for tokens.
local function check_round(lane)
  local conf, here = lib.lane_conf(lane), lib.safe_call('ZSCORE', P .. ':lanes:ready', lane)
  local free = not conf.limit or lib.safe_call(lib.is_own_lane(lane) and 'ZCARD' or 'SCARD', lib.active_key(lane)) < conf.limit
  local ready = not conf.paused and free and lib.safe_call('EXISTS', lib.lane_key(lane)) == 1
  if conf.turn then ready = lib.check_turn_of_lane(lane, conf.turn, ready) end
  local waits = conf.rate and lib.tokens_of(conf) == 0 or lib.safe_call('ZSCORE', P .. ':agenda', '~lane:' .. lane)
  if ready and not here and not waits and lib.wrong('~lane:' .. lane, 'tasks wait in it, and no worker claims from it') then
    ctx.touched[lane] = true
  elseif here and not ready and lib.wrong('~lane:' .. lane, 'it is claimed from, and may not be') then
    ctx.touched[lane] = true
  end
end

if not ARGV[6] then
  lib.check_conf(named_by); check_round(named_by)
  for _, each in pairs(lib.hooks.check) do if each.lane then each.lane(named_by) end end
end
for i = 6, #ARGV do
  local id = ARGV[i]
  local word, rest = string.match(id, '^~([a-z]+):(.*)$')
  local check_entry = lib.hooks.check_entry[word]
  local record = not (check_entry or lib.is_foreign(id)) and lib.read_record(id)
  if check_entry then
    check_entry(rest)
  elseif word == 'pool' then
    for _, each in pairs(lib.hooks.check) do if each.pool then each.pool() end end
  elseif string.sub(id, 1, 1) == '~' then -- an entry of the agenda that no kind checks
  elseif lib.is_foreign(id) then
    lib.hooks.parts.check(id)
  elseif record and CLASS[record[F.state]] then
    check_states(id, record, places_of(id)); check_lane(id, record); check_agenda(id, record); lib.check_fields(id, record)
    local check = (lib.hooks.check[record[F.kind]] or NONE).record
    if check and check(id, record) then check_round('#' .. id) end
  else
    check_lost(id, places_of(id), record ~= nil)
  end
end
if ctx.repair then lib.flush(); lib.flush_lanes(); lib.settle_up(); lib.deliver(-1); lib.wake(ctx.brought) end
return ctx.found
