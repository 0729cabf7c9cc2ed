-- The values by which a task list can be filtered. The indexes and counters give the number of tasks of each.
--@needs store_helpers

local function count_of(value) return max(0, lib.number_of(value) or 0) end

local function counted(field) return count_of(call('HGET', P .. ':counts', field)) end

-- The counters of all states are read by one command: a list without a chosen state asks for 60 such sums.
local function in_states(prefix, state)
  if state ~= '' then return counted(prefix .. state) end
  local fields, sum = {}, 0
  for each in pairs(CLASS) do fields[#fields + 1] = prefix .. each end
  local values = call('HMGET', P .. ':counts', unpack(fields))
  for i = 1, #fields do sum = sum + count_of(values[i]) end
  return sum
end

local function latest(index, most, count)
  local list = {}
  for _, value in ipairs(call('ZREVRANGE', P .. ':' .. index, 0, most - 1)) do
    list[#list + 1] = value
    list[#list + 1] = count(value)
  end
  return list
end

-- The arguments and the reply are those of `facets.lua`.
function lib.list_facets(args)
  local most, state, name = tonumber(args[1]), args[2], args[3]
  local states, kinds = {}, {}
  for each in pairs(CLASS) do
    states[#states + 1] = each
    states[#states + 1] = name ~= '' and counted('n|' .. name .. '|' .. each) or call('ZCARD', P .. ':state:' .. each)
  end
  for i = 4, #args do
    kinds[#kinds + 1] = args[i]
    kinds[#kinds + 1] = in_states('k|' .. args[i] .. '|', state)
  end
  return {
    'state', states,
    'kind', kinds,
    'name', latest('names', most, function(value) return in_states('n|' .. value .. '|', state) end),
    'lane', latest('lanes', most, function(value) return call('ZCARD', P .. ':lane:' .. value) end),
    'tag', latest('tags', most, function(value) return call('ZCARD', P .. ':tag:' .. value) end),
    'error', latest('errors', most, function(value) return call('ZCARD', P .. ':error:' .. value .. '#tasks') end),
  }
end
