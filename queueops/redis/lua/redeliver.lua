#!lua flags=allow-oom
-- redeliver: tries commands again at once, or drops them for good, for an operator. A command that a worker has taken is
-- left alone. An entry that is not a command can only be dropped.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb (requeue, drop), 2 how many of the dead, when no ids follow, 3.. ids
-- Reply: how many dead are left; for each: id, word (OK REFUSED GONE), where it was (due, locked, dead).
-- Transitions: none.
--@include context
--@include store_helpers
--@include transitions
--@include numbers
--@include rate_limit
--@include lanes
--@include wakeup
--@include outbox
--@include outbox_dispatch

for _, key in ipairs({ COMMANDS, COMMANDS_LOCKED, COMMANDS_DEAD }) do call('ZCARD', key) end -- or nothing is written
local verb, ids, reply = ARGV[1], {}, { 0 }
for i = 3, #ARGV do ids[#ids + 1] = ARGV[i] end
if #ids == 0 then ids = call('ZRANGE', COMMANDS_DEAD, 0, tonumber(ARGV[2]) - 1) end

local function place_of(cid)
  if call('ZSCORE', COMMANDS_LOCKED, cid) then return 'locked' end
  if call('ZSCORE', COMMANDS_DEAD, cid) then return 'dead' end
  return call('ZSCORE', COMMANDS, cid) and 'due'
end

for _, cid in ipairs(ids) do
  local place, word = place_of(cid), 'OK'
  if not place then
    word = 'GONE'
  elseif place == 'locked' then
    word = 'REFUSED'
  elseif verb == 'drop' then
    forget_command(cid)
    count_minute('cmd|lost', 1)
  elseif read_command(cid) == false then
    word = 'REFUSED'
    set_aside(cid)
  else
    call('HSET', COMMAND .. cid, 'n', 0)
    call('ZREM', COMMANDS_DEAD, cid)
    call('ZADD', COMMANDS, NOW, cid)
    outbox.fresh[#outbox.fresh + 1] = cid
    outbox.touched = true
  end
  for _, part in ipairs({ cid, word, place or '' }) do reply[#reply + 1] = part end
end
close_outbox(-1)
reply[1] = call('ZCARD', COMMANDS_DEAD)
return reply
