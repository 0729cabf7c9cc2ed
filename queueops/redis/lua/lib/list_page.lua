-- One page of a task list, newest first, walking the smallest index that the filter allows within a budget.
--@needs list_row

local function keys_of(suffix)
  local wanted = suffix == '*' and '' or string.match(suffix, '^state:(.*)$')
  if not wanted then return { P .. ':' .. suffix } end
  local keys = {}
  for state in pairs(CLASS) do
    if wanted == '' or lib.is_among(state, wanted) then keys[#keys + 1] = P .. ':state:' .. state end
  end
  return keys
end

local function size_of(suffix)
  local size = 0
  for _, key in ipairs(keys_of(suffix)) do size = size + call('ZCARD', key) end
  return size
end

local function choose(args)
  local best, least = args[3], nil
  if best ~= '' then return best, size_of(best) end
  for i = 7, 6 + tonumber(args[6]) do
    local size = size_of(args[i])
    if not least or size <= least then best, least = args[i], size end
  end
  return best, least
end

local function conditions(args, index)
  local fields, values = {}, {}
  for i = 7 + tonumber(args[6]), #args, 3 do
    if args[i + 2] ~= index then fields[#fields + 1] = args[i]; values[#values + 1] = args[i + 1] end
  end
  return fields, values
end

-- Redis orders equal scores by bytes; Lua's own `<` would follow the locale.
local function not_after(id, other)
  for i = 1, min(#id, #other) do
    local a, b = string.byte(id, i), string.byte(other, i)
    if a ~= b then return a > b end
  end
  return #id >= #other
end

-- The rank, newest first, of the first member after the cursor.
function lib.rank_behind(key, cursor_score, cursor_id)
  if cursor_id == '' then return 0 end
  local low = call('ZCOUNT', key, '(' .. cursor_score, '+inf')
  local high = low + call('ZCOUNT', key, cursor_score, cursor_score)
  while low < high do
    local middle = floor((low + high) / 2)
    if not_after(call('ZREVRANGE', key, middle, middle)[1], cursor_id) then low = middle + 1 else high = middle end
  end
  return low
end

-- Goes to the next member of a source; false at its end.
local function advance(source)
  source.at = source.at + 2
  if source.at > #source.rows then
    if source.rank < 0 then return false end
    source.rows = call('ZREVRANGE', source.key, source.rank, source.rank + source.part - 1, 'WITHSCORES')
    source.at, source.rank = 1, #source.rows == 2 * source.part and source.rank + source.part or -1
    if #source.rows == 0 then return false end
  end
  source.id, source.text = source.rows[source.at], source.rows[source.at + 1]
  source.score = tonumber(source.text)
  return true
end

local function is_newer(source, other)
  if source.score ~= other.score then return source.score > other.score end
  return not_after(source.id, other.id)
end

-- Moves the source at a place behind those that are newer. The sources after it are in order.
local function sort_in(sources, place)
  local source, other = sources[place], sources[place + 1]
  while other and is_newer(other, source) do
    sources[place], place = other, place + 1
    other = sources[place + 1]
  end
  sources[place] = source
end

-- The newest member of all sources, which are in order; nil at their end.
local function next_of(sources)
  local first = sources[1]
  if not first then return nil end
  local id, score = first.id, first.text
  if advance(first) then sort_in(sources, 1) else table.remove(sources, 1) end
  return id, score
end

-- Walks on within the budget, and calls `take` for each task that matches, until it returns true. Returns what the reply of
-- `page.lua` has before the rows.
local function walk(args, take)
  local budget, cursor_score, cursor_id = tonumber(args[2]), args[4], args[5]
  local index, size = choose(args)
  local fields, values = conditions(args, index)
  local sources, seen = {}, 0
  for _, key in ipairs(keys_of(index)) do
    local source = { key = key, rank = lib.rank_behind(key, cursor_score, cursor_id), rows = {}, at = -1, part = min(100, budget) }
    if advance(source) then table.insert(sources, 1, source); sort_in(sources, 1) end
  end
  local ended, full, cost = false, args[1] == '0', 0
  while not full and cost < budget do
    local id, score = next_of(sources)
    if not id then ended = true; break end
    seen, cursor_id, cursor_score = seen + 1, id, score
    local found, bytes = lib.matches(id, fields, values)
    cost = cost + 1 + floor(bytes / 1024) -- long arguments are searched in more calls, so that none blocks the store
    if found then full = take(id, score) end
  end
  return { index, size, ended and '1' or '', seen, cursor_score, cursor_id }
end

-- The arguments and the reply are those of `page.lua`. Also returns the set of the ids of its rows.
function lib.list_page(args)
  local wanted, rows, shown = tonumber(args[1]), {}, {}
  local reply = walk(args, function(id, score)
    rows[#rows + 1], shown[id] = lib.row_of(id, score), true
    return #rows >= wanted
  end)
  reply[7] = rows
  return reply, shown
end

-- How many tasks match, the size of the index, '1' if all were counted, candidates seen. An index that has the matching tasks
-- alone is not walked.
function lib.count_listed(args)
  local index, size = choose(args)
  if #conditions(args, index) == 0 then return { size, size, '1', 0 } end
  local count = 0
  local reply = walk(args, function() count = count + 1 end)
  return { count, size, reply[3], reply[4] }
end
