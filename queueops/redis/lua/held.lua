#!lua flags=no-writes
-- held: lists the leases of a worker in one leased state.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 leased state to look through, 3 first time of entry.
-- Reply: for each lease id, fence, '1' if it was handed over and is not renewed yet (flat); next time of entry to look at
--        ('' = none is left).
-- Transitions: none.
--@needs store_helpers

local worker, state, from = ARGV[1], ARGV[2], ARGV[3]
local index = P .. ':state:' .. state
-- By time of entry, which a lease keeps to its end. A rank would change with every lease that ends meanwhile.
local found = call('ZRANGEBYSCORE', index, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
local more = #found == 1000 and found[#found] or ''
if more ~= '' and more == found[2] then -- all of them entered at once: these, to the last one, and on
  found = call('ZRANGEBYSCORE', index, more, more, 'WITHSCORES')
  more = '(' .. more
end
local leases = {}
for i = 1, #found, 2 do
  local row = lib.named_fields(lib.task_key(found[i]), F.worker, F.state, F.fence, F.handed)
  if row and row[F.worker] == worker and row[F.state] == state and row[F.fence] then
    leases[#leases + 1] = found[i]
    leases[#leases + 1] = row[F.fence]
    leases[#leases + 1] = row[F.fence] == row[F.handed] and '1' or ''
  end
end
return { leases, more }
