-- State transitions: collects moves between states, and writes them in flush(), which a script calls between its phases.
-- So a batch of tasks costs one ZADD and one ZREM for each state. LEASED, TIMED, ... come from states.py.
local leaving, entering, agenda_in, agenda_out, moves, lane_tally = {}, {}, {}, {}, {}, {}
local moves_of_chunks = {}

-- Reads a whole record as a table. Nil if there is none, false if the key is not a record.
local function read_record(id)
  local reply = redis.pcall('HGETALL', task_key(id))
  if reply.err then return false end
  if #reply == 0 then return nil end
  local record = {}
  for i = 1, #reply, 2 do record[reply[i]] = reply[i + 1] end
  if not (record.s and record.n) then return false end
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
local foreign = {}
local function safe_call(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if command == 'HINCRBY' and string.find(reply.err, 'not an integer', 1, true) then
    local field, delta = ...
    call('HSET', key, field, delta)
    return tonumber(delta)
  end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then return call(command, key, ...) end
  foreign[key] = true
  note_broken(key)
  return blank(command)
end

-- The beginning of a text, at most so many bytes, without a broken character at its end.
local function shortened(whole, most)
  if #whole <= most then return whole end
  while most > 0 and floor(string.byte(whole, most + 1) / 64) == 2 do most = most - 1 end
  return string.sub(whole, 1, most)
end

-- A task goes from one state to another ('' = not there). The caller writes the record itself.
local function move(id, from, to, name, kind)
  if from ~= '' then append(leaving, from, id) end
  if to ~= '' then append_scored(entering, to, NOW, id) end
  local by_name = moves[name]
  if not by_name then by_name = {}; moves[name] = by_name end
  local by_kind = by_name[kind or 'task']
  if not by_kind then by_kind = {}; by_name[kind or 'task'] = by_kind end
  add(by_kind, from, to, 1)
  if is_listened() then
    tell_event(id, { name = name, from = from, to = to })
  end
end

-- Raises if the agenda cannot be written: no task may begin that needs an entry there.
local function need_agenda() call('ZCARD', P .. ':agenda') end

local function schedule(member, at) append_scored(agenda_in, 1, text(at), member) end
local function unschedule(member) append(agenda_out, 1, member) end

local function write_tally(prefix, map)
  for key, row in pairs(map) do
    for state, delta in pairs(row) do
      if delta ~= 0 then
        local field = prefix .. key .. '|' .. state
        if try('HINCRBY', P .. ':counts', field, delta) == 0 then call('HDEL', P .. ':counts', field) end
      end
    end
  end
end

-- The display counters: by name and state, by kind and state, and by transition within the minute. Kind `task` has none:
-- it is the rest.
local function write_moves()
  local names, kinds, flows = {}, {}, {}
  for name, by_kind in pairs(moves) do
    for kind, by_from in pairs(by_kind) do
      for from, by_to in pairs(by_from) do
        for to, count in pairs(by_to) do
          flows[from .. '>' .. to] = (flows[from .. '>' .. to] or 0) + count
          if from ~= '' then add(names, name, from, -count) end
          if to ~= '' then add(names, name, to, count) end
          if kind ~= 'task' and from ~= '' then add(kinds, kind, from, -count) end
          if kind ~= 'task' and to ~= '' then add(kinds, kind, to, count) end
        end
      end
    end
  end
  write_tally('n|', names); write_tally('k|', kinds)
  for flow, count in pairs(flows) do count_minute('tr|' .. flow, count) end
  for from, row in pairs(moves_of_chunks) do
    for to, count in pairs(row) do count_minute('ch|' .. from .. '>' .. to, count) end
  end
end

local function flush()
  for state, ids in pairs(leaving) do call_sliced('ZREM', P .. ':state:' .. state, ids) end
  for state, scored in pairs(entering) do call_sliced('ZADD', P .. ':state:' .. state, scored) end
  if agenda_out[1] then call_sliced('ZREM', P .. ':agenda', agenda_out[1]) end
  if agenda_in[1] then call_sliced('ZADD', P .. ':agenda', agenda_in[1]) end
  write_moves()
  write_tally('l|', lane_tally)
  leaving, entering, agenda_in, agenda_out, moves, lane_tally = {}, {}, {}, {}, {}, {}
  moves_of_chunks = {}
end

-- Writes a line of the task's log, which is capped.
local function log_line(id, line)
  line.t = now
  local key = task_key(id) .. '#log'
  try('RPUSH', key, cjson.encode(line)); try('LTRIM', key, -100, -1)
end
