#!lua flags=allow-oom
-- command: all work on the commands of a pool in one call. It stores the outcomes of commands taken here, applies
-- commands for tasks of this pool, and takes due commands. Each has an id: a repeated command changes nothing.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many to take beside those that this call writes (-1: none at all), 2 how many results, 3 how many to apply,
--       4 '' , 5 rules; result: id, version, word (a command's own, FAILED, LATER), detail; to apply: the pool of its
--       sender, number of field values, fields (name, value, ...).
-- Reply: word (OK GONE OLD OPEN DONE KEPT WAITS UNKNOWN) and detail of each applied command; taken commands (id, fields);
--        '1' if more are due; composites that ended (id, kind, name, state, root).
-- Transitions: activate, gather, cancel, retry, discard.
--@needs caller_news lanes minute_counts outbox outbox_dispatch phases transitions wakeup

lib.need_agenda()

local position = 5

-- A newer command may have the same id. It is not settled by this result.
local function conclude(cid, version, word, detail)
  local command = lib.read_command(cid)
  if not command or command.vn ~= version then return end
  if word == 'FAILED' or word == 'LATER' then return lib.defer_command(command, detail, word == 'LATER') end
  if word == 'GONE' or word == 'OLD' then lib.count_minute('cmd|dropped', 1) end
  lib.forget_command(cid)
  local reply = lib.hooks.reply[command.v]
  if reply then reply(command, word, detail) end
  lib.settle_up()
end

local function read_argument()
  local command, last = { from = ARGV[position + 1] }, position + 2 + tonumber(ARGV[position + 2])
  for i = position + 3, last, 2 do command[ARGV[i]] = ARGV[i + 1] end
  position = last
  return command
end

for _ = 1, tonumber(ARGV[2]) do
  conclude(ARGV[position + 1], ARGV[position + 2], ARGV[position + 3], ARGV[position + 4])
  position = position + 4
end

local words = {}
for _ = 1, tonumber(ARGV[3]) do
  local command = read_argument()
  local effect, word, detail = lib.hooks.effect[command.v], 'UNKNOWN', ''
  if effect then word, detail = effect(command) end
  lib.settle_up()
  words[#words + 1] = word
  words[#words + 1] = detail or ''
end
lib.count_minute('cmd|applied', tonumber(ARGV[3]))
local most = tonumber(ARGV[1])
local taken = lib.deliver(most)
lib.wake(ctx.brought)
return { words, taken, most > 0 and #taken >= most and '1' or '', ctx.ended_wholes }
