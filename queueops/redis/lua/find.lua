#!lua flags=no-writes
-- find: tasks whose id begins with a text, within a budget: ids are in no order of their own.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 beginning of the id, 2 time in ms before which no such task was made ('' = not known), 3 budget of candidates
--       for each state and end, 4 rows
-- Reply: '1' if the budget left candidates out; then for each row: id, score (empty), time of its state, length of its
--        arguments, its fields, the start of its arguments and of its error.
-- Transitions: none.
--@needs list_row tolerant_reads

lib.tolerate()

local start, made, budget, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local found, rows, left = {}, {}, false

local function take(ids)
  for _, id in ipairs(ids) do
    if string.sub(id, 1, #start) == start and not found[id] and #rows < most then
      found[id] = true
      rows[#rows + 1] = lib.row_of(id, '')
    end
  end
end

for state in pairs(CLASS) do
  local key = P .. ':state:' .. state
  left = left or call('ZCARD', key) > budget
  take(call('ZREVRANGE', key, 0, budget - 1))
  -- A task enters its state after it was made, mostly soon.
  if made ~= '' then take(call('ZRANGEBYSCORE', key, made, '+inf', 'LIMIT', 0, budget)) end
end
return lib.told({ left and '1' or '', rows })
