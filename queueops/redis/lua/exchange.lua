#!lua flags=allow-oom
-- exchange: the worker's round trip: settles ended tasks, renews leases, promotes due tasks, claims the next tasks.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 want, 3 '1' when the worker has nothing else to do, then its patterns of lanes and its kinds, as
--       served_lanes.lua reads them, 4 longest sleep in ms, 5 rules (see rules.lua), 6..8 how many settlements,
--       extensions and metrics follow, 9 how many commands it takes beside those that this call writes (-1: none at all);
--       settlement: id, fence, outcome, value, and for all but a success: delay ms, fingerprint, title, '1' if it
--       costs an attempt;
--       extension: id, fence, ms left to the task's own limit (-1: none); metric: field, count; behind one success alone
--       the lane of its lease.
-- Reply: leases (id, fence, ms waited, fields), words of the settlements, lost ids, cancelled ids with reasons, ms until
--        the next agenda entry, '1' if more tasks are ready, commands (id, fields), Redis' time in ms, the cancelled ids
--        to interrupt, ended composites (id, kind, name, state, root). Of a fast path: ms, time, '1' if more are ready, lease.
-- Transitions: claim, settle, release, promote, recover, expire, quarantine.
--@needs agenda caller_news claim claim_on_settle fast_settle fast_swap lanes minute_counts outbox
--@needs outbox_dispatch phases rules served_lanes settle store_helpers transitions wakeup

local worker, want, idle, longest = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
local has_patterns = #ARGV[3] > 1
local position = 9
-- Most calls settle one task: to go on with the next one, or while nothing else is there. One command tells, in place of
-- one for each key.
local lane = lib.lane_of_end()
local obstacles = ARGV[6] == '1' and ARGV[7] == '0' and lib.obstacles_at_end(worker, lane)
local calm, rest = obstacles == 0, nil
if obstacles and ARGV[8] == '0' then
  if obstacles > 0 and want == 1 and not has_patterns then
    local lease, wait, more = lib.swap_fast(worker, obstacles, lane)
    if lease then return { min(wait, longest), NOW, more and '1' or '', lease } end
  end
  if idle then rest = lib.settle_fast(obstacles, lane) end
end
if rest then
  local sleep = min(rest, longest)
  lib.try('ZADD', P .. ':idle', lib.text(now + sleep), worker)
  return { sleep, NOW }
end

local words, lost, cancels, hard = {}, {}, {}, {}
ctx.at_once.room, ctx.at_once.worker, ctx.caller = want, worker, worker
if has_patterns then idle, longest = string.byte(ARGV[3]) == 49, min(longest, lib.serve_only(ARGV[3])) end
-- An idle worker's call with no data only checks for work. Usually there is none, and the call stays cheap.
local looks = idle and ARGV[6] == '0' and ARGV[7] == '0'
if calm then ctx.calm, ctx.listened, ctx.lane_confs[lane] = true, false, { paused = false, weight = 1 } end
if ARGV[6] ~= '0' then lib.need_agenda() end
for i = 1, tonumber(ARGV[6]) do
  words[i] = lib.settle(position)
  if words[i] == 'STALE' then lib.count_minute('stale', 1) end
  position = position + (ARGV[position + 3] == 'success' and 4 or 8)
end
lib.settle_up()

for _ = 1, tonumber(ARGV[7]) do
  local id, fence, left = ARGV[position + 1], ARGV[position + 2], tonumber(ARGV[position + 3])
  local _, state, current, reason, handed,
    by_force = lib.values_of(lib.task_key(id), F.state, F.fence, F.cancel_requested, F.handed, F.cancelled_hard)
  if state and LEASED[state] and current == fence then
    local ms = left < 0 and ctx.RULES.lease or min(ctx.RULES.lease, left)
    call('ZADD', P .. ':agenda', 'XX', lib.text(now + ms), id)
    if handed then call('HDEL', lib.task_key(id), F.handed) end -- the worker has what it was handed
    if lib.is_foreign(id) then
      local its_reason, is_hard = lib.hooks.parts.end_of(id)
      if its_reason then reason, by_force = its_reason, is_hard end
    end
    if reason then cancels[#cancels + 1] = id; cancels[#cancels + 1] = reason end
    if reason and by_force then hard[#hard + 1] = id end
  else
    lost[#lost + 1] = id
    if state then lib.count_minute('stale', 1) end
  end
  position = position + 3
end

for _ = 1, tonumber(ARGV[8]) do
  local field = ARGV[position + 1]
  lib.count_field(field, tonumber(ARGV[position + 2]))
  if field == '@ok|default' then lib.try('ZADD', P .. ':lanes', NOW, 'default') end -- a hand-over does not list it
  position = position + 2
end

rest = lib.act_on_due(max(16, want))
if not rest then ctx.calm = false end
local still = looks and rest and call('EXISTS', P .. ':lanes:ready', ctx.COMMANDS) == 0
local leases = want > 0 and not still and lib.claim(want, worker, ctx.RULES.lease, ctx.at_once.leases) or {}
local commands, _, changed = {}, nil, false
if not still then commands, _, changed = lib.deliver(tonumber(ARGV[9])) end
local nothing = still or (ctx.nothing_ready and rest and #commands == 0 and not changed)
local more = not nothing and call('ZCARD', P .. ':lanes:ready') > ctx.passed
local sleep = nothing and min(rest, longest) or lib.until_due(longest)
if idle and #leases == 0 and not more then
  if ctx.passed > 0 then lib.wake_workers(ctx.brought) end -- others may claim what this one may not
  if not has_patterns then lib.try('ZADD', P .. ':idle', now + sleep, worker) end
  if looks then lib.try('ZADD', P .. ':workers', 'XX', NOW, worker) end -- its heartbeat, as long as it has nothing else to say
else
  lib.try('ZREM', P .. ':idle', worker)
  lib.wake(more and max(ctx.brought, 1) or has_patterns and ctx.brought or 0)
end
return { leases, words, lost, cancels, sleep, more and '1' or '', commands, NOW, hard, ctx.ended_wholes }
