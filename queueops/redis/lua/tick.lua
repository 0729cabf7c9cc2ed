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
--@include context
--@include tasks
--@include composites
--@include run_time_stats
--@include chunk_sets
--@include second_run
--@include chunk_outcomes
--@include purge
--@include json_fields
--@include chunk_bulk_verbs
--@include unknown_names
--@include settle
--@include clock_guard
--@include expired_leases
--@include agenda
--@include lost_records
--@include broken_keys

local limit, cap, forget_after, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local function trim(state)
  local key = P .. ':state:' .. state
  local over = min(safe_call('ZCARD', key) - cap, limit)
  if over <= 0 then return end
  for _, id in ipairs(safe_call('ZRANGE', key, 0, over - 1)) do
    local record = read_record(id)
    if record then expire(id, record, true) else forget(id, state) end
    act('trimmed')
  end
  flush()
end

act_on_due(limit)
for state in pairs(TERMINAL) do trim(state) end
look_for_lost()
for _, worker in ipairs(safe_call('ZRANGEBYSCORE', P .. ':workers', '-inf', now - forget_after, 'LIMIT', 0, 100)) do
  call('ZREM', P .. ':workers', worker); safe_call('ZREM', P .. ':idle', worker)
  call('DEL', P .. ':worker:' .. worker, P .. ':wake:' .. worker, P .. ':unable:' .. worker)
  act('forgotten')
end
for _, fingerprint in ipairs(try('ZRANGE', P .. ':errors', 0, (try('ZCARD', P .. ':errors') or 0) - 1001) or {}) do
  call('ZREM', P .. ':errors', fingerprint)
  call('DEL', P .. ':error:' .. fingerprint, P .. ':error:' .. fingerprint .. '#tasks')
end
safe_call('ZREMRANGEBYSCORE', P .. ':idle', '-inf', now - 60000)
for _, index in ipairs({ ':names', ':tags', ':lanes' }) do try('ZREMRANGEBYRANK', P .. index, 0, -10001) end
local _, alone = close_outbox(-1)
if alone then act('commands') end
wake(call('EXISTS', P .. ':lanes:ready') == 1 and max(brought, 1) or 0)
check_numbers()
tell_broken()
local reply = { until_due(longest), ended_wholes }
for word, count in pairs(acted) do reply[#reply + 1] = word; reply[#reply + 1] = count end
return reply
