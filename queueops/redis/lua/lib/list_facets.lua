-- The values by which a task list can be filtered. The indexes and counters give the number of tasks of each.
--@needs filter_conditions task_counts

local function without(whole, part)
  local rest = {}
  for state, size in pairs(whole) do rest[state] = max(0, size - part[state]) end
  return rest
end

local function in_state(sizes, state)
  if CLASS[state] then return sizes[state] end
  local sum = 0
  for each, size in pairs(sizes) do
    if state == '' or lib.is_among(each, state) then sum = sum + size end
  end
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

-- The numbers of tasks by state: of the chosen ones, those of each kind, and a function for those of a lane. The default lane
-- has no counters of its own, nor have plain tasks: both are the rest.
local function sizes(args)
  local name, lane, kind, all = args[3], args[4], args[5], {}
  for each in pairs(CLASS) do all[each] = call('ZCARD', P .. ':state:' .. each) end
  local function of_lane(value)
    if value ~= 'default' then return lib.counted('s|' .. value .. '|') end
    return without(all, lib.counted('s||'))
  end
  local by_kind = { task = all }
  for i = 6, #args do
    by_kind[args[i]] = lib.counted('k|' .. args[i] .. '|')
    by_kind.task = without(by_kind.task, by_kind[args[i]])
  end
  return name ~= '' and lib.counted_of_name(name) or lane ~= '' and of_lane(lane) or by_kind[kind] or all, by_kind, of_lane
end

-- The number of tasks of a state and a name, a lane or a kind.
function lib.count_by_counters(args) return in_state(sizes(args), args[2]) end

-- The arguments and the reply are those of `facets.lua`.
function lib.list_facets(args)
  local most, state, states, kinds = tonumber(args[1]), args[2], {}, {}
  local chosen, by_kind, of_lane = sizes(args)
  for each, size in pairs(chosen) do states[#states + 1] = each; states[#states + 1] = size end
  for each, sizes in pairs(by_kind) do kinds[#kinds + 1] = each; kinds[#kinds + 1] = in_state(sizes, state) end
  return {
    'state', states,
    'kind', kinds,
    'name', latest('names', most, function(value) return in_state(lib.counted_of_name(value), state) end),
    'lane', latest('lanes', most, function(value) return in_state(of_lane(value), state) end),
    'tag', latest('tags', most, function(value) return call('ZCARD', P .. ':tag:' .. value) end),
    'error', latest('errors', most, function(value) return call('ZCARD', P .. ':error:' .. value .. SUBKEY.tasks) end),
  }
end
