#!lua flags=no-writes
-- dead_follow_ups: the tasks with follow-ups that could not be pushed, the latest first.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many at most
-- Reply: for each: id, ms of the last one, name, state, how many, line of its log about the last one ('' if the log has none).
-- Transitions: none.
--@needs dead_follow_ups store_helpers tolerant_reads

lib.tolerate()

local LINES = 20

local function last_line(id)
  local lines = call('LRANGE', lib.task_key(id) .. '#log', -LINES, -1)
  for i = #lines, 1, -1 do
    if string.find(lines[i], '"k":"follow_up"', 1, true) then return lines[i] end
  end
  return ''
end

local reply = {}
local found = call('ZREVRANGE', P .. ':follow_ups:dead', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local count, name, state = lib.dead_follow_ups_of(found[i])
  if count > 0 then reply[#reply + 1] = { found[i], found[i + 1], name, state, count, last_line(found[i]) } end
end
return lib.told(reply)
