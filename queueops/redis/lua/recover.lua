#!lua flags=allow-oom
-- recover: a supervisor saw its worker die: judge what was running, release what was only held. Also for a worker
-- that lost the reply of an exchange, and so does not know what it holds: outcome `keep` leaves a lease as it is.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 first rank of the leased tasks to look at, 3 how many, 4 how many tasks were running, 5 rules;
--       then for each running one: id, fence, outcome, value, delay ms, fingerprint, title.
-- Reply: how many leases were taken back, '1' when there are more to look at.
-- Transitions: settle, release, recover.
--@include clock
--@include core
--@include rules
--@include lanes
--@include orphans
--@include records
--@include generations
--@include ending
--@include chunks
--@include twins
--@include chunkends
--@include settle

local worker, first, count, running = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), {}
local position = 5
for _ = 1, tonumber(ARGV[4]) do
  running[ARGV[position + 1]] = position
  position = position + 7
end

-- Give back one lease; whatever its holder sends afterwards is stale.
local function take_back(id, fence)
  local judged = running[id]
  if judged and ARGV[judged + 2] == fence then
    if ARGV[judged + 3] == 'keep' then return 0 end
    if settle(judged) ~= 'OK' then return 0 end
  else
    if is_chunk(id) then release_chunk(id) else outcomes.release(id, (read_record(id))) end
  end
  if call('EXISTS', task_key(id)) == 1 then call('HSET', task_key(id), 'f', next_number()) end
  return 1
end

local taken, seen = 0, 0
for state in pairs(LEASED) do
  for _, id in ipairs(call('ZRANGE', P .. ':state:' .. state, first, first + count - 1)) do
    seen = seen + 1
    local row = fields_of(task_key(id), 'w', 'f', 's')
    if row and row[1] == worker and row[3] == state then taken = taken + take_back(id, row[2]) end
  end
end
settle_up()
call('ZREM', P .. ':idle', worker)
wake(brought)
return { taken, seen >= count and '1' or '' }
