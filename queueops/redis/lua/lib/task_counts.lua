-- Counts of tasks by state, of one name or one lane. Two of them are not stored, as they would change with each start and
-- end of a task: how many tasks of a name are locked, and how many tasks of a lane run. The indexes tell both.
--@needs store_helpers

local function count_of(value) return max(0, lib.number_of(value) or 0) end

-- The stored counters of all states, by state. One command reads them: a list without a chosen state asks for 100 sums.
function lib.counted(prefix)
  local states, fields, found = {}, {}, {}
  for state in pairs(CLASS) do states[#states + 1] = state; fields[#fields + 1] = prefix .. state end
  local values = call('HMGET', P .. ':counts', unpack(fields))
  for i, state in ipairs(states) do found[state] = count_of(values[i]) end
  return found
end

-- Those of a name: its tasks without a counter are locked.
function lib.counted_of_name(name)
  local found, others = lib.counted('n|' .. name .. '|'), 0
  for state, count in pairs(found) do
    if state ~= 'locked' then others = others + count end
  end
  found.locked = max(0, call('ZCARD', P .. ':name:' .. name) - others)
  return found
end

-- How many tasks of a lane run. The default lane has the running tasks that no other lane has.
function lib.running_in(lane)
  local fields, states = {}, {}
  for state in pairs(LEASED) do
    if CLASS[state] then
      states[#states + 1] = state
      fields[#fields + 1] = 's|' .. (lane == 'default' and '' or lane) .. '|' .. state
    end
  end
  local running = 0
  for i, count in ipairs(call('HMGET', P .. ':counts', unpack(fields))) do
    running = running + (lane ~= 'default' and count_of(count)
      or max(0, call('ZCARD', P .. ':state:' .. states[i]) - count_of(count)))
  end
  return running
end
