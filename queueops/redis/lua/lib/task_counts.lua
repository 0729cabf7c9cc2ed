-- Counts of tasks by state, of one name, kind or lane. Two of them are not stored, as they would change with each start and
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

-- How many tasks of each kind are ready, without the kinds that have none. Those that have no counter are plain tasks.
function lib.ready_of_kinds(ready)
  local fields, found = {}, {}
  for i, kind in ipairs(RECORD_KINDS) do fields[i] = 'k|' .. kind .. '|pending' end
  for i, value in ipairs(call('HMGET', P .. ':counts', unpack(fields))) do
    local count = min(ready, count_of(value))
    if count > 0 then found[RECORD_KINDS[i]] = count end
    ready = ready - count
  end
  if ready > 0 then found.task = ready end
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

-- Time at which the oldest waiting task of a name became ready; nil without one. The index has the tasks in the order of their
-- pushes: those that have ended stand first, then those that run, then those that wait. So a few are looked at, first of all
-- and where the ended ones should end. Where priorities or retries have mixed the order, an older one may stand elsewhere.
local FIRST, BEFORE, AFTER = 8, 8, 24
function lib.oldest_of_name(name, counts)
  if counts.pending == 0 then return nil end
  local ended = 0
  for state, count in pairs(counts) do
    if TERMINAL[state] then ended = ended + count end
  end
  local key = P .. ':name:' .. name
  local ids = call('ZRANGE', key, 0, FIRST - 1)
  local from = max(FIRST, ended - BEFORE)
  for _, id in ipairs(call('ZRANGE', key, from, from + BEFORE + AFTER - 1)) do ids[#ids + 1] = id end
  local oldest
  for _, entered in ipairs(#ids > 0 and call('ZMSCORE', P .. ':state:pending', unpack(ids)) or {}) do
    local at = lib.number_of(entered)
    if at and at < (oldest or at + 1) then oldest = at end
  end
  return oldest
end
