-- Dispatch of the outbox: takes due commands, unlocks overdue ones, and wakes a worker for new ones.
-- Unlocks commands whose process did not report an outcome in time.
--@needs lanes minute_counts outbox transitions wakeup

function lib.hooks.due_entry.commands()
  ctx.outbox.touched = true
  for _, cid in ipairs(lib.try('ZRANGEBYSCORE', ctx.COMMANDS_LOCKED, '-inf', now, 'LIMIT', 0, 100) or {}) do
    local command = lib.read_command(cid)
    if command then
      lib.defer_command(command, 'the worker that took it did not say how it went', true)
    elseif command == false then
      lib.set_aside(cid)
    else
      lib.forget_command(cid)
    end
  end
end

-- The commands that have waited longest, and a tenth from the other end. So a new command does not wait behind thousands.
local function due_commands(most)
  local share = floor(most / 10)
  local found = lib.try('ZRANGEBYSCORE', ctx.COMMANDS, '-inf', now, 'LIMIT', 0, most) or {}
  if #found < most then return found end
  local newest, seen = lib.try('ZREVRANGEBYSCORE', ctx.COMMANDS, now, '-inf', 'LIMIT', 0, share) or {}, {}
  for i = 1, most - share do seen[found[i]] = true end
  for i = 1, share do found[most - share + i] = nil end
  for i = #newest, 1, -1 do if not seen[newest[i]] then found[#found + 1] = newest[i] end end
  return found
end

-- Takes the commands that this call wrote, and at most `most` other due commands. The caller applies them: id, fields.
local function take_commands(most)
  local taken, bytes, wanted, seen = {}, 0, {}, {}
  for i = 1, min(500, #ctx.outbox.fresh) do wanted[i] = ctx.outbox.fresh[i] end
  for _, cid in ipairs(most > 0 and due_commands(most) or {}) do wanted[#wanted + 1] = cid end
  for _, cid in ipairs(wanted) do
    local command, flat = lib.read_command(cid)
    if command == nil then
      lib.forget_command(cid)
    elseif not command then
      lib.set_aside(cid)
    elseif not seen[cid] then
      lib.safe_call('ZREM', ctx.COMMANDS, cid)
      lib.safe_call('ZADD', ctx.COMMANDS_LOCKED, lib.text(now + lib.COMMAND_LOCK_MS), cid)
      taken[#taken + 1] = { cid, flat }
      seen[cid] = true
      for i = 2, #flat, 2 do bytes = bytes + #flat[i] end
      if bytes > lib.COMMAND_BYTES then break end
    end
  end
  ctx.outbox.touched = ctx.outbox.touched or #taken > 0
  return taken
end

-- Writes to the agenda when the next command is due, or when the next lock ends.
local function remind_of_commands()
  local first = lib.try('ZRANGE', ctx.COMMANDS, 0, 0, 'WITHSCORES') or {}
  local locked = lib.try('ZRANGE', ctx.COMMANDS_LOCKED, 0, 0, 'WITHSCORES') or {}
  local at = min(first[2] and max(tonumber(first[2]), now + 100) or 1e15, tonumber(locked[2] or 1e15))
  if at == 1e15 then return call('ZREM', P .. ':agenda', '~commands:') end
  call('ZADD', P .. ':agenda', lib.text(at), '~commands:')
end

-- Wakes a worker to take the commands written here: an idle worker, else a busy one. A busy worker takes them between two
-- tasks. Returns whether there is a live worker.
local function announce_commands()
  if lib.wake_one() then return true end
  local worker = lib.try('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - lib.SILENT_MS, 'LIMIT', 0, 1)
  if not (worker and worker[1]) then return false end
  local key = P .. ':wake:' .. worker[1]
  lib.safe_call('LPUSH', key, 'commands'); lib.safe_call('LTRIM', key, 0, 99); lib.safe_call('EXPIRE', key, 60)
  return true
end

-- Last step of a script that may have written commands. The caller takes those, and at most `most` others (-1: none at
-- all). Also returns whether only the caller can deliver the written commands,
-- and whether the outbox changed.
function lib.hooks.deliver(most)
  local fresh, taken, alone = #ctx.outbox.fresh, {}, false
  if most >= 0 and (fresh > 0 or (most > 0 and not ctx.calm and call('EXISTS', ctx.COMMANDS) == 1)) then taken = take_commands(most) end
  if fresh > #taken then alone = not announce_commands() end
  if ctx.outbox.touched then remind_of_commands() end
  return taken, alone, ctx.outbox.touched
end

function lib.hooks.messages_key() return P .. ':commands' end
