-- The outbox: commands for tasks of other pools. The script that makes a transition writes its commands (`send`). A
-- process takes a command for a limited time. It applies it in the other pool by the script `command`, and reports the
-- outcome here.
--@needs minute_counts numbers store_helpers transitions

fresh.COMMAND = function() return P .. ':command:' end
fresh.COMMANDS = function() return P .. ':commands' end
fresh.COMMANDS_LOCKED = function() return P .. ':commands_locked' end
fresh.COMMANDS_DEAD = function() return P .. ':commands:dead' end
local MOST_TRIES, MOST_DEAD, UNREACHED_MS = 20, 10000, 86400000
lib.COMMAND_LOCK_MS = 5000
lib.COMMAND_BYTES = 4194304
lib.SILENT_MS = 20000 -- a worker that lives is heard of every five seconds
fresh.outbox = function() return { fresh = {}, touched = false } end -- fresh: those that this call has written

-- Id and pool of a task in another pool, written `<id>#<pool>`; nil for a task of this pool.
function lib.far(ref)
  local at = string.find(ref, '#', 1, true)
  if at then return string.sub(ref, 1, at - 1), string.sub(ref, at + 1) end
end

local function put_command(cid, verb, pool, id, sender, uid, round, ...)
  call('HSET', ctx.COMMAND .. cid, 'v', verb, 'to', pool, 'i', id, 'me', sender, 'u', uid or '', 'rn', round or 0, 't', NOW,
    'vn', lib.next_number(), 'n', 0, ...)
  lib.try('ZADD', ctx.COMMANDS, NOW, cid)
  lib.try('ZREM', ctx.COMMANDS_DEAD, cid)
  lib.count_minute('cmd|sent', 1)
  ctx.outbox.fresh[#ctx.outbox.fresh + 1] = cid
  ctx.outbox.touched = true
end

-- Writes a command from the task `sender` to the task `id` of `pool`. One of the two is the other's parent; `uid` and `round`
-- are the parent's generation and round.
function lib.send(verb, pool, id, sender, uid, round, ...)
  put_command(string.format('%016.0f', lib.next_number()), verb, pool, id, sender, uid, round, ...)
end

-- Writes a command of which only the latest counts: it replaces the one before.
function lib.send_latest(verb, pool, id, sender, uid, round, ...)
  put_command(verb .. ':' .. (#sender > 150 and redis.sha1hex(sender) or sender), verb, pool, id, sender, uid, round, ...)
end

-- Nil when there is none; false when what is stored is not a command.
function lib.read_command(cid)
  local flat, command = redis.pcall('HGETALL', ctx.COMMAND .. cid), { cid = cid }
  if flat.err then return false end
  if #flat == 0 then return nil end
  for i = 1, #flat, 2 do command[flat[i]] = flat[i + 1] end
  local complete = command.v and command.i and command.me and command.vn
  if not (complete and string.find(command.to or '', '^[%w._:@/=+-]+$')) then return false end
  return command, flat
end

local function take_out(cid, ...)
  for _, key in ipairs({ ... }) do lib.safe_call('ZREM', key, cid) end
  ctx.outbox.touched = true
end

function lib.forget_command(cid)
  call('DEL', ctx.COMMAND .. cid)
  take_out(cid, ctx.COMMANDS, ctx.COMMANDS_LOCKED, ctx.COMMANDS_DEAD)
end

-- Moves an entry that is not a command to the dead commands, where an operator drops it. No pool could apply it.
function lib.set_aside(cid)
  take_out(cid, ctx.COMMANDS, ctx.COMMANDS_LOCKED)
  if lib.safe_call('ZADD', ctx.COMMANDS_DEAD, NOW, cid) == 1 then lib.count_minute('cmd|dead', 1) end
  lib.safe_call('HSET', ctx.COMMAND .. cid, 'le', 'this is not a command: a field is missing')
  lib.note_broken(ctx.COMMAND .. cid)
end

-- Defers a command that could not be applied. After the last try it is dead. If its pool cannot be reached (`later`), the
-- command is not at fault, and is tried for a day.
function lib.defer_command(command, reason, later)
  local cid, tries = command.cid, lib.safe_call('HINCRBY', ctx.COMMAND .. command.cid, 'n', 1)
  ctx.outbox.touched = true
  call('HSET', ctx.COMMAND .. cid, 'le', lib.shortened(reason, 500))
  lib.safe_call('ZREM', ctx.COMMANDS_LOCKED, cid)
  local is_old = not later or now - (lib.number_of(command.t) or 0) > UNREACHED_MS
  if tries >= MOST_TRIES and is_old and lib.safe_call('ZCARD', ctx.COMMANDS_DEAD) < MOST_DEAD then
    lib.safe_call('ZREM', ctx.COMMANDS, cid)
    lib.count_minute('cmd|dead', 1)
    lib.safe_call('ZADD', ctx.COMMANDS_DEAD, NOW, cid)
    local tell = lib.hooks.dead_message[command.v]
    return tell and tell(command, reason)
  end
  lib.count_minute('cmd|failed', 1)
  local spread = ((lib.number_of(command.vn) or 0) * 7919 + tries * 104729) % 1000
  local ms = min(60000, 250 * 2 ^ (min(tries, 10) - 1)) * (0.5 + spread / 2000)
  lib.safe_call('ZADD', ctx.COMMANDS, lib.text(floor(now + ms)), cid)
end
