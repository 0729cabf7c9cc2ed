#!lua flags=allow-oom
-- dead_worker: takes back the leases of a dead worker: settles the running tasks, releases the others. Also for a worker
-- that lost the reply of an exchange, and so does not know its leases. Outcome `keep` leaves a lease unchanged.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 leased state to look through, 3 first time of entry, 4 number of running tasks, 5 rules; then for
--       each running one: id, fence, outcome, value, delay ms, fingerprint, title.
-- Reply: number of leases taken back, next time of entry to look at ('' = none is left), composites that ended (id, kind,
--        name, state, root).
-- Transitions: settle, release, recover.
--@needs caller_news lanes minute_counts numbers outbox_dispatch outcomes phases settle store_helpers
--@needs transitions wakeup

lib.need_agenda()

local worker, state, from, running = ARGV[1], ARGV[2], ARGV[3], {}
local index = P .. ':state:' .. state
local position = 5
for _ = 1, tonumber(ARGV[4]) do
  running[ARGV[position + 1]] = position
  position = position + 7
end

local FAILURES = { error = true, timeout = true, crash = true }

local function count_failure(id, outcome)
  if not FAILURES[outcome] then return end
  local _, name = lib.values_of(lib.task_key(lib.is_foreign(id) and lib.hooks.parts.task_of(id) or id), F.name)
  if name then lib.count_minute('err|' .. name, 1) end
end

-- Takes back one lease. Whatever its worker sends later is stale.
local function take_back(id, fence)
  local judged = running[id]
  if judged and ARGV[judged + 2] == fence then
    if ARGV[judged + 3] == 'keep' then return 0 end
    if lib.settle(judged) ~= 'OK' then return 0 end
    count_failure(id, ARGV[judged + 3])
  else
    local record = lib.is_foreign(id) or lib.read_record(id)
    if not record then return 0 end -- what can't be read is put aside when its lease ends
    if lib.is_foreign(id) then lib.hooks.parts.release(id) else lib.outcomes.release(id, record) end
  end
  if call('EXISTS', lib.task_key(id)) == 1 then call('HSET', lib.task_key(id), F.fence, lib.next_number()) end
  return 1
end

-- By time of entry, which a lease keeps to its end. A rank would change with every lease that ends meanwhile.
local found = lib.safe_call('ZRANGEBYSCORE', index, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
local more = #found == 1000 and found[#found] or ''
if more ~= '' and more == found[2] then -- all of them entered at once: these, to the last one, and on
  found = lib.safe_call('ZRANGEBYSCORE', index, more, more, 'WITHSCORES')
  more = '(' .. more
end
local taken = 0
for i = 1, #found, 2 do
  local id = found[i]
  local row = lib.named_fields(lib.task_key(id), F.worker, F.fence, F.state)
  if row and row[F.worker] == worker and row[F.state] == state then taken = taken + take_back(id, row[F.fence]) end
end
lib.settle_up()
lib.deliver(-1)
lib.try('ZREM', P .. ':idle', worker)
lib.wake(ctx.brought)
return { taken, more, ctx.ended_wholes }
