-- State transitions: collects moves between states, and writes them in flush(), which a script calls between its phases.
-- So a batch of tasks costs one ZADD and one ZREM for each state. LEASED, TIMED, ... come from states.py.
--@needs minute_counts store_helpers

fresh.leaving, fresh.entering, fresh.agenda_in, fresh.agenda_out = TABLE, TABLE, TABLE, TABLE
fresh.moves, fresh.lane_states, fresh.collected_counts = TABLE, TABLE, TABLE

-- Reads a whole record as a table. Nil if there is none, false if the key is not a record.
function lib.read_record(id)
  local reply = redis.pcall('HGETALL', lib.task_key(id))
  if reply.err then return false end
  if #reply == 0 then return nil end
  local record = {}
  for i = 1, #reply, 2 do record[reply[i]] = reply[i + 1] end
  if not (record[F.state] and record[F.name]) then return false end
  return record, reply
end

-- The answers of Redis commands for a key that does not exist.
local function blank(command)
  local lists = ' HGETALL HMGET LRANGE SMEMBERS SMISMEMBER SPOP SRANDMEMBER ZINTER '
    .. 'ZMSCORE ZPOPMIN ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE '
  if string.find(lists, ' ' .. command .. ' ', 1, true) then return {} end
  return not string.find(' GET HGET LINDEX LPOP RPOP ZRANK ZSCORE ', ' ' .. command .. ' ', 1, true) and 0
end

-- A call on a key of one task or lane. A key of a wrong type counts as empty and is not written to; the watchdog names
-- it. A counter without a number begins anew.
fresh.foreign = TABLE
function lib.safe_call(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if command == 'HINCRBY' and string.find(reply.err, 'not an integer', 1, true) then
    local field, delta = ...
    call('HSET', key, field, delta)
    return tonumber(delta)
  end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then return call(command, key, ...) end
  ctx.foreign[key] = true
  lib.note_broken(key)
  return blank(command)
end

-- The beginning of a text, at most so many bytes, without a broken character at its end.
function lib.shortened(whole, most)
  if #whole <= most then return whole end
  while most > 0 and floor(string.byte(whole, most + 1) / 64) == 2 do most = most - 1 end
  return string.sub(whole, 1, most)
end

-- Counts tasks of a lane that come into a state, or leave it. The default lane has no such counters: it is the rest. The
-- lane '' stands for all others together.
function lib.count_in_lane(lane, state, count)
  if not lane or lane == 'default' or state == '' then return end
  lib.add(ctx.lane_states, lane, state, count)
  lib.add(ctx.lane_states, '', state, count)
end

-- A task goes from one state to another ('' = not there). The caller writes the record itself.
function lib.move(id, from, to, name, kind, lane)
  if from ~= '' then lib.append(ctx.leaving, from, id) end
  if to ~= '' then lib.append_scored(ctx.entering, to, NOW, id) end
  local by_name = ctx.moves[name]
  if not by_name then by_name = {}; ctx.moves[name] = by_name end
  local by_kind = by_name[kind or 'task']
  if not by_kind then by_kind = {}; by_name[kind or 'task'] = by_kind end
  lib.add(by_kind, from, to, 1)
  if lane and lane ~= 'default' then
    lib.count_in_lane(lane, from, -1)
    lib.count_in_lane(lane, to, 1)
    if from == '' then lib.collect_count('@in|' .. lane, 1) end
  end
  if lib.is_listened() then
    lib.tell_event(id, { name = name, from = from, to = to })
  end
end

-- Raises if the agenda cannot be written: no task may begin that needs an entry there.
function lib.need_agenda() call('ZCARD', P .. ':agenda') end

function lib.schedule(member, at) lib.append_scored(ctx.agenda_in, 1, lib.text(at), member) end
function lib.unschedule(member) lib.append(ctx.agenda_out, 1, member) end

-- The locked tasks of a name have no counter: they are the rest of its index, see task_counts.lua.
function lib.write_tally(prefix, map)
  for key, row in pairs(map) do
    for state, delta in pairs(row) do
      if delta ~= 0 and (state ~= 'locked' or prefix ~= 'n|') then
        lib.count(prefix .. key .. '|' .. state, delta)
      end
    end
  end
end

-- The display counters: by name and state, by kind and state, and by transition within the minute. Kind `task` has none:
-- it is the rest.
local function write_moves()
  local names, kinds, flows = {}, {}, {}
  for name, by_kind in pairs(ctx.moves) do
    for kind, by_from in pairs(by_kind) do
      for from, by_to in pairs(by_from) do
        for to, count in pairs(by_to) do
          flows[from .. '>' .. to] = (flows[from .. '>' .. to] or 0) + count
          if from ~= '' then lib.add(names, name, from, -count) end
          if to ~= '' then lib.add(names, name, to, count) end
          if kind ~= 'task' and from ~= '' then lib.add(kinds, kind, from, -count) end
          if kind ~= 'task' and to ~= '' then lib.add(kinds, kind, to, count) end
        end
      end
    end
  end
  lib.write_tally('n|', names); lib.write_tally('k|', kinds)
  for flow, count in pairs(flows) do lib.count_minute('tr|' .. flow, count) end
  for field, count in pairs(ctx.collected_counts) do lib.count_field(field, count) end
end

-- Counts something within the minute, written with the moves.
function lib.collect_count(field, count) ctx.collected_counts[field] = (ctx.collected_counts[field] or 0) + count end

function lib.flush()
  for state, ids in pairs(ctx.leaving) do lib.call_sliced('ZREM', P .. ':state:' .. state, ids) end
  for state, scored in pairs(ctx.entering) do lib.call_sliced('ZADD', P .. ':state:' .. state, scored) end
  if ctx.agenda_out[1] then lib.call_sliced('ZREM', P .. ':agenda', ctx.agenda_out[1]) end
  if ctx.agenda_in[1] then lib.call_sliced('ZADD', P .. ':agenda', ctx.agenda_in[1]) end
  write_moves()
  lib.write_tally('s|', ctx.lane_states)
  ctx.leaving, ctx.entering, ctx.agenda_in, ctx.agenda_out, ctx.moves = {}, {}, {}, {}, {}
  ctx.lane_states, ctx.collected_counts = {}, {}
end

-- Writes a line of the task's log, which is capped.
function lib.log_line(id, line)
  line.t = now
  local key = lib.task_key(id) .. SUBKEY.log
  lib.try('RPUSH', key, cjson.encode(line)); lib.try('LTRIM', key, -100, -1)
end
