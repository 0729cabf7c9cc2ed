#!lua
-- keep_history: the watchdog stores rolled-up steps of the history, and notes the last one. A full store refuses it. A step
-- is replaced as a whole, unless the one that is stored counts more: then this roll-up comes late, or parts of its source
-- are gone.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 level, 2 field of the clock that holds its last step, 3 that step, 4 seconds for which a step is kept, 5 seconds
--       for which the counters of a minute are kept then ('' = this level has none); then for each step: its number,
--       how many arguments follow, what its rows count in total, and series and row of each.
-- Reply: nothing.
-- Transitions: none.
--@needs minute_counts store_helpers

local position = 6
while ARGV[position] do
  local slot, size, total = ARGV[position], tonumber(ARGV[position + 1]), lib.number_of(ARGV[position + 2])
  local key = P .. ':history:' .. ARGV[1] .. ':' .. slot
  local known = lib.named_fields(key, 't')
  if not known or (lib.number_of(known[F.timeout]) or 0) <= total then
    call('DEL', key)
    local fields = { 't', ARGV[position + 2] }
    for i = position + 3, position + 1 + size do fields[#fields + 1] = ARGV[i] end
    lib.call_sliced('HSET', key, fields)
    call('EXPIRE', key, ARGV[4])
  end
  if ARGV[5] ~= '' then call('EXPIRE', P .. ':metrics:' .. slot, ARGV[5]) end
  position = position + 2 + size
end
lib.try('HSET', P .. ':clock', ARGV[2], ARGV[3])
