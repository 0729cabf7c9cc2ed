#!lua
-- enqueue: create tasks whose ids are free. An id that is in use is answered TAKEN and left alone: see `displace`.
-- This is the producer's hot path: it writes each index itself and carries no more of the includes than it uses.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 number of tasks; then for each: id, conflict policy, token, due ('' now, '+ms' from now, or epoch ms),
--       number of field values, and the fields of the record (name, value, ...), the task's name first.
-- Reply: for each task its word (OK TAKEN) and its uid.
-- Transitions: push, postpone.
--@include clock
--@include lanes

local count = tonumber(ARGV[1])
local number = next_number(count) - count
local position, reply, timed = 2, {}, false
local aside = call('EXISTS', P .. ':state:quarantined') == 1 and P .. ':state:quarantined' -- a lost record's id is in use
local states, names, counts, lanes, tags = {}, {}, {}, {}, {}

local function due_of(due)
  if due == '' then return nil end
  local at = string.sub(due, 1, 1) == '+' and now + tonumber(due) or tonumber(due)
  if at > now then return at end
end

for _ = 1, count do
  local id, due, first = ARGV[position], due_of(ARGV[position + 3]), position + 5
  local last = position + 4 + tonumber(ARGV[position + 4])
  position = last + 1
  if call('EXISTS', TASK .. id) == 1 or (aside and call('ZSCORE', aside, id)) then
    reply[#reply + 1] = 'TAKEN'; reply[#reply + 1] = 0
  else
    number = number + 1
    local name, lane, priority, state, kind = ARGV[first + 1], 'default', 0, due and 'postponed' or 'pending', nil
    for i = first + 2, last, 2 do
      local field = ARGV[i]
      if field == 'l' then lane = ARGV[i + 1]
      elseif field == 'p' then priority = number_of(ARGV[i + 1]) or 0
      elseif field == 'k' then kind = ARGV[i + 1]
      elseif field == 'tg' then for tag in string.gmatch(ARGV[i + 1], '[^,]+') do append_scored(tags, tag, number, id) end end
    end
    if due then
      call('HSET', TASK .. id, 's', state, 'c', NOW, 'u', number, 'd', text(due), unpack(ARGV, first, last))
      call('ZADD', P .. ':agenda', text(due), id)
      timed = true
    else
      call('HSET', TASK .. id, 's', state, 'u', number, unpack(ARGV, first, last))
      append_scored(lanes, lane, lane_score(priority, number), id)
    end
    append_scored(states, state, NOW, id)
    append_scored(names, name, number, id)
    add(counts, 'n|' .. name, state, 1)
    if kind then add(counts, 'k|' .. kind, state, 1) end
    if LISTENED then call('PUBLISH', P .. ':events', cjson.encode({ t = now, id = id, name = name, from = '', to = state })) end
    reply[#reply + 1] = 'OK'; reply[#reply + 1] = number
  end
end

for state, scored in pairs(states) do
  call_sliced('ZADD', P .. ':state:' .. state, scored)
  count_minute('tr|>' .. state, #scored / 2)
end
for name, scored in pairs(names) do
  call_sliced('ZADD', P .. ':name:' .. name, scored)
  if count_minute('in|' .. name, #scored / 2) then call('ZADD', P .. ':names', NOW, name) end
end
for tag, scored in pairs(tags) do call_sliced('ZADD', P .. ':tag:' .. tag, scored); call('ZADD', P .. ':tags', NOW, tag) end
for key, row in pairs(counts) do
  for state, delta in pairs(row) do call('HINCRBY', P .. ':counts', key .. '|' .. state, delta) end
end
lane_entries = lanes
flush_lanes()
if wake_workers(brought) or timed then wake_early() end
return reply
