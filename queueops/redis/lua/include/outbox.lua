-- The outbox: what a transition means for a task of another pool, as a command. The script that makes the transition writes
-- it (`send`); whoever takes it holds it for a while, applies it there by the script `command`, and says here how that went.
local COMMAND = P .. ':command:'
local COMMANDS, COMMANDS_LOCKED, COMMANDS_DEAD = P .. ':commands', P .. ':commands_locked', P .. ':commands:dead'
local MOST_TRIES, MOST_DEAD, UNREACHED_MS = 20, 10000, 86400000
local COMMAND_LOCK_MS, COMMAND_BYTES = 5000, 4194304
local SILENT_MS = 20000 -- a worker that lives is heard of every five seconds
local outbox = { fresh = {}, touched = false } -- fresh: those that this call has written

-- The id and the pool of a task that is known as `<id>#<pool>`, for it is in another pool; nil when it is in this one.
local function far(ref)
  local at = string.find(ref, '#', 1, true)
  if at then return string.sub(ref, 1, at - 1), string.sub(ref, at + 1) end
end

local function put_command(cid, verb, pool, id, sender, uid, round, ...)
  call('HSET', COMMAND .. cid, 'v', verb, 'to', pool, 'i', id, 'me', sender, 'u', uid or '', 'rn', round or 0, 't', NOW,
    'vn', next_number(), 'n', 0, ...)
  try('ZADD', COMMANDS, NOW, cid)
  try('ZREM', COMMANDS_DEAD, cid)
  count_minute('cmd|sent', 1)
  outbox.fresh[#outbox.fresh + 1] = cid
  outbox.touched = true
end

-- A command of `sender` for the task `id` of `pool`: both know the generation `uid` of the parent of the two, and its round.
local function send(verb, pool, id, sender, uid, round, ...)
  put_command(string.format('%016.0f', next_number()), verb, pool, id, sender, uid, round, ...)
end

-- The same where only the latest counts: it takes the place of the one before.
local function send_latest(verb, pool, id, sender, uid, round, ...)
  put_command(verb .. ':' .. (#sender > 150 and redis.sha1hex(sender) or sender), verb, pool, id, sender, uid, round, ...)
end

local function read_command(cid)
  local flat, command = call('HGETALL', COMMAND .. cid), { cid = cid }
  for i = 1, #flat, 2 do command[flat[i]] = flat[i + 1] end
  return command.v and command, flat
end

local function forget_command(cid)
  call('DEL', COMMAND .. cid)
  for _, key in ipairs({ COMMANDS, COMMANDS_LOCKED, COMMANDS_DEAD }) do call('ZREM', key, cid) end
  outbox.touched = true
end

-- It could not be applied: again a little later, or never when it was tried often enough. A pool that can't be reached
-- (`later`) is no fault of the command: it is tried for a day.
local function defer_command(command, reason, later)
  local cid, tries = command.cid, call('HINCRBY', COMMAND .. command.cid, 'n', 1)
  outbox.touched = true
  call('HSET', COMMAND .. cid, 'le', shortened(reason, 500))
  call('ZREM', COMMANDS_LOCKED, cid)
  local is_old = not later or now - (number_of(command.t) or 0) > UNREACHED_MS
  if tries >= MOST_TRIES and is_old and call('ZCARD', COMMANDS_DEAD) < MOST_DEAD then
    call('ZREM', COMMANDS, cid)
    count_minute('cmd|dead', 1)
    return call('ZADD', COMMANDS_DEAD, NOW, cid)
  end
  count_minute('cmd|failed', 1)
  local spread = ((number_of(command.vn) or 0) * 7919 + tries * 104729) % 1000
  local ms = min(60000, 250 * 2 ^ (min(tries, 10) - 1)) * (0.5 + spread / 2000)
  call('ZADD', COMMANDS, text(floor(now + ms)), cid)
end

-- Those that were taken by somebody who has not said how it went.
local function unlock_commands()
  outbox.touched = true
  for _, cid in ipairs(try('ZRANGEBYSCORE', COMMANDS_LOCKED, '-inf', now, 'LIMIT', 0, 100) or {}) do
    local command = read_command(cid)
    if command then defer_command(command, 'the worker that took it did not say how it went', true) else forget_command(cid) end
  end
end

-- Those that have waited longest, and a tenth from the other end: a new one doesn't wait behind thousands.
local function due_commands(most)
  local share = floor(most / 10)
  local found = try('ZRANGEBYSCORE', COMMANDS, '-inf', now, 'LIMIT', 0, most) or {}
  if #found < most then return found end
  local newest, seen = try('ZREVRANGEBYSCORE', COMMANDS, now, '-inf', 'LIMIT', 0, share) or {}, {}
  for i = 1, most - share do seen[found[i]] = true end
  for i = 1, share do found[most - share + i] = nil end
  for i = #newest, 1, -1 do if not seen[newest[i]] then found[#found + 1] = newest[i] end end
  return found
end

-- Those that this call has written, and at most so many others that are due, for the caller to apply: id, fields.
local function take_commands(most)
  local taken, bytes, wanted, seen = {}, 0, {}, {}
  for i = 1, min(500, #outbox.fresh) do wanted[i] = outbox.fresh[i] end
  for _, cid in ipairs(most > 0 and due_commands(most) or {}) do wanted[#wanted + 1] = cid end
  for _, cid in ipairs(wanted) do
    local command, flat = read_command(cid)
    if not command then
      forget_command(cid)
    elseif not seen[cid] then
      call('ZREM', COMMANDS, cid)
      call('ZADD', COMMANDS_LOCKED, text(now + COMMAND_LOCK_MS), cid)
      taken[#taken + 1] = { cid, flat }
      seen[cid] = true
      for i = 2, #flat, 2 do bytes = bytes + #flat[i] end
      if bytes > COMMAND_BYTES then break end
    end
  end
  outbox.touched = outbox.touched or #taken > 0
  return taken
end

-- The agenda knows when the next command is due, or the next lock ends.
local function remind_of_commands()
  local first = try('ZRANGE', COMMANDS, 0, 0, 'WITHSCORES') or {}
  local locked = try('ZRANGE', COMMANDS_LOCKED, 0, 0, 'WITHSCORES') or {}
  local at = min(first[2] and max(tonumber(first[2]), now + 100) or 1e15, tonumber(locked[2] or 1e15))
  if at == 1e15 then return call('ZREM', P .. ':agenda', '~commands:') end
  call('ZADD', P .. ':agenda', text(at), '~commands:')
end

-- Somebody who takes what was written here: an idle worker, else one that is busy and takes it between two tasks. Whether
-- there is one, who has been heard of lately.
local function announce_commands()
  if wake_one() then return true end
  local worker = try('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - SILENT_MS, 'LIMIT', 0, 1)
  if not (worker and worker[1]) then return false end
  local key = P .. ':wake:' .. worker[1]
  call('LPUSH', key, 'commands'); call('LTRIM', key, 0, 99); call('EXPIRE', key, 60)
  return true
end

-- The last thing that a script does which may have written commands. The caller takes those, and at most so many others
-- (-1: none at all). Answers, besides, whether something was written and nobody is there to bring it, but the caller.
local function close_outbox(most)
  local fresh, taken, alone = #outbox.fresh, {}, false
  if most >= 0 and (fresh > 0 or (most > 0 and call('EXISTS', COMMANDS) == 1)) then taken = take_commands(most) end
  if fresh > #taken then alone = not announce_commands() end
  if outbox.touched then remind_of_commands() end
  return taken, alone
end
