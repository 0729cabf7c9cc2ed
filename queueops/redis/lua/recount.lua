#!lua flags=allow-oom
-- recount: corrects the display counters from the indexes: those of some names, or those by kind and by lane.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many members of an index are walked at most, 2.. names; without any the kinds and the lanes
-- Reply: flat pairs: '~name:' and the name, '~kind:' and the kind, or '~lane:' and the lane; what was counted.
-- Transitions: none.
--@needs store_helpers transitions

local most, COUNTS, found = tonumber(ARGV[1]), P .. ':counts', {}

local function set_count(id, field, what, number)
  local counted = lib.safe_call('HGET', COUNTS, field) or '0'
  if counted == lib.text(number) then return end
  found[#found + 1] = id
  found[#found + 1] = what .. ' was counted as ' .. counted .. ' instead of ' .. lib.text(number)
  if number == 0 then lib.safe_call('HDEL', COUNTS, field) else lib.safe_call('HSET', COUNTS, field, lib.text(number)) end
end

-- The number of an index's tasks in each state. Nil if several states have so many that a walk would block the store. The
-- largest state needs no walk: its number is the rest.
local function sizes_of(index)
  local states, sizes = {}, {}
  local left = lib.safe_call('ZCARD', index)
  local whole = left
  for state in pairs(CLASS) do states[#states + 1] = { state = state, size = lib.safe_call('ZCARD', P .. ':state:' .. state) } end
  table.sort(states, function(a, b) return a.size > b.size end)
  for i = 2, #states do
    local state, size = states[i].state, states[i].size
    if min(size, whole) > most then return nil end
    sizes[state] = size > 0 and whole > 0 and #lib.safe_call('ZINTER', 2, index, P .. ':state:' .. state) or 0
    left = left - sizes[state]
  end
  sizes[states[1].state] = left
  return sizes
end

-- Counters of these names are not used: earlier versions have left them.
local function drop_counter(field) lib.safe_call('HDEL', COUNTS, field) end

local function recount(what, letter, value)
  for state, number in pairs(sizes_of(P .. ':' .. what .. ':' .. value) or {}) do
    local field = letter .. '|' .. value .. '|' .. state
    if what == 'name' and state == 'locked' then drop_counter(field)
    else set_count('~' .. what .. ':' .. value, field, state, number) end
  end
end

-- The tasks of a state by lane, but those of the default lane. A state with too many tasks for a walk keeps its counters.
local function recount_state(state, lanes)
  local ids = lib.safe_call('ZRANGE', P .. ':state:' .. state, 0, most)
  if #ids > most then return end
  local sizes, sum = {}, 0
  for _, lane in ipairs(lanes) do sizes[lane] = 0 end
  for _, id in ipairs(ids) do
    local row = lib.named_fields(lib.task_key(id), F.lane)
    local lane = row and row[F.lane] or 'default'
    if lane ~= 'default' then sizes[lane] = (sizes[lane] or 0) + 1; sum = sum + 1 end
  end
  sizes.default = nil
  for lane, number in pairs(sizes) do set_count('~lane:' .. lane, 's|' .. lane .. '|' .. state, state, number) end
  set_count('~lane:', 's||' .. state, state .. ' in all lanes but the default one', sum)
end

for i = 2, #ARGV do recount('name', 'n', ARGV[i]) end
if not ARGV[2] then
  for _, kind in ipairs(RECORD_KINDS) do recount('kind', 'k', kind) end
  local lanes = lib.safe_call('ZREVRANGE', P .. ':lanes', 0, 999)
  for _, lane in ipairs(lanes) do drop_counter('l|' .. lane .. '|active') end
  for state in pairs(CLASS) do recount_state(state, lanes) end
end
return found
