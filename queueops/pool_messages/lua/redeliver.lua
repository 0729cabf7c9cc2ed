#!lua flags=allow-oom
-- redeliver: tries commands again at once, or drops them for good, for an operator. A command that a worker has taken is
-- left alone. An entry that is not a command can only be dropped.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb (requeue, drop), 2 how many of the dead, when no ids follow, 3.. ids
-- Reply: how many dead are left; for each: id, word (OK REFUSED GONE), where it was (due, locked, dead).
-- Transitions: none.
--@needs minute_counts outbox

for _, key in ipairs({ ctx.COMMANDS, ctx.COMMANDS_LOCKED, ctx.COMMANDS_DEAD }) do call('ZCARD', key) end -- or nothing is written
local verb, ids, reply = ARGV[1], {}, { 0 }
for i = 3, #ARGV do ids[#ids + 1] = ARGV[i] end
if #ids == 0 then ids = call('ZRANGE', ctx.COMMANDS_DEAD, 0, tonumber(ARGV[2]) - 1) end

local function place_of(cid)
  if call('ZSCORE', ctx.COMMANDS_LOCKED, cid) then return 'locked' end
  if call('ZSCORE', ctx.COMMANDS_DEAD, cid) then return 'dead' end
  return call('ZSCORE', ctx.COMMANDS, cid) and 'due'
end

for _, cid in ipairs(ids) do
  local place, word = place_of(cid), 'OK'
  if not place then
    word = 'GONE'
  elseif place == 'locked' then
    word = 'REFUSED'
  elseif verb == 'drop' then
    lib.forget_command(cid)
    lib.count_minute('cmd|lost', 1)
  elseif lib.read_command(cid) == false then
    word = 'REFUSED'
    lib.set_aside(cid)
  else
    call('HSET', ctx.COMMAND .. cid, 'n', 0)
    call('ZREM', ctx.COMMANDS_DEAD, cid)
    call('ZADD', ctx.COMMANDS, NOW, cid)
    ctx.outbox.fresh[#ctx.outbox.fresh + 1] = cid
    ctx.outbox.touched = true
  end
  for _, part in ipairs({ cid, word, place or '' }) do reply[#reply + 1] = part end
end
lib.hooks.deliver(-1)
reply[1] = call('ZCARD', ctx.COMMANDS_DEAD)
return reply
