-- Tasks whose id begins with a text, within a budget: ids are in no order of their own.
--@needs list_row

-- Rows of at most `most` tasks, and whether the budget left candidates out: so many of each state and end. `made` is the
-- time in ms before which no such task was made ('' = not known).
function lib.rows_with_prefix(start, made, budget, most)
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
  return rows, left
end
