#!lua flags=allow-oom
-- tick: one round of a watchdog. It recovers expired leases, makes due tasks ready, ends retentions, and trims states
-- above their cap. It repeats a wake-up that was lost with its worker. Several watchdogs may call it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 limit of entries, 2 cap of each terminal state, 3 age in ms after which a worker is forgotten,
--       4 longest sleep in ms, 5 rules
-- Reply: ms until the next agenda entry, ended composites (id, kind, name, state, root), then each act and its count
--        (word, count, ...). `broken key <key>` is a key that a script could not write to, `mended key <key>` a key that
--        was set anew.
-- Transitions: promote, recover, expire, quarantine.
--@needs agenda broken_keys caller_news dead_follow_ups lanes minute_counts outbox_dispatch paused_names
--@needs records transitions unserved_lanes wakeup

local limit, cap, forget_after, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local function trim(state)
  local key = P .. ':state:' .. state
  local over = min(lib.safe_call('ZCARD', key) - cap, limit)
  if over <= 0 then return end
  for _, id in ipairs(lib.safe_call('ZRANGE', key, 0, over - 1)) do
    local record = lib.read_record(id)
    if record then lib.expire(id, record, true) else lib.forget(id, state) end
    lib.act('trimmed')
  end
  lib.flush()
end

lib.act_on_due(limit)
lib.pass_unserved_turns()
lib.note_paused()
for state in pairs(TERMINAL) do trim(state) end
lib.trim_dead_follow_ups()
for _, each in pairs(lib.hooks.check) do if each.tick then each.tick() end end
for _, worker in ipairs(lib.safe_call('ZRANGEBYSCORE', P .. ':workers', '-inf', now - forget_after, 'LIMIT', 0, 100)) do
  call('ZREM', P .. ':workers', worker); lib.safe_call('ZREM', P .. ':idle', worker)
  call('DEL', P .. ':worker:' .. worker, P .. ':wake:' .. worker, P .. ':unable:' .. worker)
  lib.act('forgotten')
end
for _, fingerprint in ipairs(lib.try('ZRANGE', P .. ':errors', 0, (lib.try('ZCARD', P .. ':errors') or 0) - 1001) or {}) do
  call('ZREM', P .. ':errors', fingerprint)
  call('DEL', P .. ':error:' .. fingerprint, P .. ':error:' .. fingerprint .. SUBKEY.tasks)
end
lib.safe_call('ZREMRANGEBYSCORE', P .. ':idle', '-inf', now - 60000)
for _, index in ipairs({ ':names', ':tags' }) do lib.try('ZREMRANGEBYRANK', P .. index, 0, -10001) end
lib.try('ZREMRANGEBYRANK', P .. ':lanes', 0, -100001) -- each tenant may have one, and a lane that is cut off is in no list
local _, alone = lib.deliver(-1)
if alone then lib.act('commands') end
lib.wake(call('EXISTS', P .. ':lanes:ready') == 1 and max(ctx.brought, 1) or 0)
lib.check_numbers()
lib.tell_broken()
local reply = { lib.until_due(longest), ctx.ended_wholes }
for word, count in pairs(ctx.acted) do reply[#reply + 1] = word; reply[#reply + 1] = count end
return reply
