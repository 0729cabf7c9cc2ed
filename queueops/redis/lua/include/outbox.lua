-- The outbox: commands for tasks of other pools. The script that makes a transition writes its commands (`send`). A
-- process takes a command for a limited time. It applies it in the other pool by the script `command`, and reports the
-- outcome here.
local COMMAND = P .. ':command:'
local COMMANDS, COMMANDS_LOCKED, COMMANDS_DEAD = P .. ':commands', P .. ':commands_locked', P .. ':commands:dead'
local MOST_TRIES, MOST_DEAD, UNREACHED_MS = 20, 10000, 86400000
local COMMAND_LOCK_MS, COMMAND_BYTES = 5000, 4194304
local SILENT_MS = 20000 -- a worker that lives is heard of every five seconds
local outbox = { fresh = {}, touched = false } -- fresh: those that this call has written

-- Id and pool of a task in another pool, written `<id>#<pool>`; nil for a task of this pool.
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

-- Writes a command from the task `sender` to the task `id` of `pool`. One of the two is the other's parent; `uid` and `round`
-- are the parent's generation and round.
local function send(verb, pool, id, sender, uid, round, ...)
  put_command(string.format('%016.0f', next_number()), verb, pool, id, sender, uid, round, ...)
end

-- Writes a command of which only the latest counts: it replaces the one before.
local function send_latest(verb, pool, id, sender, uid, round, ...)
  put_command(verb .. ':' .. (#sender > 150 and redis.sha1hex(sender) or sender), verb, pool, id, sender, uid, round, ...)
end

-- Nil when there is none; false when what is stored is not a command.
local function read_command(cid)
  local flat, command = redis.pcall('HGETALL', COMMAND .. cid), { cid = cid }
  if flat.err then return false end
  if #flat == 0 then return nil end
  for i = 1, #flat, 2 do command[flat[i]] = flat[i + 1] end
  local complete = command.v and command.i and command.me and command.vn
  if not (complete and string.find(command.to or '', '^[%w._:@/=+-]+$')) then return false end
  return command, flat
end

local function take_out(cid, ...)
  for _, key in ipairs({ ... }) do safe_call('ZREM', key, cid) end
  outbox.touched = true
end

local function forget_command(cid)
  call('DEL', COMMAND .. cid)
  take_out(cid, COMMANDS, COMMANDS_LOCKED, COMMANDS_DEAD)
end

-- Moves an entry that is not a command to the dead commands, where an operator drops it. No pool could apply it.
local function set_aside(cid)
  take_out(cid, COMMANDS, COMMANDS_LOCKED)
  if safe_call('ZADD', COMMANDS_DEAD, NOW, cid) == 1 then count_minute('cmd|dead', 1) end
  safe_call('HSET', COMMAND .. cid, 'le', 'this is not a command: a field is missing')
  note_broken(COMMAND .. cid)
end

-- Defers a command that could not be applied. After the last try it is dead. If its pool cannot be reached (`later`), the
-- command is not at fault, and is tried for a day.
local function defer_command(command, reason, later)
  local cid, tries = command.cid, safe_call('HINCRBY', COMMAND .. command.cid, 'n', 1)
  outbox.touched = true
  call('HSET', COMMAND .. cid, 'le', shortened(reason, 500))
  safe_call('ZREM', COMMANDS_LOCKED, cid)
  local is_old = not later or now - (number_of(command.t) or 0) > UNREACHED_MS
  if tries >= MOST_TRIES and is_old and safe_call('ZCARD', COMMANDS_DEAD) < MOST_DEAD then
    safe_call('ZREM', COMMANDS, cid)
    count_minute('cmd|dead', 1)
    return safe_call('ZADD', COMMANDS_DEAD, NOW, cid)
  end
  count_minute('cmd|failed', 1)
  local spread = ((number_of(command.vn) or 0) * 7919 + tries * 104729) % 1000
  local ms = min(60000, 250 * 2 ^ (min(tries, 10) - 1)) * (0.5 + spread / 2000)
  safe_call('ZADD', COMMANDS, text(floor(now + ms)), cid)
end
