#!lua flags=no-writes
-- facets: the values by which a list can be filtered. The indexes and counters give the number of tasks of each.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many values of a facet at most (the latest used), 2 state, 3 name ('' = any), 4.. the kinds there are
-- Reply: flat pairs: facet, list of value, count, ...
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()

local most, state, name = tonumber(ARGV[1]) - 1, ARGV[2], ARGV[3]

local function counted(field) return max(0, lib.number_of(call('HGET', P .. ':counts', field)) or 0) end

local function in_states(prefix)
  if state ~= '' then return counted(prefix .. state) end
  local sum = 0
  for each in pairs(CLASS) do sum = sum + counted(prefix .. each) end
  return sum
end

local function latest(index, count)
  local list = {}
  for _, value in ipairs(call('ZREVRANGE', P .. ':' .. index, 0, most)) do
    list[#list + 1] = value; list[#list + 1] = count(value)
  end
  return list
end

local states, kinds = {}, {}
for each in pairs(CLASS) do
  states[#states + 1] = each
  states[#states + 1] = name ~= '' and counted('n|' .. name .. '|' .. each) or call('ZCARD', P .. ':state:' .. each)
end
for i = 4, #ARGV do
  kinds[#kinds + 1] = ARGV[i]; kinds[#kinds + 1] = in_states('k|' .. ARGV[i] .. '|')
end

return lib.told({
  'state', states,
  'kind', kinds,
  'name', latest('names', function(value) return in_states('n|' .. value .. '|') end),
  'lane', latest('lanes', function(value) return call('ZCARD', P .. ':lane:' .. value) end),
  'tag', latest('tags', function(value) return call('ZCARD', P .. ':tag:' .. value) end),
  'error', latest('errors', function(value) return call('ZCARD', P .. ':error:' .. value .. '#tasks') end),
})
